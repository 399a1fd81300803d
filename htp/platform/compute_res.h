/* HAP_compute_res_* on a device. The system exports them under other names, as weak symbols that an older one may lack;
 * the vendor's headers hide that in inline functions, and so does this one: what is missing answers "not supported",
 * and what returns a context 0. Only hap.h includes this. */
#ifndef HTP_PLATFORM_COMPUTE_RES_H
#define HTP_PLATFORM_COMPUTE_RES_H

/* HTP_RES(result type, value when missing, name, parameters, arguments) */
#define HTP_RES(type, missing, name, parameters, arguments)                                   \
    HTP_MAYBE type compute_resource_##name parameters;                                        \
    static inline type HAP_compute_res_##name parameters {                                    \
        return compute_resource_##name ? compute_resource_##name arguments : (type)(missing); \
    }
enum { HTP_RES_MISSING = (int)0x80000404u };

HTP_RES(int, HTP_RES_MISSING, attr_init, (compute_res_attr_t * attr), (attr))
HTP_RES(int, HTP_RES_MISSING, attr_set_serialize, (compute_res_attr_t * attr, uint8_t serialize), (attr, serialize))
HTP_RES(int, HTP_RES_MISSING, attr_set_cache_mode, (compute_res_attr_t * attr, uint8_t cached), (attr, cached))
HTP_RES(int, HTP_RES_MISSING, attr_set_vtcm_param_v2,
        (compute_res_attr_t * attr, unsigned int bytes, unsigned int min_page_bytes, unsigned int min_bytes),
        (attr, bytes, min_page_bytes, min_bytes))
HTP_RES(int, HTP_RES_MISSING, attr_set_release_callback,
        (compute_res_attr_t * attr, int (*release)(unsigned int, void *), void *context), (attr, release, context))
HTP_RES(int, HTP_RES_MISSING, attr_get_vtcm_ptr_v2, (compute_res_attr_t * attr, void **vtcm, unsigned int *bytes),
        (attr, vtcm, bytes))
HTP_RES(int, HTP_RES_MISSING, query_VTCM,
        (unsigned int application_id, unsigned int *total_bytes, void *total_layout, unsigned int *available_bytes,
         void *available_layout),
        (application_id, total_bytes, total_layout, available_bytes, available_layout))
HTP_RES(unsigned int, 0, acquire, (compute_res_attr_t * attr, unsigned int timeout_us), (attr, timeout_us))
HTP_RES(int, HTP_RES_MISSING, release, (unsigned int context_id), (context_id))
HTP_RES(int, HTP_RES_MISSING, acquire_cached, (unsigned int context_id, unsigned int timeout_us),
        (context_id, timeout_us))
HTP_RES(int, HTP_RES_MISSING, release_cached, (unsigned int context_id), (context_id))
#undef HTP_RES

#endif
