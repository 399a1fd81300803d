/* How much memory there is for this process: the machine's, cut to what its cgroup and that one's parents may
 * use (versions 2 and 1). */
#ifndef NPU_BASE_MEMORY_H
#define NPU_BASE_MEMORY_H

#include <stdint.h>

typedef struct npu_machine_memory {
    uint64_t total; /* bytes that may be used at all; 0 = not known */
    uint64_t free;  /* bytes of them that are not in use; files that the system keeps in memory are not in use */
} npu_machine_memory;

/* Reads the system's files below |root| ("" but in tests). What can't be read does not limit. Any thread. */
npu_machine_memory npu_memory_now(const char *root);

#endif
