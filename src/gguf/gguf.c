/* Opening a model: one file, or every part of a split one. The reading itself is in gguf_parse.c and gguf_tensor.c. */
#include "gguf/gguf_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const alignment_key = "general.alignment";

enum {
    ALIGNMENT_DEFAULT = 32,
    ALIGNMENT_MIN = 8,       /* the format asks for multiples of 8; kernels read words */
    SPLIT_SUFFIX = 20,       /* "-00001-of-00003.gguf" */
    SPLIT_PARTS_MAX = 99999, /* what the five digits hold */
};

static npu_status read_alignment(const npu__gguf_part *part, const npu__gguf_values *values, uint64_t *out,
                                 npu_error *err) {
    *out = ALIGNMENT_DEFAULT;
    const npu_gguf_value *v = npu__gguf_lookup(values, alignment_key);
    if (!v) return NPU_OK;
    uint32_t stated;
    NPU_TRY(npu__gguf_value_u32(v, alignment_key, &stated, err));
    if (stated < ALIGNMENT_MIN || (stated & (stated - 1)) != 0)
        return npu__gguf_fail(err, part, NPU_INVALID, "gguf.alignment",
                              "key %s is %u: it must be a power of two and at least %d", alignment_key, stated,
                              ALIGNMENT_MIN);
    *out = stated;
    return NPU_OK;
}

/* Reads the part that was added last. Its metadata goes to |values|. */
static npu_status read_part(npu_gguf *g, npu__gguf_values *values, npu_error *err) {
    uint32_t index = (uint32_t)(g->part_count - 1);
    const npu__gguf_part *part = &g->parts[index];
    npu__gguf_cursor c = {part, 0, part->info.size};
    npu__gguf_header header;
    uint64_t alignment;
    NPU_TRY(npu__gguf_read_header(&c, &header, err));
    NPU_TRY(npu__gguf_read_values(&c, header.value_count, values, err));
    NPU_TRY(read_alignment(part, values, &alignment, err));
    NPU_TRY(npu__gguf_read_tensors(g, &c, header.tensor_count, index, alignment, err));
    if (index == 0) g->version = header.version;
    return NPU_OK;
}

static npu_status new_part(npu_gguf *g, const char *path, npu__gguf_part **out, npu_error *err) {
    NPU_TRY(npu__gguf_grow((void **)&g->parts, g->part_count, &g->part_room, sizeof *g->parts, err));
    npu__gguf_part *part = &g->parts[g->part_count];
    memset(part, 0, sizeof *part);
    part->info.path = strdup(path);
    if (!part->info.path) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for a file name");
    g->part_count++;
    *out = part;
    return NPU_OK;
}

static npu_status map_part(npu_gguf *g, const char *path, npu_error *err) {
    npu__gguf_part *part = NULL;
    NPU_TRY(new_part(g, path, &part, err));
    NPU_TRY(npu_map_open(path, &part->map, err));
    part->data = part->map.data;
    part->info.size = part->map.size;
    part->info.mtime_ns = part->map.mtime_ns;
    part->info.ctime_ns = part->map.ctime_ns;
    part->info.device = part->map.device;
    part->info.inode = part->map.inode;
    return NPU_OK;
}

/* A key of the split.* family: in the parts of a split they are all needed. */
static npu_status split_value(const npu__gguf_part *part, const npu__gguf_values *values, const char *key,
                              uint32_t *out, npu_error *err) {
    npu_error inner = {0};
    npu_status status = npu__gguf_value_u32(npu__gguf_lookup(values, key), key, out, &inner);
    return status == NPU_OK ? NPU_OK : npu__gguf_fail(err, part, NPU_INVALID, "gguf.split", "%s", inner.text);
}

static bool split_name(const char *path, uint32_t no, uint32_t count, size_t *stem) {
    size_t length = strlen(path);
    if (length < SPLIT_SUFFIX || count > SPLIT_PARTS_MAX || no >= count) return false;
    char want[SPLIT_SUFFIX + 16];
    snprintf(want, sizeof want, "-%05u-of-%05u.gguf", no + 1, count);
    *stem = length - SPLIT_SUFFIX;
    return strcmp(path + *stem, want) == 0;
}

/* Which part of how many the first file is, and whether its name agrees. */
static npu_status check_first(const npu_gguf *g, uint32_t *count, size_t *stem, npu_error *err) {
    const npu__gguf_part *part = &g->parts[0];
    uint32_t no;
    *count = 1;
    if (!npu__gguf_lookup(&g->values, "split.count")) return NPU_OK;
    NPU_TRY(split_value(part, &g->values, "split.count", count, err));
    if (*count <= 1) return NPU_OK;
    NPU_TRY(split_value(part, &g->values, "split.no", &no, err));
    if (!split_name(part->info.path, no, *count, stem))
        return npu__gguf_fail(err, part, NPU_INVALID, "gguf.split",
                              "split.no %u and split.count %u do not fit the file's name, which must end in "
                              "-%05u-of-%05u.gguf",
                              no, *count, no + 1, *count);
    if (no != 0)
        return npu__gguf_fail(err, part, NPU_INVALID, "gguf.split",
                              "part %u of a split model: name the first part instead (-00001-of-%05u.gguf)", no + 1,
                              *count);
    return NPU_OK;
}

