/* Reading a GGUF tensor table and checking that what it describes lies in the file, aligned and without overlap. The
 * meaning and the wanted shapes of tensors are model/'s business. Called by gguf.c. */
#include "gguf/gguf_internal.h"

#include <stdlib.h>
#include <string.h>

/* Name, dimensions, type and offset as stated; name and count of dimensions are checked. */
typedef struct record {
    uint32_t type;
    uint64_t offset;
} record;

static npu_status cut_short(npu_error *err, const npu__gguf_cursor *c, uint64_t index, const char *name) {
    return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.truncated",
                          "truncated: the file ends inside the record of tensor %llu%s%s", (unsigned long long)index,
                          *name ? " " : "", name);
}

static npu_status take_name(npu__gguf_cursor *c, uint64_t index, char name[NPU_GGUF_NAME_MAX + 1], npu_error *err) {
    uint64_t size;
    name[0] = 0;
    if (!npu__gguf_take_u64(c, &size)) return cut_short(err, c, index, name);
    if (size < 1 || size > NPU_GGUF_NAME_MAX)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.tensor_name",
                              "tensor %llu: a name length of %llu is not possible (1 to %d)", (unsigned long long)index,
                              (unsigned long long)size, NPU_GGUF_NAME_MAX);
    const uint8_t *p = npu__gguf_take(c, size);
    if (!p) return cut_short(err, c, index, name);
    if (memchr(p, 0, (size_t)size))
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.tensor_name",
                              "tensor %llu: its name has a zero byte in it", (unsigned long long)index);
    memcpy(name, p, (size_t)size);
    name[size] = 0;
    return NPU_OK;
}

static npu_status take_record(npu__gguf_cursor *c, uint64_t index, npu_gguf_tensor *t, record *r, npu_error *err) {
    NPU_TRY(take_name(c, index, t->name, err));
    if (!npu__gguf_take_u32(c, &t->n_dims)) return cut_short(err, c, index, t->name);
    if (t->n_dims > 4)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.tensor_dims",
                              "tensor %s: %u dimensions, the format has at most 4", t->name, t->n_dims);
    for (uint32_t i = 0; i < 4; i++) {
        t->ne[i] = 1;
        if (i < t->n_dims && !npu__gguf_take_u64(c, &t->ne[i])) return cut_short(err, c, index, t->name);
    }
    if (!npu__gguf_take_u32(c, &r->type) || !npu__gguf_take_u64(c, &r->offset))
        return cut_short(err, c, index, t->name);
    return NPU_OK;
}

static npu_status check_shape(npu_gguf_tensor *t, const npu_format *format, const npu__gguf_part *part,
                              npu_error *err) {
    for (uint32_t i = 0; i < 4; i++)
        if (t->ne[i] == 0)
            return npu__gguf_fail(err, part, NPU_INVALID, "gguf.tensor_dims", "tensor %s: dimension %u must not be 0",
                                  t->name, i);
    if (t->ne[0] % format->block_values != 0)
        return npu__gguf_fail(err, part, NPU_INVALID, "gguf.tensor_block",
                              "tensor %s: rows of %llu values are not whole blocks of %u values (%s)", t->name,
                              (unsigned long long)t->ne[0], format->block_values, format->name);
    uint64_t bytes = format->block_bytes, count = t->ne[0] / format->block_values;
    for (uint32_t i = 0; i < 4; i++) {
        t->nb[i] = bytes;
        if (i > 0) count = t->ne[i];
        if (count > (uint64_t)INT64_MAX / bytes)
            return npu__gguf_fail(err, part, NPU_INVALID, "gguf.tensor_size",
                                  "tensor %s: the size of %llu x %llu x %llu x %llu values (%s) overflows", t->name,
                                  (unsigned long long)t->ne[0], (unsigned long long)t->ne[1],
                                  (unsigned long long)t->ne[2], (unsigned long long)t->ne[3], format->name);
        bytes *= count;
    }
    t->bytes = bytes;
    return NPU_OK;
}

/* Tensor numbers that npu does not read are refused here, even if nobody needs the tensor: its size is unknown, so
 * whether the file is sound can't be told. */
static npu_status check_tensor(npu_gguf_tensor *t, const record *r, const npu__gguf_part *part, npu_error *err) {
    const npu_format *format = npu_format_of(r->type);
    if (!format)
        return npu__gguf_fail(err, part, NPU_REFUSED, "gguf.tensor_type", "tensor %s: type %u (%s) is not supported",
                              t->name, r->type, npu_format_name(r->type));
    t->type = (npu_type)r->type;
    return check_shape(t, format, part, err);
}

