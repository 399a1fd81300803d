/* Typed access to metadata values: conversions that lose nothing, or an error that names the key. */
#include "gguf/gguf_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wire/half.h"

static npu_status missing(npu_error *err, const char *key) {
    return npu_fail(err, NPU_NOT_FOUND, "gguf.key_missing", "key %s is missing", key);
}

static npu_status wrong_type(npu_error *err, const char *key, const npu_gguf_value *v, const char *wanted) {
    if (v->type == NPU_GGUF_ARRAY)
        return npu_fail(err, NPU_INVALID, "gguf.key_type", "key %s has the wrong type: array of %s, expected %s", key,
                        npu_gguf_type_name(v->elem_type), wanted);
    return npu_fail(err, NPU_INVALID, "gguf.key_type", "key %s has the wrong type: %s, expected %s", key,
                    npu_gguf_type_name(v->type), wanted);
}

bool npu_gguf_value_int(const npu_gguf_value *v, uint64_t index, int64_t *out, uint64_t *big) {
    if (index >= v->count) return false;
    const uint8_t *p = v->data + index * npu__gguf_type_bytes(v->elem_type);
    uint64_t raw;
    switch (v->elem_type) {
    case NPU_GGUF_U8:
        *out = p[0];
        break;
    case NPU_GGUF_I8:
        *out = (int8_t)p[0];
        break;
    case NPU_GGUF_U16:
        *out = p[0] | p[1] << 8;
        break;
    case NPU_GGUF_I16:
        *out = (int16_t)(p[0] | p[1] << 8);
        break;
    case NPU_GGUF_U32:
        *out = npu__gguf_u32(p);
        break;
    case NPU_GGUF_I32:
        *out = (int32_t)npu__gguf_u32(p);
        break;
    case NPU_GGUF_I64:
        *out = (int64_t)npu__gguf_u64(p);
        break;
    case NPU_GGUF_U64:
        raw = npu__gguf_u64(p);
        *out = raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
        if (big) *big = raw;
        return true;
    default:
        return false;
    }
    if (big) *big = (uint64_t)*out;
    return true;
}

bool npu_gguf_value_float(const npu_gguf_value *v, uint64_t index, double *out) {
    if (index >= v->count) return false;
    if (v->elem_type == NPU_GGUF_F32) {
        *out = (double)npu_bits_float(npu__gguf_u32(v->data + index * 4));
        return true;
    }
    if (v->elem_type != NPU_GGUF_F64) return false;
    uint64_t bits = npu__gguf_u64(v->data + index * 8);
    memcpy(out, &bits, sizeof *out);
    return true;
}

/* The integer at |index|, which is below count, if it lies in [low, high]; |high| may be above INT64_MAX. */
static npu_status read_int(const npu_gguf_value *v, const char *key, uint64_t index, int64_t low, uint64_t high,
                           int64_t *out, uint64_t *big, npu_error *err) {
    if (!npu_gguf_value_int(v, index, out, big)) return wrong_type(err, key, v, "an integer");
    bool negative = *out < 0;
    if (negative ? *out < low : *big > high) {
        if (negative)
            return npu_fail(err, NPU_INVALID, "gguf.key_range", "key %s is %lld: out of range (%lld to %llu)", key,
                            (long long)*out, (long long)low, (unsigned long long)high);
        return npu_fail(err, NPU_INVALID, "gguf.key_range", "key %s is %llu: out of range (%lld to %llu)", key,
                        (unsigned long long)*big, (long long)low, (unsigned long long)high);
    }
    return NPU_OK;
}

static npu_status read_float(const npu_gguf_value *v, const char *key, uint64_t index, float *out, npu_error *err) {
    double wide;
    if (!npu_gguf_value_float(v, index, &wide)) return wrong_type(err, key, v, "a float");
    float narrow = (float)wide;
    if (isinf(narrow) && !isinf(wide))
        return npu_fail(err, NPU_INVALID, "gguf.key_range", "key %s is %g: out of the range of a 32-bit float", key,
                        wide);
    *out = narrow;
    return NPU_OK;
}

static npu_status read_bool(const npu_gguf_value *v, const char *key, uint64_t index, bool *out, npu_error *err) {
    if (v->elem_type != NPU_GGUF_BOOL) return wrong_type(err, key, v, "a bool");
    uint8_t byte = v->data[index];
    if (byte > 1) return npu_fail(err, NPU_INVALID, "gguf.key_range", "key %s is %u: a bool must be 0 or 1", key, byte);
    *out = byte != 0;
    return NPU_OK;
}

static npu_status need_scalar(const npu_gguf_value *v, const char *key, const char *wanted, npu_error *err) {
    if (!v) return missing(err, key);
    return v->type == NPU_GGUF_ARRAY ? wrong_type(err, key, v, wanted) : NPU_OK;
}

npu_status npu__gguf_value_u32(const npu_gguf_value *v, const char *key, uint32_t *out, npu_error *err) {
    int64_t n = 0;
    uint64_t big = 0;
    NPU_TRY(need_scalar(v, key, "an integer", err));
    NPU_TRY(read_int(v, key, 0, 0, UINT32_MAX, &n, &big, err));
    *out = (uint32_t)big;
    return NPU_OK;
}

npu_status npu_gguf_get_u32(const npu_gguf *g, const char *key, uint32_t *out, npu_error *err) {
    return npu__gguf_value_u32(npu_gguf_find(g, key), key, out, err);
}

npu_status npu_gguf_get_i32(const npu_gguf *g, const char *key, int32_t *out, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(g, key);
    int64_t n = 0;
    uint64_t big = 0;
    NPU_TRY(need_scalar(v, key, "an integer", err));
    NPU_TRY(read_int(v, key, 0, INT32_MIN, INT32_MAX, &n, &big, err));
    *out = (int32_t)n;
    return NPU_OK;
}

