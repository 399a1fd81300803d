/* The sound file that the tests of the GGUF reader start from. */
#ifndef NPU_TESTS_GGUF_SOUND_H
#define NPU_TESTS_GGUF_SOUND_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gguf/gguf.h"
#include "support/gguf_build.h"

/* A small sound file: one value of each kind, a string array, two tensors. */
static inline void build_sound(gguf_build *b) {
    gb_header(b, 2, 10);
    gb_key(b, "general.name", NPU_GGUF_STRING);
    gb_str(b, "tiny");
    gb_key(b, "n.u8", NPU_GGUF_U8);
    gb_number(b, 200, 1);
    gb_key(b, "n.i16", NPU_GGUF_I16);
    gb_number(b, (uint64_t)-5, 2);
    gb_key(b, "n.u64", NPU_GGUF_U64);
    gb_u64(b, UINT64_MAX);
    gb_key(b, "n.f64", NPU_GGUF_F64);
    gb_u64(b, 0x3FF8000000000000);
    gb_key(b, "n.yes", NPU_GGUF_BOOL);
    gb_number(b, 1, 1);
    gb_key(b, "n.two", NPU_GGUF_BOOL);
    gb_number(b, 2, 1);
    gb_array(b, "words", NPU_GGUF_STRING, 3);
    gb_str(b, "a");
    gb_str(b, "");
    gb_str(b, "ccc");
    gb_array(b, "heads", NPU_GGUF_I32, 2);
    gb_u32(b, 4);
    gb_u32(b, (uint32_t)-1);
    gb_array(b, "nested", NPU_GGUF_ARRAY, 1);
    gb_u32(b, NPU_GGUF_U8);
    gb_u64(b, 2);
    gb_number(b, 0x0102, 2);
    gb_tensor(b, "a.weight", 32, 2, NPU_TYPE_Q4_0, 0);
    gb_tensor(b, "b.weight", 4, 1, NPU_TYPE_F32, 64);
    gb_align(b, 32);
    gb_zeros(b, 80);
}

/* Opens an exact copy, so that a read past the end is seen by the sanitizer. */
static inline npu_status open_copy(const uint8_t *data, size_t size, npu_gguf **g, void **copy, npu_error *err) {
    *copy = malloc(size ? size : 1);
    assert_non_null(*copy);
    memcpy(*copy, data, size);
    memset(err, 0, sizeof *err);
    return npu_gguf_open_memory(*copy, size, "test", NULL, g, err);
}

#endif
