/* Logging through the callback of whoever opened a model or target (npu/log.h). */
#ifndef NPU_BASE_LOG_H
#define NPU_BASE_LOG_H

#include "npu/log.h"

/* Formats and passes on one line, if |logger| (may be NULL) wants messages of that level. */
__attribute__((format(printf, 3, 4))) void npu_log(const npu_logger *logger, npu_log_level level, const char *format,
                                                   ...);

#endif
