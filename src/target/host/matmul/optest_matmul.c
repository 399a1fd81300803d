/* Every MUL_MAT variant of this machine against the reference, bit by bit (NaN as a class): all formats, both modes,
 * odd sizes, strided views, one and three threads, several weights with biases, wild scales and wild activations, the
 * largest integer sums.
 * Weights in place and packed. Results lie between poisoned guard zones that are compared too; scratch is exactly as
 * large as was asked for, and poisoned.
 *
 * Usage: optest_matmul [seed]
 */
#include <stdatomic.h>

#include "base/cpu.h"
#include "quant/quant.h"
#include "support/optest.h"
#include "target/host/host_op.h"
#include "wire/half.h"

enum { GUARD = 64, MAX_WEIGHTS = 4 };

typedef struct shape {
    uint32_t type, k, m, outer, n_weights, n[MAX_WEIGHTS];
    npu_mode mode;
    int biases, wild;
    int extreme;  /* the largest codes: sums must fit wherever a variant keeps them */
    uint32_t pad; /* bytes or elements between rows */
} shape;

typedef struct bed {
    npu_op op;
    npu_tensor tensors[16];
    uint8_t *data[16];
    uint64_t bytes[16];
    uint32_t n_tensors;
} bed;

/* Adds a tensor whose memory ends with the last element, so that sanitizers see reads behind it. */
static uint16_t add(bed *b, uint32_t type, const uint32_t ne[4], uint64_t row_bytes, uint64_t nb0, uint64_t guard) {
    uint16_t i = (uint16_t)b->n_tensors++;
    npu_tensor *t = &b->tensors[i];
    *t = (npu_tensor){.type = (uint8_t)type, .nb = {nb0, row_bytes, row_bytes * ne[1], row_bytes * ne[1] * ne[2]}};
    memcpy(t->ne, ne, sizeof t->ne);
    b->bytes[i] = row_bytes * ne[1] * ne[2] * ne[3] + 2 * guard;
    b->data[i] = optest_memory(b->bytes[i], 0x5A);
    t->offset = guard;
    return i;
}

static int is_tame(const npu_format *f, const uint8_t *block) {
    float values[256];
    int good = 1;
    npu_quant_of(f->type)->dequant(block, values, f->block_values);
    for (uint32_t i = 0; i < f->block_values; i++) good &= values[i] > -100 && values[i] < 100;
    return good;
}

/* Random bytes; tame: only blocks whose values are finite and of a size that doesn't drown the others. */
static void fill_weights(const npu_format *f, uint8_t *p, uint64_t blocks, int wild) {
    for (uint64_t b = 0; b < blocks; b++, p += f->block_bytes) {
        do {
            optest_fill(p, f->block_bytes);
        } while (!wild && !is_tame(f, p));
    }
}

/* Every block the same, with the one value in each byte that leaves it tame: codes take it, most of the scales don't.
 */
static void fill_extreme(const npu_format *f, uint8_t *p, uint64_t blocks) {
    static const uint8_t ends[] = {0xFF, 0x80, 0x7F, 0x00};
    uint8_t end = ends[optest_random() % 4];
    fill_weights(f, p, 1, 0);
    for (uint32_t i = f->block_bytes; i-- > 0;) {
        uint8_t before = p[i];
        p[i] = end;
        if (!is_tame(f, p)) p[i] = before;
    }
    for (uint64_t b = 1; b < blocks; b++) memcpy(p + b * f->block_bytes, p, f->block_bytes);
}

static void fill_x(float *x, uint64_t n, int wild) {
    static const uint32_t odd[] = {0x7FC00000, 0x7F800000, 0xFF800000, 1,
                                   0x80000000, 0x0D7FFFFF, 0x0D800000, 0x7F7FFFFF};
    for (uint64_t i = 0; i < n; i++) {
        x[i] = optest_float() * (float)(1 << i / 32 % 8);
        if (wild && optest_random() % 97 == 0) x[i] = npu_bits_float(odd[optest_random() % 8]);
        if (wild && i / 32 % 5 == 1) x[i] = 0;
        if (wild && i / 32 % 5 == 2) x[i] *= 0x1p-99f;
        if (wild && i / 32 % 5 == 3) x[i] *= 0x1p-140f;
    }
}

/* Activations whose codes are all 127, or -127 in the one half of the blocks. */
static void fill_x_extreme(float *x, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) x[i] = i / 32 % 2 ? -3.0f : 2.0f;
}

