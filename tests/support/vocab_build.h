/* Small vocabularies for C tests: GGUF files in memory with the tokenizer keys only. */
#pragma once
#include "gguf_build.h"

enum { VB_U32 = 4, VB_I32 = 5, VB_F32 = 6, VB_BOOL = 7, VB_STRING = 8 };

/* Token types as files number them. */
enum { VB_NORMAL = 1, VB_UNKNOWN = 2, VB_CONTROL = 3, VB_USER = 4, VB_UNUSED = 5, VB_BYTE = 6 };

typedef struct vocab_build {
    gguf_build keys;
    uint64_t n_keys;
} vocab_build;

static inline void vb_str(vocab_build *v, const char *key, const char *value) {
    gb_key(&v->keys, key, VB_STRING);
    gb_str(&v->keys, value);
    v->n_keys++;
}

static inline void vb_u32(vocab_build *v, const char *key, uint32_t value) {
    gb_key(&v->keys, key, VB_U32);
    gb_u32(&v->keys, value);
    v->n_keys++;
}

static inline void vb_bool(vocab_build *v, const char *key, uint8_t value) {
    gb_key(&v->keys, key, VB_BOOL);
    gb_bytes(&v->keys, &value, 1);
    v->n_keys++;
}

static inline void vb_strings(vocab_build *v, const char *key, const char *const *list, size_t n) {
    gb_array(&v->keys, key, VB_STRING, n);
    for (size_t i = 0; i < n; i++) gb_str(&v->keys, list[i]);
    v->n_keys++;
}

static inline void vb_numbers(vocab_build *v, const char *key, uint32_t type, const void *list, size_t n) {
    gb_array(&v->keys, key, type, n);
    gb_bytes(&v->keys, list, n * 4);
    v->n_keys++;
}

/* The whole file; the builder is empty afterwards. The caller frees |out|. */
static inline void vb_finish(vocab_build *v, gguf_build *out) {
    memset(out, 0, sizeof *out);
    gb_header(out, 0, v->n_keys);
    gb_bytes(out, v->keys.data, v->keys.size);
    gb_align(out, 32);
    gb_free(&v->keys);
    v->n_keys = 0;
}
