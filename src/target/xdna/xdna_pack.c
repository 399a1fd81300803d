/* See xdna_pack.h. */
#include "target/xdna/xdna_pack.h"

#include <string.h>

void npu_xdna_pack_row(const npu_xdna_layout *l, uint32_t m, const int8_t *codes, int8_t *a) {
    if (!l->tiled) {
        memcpy(a + (uint64_t)m * l->k, codes, l->k);
        return;
    }
    int8_t *to = a + npu_xdna_a_at(l, m, 0);
    for (uint32_t k = 0; k < l->k; k += l->s, to += l->r * l->s) memcpy(to, codes + k, l->s);
}

uint32_t npu_xdna_pack_group(const npu_xdna_layout *l) {
    return l->tiled ? l->t : l->n % 16 ? 1 : 16;
}

/* One micro-tile of |s| values of |t| columns, which lie |k| codes apart. */
static void turn(const int8_t *codes, uint32_t k, uint32_t s, uint32_t t, int8_t *to, uint64_t stride) {
    for (uint32_t i = 0; i < s; i++)
        for (uint32_t j = 0; j < t; j++) to[i * stride + j] = codes[(uint64_t)j * k + i];
}

void npu_xdna_pack_columns(const npu_xdna_layout *l, uint32_t n, const int8_t *codes, int8_t *b) {
    if (!l->tiled) {
        turn(codes, l->k, l->k, npu_xdna_pack_group(l), b + n, l->n);
        return;
    }
    for (uint32_t k = 0; k < l->k; k += l->kt) {
        int8_t *to = b + npu_xdna_b_at(l, k, n);
        for (uint32_t i = 0; i < l->kt; i += l->s, to += (uint64_t)l->s * l->nt)
            turn(codes + k + i, l->k, l->s, l->t, to, l->t);
    }
}

void npu_xdna_unpack_row(const npu_xdna_layout *l, uint32_t m, uint32_t count, const int32_t *c, int32_t *sums) {
    if (!l->tiled) {
        memcpy(sums, c + (uint64_t)m * l->n, count * sizeof *sums);
        return;
    }
    const int32_t *from = c + npu_xdna_c_at(l, m, 0);
    for (uint32_t n = 0; n < count; n += l->t, from += l->r * l->t)
        memcpy(sums + n, from, (count - n < l->t ? count - n : l->t) * sizeof *sums);
}
