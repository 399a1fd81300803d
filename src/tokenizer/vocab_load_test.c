/* Keys and arrays of a vocabulary that are missing, of another type or length, or out of range are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/vocab_check.h"

static void bad_keys_are_refused_by_name(void **state) {
    (void)state;
    vocab_build v = {0};
    refused(&v, "gguf.key_missing", "tokenizer.ggml.model");
    vb_str(&v, "tokenizer.ggml.model", "wavelet");
    refused(&v, "tokenizer.unknown_model", "wavelet");
    bpe_vocab(&v);
    vb_str(&v, "tokenizer.ggml.pre", "gpt-9");
    refused(&v, "tokenizer.unknown_pre", "gpt-9");
    bpe_vocab(&v);
    refused(&v, "tokenizer.key_missing", "tokenizer.ggml.merges");
    static const char *const bad_merges[] = {"h", " ", "h ", "hello", ""};
    for (size_t i = 0; i < COUNT(bad_merges); i++) {
        bpe_vocab(&v);
        vb_str(&v, "tokenizer.ggml.pre", "gpt-2");
        vb_strings(&v, "tokenizer.ggml.merges", &bad_merges[i], 1);
        refused(&v, "tokenizer.merge", "tokenizer.ggml.merges[0]");
    }
    bpe_vocab(&v);
    bpe_rest(&v);
    vb_bool(&v, "tokenizer.ggml.add_bos_token", 1);
    vb_u32(&v, "tokenizer.ggml.bos_token_id", N_BPE);
    refused(&v, "tokenizer.role", "tokenizer.ggml.bos_token_id");
    bpe_vocab(&v);
    bpe_rest(&v);
    vb_u32(&v, "tokenizer.ggml.add_eos_token", 1);
    refused(&v, "gguf.key_type", "tokenizer.ggml.add_eos_token");
}

static void bad_arrays_are_refused_by_name(void **state) {
    (void)state;
    vocab_build v = {0};
    const char *const tokens[] = {"a", "b"};
    const int32_t types[] = {1, 77};
    const float scores[] = {0, 0};
    vb_str(&v, "tokenizer.ggml.model", "llama");
    refused(&v, "gguf.key_missing", "tokenizer.ggml.tokens");
    vb_str(&v, "tokenizer.ggml.model", "llama");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, 0);
    refused(&v, "tokenizer.count", "tokenizer.ggml.tokens");
    vb_str(&v, "tokenizer.ggml.model", "llama");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, 2);
    vb_numbers(&v, "tokenizer.ggml.token_type", VB_I32, types, 1);
    refused(&v, "tokenizer.count", "tokenizer.ggml.token_type");
    vb_str(&v, "tokenizer.ggml.model", "llama");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, 2);
    vb_numbers(&v, "tokenizer.ggml.token_type", VB_I32, types, 2);
    refused(&v, "tokenizer.type", "tokenizer.ggml.token_type[1]");
    vb_str(&v, "tokenizer.ggml.model", "llama");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, 2);
    refused(&v, "tokenizer.key_missing", "tokenizer.ggml.scores");
    vb_str(&v, "tokenizer.ggml.model", "llama");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, 2);
    vb_numbers(&v, "tokenizer.ggml.scores", VB_F32, scores, 1);
    refused(&v, "tokenizer.count", "tokenizer.ggml.scores");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_keys_are_refused_by_name),
        cmocka_unit_test(bad_arrays_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
