/* A model opened without its tokenizer: what needs one says so and gives nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "npu/npu.h"
#include "support/tiny_llama.h"

static void expect_none(npu_status status, const npu_error *err) {
    assert_int_equal(status, NPU_INVALID);
    assert_int_equal(err->status, NPU_INVALID);
    assert_string_equal(err->code, "model.no_tokenizer");
}

static void what_needs_a_tokenizer_says_so(void **state) {
    (void)state;
    npu_model *model = tiny_llama_open(-1);
    npu_error err = {0};
    npu_chat *chat = (npu_chat *)&err;
    npu_grammar *grammar = (npu_grammar *)&err;
    int32_t id = 7;
    size_t count = 7;
    char byte = 'x';
    expect_none(npu_chat_create(model, "{{ messages }}", 14, &chat, &err), &err);
    assert_null(chat);
    expect_none(npu_grammar_create(model, NULL, 0, &grammar, &err), &err);
    assert_null(grammar);
    expect_none(npu_model_tokenize(model, "a", 1, 0, &id, 1, &count, &err), &err);
    assert_true(id == 7 && count == 7);
    assert_int_equal(npu_model_token_bytes(model, 1, true, &byte, 1), 0);
    assert_int_equal(byte, 'x');
    assert_false(npu_model_token_is_end(model, 1));
    npu_model_close(model);
}

static void facts_are_those_of_the_file(void **state) {
    (void)state;
    npu_model *model = tiny_llama_open(-1);
    npu_model_info info;
    npu_model_get_info(model, &info);
    assert_string_equal(info.architecture, "llama");
    assert_string_equal(info.file_type, "f32");
    assert_true(info.n_vocab == VOCAB && info.n_layers == 1 && info.n_embd == EMBD && info.n_ff == FF);
    assert_true(info.n_heads == 4 && info.n_heads_kv == 2 && info.head_dim == EMBD / 4 && info.n_ctx_train == 100);
    assert_int_equal(info.n_params, VOCAB * EMBD * 2 + EMBD * 3 + EMBD * EMBD * 2 + EMBD * KV * 2 + EMBD * FF * 3);
    assert_int_equal(info.weight_bytes, 4 * info.n_params);
    assert_true(info.file_bytes > info.weight_bytes);
    npu_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_a_tokenizer_says_so),
        cmocka_unit_test(facts_are_those_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
