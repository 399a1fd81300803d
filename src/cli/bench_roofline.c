/* npu bench --roofline: what the machine can do at most, for every number of threads up to --threads: reading memory,
 * and multiplying in the ways that its CPU levels have. No model. docs/performance.md says how to read it.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/pages.h"
#include "base/peak/peak.h"
#include "base/pool.h"
#include "cli/bench.h"

enum { READ_BYTES = 256 << 20, MAX_KERNELS = 16, RUNS = 3, WANT_MS = 30 };

typedef struct job {
    const npu_peak *peak; /* NULL: reading */
    const uint8_t *data;
    uint32_t features;
    uint64_t rounds;
    unsigned threads;                 /* that took part */
    uint64_t sums[NPU_POOL_MOST * 8]; /* a line of each thread */
} job;

typedef struct figures {
    unsigned threads;
    double read;                  /* GB/s */
    double products[MAX_KERNELS]; /* 10^9 multiply-adds a second, of each kernel in use */
} figures;

typedef struct roofline {
    const npu_peak *kernels[MAX_KERNELS];
    unsigned n_kernels, n;
    figures rows[8];
    char cpu[96];
} roofline;

static void work(void *context, unsigned ith, unsigned nth) {
    job *j = context;
    if (ith == 0) j->threads = nth;
    if (j->peak) {
        j->sums[ith * 8] = j->peak->run(j->rounds);
    } else {
        uint64_t lines = READ_BYTES / 256, from = lines * ith / nth, to = lines * (ith + 1) / nth;
        j->sums[ith * 8] = npu_peak_read(j->data + from * 256, (to - from) * 256, j->features);
    }
}

static double seconds(npu_pool *pool, job *j) {
    double start = cli_now();
    npu_pool_run(pool, work, j);
    return cli_now() - start;
}

/* The best of a few runs, since other programs only ever make one slower. */
static npu_status read_speed(npu_pool *pool, const uint8_t *data, uint32_t features, double *best, npu_error *err) {
    job j = {.data = data, .features = features};
    for (int i = 0; i < RUNS; i++) {
        NPU_TRY(cli_go_on(err));
        double speed = READ_BYTES / seconds(pool, &j) * 1e-9;
        *best = speed > *best ? speed : *best;
    }
    return NPU_OK;
}

static npu_status product_speed(npu_pool *pool, const npu_peak *peak, double *best, npu_error *err) {
    job j = {.peak = peak, .rounds = 1000};
    while (seconds(pool, &j) < WANT_MS * 1e-3 && j.rounds < UINT64_MAX / 4) j.rounds *= 2;
    for (int i = 0; i < RUNS; i++) {
        NPU_TRY(cli_go_on(err));
        double took = seconds(pool, &j);
        double speed = (double)(j.rounds * peak->products) * j.threads / took * 1e-9;
        *best = speed > *best ? speed : *best;
    }
    return NPU_OK;
}

static npu_status measure_threads(roofline *r, unsigned threads, const uint8_t *data, uint32_t features,
                                  npu_error *err) {
    npu_pool *pool;
    NPU_TRY(npu_pool_create(threads, &pool, err));
    figures *f = &r->rows[r->n++];
    f->threads = npu_pool_threads(pool);
    npu_status status = read_speed(pool, data, features, &f->read, err);
    for (unsigned i = 0; i < r->n_kernels && status == NPU_OK; i++)
        status = product_speed(pool, r->kernels[i], &f->products[i], err);
    npu_pool_destroy(pool);
    return status;
}

/* 1, 2, 4 … and the most. */
static npu_status measure(const cli_options *o, roofline *r, npu_error *err) {
    uint32_t features;
    unsigned most = o->threads ? (unsigned)o->threads : npu_pool_cores();
    NPU_TRY(npu_cpu_level(o->cpu_level, &features, err));
    if (most > NPU_POOL_MOST) most = NPU_POOL_MOST;
    npu_cpu_name(r->cpu, sizeof r->cpu);
    for (const npu_peak *p = npu_peaks(); p->kind && r->n_kernels < MAX_KERNELS; p++)
        if ((p->features & features) == p->features) r->kernels[r->n_kernels++] = p;
    uint8_t *data = npu_pages_alloc(READ_BYTES); /* as packed weights are read */
    if (!data) return npu_fail(err, NPU_NO_MEMORY, "bench.memory", "no memory for %d MiB to read", READ_BYTES >> 20);
    memset(data, 1, READ_BYTES);
    npu_status status = NPU_OK;
    for (unsigned n = 1; status == NPU_OK; n = n * 2 < most ? n * 2 : most) {
        status = measure_threads(r, n, data, features, err);
        if (n >= most) break;
    }
    npu_pages_free(data, READ_BYTES);
    return status;
}

static int print_json(const roofline *r) {
    json_t *rows = json_array();
    for (unsigned i = 0; i < r->n; i++) {
        json_t *kernels = json_array();
        for (unsigned k = 0; k < r->n_kernels; k++)
            cli_json_add(&kernels, json_pack("{s:s, s:s, s:f}", "kind", r->kernels[k]->kind, "level",
                                             r->kernels[k]->level, "multiply_adds_g_s", r->rows[i].products[k]));
        cli_json_add(&rows, json_pack("{s:I, s:f, s:o}", "threads", (json_int_t)r->rows[i].threads, "read_gb_s",
                                      r->rows[i].read, "kernels", kernels));
    }
    return cli_print_json(json_pack("{s:s, s:o}", "cpu", r->cpu, "rooflines", rows), JSON_INDENT(1));
}

static void print(const roofline *r) {
    printf("%s: reading %d MiB in GB/s; 10^9 multiply-adds a second\n%-20s", r->cpu, READ_BYTES >> 20, "threads");
    for (unsigned i = 0; i < r->n; i++) printf(" %9u", r->rows[i].threads);
    printf("\n%-20s", "read");
    for (unsigned i = 0; i < r->n; i++) printf(" %9.1f", r->rows[i].read);
    printf("\n");
    for (unsigned k = 0; k < r->n_kernels; k++) {
        printf("%-5s%-15s", r->kernels[k]->kind, r->kernels[k]->level);
        for (unsigned i = 0; i < r->n; i++) printf(" %9.1f", r->rows[i].products[k]);
        printf("\n");
    }
}

int cli_bench_roofline(const cli_options *o) {
    npu_error err = {0};
    roofline r = {0};
    cli_look_for_interrupt();
    if (measure(o, &r, &err) != NPU_OK) return cli_fail(&err);
    if (o->json) return print_json(&r);
    print(&r);
    return CLI_EXIT_OK;
}