static npu_status read_further_part(npu_gguf *g, const char *path, uint32_t no, uint32_t count, npu_error *err) {
    npu_error inner = {0};
    npu_status status = map_part(g, path, &inner);
    if (status != NPU_OK)
        return npu_fail(err, status, status == NPU_NOT_FOUND ? "gguf.split_missing" : inner.code,
                        "part %u of %u of the split model is missing: %s", no + 1, count, inner.text);
    npu__gguf_values values = {0};
    uint32_t stated_no = 0, stated_count = 0;
    status = read_part(g, &values, err);
    const npu__gguf_part *part = &g->parts[g->part_count - 1];
    if (status == NPU_OK) status = split_value(part, &values, "split.no", &stated_no, err);
    if (status == NPU_OK) status = split_value(part, &values, "split.count", &stated_count, err);
    if (status == NPU_OK && (stated_no != no || stated_count != count))
        status = npu__gguf_fail(err, part, NPU_INVALID, "gguf.split",
                                "split.no is %u and split.count is %u, expected %u and %u", stated_no, stated_count, no,
                                count);
    npu__gguf_free_values(&values);
    return status;
}

static npu_status read_split(npu_gguf *g, uint32_t count, size_t stem, npu_error *err) {
    size_t size = stem + SPLIT_SUFFIX + 1;
    char *path = malloc(size);
    if (!path) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for a file name");
    npu_status status = NPU_OK;
    for (uint32_t no = 1; no < count && status == NPU_OK; no++) {
        snprintf(path, size, "%.*s-%05u-of-%05u.gguf", (int)stem, g->parts[0].info.path, no + 1, count);
        status = read_further_part(g, path, no, count, err);
    }
    free(path);
    NPU_TRY(status);
    uint32_t tensors;
    NPU_TRY(split_value(&g->parts[0], &g->values, "split.tensors.count", &tensors, err));
    if (tensors != g->tensor_count)
        return npu__gguf_fail(err, &g->parts[0], NPU_INVALID, "gguf.split",
                              "split.tensors.count is %u, but the %u parts have %zu tensors", tensors, count,
                              g->tensor_count);
    return NPU_OK;
}

/* The first part is in place: reads it and whatever belongs to it. */
static npu_status read_model(npu_gguf *g, bool alone, npu_error *err) {
    uint32_t count;
    size_t stem = 0;
    NPU_TRY(read_part(g, &g->values, err));
    NPU_TRY(check_first(g, &count, &stem, err));
    if (count > 1 && alone)
        return npu__gguf_fail(err, &g->parts[0], NPU_REFUSED, "gguf.split", "a split model can't be read from memory");
    if (count > 1) NPU_TRY(read_split(g, count, stem, err));
    return npu__gguf_index_tensors(g, err);
}

static npu_status finish_open(npu_gguf *g, npu_status status, const npu_logger *logger, npu_gguf **out) {
    if (status != NPU_OK) {
        npu_gguf_close(g);
        return status;
    }
    npu_log(logger, NPU_LOG_DEBUG, "gguf: %zu keys and %zu tensors in %zu file(s)", g->values.count, g->tensor_count,
            g->part_count);
    *out = g;
    return NPU_OK;
}

npu_status npu_gguf_open(const char *path, const npu_logger *logger, npu_gguf **out, npu_error *err) {
    *out = NULL;
    npu_gguf *g = calloc(1, sizeof *g);
    if (!g) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for a reader");
    npu_status status = map_part(g, path, err);
    if (status == NPU_OK) status = read_model(g, false, err);
    return finish_open(g, status, logger, out);
}

npu_status npu_gguf_open_memory(const void *data, size_t size, const char *name, const npu_logger *logger,
                                npu_gguf **out, npu_error *err) {
    *out = NULL;
    npu_gguf *g = calloc(1, sizeof *g);
    if (!g) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for a reader");
    npu__gguf_part *part = NULL;
    npu_status status = new_part(g, name, &part, err);
    if (status == NPU_OK) {
        part->data = data;
        part->info.size = size;
        status = read_model(g, true, err);
    }
    return finish_open(g, status, logger, out);
}

void npu_gguf_close(npu_gguf *g) {
    if (!g) return;
    for (size_t i = 0; i < g->part_count; i++) {
        npu_map_close(&g->parts[i].map);
        free((char *)(uintptr_t)g->parts[i].info.path);
    }
    npu__gguf_free_values(&g->values);
    free(g->parts);
    free(g->tensors);
    free(g->by_name);
    free(g);
}

uint32_t npu_gguf_version(const npu_gguf *g) {
    return g->version;
}

size_t npu_gguf_file_count(const npu_gguf *g) {
    return g->part_count;
}

const npu_gguf_file *npu_gguf_file_at(const npu_gguf *g, size_t index) {
    return index < g->part_count ? &g->parts[index].info : NULL;
}

size_t npu_gguf_key_count(const npu_gguf *g) {
    return g->values.count;
}

const npu_gguf_value *npu_gguf_key_at(const npu_gguf *g, size_t index) {
    return index < g->values.count ? &g->values.at[index] : NULL;
}

const npu_gguf_value *npu_gguf_find(const npu_gguf *g, const char *key) {
    return npu__gguf_lookup(&g->values, key);
}
