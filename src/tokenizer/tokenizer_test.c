/* Encoding and decoding with small vocabularies of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/vocab_check.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/vocab.h"

/* A SentencePiece vocabulary with byte fallback. */
enum { S_UNK, S_BOS, S_EOS, S_BYTES, S_SPACE = S_BYTES + 256, S_A, S_B, S_AB, S_SPACE_A, S_ABAB, S_TURN, N_SPM };

static char spm_bytes[256][8];
static const char *spm_tokens[N_SPM];
static int32_t spm_types[N_SPM];
static float spm_scores[N_SPM];

static void spm_vocab(vocab_build *v) {
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    static const char *const more[] = {"\xE2\x96\x81", "a", "b", "ab", "\xE2\x96\x81\x61", "abab", "<turn>"};
    for (int i = 0; i < 3; i++) spm_tokens[i] = first[i];
    for (int i = 0; i < 256; i++) {
        snprintf(spm_bytes[i], sizeof spm_bytes[i], "<0x%02X>", (unsigned)i);
        spm_tokens[S_BYTES + i] = spm_bytes[i];
    }
    for (int i = 0; i < 7; i++) spm_tokens[S_SPACE + i] = more[i];
    for (int i = 0; i < N_SPM; i++) {
        spm_types[i] = i == S_UNK                   ? VB_UNKNOWN
                       : i < S_BYTES || i == S_TURN ? VB_CONTROL
                       : i < S_SPACE                ? VB_BYTE
                                                    : VB_NORMAL;
        spm_scores[i] = (float)-i;
    }
    vb_str(v, "tokenizer.ggml.model", "llama");
    vb_strings(v, "tokenizer.ggml.tokens", spm_tokens, N_SPM);
    vb_numbers(v, "tokenizer.ggml.token_type", VB_I32, spm_types, N_SPM);
    vb_numbers(v, "tokenizer.ggml.scores", VB_F32, spm_scores, N_SPM);
}

static npu_tokenizer *create_bpe(void) {
    npu_error err;
    vocab_build v = {0};
    bpe_vocab(&v);
    bpe_rest(&v);
    vb_bool(&v, "tokenizer.ggml.add_space_prefix", 1); /* converters copy it, but this encoder has no such space */
    npu_tokenizer *tok = create(&v, &err);
    assert_non_null(tok);
    return tok;
}

static npu_tokenizer *create_spm(void) {
    npu_error err;
    vocab_build v = {0};
    spm_vocab(&v);
    npu_tokenizer *tok = create(&v, &err);
    assert_non_null(tok);
    return tok;
}

static void check(const npu_tokenizer *tok, const char *text, bool special, bool add, const int32_t *ids, size_t n) {
    npu_token_list list = {0};
    npu_error err;
    assert_int_equal(npu_tokenizer_encode(tok, text, strlen(text), (npu_encode_flags){special, add}, &list, &err),
                     NPU_OK);
    assert_int_equal(list.n, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(list.ids[i], ids[i]);
    npu_token_list_free(&list);
}

#define CHECK(tok, text, special, add, ...) \
    check(tok, text, special, add, (const int32_t[]){__VA_ARGS__}, COUNT(((const int32_t[]){__VA_ARGS__})))

static void bpe_merges_by_rank_inside_words(void **state) {
    (void)state;
    npu_tokenizer *tok = create_bpe();
    CHECK(tok, "hello", false, false, HELLO);
    CHECK(tok, "hell", false, false, HELL);
    CHECK(tok, "hello hello", false, false, HELLO, ' ', HELLO); /* "h e" outranks " h" */
    CHECK(tok, " ha", false, false, SPACE_H, 'a');
    CHECK(tok, "lll", false, false, LL, 'l');
    CHECK(tok, "he\nllo", false, false, HE, '\n', LL, 'o');
    npu_tokenizer_free(tok);
}

static void special_tokens_only_when_asked(void **state) {
    (void)state;
    npu_tokenizer *tok = create_bpe();
    CHECK(tok, "he<|im_end|>he", true, false, HE, END, HE);
    CHECK(tok, "a[user]b", false, false, 'a', USER, 'b');
    npu_token_list list = {0};
    npu_error err;
    assert_int_equal(npu_tokenizer_encode(tok, "<|im_end|>", 10, (npu_encode_flags){0}, &list, &err), NPU_OK);
    assert_int_equal(list.n, 10);
    for (size_t i = 0; i < list.n; i++) assert_true(list.ids[i] < 256);
    npu_token_list_free(&list);
    assert_true(npu_tokenizer_is_end(tok, END));
    assert_false(npu_tokenizer_is_end(tok, USER));
    assert_int_equal(npu_tokenizer_role(tok, NPU_TOKEN_ROLE_EOS), END);
    assert_int_equal(npu_tokenizer_role(tok, NPU_TOKEN_ROLE_EOT), END);
    assert_int_equal(npu_tokenizer_find(tok, "hell", 4), HELL);
    npu_tokenizer_free(tok);
}

static void spm_merges_by_score_with_byte_fallback(void **state) {
    (void)state;
    npu_tokenizer *tok = create_spm();
    CHECK(tok, "ab", false, true, S_BOS, S_SPACE, S_AB); /* "ab" scores better than " a" */
    CHECK(tok, "abab", false, false, S_SPACE, S_ABAB);
    CHECK(tok, "a\xC3\xA9", false, false, S_SPACE_A, S_BYTES + 0xC3, S_BYTES + 0xA9);
    CHECK(tok, "a<turn>a", true, false, S_SPACE_A, S_TURN, S_SPACE_A);
    npu_tokenizer_free(tok);
}

static void decoding_gives_the_text_back(void **state) {
    (void)state;
    static const char *const texts[] = {"hello h\xC3\xA9 \xF0\x9F\x98\x80\r\n\tx  ", "a", " ", "  a b ", "\x01\x7F ab"};
    npu_tokenizer *toks[] = {create_bpe(), create_spm()};
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < COUNT(texts); i++) {
            npu_token_list list = {0};
            npu_text text = {0};
            npu_error err;
            size_t n = strlen(texts[i]);
            assert_int_equal(npu_tokenizer_encode(toks[t], texts[i], n, (npu_encode_flags){0}, &list, &err), NPU_OK);
            assert_int_equal(npu_tokenizer_decode(toks[t], list.ids, list.n, (npu_decode_flags){0}, &text, &err),
                             NPU_OK);
            assert_int_equal(text.n, n);
            assert_memory_equal(text.data, texts[i], n);
            npu_token_list_free(&list);
            npu_text_free(&text);
        }
        npu_tokenizer_free(toks[t]);
    }
}

