/* libFuzzer target of the GGUF reader: opens the input and reads everything that it hands out, through every getter. */
#include <string.h>

#include "gguf/gguf.h"

/* Results go here, so that the reads are not optimised away. */
static volatile uint64_t sink;

static void touch_bytes(const void *data, uint64_t n) {
    const uint8_t *p = data;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += p[i];
    sink = sum;
}

static void touch_key(const npu_gguf *g, const char *key) {
    npu_error err;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    float f32;
    bool flag;
    npu_gguf_str text;
    npu_gguf_strings strings;
    (void)npu_gguf_get_u32(g, key, &u32, &err);
    (void)npu_gguf_get_i32(g, key, &i32, &err);
    (void)npu_gguf_get_u64(g, key, &u64, &err);
    (void)npu_gguf_get_f32(g, key, &f32, &err);
    (void)npu_gguf_get_bool(g, key, &flag, &err);
    (void)npu_gguf_get_u32_at(g, key, 3, &u32, &err);
    (void)npu_gguf_get_f32_at(g, key, 3, &f32, &err);
    (void)npu_gguf_get_bool_at(g, key, 3, &flag, &err);
    if (npu_gguf_get_str(g, key, &text, &err) == NPU_OK) touch_bytes(text.data, text.size);
    if (npu_gguf_strings_open(g, key, &strings, &err) != NPU_OK) return;
    for (uint64_t i = 0; i < strings.count; i++) {
        npu_gguf_str s = npu_gguf_strings_at(&strings, i);
        touch_bytes(s.data, s.size);
    }
    npu_gguf_strings_close(&strings);
}

static void touch_value(const npu_gguf *g, const npu_gguf_value *v) {
    char key[128];
    int64_t n;
    uint64_t big;
    double f;
    touch_bytes(v->data, v->bytes);
    for (uint64_t i = 0; i <= v->count && i < 1000; i++) {
        (void)npu_gguf_value_int(v, i, &n, &big);
        (void)npu_gguf_value_float(v, i, &f);
    }
    if (v->key.size >= sizeof key) return;
    memcpy(key, v->key.data, v->key.size);
    key[v->key.size] = 0;
    touch_key(g, key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npu_gguf *g;
    npu_error err = {0};
    if (npu_gguf_open_memory(data, size, "fuzz", NULL, &g, &err) != NPU_OK) {
        if (!err.text[0] || !err.code[0]) __builtin_trap();
        return 0;
    }
    for (size_t i = 0; i < npu_gguf_key_count(g); i++) touch_value(g, npu_gguf_key_at(g, i));
    for (size_t i = 0; i < npu_gguf_tensor_count(g); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(g, i);
        if (npu_gguf_tensor_find(g, t->name) != t || t->data < data || t->bytes > size) __builtin_trap();
        touch_bytes(t->data, t->bytes);
    }
    npu_gguf_close(g);
    return 0;
}
