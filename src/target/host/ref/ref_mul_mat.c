/* MUL_MAT (numerics.md §4, §5).
 *
 * x F32 [K,M…] dense rows; up to four weights [K,Ni] of any type; results F32 [Ni,M…]. Weight row blocks need no
 * alignment. In default mode with integer weights, the activations of all rows are quantised first, by all threads
 * into shared scratch; then the threads share the weight rows. A batched weight serves ne2(x)/ne2(w) neighbours of x.
 */
#include "quant/quant.h"
#include "target/host/ref/ref.h"
#include "wire/format.h"

enum { TILE = 32 }; /* rows of x that share one unpacking of a weight row */

static int is_integer(uint32_t type, npu_mode mode) {
    return mode != NPU_MODE_EXACT && !(npu_format_of(type)->flags & NPU_FORMAT_FLOAT);
}

/* One weight and what belongs to it. */
typedef struct product {
    const npu_host_operand *w, *y;
    const float *bias;
} product;

static int product_of(const npu_host_call *call, int i, product *p) {
    *p = (product){&call->src[1 + i], &call->dst[i], (const float *)call->src[5 + i].data};
    return p->w->data != NULL;
}

/* Activations: |rows| times K/32 blocks. Float rows: one row of K floats a thread. */
uint64_t npu_host_mul_mat_scratch_ref(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    const npu_tensor *x = &tensors[op->src[0]];
    uint64_t acts = 0, floats = nth * npu_host_round(x->ne[0] * sizeof(float));
    for (int i = 1; i <= 4; i++) {
        if (op->src[i] != NPU_NO_TENSOR && is_integer(tensors[op->src[i]].type, mode)) {
            acts = npu_host_round(npu_tensor_rows(x) * (x->ne[0] / 32) * sizeof(npu_ref_act));
        }
    }
    return acts + floats;
}

static void quantise(const npu_host_call *call, npu_ref_act *acts) {
    const npu_host_operand *x = &call->src[0];
    uint32_t blocks = x->t.ne[0] / 32;
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&x->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *in = (const float *)npu_host_row(x, row);
        for (uint32_t b = 0; b < blocks; b++) npu_ref_quantise_act(in + b * 32, &acts[row * blocks + b]);
    }
}

static float step(const npu_format *f, const npu_block *w, const npu_ref_act *a, float acc) {
    int32_t low = 0, high = 0, split = f->group_values == 16;
    for (int i = 0; i < 16; i++) low += w->q[i] * a->q[i];
    for (int i = 16; i < 32; i++) high += w->q[i] * a->q[i];
    float scale = split ? w->d : w->d * (float)w->sub[0];
    float p = scale * a->d;
    acc = npu_fmaf(p, (float)(split ? w->sub[0] * low + w->sub[1] * high : low + high), acc);
    if (!(f->flags & NPU_FORMAT_MIN)) return acc;
    if (split) return npu_fmaf(w->m * a->d, (float)(w->min[0] * a->b0 + w->min[1] * a->b1), acc);
    return npu_fmaf(w->m * (float)w->min[0], a->s, acc);
}

static void integer_row(const product *p, uint64_t n, const npu_ref_act *acts, uint32_t blocks) {
    const uint8_t *row = npu_host_at(p->w, n, 0, 0);
    const npu_format *format = npu_format_of(p->w->t.type);
    npu_block_fn *block_of = npu_quant_of(p->w->t.type)->block;
    uint64_t rows = npu_tensor_rows(&p->y->t);
    for (uint64_t first = 0; first < rows; first += TILE) {
        uint64_t count = rows - first < TILE ? rows - first : TILE;
        float acc[TILE] = {0};
        for (uint32_t b = 0; b < blocks; b++) {
            npu_block block;
            block_of(row, b, &block);
            for (uint64_t m = 0; m < count; m++) acc[m] = step(format, &block, &acts[(first + m) * blocks + b], acc[m]);
        }
        for (uint64_t m = 0; m < count; m++) {
            ((float *)npu_host_row(p->y, first + m))[n] = p->bias ? acc[m] + p->bias[n] : acc[m];
        }
    }
}

/* Row n of every outer matrix of the weight, against the rows of x that it serves. */
static void float_row(const product *p, uint64_t n, const npu_host_operand *x, float *floats) {
    const npu_tensor *w = &p->w->t;
    uint64_t per2 = x->t.ne[2] / w->ne[2], per3 = x->t.ne[3] / w->ne[3];
    for (uint64_t outer = 0; outer < (uint64_t)w->ne[2] * w->ne[3]; outer++) {
        uint64_t w2 = outer % w->ne[2], w3 = outer / w->ne[2];
        npu_quant_of(w->type)->dequant(npu_host_at(p->w, n, w2, w3), floats, w->ne[0]);
        for (uint64_t served = 0; served < per2 * per3; served++) {
            uint64_t i2 = w2 * per2 + served % per2, i3 = w3 * per3 + served / per2;
            for (uint32_t m = 0; m < x->t.ne[1]; m++) {
                float y = npu_ref_dot32(floats, (const float *)npu_host_at(x, m, i2, i3), w->ne[0]);
                ((float *)npu_host_at(p->y, m, i2, i3))[n] = p->bias ? y + p->bias[n] : y;
            }
        }
    }
}

npu_status npu_host_mul_mat_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *x = &call->src[0];
    uint64_t row_bytes = npu_host_round(x->t.ne[0] * sizeof(float));
    float *floats = (float *)(call->scratch + call->ith * row_bytes);
    npu_ref_act *acts = (npu_ref_act *)(call->scratch + call->nth * row_bytes);
    product p;
    int integers = 0;
    for (int i = 0; i < 4; i++) integers |= product_of(call, i, &p) && is_integer(p.w->t.type, call->mode);
    if (integers) {
        quantise(call, acts);
        npu_pool_barrier(call->pool);
    }
    for (int i = 0; i < 4; i++) {
        if (!product_of(call, i, &p)) continue;
        uint64_t from, to;
        npu_host_split(call, p.w->t.ne[1], &from, &to);
        for (uint64_t n = from; n < to; n++) {
            if (is_integer(p.w->t.type, call->mode)) {
                integer_row(&p, n, acts, x->t.ne[0] / 32);
            } else {
                float_row(&p, n, x, floats);
            }
        }
    }
    return NPU_OK;
}
