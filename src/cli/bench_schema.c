/* npu bench --json-schema: what a grammar costs while decoding. The same tokens are decoded and sampled with and
 * without it; the grammar's own share is timed too, because it is far below the spread of whole steps. Each run starts
 * with a new grammar, so that working out its masks is part of the cost. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/bench.h"

typedef struct figures {
    double decode, plain; /* tokens a second */
    double open_ms, token_us, part;
} figures;

static npu_status fill_context(npu_context *context, uint32_t n, uint32_t n_vocab, npu_error *err) {
    npu_row *rows = calloc(n, sizeof *rows);
    if (!rows) return npu_fail(err, NPU_NO_MEMORY, "bench.memory", "no memory for %u tokens", n);
    cli_bench_fill(rows, n, n_vocab);
    rows[n - 1].logits = true;
    npu_status status = npu_context_reset(context, err);
    if (status == NPU_OK) status = npu_decode(context, rows, n, err);
    free(rows);
    return status;
}

/* Decodes |n| tokens, which a grammar chooses; without one they are those in |ids|. */
static npu_status decode(npu_context *context, npu_sampler *sampler, npu_grammar *g, int32_t *ids, uint32_t n,
                         double *seconds, double *in_grammar, npu_error *err) {
    double start = cli_now();
    *in_grammar = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *allowed = NULL;
        int32_t id;
        double before = cli_now();
        if (g) NPU_TRY(npu_grammar_allowed(g, &allowed, err));
        *in_grammar += cli_now() - before;
        NPU_TRY(npu_sampler_sample(sampler, npu_logits(context, 0), allowed, &id, err));
        before = cli_now();
        if (g) NPU_TRY(npu_grammar_accept(g, id, err));
        if (g && npu_grammar_is_finished(g)) NPU_TRY(npu_grammar_reset(g, err));
        *in_grammar += cli_now() - before;
        if (g) ids[i] = id;
        npu_row row = {.token = ids[i], .logits = true};
        NPU_TRY(npu_decode(context, &row, 1, err));
    }
    *seconds = cli_now() - start;
    return NPU_OK;
}

static int run(const cli_options *o, cli_session *session, uint32_t prompt, uint32_t n, int32_t *ids, figures *out) {
    npu_model_info info;
    npu_sampler *sampler = NULL;
    npu_grammar *g = NULL;
    npu_error err = {0};
    double with, plain, in_grammar, ignored, start = cli_now();
    npu_model_get_info(session->model, &info);
    int bad = cli_open_grammar(session->model, o->json_schema, false, &g);
    out->open_ms = (cli_now() - start) * 1e3;
    if (bad) return bad;
    npu_status status = npu_sampler_create(&(npu_sampler_params){.temperature = 1}, info.n_vocab, &sampler, &err);
    if (status == NPU_OK) status = fill_context(session->context, prompt, info.n_vocab, &err);
    if (status == NPU_OK) status = decode(session->context, sampler, g, ids, n, &with, &in_grammar, &err);
    if (status == NPU_OK) status = fill_context(session->context, prompt, info.n_vocab, &err);
    if (status == NPU_OK) status = decode(session->context, sampler, NULL, ids, n, &plain, &ignored, &err);
    npu_grammar_free(g);
    npu_sampler_free(sampler);
    if (status != NPU_OK) return cli_fail(&err);
    out->decode = n / with;
    out->plain = n / plain;
    out->token_us = in_grammar / n * 1e6;
    out->part = 100 * in_grammar / plain;
    return 0;
}

static double median(const figures *f, int n, size_t offset) {
    double values[1000];
    for (int i = 0; i < n; i++) values[i] = *(const double *)((const char *)&f[i] + offset);
    return cli_bench_median(values, n);
}

static int print(const cli_options *o, const char *plan, const figures *f, int n, uint32_t gen) {
    figures m = {.decode = median(f, n, offsetof(figures, decode)),
                 .plain = median(f, n, offsetof(figures, plain)),
                 .open_ms = median(f, n, offsetof(figures, open_ms)),
                 .token_us = median(f, n, offsetof(figures, token_us)),
                 .part = median(f, n, offsetof(figures, part))};
    if (o->json) {
        json_t *root =
            json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:s}", "gen_tokens", (json_int_t)gen, "runs", (json_int_t)n,
                      "decode_tok_s", m.decode, "plain_tok_s", m.plain, "grammar_us_per_token", m.token_us,
                      "grammar_percent", m.part, "grammar_open_ms", m.open_ms, "plan", plan);
        return cli_print_json(root, JSON_INDENT(1));
    }
    printf("decode %5u tokens with the schema: %9.1f tok/s, plan %.12s\n", gen, m.decode, plan);
    printf("decode %5u tokens without it:      %9.1f tok/s, plan %.12s\n", gen, m.plain, plan);
    printf("the grammar itself: %.1f us a token, %.2f %% of decoding without it; %.1f ms to open\n", m.token_us, m.part,
           m.open_ms);
    printf("medians of %d run%s, each with the first use of every mask\n", n, n == 1 ? "" : "s");
    return CLI_EXIT_OK;
}

int cli_bench_schema(const cli_options *o, cli_session *session, uint32_t prompt, uint32_t gen, int runs) {
    int32_t *ids = malloc((gen + 1) * sizeof *ids);
    figures *f = calloc((size_t)runs + 1, sizeof *f);
    if (!ids || !f) {
        free(ids);
        free(f);
        return cli_error("out of memory");
    }
    int bad = 0;
    for (int i = 0; i <= runs && !bad; i++) bad = run(o, session, prompt, gen, ids, &f[i]);
    if (!bad) bad = print(o, cli_plan_hash(session), f + 1, runs, gen);
    free(ids);
    free(f);
    return bad;
}
