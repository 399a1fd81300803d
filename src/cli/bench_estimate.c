/* npu bench --estimate: how fast decoding could be on one to four NPUs, from the plan and a simple cost model. Nothing
 * is measured and nothing is opened but the model; the numbers below are assumptions about a chip, written out and
 * printed with the result (docs/devices.md). */
#include <jansson.h>
#include <stdio.h>

#include "api/api.h"
#include "cli/bench.h"
#include "target/assumed.h"
#include "wire/format.h"

enum { NPUS = 4, SPLITS = 3 };

typedef enum split { BY_LAYERS, BY_ROWS, BY_TENSORS } split;

static const char *const keys[SPLITS] = {"layer_tokens_per_s", "row_tokens_per_s", "tensor_tokens_per_s"};

static const struct assumptions {
    double npu_gb_s, memory_gb_s; /* DDR: what one NPU gets, and what all get together */
    double vtcm_bytes_cycle;      /* local memory, of all threads together */
    double ghz;                   /* one packet a cycle and thread */
    double packets;               /* for 1024 weights of a format that is not in the list below */
    double op_us;                 /* start and end of an op: threads, first transfer */
    double fence_us, host_us;     /* a barrier or a hand-over; a batch on the host */
} assumed = {50, NPU_ASSUMED_MEMORY_MB_S / 1e3, 256, 1.4, 16, 3, NPU_ASSUMED_BARRIER_NS / 1e3, 30};

/* Packets for 1024 weights and one row, as the real builds of v73 have them (htp/packets.txt). */
static const struct {
    uint8_t type;
    double packets;
} kernels[] = {{NPU_TYPE_Q4_0, 12},  {NPU_TYPE_Q4_1, 14}, {NPU_TYPE_Q8_0, 12.5}, {NPU_TYPE_IQ4_NL, 16},
               {NPU_TYPE_MXFP4, 17}, {NPU_TYPE_Q4_K, 14}, {NPU_TYPE_Q5_K, 20}};

static double packets_of(uint8_t type) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i].type == type) return kernels[i].packets;
    return assumed.packets;
}

/* Seconds of one op whose weights |n| NPUs share; 1 when each does all of it. Transfers and arithmetic overlap. */
static double op_seconds(const npu_plan *p, const npu_plan_entry *e, unsigned n, unsigned busy, double kv_bytes) {
    double bytes = e->code == NPU_OP_FLASH_ATTN ? kv_bytes : (double)e->bytes;
    if (e->code == NPU_OP_GET_ROWS && e->n_tensors) bytes = (double)e->K * 4; /* one row of the embedding */
    double share = assumed.memory_gb_s / busy;
    double memory = bytes / n / (1e9 * (share < assumed.npu_gb_s ? share : assumed.npu_gb_s));
    double vtcm = bytes / n / (1e9 * assumed.ghz * assumed.vtcm_bytes_cycle), work = 0;
    if (e->code == NPU_OP_MUL_MAT)
        work =
            (double)e->real_k * e->real_n / 1024 * packets_of(e->type) / n / (1e9 * assumed.ghz * p->caps.hw.threads);
    double most = memory > work ? memory : work;
    return (most > vtcm ? most : vtcm) + assumed.op_us * 1e-6;
}

/* Barriers of a token by rows: four a layer. By tensors a product that is followed by an add, in a layer, needs one
 * less, and all its partial sums are read: by every NPU, or by columns, which costs the barrier again. Returns seconds.
 */
static double barrier_seconds(const npu_plan *p, unsigned n, bool tensors) {
    double barriers = 4.0 * p->n_layers, bytes = 0;
    for (uint32_t i = 0; tensors && i + 1 < p->n_entries; i++) {
        const npu_plan_entry *e = &p->entries[i];
        if (e->code != NPU_OP_MUL_MAT || e[1].code != NPU_OP_ADD || e->layer == NPU_NO_LAYER) continue;
        uint64_t all = npu_assumed_sum_bytes(1, e->real_n, n);
        bool each = all <= npu_assumed_barrier_bytes();
        barriers -= each;
        bytes += (double)all / (each ? 1 : n);
    }
    return barriers * assumed.fence_us * 1e-6 + bytes / (assumed.memory_gb_s * 1e9);
}