npu_status npu_gguf_get_u64(const npu_gguf *g, const char *key, uint64_t *out, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(g, key);
    int64_t n = 0;
    uint64_t big = 0;
    NPU_TRY(need_scalar(v, key, "an integer", err));
    NPU_TRY(read_int(v, key, 0, 0, UINT64_MAX, &n, &big, err));
    *out = big;
    return NPU_OK;
}

npu_status npu_gguf_get_f32(const npu_gguf *g, const char *key, float *out, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(g, key);
    NPU_TRY(need_scalar(v, key, "a float", err));
    return read_float(v, key, 0, out, err);
}

npu_status npu_gguf_get_bool(const npu_gguf *g, const char *key, bool *out, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(g, key);
    NPU_TRY(need_scalar(v, key, "a bool", err));
    return read_bool(v, key, 0, out, err);
}

npu_status npu_gguf_get_str(const npu_gguf *g, const char *key, npu_gguf_str *out, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(g, key);
    if (!v) return missing(err, key);
    if (v->type != NPU_GGUF_STRING) return wrong_type(err, key, v, "a string");
    *out = (npu_gguf_str){(const char *)v->data, (size_t)v->bytes};
    return NPU_OK;
}

/* For the per-layer getters: finds the key and turns |index| into the element that holds for it. Arrays of narrow
 * integers are refused: no writer makes them for such keys, and other readers take them for 32-bit ones. */
static npu_status find_at(const npu_gguf *g, const char *key, uint64_t *index, const char *wanted,
                          const npu_gguf_value **out, npu_error *err) {
    const npu_gguf_value *v = *out = npu_gguf_find(g, key);
    if (!v) return missing(err, key);
    if (v->type != NPU_GGUF_ARRAY) {
        *index = 0;
        return NPU_OK;
    }
    if (v->elem_type != NPU_GGUF_BOOL && npu__gguf_type_bytes(v->elem_type) < 4) return wrong_type(err, key, v, wanted);
    if (*index >= v->count)
        return npu_fail(err, NPU_INVALID, "gguf.key_count", "key %s has %llu elements, too few: element %llu is needed",
                        key, (unsigned long long)v->count, (unsigned long long)*index);
    return NPU_OK;
}

npu_status npu_gguf_get_u32_at(const npu_gguf *g, const char *key, uint64_t index, uint32_t *out, npu_error *err) {
    const npu_gguf_value *v;
    int64_t n = 0;
    uint64_t big = 0;
    NPU_TRY(find_at(g, key, &index, "integers of 32 or 64 bits", &v, err));
    NPU_TRY(read_int(v, key, index, 0, UINT32_MAX, &n, &big, err));
    *out = (uint32_t)big;
    return NPU_OK;
}

npu_status npu_gguf_get_f32_at(const npu_gguf *g, const char *key, uint64_t index, float *out, npu_error *err) {
    const npu_gguf_value *v;
    NPU_TRY(find_at(g, key, &index, "floats", &v, err));
    return read_float(v, key, index, out, err);
}

npu_status npu_gguf_get_bool_at(const npu_gguf *g, const char *key, uint64_t index, bool *out, npu_error *err) {
    const npu_gguf_value *v;
    NPU_TRY(find_at(g, key, &index, "bools", &v, err));
    return read_bool(v, key, index, out, err);
}

npu_status npu_gguf_get_array(const npu_gguf *g, const char *key, npu_gguf_type elem_type, const npu_gguf_value **out,
                              npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(g, key);
    if (!v) return missing(err, key);
    if (v->type != NPU_GGUF_ARRAY || v->elem_type != elem_type) {
        char wanted[32] = "array of ";
        strncat(wanted, npu_gguf_type_name(elem_type), sizeof wanted - strlen(wanted) - 1);
        return wrong_type(err, key, v, wanted);
    }
    *out = v;
    return NPU_OK;
}

npu_status npu_gguf_strings_open(const npu_gguf *g, const char *key, npu_gguf_strings *out, npu_error *err) {
    const npu_gguf_value *v;
    memset(out, 0, sizeof *out);
    NPU_TRY(npu_gguf_get_array(g, key, NPU_GGUF_STRING, &v, err));
    if (v->bytes > UINT32_MAX)
        return npu_fail(err, NPU_INVALID, "gguf.key_size", "key %s is too large: %llu bytes of strings", key,
                        (unsigned long long)v->bytes);
    /* Each string has a length of 8 bytes in the file, so the table is at most half of what was mapped anyway. */
    uint32_t *offsets = malloc((size_t)v->count * sizeof *offsets + 1);
    if (!offsets)
        return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "key %s: no memory for %llu strings", key,
                        (unsigned long long)v->count);
    uint64_t at = 0;
    for (uint64_t i = 0; i < v->count; i++) {
        offsets[i] = (uint32_t)at;
        at += 8 + npu__gguf_u64(v->data + at); /* all lengths were checked when the file was opened */
    }
    *out = (npu_gguf_strings){v->count, v->data, offsets};
    return NPU_OK;
}

void npu_gguf_strings_close(npu_gguf_strings *strings) {
    free(strings->offsets);
    memset(strings, 0, sizeof *strings);
}

npu_gguf_str npu_gguf_strings_at(const npu_gguf_strings *strings, uint64_t index) {
    const uint8_t *p = strings->data + strings->offsets[index];
    return (npu_gguf_str){(const char *)p + 8, (size_t)npu__gguf_u64(p)};
}
