/* What tests of tokenizers share: a small byte-level vocabulary, and tokenizers made or refused. */
#pragma once
#include "support/vocab_build.h"
#include "tokenizer/vocab.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* A byte-level vocabulary: the stand-ins of all bytes (id = byte), a few merges, special tokens. */
enum { HE = 256, LL, HELL, HELLO, SPACE_H, END, USER, N_BPE };

static char byte_names[256][5];
static const char *bpe_tokens[N_BPE];
static int32_t bpe_types[N_BPE];
static const char *const bpe_merges[] = {"h e", "l l", "he ll", "hell o", "\xC4\xA0 h"};

static inline void bpe_vocab(vocab_build *v) {
    static const char *const more[] = {"he", "ll", "hell", "hello", "\xC4\xA0h", "<|im_end|>", "[user]"};
    for (int i = 0; i < 256; i++) {
        char raw[4];
        uint32_t cp = npu__byte_to_char((uint8_t)i);
        size_t n = 0;
        if (cp >= 0x80) raw[n++] = (char)(0xC0 | cp >> 6);
        raw[n++] = (char)(cp >= 0x80 ? 0x80 | (cp & 63) : cp);
        snprintf(byte_names[i], sizeof byte_names[i], "%.*s", (int)n, raw);
        bpe_tokens[i] = byte_names[i];
        bpe_types[i] = VB_NORMAL;
    }
    for (int i = 0; i < 7; i++) bpe_tokens[256 + i] = more[i];
    for (int i = 256; i < N_BPE; i++) bpe_types[i] = i == END ? VB_CONTROL : i == USER ? VB_USER : VB_NORMAL;
    vb_str(v, "tokenizer.ggml.model", "gpt2");
    vb_strings(v, "tokenizer.ggml.tokens", bpe_tokens, N_BPE);
    vb_numbers(v, "tokenizer.ggml.token_type", VB_I32, bpe_types, N_BPE);
    vb_u32(v, "tokenizer.ggml.eos_token_id", END);
}

static inline void bpe_rest(vocab_build *v) {
    vb_str(v, "tokenizer.ggml.pre", "gpt-2");
    vb_strings(v, "tokenizer.ggml.merges", bpe_merges, COUNT(bpe_merges));
}

/* Creates from what was built; NULL and the error when it is refused. */
static inline npu_tokenizer *create(vocab_build *v, npu_error *err) {
    gguf_build file;
    npu_gguf *gguf;
    npu_tokenizer *tok;
    vb_finish(v, &file);
    memset(err, 0, sizeof *err);
    assert_int_equal(npu_gguf_open_memory(file.data, file.size, "test", NULL, &gguf, err), NPU_OK);
    npu_status status = npu_tokenizer_create(gguf, NULL, &tok, err);
    assert_true((status == NPU_OK) == (tok != NULL));
    npu_gguf_close(gguf);
    gb_free(&file);
    return tok;
}

static inline void refused(vocab_build *v, const char *code, const char *names) {
    npu_error err;
    assert_null(create(v, &err));
    assert_string_equal(err.code, code);
    assert_non_null(strstr(err.text, names));
}
