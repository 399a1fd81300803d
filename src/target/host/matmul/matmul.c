/* The driver of the fast MUL_MAT variants: quantises the activations once for all weights of the op, then hands out
 * pieces of the weights to the threads. Knows no instruction set and no format; kernels come in a table (matmul.h).
 *
 * Pieces are taken from a shared counter, because a thread may be held up; which thread computes a piece doesn't enter
 * the result. Each thread takes its next piece before it works on the last one, so that the kernel can prefetch it.
 */
#include "target/host/matmul/matmul.h"

#include <stdatomic.h>
#include <string.h>

#include "quant/quant.h"
#include "target/host/host_rows.h"
#include "wire/format.h"

enum {
    WEIGHTS = 4,
    FLOAT_ROWS = 16,         /* weight rows that are widened at a time */
    AHEAD_ROWS = 4,          /* of what is widened: how far is read ahead */
    PIECE_BYTES = 96 * 1024, /* small enough to share evenly, large against the cost of taking one */
    PIECES_PER_THREAD = 4,
    ONE_ROW_TIMES = 2, /* larger with one activation row: with each piece the machine's reading ahead starts anew */
};

/* One weight and how its rows are cut: |per_matrix| pieces of |piece_rows| for each of its |outer| matrices. */
typedef struct part {
    const npu_host_operand *w, *y;
    const float *bias;
    uint32_t piece_rows;
    uint64_t per_matrix, outer;
    int integer, source;
} part;

/* What the weights of an op are multiplied as. */
typedef struct uses {
    int integers, floats;
} uses;

typedef struct work {
    const npu_host_call *call;
    const npu_mm_kernels *kernels;
    const npu_mm_many *many; /* NULL = too few rows for it */
    uint64_t rows;           /* of x */
    uint32_t blocks;
    part parts[WEIGHTS];
    uint32_t n_parts;
    uint64_t n_pieces;
    uses uses;
    /* in scratch */
    atomic_ullong *next;
    npu_mm_act *acts;
    float *slices; /* x, when floats are multiplied with several rows */
    const float **x;
    float **y[WEIGHTS];
    uint8_t *own;
} work;

static int is_integer(uint32_t type, npu_mode mode) {
    return mode != NPU_MODE_EXACT && !(npu_format_of(type)->flags & NPU_FORMAT_FLOAT);
}

/* Bytes of the shared parts of scratch, in the order of place(), and of one thread's. */
typedef struct sizes {
    uint64_t acts, slices, pointers, own;
} sizes;

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void use(uses *u, uint32_t type, npu_mode mode) {
    *(is_integer(type, mode) ? &u->integers : &u->floats) = 1;
}

static sizes sizes_of(uint64_t rows, uint32_t k, uses u) {
    return (sizes){
        .acts = u.integers ? npu_host_round(rows * (k / 32) * sizeof(npu_mm_act)) : 0,
        .slices = u.floats && rows > 1 ? npu_host_round(rows * (k / 32 * 32) * sizeof(float)) : 0,
        .pointers = npu_host_round(rows * sizeof(float *)),
        /* A panel and rows of at most 34 bytes a block; or a row of floats, and what |floats| has of FLOAT_ROWS. */
        .own = npu_host_round(most(NPU_MM_PANEL_BYTES + NPU_MM_STRIP * (uint64_t)(k / 32 + 1) * 34,
                                   u.floats ? ((1 + FLOAT_ROWS) * (uint64_t)k + FLOAT_ROWS * 32) * sizeof(float) : 0)),
    };
}

uint64_t npu_host_mul_mat_scratch(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    const npu_tensor *x = &tensors[op->src[0]];
    uses u = {0};
    for (int i = 1; i <= WEIGHTS; i++)
        if (op->src[i] != NPU_NO_TENSOR) use(&u, tensors[op->src[i]].type, mode);
    sizes s = sizes_of(npu_tensor_rows(x), x->ne[0], u);
    return npu_host_round(sizeof(atomic_ullong)) + s.acts + s.slices + (1 + WEIGHTS) * s.pointers + nth * s.own;
}

static void place(work *w) {
    const npu_host_call *call = w->call;
    sizes s = sizes_of(w->rows, call->src[0].t.ne[0], w->uses);
    uint8_t *p = call->scratch;
    w->next = (atomic_ullong *)p;
    p += npu_host_round(sizeof(atomic_ullong));
    w->acts = (npu_mm_act *)p;
    p += s.acts;
    w->slices = (float *)p;
    p += s.slices;
    w->x = (const float **)p;
    for (int i = 0; i < WEIGHTS; i++) w->y[i] = (float **)(p + (1 + (uint64_t)i) * s.pointers);
    w->own = p + (1 + WEIGHTS) * s.pointers + call->ith * s.own;
}

