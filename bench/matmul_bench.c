/* Speed of the MUL_MAT variants of this machine, next to what the machine can do:
 *     matmul_bench [-c] [-p] [-f] [-t THREADS] [-l VARIANT] [-r RUNS] [-m ROWS] [-n N] [-k K] [-b KIB] [FORMAT…]
 * Decode (one activation row) in GB/s of weight bytes and per cent of a plain read of the same memory with the same
 * threads (-p: from packed weights; -b: how much of it, to stay in a cache; -f: of other memory in each run, so that it
 * never does, while a run stays too short to be interrupted); with -m, products of that many rows in
 * GOPS (2 operations a multiply-add) and what they would be in GB/s. Best of the runs, because other programs only ever
 * make one slower; -c counts processor time (divided by the threads) instead of the clock's, for a machine that is busy
 * with other things.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/pages.h"
#include "bench/op_bench.h"
#include "wire/format.h"

typedef struct bench {
    npu_pool *pool;
    const char *level;
    int runs, cpu_time, packed, fresh;
    uint32_t m, n, k;
    uint8_t *weights;
    uint64_t weight_bytes, decode_bytes;
    float *x, *y;
} bench;

static double seconds(const bench *b) {
    double s = bench_seconds(b->cpu_time);
    return b->cpu_time ? s / npu_pool_threads(b->pool) : s;
}

typedef struct read_job {
    const uint8_t *p;
    uint64_t bytes;
    uint64_t sums[64 * 16];
} read_job;

static void read_all(void *context, unsigned ith, unsigned nth) {
    read_job *j = context;
    const uint64_t *p = (const uint64_t *)j->p, n = j->bytes / 8;
    uint64_t sum[8] = {0};
    for (uint64_t i = n * ith / nth / 8 * 8; i + 8 <= n * (ith + 1) / nth; i += 8) {
        for (int lane = 0; lane < 8; lane++) sum[lane] += p[i + (uint64_t)lane];
    }
    for (int lane = 1; lane < 8; lane++) sum[0] += sum[lane];
    j->sums[ith * 16] = sum[0];
}

/* Where run |i| finds what it reads: |bytes| of |all|. */
static uint64_t place_of(const bench *b, int i, uint64_t bytes, uint64_t all) {
    return b->fresh ? (uint64_t)i % (all / bytes) * bytes : 0;
}

static double read_speed(const bench *b) {
    double best = 1e9;
    for (int i = 0; i < b->runs; i++) {
        read_job j = {.p = b->weights + place_of(b, i, b->decode_bytes, b->weight_bytes), .bytes = b->decode_bytes};
        double start = seconds(b);
        npu_pool_run(b->pool, read_all, &j);
        double took = seconds(b) - start;
        if (took < best) best = took;
    }
    return (double)b->decode_bytes / best * 1e-9;
}

static npu_tensor tensor(uint32_t type, uint32_t ne0, uint32_t ne1, uint64_t nb0, uint64_t row) {
    return (npu_tensor){.type = (uint8_t)type, .ne = {ne0, ne1, 1, 1}, .nb = {nb0, row, row * ne1, row * ne1}};
}

static double product(const bench *b, const npu_host_variant *v, const npu_format *f, uint32_t n, uint32_t m) {
    uint64_t row = npu_format_row_bytes(f, b->k);
    npu_tensor tensors[] = {tensor(NPU_TYPE_F32, b->k, m, 4, b->k * 4ull),
                            tensor(f->type, b->k, n, f->block_bytes, row), tensor(NPU_TYPE_F32, n, m, 4, n * 4ull)};
    npu_op op = {.code = NPU_OP_MUL_MAT};
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    op.src[0] = 0, op.src[1] = 1, op.dst[0] = 2;
    bench_job j = {v, {.op = &op, .mode = NPU_MODE_DEFAULT, .pool = b->pool}};
    const uint8_t *packed_at[NPU_OP_SRCS] = {NULL};
    j.call.src[0] = (npu_host_operand){tensors[0], (uint8_t *)b->x};
    j.call.src[1] = (npu_host_operand){tensors[1], b->weights};
    j.call.dst[0] = (npu_host_operand){tensors[2], (uint8_t *)b->y};
    j.call.scratch_bytes = v->scratch(&op, tensors, NPU_MODE_DEFAULT, npu_pool_threads(b->pool));
    j.call.scratch = bench_memory(j.call.scratch_bytes, 1);
    uint64_t bytes = n * row, all = b->fresh ? b->weight_bytes / bytes * bytes : bytes, packed = 0;
    uint8_t *copy = NULL;
    if (b->packed && v->packing) packed = v->packing->bytes(&tensors[1], NPU_MODE_DEFAULT);
    if (packed) {
        copy = npu_pages_alloc(packed * (all / bytes));
        if (!copy) exit(2);
        for (uint64_t i = 0; i < all / bytes; i++)
            v->packing->pack(&tensors[1], b->weights, 0, v->packing->parts(&tensors[1]), copy + i * packed);
        j.call.packed = packed_at;
    }
    double best = 1e9;
    for (int i = 0; i < b->runs; i++) {
        j.call.src[1].data = b->weights + place_of(b, i, bytes, all);
        if (packed) packed_at[1] = copy + place_of(b, i, packed, packed * (all / bytes));
        double start = seconds(b);
        bench_run(&j);
        double took = seconds(b) - start;
        if (took < best) best = took;
    }
    free(j.call.scratch);
    if (copy) npu_pages_free(copy, packed * (all / bytes));
    return best;
}

