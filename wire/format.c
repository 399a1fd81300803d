/* The format table made from npu_formats.def. Built into the host library and the NPU program alike. */
#include "wire/format.h"

#include <stddef.h>

/* Indexed by type number; rows that no format uses have block_values 0. */
static const npu_format formats[NPU_TYPE_LIMIT] = {
#define NPU_FORMAT(NAME, code, name, values, bytes, group, flags) [code] = {name, code, values, bytes, group, flags},
#include "wire/npu_formats.def"
};

static const uint8_t listed[] = {
#define NPU_FORMAT(NAME, code, name, values, bytes, group, flags) code,
#include "wire/npu_formats.def"
};

static const struct {
    uint32_t type;
    char name[12];
} foreign[] = {
#define NPU_FORMAT_FOREIGN(code, name) {code, name},
#include "wire/npu_formats.def"
};

const npu_format *npu_format_of(uint32_t type) {
    return type < NPU_TYPE_LIMIT && formats[type].block_values ? &formats[type] : NULL;
}

const npu_format *npu_format_at(uint32_t index) {
    return index < sizeof listed ? &formats[listed[index]] : NULL;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const npu_format *npu_format_named(const char *name) {
    for (uint32_t i = 0; i < sizeof listed; i++) {
        const npu_format *f = &formats[listed[i]];
        uint32_t n = 0;
        while (name[n] && lower(name[n]) == f->name[n]) n++;
        if (!name[n] && !f->name[n]) return f;
    }
    return NULL;
}

const char *npu_format_name(uint32_t type) {
    const npu_format *f = npu_format_of(type);
    if (f) return f->name;
    for (uint32_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (foreign[i].type == type) return foreign[i].name;
    return "unknown";
}
