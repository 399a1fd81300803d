/* Memory estimates; private to src/api. */
#ifndef NPU_API_MEMORY_H
#define NPU_API_MEMORY_H

#include "api/api.h"

/* |root| stands for the system's root folder: "" but in tests. */
npu_memory npu__api_memory(const npu_model *m, const npu_instance *instance, const char *root);

/* Of the weight images that a plan for a target of products has made, with their scales. */
uint64_t npu__api_device_bytes(const npu_plan *plan);

/* NO_MEMORY with the numbers when what is not mapped from files can't fit. */
npu_status npu__api_check_memory(const npu_memory *need, npu_error *err);

#endif
