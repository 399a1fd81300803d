// The reservation calls under the names that objects compiled with the vendor's headers look up as weak symbols.
#ifndef EMU_RTOS_COMPUTE_RES_H
#define EMU_RTOS_COMPUTE_RES_H

#include "HAP_compute_res.h"

int compute_resource_attr_init(compute_res_attr_t *attr);
int compute_resource_attr_set_serialize(compute_res_attr_t *attr, uint8_t serialize);
int compute_resource_attr_set_hmx_param(compute_res_attr_t *attr, uint8_t use_hmx);
int compute_resource_attr_set_cache_mode(compute_res_attr_t *attr, uint8_t cached);
int compute_resource_attr_set_app_type(compute_res_attr_t *attr, unsigned int type);
int compute_resource_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int bytes, unsigned int min_page_bytes,
                                            unsigned int min_bytes);
int compute_resource_attr_set_vtcm_param(compute_res_attr_t *attr, unsigned int bytes, uint8_t single_page);
int compute_resource_attr_set_release_callback(compute_res_attr_t *attr,
                                               int (*release)(unsigned int context_id, void *context), void *context);
int compute_resource_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **vtcm, unsigned int *bytes);
void *compute_resource_attr_get_vtcm_ptr(compute_res_attr_t *attr);
unsigned int compute_resource_acquire(compute_res_attr_t *attr, unsigned int timeout_us);
int compute_resource_release(unsigned int context_id);
int compute_resource_acquire_cached(unsigned int context_id, unsigned int timeout_us);
int compute_resource_release_cached(unsigned int context_id);
int compute_resource_check_release_request(unsigned int context_id);
int compute_resource_update_priority(unsigned int context_id, unsigned int priority);
int compute_resource_query_VTCM(unsigned int application_id, unsigned int *total_bytes,
                                compute_res_vtcm_page_t *total_layout, unsigned int *available_bytes,
                                compute_res_vtcm_page_t *available_layout);
int compute_resource_hmx_lock(unsigned int context_id);
int compute_resource_hmx_unlock(unsigned int context_id);
int compute_resource_hmx_lock2(unsigned int context_id, unsigned int type);
int compute_resource_hmx_unlock2(unsigned int context_id, unsigned int type);

#endif