static void make(bed *b, const shape *s) {
    const npu_format *f = npu_format_of(s->type);
    memset(b, 0, sizeof *b);
    memset(b->op.src, 0xFF, sizeof b->op.src);
    memset(b->op.dst, 0xFF, sizeof b->op.dst);
    b->op.code = NPU_OP_MUL_MAT;
    uint32_t x_ne[4] = {s->k, s->m, 2 * s->outer, s->outer};
    if (!s->outer) x_ne[2] = x_ne[3] = 1;
    b->op.src[0] = add(b, NPU_TYPE_F32, x_ne, (s->k + s->pad) * 4ull, 4, 0);
    if (s->extreme)
        fill_x_extreme((float *)b->data[0], b->bytes[0] / 4);
    else
        fill_x((float *)b->data[0], b->bytes[0] / 4, s->wild);
    for (uint32_t i = 0; i < s->n_weights; i++) {
        uint32_t w_ne[4] = {s->k, s->n[i], s->outer ? s->outer : 1, 1}, b_ne[4] = {s->n[i], 1, 1, 1};
        uint32_t y_ne[4] = {s->n[i], x_ne[1], x_ne[2], x_ne[3]};
        uint64_t row = npu_format_row_bytes(f, s->k);
        uint64_t stride = row + (uint64_t)s->pad * f->block_bytes;
        uint16_t w = b->op.src[1 + i] = add(b, s->type, w_ne, stride, f->block_bytes, 0);
        if (s->extreme)
            fill_extreme(f, b->data[w], b->bytes[w] / f->block_bytes);
        else
            fill_weights(f, b->data[w], b->bytes[w] / f->block_bytes, s->wild);
        if (s->biases) {
            b->op.src[5 + i] = add(b, NPU_TYPE_F32, b_ne, s->n[i] * 4ull, 4, 0);
            fill_x((float *)b->data[b->op.src[5 + i]], s->n[i], 0);
        }
        b->op.dst[i] = add(b, NPU_TYPE_F32, y_ne, (s->n[i] + s->pad) * 4ull, 4, GUARD);
    }
}

typedef struct job {
    const bed *b;
    const npu_host_variant *variant;
    npu_mode mode;
    npu_pool *pool;
    uint8_t *scratch;
    uint64_t scratch_bytes;
    const uint8_t *packed[NPU_OP_SRCS];
    atomic_int failures;
} job;

static npu_host_operand operand(const bed *b, uint16_t i) {
    if (i == NPU_NO_TENSOR) return (npu_host_operand){.data = NULL};
    return (npu_host_operand){b->tensors[i], b->data[i] + b->tensors[i].offset};
}

static void run_one(void *context, unsigned ith, unsigned nth) {
    job *j = context;
    npu_host_call call = {.op = &j->b->op, .mode = j->mode, .ith = ith, .nth = nth, .pool = j->pool};
    call.scratch = j->scratch;
    call.scratch_bytes = j->scratch_bytes;
    call.packed = j->packed;
    for (int i = 0; i < NPU_OP_SRCS; i++) call.src[i] = operand(j->b, j->b->op.src[i]);
    for (int i = 0; i < NPU_OP_DSTS; i++) call.dst[i] = operand(j->b, j->b->op.dst[i]);
    npu_error err;
    if (j->variant->run(&call, &err) != NPU_OK) j->failures++;
}

/* A row of a copy is what it was. */
static void check_rows(const npu_host_packing *p, const npu_host_operand *w, const uint8_t *copy) {
    uint64_t bytes = npu_format_row_bytes(npu_format_of(w->t.type), w->t.ne[0]), n = optest_random() % w->t.ne[1];
    uint8_t *row = optest_memory(bytes, OPTEST_POISON);
    p->row(&w->t, copy, n, row);
    optest_check(memcmp(row, w->data + n * w->t.nb[1], bytes) == 0, "%s: row %llu of %u comes back changed",
                 npu_format_name(w->t.type), (unsigned long long)n, w->t.ne[1]);
    free(row);
}

/* The weights of |j| as the variant packs them, in two goes and in memory that ends with them. */
static void pack(const bed *b, job *j, uint8_t **copies) {
    const npu_host_packing *p = j->variant->packing;
    for (int i = 0; i < MAX_WEIGHTS; i++) {
        copies[i] = NULL;
        if (!p || b->op.src[1 + i] == NPU_NO_TENSOR) continue;
        npu_host_operand w = operand(b, b->op.src[1 + i]);
        uint64_t bytes = p->bytes(&w.t, j->mode), parts = p->parts(&w.t);
        if (!bytes) continue;
        copies[i] = optest_memory(bytes, OPTEST_POISON);
        p->pack(&w.t, w.data, parts / 2, parts, copies[i]);
        p->pack(&w.t, w.data, 0, parts / 2, copies[i]);
        check_rows(p, &w, copies[i]);
        j->packed[1 + i] = copies[i];
    }
}

