/* ADD, SUB, MUL, DIV. The second operand's rows are as long as the first's, or one value, or repeated. */
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

enum { SAME_ROWS = 1, ONE_VALUE = 2, SHORT_ROWS = 3 };

typedef void loop_fn(const HVX_Vector *a, const HVX_Vector *b, HVX_Vector *y, uint32_t n);

#define BINARY(name, operation)                                                                                \
    HVX_HOT void name(const HVX_Vector *restrict a, const HVX_Vector *restrict b, HVX_Vector *restrict y,      \
                      uint32_t n) {                                                                            \
        HVX_F32_UNROLL for (uint32_t i = 0; i < n; i++) y[i] = operation(a[i], b[i]);                          \
    }                                                                                                          \
    static void name##_one(const HVX_Vector *restrict a, const HVX_Vector *restrict b, HVX_Vector *restrict y, \
                           uint32_t n) {                                                                       \
        HVX_Vector one = hvx_f32_splat(hvx_f32_first(b[0]));                                                   \
        HVX_F32_UNROLL for (uint32_t i = 0; i < n; i++) y[i] = operation(a[i], one);                           \
    }
BINARY(loop_add, hvx_f32_add)
BINARY(loop_sub, hvx_f32_sub)
BINARY(loop_mul, hvx_f32_mul)
BINARY(loop_div, hvx_f32_div)
#undef BINARY

static loop_fn *const loops[][2] = {
    {loop_add, loop_add_one}, {loop_sub, loop_sub_one}, {loop_mul, loop_mul_one}, {loop_div, loop_div_one}};

/* A row of |period| values again and again, by whole vectors in ascending order: what one writes too much the next one
 * writes anew, and the work memory has room behind the last. */
static void repeat(const float *from, uint32_t period, float *to, uint32_t n) {
    for (uint32_t at = 0; at < n; at += period)
        for (uint32_t i = 0; i < period; i += 32) hvx_f32_store(to + at + i, hvx_f32_load(from + i));
}

static void compute(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    const HVX_Vector *b = (const HVX_Vector *)in[1];
    if (r->k->head.kernel == SHORT_ROWS) {
        repeat((const float *)in[1], r->o->src[1].ne[0], (float *)work, u->values);
        b = (const HVX_Vector *)work;
    }
    loops[r->o->op->code - NPU_OP_ADD][r->k->head.kernel == ONE_VALUE]((const HVX_Vector *)in[0], b, (HVX_Vector *)out,
                                                                       htp_unit_vectors(u));
}

void htp_binary(htp_op *o) {
    htp_rows r = htp_rows_f32(o, 2);
    r.compute = compute;
    htp_rows_run(&r);
}
