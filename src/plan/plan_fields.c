#include "plan/plan_fields.h"

#include <string.h>

#include "plan/plan.h"
#include "wire/format.h"

void npu__plan_bad(npu_plan_reader *r, const char *section, const char *field, const char *what) {
    if (r->status == NPU_OK)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.field", "%s: %s.%s %s", r->path, section, field, what);
}

uint64_t npu__plan_number(npu_plan_reader *r, const json_t *o, const char *section, const char *field, uint64_t max) {
    const json_t *v = json_object_get(o, field);
    if (!json_is_integer(v)) {
        npu__plan_bad(r, section, field, "is missing or not an integer");
        return 0;
    }
    if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max) {
        npu__plan_bad(r, section, field, "is out of range");
        return 0;
    }
    return (uint64_t)json_integer_value(v);
}

uint32_t npu__plan_word(npu_plan_reader *r, const json_t *o, const char *section, const char *field) {
    return (uint32_t)npu__plan_number(r, o, section, field, UINT32_MAX);
}

bool npu__plan_flag(npu_plan_reader *r, const json_t *o, const char *section, const char *field) {
    const json_t *v = json_object_get(o, field);
    if (!json_is_boolean(v)) npu__plan_bad(r, section, field, "is missing or not true or false");
    return json_is_true(v);
}

void npu__plan_text(npu_plan_reader *r, const json_t *o, const char *section, const char *field, char *out,
                    size_t out_size) {
    const char *s = json_string_value(json_object_get(o, field));
    if (!s)
        npu__plan_bad(r, section, field, "is missing or not a string");
    else if (strlen(s) >= out_size)
        npu__plan_bad(r, section, field, "is too long");
    else
        memcpy(out, s, strlen(s) + 1);
}

uint16_t npu__plan_role(npu_plan_reader *r, const json_t *o, const char *section) {
    char name[32] = "";
    npu__plan_text(r, o, section, "role", name, sizeof name);
    int found = npu_role_named(name);
    if (found < 0 && r->status == NPU_OK)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.role", "%s: %s: role \"%s\" is not one that this build knows",
                             r->path, section, name);
    return (uint16_t)(found < 0 ? 0 : found);
}

uint32_t npu__plan_dim(npu_plan_reader *r, const json_t *o, const char *section, const char *field) {
    uint64_t value = npu__plan_number(r, o, section, field, INT64_MAX);
    if (r->status == NPU_OK && (value < 1 || value > NPU_PLAN_MAX_DIM))
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.dims", "%s: %s.%s is %llu, not from 1 to %d", r->path, section,
                             field, (unsigned long long)value, NPU_PLAN_MAX_DIM);
    return (uint32_t)value;
}

void npu__plan_check_padding(npu_plan_reader *r, const char *section, uint32_t K, uint32_t N, uint32_t real_k,
                             uint32_t real_n) {
    if (r->status == NPU_OK && (real_k > K || real_n > N))
        r->status =
            npu_fail(r->err, NPU_REFUSED, "plan.dims", "%s: %s: real size %u x %u is more than the padded %u x %u",
                     r->path, section, real_k, real_n, K, N);
}

uint16_t npu__plan_splits(npu_plan_reader *r, const json_t *o, const char *section, uint32_t real_n, uint32_t *out) {
    const json_t *list = json_object_get(o, "splits");
    uint64_t sum = 0;
    if (!json_is_array(list) || json_array_size(list) > NPU_PLAN_MAX_SPLITS) {
        npu__plan_bad(r, section, "splits", "is not a short list");
        return 0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t value = json_integer_value(json_array_get(list, i));
        if (value < 1 || value > NPU_PLAN_MAX_DIM) npu__plan_bad(r, section, "splits", "has a size that can't be");
        sum += out[i] = (uint32_t)value;
    }
    if (sum && sum != real_n) npu__plan_bad(r, section, "splits", "do not add up to real_n");
    return (uint16_t)json_array_size(list);
}

uint8_t npu__plan_type(npu_plan_reader *r, const char *section, const char *field, const char *name) {
    const npu_format *f = npu_format_named(name);
    if (!f) npu__plan_bad(r, section, field, "is not a known type");
    return f ? (uint8_t)f->type : 0;
}
