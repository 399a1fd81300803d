/* HAP names that the NPU program calls (memory maps, compute resources, time, power), by our own declarations. */
#ifndef HTP_PLATFORM_HAP_H
#define HTP_PLATFORM_HAP_H

#include <stddef.h>
#include <stdint.h>

enum { HAP_PROT_READ = 1, HAP_PROT_WRITE = 2, HAP_MEM_CACHE_WRITEBACK = 0x10 };

/* A name that some systems lack: the program must load without it. */
#ifdef HTP_BUILD_REAL
#define HTP_MAYBE __attribute__((weak))
#else
#define HTP_MAYBE
#endif

/* (void *)-1 on failure. The first one takes less than 2 GiB; the second one is there above v73. */
void *HAP_mmap(void *addr, int len, int prot, int flags, int fd, long offset);
int HAP_munmap(void *addr, int len);
HTP_MAYBE void *HAP_mmap2(void *addr, size_t len, int prot, int flags, int fd, long offset);
HTP_MAYBE int HAP_munmap2(void *addr, size_t len);

typedef struct compute_res_attr {
    uint64_t words[8];
} compute_res_attr_t;

#ifdef HTP_BUILD_REAL
#include "htp/platform/compute_res.h"
#else
int HAP_compute_res_attr_init(compute_res_attr_t *attr);
int HAP_compute_res_attr_set_serialize(compute_res_attr_t *attr, uint8_t serialize);
int HAP_compute_res_attr_set_cache_mode(compute_res_attr_t *attr, uint8_t cached);
int HAP_compute_res_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int bytes, unsigned int min_page_bytes,
                                           unsigned int min_bytes);
int HAP_compute_res_attr_set_release_callback(compute_res_attr_t *attr, int (*release)(unsigned int, void *),
                                              void *context);
int HAP_compute_res_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **vtcm, unsigned int *bytes);
int HAP_compute_res_query_VTCM(unsigned int application_id, unsigned int *total_bytes, void *total_layout,
                               unsigned int *available_bytes, void *available_layout);
unsigned int HAP_compute_res_acquire(compute_res_attr_t *attr, unsigned int timeout_us); /* 0 = failed */
int HAP_compute_res_release(unsigned int context_id);
int HAP_compute_res_acquire_cached(unsigned int context_id, unsigned int timeout_us);
int HAP_compute_res_release_cached(unsigned int context_id);
#endif

uint64_t HAP_perf_get_time_us(void);
uint64_t HAP_perf_get_pcycles(void);
uint64_t HAP_perf_get_qtimer_count(void); /* 19.2 MHz */

typedef struct {
    uint32_t type;
    uint32_t body[64];
} HAP_power_request_t;
int HAP_power_set(void *context, HAP_power_request_t *request);

#endif
