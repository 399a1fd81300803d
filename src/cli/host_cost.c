#include "cli/host_cost.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/pool.h"
#include "cli/bench.h"

enum { WARM_UP = 16, POOL_RUNS = 2000 };

typedef struct cost {
    const char *plan;                 /* its hash */
    double us_median, us_min, us_max; /* CPU time of the calling thread in a step */
    double wall_us;
    uint32_t steps;
    int64_t allocations;
    npu_counters before, after;
} cost;

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static npu_status step(npu_context *context, uint32_t i, npu_error *err) {
    npu_row row = {.token = (int32_t)(1 + i % 97), .logits = true};
    return npu_decode(context, &row, 1, err);
}

static npu_status measure(npu_context *context, uint32_t depth, double *us, cost *out, npu_error *err) {
    NPU_TRY(npu_context_reset(context, err));
    for (uint32_t i = 0; i < depth + WARM_UP; i++) NPU_TRY(step(context, i, err));
    npu_context_counters(context, &out->before);
    cli_count_allocations();
    double start = seconds(CLOCK_MONOTONIC);
    npu_status status = NPU_OK;
    for (uint32_t i = 0; i < out->steps && status == NPU_OK; i++) {
        double from = seconds(CLOCK_THREAD_CPUTIME_ID);
        status = step(context, i, err);
        us[i] = (seconds(CLOCK_THREAD_CPUTIME_ID) - from) * 1e6;
    }
    out->wall_us = (seconds(CLOCK_MONOTONIC) - start) * 1e6 / out->steps;
    out->allocations = cli_allocations();
    npu_context_counters(context, &out->after);
    out->us_median = cli_bench_median(us, (int)out->steps);
    out->us_min = us[0];
    out->us_max = us[out->steps - 1];
    return status;
}

static void nothing(void *context, unsigned ith, unsigned nth) {
    (void)context, (void)ith, (void)nth;
}

/* What handing one op to all CPU threads and waiting for them costs. */
static npu_status measure_pool(unsigned threads, double *us, npu_error *err) {
    npu_pool *pool;
    NPU_TRY(npu_pool_create(threads, &pool, err));
    for (int i = 0; i < POOL_RUNS / 10; i++) npu_pool_run(pool, nothing, NULL);
    double times[POOL_RUNS];
    for (int i = 0; i < POOL_RUNS; i++) {
        double start = seconds(CLOCK_MONOTONIC);
        npu_pool_run(pool, nothing, NULL);
        times[i] = (seconds(CLOCK_MONOTONIC) - start) * 1e6;
    }
    *us = cli_bench_median(times, POOL_RUNS);
    npu_pool_destroy(pool);
    return NPU_OK;
}

static const struct counter {
    const char *name, *text;
    size_t offset;
} counters[] = {
    {"ops_device", "ops on the NPU", offsetof(npu_counters, ops_device)},
    {"ops_host", "ops on the CPU", offsetof(npu_counters, ops_host)},
    {"batches", "batches", offsetof(npu_counters, batches)},
    {"messages", "messages to the NPU", offsetof(npu_counters, messages)},
    {"message_bytes", "bytes of messages", offsetof(npu_counters, message_bytes)},
    {"syncs", "changes of ownership", offsetof(npu_counters, syncs)},
    {"bytes_to_device", "bytes of inputs patched for the NPU", offsetof(npu_counters, bytes_to_device)},
    {"bytes_to_host", "bytes read back", offsetof(npu_counters, bytes_to_host)},
    {"images", "descriptor images built", offsetof(npu_counters, images)},
    {"mapped_bytes", "bytes mapped on the NPU", offsetof(npu_counters, mapped_bytes)},
};

static double per_step(const cost *c, const struct counter *k) {
    uint64_t before = *(const uint64_t *)(const void *)((const char *)&c->before + k->offset);
    uint64_t after = *(const uint64_t *)(const void *)((const char *)&c->after + k->offset);
    return (double)(after - before) / c->steps;
}

static void print(const cost *c, double barrier_us) {
    printf("%u decode steps, each:\n%12.1f us of CPU time in the calling thread (%.1f to %.1f), %.1f us in all, plan "
           "%.12s\n",
           c->steps, c->us_median, c->us_min, c->us_max, c->wall_us, c->plan);
    printf("%12.2f us to run nothing on all CPU threads (an op's barrier)\n", barrier_us);
    if (c->allocations >= 0) printf("%12.2f allocations\n", (double)c->allocations / c->steps);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (c->after.ops_device > 0 || per_step(c, &counters[i]) > 0) /* without an NPU nothing is said of it */
            printf("%12.2f %s\n", per_step(c, &counters[i]), counters[i].text);
}

static int print_json(const cost *c, double barrier_us) {
    json_t *root =
        json_pack("{s:I, s:{s:f, s:f, s:f}, s:f, s:f, s:o, s:s}", "steps", (json_int_t)c->steps, "thread_cpu_us",
                  "median", c->us_median, "min", c->us_min, "max", c->us_max, "wall_us", c->wall_us, "barrier_us",
                  barrier_us, "allocations",
                  c->allocations < 0 ? json_null() : json_real((double)c->allocations / c->steps), "plan", c->plan);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        cli_json_set(&root, counters[i].name, json_real(per_step(c, &counters[i])));
    return cli_print_json(root, JSON_INDENT(1));
}

int cli_host_cost(const cli_options *o, cli_session *session, uint32_t depth, uint32_t steps) {
    cost c = {.steps = steps, .plan = cli_plan_hash(session)};
    double barrier_us = 0, *us = calloc(steps, sizeof *us);
    npu_error err = {0};
    if (!us) return cli_error("no memory for %u steps", steps);
    npu_status status = measure(session->context, depth, us, &c, &err);
    if (status == NPU_OK) status = measure_pool((unsigned)o->threads, &barrier_us, &err);
    free(us);
    if (status != NPU_OK) return cli_fail(&err);
    if (o->json) return print_json(&c, barrier_us);
    print(&c, barrier_us);
    return 0;
}

uint32_t cli_host_cost_ctx(uint32_t depth, uint32_t steps) {
    return depth + WARM_UP + steps;
}