static void broken_utf8_becomes_replacement_characters(void **state) {
    (void)state;
    npu_tokenizer *tok = create_bpe();
    CHECK(tok, "a\xFF", false, false, 'a', 0xEF, 0xBF, 0xBD);
    CHECK(tok, "\xE2\x82", false, false, 0xEF, 0xBF, 0xBD, 0xEF, 0xBF, 0xBD);
    CHECK(tok, "\xF4\x90\x80\x80", false, false, 0xEF, 0xBF, 0xBD, 0xEF, 0xBF, 0xBD, 0xEF, 0xBF, 0xBD, 0xEF, 0xBF,
          0xBD);
    npu_tokenizer_free(tok);
}

static void streams_only_whole_characters(void **state) {
    (void)state;
    npu_tokenizer *tok = create_bpe();
    npu_detokenizer *d;
    npu_error err;
    const char *text;
    size_t len;
    assert_int_equal(npu_detokenizer_create(tok, (npu_decode_flags){0}, &d, &err), NPU_OK);
    static const struct {
        int32_t id;
        const char *text;
    } steps[] = {{HELLO, "hello"},
                 {0xF0, ""},
                 {0x9F, ""},
                 {0x98, ""},
                 {0x80, "\xF0\x9F\x98\x80"},
                 {END, ""},
                 {0xE2, ""},
                 {'x', "\xEF\xBF\xBDx"},
                 {0xC3, ""},
                 {0xA9, "\xC3\xA9"},
                 {0x80, "\xEF\xBF\xBD"},
                 {0xE2, ""},
                 {0x82, ""}};
    for (size_t i = 0; i < COUNT(steps); i++) {
        assert_int_equal(npu_detokenizer_push(d, steps[i].id, &text, &len, &err), NPU_OK);
        assert_int_equal(len, strlen(steps[i].text));
        assert_memory_equal(text, steps[i].text, len);
    }
    npu_detokenizer_finish(d, &text, &len);
    assert_int_equal(len, 6);
    assert_int_equal(npu_detokenizer_push(d, N_BPE, &text, &len, &err), NPU_INVALID);
    assert_string_equal(err.code, "tokenizer.id");
    npu_detokenizer_free(d);
    npu_tokenizer_free(tok);
}

static void long_runs_take_little_time(void **state) {
    (void)state;
    npu_tokenizer *tok = create_bpe();
    enum { N = 10000 };
    static char text[N];
    npu_token_list list = {0};
    npu_error err;
    memset(text, 'l', N);
    assert_int_equal(npu_tokenizer_encode(tok, text, N, (npu_encode_flags){0}, &list, &err), NPU_OK);
    assert_int_equal(list.n, N / 2);
    for (size_t i = 0; i < list.n; i++) assert_int_equal(list.ids[i], LL);
    npu_token_list_free(&list);
    npu_tokenizer_free(tok);
}