static void cut(work *w, const npu_host_call *call, int i) {
    const npu_host_operand *weight = &call->src[1 + i];
    uint64_t n = weight->t.ne[1], row_bytes = weight->t.nb[1] ? weight->t.nb[1] : 1;
    const uint64_t times = w->rows == 1 ? ONE_ROW_TIMES : 1, most_rows = times * PIECE_BYTES / row_bytes;
    uint64_t rows = call->nth == 1 ? n : n * times / (call->nth * PIECES_PER_THREAD);
    if (call->nth > 1 && rows > most_rows) rows = most_rows;
    rows = (rows + NPU_MM_STRIP) / NPU_MM_STRIP * NPU_MM_STRIP;
    w->parts[w->n_parts] = (part){weight,
                                  &call->dst[i],
                                  (const float *)call->src[5 + i].data,
                                  (uint32_t)(rows < UINT32_MAX ? rows : UINT32_MAX / NPU_MM_STRIP * NPU_MM_STRIP),
                                  (n + rows - 1) / rows,
                                  (uint64_t)weight->t.ne[2] * weight->t.ne[3],
                                  is_integer(weight->t.type, call->mode),
                                  1 + i};
    use(&w->uses, weight->t.type, call->mode);
    w->n_pieces += w->parts[w->n_parts].per_matrix * w->parts[w->n_parts].outer;
    w->n_parts++;
}

static int pairs_rows(const work *w) {
    return w->kernels->pair && !w->many && w->rows > 1;
}

/* What all threads need before the products: quantised activations, addresses of rows, the counter at 0. */
static void prepare(const work *w) {
    const npu_host_call *call = w->call;
    const npu_host_operand *x = &call->src[0];
    const uint64_t in_slice = w->blocks * 32ull / w->kernels->slices;
    uint64_t from, to;
    npu_host_split(call, w->rows, &from, &to);
    for (uint64_t m = from; m < to; m++) {
        w->x[m] = (const float *)npu_host_row(x, m);
        for (uint32_t i = 0; i < w->n_parts; i++) w->y[i][m] = (float *)npu_host_row(w->parts[i].y, m);
        if (w->uses.floats && w->rows > 1)
            w->kernels->slice_row(w->x[m], x->t.ne[0], w->slices + m * in_slice, w->rows * in_slice);
    }
    if (call->ith == 0) atomic_store_explicit(w->next, 0, memory_order_relaxed);
    if (!w->uses.integers) return;
    void (*convert)(const float *, npu_mm_act *, uint32_t) =
        w->many && w->many->convert ? w->many->convert : w->kernels->quantise;
    const uint64_t together = pairs_rows(w) ? 2 : 1;
    npu_host_split(call, (w->rows + together - 1) / together * w->blocks, &from, &to);
    while (from < to) {
        uint64_t m = from / w->blocks * together, b = from % w->blocks;
        uint64_t count = to - from < w->blocks - b ? to - from : w->blocks - b;
        npu_mm_act *acts = w->acts + m * w->blocks + b;
        for (uint64_t i = m; i < m + together && i < w->rows; i++)
            convert((const float *)npu_host_row(x, i) + b * 32, acts + (i - m) * w->blocks, (uint32_t)count);
        if (together == 2 && m + 1 < w->rows) w->kernels->pair(acts, acts + w->blocks, (uint32_t)count);
        from += count;
    }
}

/* A piece of the numbered ones: rows n0 … n1-1 of matrix |outer| of |part|. */
typedef struct piece {
    const part *part;
    uint32_t index, n0, n1;
    uint64_t outer;
} piece;

static int piece_at(const work *w, uint64_t number, piece *p) {
    for (uint32_t i = 0; i < w->n_parts; i++) {
        const part *t = &w->parts[i];
        uint64_t count = t->per_matrix * t->outer, n = t->w->t.ne[1];
        if (number < count) {
            uint64_t n0 = number % t->per_matrix * t->piece_rows, n1 = n0 + t->piece_rows;
            *p = (piece){t, i, (uint32_t)n0, (uint32_t)(n1 < n ? n1 : n), number / t->per_matrix};
            return 1;
        }
        number -= count;
    }
    return 0;
}

static const uint8_t *address(const piece *p) {
    const npu_tensor *t = &p->part->w->t;
    return npu_host_at(p->part->w, p->n0, p->outer % t->ne[2], p->outer / t->ne[2]);
}

static void integers(const work *w, const piece *p, const uint8_t *after) {
    const npu_tensor *t = &p->part->w->t;
    const npu_mm_format *format = &(w->many ? w->many->formats : w->kernels->formats)[t->type];
    const uint8_t *packed = w->call->packed ? w->call->packed[p->part->source] : NULL;
    npu_mm_task task = {p->part->w->data, packed,         t->nb[1],      w->blocks, (uint32_t)w->rows,
                        w->acts,          w->y[p->index], p->part->bias, after};
    (w->rows == 1 ? format->stream : format->panel)(&task, p->n0, p->n1, w->own);
}

