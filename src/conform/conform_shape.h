/* What generators are made of: random numbers, shapes, layouts, operands with a buffer of their own. Private to this
 * folder. */
#ifndef NPU_CONFORM_SHAPE_H
#define NPU_CONFORM_SHAPE_H

#include "conform/conform_case.h"

bool npu_case_one_in(npu_case *c, uint32_t n);
uint32_t npu_case_pick(npu_case *c, const uint16_t *list, uint32_t n);
#define NPU_CASE_PICK(c, list) npu_case_pick(c, list, sizeof(list) / sizeof((list)[0]))

/* A width for values of |type|: whole blocks. A count of rows. 1 to 4, mostly 1. */
uint32_t npu_case_width(npu_case *c, uint32_t type);
uint32_t npu_case_row_count(npu_case *c);
uint32_t npu_case_few(npu_case *c);

/* How an operand may lie: dense, with dimension 0 dense, or any way. */
enum { LAYOUT_ROWS = 1, LAYOUT_ANY = 2 };

/* Appends a tensor with a buffer of its own; |rows_dim| is the dimension that counts the step's rows, 0 = none. */
uint16_t npu_case_tensor(npu_case *c, uint32_t type, const uint32_t ne[4], uint32_t rows_dim, int freedom,
                         npu_case_fill fill);
uint16_t npu_case_vector(npu_case *c, uint32_t type, uint32_t n, npu_case_fill fill);
uint16_t npu_case_row_vector(npu_case *c, uint32_t n, uint32_t limit, npu_case_fill fill); /* I32 [M] of the step */
uint16_t npu_case_weight(npu_case *c, uint16_t index);                                     /* marks it; returns it */

/* A random shape; its last dimension above 1 counts the step's rows when |*rows_dim| is not 0. */
void npu_case_shape(npu_case *c, uint32_t type, uint32_t ne[4], uint32_t *rows_dim);

/* A divisor of |n|. */
uint32_t npu_case_divisor(npu_case *c, uint32_t n);

/* Generators in files of their own; the others and the table are in conform_gen.c. */
void npu_gen_get_rows(npu_case *c); /* conform_gen_move.c */
void npu_gen_set_rows(npu_case *c);
void npu_gen_cpy(npu_case *c);
void npu_gen_concat(npu_case *c);
void npu_gen_repeat(npu_case *c);
void npu_gen_mul_mat(npu_case *c); /* conform_gen_mul_mat.c */
void npu_gen_attn(npu_case *c);    /* conform_gen_attn.c */

#endif
