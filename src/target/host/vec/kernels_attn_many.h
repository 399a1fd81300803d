/* FLASH_ATTN on vectors: a step of keys and their values for many query rows. A template as kernels_map.h; part
 * of kernels_attn_block.h. Lanes are query rows: queries are turned once a tile ([TILE / GROUP_ROWS][D][GROUP_ROWS]),
 * keys are only converted, and maxima, weights and sums of all rows go side by side without a step across lanes.
 */
_Static_assert(BLOCK % MANY_KEYS == 0, "groups of keys make a block");

enum { QUARTER = BLOCK / 4 * GROUP_ROWS }; /* of what a group of rows has in p */

/* What is multiplied: floats, or words of two BF16 each (fast mode, vec_avx512bf16.h), half as many. put_weights()
 * leaves the weights of four keys, a quarter of a block apart, where the first of them has its place. */
#ifdef VEC_PAIRS
NPU_INLINE uint32_t many_length(uint32_t n) {
    return vec_pairs(n);
}
NPU_INLINE void many_words(float *row, uint32_t n) {
    vec_to_pairs(row, n);
}
NPU_INLINE vf many_fma(vf a, vf b, vf sum) {
    return vf_fma_pairs(a, b, sum);
}
NPU_INLINE void put_weights(float *p, const vf *s) {
    vf_store(p, vf_pair(s[0], s[1]));
    vf_store(p + QUARTER, vf_pair(s[2], s[3]));
}
#else
NPU_INLINE uint32_t many_length(uint32_t n) {
    return n;
}
NPU_INLINE void many_words(float *row, uint32_t n) {
    (void)row, (void)n;
}
NPU_INLINE vf many_fma(vf a, vf b, vf sum) {
    return vf_fma(a, b, sum);
}
NPU_INLINE void put_weights(float *p, const vf *s) {
    for (int i = 0; i < 4; i++) vf_store(p + i * QUARTER, s[i]);
}
#endif

/* Weights of a row: [TILE / GROUP_ROWS][STEP][GROUP_ROWS]. */
static inline float *many_p(const attn_tile *t, uint32_t row) {
    return t->p + row / GROUP_ROWS * (GROUP_ROWS * STEP) + row % GROUP_ROWS;
}

/* Queries of the tile, turned; rows that fill the last vector are zeros. */
static void turn_queries(attn_tile *t) {
    uint32_t stride = attn_round(t->d);
    for (uint32_t row = 0; row < (t->n_rows + VW - 1) / VW * VW; row += VTILE) {
        for (uint32_t r = 0; r < VTILE; r++) {
            float *to = t->turned + r * stride;
            if (row + r < t->n_rows)
                memcpy(to, t->rows[row + r].q, t->d * sizeof(float));
            else
                memset(to, 0, t->d * sizeof(float));
            many_words(to, t->d);
        }
        float *group = t->queries + (size_t)(row / GROUP_ROWS) * GROUP_ROWS * stride + row % GROUP_ROWS;
        for (uint32_t i = 0; i < many_length(t->d); i += VTILE)
            vf_transpose(t->turned + i, stride, group + (size_t)i * GROUP_ROWS, GROUP_ROWS);
    }
}

/* Sums of products, scaled, of |vectors| vectors of rows from |row| with MANY_KEYS keys from |j|: to p[j][row], and the
 * largest onto t->top. |vectors| is a constant where it is called. */
