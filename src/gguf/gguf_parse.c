/* Reading the header and the metadata of one GGUF file: every length and count is compared with the bytes left before
 * anything is done with it. Knows the layout, not the meaning of any key. Called by gguf.c. */
#include "gguf/gguf_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BYTES_MAX = 65535, /* the format's own limit */
    ENTRIES_MAX = 1 << 24, /* far above any model; keeps indices and sizes small */
    VALUE_BYTES_MIN = 8 + 1 + 4 + 1,
    ARRAY_DEPTH_MAX = 8, /* arrays of arrays: read over, never interpreted */
};

static const struct {
    char name[8];
    uint8_t bytes;
} types[NPU_GGUF_TYPE_COUNT] = {
    [NPU_GGUF_U8] = {"u8", 1},       [NPU_GGUF_I8] = {"i8", 1},     [NPU_GGUF_U16] = {"u16", 2},
    [NPU_GGUF_I16] = {"i16", 2},     [NPU_GGUF_U32] = {"u32", 4},   [NPU_GGUF_I32] = {"i32", 4},
    [NPU_GGUF_F32] = {"f32", 4},     [NPU_GGUF_BOOL] = {"bool", 1}, [NPU_GGUF_STRING] = {"string", 0},
    [NPU_GGUF_ARRAY] = {"array", 0}, [NPU_GGUF_U64] = {"u64", 8},   [NPU_GGUF_I64] = {"i64", 8},
    [NPU_GGUF_F64] = {"f64", 8},
};

const char *npu_gguf_type_name(uint32_t type) {
    return type < NPU_GGUF_TYPE_COUNT ? types[type].name : "unknown";
}

uint32_t npu__gguf_type_bytes(uint32_t type) {
    return type < NPU_GGUF_TYPE_COUNT ? types[type].bytes : 0;
}

uint32_t npu__gguf_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t npu__gguf_u64(const uint8_t *p) {
    return npu__gguf_u32(p) | (uint64_t)npu__gguf_u32(p + 4) << 32;
}

const uint8_t *npu__gguf_take(npu__gguf_cursor *c, uint64_t bytes) {
    if (bytes > c->size - c->at) return NULL;
    const uint8_t *p = c->part->data + c->at;
    c->at += bytes;
    return p;
}

bool npu__gguf_take_u32(npu__gguf_cursor *c, uint32_t *out) {
    const uint8_t *p = npu__gguf_take(c, 4);
    if (p) *out = npu__gguf_u32(p);
    return p != NULL;
}

bool npu__gguf_take_u64(npu__gguf_cursor *c, uint64_t *out) {
    const uint8_t *p = npu__gguf_take(c, 8);
    if (p) *out = npu__gguf_u64(p);
    return p != NULL;
}

npu_status npu__gguf_fail(npu_error *err, const npu__gguf_part *part, npu_status status, const char *code,
                          const char *format, ...) {
    if (!err) return status;
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *slash = strrchr(part->info.path, '/');
    return npu_fail(err, status, code, "%.120s: %s", slash ? slash + 1 : part->info.path, text);
}

npu_status npu__gguf_grow(void **array, size_t count, size_t *room, size_t element, npu_error *err) {
    if (count < *room) return NPU_OK;
    size_t more = *room ? *room * 2 : 64;
    void *grown = more <= SIZE_MAX / element ? realloc(*array, more * element) : NULL;
    if (!grown) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for a table of %zu entries", more);
    *array = grown;
    *room = more;
    return NPU_OK;
}

static npu_status cut_short(npu_error *err, const npu__gguf_cursor *c, const char *what) {
    return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.truncated", "truncated: the file ends inside %s", what);
}

