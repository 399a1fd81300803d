/* Private memory of the NPU program, and cache upkeep of shared memory that scalars read. */
#ifndef HTP_MEMORY_H
#define HTP_MEMORY_H

#include <stdint.h>

/* 128-byte aligned, addressable by DMA, not zeroed; NULL when there is none. */
void *htp_alloc(uint32_t bytes);
void htp_free(void *memory);

/* Makes what the host or the DMA engine wrote visible to loads from |bytes| at |address|. Kernels never write shared
 * memory through the cache, so there is nothing to lose. */
void htp_memory_refresh(const void *address, uint64_t bytes);

void htp_copy(void *to, const void *from, uint64_t bytes);
void htp_zero(void *to, uint64_t bytes);

#endif