NPU_INLINE void dot_keys(attn_tile *t, uint32_t row, uint32_t j, int vectors) {
    vf s[MANY_KEYS][ROW_VECTORS], scale = vf_set(t->call->op->params.attn.scale);
    const size_t stride = attn_round(t->d), length = many_length(t->d);
    const float *q = t->queries + row * stride, *k[MANY_KEYS];
    float *p = many_p(t, row) + (size_t)j * GROUP_ROWS;
    for (int c = 0; c < MANY_KEYS; c++) k[c] = t->keys + (j + (size_t)c) * stride;
    for (int c = 0; c < MANY_KEYS; c++)
        for (int v = 0; v < vectors; v++) s[c][v] = vf_set(0.0f);
    for (size_t i = 0; i < length; i++, q += GROUP_ROWS) {
        vf x[ROW_VECTORS];
        for (int v = 0; v < vectors; v++) x[v] = vf_load(q + v * VW);
        for (int c = 0; c < MANY_KEYS; c++) {
            vf key = vf_set(k[c][i]);
            for (int v = 0; v < vectors; v++) s[c][v] = many_fma(x[v], key, s[c][v]);
        }
    }
    for (int v = 0; v < vectors; v++) {
        vf top = vf_load(t->top + row + v * VW);
        for (int c = 0; c < MANY_KEYS; c++) {
            s[c][v] = vf_mul(s[c][v], scale);
            top = vf_max(s[c][v], top);
            vf_store(p + (size_t)c * GROUP_ROWS + v * VW, s[c][v]);
        }
        vf_store(t->top + row + v * VW, top);
    }
}

_Static_assert(ROW_VECTORS <= 3, "dot_many takes apart what is less than ROW_VECTORS by hand");

/* The same with the keys of a block, the |b|-th of the step, up to its |last| or somewhat beyond. */
static void dot_many(attn_tile *t, uint32_t row, uint32_t b, uint32_t last) {
    uint32_t vectors = (t->n_rows - row + VW - 1) / VW;
    for (int v = 0; v < ROW_VECTORS; v++) vf_store(t->top + row + v * VW, vf_set(-NPU_F32_INF));
    for (uint32_t j = b * BLOCK; j < b * BLOCK + last; j += MANY_KEYS) {
        switch (vectors) {
        case 1:
            dot_keys(t, row, j, 1);
            break;
        case 2:
            dot_keys(t, row, j, ROW_VECTORS < 2 ? 1 : 2);
            break;
        default:
            dot_keys(t, row, j, ROW_VECTORS);
            break;
        }
    }
}

/* Scores |p| of one vector of rows with what is left: softcap, and -Inf where a row does not see the key. The largest
 * is returned, NaN when one is. */
static vf score_many(const attn_tile *t, float *p, uint32_t row, uint32_t block) {
    vf top = vf_set(-NPU_F32_INF), cap = vf_set(t->call->op->params.attn.softcap);
    float first[VW] = {0}, last[VW] = {0}; /* nothing is visible to lanes without a row */
    vm nan = vm_first(0);
    for (uint32_t r = 0; r < VW && row + r < t->n_rows; r++) {
        uint32_t from, to;
        visible(&t->rows[row + r], block, BLOCK, &from, &to);
        first[r] = from < BLOCK ? (float)from : BLOCK;
        last[r] = (float)to;
    }
    vf lo = vf_load(first), n = vf_load(last);
    for (uint32_t j = 0; j < BLOCK; j++, p += GROUP_ROWS) {
        vf s = vf_load(p), place = vf_set((float)j);
        if (t->call->op->params.attn.softcap != 0) s = vf_mul(cap, vf_tanh(vf_div(s, cap)));
        s = vf_select(vm_and_not(vf_lt(place, n), vf_lt(place, lo)), s, vf_set(-NPU_F32_INF));
        nan = vm_or(nan, vf_nan(s));
        top = vf_select(vf_gt(s, top), s, top);
        vf_store(p, s);
    }
    return vf_select(nan, vf_set(NPU_F32_NAN), top);
}

/* Scores of one vector of rows with the |b|-th block of a step become p; their m, l and keep move on. With |all_seen|
 * all rows see all keys, and t->top need not know of a NaN: the p of one is NaN, and so is l from then on. Where there
 * is nothing but -Inf and NaN l stays as it was, so that one must be found. */