/* Seconds a token: by layers one NPU works at a time; else all share products and attention, and meet at barriers. */
static double token_seconds(const npu_plan *p, unsigned n, split by, double kv_bytes) {
    double seconds = assumed.host_us * 1e-6;
    for (uint32_t i = 0; i < p->n_entries; i++) {
        const npu_plan_entry *e = &p->entries[i];
        bool shared = by != BY_LAYERS && (e->code == NPU_OP_MUL_MAT || e->code == NPU_OP_FLASH_ATTN);
        seconds += op_seconds(p, e, shared ? n : 1, by == BY_LAYERS ? 1 : n, kv_bytes);
    }
    if (n == 1) return seconds;
    return seconds + (by == BY_LAYERS ? n * assumed.fence_us * 1e-6 : barrier_seconds(p, n, by == BY_TENSORS));
}

static void print(const npu_plan *p, uint32_t depth, double speed[SPLITS][NPUS]) {
    printf("estimate of decoding on Hexagon NPUs, from a cost model: nothing was measured\n"
           "%s, %.1f MiB of weights, %u tokens before, %s\n",
           p->model_name, (double)p->weight_bytes / CLI_MIB, depth, p->caps.generation);
    printf(
        "assumed: DDR %.0f GB/s for one NPU and %.0f for all, local memory %.0f bytes a cycle, %.1f GHz, %u threads, "
        "%.0f us an op, %.0f us a fence, %.0f us a batch on the host\n\n%6s %18s %18s %18s\n",
        assumed.npu_gb_s, assumed.memory_gb_s, assumed.vtcm_bytes_cycle, assumed.ghz, p->caps.hw.threads, assumed.op_us,
        assumed.fence_us, assumed.host_us, "NPUs", "by layers, tok/s", "by rows, tok/s", "by tensors, tok/s");
    for (unsigned n = 1; n <= NPUS; n++)
        printf("%6u %18.1f %18.1f %18.1f\n", n, speed[BY_LAYERS][n - 1], speed[BY_ROWS][n - 1],
               speed[BY_TENSORS][n - 1]);
}

static int print_json(const npu_plan *p, double speed[SPLITS][NPUS]) {
    json_t *list = json_array();
    for (unsigned n = 1; n <= NPUS; n++) {
        json_t *row = json_pack("{s:i}", "npus", (int)n);
        for (int by = 0; by < SPLITS; by++) cli_json_set(&row, keys[by], json_real(speed[by][n - 1]));
        cli_json_add(&list, row);
    }
    return cli_print_json(json_pack("{s:b, s:s, s:o}", "is_estimate", 1, "plan", p->hash, "decode", list),
                          JSON_INDENT(1));
}

int cli_bench_estimate(const cli_options *o) {
    cli_session session;
    npu_plan *plan = NULL;
    npu_context_params params = cli_context_params(o);
    npu_error err = {0};
    if (!o->npu_target) return cli_usage("--estimate needs --npu-target hexagon");
    if (o->npu_devices) return cli_usage("--estimate has no need of --npu-devices: it is about 1 to 4 NPUs");
    int bad = cli_open_model(o, false, &session);
    params.progress = NULL;
    if (!bad && npu_api_plan(session.model, &params, NULL, &plan, &err) != NPU_OK) bad = cli_fail(&err);
    if (!bad && !plan->caps.hw.threads)
        bad = cli_usage("--estimate: there is no cost model for --npu-target %s", o->npu_target);
    if (!bad) {
        double speed[SPLITS][NPUS],
            kv = (double)plan->state_bytes / plan->settings.ctx / plan->n_layers * (double)o->depth;
        for (unsigned n = 1; n <= NPUS; n++)
            for (int by = 0; by < SPLITS; by++) speed[by][n - 1] = 1 / token_seconds(plan, n, (split)by, kv);
        if (o->json)
            bad = print_json(plan, speed);
        else
            print(plan, (uint32_t)o->depth, speed);
    }
    npu_plan_free(plan);
    return cli_close(&session, bad);
}