static void one_format(const bench *b, const npu_format *f, double read) {
    uint64_t row = npu_format_row_bytes(f, b->k);
    for (const npu_host_variant *v = npu_host_variants(NPU_OP_MUL_MAT); v->name; v++) {
        if (!bench_takes(v, b->level)) continue;
        uint32_t n = (uint32_t)(b->decode_bytes / row);
        double took = product(b, v, f, n, 1), gb = (double)(n * row) / took * 1e-9;
        printf("%-7s %-8s decode %7.2f GB/s %4.0f %%", f->name, v->name, gb, gb / read * 100);
        if (b->m) {
            took = product(b, v, f, b->n, b->m);
            printf("   %u rows %8.1f GOPS %7.2f GB/s", b->m, 2.0 * b->m * b->n * b->k / took * 1e-9,
                   (double)(b->n * row) / took * 1e-9);
        }
        printf("\n");
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    bench b = {.runs = 5, .m = 256, .n = 2048, .k = 2048, .weight_bytes = 96 << 20, .decode_bytes = 96 << 20};
    unsigned threads = 0;
    for (int c; (c = getopt(argc, argv, "cpft:l:r:m:n:k:b:")) != -1;) {
        if (c == 'c') b.cpu_time = 1;
        if (c == 'p') b.packed = 1;
        if (c == 'f') b.fresh = 1;
        if (c == 't') threads = (unsigned)atoi(optarg);
        if (c == 'l') b.level = optarg;
        if (c == 'r') b.runs = atoi(optarg);
        if (c == 'm') b.m = (uint32_t)atoi(optarg);
        if (c == 'n') b.n = (uint32_t)atoi(optarg);
        if (c == 'k') b.k = (uint32_t)atoi(optarg);
        if (c == 'b') b.decode_bytes = (uint64_t)atoi(optarg) << 10;
        if (c == '?') return 2;
    }
    npu_error err;
    if (npu_pool_create(threads, &b.pool, &err) != NPU_OK) return 2;
    if (4ull * b.n * b.k > b.weight_bytes) b.weight_bytes = 4ull * b.n * b.k;
    if (b.decode_bytes > b.weight_bytes) b.weight_bytes = b.decode_bytes;
    b.weights = bench_memory(b.weight_bytes, 1);
    uint32_t most = b.m > 1 ? b.m : 1;
    b.x = bench_memory(4ull * b.k * most, 1);
    for (uint64_t i = 0; i < (uint64_t)b.k * most; i++) b.x[i] = (float)(i % 97) - 48;
    uint64_t y_floats = (uint64_t)b.n * most, rows = b.weight_bytes / (b.k / 4);
    b.y = bench_memory(4 * (y_floats > rows ? y_floats : rows), 1);
    double read = read_speed(&b);
    printf("%u threads, read %.1f GB/s\n", npu_pool_threads(b.pool), read);
    const npu_format *f;
    for (uint32_t i = 0; (f = npu_format_at(i)); i++) {
        int asked = optind == argc;
        for (int a = optind; a < argc; a++) asked |= npu_format_named(argv[a]) == f;
        if (asked) one_format(&b, f, read);
    }
    npu_pool_destroy(b.pool);
    free(b.weights);
    free(b.x);
    free(b.y);
    return 0;
}
