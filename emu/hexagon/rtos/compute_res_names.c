// The HAP_ names of compute_res.c, and the older pair of calls for VTCM alone.
#include "emu_dsp.h"
#include "HAP_compute_res.h"
#include "compute_res.h"

#include <pthread.h>

EMU_API int HAP_compute_res_attr_init(compute_res_attr_t *attr) {
    return compute_resource_attr_init(attr);
}

EMU_API int HAP_compute_res_attr_set_serialize(compute_res_attr_t *attr, uint8_t serialize) {
    return compute_resource_attr_set_serialize(attr, serialize);
}

EMU_API int HAP_compute_res_attr_set_hmx_param(compute_res_attr_t *attr, uint8_t use_hmx) {
    return compute_resource_attr_set_hmx_param(attr, use_hmx);
}

EMU_API int HAP_compute_res_attr_set_vtcm_param(compute_res_attr_t *attr, unsigned int bytes, uint8_t single_page) {
    return compute_resource_attr_set_vtcm_param(attr, bytes, single_page);
}

EMU_API int HAP_compute_res_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int bytes,
                                                   unsigned int min_page_bytes, unsigned int min_bytes) {
    return compute_resource_attr_set_vtcm_param_v2(attr, bytes, min_page_bytes, min_bytes);
}

EMU_API int HAP_compute_res_attr_set_cache_mode(compute_res_attr_t *attr, uint8_t cached) {
    return compute_resource_attr_set_cache_mode(attr, cached);
}

EMU_API int HAP_compute_res_attr_set_app_type(compute_res_attr_t *attr, unsigned int type) {
    return compute_resource_attr_set_app_type(attr, type);
}

EMU_API int HAP_compute_res_attr_set_release_callback(compute_res_attr_t *attr,
                                                      int (*release)(unsigned int context_id, void *context),
                                                      void *context) {
    return compute_resource_attr_set_release_callback(attr, release, context);
}

EMU_API void *HAP_compute_res_attr_get_vtcm_ptr(compute_res_attr_t *attr) {
    return compute_resource_attr_get_vtcm_ptr(attr);
}

EMU_API int HAP_compute_res_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **vtcm, unsigned int *bytes) {
    return compute_resource_attr_get_vtcm_ptr_v2(attr, vtcm, bytes);
}

EMU_API int HAP_compute_res_query_VTCM(unsigned int application_id, unsigned int *total_bytes,
                                       compute_res_vtcm_page_t *total_layout, unsigned int *available_bytes,
                                       compute_res_vtcm_page_t *available_layout) {
    return compute_resource_query_VTCM(application_id, total_bytes, total_layout, available_bytes, available_layout);
}

EMU_API unsigned int HAP_compute_res_acquire(compute_res_attr_t *attr, unsigned int timeout_us) {
    return compute_resource_acquire(attr, timeout_us);
}

EMU_API int HAP_compute_res_release(unsigned int context_id) {
    return compute_resource_release(context_id);
}

EMU_API int HAP_compute_res_acquire_cached(unsigned int context_id, unsigned int timeout_us) {
    return compute_resource_acquire_cached(context_id, timeout_us);
}

EMU_API int HAP_compute_res_release_cached(unsigned int context_id) {
    return compute_resource_release_cached(context_id);
}

EMU_API int HAP_compute_res_check_release_request(unsigned int context_id) {
    return compute_resource_check_release_request(context_id);
}

EMU_API int HAP_compute_res_update_priority(unsigned int context_id, unsigned int priority) {
    return compute_resource_update_priority(context_id, priority);
}

EMU_API int HAP_compute_res_hmx_lock(unsigned int context_id) {
    return compute_resource_hmx_lock(context_id);
}
EMU_API int HAP_compute_res_hmx_unlock(unsigned int context_id) {
    return compute_resource_hmx_unlock(context_id);
}

EMU_API int HAP_compute_res_hmx_lock2(unsigned int context_id, unsigned int type) {
    return compute_resource_hmx_lock2(context_id, type);
}

EMU_API int HAP_compute_res_hmx_unlock2(unsigned int context_id, unsigned int type) {
    return compute_resource_hmx_unlock2(context_id, type);
}

// The older calls: one reservation by address.
static struct {
    pthread_mutex_t lock;
    struct {
        void *vtcm;
        unsigned int context_id;
    } given[8];
} old = {.lock = PTHREAD_MUTEX_INITIALIZER};

EMU_API void *HAP_request_VTCM(unsigned int bytes, unsigned int single_page) {
    compute_res_attr_t attr;
    void *vtcm = NULL;
    unsigned int id;
    compute_resource_attr_init(&attr);
    compute_resource_attr_set_vtcm_param(&attr, bytes, single_page != 0);
    id = bytes ? compute_resource_acquire(&attr, 0) : 0;
    if (!id) return NULL;
    pthread_mutex_lock(&old.lock);
    for (int i = 0; i < 8 && !vtcm; i++) {
        if (old.given[i].vtcm) continue;
        vtcm = old.given[i].vtcm = compute_resource_attr_get_vtcm_ptr(&attr);
        old.given[i].context_id = id;
    }
    pthread_mutex_unlock(&old.lock);
    if (!vtcm) compute_resource_release(id);
    return vtcm;
}

EMU_API int HAP_release_VTCM(void *vtcm) {
    unsigned int id = 0;
    pthread_mutex_lock(&old.lock);
    for (int i = 0; i < 8; i++) {
        if (!vtcm || old.given[i].vtcm != vtcm) continue;
        id = old.given[i].context_id;
        old.given[i].vtcm = NULL;
    }
    pthread_mutex_unlock(&old.lock);
    return id ? compute_resource_release(id) : AEE_EBADPARM;
}
