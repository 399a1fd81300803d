/* Samples JSON for test scripts: a schema a line on standard input; for each, |SAMPLES| answers of the model at
 * temperature 1, each a line of JSON {"text": …, "cut": …}, or one line {"error": …, "code": …}. schema_tool MODEL
 * SAMPLES MOST      MOST: tokens of an answer
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "npu/npu.h"

typedef struct tool {
    npu_model *model;
    npu_context *context;
    npu_sampler *sampler;
    uint32_t most;
} tool;

static npu_status generate(tool *t, npu_grammar *g, json_t **out, npu_error *err) {
    char text[65536];
    size_t n = 0;
    npu_row row = {.token = 1, .logits = true};
    NPU_TRY(npu_grammar_reset(g, err));
    NPU_TRY(npu_context_reset(t->context, err));
    for (uint32_t i = 0; i < t->most && !npu_grammar_is_finished(g); i++) {
        const uint64_t *allowed;
        NPU_TRY(npu_decode(t->context, &row, 1, err));
        NPU_TRY(npu_grammar_allowed(g, &allowed, err));
        NPU_TRY(npu_sampler_sample(t->sampler, npu_logits(t->context, 0), allowed, &row.token, err));
        NPU_TRY(npu_grammar_accept(g, row.token, err));
        if (npu_model_token_is_end(t->model, row.token)) break;
        n += npu_model_token_bytes(t->model, row.token, false, text + n, sizeof text - n);
        if (n > sizeof text) return npu_fail(err, NPU_RANGE, "tool.text", "the answer is too long");
    }
    /* What is cut off may end inside a character: only its length is of interest. */
    bool cut = !npu_grammar_is_complete(g);
    *out = cut ? json_pack("{s:b, s:I}", "cut", 1, "bytes", (json_int_t)n)
               : json_pack("{s:s%, s:b}", "text", text, n, "cut", 0);
    return *out ? NPU_OK : npu_fail(err, NPU_INVALID, "tool.utf8", "an answer is not UTF-8");
}

static void print(json_t *line) {
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

static int one_schema(tool *t, const char *schema, size_t size, int samples) {
    npu_grammar *g;
    npu_error err = {0};
    npu_status status = npu_grammar_create(t->model, schema, size, &g, &err);
    if (status != NPU_OK) {
        print(json_pack("{s:s, s:s}", "error", err.text, "code", err.code));
        return 0;
    }
    for (int i = 0; i < samples && status == NPU_OK; i++) {
        json_t *line;
        npu_sampler_reset(t->sampler, (uint64_t)i + 1);
        status = generate(t, g, &line, &err);
        if (status == NPU_OK) print(line);
    }
    npu_grammar_free(g);
    if (status != NPU_OK) fprintf(stderr, "%s: %s\n", err.code, err.text);
    return status != NPU_OK;
}

int main(int argc, char **argv) {
    tool t = {0};
    npu_error err = {0};
    npu_model_info info;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    if (argc != 4) return 2;
    t.most = (uint32_t)atoi(argv[3]);
    if (npu_model_open(argv[1], NULL, &t.model, &err) != NPU_OK) return 1;
    npu_model_get_info(t.model, &info);
    int bad = npu_context_open(t.model, &(npu_context_params){.ctx = t.most + 1, .threads = 1}, &t.context, &err) ||
              npu_sampler_create(&(npu_sampler_params){.temperature = 1}, info.n_vocab, &t.sampler, &err);
    while (!bad && (n = getline(&line, &room, stdin)) > 0) bad = one_schema(&t, line, (size_t)n, atoi(argv[2]));
    free(line);
    npu_sampler_free(t.sampler);
    npu_context_close(t.context);
    npu_model_close(t.model);
    return bad;
}
