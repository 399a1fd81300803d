/* npu bench: prefill and decode speed of one model on one device: medians over runs, after a short one that is not
 * counted. With --parallel several sequences get a row in each step of decoding.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/utf8.h"
#include "cli/bench.h"
#include "cli/host_cost.h"

typedef struct sample {
    double prefill, decode; /* tokens a second of all sequences; 0 = not measured */
    double single;          /* decoding one sequence, measured beside several */
    double remapped;        /* bytes that the NPU mapped for a decoded token */
} sample;

/* Tokens of each of |parallel| sequences. */
typedef struct work {
    uint32_t depth, prompt, gen, parallel;
} work;

enum { WARM_TOKENS = 512, WARM_STEPS = 8 };

/* From the start of opening the model: until it can be used, and until the first logits, for which the CPU packs. */
typedef struct start_up {
    double opened, first; /* seconds */
} start_up;

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
        rows[i] = (npu_row){.token = (int32_t)((npu_random_next(&state) >> 33) % n_vocab)};
    }
}

/* |n| tokens of every sequence; the last one of each asks for logits when |ask|. */
static npu_status prefill(npu_context *context, npu_row *rows, uint32_t n, uint32_t parallel, bool ask,
                          npu_error *err) {
    for (uint32_t i = 0; i < n * parallel; i++) {
        rows[i].seq = i / n;
        rows[i].logits = ask && i % n == n - 1;
    }
    return n ? npu_decode(context, rows, n * parallel, err) : NPU_OK;
}

/* |gen| steps of one row each of |parallel| sequences; tokens a second. */
static npu_status decode(npu_context *context, npu_row *rows, uint32_t gen, uint32_t parallel, double *out,
                         npu_error *err) {
    double start = cli_now();
    for (uint32_t i = 0; i < gen; i++) {
        npu_row *step = rows + (size_t)i * parallel;
        for (uint32_t seq = 0; seq < parallel; seq++) {
            step[seq].seq = seq;
            step[seq].logits = true;
        }
        NPU_TRY(npu_decode(context, step, parallel, err));
    }
    *out = gen * parallel / (cli_now() - start);
    return NPU_OK;
}

static npu_status run_once(npu_context *context, npu_row *rows, const work *w, sample *out, npu_error *err) {
    *out = (sample){0};
    NPU_TRY(npu_context_reset(context, err));
    NPU_TRY(prefill(context, rows, w->depth, w->parallel, false, err));
    rows += (size_t)w->depth * w->parallel;
    double start = cli_now();
    NPU_TRY(prefill(context, rows, w->prompt, w->parallel, true, err));
    if (w->prompt) out->prefill = w->prompt * w->parallel / (cli_now() - start);
    rows += (size_t)w->prompt * w->parallel;
    if (w->gen && w->parallel > 1) {
        NPU_TRY(decode(context, rows, w->gen, 1, &out->single, err));
        NPU_TRY(npu_seq_truncate(context, 0, w->depth + w->prompt, err));
    }
    if (!w->gen) return NPU_OK;
    npu_counters before, after;
    npu_context_counters(context, &before);
    NPU_TRY(decode(context, rows, w->gen, w->parallel, &out->decode, err));
    npu_context_counters(context, &after);
    out->remapped = (double)(after.mapped_bytes - before.mapped_bytes) / (w->gen * w->parallel);
    return NPU_OK;
}

/* The same on few tokens: weights and code are in memory then, and threads awake. */
static npu_status warm_up(npu_context *context, npu_row *rows, const work *w, npu_error *err) {
    work some = *w;
    sample ignored;
    some.depth = 0;
    if (some.prompt > WARM_TOKENS) some.prompt = WARM_TOKENS;
    if (some.gen > WARM_STEPS) some.gen = WARM_STEPS;
    return run_once(context, rows, &some, &ignored, err);
}

/* One token, before anything else. */
static npu_status first_token(npu_context *context, double begin, start_up *out, npu_error *err) {
    npu_row row = {.logits = true};
    NPU_TRY(npu_decode(context, &row, 1, err));
    out->first = cli_now() - begin;
    return NPU_OK;
}

/* null: nothing was measured. */
static json_t *spread_json(bool measured, spread s) {
    return measured ? json_pack("{s:f, s:f, s:f}", "median", s.median, "min", s.min, "max", s.max) : json_null();
}

static json_t *real_json(bool measured, double value) {
    return measured ? json_real(value) : json_null();
}

