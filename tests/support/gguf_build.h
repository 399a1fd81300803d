// Builds GGUF files in memory for C tests, byte by byte, so that a test can make any of them wrong. No checks, no
// limits but memory; include once per program.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct gguf_build {
    uint8_t *data;
    size_t size, room;
} gguf_build;

static inline void gb_bytes(gguf_build *b, const void *p, size_t n) {
    if (b->size + n > b->room) {
        b->room = (b->size + n) * 2;
        b->data = realloc(b->data, b->room);
        if (!b->data) abort();
    }
    if (n) memcpy(b->data + b->size, p, n);
    b->size += n;
}

static inline void gb_number(gguf_build *b, uint64_t v, size_t bytes) {
    uint8_t raw[8];
    for (size_t i = 0; i < 8; i++) raw[i] = (uint8_t)(v >> (8 * i));
    gb_bytes(b, raw, bytes);
}

static inline void gb_u32(gguf_build *b, uint32_t v) {
    gb_number(b, v, 4);
}
static inline void gb_u64(gguf_build *b, uint64_t v) {
    gb_number(b, v, 8);
}

static inline void gb_str(gguf_build *b, const char *s) {
    gb_u64(b, strlen(s));
    gb_bytes(b, s, strlen(s));
}

static inline void gb_header(gguf_build *b, uint64_t tensors, uint64_t keys) {
    gb_bytes(b, "GGUF", 4);
    gb_u32(b, 3);
    gb_u64(b, tensors);
    gb_u64(b, keys);
}

// A key and its value's type; the value follows.
static inline void gb_key(gguf_build *b, const char *key, uint32_t type) {
    gb_str(b, key);
    gb_u32(b, type);
}

static inline void gb_array(gguf_build *b, const char *key, uint32_t elem_type, uint64_t count) {
    gb_key(b, key, 9);
    gb_u32(b, elem_type);
    gb_u64(b, count);
}

static inline void gb_tensor(gguf_build *b, const char *name, uint64_t ne0, uint64_t ne1, uint32_t type,
                             uint64_t offset) {
    gb_str(b, name);
    gb_u32(b, 2);
    gb_u64(b, ne0);
    gb_u64(b, ne1);
    gb_u32(b, type);
    gb_u64(b, offset);
}

static inline void gb_align(gguf_build *b, size_t alignment) {
    while (b->size % alignment) gb_bytes(b, "", 1);
}

static inline void gb_zeros(gguf_build *b, size_t n) {
    while (n--) gb_bytes(b, "", 1);
}

static inline void gb_free(gguf_build *b) {
    free(b->data);
    memset(b, 0, sizeof *b);
}
