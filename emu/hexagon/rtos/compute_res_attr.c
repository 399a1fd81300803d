// The attribute block of a reservation: what is asked for, filled in call by call.
#include "compute_res.h"
#include "compute_res_attr.h"
#include "emu_dsp.h"

#include <string.h>

struct emu_res_attr *emu_res_attr(compute_res_attr_t *attr) {
    struct emu_res_attr *a = (struct emu_res_attr *)(void *)attr;
    return a && a->magic == EMU_RES_MAGIC ? a : NULL;
}

EMU_API int compute_resource_attr_init(compute_res_attr_t *attr) {
    if (!attr) return AEE_EBADPARM;
    memset(attr, 0, sizeof *attr);
    ((struct emu_res_attr *)(void *)attr)->magic = EMU_RES_MAGIC;
    return AEE_SUCCESS;
}

EMU_API int compute_resource_attr_set_serialize(compute_res_attr_t *attr, uint8_t serialize) {
    struct emu_res_attr *a = emu_res_attr(attr);
    if (!a) return AEE_EBADPARM;
    a->serialize = serialize;
    return AEE_SUCCESS;
}

EMU_API int compute_resource_attr_set_hmx_param(compute_res_attr_t *attr, uint8_t use_hmx) {
    struct emu_res_attr *a = emu_res_attr(attr);
    if (!a) return AEE_EBADPARM;
    a->hmx = use_hmx;
    return AEE_SUCCESS;
}

EMU_API int compute_resource_attr_set_cache_mode(compute_res_attr_t *attr, uint8_t cached) {
    struct emu_res_attr *a = emu_res_attr(attr);
    if (!a) return AEE_EBADPARM;
    a->cached = cached;
    return AEE_SUCCESS;
}

EMU_API int compute_resource_attr_set_app_type(compute_res_attr_t *attr, unsigned int type) {
    (void)type;
    return emu_res_attr(attr) ? AEE_SUCCESS : AEE_EBADPARM;
}

EMU_API int compute_resource_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned int bytes,
                                                    unsigned int min_page_bytes, unsigned int min_bytes) {
    struct emu_res_attr *a = emu_res_attr(attr);
    if (!a || (min_page_bytes & (min_page_bytes - 1)) || min_bytes > bytes) return AEE_EBADPARM;
    a->bytes = bytes;
    a->min_bytes = min_bytes ? min_bytes : bytes;
    return AEE_SUCCESS;
}

EMU_API int compute_resource_attr_set_vtcm_param(compute_res_attr_t *attr, unsigned int bytes, uint8_t single_page) {
    (void)single_page;
    return compute_resource_attr_set_vtcm_param_v2(attr, bytes, 0, 0);
}

EMU_API int compute_resource_attr_set_release_callback(compute_res_attr_t *attr, emu_release_fn *release,
                                                       void *context) {
    struct emu_res_attr *a = emu_res_attr(attr);
    if (!a) return AEE_EBADPARM;
    a->release = (uintptr_t)release;
    a->release_context = (uintptr_t)context;
    return AEE_SUCCESS;
}