static int print_json(const cli_options *o, const cli_session *session, const start_up *start, const sample *samples,
                      int n, const work *w) {
    char model[4096];
    npu_counters counters;
    npu_context_counters(session->context, &counters);
    spread prefill = spread_of(samples, n, offsetof(sample, prefill));
    spread decode = spread_of(samples, n, offsetof(sample, decode));
    double products = (double)counters.multiply_adds_per_token;
    double bytes = (double)counters.weight_bytes_per_token / w->parallel + (double)counters.kv_bytes_per_token;
    npu_utf8_sanitize(model, sizeof model, o->model, strlen(o->model));
    json_t *root = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:I, s:o, s:s}", "model", model,
        "prompt_tokens", (json_int_t)w->prompt, "gen_tokens", (json_int_t)w->gen, "depth", (json_int_t)w->depth,
        "parallel", (json_int_t)w->parallel, "runs", (json_int_t)n, "prefill_tok_s", spread_json(w->prompt, prefill),
        "decode_tok_s", spread_json(w->gen, decode), "prefill_multiply_adds_g_s",
        real_json(w->prompt, products * prefill.median / 1e9), "weight_bytes_per_token",
        (json_int_t)counters.weight_bytes_per_token, "kv_bytes_per_token", (json_int_t)counters.kv_bytes_per_token,
        "decode_gb_s", real_json(w->gen, bytes * decode.median / 1e9), "peak_bytes", (json_int_t)cli_peak_memory(),
        "ops_fallback", (json_int_t)counters.ops_fallback, "remapped_bytes_per_token",
        real_json(w->gen, spread_of(samples, n, offsetof(sample, remapped)).median), "plan", cli_plan_hash(session));
    if (w->parallel > 1)
        cli_json_set(&root, "single_tok_s", spread_json(w->gen, spread_of(samples, n, offsetof(sample, single))));
    cli_json_set(&root, "open_s", json_real(start->opened));
    cli_json_set(&root, "first_token_s", json_real(start->first));
    cli_json_set(&root, "cached_bytes", json_integer((json_int_t)counters.cached_bytes));
    cli_json_set(&root, "packed_bytes", json_integer((json_int_t)counters.packed_bytes));
    return cli_print_json(root, JSON_INDENT(1));
}

static void print_prefill(const npu_counters *counters, const sample *samples, int n, const work *w, const char *plan) {
    spread prefill = spread_of(samples, n, offsetof(sample, prefill));
    printf("prefill %5u tokens: %9.1f tok/s (%.1f to %.1f), %.1f G multiply-adds/s, plan %.12s\n",
           w->prompt * w->parallel, prefill.median, prefill.min, prefill.max,
           (double)counters->multiply_adds_per_token * prefill.median / 1e9, plan);
}

static void print_decode(const npu_counters *counters, const sample *samples, int n, const work *w, const char *plan) {
    spread decode = spread_of(samples, n, offsetof(sample, decode));
    double weights = (double)counters->weight_bytes_per_token / w->parallel, kv = (double)counters->kv_bytes_per_token;
    printf("decode  %5u tokens: %9.1f tok/s (%.1f to %.1f), %.1f MiB of weights a token, %.1f of keys and values, "
           "%.1f GB/s, plan %.12s\n",
           w->gen * w->parallel, decode.median, decode.min, decode.max, weights / CLI_MIB, kv / CLI_MIB,
           (weights + kv) * decode.median / 1e9, plan);
    if (w->parallel > 1) {
        spread single = spread_of(samples, n, offsetof(sample, single));
        printf("%u sequences at once: %.2f times the %.1f tok/s (%.1f to %.1f) of one\n", w->parallel,
               decode.median / single.median, single.median, single.min, single.max);
    }
    double remapped = spread_of(samples, n, offsetof(sample, remapped)).median;
    if (remapped >= CLI_REMAPPED_LEAST) printf("%.1f MiB a token mapped anew\n", remapped / CLI_MIB);
}

