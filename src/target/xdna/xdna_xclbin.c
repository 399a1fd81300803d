/* Reader of xclbin containers (axlf): finds the one DPU kernel, its PDI and the columns it needs. Offsets in the file
 * and in its sections are little-endian and as in the public format; nothing is read before it is known to be inside.
 */
#include <string.h>

#include "target/xdna/xdna_kernel.h"

enum {
    HEADER_BYTES = 456,
    SECTIONS_MAX = 256,
    SECTION_BYTES = 40,
    IP_LAYOUT = 8,
    AIE_PARTITION = 32,
    IP_BYTES = 80,
    IP_TYPE_PS_KERNEL = 7,
    PARTITION_BYTES = 184,
    PDI_BYTES = 96,
    GROUP_BYTES = 96,
};

/* A part of the file, and the file's name for messages. */
typedef struct span {
    const char *name;
    const uint8_t *data;
    uint64_t bytes;
} span;

static uint64_t get(const span *s, uint64_t at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)s->data[at + i] << 8 * i;
    return value;
}

static npu_status bad(const span *s, npu_error *err, const char *what) {
    return npu_fail(err, NPU_INVALID, "xdna.bad_xclbin", "kernel %s: no usable xclbin: %s", s->name, what);
}

static npu_status cut(const span *s, uint64_t offset, uint64_t bytes, const char *what, span *out, npu_error *err) {
    *out = (span){s->name, s->data, 0};
    if (offset > s->bytes || bytes > s->bytes - offset) return bad(s, err, what);
    *out = (span){s->name, s->data + offset, bytes};
    return NPU_OK;
}

/* An array in a section: {u32 count, u32 offset} at |at|. */
static npu_status array(const span *section, const span *record, uint64_t at, uint64_t item_bytes, const char *what,
                        uint64_t *count, span *out, npu_error *err) {
    *count = get(record, at, 4);
    return cut(section, get(record, at + 4, 4), *count * item_bytes, what, out, err);
}

static npu_status find_section(const span *file, uint32_t kind, const char *name, span *out, npu_error *err) {
    span table, row;
    uint64_t n = get(file, 304 + 144, 4);
    if (n > SECTIONS_MAX) return bad(file, err, "too many sections");
    NPU_TRY(cut(file, HEADER_BYTES, n * SECTION_BYTES, "section table past the end", &table, err));
    for (uint64_t i = 0; i < n; i++) {
        NPU_TRY(cut(&table, i * SECTION_BYTES, SECTION_BYTES, "section table past the end", &row, err));
        if (get(&row, 0, 4) != kind) continue;
        return cut(file, get(&row, 24, 8), get(&row, 32, 8), "section past the end", out, err);
    }
    return bad(file, err, name);
}

/* The first kernel instance that runs on the array. */
static npu_status find_kernel(const span *layout, uint32_t *id, uint8_t *functional, npu_error *err) {
    *id = 0;
    if (layout->bytes < 8) return bad(layout, err, "IP_LAYOUT too short");
    uint64_t n = get(layout, 0, 4);
    span table, ip;
    NPU_TRY(cut(layout, 8, n * IP_BYTES, "IP_LAYOUT too short", &table, err));
    for (uint64_t i = 0; i < n; i++) {
        NPU_TRY(cut(&table, i * IP_BYTES, IP_BYTES, "IP_LAYOUT too short", &ip, err));
        uint32_t properties = (uint32_t)get(&ip, 4, 4);
        if (get(&ip, 0, 4) != IP_TYPE_PS_KERNEL || (properties & 3) != 1) continue;
        *id = properties >> 16 & 0xFFF;
        *functional = properties >> 4 & 3;
        return NPU_OK;
    }
    return bad(layout, err, "no DPU kernel in IP_LAYOUT");
}

static npu_status lists_kernel(const span *section, const span *pdi, uint32_t id, bool *yes, npu_error *err) {
    uint64_t n_groups = 0, n_ids = 0;
    span groups, group, ids;
    *yes = false;
    NPU_TRY(array(section, pdi, 24, GROUP_BYTES, "CDO groups past the end", &n_groups, &groups, err));
    for (uint64_t i = 0; i < n_groups && !*yes; i++) {
        NPU_TRY(cut(&groups, i * GROUP_BYTES, GROUP_BYTES, "CDO groups past the end", &group, err));
        NPU_TRY(array(section, &group, 16, 8, "kernel ids past the end", &n_ids, &ids, err));
        for (uint64_t j = 0; j < n_ids; j++) *yes = *yes || get(&ids, j * 8, 8) == id;
    }
    return NPU_OK;
}

static npu_status find_pdi(const span *section, uint32_t id, npu_xdna_image *out, npu_error *err) {
    uint64_t n = 0, bytes = 0;
    span pdis, pdi, image;
    bool ours;
    NPU_TRY(array(section, section, 120, PDI_BYTES, "PDIs past the end", &n, &pdis, err));
    for (uint64_t i = 0; i < n; i++) {
        NPU_TRY(cut(&pdis, i * PDI_BYTES, PDI_BYTES, "PDIs past the end", &pdi, err));
        NPU_TRY(lists_kernel(section, &pdi, id, &ours, err));
        if (!ours) continue;
        NPU_TRY(array(section, &pdi, 16, 1, "PDI image past the end", &bytes, &image, err));
        if (!bytes) return bad(section, err, "empty PDI image");
        out->pdi = image.data;
        out->pdi_bytes = bytes;
        return NPU_OK;
    }
    return bad(section, err, "no PDI for the kernel");
}

npu_status npu__xdna_xclbin_read(const char *name, const uint8_t *data, size_t bytes, npu_xdna_image *out,
                                 npu_error *err) {
    span file = {name, data, bytes}, layout, partition;
    uint32_t id;
    *out = (npu_xdna_image){0};
    if (bytes < HEADER_BYTES || memcmp(data, "xclbin2", 8) != 0) return bad(&file, err, "no xclbin2 header");
    if (get(&file, 304, 8) > bytes) return bad(&file, err, "file shorter than it says");
    NPU_TRY(find_section(&file, IP_LAYOUT, "no section IP_LAYOUT", &layout, err));
    NPU_TRY(find_section(&file, AIE_PARTITION, "no section AIE_PARTITION", &partition, err));
    if (partition.bytes < PARTITION_BYTES) return bad(&file, err, "AIE_PARTITION too short");
    out->ops_per_cycle = (uint32_t)get(&partition, 8, 4);
    out->columns = (uint32_t)get(&partition, 32, 2);
    if (!out->columns) return bad(&file, err, "0 columns");
    NPU_TRY(find_kernel(&layout, &id, &out->functional, err));
    return find_pdi(&partition, id, out, err);
}