static void run(const bed *b, const npu_host_variant *variant, npu_mode mode, npu_pool *pool, int packed) {
    job j = {.b = b, .variant = variant, .mode = mode, .pool = pool};
    uint8_t *copies[MAX_WEIGHTS] = {NULL};
    if (packed) pack(b, &j, copies);
    j.scratch_bytes = variant->scratch(&b->op, b->tensors, mode, npu_pool_threads(pool));
    j.scratch = optest_guarded(j.scratch_bytes, OPTEST_POISON);
    npu_pool_run(pool, run_one, &j);
    optest_check(!j.failures, "%s failed", variant->name);
    optest_check(optest_guards_hold(j.scratch, j.scratch_bytes), "%s wrote outside of its scratch", variant->name);
    optest_free(j.scratch);
    for (int i = 0; i < MAX_WEIGHTS; i++) free(copies[i]);
}

static int is_nan(uint32_t bits) {
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

/* All bytes of the results, guards included. */
static void compare(const bed *b, uint8_t *const *want, const shape *s, const char *name, unsigned threads) {
    for (uint32_t i = 0; i < s->n_weights; i++) {
        uint16_t y = b->op.dst[i];
        const uint32_t *got = (const uint32_t *)b->data[y], *ref = (const uint32_t *)want[i];
        for (uint64_t e = 0; e < b->bytes[y] / 4; e++) {
            if (got[e] == ref[e] || (is_nan(got[e]) && is_nan(ref[e]))) continue;
            optest_check(false,
                         "%s %s mode %d k %u m %u outer %u n[%u] %u wild %d threads %u: word %lld is %08x, not %08x",
                         name, npu_format_name(s->type), (int)s->mode, s->k, s->m, s->outer, i, s->n[i], s->wild,
                         threads, (long long)e - GUARD / 4, got[e], ref[e]);
            return;
        }
    }
    optest_check(true, "%s", name);
}

static void check(const shape *s, npu_pool *const *pools, int n_pools) {
    bed b;
    make(&b, s);
    const npu_host_variant *v = npu_host_variants(NPU_OP_MUL_MAT);
    uint8_t *want[MAX_WEIGHTS];
    run(&b, v, s->mode, pools[0], 0);
    for (uint32_t i = 0; i < s->n_weights; i++) {
        want[i] = b.data[b.op.dst[i]];
        b.data[b.op.dst[i]] = optest_memory(b.bytes[b.op.dst[i]], 0);
    }
    uint32_t here = npu_cpu_features();
    for (v++; v->name; v++) {
        if ((v->features & here) != v->features || (v->takes && !v->takes(&b.op, b.tensors, s->mode))) continue;
        for (int p = 0; p < 2 * n_pools; p++) {
            npu_pool *pool = pools[p / 2];
            for (uint32_t i = 0; i < s->n_weights; i++) memset(b.data[b.op.dst[i]], 0x5A, b.bytes[b.op.dst[i]]);
            run(&b, v, s->mode, pool, p % 2);
            compare(&b, want, s, p % 2 ? "packed" : v->name, npu_pool_threads(pool));
        }
    }
    for (uint32_t i = 0; i < s->n_weights; i++) free(want[i]);
    for (uint32_t i = 0; i < b.n_tensors; i++) free(b.data[i]);
}

static void all(void) {
    static const uint32_t ms[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 65},
                          ns[] = {1, 7, 15, 16, 17, 31, 33, 48, 100, 130};
    static const uint32_t ks[] = {1, 2, 3, 7, 20, 33}; /* blocks of the format, of 32 values at least */
    npu_pool *pools[2];
    npu_error err;
    if (!optest_check(!npu_pool_create(1, &pools[0], &err) && !npu_pool_create(3, &pools[1], &err), "%s", err.text))
        return;
    const npu_format *f;
    for (uint32_t i = 0; (f = npu_format_at(i)); i++) {
        int is_float = (f->flags & NPU_FORMAT_FLOAT) != 0;
        for (uint32_t t = 0; t < 120; t++) {
            shape s = {
                .type = f->type, .m = ms[t % 11], .n_weights = 1 + optest_random() % 4 / 3 * (optest_random() % 4)};
            s.mode = t % 8 == 7 ? NPU_MODE_EXACT : NPU_MODE_DEFAULT;
            uint32_t blocks = ks[optest_random() % (f->block_values == 256 ? 4 : 6)];
            s.k = is_float ? 1 + optest_random() % 200 : blocks * f->block_values;
            if (is_float && t % 24 == 11) s.k += 3072; /* more than a chunk of a row, on all machines */
            for (uint32_t w = 0; w < s.n_weights; w++) s.n[w] = ns[optest_random() % 10];
            s.biases = optest_random() % 2;
            s.wild = t % 3 == 2;
            s.extreme = t % 3 == 1;
            s.pad = optest_random() % 2 * 3;
            if (is_float && t % 4 == 3) s.outer = 1 + optest_random() % 2;
            check(&s, pools, 2);
        }
    }
    npu_pool_destroy(pools[0]);
    npu_pool_destroy(pools[1]);
}

int main(int argc, char **argv) {
    return optest_run(argc, argv, all);
}
