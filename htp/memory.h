/* Private memory of the NPU program, and cache upkeep of shared memory that scalars read. */
#ifndef HTP_MEMORY_H
#define HTP_MEMORY_H

#include <stdint.h>

/* 128-byte aligned, addressable by DMA, not zeroed; NULL when there is none. */
void *htp_alloc(uint32_t bytes);
void htp_free(void *memory);

/* Writes the lines of |bytes| at |address| back and drops them: what the host or the DMA engine wrote becomes visible
 * to loads. Kernels never write shared memory through the cache, so they have nothing to lose; what does write there
 * (trace events) becomes visible to the host. */
void htp_memory_refresh(const void *address, uint64_t bytes);

void htp_copy(void *to, const void *from, uint64_t bytes);
void htp_zero(void *to, uint64_t bytes);

#endif
