/* npu bench --ops gemv: what one product costs the host, phase by phase, on a gemv-class target alone: no model. Shapes
 * are those of usual models; weights and activations are made up. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cli/bench.h"
#include "plan/plan.h"

static const struct { uint32_t K, N; } shapes[] = {{576, 960}, {576, 3072}, {2048, 2048}, {4096, 4096}};

static const uint32_t row_counts[] = {1, 16, 128};

enum { SHAPES = sizeof shapes / sizeof shapes[0], ROW_COUNTS = sizeof row_counts / sizeof row_counts[0], RUNS = 5 };

typedef struct measured {
    uint32_t K, N, rows;
    double total_us;
    npu_target_phases phases; /* of all runs; pack of the first call alone */
} measured;

typedef struct bench {
    const cli_options *options;
    const npu_target_ops *ops;
    npu_target *target;
    npu_plan plan;
    npu_plan_entry entries[SHAPES];
    measured results[SHAPES * ROW_COUNTS];
    unsigned runs, n;
} bench;

static float made_up(uint64_t i) {
    return (float)(int32_t)(npu_random_next(&i) >> 40) / 8388608.0f - 1;
}

static npu_status make_weights(void *user, unsigned layer, unsigned role, uint8_t *out, uint64_t out_bytes,
                               npu_error *err) {
    float *to = (float *)(void *)out;
    (void)user, (void)role, (void)err;
    for (uint64_t i = 0; i < out_bytes / sizeof *to; i++) to[i] = made_up(i + layer);
    return NPU_OK;
}

/* A plan of nothing but products: one layer a shape. */
static void make_plan(bench *b, const npu_caps *caps) {
    b->plan = (npu_plan){.version = NPU_PLAN_VERSION,
                         .n_layers = SHAPES,
                         .caps = *caps,
                         .needs = *caps,
                         .entries = b->entries,
                         .n_entries = SHAPES};
    snprintf(b->plan.target, sizeof b->plan.target, "%s", b->ops->name);
    for (unsigned i = 0; i < SHAPES; i++)
        b->entries[i] = (npu_plan_entry){.layer = (uint16_t)i,
                                         .role = NPU_ROLE_O,
                                         .code = NPU_OP_MUL_MAT,
                                         .K = shapes[i].K,
                                         .N = shapes[i].N,
                                         .real_k = shapes[i].K,
                                         .real_n = shapes[i].N,
                                         .on_device = true,
                                         .n_splits = 1,
                                         .splits = {shapes[i].N}};
}

static npu_target_phases phases_of(const bench *b) {
    npu_target_phases p = {0};
    if (b->ops->phases) b->ops->phases(b->target, &p);
    return p;
}

/* The first call packs the weights and is not one of the runs. */
static npu_status measure(bench *b, const npu_gemv_args *args, float *out, measured *m, npu_error *err) {
    npu_target_phases before = phases_of(b);
    NPU_TRY(cli_go_on(err));
    NPU_TRY(b->ops->gemv(b->target, args, out, err));
    npu_target_phases packed = phases_of(b);
    double start = cli_now();
    for (unsigned i = 0; i < b->runs; i++) {
        NPU_TRY(cli_go_on(err));
        NPU_TRY(b->ops->gemv(b->target, args, out, err));
    }
    m->total_us = (cli_now() - start) * 1e6 / b->runs;
    npu_target_phases p = phases_of(b);
    m->phases = (npu_target_phases){.pack_ns = packed.pack_ns - before.pack_ns,
                                    .quant_ns = p.quant_ns - packed.quant_ns,
                                    .launch_ns = p.launch_ns - packed.launch_ns,
                                    .wait_ns = p.wait_ns - packed.wait_ns,
                                    .readback_ns = p.readback_ns - packed.readback_ns,
                                    .dequant_ns = p.dequant_ns - packed.dequant_ns};
    return NPU_OK;
}

static npu_status measure_shape(bench *b, unsigned shape, const float *weights, const float *x, float *out,
                                npu_error *err) {
    const npu_plan_entry *e = &b->entries[shape];
    npu_gemv_args args = {.layer = shape, .K = e->real_k, .N = e->real_n, .x = x, .weights = weights, .wkey = -1};
    if (b->ops->design && !e->n_designs)
        return npu_fail(err, NPU_UNSUPPORTED, "bench.ops", "no kernel for K %u, N %u: %s", e->real_k, e->real_n,
                        e->why);
    if (e->n_designs) {
        args.role = e->designs[0];
        args.wkey = npu_plan_residency(e, &b->plan.designs[e->designs[0]]);
        args.tiles = make_weights;
    }
    for (unsigned i = 0; i < ROW_COUNTS; i++) {
        measured *m = &b->results[b->n];
        args.M = row_counts[i];
        *m = (measured){.K = args.K, .N = args.N, .rows = args.M};
        cli_progress(b->options, "product", b->n, SHAPES * ROW_COUNTS);
        NPU_TRY(measure(b, &args, out, m, err));
        b->n++;
    }
    return NPU_OK;
}