static void longer_special_tokens_win(void **state) {
    (void)state;
    const char *const tokens[] = {"x", "ab", "bcd", "b", "<s>", "c", "d", "a"};
    const int32_t types[] = {1, VB_USER, VB_USER, VB_USER, VB_CONTROL, 1, 1, 1};
    const float scores[8] = {0};
    vocab_build v = {0};
    npu_error err;
    vb_str(&v, "tokenizer.ggml.model", "llama");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, 8);
    vb_numbers(&v, "tokenizer.ggml.token_type", VB_I32, types, 8);
    vb_numbers(&v, "tokenizer.ggml.scores", VB_F32, scores, 8);
    vb_bool(&v, "tokenizer.ggml.add_space_prefix", 0);
    vb_bool(&v, "tokenizer.ggml.add_bos_token", 0);
    npu_tokenizer *tok = create(&v, &err);
    assert_non_null(tok);
    CHECK(tok, "abcd", false, false, 7, 2); /* "bcd" is longer than "ab", though it stands behind */
    CHECK(tok, "ababc", false, false, 1, 1, 5);
    CHECK(tok, "bbb", false, true, 3, 3, 3);
    npu_tokenizer_free(tok);
}

static void words_are_covered_from_the_left(void **state) {
    (void)state;
    const char *const tokens[] = {
        "[UNK]", "[CLS]", "[SEP]", "\xE2\x96\x81play", "ing", "\xE2\x96\x81,", "\xE2\x96\x81\x63\x61\x66\x65", "s"};
    vocab_build v = {0};
    npu_error err;
    vb_str(&v, "tokenizer.ggml.model", "bert");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, COUNT(tokens));
    refused(&v, "tokenizer.role", "seperator_token_id"); /* the default ids are no tokens here */
    vb_str(&v, "tokenizer.ggml.model", "bert");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, COUNT(tokens));
    vb_u32(&v, "tokenizer.ggml.bos_token_id", 1);
    vb_u32(&v, "tokenizer.ggml.seperator_token_id", 2);
    vb_u32(&v, "tokenizer.ggml.unknown_token_id", 0);
    npu_tokenizer *tok = create(&v, &err);
    assert_non_null(tok);
    CHECK(tok, "Playing,plays caf\xC3\xA9 playx", false, true, 1, 3, 4, 5, 3, 7, 6, 0, 2);
    npu_tokenizer_free(tok);
}

static void unigram_takes_the_best_sum(void **state) {
    (void)state;
    const char *const tokens[] = {"<pad>", "</s>", "<unk>", "\xE2\x96\x81", "a", "b", "ab", "abc", "c"};
    const float scores[] = {0, 0, 0, -1, -2, -2, -3, -9, -3};
    const int32_t types[] = {VB_CONTROL, VB_CONTROL, VB_UNKNOWN, 1, 1, 1, 1, 1, 1};
    vocab_build v = {0};
    npu_error err;
    vb_str(&v, "tokenizer.ggml.model", "t5");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, COUNT(tokens));
    vb_numbers(&v, "tokenizer.ggml.scores", VB_F32, scores, COUNT(scores));
    vb_numbers(&v, "tokenizer.ggml.token_type", VB_I32, types, COUNT(types));
    vb_bool(&v, "tokenizer.ggml.add_space_prefix", 1);
    npu_tokenizer *tok = create(&v, &err);
    assert_non_null(tok);
    CHECK(tok, "abc", false, true, 3, 6, 8, 1); /* ab + c = -6 is better than abc = -9 */
    CHECK(tok, "axyb", false, false, 3, 4, 2, 5);
    npu_tokenizer_free(tok);
    vb_str(&v, "tokenizer.ggml.model", "t5");
    vb_strings(&v, "tokenizer.ggml.tokens", tokens, COUNT(tokens));
    vb_numbers(&v, "tokenizer.ggml.scores", VB_F32, scores, COUNT(scores));
    gb_array(&v.keys, "tokenizer.ggml.precompiled_charsmap", 0, 8);
    gb_bytes(&v.keys, "\x00\x01\x00\x00\x00\x00\x00\x00", 8);
    v.n_keys++;
    refused(&v, "tokenizer.charsmap", "tokenizer.ggml.precompiled_charsmap");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bpe_merges_by_rank_inside_words),
        cmocka_unit_test(special_tokens_only_when_asked),
        cmocka_unit_test(spm_merges_by_score_with_byte_fallback),
        cmocka_unit_test(decoding_gives_the_text_back),
        cmocka_unit_test(broken_utf8_becomes_replacement_characters),
        cmocka_unit_test(streams_only_whole_characters),
        cmocka_unit_test(long_runs_take_little_time),
        cmocka_unit_test(longer_special_tokens_win),
        cmocka_unit_test(words_are_covered_from_the_left),
        cmocka_unit_test(unigram_takes_the_best_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
