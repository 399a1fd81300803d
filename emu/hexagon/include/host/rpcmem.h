// Memory that host and DSP share, known by a file descriptor.
#ifndef NPU_EMU_HOST_RPCMEM_H
#define NPU_EMU_HOST_RPCMEM_H

#include <stddef.h>
#include <stdint.h>

#define RPCMEM_HEAP_ID_SECURE 9
#define RPCMEM_HEAP_ID_CONTIG 22
#define RPCMEM_HEAP_ID_SYSTEM 25

#define RPCMEM_FLAG_UNCACHED  0u
#define RPCMEM_DEFAULT_FLAGS  1u
#define RPCMEM_TRY_MAP_STATIC 0x04000000u

void rpcmem_init(void);
void rpcmem_deinit(void);
// NULL when there is no memory or the size is not positive. Page aligned, zeroed.
void *rpcmem_alloc(int heap_id, uint32_t flags, int size);
void *rpcmem_alloc2(int heap_id, uint32_t flags, size_t size);
void rpcmem_free(void *memory);
// The descriptor of a buffer given by its first byte; -1 for every other address.
int rpcmem_to_fd(void *memory);

#endif
