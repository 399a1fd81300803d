// Reservation of VTCM and HMX. The attribute block is opaque; compute_resource_* are the same functions under the names
// that objects compiled with the vendor's headers look for.
#ifndef NPU_EMU_DSP_HAP_COMPUTE_RES_H
#define NPU_EMU_DSP_HAP_COMPUTE_RES_H

#include <stdint.h>

#define HAP_COMPUTE_RES_NOT_SUPPORTED ((int)0x80000404u)

typedef struct compute_res_attr {
    uint64_t words[8];
} compute_res_attr_t;

typedef struct compute_res_vtcm_page {
    unsigned int block_size;
    unsigned int page_list_len;
    struct {
        unsigned int page_size;
        unsigned int num_pages;
    } page_list[8];
} compute_res_vtcm_page_t;

int HAP_compute_res_attr_init(compute_res_attr_t *attr);
int HAP_compute_res_attr_set_serialize(compute_res_attr_t *attr, uint8_t serialize);
int HAP_compute_res_attr_set_hmx_param(compute_res_attr_t *attr, uint8_t use_hmx);
int HAP_compute_res_attr_set_vtcm_param(compute_res_attr_t *attr, unsigned int bytes, uint8_t single_page);
int HAP_compute_res_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int bytes, unsigned int min_page_bytes,
                                           unsigned int min_bytes);
int HAP_compute_res_attr_set_cache_mode(compute_res_attr_t *attr, uint8_t cached);
int HAP_compute_res_attr_set_app_type(compute_res_attr_t *attr, unsigned int type);
int HAP_compute_res_attr_set_release_callback(compute_res_attr_t *attr,
                                              int (*release)(unsigned int context_id, void *context), void *context);
void *HAP_compute_res_attr_get_vtcm_ptr(compute_res_attr_t *attr);
int HAP_compute_res_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **vtcm, unsigned int *bytes);
int HAP_compute_res_query_VTCM(unsigned int application_id, unsigned int *total_bytes,
                               compute_res_vtcm_page_t *total_layout, unsigned int *available_bytes,
                               compute_res_vtcm_page_t *available_layout);

// A context id, or 0. |timeout_us| 0 tries once; otherwise at least 200.
unsigned int HAP_compute_res_acquire(compute_res_attr_t *attr, unsigned int timeout_us);
int HAP_compute_res_release(unsigned int context_id);
int HAP_compute_res_acquire_cached(unsigned int context_id, unsigned int timeout_us);
int HAP_compute_res_release_cached(unsigned int context_id);
int HAP_compute_res_check_release_request(unsigned int context_id);
int HAP_compute_res_update_priority(unsigned int context_id, unsigned int priority);
int HAP_compute_res_hmx_lock(unsigned int context_id);
int HAP_compute_res_hmx_unlock(unsigned int context_id);
int HAP_compute_res_hmx_lock2(unsigned int context_id, unsigned int type);
int HAP_compute_res_hmx_unlock2(unsigned int context_id, unsigned int type);

void *HAP_request_VTCM(unsigned int bytes, unsigned int single_page);
int HAP_release_VTCM(void *vtcm);

#endif