npu_status npu__gguf_read_header(npu__gguf_cursor *c, npu__gguf_header *out, npu_error *err) {
    const uint8_t *magic = npu__gguf_take(c, 4);
    if (!magic)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.bad_magic",
                              "not a GGUF file: %s, no room for the magic number",
                              c->size ? "only a few bytes long" : "empty");
    if (memcmp(magic, "GGUF", 4) != 0)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.bad_magic",
                              "not a GGUF file: it begins with %02x %02x %02x %02x instead of the magic \"GGUF\"",
                              magic[0], magic[1], magic[2], magic[3]);
    if (!npu__gguf_take_u32(c, &out->version)) return cut_short(err, c, "the version");
    if (out->version != 0 && (out->version & 0xFFFF) == 0)
        return npu__gguf_fail(err, c->part, NPU_REFUSED, "gguf.big_endian",
                              "big-endian GGUF file (version field 0x%08x): only little-endian files are read",
                              out->version);
    if (out->version != 2 && out->version != 3)
        return npu__gguf_fail(err, c->part, NPU_REFUSED, "gguf.version",
                              "GGUF version %u: only versions 2 and 3 are read", out->version);
    if (!npu__gguf_take_u64(c, &out->tensor_count)) return cut_short(err, c, "the tensor count");
    if (!npu__gguf_take_u64(c, &out->value_count)) return cut_short(err, c, "the metadata key count");
    uint64_t left = c->size - c->at;
    if (out->value_count > left / VALUE_BYTES_MIN || out->value_count > ENTRIES_MAX)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.key_count",
                              "a key count of %llu cannot be: %llu bytes left", (unsigned long long)out->value_count,
                              (unsigned long long)left);
    if (out->tensor_count > left || out->tensor_count > ENTRIES_MAX)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.tensor_count",
                              "a tensor count of %llu cannot be: %llu bytes left",
                              (unsigned long long)out->tensor_count, (unsigned long long)left);
    return NPU_OK;
}

static npu_status bad_value(npu_error *err, const npu__gguf_cursor *c, npu_gguf_str key, const char *what, uint64_t n) {
    return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.value_length",
                          "key %.*s: %s %llu does not fit, %llu bytes left", NPU__SLICE(key), what,
                          (unsigned long long)n, (unsigned long long)(c->size - c->at));
}

static npu_status value_cut_short(npu_error *err, const npu__gguf_cursor *c, npu_gguf_str key) {
    return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.truncated", "truncated: the file ends inside key %.*s",
                          NPU__SLICE(key));
}

/* Moves over a string's bytes. */
static npu_status take_string(npu__gguf_cursor *c, npu_gguf_str key, npu_gguf_str *out, npu_error *err) {
    uint64_t size;
    if (!npu__gguf_take_u64(c, &size)) return value_cut_short(err, c, key);
    const uint8_t *p = npu__gguf_take(c, size);
    if (!p) return bad_value(err, c, key, "a string length of", size);
    *out = (npu_gguf_str){(const char *)p, (size_t)size};
    return NPU_OK;
}

static npu_status bad_type(npu_error *err, const npu__gguf_cursor *c, npu_gguf_str key, const char *what,
                           uint32_t type) {
    return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.value_type", "key %.*s: unknown %s type %u", NPU__SLICE(key),
                          what, type);
}

/* Reads an array's head into elem_type and count and moves over its elements. */
static npu_status take_array(npu__gguf_cursor *c, npu_gguf_str key, int depth, npu_gguf_value *out, npu_error *err) {
    uint32_t type;
    uint64_t count;
    if (depth > ARRAY_DEPTH_MAX)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.array_depth",
                              "key %.*s: arrays nested more than %d deep", NPU__SLICE(key), ARRAY_DEPTH_MAX);
    if (!npu__gguf_take_u32(c, &type) || !npu__gguf_take_u64(c, &count)) return value_cut_short(err, c, key);
    if (type >= NPU_GGUF_TYPE_COUNT) return bad_type(err, c, key, "array element", type);
    uint64_t from = c->at, left = c->size - c->at;
    uint32_t number = npu__gguf_type_bytes(type), least = number ? number : type == NPU_GGUF_STRING ? 8 : 12;
    if (count > left / least) return bad_value(err, c, key, "an array count of", count);
    if (number) (void)npu__gguf_take(c, count * number); /* fits, as just checked */
    for (uint64_t i = 0; !number && i < count; i++) {
        npu_gguf_str skipped;
        npu_gguf_value inner;
        if (type == NPU_GGUF_STRING)
            NPU_TRY(take_string(c, key, &skipped, err));
        else
            NPU_TRY(take_array(c, key, depth + 1, &inner, err));
    }
    out->elem_type = (npu_gguf_type)type;
    out->count = count;
    out->data = c->part->data + from;
    out->bytes = c->at - from;
    return NPU_OK;
}

