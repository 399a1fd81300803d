/* The smallest complete program on libnpu: continues a prompt.
 *
 *     cc generate.c -o generate $(pkg-config --cflags --libs npu)
 *     ./generate model.gguf "The capital of France is" 16
 */
#include <npu/npu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const npu_error *err) {
    fprintf(stderr, "%s [%s]\n", err->text, err->code);
    return 1;
}

/* Prompt text to rows of the one sequence; only the last one asks for logits. */
static npu_row *rows_of(const npu_model *model, const char *text, size_t *n, npu_error *err) {
    unsigned flags = NPU_TOKENIZE_BOS | NPU_TOKENIZE_SPECIAL;
    if (npu_model_tokenize(model, text, strlen(text), flags, NULL, 0, n, err) != NPU_OK) return NULL;
    if (*n == 0) { /* no text, and the model begins texts with no token of its own */
        *err = (npu_error){NPU_INVALID, "example.empty", "the prompt has no tokens"};
        return NULL;
    }
    int32_t *ids = malloc(*n * sizeof *ids);
    npu_row *rows = calloc(*n, sizeof *rows);
    if (ids && rows && npu_model_tokenize(model, text, strlen(text), flags, ids, *n, n, err) == NPU_OK) {
        for (size_t i = 0; i < *n; i++) rows[i].token = ids[i];
        rows[*n - 1].logits = true;
    } else {
        if (!ids || !rows) *err = (npu_error){NPU_NO_MEMORY, "example.memory", "no memory for the prompt"};
        free(rows);
        rows = NULL;
    }
    free(ids);
    return rows;
}

static npu_status generate(npu_model *model, npu_context *context, npu_row *rows, size_t n, int count, npu_error *err) {
    npu_model_info info;
    npu_sampler *sampler;
    npu_model_get_info(model, &info);
    npu_status status = npu_sampler_create(NULL, info.n_vocab, &sampler, err); /* NULL: greedy */
    if (status != NPU_OK) return status;
    status = npu_decode(context, rows, (uint32_t)n, err);
    for (int i = 0; status == NPU_OK && i < count; i++) {
        char bytes[256];
        int32_t id;
        status = npu_sampler_sample(sampler, npu_logits(context, 0), NULL, &id, err);
        if (status != NPU_OK || npu_model_token_is_end(model, id)) break;
        size_t len = npu_model_token_bytes(model, id, false, bytes, sizeof bytes);
        fwrite(bytes, 1, len < sizeof bytes ? len : sizeof bytes, stdout);
        npu_row next = {.token = id, .logits = true};
        if (i + 1 < count) status = npu_decode(context, &next, 1, err);
    }
    putchar('\n');
    npu_sampler_free(sampler);
    return status;
}

int main(int argc, char **argv) {
    npu_model *model;
    npu_context *context;
    npu_error err = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL.gguf PROMPT TOKENS\n", argv[0]);
        return 2;
    }
    if (npu_model_open(argv[1], NULL, &model, &err) != NPU_OK) return failed(&err);
    npu_status status = npu_context_open(model, NULL, &context, &err);
    if (status == NPU_OK) {
        size_t n;
        npu_row *rows = rows_of(model, argv[2], &n, &err);
        status = rows ? generate(model, context, rows, n, atoi(argv[3]), &err) : err.status;
        free(rows);
        npu_context_close(context);
    }
    npu_model_close(model);
    return status == NPU_OK ? 0 : failed(&err);
}