static void weigh_many(attn_tile *t, uint32_t row, uint32_t block, uint32_t b, bool all_seen) {
    vf none = vf_set(-NPU_F32_INF), m = vf_load(t->m + row), lane[BLOCK / 4];
    vf m_new = vf_max_nan(m, vf_load(t->top + row));
    float *p = many_p(t, row) + (size_t)b * BLOCK * GROUP_ROWS;
    if (!all_seen || vm_any(vf_eq(m_new, none))) m_new = vf_max_nan(m, score_many(t, p, row, block));
    for (uint32_t j = 0; j < BLOCK / 4; j++, p += GROUP_ROWS) {
        vf s[4];
        for (int i = 0; i < 4; i++) s[i] = vf_sub(vf_load(p + i * QUARTER), m_new);
        vf_exp_below_all(s, 4);
        put_weights(p, s);
        lane[j] = vf_add(vf_add(s[0], s[2]), vf_add(s[1], s[3]));
    }
    for (uint32_t h = BLOCK / 8; h; h /= 2)
        for (uint32_t j = 0; j < h; j++) lane[j] = vf_add(lane[j], lane[j + h]);
    vm empty = vf_eq(m_new, none);
    vf keep = vf_exp_below(vf_sub(m, m_new));
    vf_store(t->l + row, vf_select(empty, vf_load(t->l + row), vf_fma(vf_load(t->l + row), keep, lane[0])));
    vf_store(t->keep + b * TILE + row, vf_select(empty, vf_set(-1.0f), keep));
    vf_store(t->m + row, m_new);
    if (vm_any(empty)) t->skips = true;
}

/* Whether all rows of the tile see all keys from |key| on, |count| of them. */
static inline bool all_see(const attn_tile *t, uint32_t key, uint32_t count) {
    return key >= t->all_from && key + count <= t->all_to;
}

/* The last key of a block that any of the GROUP_ROWS rows from |row| sees, and one more; 0 when there is none. */
static uint32_t last_seen(const attn_tile *t, uint32_t row, uint32_t block) {
    uint32_t last = 0;
    for (uint32_t r = row; r < row + GROUP_ROWS && r < t->n_rows; r++) {
        uint32_t from, to;
        visible(&t->rows[r], block, BLOCK, &from, &to);
        if (from < to && to > last) last = to;
    }
    return last;
}

/* |n| keys or values from |key| on are asked for, where there are as many: evenly between other work, because more at a
 * time than a core can wait for would hold up its own loads. */
static inline void ask_for_rows(const attn_tile *t, int src, uint32_t key, uint32_t n, uint32_t end) {
    for (uint32_t i = key; i < key + n; i++) ask_for_row(t, src, i, end);
}

/* The weights of the step of |count| keys from |key| on. What is in the places behind them is of another step and not
 * seen. */
static void weigh_all(attn_tile *t, uint32_t key, uint32_t count) {
    const npu_host_operand *k = &t->call->src[1];
    uint32_t stride = attn_round(t->d), each = STEP / ((t->n_rows + GROUP_ROWS - 1) / GROUP_ROWS) + 1;
    bool capped = t->call->op->params.attn.softcap != 0;
    t->skips = false;
    for (uint32_t j = 0; j < count; j++) {
        to_floats(k->t.type, npu_host_at(k, t->kv_head, t->first + key + j, 0), t->keys + j * stride, t->d);
        many_words(t->keys + j * stride, t->d);
    }
    for (uint32_t row = 0; row < t->n_rows; row += GROUP_ROWS) {
        ask_for_rows(t, 2, key + row / GROUP_ROWS * each, each, key + count);
        for (uint32_t b = 0, block = key; block < key + count; b++, block += BLOCK) {
            bool all_seen = all_see(t, block, BLOCK);
            uint32_t last = all_seen ? BLOCK : last_seen(t, row, block);
            if (!last) {
                for (int v = 0; v < ROW_VECTORS; v++) vf_store(t->keep + b * TILE + row + v * VW, vf_set(-1.0f));
                continue;
            }
            dot_many(t, row, b, last);
            for (uint32_t r = row; r < row + GROUP_ROWS && r < t->n_rows; r += VW)
                weigh_many(t, r, block, b, all_seen && !capped);
        }
    }
}

#ifdef VEC_PAIRS
#include "target/host/vec/kernels_attn_pairs.h"
#else
#include "target/host/vec/kernels_attn_values.h"
#endif
