/* A model in a file of a moment: a one-layer llama of random F32 weights, without a tokenizer.
 *
 * Includes cmocka's assertions, as its users do: a file that can't be made ends the test.
 */
#ifndef NPU_TESTS_SUPPORT_TINY_LLAMA_H
#define NPU_TESTS_SUPPORT_TINY_LLAMA_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "npu/npu.h"
#include "support/gguf_build.h"

enum { EMBD = 32, KV = 16, FF = 48, VOCAB = 50, N_TENSORS = 12, U32 = 4, F32 = 6, STRING = 8 };

static const struct {
    const char *name;
    uint32_t ne0, ne1;
} tiny_llama_tensors[N_TENSORS] = {
    {"token_embd.weight", EMBD, VOCAB},  {"output.weight", EMBD, VOCAB},           {"output_norm.weight", EMBD, 1},
    {"blk.0.attn_norm.weight", EMBD, 1}, {"blk.0.attn_q.weight", EMBD, EMBD},      {"blk.0.attn_k.weight", EMBD, KV},
    {"blk.0.attn_v.weight", EMBD, KV},   {"blk.0.attn_output.weight", EMBD, EMBD}, {"blk.0.ffn_norm.weight", EMBD, 1},
    {"blk.0.ffn_gate.weight", EMBD, FF}, {"blk.0.ffn_up.weight", EMBD, FF},        {"blk.0.ffn_down.weight", FF, EMBD},
};

static inline void tiny_llama_u32(gguf_build *b, const char *key, uint32_t value) {
    gb_key(b, key, U32);
    gb_u32(b, value);
}

/* Value |broken| of the output matrix, when not negative, is NaN. */
static inline void tiny_llama_build(gguf_build *b, int broken) {
    float eps = 1e-5f;
    gb_header(b, N_TENSORS, 8);
    gb_key(b, "general.architecture", STRING);
    gb_str(b, "llama");
    tiny_llama_u32(b, "llama.block_count", 1);
    tiny_llama_u32(b, "llama.context_length", 100);
    tiny_llama_u32(b, "llama.embedding_length", EMBD);
    tiny_llama_u32(b, "llama.feed_forward_length", FF);
    tiny_llama_u32(b, "llama.attention.head_count", 4);
    tiny_llama_u32(b, "llama.attention.head_count_kv", 2);
    gb_key(b, "llama.attention.layer_norm_rms_epsilon", F32);
    gb_bytes(b, &eps, 4);
    uint64_t offset = 0;
    for (int i = 0; i < N_TENSORS; i++) {
        gb_tensor(b, tiny_llama_tensors[i].name, tiny_llama_tensors[i].ne0, tiny_llama_tensors[i].ne1, 0, offset);
        offset += (uint64_t)(tiny_llama_tensors[i].ne0 * tiny_llama_tensors[i].ne1 + 7) / 8 * 32;
    }
    uint32_t seed = 1;
    for (int i = 0; i < N_TENSORS; i++) {
        gb_align(b, 32);
        for (uint32_t k = 0; k < tiny_llama_tensors[i].ne0 * tiny_llama_tensors[i].ne1; k++) {
            seed = seed * 1664525u + 1013904223u;
            float value = ((float)(seed >> 8) / (float)(1 << 24) - 0.5f) * (tiny_llama_tensors[i].ne1 == 1 ? 4 : 0.6f);
            if (i == 1 && (int)k == broken) value = NAN;
            gb_bytes(b, &value, 4);
        }
    }
    gb_align(b, 32);
}

static inline npu_model *tiny_llama_open(int broken) {
    char path[] = "/tmp/npu-context-XXXXXX";
    int fd = mkstemp(path);
    gguf_build b = {0};
    tiny_llama_build(&b, broken);
    assert_true(fd >= 0 && write(fd, b.data, b.size) == (ssize_t)b.size);
    close(fd);
    gb_free(&b);
    npu_model *model;
    npu_error err = {0};
    npu_model_params params = {.no_tokenizer = true};
    if (npu_model_open(path, &params, &model, &err) != NPU_OK) fail_msg("%s", err.text);
    unlink(path); /* the mapping stays */
    return model;
}

#endif
