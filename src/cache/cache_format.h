/* What reading and writing images share. */
#ifndef NPU_CACHE_FORMAT_H
#define NPU_CACHE_FORMAT_H

#include "cache/cache_image.h"

#define NPU_CACHE_MAGIC "npuwgts"

static inline uint64_t npu_cache_aligned(uint64_t bytes) {
    return (bytes + NPU_CACHE_ALIGN - 1) / NPU_CACHE_ALIGN * NPU_CACHE_ALIGN;
}

#endif
