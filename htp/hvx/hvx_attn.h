/* The arithmetic of attention on a block of 32 keys (docs/numerics.md, section 7), for up to four queries of one KV
 * head at once, so that every vector of keys and values that is loaded serves all of them. No result depends on which
 * queries go together. */
#ifndef HTP_HVX_ATTN_H
#define HTP_HVX_ATTN_H

#include <stdint.h>

#include <hexagon_types.h>

enum { HTP_ATTN_QUERIES = 4, HTP_ATTN_KEYS = 32 };

typedef struct htp_attn_state {
    float m, l; /* of the keys so far: largest score, sum of exponentials */
} htp_attn_state;

/* 32 rows of |d| values of GGUF type |type|, |stride| bytes apart, to vectors of one value of the 32 keys. Rows are
 * 128-byte aligned and readable to the end of their last vector, F32 ones and Q8_0 ones 127 bytes further. |keys| has
 * d rounded up to 32 vectors, those from d on mean nothing; |rows|, as many, is overwritten. */
void htp_attn_keys(uint32_t type, const uint8_t *raw, uint32_t stride, uint32_t d, HVX_Vector *rows, HVX_Vector *keys);

/* scores[r] = the sum over i < |d|, ascending, of q[r][i] * keys[i]. The vectors of |q| are aligned to 4 bytes. */
void htp_attn_dot(uint32_t queries, const float *const q[], const HVX_Vector *keys, uint32_t d, HVX_Vector *scores);

/* Keys |first| .. |end| - 1, at least one, are visible: scores become p[r], +0 for other keys, the states go on, and
 * c[r] is what the sums so far are worth. A query whose m is -Inf after that has seen nothing: its state is unchanged,
 * p[r] and c[r] mean nothing. */
void htp_attn_softmax(uint32_t queries, const HVX_Vector *scores, uint32_t first, uint32_t end,
                      htp_attn_state *const state[], HVX_Vector *p, float *c);

/* sums[r][i] = sums[r][i] * c[r], then p[r][j] * values[j * width + i] added, j = first .. end - 1, for i < |width|.
 * |p| lies where scalars are loaded from. */
void htp_attn_add(uint32_t queries, const float *const p[], const float *c, uint32_t first, uint32_t end,
                  const HVX_Vector *values, uint32_t width, HVX_Vector *const sums[]);

#endif
