// Mapping of host buffers into the NPU process. Failure of the mmap calls is (void *)-1.
#ifndef NPU_EMU_DSP_HAP_MEM_H
#define NPU_EMU_DSP_HAP_MEM_H

#include <stddef.h>
#include <stdint.h>

#define HAP_PROT_NONE              0x00
#define HAP_PROT_READ              0x01
#define HAP_PROT_WRITE             0x02
#define HAP_PROT_EXEC              0x04
#define HAP_MEM_CACHE_WRITEBACK    0x10
#define HAP_MEM_CACHE_NON_SHARED   0x20
#define HAP_MEM_CACHE_WRITETHROUGH 0x40

void *HAP_mmap(void *addr, int len, int prot, int flags, int fd, long offset);
int HAP_munmap(void *addr, int len);
void *HAP_mmap2(void *addr, size_t len, int prot, int flags, int fd, long offset);
int HAP_munmap2(void *addr, size_t len);
int HAP_mmap_get(int fd, void **vaddr, uint64_t *paddr);
int HAP_mmap_put(int fd);

typedef enum HAP_mem_request_id {
    HAP_MEM_LOG_BLOCKS = 1,
    HAP_MEM_SET_MARKER = 2,
    HAP_MEM_MAP = 3,
    HAP_MEM_UNMAP = 4,
    HAP_MEM_RESERVE_VA = 5,
    HAP_MEM_UNRESERVE_VA = 6,
} HAP_mem_request_id;

#define HAP_MEM_FLAGS_SKIP_DSP_MAP 0
#define HAP_MEM_FLAGS_DSP_MAP      1
#define HAP_MEM_FLAGS_EXTENDED_MAP 2

typedef struct HAP_mem_map {
    uint64_t addr;
    uint64_t len;
    int prot;
    int flags;
    int fd;
    uint64_t dsp_pa;
    uint64_t dsp_va;
} HAP_mem_map;

typedef struct HAP_mem_unmap {
    uint64_t dsp_va;
    uint64_t len;
} HAP_mem_unmap;

typedef struct HAP_mem_request_payload {
    HAP_mem_request_id request_id;
    union {
        HAP_mem_map mmap;
        HAP_mem_unmap munmap;
    };
} HAP_mem_request_payload;

int HAP_mem_request(HAP_mem_request_payload *payload);

#endif