/* A weight row as floats: in place when it is, else widened into |to|. */
static const float *widened(const work *w, const npu_tensor *t, const uint8_t *row, float *to) {
    if (t->type == NPU_TYPE_F32 && t->nb[1] % sizeof(float) == 0) return (const float *)row;
    npu_dequant_fn *fn = t->type == NPU_TYPE_F16    ? w->kernels->widen_f16
                         : t->type == NPU_TYPE_BF16 ? w->kernels->widen_bf16
                                                    : npu_quant_of(t->type)->dequant;
    const uint8_t *ahead = row + AHEAD_ROWS * t->nb[1];
    for (uint64_t at = 0; at < t->nb[1]; at += 64) __builtin_prefetch(ahead + at, 0, 2);
    fn(row, to, t->ne[0]);
    return to;
}

/* A weight row with the only row of x. */
static float dot_one(const work *w, const npu_tensor *t, const uint8_t *row) {
    const npu_mm_kernels *k = w->kernels;
    if (t->type == NPU_TYPE_F16 && k->dot_f16) return k->dot_f16(row, w->x[0], t->ne[0]);
    if (t->type == NPU_TYPE_BF16 && k->dot_bf16) return k->dot_bf16(row, w->x[0], t->ne[0]);
    return k->dot_f32(widened(w, t, row, (float *)w->own), w->x[0], t->ne[0]);
}

static void floats_one(const work *w, const piece *p) {
    const npu_tensor *t = &p->part->w->t;
    const uint8_t *row = address(p);
    for (uint32_t n = p->n0; n < p->n1; n++, row += t->nb[1]) {
        float y = dot_one(w, t, row);
        w->y[p->index][0][n] = p->part->bias ? y + p->part->bias[n] : y;
    }
}

/* A batched weight serves per2 x per3 neighbouring matrices of x. */
static void floats(const work *w, const piece *p) {
    const npu_tensor *t = &p->part->w->t, *x = &w->call->src[0].t;
    uint64_t per2 = x->ne[2] / t->ne[2], per3 = x->ne[3] / t->ne[3];
    uint64_t w2 = p->outer % t->ne[2], w3 = p->outer / t->ne[2];
    const uint64_t full = t->ne[0] / 32 * 32, in_slice = full / w->kernels->slices;
    float *row = (float *)w->own, *rest = row + t->ne[0], *sliced = rest + FLOAT_ROWS * 32;
    const uint8_t *from = address(p);
    for (uint32_t n = p->n0; n < p->n1; n += FLOAT_ROWS) {
        uint32_t count = p->n1 - n < FLOAT_ROWS ? p->n1 - n : FLOAT_ROWS;
        npu_mm_dot d = {.w = sliced, .k = t->ne[0], .n_rows = count, .rows = x->ne[1], .first = n, .w_rest = rest};
        d.bias = p->part->bias;
        d.w_slice = FLOAT_ROWS * in_slice;
        d.x_slice = w->rows * in_slice;
        for (uint32_t i = 0; i < count; i++, from += t->nb[1]) {
            const float *values = widened(w, t, from, row);
            w->kernels->slice_row(values, t->ne[0], sliced + i * in_slice, d.w_slice);
            memcpy(rest + i * 32ull, values + full, (t->ne[0] - full) * sizeof(float));
        }
        for (uint64_t served = 0; served < per2 * per3; served++) {
            uint64_t matrix = (w3 * per3 + served / per2) * x->ne[2] + w2 * per2 + served % per2;
            d.x = w->slices + matrix * x->ne[1] * in_slice;
            d.x_rows = w->x + matrix * x->ne[1];
            d.y = w->y[p->index] + matrix * x->ne[1];
            w->kernels->dot_rows(&d);
        }
    }
}

npu_status npu__mm_run(const npu_host_call *call, const npu_mm_kernels *kernels, npu_error *err) {
    (void)err;
    work w = {.call = call,
              .kernels = kernels,
              .rows = npu_tensor_rows(&call->src[0].t),
              .blocks = call->src[0].t.ne[0] / 32};
    w.many = call->mode == NPU_MODE_FAST && kernels->fast ? kernels->fast : kernels->many;
    if (w.many && w.rows < w.many->rows) w.many = NULL;
    for (int i = 0; i < WEIGHTS; i++)
        if (call->src[1 + i].data) cut(&w, call, i);
    place(&w);
    prepare(&w);
    npu_pool_barrier(call->pool);
    if (!w.rows) return NPU_OK;
    piece now, next;
    int more = piece_at(&w, atomic_fetch_add_explicit(w.next, 1, memory_order_relaxed), &now);
    while (more) {
        more = piece_at(&w, atomic_fetch_add_explicit(w.next, 1, memory_order_relaxed), &next);
        if (now.part->integer) {
            integers(&w, &now, more ? address(&next) : address(&now));
        } else if (w.rows == 1) {
            floats_one(&w, &now);
        } else {
            floats(&w, &now);
        }
        now = next;
    }
    return NPU_OK;
}