static npu_status take_value(npu__gguf_cursor *c, npu_gguf_value *out, npu_error *err) {
    uint32_t type;
    if (!npu__gguf_take_u32(c, &type)) return value_cut_short(err, c, out->key);
    if (type >= NPU_GGUF_TYPE_COUNT) return bad_type(err, c, out->key, "value", type);
    out->type = out->elem_type = (npu_gguf_type)type;
    out->count = 1;
    if (type == NPU_GGUF_ARRAY) return take_array(c, out->key, 1, out, err);
    if (type == NPU_GGUF_STRING) {
        npu_gguf_str s;
        NPU_TRY(take_string(c, out->key, &s, err));
        out->data = (const uint8_t *)s.data;
        out->bytes = s.size;
        return NPU_OK;
    }
    out->bytes = npu__gguf_type_bytes(type);
    out->data = npu__gguf_take(c, out->bytes);
    return out->data ? NPU_OK : value_cut_short(err, c, out->key);
}

static npu_status take_key(npu__gguf_cursor *c, uint64_t index, npu_gguf_str *out, npu_error *err) {
    uint64_t size;
    if (!npu__gguf_take_u64(c, &size))
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.truncated", "truncated: the file ends before key %llu",
                              (unsigned long long)index);
    const uint8_t *p = size >= 1 && size <= KEY_BYTES_MAX ? npu__gguf_take(c, size) : NULL;
    if (!p)
        return npu__gguf_fail(err, c->part, NPU_INVALID, "gguf.key_length",
                              "key %llu: a key length of %llu is not possible (1 to %d, %llu bytes left)",
                              (unsigned long long)index, (unsigned long long)size, KEY_BYTES_MAX,
                              (unsigned long long)(c->size - c->at));
    *out = (npu_gguf_str){(const char *)p, (size_t)size};
    return NPU_OK;
}

static int compare_keys(npu_gguf_str a, npu_gguf_str b) {
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_values(const void *a, const void *b) {
    return compare_keys((*(const npu_gguf_value *const *)a)->key, (*(const npu_gguf_value *const *)b)->key);
}

/* Sorting, not hashing: a file made to collide could turn a hash table quadratic. */
static npu_status sort_values(const npu__gguf_part *part, npu__gguf_values *values, npu_error *err) {
    if (values->count == 0) return NPU_OK;
    values->by_key = malloc(values->count * sizeof *values->by_key);
    if (!values->by_key) return npu_fail(err, NPU_NO_MEMORY, "gguf.memory", "no memory for %zu keys", values->count);
    for (size_t i = 0; i < values->count; i++) values->by_key[i] = &values->at[i];
    qsort(values->by_key, values->count, sizeof *values->by_key, compare_values);
    for (size_t i = 1; i < values->count; i++)
        if (compare_values(&values->by_key[i - 1], &values->by_key[i]) == 0)
            return npu__gguf_fail(err, part, NPU_INVALID, "gguf.key_twice", "key %.*s is there twice",
                                  NPU__SLICE(values->by_key[i]->key));
    return NPU_OK;
}

npu_status npu__gguf_read_values(npu__gguf_cursor *c, uint64_t count, npu__gguf_values *out, npu_error *err) {
    for (uint64_t i = 0; i < count; i++) {
        NPU_TRY(npu__gguf_grow((void **)&out->at, out->count, &out->room, sizeof *out->at, err));
        npu_gguf_value *value = &out->at[out->count];
        NPU_TRY(take_key(c, i, &value->key, err));
        NPU_TRY(take_value(c, value, err));
        out->count++;
    }
    return sort_values(c->part, out, err);
}

void npu__gguf_free_values(npu__gguf_values *values) {
    free(values->at);
    free(values->by_key);
    memset(values, 0, sizeof *values);
}

const npu_gguf_value *npu__gguf_lookup(const npu__gguf_values *values, const char *key) {
    npu_gguf_str wanted = {key, strlen(key)};
    size_t low = 0, high = values->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_keys(values->by_key[middle]->key, wanted);
        if (order == 0) return values->by_key[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
