/* Rows of a cache or of a table as floats, for several kernels. A template as kernels_map.h. */
#ifndef NPU_HOST_KERNELS_FLOATS_H
#define NPU_HOST_KERNELS_FLOATS_H

/* |n| values at |src| as floats; what is past the last whole vector goes value by value. */
static inline void to_floats(uint32_t type, const uint8_t *src, float *dst, uint32_t n) {
    uint32_t i = 0;
    if (type == NPU_TYPE_F16) {
        const uint16_t *h = (const uint16_t *)src;
        for (; i + VW <= n; i += VW) vf_store(dst + i, vf_load_half(h + i));
        for (; i < n; i++) dst[i] = npu_half_to_float(h[i]);
    } else if (type == NPU_TYPE_BF16) {
        const uint16_t *h = (const uint16_t *)src;
        for (; i + VW <= n; i += VW) vf_store(dst + i, vf_load_bf16(h + i));
        for (; i < n; i++) dst[i] = npu_bf16_to_float(h[i]);
    } else if (type == NPU_TYPE_Q8_0) {
        for (; i < n; i += 32, src += 34) {
            vf d = vf_set_half((uint16_t)(src[0] | src[1] << 8));
            for (uint32_t k = 0; k < 32; k += VW) {
                vf_store(dst + i + k, vf_mul(d, vf_load_i8((const int8_t *)src + 2 + k)));
            }
        }
    } else {
        memcpy(dst, src, n * sizeof(float));
    }
}

#endif
