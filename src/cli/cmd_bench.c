/* npu bench: prefill and decode speed of one model on one device: medians over runs, after one run that is not counted.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/bench.h"
#include "cli/host_cost.h"

typedef struct sample {
    double prefill, decode; /* tokens a second; 0 = not measured */
} sample;

typedef struct spread {
    double median, min, max;
} spread;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cli_bench_median(double *values, int n) {
    qsort(values, (size_t)n, sizeof values[0], compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static spread spread_of(const sample *samples, int n, size_t offset) {
    double values[1000];
    for (int i = 0; i < n; i++) memcpy(&values[i], (const char *)&samples[i] + offset, sizeof values[i]);
    double median = cli_bench_median(values, n);
    return (spread){median, values[0], values[n - 1]};
}

void cli_bench_fill(npu_row *rows, uint32_t n, uint32_t n_vocab) {
    uint64_t state = 0x9E3779B97F4A7C15u;
    for (uint32_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        rows[i] = (npu_row){.token = (int32_t)((state >> 33) % n_vocab)};
    }
}

static npu_status run_once(npu_context *context, npu_row *rows, uint32_t depth, uint32_t prompt, uint32_t gen,
                           sample *out, npu_error *err) {
    *out = (sample){0};
    NPU_TRY(npu_context_reset(context, err));
    if (depth) NPU_TRY(npu_decode(context, rows, depth, err));
    rows += depth;
    if (prompt) {
        rows[prompt - 1].logits = true;
        double start = cli_now();
        NPU_TRY(npu_decode(context, rows, prompt, err));
        out->prefill = prompt / (cli_now() - start);
    }
    rows += prompt;
    double start = cli_now();
    for (uint32_t i = 0; i < gen; i++) {
        rows[i].logits = true;
        NPU_TRY(npu_decode(context, &rows[i], 1, err));
    }
    if (gen) out->decode = gen / (cli_now() - start);
    return NPU_OK;
}

static json_t *spread_json(spread s) {
    return json_pack("{s:f, s:f, s:f}", "median", s.median, "min", s.min, "max", s.max);
}

static int print_results(const cli_options *o, const cli_session *session, const sample *samples, int n,
                         uint32_t prompt, uint32_t gen, uint32_t depth) {
    spread prefill = spread_of(samples, n, offsetof(sample, prefill));
    spread decode = spread_of(samples, n, offsetof(sample, decode));
    npu_counters counters;
    npu_context_counters(session->context, &counters);
    double gbps = (double)counters.weight_bytes_per_token * decode.median / 1e9;
    uint64_t peak = cli_peak_memory();
    if (o->json) {
        char model[4096];
        npu_utf8_sanitize(model, sizeof model, o->model, strlen(o->model));
        json_t *root = json_pack(
            "{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:f, s:I, s:I, s:s}", "model", model, "prompt_tokens",
            (json_int_t)prompt, "gen_tokens", (json_int_t)gen, "depth", (json_int_t)depth, "runs", (json_int_t)n,
            "prefill_tok_s", spread_json(prefill), "decode_tok_s", spread_json(decode), "weight_bytes_per_token",
            (json_int_t)counters.weight_bytes_per_token, "decode_gb_s", gbps, "peak_bytes", (json_int_t)peak,
            "ops_fallback", (json_int_t)counters.ops_fallback, "plan", cli_plan_hash(session));
        return cli_print_json(root, JSON_INDENT(1));
    }
    const char *plan = cli_plan_hash(session);
    printf("prefill %5u tokens: %9.1f tok/s (%.1f to %.1f), plan %.12s\n", prompt, prefill.median, prefill.min,
           prefill.max, plan);
    printf("decode  %5u tokens: %9.1f tok/s (%.1f to %.1f), %.1f MiB of weights a token, %.1f GB/s, plan %.12s\n", gen,
           decode.median, decode.min, decode.max, (double)counters.weight_bytes_per_token / CLI_MIB, gbps, plan);
    printf("peak memory %.1f MiB, median of %d run%s, depth %u\n", (double)peak / CLI_MIB, n, n == 1 ? "" : "s", depth);
    return CLI_EXIT_OK;
}

/* An emulated NPU is asked to answer without computing: the cost is the host's alone then, and its caches are its own.
 */
static void ask_for_idle(cli_options *o) {
    const char *keys;
    int n = 0;
    for (; o->emu[n]; n++)
        if (!strncmp(o->emu[n], "idle=", 5)) return;
    if (n < CLI_LIST_MAX && cli_emu_keys(o, &keys, NULL) == NPU_OK && strstr(keys, "\nidle ")) o->emu[n] = "idle=1";
}

static int bench_host_cost(cli_options *o) {
    uint32_t steps = o->given[CLI_OPT_gen_tokens] ? (uint32_t)o->gen_tokens : 256, depth = (uint32_t)o->depth;
    if (!steps) return cli_usage("npu bench: nothing to measure: 0 tokens");
    if (!o->ctx) o->ctx = cli_host_cost_ctx(depth, steps);
    cli_session session;
    if (o->driver) ask_for_idle(o);
    int bad = cli_open_model(o, false, &session);
    if (!bad) bad = cli_open_context(o, &session);
    if (!bad) bad = cli_host_cost(o, &session, depth, steps);
    return cli_close(&session, bad);
}

int cli_bench(const cli_options *given) {
    cli_options o = *given;
    uint32_t prompt = o.given[CLI_OPT_prompt_tokens] ? (uint32_t)o.prompt_tokens : 512;
    uint32_t gen = o.given[CLI_OPT_gen_tokens] ? (uint32_t)o.gen_tokens : 64;
    uint32_t depth = (uint32_t)o.depth;
    int runs = o.given[CLI_OPT_runs] ? (int)o.runs : 5;
    uint32_t all = depth + prompt + gen;
    if (o.ops) return cli_bench_ops(&o);
    if (!all || (o.json_schema && !gen)) return cli_usage("npu bench: nothing to measure: 0 tokens");
    if (o.host_cost) return bench_host_cost(&o);
    if (!o.ctx) o.ctx = all;

    cli_session session;
    npu_error err = {0};
    int bad = cli_open_model(&o, o.json_schema != NULL, &session);
    if (!bad) bad = cli_open_context(&o, &session);
    if (!bad && o.json_schema) bad = cli_bench_schema(&o, &session, depth + prompt, gen, runs);
    if (bad || o.json_schema) {
        return cli_close(&session, bad);
    }
    npu_row *rows = calloc(all, sizeof *rows);
    sample *samples = calloc((size_t)runs, sizeof *samples);
    if (!bad && (!rows || !samples)) bad = cli_fail(&(npu_error){.status = NPU_NO_MEMORY, .code = "bench.memory"});
    if (!bad && rows && samples) {
        npu_model_info info;
        npu_model_get_info(session.model, &info);
        cli_catch_interrupt();
        for (int i = -1; !bad && i < runs; i++) {
            sample s;
            cli_bench_fill(rows, all, info.n_vocab);
            if (run_once(session.context, rows, depth, prompt, gen, &s, &err) != NPU_OK) bad = cli_fail(&err);
            if (i >= 0) samples[i] = s;
        }
    }
    if (!bad && samples) bad = print_results(&o, &session, samples, runs, prompt, gen, depth);
    free(rows);
    free(samples);
    return cli_close(&session, bad);
}