static npu_status measure_all(bench *b, npu_error *err) {
    uint64_t most_w = 0, most_x = 0, most_y = 0;
    for (unsigned i = 0; i < SHAPES; i++) {
        uint64_t rows = row_counts[ROW_COUNTS - 1], k = shapes[i].K, n = shapes[i].N;
        most_w = k * n > most_w ? k * n : most_w;
        most_x = rows * k > most_x ? rows * k : most_x;
        most_y = rows * n > most_y ? rows * n : most_y;
    }
    float *weights = malloc(most_w * sizeof *weights), *x = malloc(most_x * sizeof *x);
    float *out = malloc(most_y * sizeof *out);
    npu_status status =
        weights && x && out ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "bench.memory", "no memory for operands");
    for (uint64_t i = 0; status == NPU_OK && i < most_w; i++) weights[i] = made_up(i);
    for (uint64_t i = 0; status == NPU_OK && i < most_x; i++) x[i] = made_up(i * 3 + 1);
    for (unsigned i = 0; status == NPU_OK && i < SHAPES; i++) status = measure_shape(b, i, weights, x, out, err);
    cli_progress(b->options, "product", 1, 1);
    free(weights);
    free(x);
    free(out);
    return status;
}

static double each_us(const bench *b, uint64_t ns) {
    return (double)ns * 1e-3 / b->runs;
}

static int print_json(const bench *b) {
    json_t *list = json_array();
    for (unsigned i = 0; i < b->n; i++) {
        const measured *m = &b->results[i];
        json_t *row = json_pack("{s:I, s:I, s:I, s:f}", "K", (json_int_t)m->K, "N", (json_int_t)m->N, "rows",
                                (json_int_t)m->rows, "total_us", m->total_us);
        if (b->ops->phases)
            json_object_update_new(
                row, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "pack_us", (double)m->phases.pack_ns * 1e-3,
                               "quantise_us", each_us(b, m->phases.quant_ns), "submit_us",
                               each_us(b, m->phases.launch_ns), "wait_us", each_us(b, m->phases.wait_ns), "readback_us",
                               each_us(b, m->phases.readback_ns), "dequantise_us", each_us(b, m->phases.dequant_ns)));
        json_array_append_new(list, row);
    }
    return cli_print_json(
        json_pack("{s:s, s:I, s:o}", "device", b->plan.caps.device, "runs", (json_int_t)b->runs, "gemv", list),
        JSON_INDENT(1));
}

static void print(const bench *b) {
    bool phases = b->ops->phases != NULL;
    cli_line(stdout, "%s, means of %u runs in microseconds; pack: the weights, once", b->plan.caps.device, b->runs);
    printf("%6s %6s %5s %10s", "K", "N", "rows", "all");
    if (phases)
        printf(" %10s %10s %10s %10s %10s %10s  %s", "pack", "quantise", "submit", "wait", "readback", "dequantise",
               "quantiser GB/s");
    printf("\n");
    for (unsigned i = 0; i < b->n; i++) {
        const measured *m = &b->results[i];
        const npu_target_phases *p = &m->phases;
        printf("%6u %6u %5u %10.1f", m->K, m->N, m->rows, m->total_us);
        if (phases && p->quant_ns)
            printf(" %10.1f %10.2f %10.1f %10.1f %10.1f %10.1f  %.1f", (double)p->pack_ns * 1e-3,
                   each_us(b, p->quant_ns), each_us(b, p->launch_ns), each_us(b, p->wait_ns),
                   each_us(b, p->readback_ns), each_us(b, p->dequant_ns),
                   4.0 * m->rows * m->K * b->runs / (double)p->quant_ns);
        printf("\n");
    }
}

static npu_status open_target(bench *b, const cli_options *o, npu_error *err) {
    npu_target_params params = {.logger = cli_logger(o),
                                .n_threads = (unsigned)o->threads,
                                .cpu_level = o->cpu_level,
                                .driver = o->driver,
                                .cache_dir = o->cache[0] ? o->cache : NULL,
                                .timeout_s = o->timeout_s,
                                .no_wait = o->no_wait,
                                .emu = o->emu[0] ? o->emu : NULL};
    npu_caps caps;
    NPU_TRY(b->ops->probe(&params, &caps, err));
    make_plan(b, &caps);
    if (b->ops->design) NPU_TRY(b->ops->design(&params, &caps, o->kernels_dir, &b->plan, err));
    return b->ops->open(&params, b->ops->design ? &b->plan : NULL, o->kernels_dir, &b->target, err);
}

/* A graph target's gemv makes its buffers and turns the weights in each call: that is not what a product of a model
 * costs there. */
static npu_status choose_target(const char *name, const npu_target_ops **out, npu_error *err) {
    *out = &npu_target_host;
    if (name) NPU_TRY(npu_target_find(name, out, err));
    if (!(*out)->submit) return NPU_OK;
    return npu_fail(
        err, NPU_REFUSED, "bench.ops_target",
        "target %s carries out graphs and keeps the weights of no single product: npu bench -m FILE measures "
        "its products as a model has them",
        (*out)->name);
}

int cli_bench_ops(const cli_options *o) {
    npu_error err = {0};
    const char *name = NULL;
    if (strcmp(o->ops, "gemv") != 0) return cli_usage("--ops %s: gemv is what can be measured alone", o->ops);
    int bad = cli_check_target(o);
    if (!bad) bad = cli_choose_target(o, &name);
    if (bad) return bad;
    cli_look_for_interrupt();
    bench *b = calloc(1, sizeof *b);
    if (!b) return cli_error("no memory to measure");
    b->options = o;
    b->runs = o->given[CLI_OPT_runs] ? (unsigned)o->runs : RUNS;
    npu_status status = choose_target(name, &b->ops, &err);
    if (status == NPU_OK) status = open_target(b, o, &err);
    if (status == NPU_OK) status = measure_all(b, &err);
    if (status != NPU_OK)
        bad = cli_fail(&err);
    else if (o->json)
        bad = print_json(b);
    else
        print(b);
    if (b->target) b->ops->close(b->target);
    free(b->plan.designs);
    free(b->plan.kernels);
    free(b);
    return bad;
}