/* Offsets count from the data section, whose start is known only now that the whole table has been read. */
static npu_status place_tensor(npu_gguf_tensor *t, const npu__gguf_cursor *c, uint64_t start, uint64_t alignment,
                               npu_error *err) {
    uint64_t offset = t->file_offset, room = start < c->size ? c->size - start : 0;
    if (offset % alignment != 0)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.tensor_offset",
                              "tensor %s: offset %llu is not a multiple of the alignment %llu", t->name,
                              (unsigned long long)offset, (unsigned long long)alignment);
    if (offset > room || t->bytes > room - offset)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.tensor_bounds",
                              "tensor %s: %llu bytes at offset %llu of the data section lie beyond the end of the file "
                              "(truncated? the section begins at %llu, the file has %llu bytes)",
                              t->name, (unsigned long long)t->bytes, (unsigned long long)offset,
                              (unsigned long long)start, (unsigned long long)c->size);
    t->file_offset = start + offset;
    t->data = c->part->data + t->file_offset;
    return NPU_OK;
}

npu_status npu__gguf_read_tensors(npu_gguf *g, npu__gguf_cursor *c, uint64_t count, uint32_t file, uint64_t alignment,
                                  npu_error *err) {
    size_t first = g->tensor_count;
    for (uint64_t i = 0; i < count; i++) {
        NPU_TRY(npu__gguf_grow((void **)&g->tensors, g->tensor_count, &g->tensor_room, sizeof *g->tensors, err));
        npu_gguf_tensor *t = &g->tensors[g->tensor_count];
        record r;
        NPU_TRY(take_record(c, i, t, &r, err));
        NPU_TRY(check_tensor(t, &r, c->part, err));
        t->file = file;
        t->file_offset = r.offset;
        g->tensor_count++;
    }
    uint64_t start = (c->at + alignment - 1) / alignment * alignment; /* below 2^64: both are far smaller */
    for (size_t i = first; i < g->tensor_count; i++) NPU_TRY(place_tensor(&g->tensors[i], c, start, alignment, err));
    return NPU_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const npu_gguf_tensor *const *)a)->name, (*(const npu_gguf_tensor *const *)b)->name);
}

static int compare_places(const void *a, const void *b) {
    const npu_gguf_tensor *x = *(const npu_gguf_tensor *const *)a, *y = *(const npu_gguf_tensor *const *)b;
    if (x->file != y->file) return (x->file > y->file) - (x->file < y->file);
    return (x->file_offset > y->file_offset) - (x->file_offset < y->file_offset);
}

npu_status npu__gguf_index_tensors(npu_gguf *g, npu_error *err) {
    size_t n = g->tensor_count;
    if (n == 0) return NPU_OK;
    g->by_name = malloc(n * sizeof *g->by_name);
    if (!g->by_name) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for %zu tensors", n);
    for (size_t i = 0; i < n; i++) g->by_name[i] = &g->tensors[i];

    qsort(g->by_name, n, sizeof *g->by_name, compare_places);
    for (size_t i = 1; i < n; i++) {
        const npu_gguf_tensor *a = g->by_name[i - 1], *b = g->by_name[i];
        if (a->file == b->file && a->bytes > b->file_offset - a->file_offset)
            return npu__gguf_fail(err, &g->parts[a->file], NPU_INVALID, "gguf.tensor_overlap",
                                  "tensors %s and %s lie over the same bytes, which must not be", a->name, b->name);
    }
    qsort(g->by_name, n, sizeof *g->by_name, compare_names);
    for (size_t i = 1; i < n; i++)
        if (compare_names(&g->by_name[i - 1], &g->by_name[i]) == 0)
            return npu__gguf_fail(err, &g->parts[g->by_name[i]->file], NPU_INVALID, "gguf.tensor_twice",
                                  "tensor %s is there twice", g->by_name[i]->name);
    return NPU_OK;
}

size_t npu_gguf_tensor_count(const npu_gguf *g) {
    return g->tensor_count;
}

const npu_gguf_tensor *npu_gguf_tensor_at(const npu_gguf *g, size_t index) {
    return index < g->tensor_count ? &g->tensors[index] : NULL;
}

const npu_gguf_tensor *npu_gguf_tensor_find(const npu_gguf *g, const char *name) {
    size_t low = 0, high = g->tensor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(g->by_name[middle]->name, name);
        if (order == 0) return g->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