static int print_results(const cli_options *o, const cli_session *session, const start_up *start, const sample *samples,
                         int n, const work *w) {
    if (o->json) return print_json(o, session, start, samples, n, w);
    npu_counters counters;
    npu_context_counters(session->context, &counters);
    if (w->prompt) print_prefill(&counters, samples, n, w, cli_plan_hash(session));
    if (w->gen) print_decode(&counters, samples, n, w, cli_plan_hash(session));
    printf("opened in %.3f s, first token after %.3f s", start->opened, start->first);
    if (counters.packed_bytes) printf(", %.1f MiB of weights packed", (double)counters.packed_bytes / CLI_MIB);
    if (counters.cached_bytes) printf(", %.1f MiB of packed weights read", (double)counters.cached_bytes / CLI_MIB);
    putchar('\n');
    printf("peak memory %.1f MiB, median of %d run%s, depth %u\n", (double)cli_peak_memory() / CLI_MIB, n,
           n == 1 ? "" : "s", w->depth);
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

/* The context when --ctx says none; what would not fit is known before anything is opened. */
static int choose_ctx(cli_options *o, uint32_t positions) {
    if (!o->ctx) o->ctx = positions;
    if (o->ctx >= positions) return 0;
    return cli_usage("--ctx %lld is too small: each sequence takes %u positions here (--ctx %u)", (long long)o->ctx,
                     positions, positions);
}

static int bench_host_cost(cli_options *o) {
    uint32_t steps = o->given[CLI_OPT_gen_tokens] ? (uint32_t)o->gen_tokens : 256, depth = (uint32_t)o->depth;
    if (!steps) return cli_usage("npu bench: nothing to measure: 0 tokens");
    int bad = choose_ctx(o, cli_host_cost_ctx(depth, steps));
    if (bad) return bad;
    cli_session session;
    if (o->driver) ask_for_idle(o);
    cli_look_for_interrupt();
    bad = cli_open_model(o, false, &session);
    if (!bad) bad = cli_open_context(o, &session);
    if (!bad) bad = cli_host_cost(o, &session, depth, steps);
    return cli_close(&session, bad);
}

static int measure(const cli_options *o, const cli_session *session, double begin, npu_row *rows, sample *samples,
                   int runs, const work *w) {
    start_up start = {.opened = cli_now() - begin};
    npu_model_info info;
    npu_error err = {0};
    uint32_t all = (w->depth + w->prompt + w->gen) * w->parallel;
    npu_model_get_info(session->model, &info);
    if (npu_context_max_logits(session->context) < w->parallel)
        return cli_error("--parallel %u: this context gives the logits of at most %u rows at once", w->parallel,
                         npu_context_max_logits(session->context));
    cli_bench_fill(rows, all, info.n_vocab);
    if (first_token(session->context, begin, &start, &err) != NPU_OK) return cli_fail(&err);
    if (warm_up(session->context, rows, w, &err) != NPU_OK) return cli_fail(&err);
    npu_status status = NPU_OK;
    for (int i = 0; i < runs && status == NPU_OK; i++) {
        cli_progress(o, "run", (size_t)i, (size_t)runs);
        cli_bench_fill(rows, all, info.n_vocab);
        status = run_once(session->context, rows, w, &samples[i], &err);
    }
    cli_progress(o, "run", 1, 1);
    if (status != NPU_OK) return cli_fail(&err);
    return print_results(o, session, &start, samples, runs, w);
}

static int bench_model(cli_options *o, const work *w, int runs) {
    cli_session session;
    double begin = cli_now();
    cli_look_for_interrupt();
    int bad = cli_open_model(o, o->json_schema != NULL, &session);
    if (!bad) bad = cli_open_context(o, &session);
    if (bad) return cli_close(&session, bad);
    if (o->json_schema) return cli_close(&session, cli_bench_schema(o, &session, w->depth + w->prompt, w->gen, runs));
    npu_row *rows = calloc((size_t)(w->depth + w->prompt + w->gen) * w->parallel, sizeof *rows);
    sample *samples = calloc((size_t)runs, sizeof *samples);
    if (rows && samples)
        bad = measure(o, &session, begin, rows, samples, runs, w);
    else
        bad = cli_error("no memory for the tokens of %u sequences", w->parallel);
    free(rows);
    free(samples);
    return cli_close(&session, bad);
}

/* With a schema only decoding is measured, after a prompt that is computed twice in each run: one token, as there must
 * be logits, unless more are asked for. */
static work work_of(const cli_options *o) {
    uint32_t prompt = o->json_schema ? 1 : 512;
    work w = {.depth = (uint32_t)o->depth,
              .prompt = o->given[CLI_OPT_prompt_tokens] ? (uint32_t)o->prompt_tokens : prompt,
              .gen = o->given[CLI_OPT_gen_tokens] ? (uint32_t)o->gen_tokens : 64,
              .parallel = o->given[CLI_OPT_parallel] ? (uint32_t)o->parallel : 1};
    if (o->json_schema && !w.depth && !w.prompt) w.prompt = 1;
    return w;
}

int cli_bench(const cli_options *given) {
    cli_options o = *given;
    work w = work_of(&o);
    if (o.roofline) return cli_bench_roofline(&o);
    if (o.ops) return cli_bench_ops(&o);
    if (o.repack) return cli_bench_repack(&o);
    if (o.estimate) return cli_bench_estimate(&o);
    if ((!w.prompt || o.json_schema) && !w.gen) return cli_usage("npu bench: nothing to measure: 0 tokens");
    if (o.host_cost) return bench_host_cost(&o);
    int bad = choose_ctx(&o, w.depth + w.prompt + w.gen);
    return bad ? bad : bench_model(&o, &w, o.given[CLI_OPT_runs] ? (int)o.runs : 5);
}
