/* npu bench --repack: how fast a target makes the weights that its kernels read from those of a model file, without
 * either: one made-up matrix a format, larger than caches, on one thread and on all. GB/s count bytes of the file. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/pool.h"
#include "base/random.h"
#include "cli/bench.h"
#include "target/target.h"
#include "wire/format.h"

enum { K = 4096, SOURCE_BYTES = 32 << 20, ROWS_IN_STEPS_OF = 32, RUNS = 5, MAX_FORMATS = 32, MAX_RUNS = 1000 };

typedef struct measured {
    const char *format, *kind;
    uint64_t file_bytes, device_bytes;
    double core, all; /* GB/s */
} measured;

typedef struct bench {
    const cli_options *options;
    const npu_target_ops *ops;
    npu_target_params params;
    npu_pool *pools[2]; /* of one thread, of all */
    uint8_t *from, *to;
    measured results[MAX_FORMATS];
    int runs;
    unsigned n;
} bench;

static npu_weight weight_of(const npu_format *f, const uint8_t *data) {
    uint64_t row = npu_format_row_bytes(f, K);
    uint32_t n = (uint32_t)(SOURCE_BYTES / row / ROWS_IN_STEPS_OF * ROWS_IN_STEPS_OF);
    return (npu_weight){.name = f->name,
                        .data = data,
                        .bytes = n * row,
                        .type = (uint8_t)f->type,
                        .ne = {K, n, 1, 1},
                        .nb = {f->block_bytes, row, n * row, n * row}};
}

static measured describe(const bench *b, const npu_weight *w) {
    measured m = {.format = w->name, .kind = "copy", .file_bytes = w->bytes, .device_bytes = w->bytes};
    npu_tensor t = {.type = w->type};
    for (int i = 0; i < NPU_MAX_DIMS; i++) {
        t.ne[i] = w->ne[i];
        t.nb[i] = w->nb[i];
    }
    b->ops->image(&t, &m.kind, &m.device_bytes);
    return m;
}

/* Runs on one thread and on all take turns, so that both see the same machine; the first pair is not counted. */
static npu_status measure(bench *b, const npu_weight *w, npu_error *err) {
    double rates[2][MAX_RUNS];
    measured *m = &b->results[b->n++];
    *m = describe(b, w);
    for (int i = -1; i < b->runs; i++)
        for (int p = 0; p < 2; p++) {
            NPU_TRY(cli_go_on(err));
            uint64_t start = npu_clock_ns();
            NPU_TRY(b->ops->pack(&b->params, b->pools[p], w, b->to, err));
            if (i >= 0) rates[p][i] = (double)w->bytes / (double)(npu_clock_ns() - start);
        }
    m->core = cli_bench_median(rates[0], b->runs);
    m->all = cli_bench_median(rates[1], b->runs);
    return NPU_OK;
}

static npu_status measure_all(bench *b, npu_error *err) {
    uint64_t most = 0, state = 1;
    uint32_t formats = 0;
    const npu_format *f;
    for (; (f = npu_format_at(formats)); formats++) {
        npu_weight w = weight_of(f, NULL);
        uint64_t bytes = describe(b, &w).device_bytes;
        if (bytes > most) most = bytes;
    }
    b->from = malloc(SOURCE_BYTES);
    b->to = malloc(most);
    if (!b->from || !b->to) return npu_fail(err, NPU_NO_MEMORY, "bench.memory", "no memory for weights");
    for (uint64_t i = 0; i < SOURCE_BYTES; i++) {
        b->from[i] = (uint8_t)(npu_random_next(&state) >> 40);
    }
    npu_status status = NPU_OK;
    for (uint32_t i = 0; (f = npu_format_at(i)) && b->n < MAX_FORMATS && status == NPU_OK; i++) {
        npu_weight w = weight_of(f, b->from);
        cli_progress(b->options, "format", i, formats);
        status = measure(b, &w, err);
    }
    cli_progress(b->options, "format", 1, 1);
    return status;
}

static int print_json(const bench *b) {
    json_t *list = json_array();
    for (unsigned i = 0; i < b->n; i++) {
        const measured *m = &b->results[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:f, s:f}", "format", m->format, "image", m->kind,
                                              "file_bytes", (json_int_t)m->file_bytes, "device_bytes",
                                              (json_int_t)m->device_bytes, "core_gb_s", m->core, "all_gb_s", m->all));
    }
    return cli_print_json(json_pack("{s:s, s:I, s:I, s:o}", "target", b->ops->name, "runs", (json_int_t)b->runs,
                                    "threads", (json_int_t)npu_pool_threads(b->pools[1]), "repack", list),
                          JSON_INDENT(1));
}

static void print(const bench *b) {
    printf("%s: weights packed, GB of the model file a second, medians of %d run%s\n", b->ops->name, b->runs,
           b->runs == 1 ? "" : "s");
    printf("%-8s %-12s %12s %12s %10s %7u threads\n", "format", "image", "file bytes", "image bytes", "one core",
           npu_pool_threads(b->pools[1]));
    for (unsigned i = 0; i < b->n; i++) {
        const measured *m = &b->results[i];
        printf("%-8s %-12s %12llu %12llu %10.2f %15.2f\n", m->format, m->kind, (unsigned long long)m->file_bytes,
               (unsigned long long)m->device_bytes, m->core, m->all);
    }
}

/* The one that was asked for, or the first that packs. */
static npu_status find_target(const cli_options *o, const npu_target_ops **out, npu_error *err) {
    if (o->npu_target) {
        NPU_TRY(npu_target_find(o->npu_target, out, err));
        if ((*out)->pack) return NPU_OK;
        return npu_fail(err, NPU_REFUSED, "bench.repack", "target %s packs no weights by itself", o->npu_target);
    }
    for (unsigned i = 0; (*out = npu_target_at(i)); i++)
        if ((*out)->pack) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "bench.repack", "no target of this build packs weights by itself");
}

/* Asked after the target's name, which is wrong whatever else is given. */
static int check_flags(const cli_options *o) {
    static const int of_devices[] = {CLI_OPT_device, CLI_OPT_driver,    CLI_OPT_kernels_dir,
                                     CLI_OPT_emu,    CLI_OPT_timeout_s, CLI_OPT_no_wait};
    for (size_t i = 0; i < sizeof of_devices / sizeof of_devices[0]; i++)
        if (o->given[of_devices[i]])
            return cli_usage("%s has no effect with --repack: no device is opened", cli_option_name(of_devices[i]));
    return 0;
}

int cli_bench_repack(const cli_options *o) {
    npu_error err = {0};
    int bad = cli_check_target(o);
    if (!bad) bad = check_flags(o);
    if (bad) return bad;
    cli_look_for_interrupt();
    bench *b = calloc(1, sizeof *b);
    if (!b) return cli_error("no memory to measure");
    b->params = (npu_target_params){.logger = cli_logger(o), .cpu_level = o->cpu_level};
    b->options = o;
    b->runs = o->given[CLI_OPT_runs] ? (int)o->runs : RUNS;
    npu_status status = find_target(o, &b->ops, &err);
    if (status == NPU_OK) status = npu_pool_create(1, &b->pools[0], &err);
    if (status == NPU_OK) status = npu_pool_create((unsigned)o->threads, &b->pools[1], &err);
    if (status == NPU_OK) status = measure_all(b, &err);
    bad = status != NPU_OK ? cli_fail(&err) : o->json ? print_json(b) : 0;
    if (!bad && !o->json) print(b);
    for (int i = 0; i < 2; i++) npu_pool_destroy(b->pools[i]);
    free(b->from);
    free(b->to);
    free(b);
    return bad;
}
