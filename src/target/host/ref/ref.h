/* The plain references of all ops (docs/numerics.md in C, one file an op family) and what they share.
 *
 * Nothing here is fast on purpose: vector versions are checked against these, so they follow the page line by line.
 */
#ifndef NPU_HOST_REF_H
#define NPU_HOST_REF_H

#include "target/host/host_rows.h"
#include "wire/half.h"
#include "wire/math.h"

npu_host_op_fn npu_host_get_rows_ref, npu_host_set_rows_ref, npu_host_cpy_ref, npu_host_concat_ref, npu_host_repeat_ref;
npu_host_op_fn npu_host_mul_mat_ref, npu_host_norms_ref, npu_host_binary_ref, npu_host_unary_ref, npu_host_glu_ref;
npu_host_op_fn npu_host_add_parts_ref;
npu_host_op_fn npu_host_soft_max_ref, npu_host_rope_table_ref, npu_host_rope_ref, npu_host_flash_attn_ref;
npu_host_op_fn npu_host_sum_rows_ref, npu_host_argsort_ref;

npu_host_scratch_fn npu_host_mul_mat_scratch_ref, npu_host_flash_attn_scratch_ref, npu_host_argsort_scratch_ref;
npu_host_scratch_fn npu_host_get_rows_scratch; /* of all variants */

/* numerics.md §3 */
float npu_ref_sum32(const float *x, uint64_t n);
float npu_ref_dot32(const float *a, const float *b, uint64_t n);
double npu_ref_sum32_f64(const float *x, uint64_t n);
double npu_ref_dot32_f64(const float *a, const float *b, uint64_t n);

/* numerics.md §6 */
float npu_ref_silu(float x);
float npu_ref_gelu(float x);
float npu_ref_gelu_erf(float x);
float npu_ref_gelu_quick(float x);
float npu_ref_softplus(float x);

/* Ids below the table's rows, cells below the state's; the same answer on every thread. */
npu_status npu_host_check_ids(const npu_host_call *call, npu_error *err);
npu_status npu_host_check_cells(const npu_host_call *call, npu_error *err);

/* Spans inside the cache and the mask; the same answer on every thread. */
npu_status npu_host_attn_check_spans(const npu_host_call *call, npu_error *err);

/* One element of a mask, F32 or F16. */
float npu_ref_mask(const npu_host_operand *mask, const uint8_t *row, uint64_t i);

/* Slope of head |h| of |heads|; 1 without ALiBi (numerics.md §7). */
float npu_ref_alibi_slope(float max_bias, uint32_t h, uint32_t heads);

/* A block of 32 activations as integers (numerics.md §5). */
typedef struct npu_ref_act {
    float d, s;
    int32_t b0, b1;
    int8_t q[32];
} npu_ref_act;

void npu_ref_quantise_act(const float *x, npu_ref_act *out);

#endif
