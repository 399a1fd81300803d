/* Speed of the FLASH_ATTN variants of this machine on one layer's shapes:
 *     attn_bench [-t THREADS] [-l VARIANT] [-r RUNS] [-d HEAD] [-q HEADS] [-k KV_HEADS] [-m ROWS] [-n KEYS] [-w WINDOW]
 *                [-y f16|f32|q8_0] [-c LAYERS]
 * The last of ROWS query rows sees KEYS keys, each one before it one less. A run goes over LAYERS layers with keys and
 * values of their own: with so many that no cache holds them, what they take to read counts, as in a model. Best of
 * the runs, of one layer, in GB/s of the keys and values that a pass over them reads and in billions of multiply-adds
 * a second.
 */
#include <stdio.h>
#include <unistd.h>

#include "bench/op_bench.h"
#include "wire/format.h"

typedef struct bench {
    npu_pool *pool;
    const char *level;
    int runs;
    uint32_t d, heads, kv_heads, rows, keys, window, layers;
    const npu_format *type;
} bench;

/* Small numbers of either sign in every format: no bit pattern here is special. */
static void fill(uint8_t *p, uint64_t bytes, const npu_format *type) {
    uint32_t state = 1;
    for (uint64_t i = 0; i < bytes; i++) p[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
    for (uint64_t i = 0; type->type == NPU_TYPE_F16 && i < bytes; i += 2) p[i + 1] = (p[i + 1] & 0x83) | 0x34;
    for (uint64_t i = 0; type->type == NPU_TYPE_F32 && i < bytes; i += 4)
        *(float *)(void *)(p + i) = (float)(int8_t)p[i] / 256;
    for (uint64_t i = 0; type->type == NPU_TYPE_Q8_0 && i < bytes; i += 34) p[i] = 0, p[i + 1] = 0x14;
}

static npu_host_operand operand(const npu_format *type, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    uint64_t row = npu_format_row_bytes(type, ne0);
    npu_host_operand o = {.t = {.type = (uint8_t)type->type,
                                .ne = {ne0, ne1, ne2, 1},
                                .nb = {type->block_bytes, row, row * ne1, row * ne1 * ne2}}};
    o.data = bench_memory(o.t.nb[3], 0);
    fill(o.data, o.t.nb[3], type);
    return o;
}

int main(int argc, char **argv) {
    bench b = {.runs = 5, .d = 64, .heads = 9, .kv_heads = 3, .rows = 1, .keys = 4096, .layers = 1};
    const char *type = "F16";
    unsigned threads = 0;
    for (int c; (c = getopt(argc, argv, "t:l:r:d:q:k:m:n:w:y:c:")) != -1;) {
        if (c == 't') threads = (unsigned)atoi(optarg);
        if (c == 'l') b.level = optarg;
        if (c == 'r') b.runs = atoi(optarg);
        if (c == 'd') b.d = (uint32_t)atoi(optarg);
        if (c == 'q') b.heads = (uint32_t)atoi(optarg);
        if (c == 'k') b.kv_heads = (uint32_t)atoi(optarg);
        if (c == 'm') b.rows = (uint32_t)atoi(optarg);
        if (c == 'n') b.keys = (uint32_t)atoi(optarg);
        if (c == 'w') b.window = (uint32_t)atoi(optarg);
        if (c == 'y') type = optarg;
        if (c == 'c') b.layers = (uint32_t)atoi(optarg);
        if (c == '?') return 2;
    }
    npu_error err;
    b.type = npu_format_named(type);
    const npu_format *f32 = npu_format_of(NPU_TYPE_F32);
    if (!b.type || b.rows > b.keys || !b.layers || npu_pool_create(threads, &b.pool, &err) != NPU_OK) return 2;
    npu_op op = {.code = NPU_OP_FLASH_ATTN, .params.attn = {.scale = 0.125f, .window = b.window}};
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    for (uint16_t i = 0; i < 4; i++) op.src[i] = i;
    op.dst[0] = 4;
    bench_job j = {.call = {.op = &op, .mode = NPU_MODE_DEFAULT, .pool = b.pool}};
    j.call.src[0] = operand(f32, b.d, b.heads, b.rows);
    npu_host_operand all[] = {operand(b.type, b.d, b.kv_heads, b.keys * b.layers),
                              operand(b.type, b.d, b.kv_heads, b.keys * b.layers)};
    for (int i = 0; i < 2; i++) {
        j.call.src[1 + i] = all[i];
        j.call.src[1 + i].t.ne[2] = b.keys;
        j.call.src[1 + i].t.nb[3] = all[i].t.nb[3] / b.layers;
    }
    j.call.src[3] = (npu_host_operand){
        .t = {.type = NPU_TYPE_I32, .ne = {2, b.rows, 1, 1}, .nb = {4, 8, 8ull * b.rows, 8ull * b.rows}},
        .data = bench_memory(8ull * b.rows, 0)};
    j.call.dst[0] = operand(f32, b.d, b.heads, b.rows);
    int32_t *spans = (int32_t *)(void *)j.call.src[3].data;
    uint64_t pairs = 0;
    for (uint32_t m = 0; m < b.rows; m++) {
        uint32_t n = b.keys - b.rows + 1 + m;
        spans[2 * m] = 0;
        spans[2 * m + 1] = (int32_t)n;
        pairs += b.window && b.window < n ? b.window : n;
    }
    npu_tensor tensors[5];
    for (int i = 0; i < 4; i++) tensors[i] = j.call.src[i].t;
    tensors[4] = j.call.dst[0].t;
    for (const npu_host_variant *v = npu_host_variants(NPU_OP_FLASH_ATTN); v->name; v++) {
        if (!bench_takes(v, b.level)) continue;
        j.variant = v;
        j.call.scratch_bytes = v->scratch(&op, tensors, NPU_MODE_DEFAULT, npu_pool_threads(b.pool));
        j.call.scratch = bench_memory(j.call.scratch_bytes, 0);
        double best = 1e9;
        for (int i = 0; i < b.runs; i++) {
            double start = bench_seconds(0);
            for (uint32_t layer = 0; layer < b.layers; layer++) {
                for (int k = 0; k < 2; k++) j.call.src[1 + k].data = all[k].data + layer * j.call.src[1 + k].t.nb[3];
                bench_run(&j);
            }
            double took = (bench_seconds(0) - start) / b.layers;
            if (took < best) best = took;
        }
        printf("%-7s %s d %u, %u/%u heads, %u rows, %u keys: %9.1f us, %6.2f GB/s, %6.2f G multiply-adds/s\n", v->name,
               b.type->name, b.d, b.heads, b.kv_heads, b.rows, b.keys, best * 1e6,
               (double)(j.call.src[1].t.nb[3] + j.call.src[2].t.nb[3]) / best * 1e-9,
               2.0 * (double)pairs * b.heads * b.d / best * 1e-9);
        free(j.call.scratch);
    }
    npu_pool_destroy(b.pool);
    return 0;
}
