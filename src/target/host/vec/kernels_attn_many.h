/* FLASH_ATTN on vectors: a block of keys and its values for many query rows. A template as kernels_map.h; part
 * of kernels_attn_block.h. Lanes are query rows: queries are turned once a tile ([TILE / GROUP_ROWS][D][GROUP_ROWS]),
 * keys are only converted, and maxima, weights and sums of all rows go side by side without a step across lanes.
 */
_Static_assert((BLOCK + MANY_KEYS - 1) / MANY_KEYS * (MANY_KEYS - 1) <= BLOCK, "groups of dot_many make a block");

/* Weights of a row: [TILE / GROUP_ROWS][BLOCK][GROUP_ROWS]. */
static inline float *many_p(const attn_tile *t, uint32_t row) {
    return t->p + row / GROUP_ROWS * (GROUP_ROWS * BLOCK) + row % GROUP_ROWS;
}

/* Queries of the tile, turned; rows behind the last are zeros. */
static void turn_queries(attn_tile *t) {
    uint32_t stride = attn_round(t->d);
    for (uint32_t row = 0; row < TILE; row += VTILE) {
        for (uint32_t r = 0; r < VTILE; r++) {
            float *to = t->turned + r * stride;
            if (row + r < t->n_rows)
                memcpy(to, t->rows[row + r].q, t->d * sizeof(float));
            else
                memset(to, 0, t->d * sizeof(float));
        }
        float *group = t->queries + (size_t)(row / GROUP_ROWS) * GROUP_ROWS * stride + row % GROUP_ROWS;
        for (uint32_t i = 0; i < t->d; i += VTILE)
            vf_transpose(t->turned + i, stride, group + (size_t)i * GROUP_ROWS, GROUP_ROWS);
    }
}

/* Sums of products, scaled, of ROW_VECTORS vectors of rows from |row| with |count| keys from |j|: to p[j][row], and the
 * largest onto t->top. |count| is a constant where it is called. */
NPU_INLINE void dot_keys(attn_tile *t, uint32_t row, uint32_t j, int count) {
    vf s[MANY_KEYS][ROW_VECTORS], scale = vf_set(t->call->op->params.attn.scale);
    const size_t stride = attn_round(t->d), d = t->d;
    const float *q = t->queries + row * stride, *k[MANY_KEYS];
    float *p = many_p(t, row) + (size_t)j * GROUP_ROWS;
    for (int c = 0; c < count; c++) k[c] = t->keys + (j + (size_t)c) * stride;
    for (int c = 0; c < count; c++)
        for (int v = 0; v < ROW_VECTORS; v++) s[c][v] = vf_set(0.0f);
    for (size_t i = 0; i < d; i++, q += GROUP_ROWS) {
        vf x[ROW_VECTORS];
        for (int v = 0; v < ROW_VECTORS; v++) x[v] = vf_load(q + v * VW);
        for (int c = 0; c < count; c++) {
            vf key = vf_set(k[c][i]);
            for (int v = 0; v < ROW_VECTORS; v++) s[c][v] = vf_fma(x[v], key, s[c][v]);
        }
    }
    for (int v = 0; v < ROW_VECTORS; v++) {
        vf top = vf_load(t->top + row + v * VW);
        for (int c = 0; c < count; c++) {
            s[c][v] = vf_mul(s[c][v], scale);
            top = vf_max(s[c][v], top);
            vf_store(p + (size_t)c * GROUP_ROWS + v * VW, s[c][v]);
        }
        vf_store(t->top + row + v * VW, top);
    }
}

/* The same with the keys of a block up to |last| or somewhat beyond, in groups as large as registers allow and as even
 * as can be. */
static void dot_many(attn_tile *t, uint32_t row, uint32_t last) {
    const uint32_t groups = (BLOCK + MANY_KEYS - 1) / MANY_KEYS;
    for (int v = 0; v < ROW_VECTORS; v++) vf_store(t->top + row + v * VW, vf_set(-NPU_F32_INF));
    for (uint32_t i = 0, j = 0; j < last; i++) {
        uint32_t count = (BLOCK - j) / (groups - i);
        if (count == MANY_KEYS)
            dot_keys(t, row, j, MANY_KEYS);
        else
            dot_keys(t, row, j, MANY_KEYS - 1);
        j += count;
    }
}

/* Scores of one vector of rows with what is left: softcap, and -Inf where a row does not see the key. The largest is
 * returned, NaN when one is. */
static vf score_many(const attn_tile *t, uint32_t row, uint32_t block) {
    vf top = vf_set(-NPU_F32_INF), cap = vf_set(t->call->op->params.attn.softcap);
    float first[VW] = {0}, last[VW] = {0}; /* nothing is visible to lanes without a row */
    vm nan = vm_first(0);
    for (uint32_t r = 0; r < VW && row + r < t->n_rows; r++) {
        uint32_t from, to;
        visible(&t->rows[row + r], block, &from, &to);
        first[r] = from < BLOCK ? (float)from : BLOCK;
        last[r] = (float)to;
    }
    vf lo = vf_load(first), n = vf_load(last);
    for (uint32_t j = 0; j < BLOCK; j++) {
        float *p = many_p(t, row) + j * GROUP_ROWS;
        vf s = vf_load(p), place = vf_set((float)j);
        if (t->call->op->params.attn.softcap != 0) s = vf_mul(cap, vf_tanh(vf_div(s, cap)));
        s = vf_select(vm_and_not(vf_lt(place, n), vf_lt(place, lo)), s, vf_set(-NPU_F32_INF));
        nan = vm_or(nan, vf_nan(s));
        top = vf_select(vf_gt(s, top), s, top);
        vf_store(p, s);
    }
    return vf_select(nan, vf_set(NPU_F32_NAN), top);
}

enum { QUARTER = BLOCK / 4 * GROUP_ROWS }; /* of what a group of rows has in p */

/* Scores of one vector of rows become p; their m, l and keep move on. With |all_seen| all rows see all keys, and
 * t->top need not know of a NaN: the p of one is NaN, and so is l from then on. Where there is nothing but -Inf and NaN
 * l stays as it was, so that one must be found. */
static void weigh_many(attn_tile *t, uint32_t row, uint32_t block, bool all_seen) {
    vf none = vf_set(-NPU_F32_INF), m = vf_load(t->m + row), lane[BLOCK / 4];
    vf m_new = vf_max_nan(m, vf_load(t->top + row));
    if (!all_seen || vm_any(vf_eq(m_new, none))) m_new = vf_max_nan(m, score_many(t, row, block));
    float *p = many_p(t, row);
    for (uint32_t j = 0; j < BLOCK / 4; j++, p += GROUP_ROWS) {
        vf s[4];
        for (int i = 0; i < 4; i++) s[i] = vf_sub(vf_load(p + i * QUARTER), m_new);
        vf_exp_below_all(s, 4);
        for (int i = 0; i < 4; i++) vf_store(p + i * QUARTER, s[i]);
        lane[j] = vf_add(vf_add(s[0], s[2]), vf_add(s[1], s[3]));
    }
    for (uint32_t h = BLOCK / 8; h; h /= 2)
        for (uint32_t j = 0; j < h; j++) lane[j] = vf_add(lane[j], lane[j + h]);
    vm empty = vf_eq(m_new, none);
    vf keep = vf_exp_below(vf_sub(m, m_new));
    vf_store(t->l + row, vf_select(empty, vf_load(t->l + row), vf_fma(vf_load(t->l + row), keep, lane[0])));
    vf_store(t->keep + row, vf_select(empty, vf_set(-1.0f), keep));
    vf_store(t->m + row, m_new);
}

/* What |rows| rows from |row| see of the block: keys before |last| at most; whether each of them sees all keys. */
static bool see_all(const attn_tile *t, uint32_t row, uint32_t rows, uint32_t block, uint32_t *last) {
    bool all = true;
    *last = 0;
    for (uint32_t r = row; r < row + rows && r < t->n_rows; r++) {
        uint32_t from, to;
        visible(&t->rows[r], block, &from, &to);
        all = all && from == 0 && to == BLOCK;
        if (from < to && to > *last) *last = to;
    }
    return all;
}

/* |n| of the block's keys or values from |j| are asked for, where there are as many: evenly between other work, because
 * more at a time than a core can wait for would hold up its own loads. */
static inline void ask_for_rows(const attn_tile *t, int src, uint32_t block, uint32_t j, uint32_t n, uint32_t end) {
    for (uint32_t i = j; i < j + n && i < BLOCK; i++) ask_for_row(t, src, block + i, end);
}

/* |count| keys of the block; what is in their places behind it is of another block and not seen. */
static void weigh_all(attn_tile *t, uint32_t block, uint32_t count, uint32_t end) {
    const npu_host_operand *k = &t->call->src[1];
    uint32_t stride = attn_round(t->d), last, each = BLOCK / ((t->n_rows + GROUP_ROWS - 1) / GROUP_ROWS) + 1;
    bool capped = t->call->op->params.attn.softcap != 0;
    for (uint32_t j = 0; j < count; j++)
        to_floats(k->t.type, npu_host_at(k, t->kv_head, t->first + block + j, 0), t->keys + j * stride, t->d);
    for (uint32_t row = 0; row < t->n_rows; row += GROUP_ROWS) {
        bool all_seen = see_all(t, row, GROUP_ROWS, block, &last) && !capped;
        ask_for_rows(t, 2, block, row / GROUP_ROWS * each, each, end);
        if (!last) {
            for (int v = 0; v < ROW_VECTORS; v++) vf_store(t->keep + row + v * VW, vf_set(-1.0f));
            continue;
        }
        dot_many(t, row, last);
        for (uint32_t r = row; r < row + GROUP_ROWS && r < t->n_rows; r += VW) weigh_many(t, r, block, all_seen);
    }
}

/* Rows that see the same keys of a block and take values together: n of them from |row|, keys from .. to - 1. */
typedef struct attn_group {
    uint32_t row, n, from, to;
} attn_group;

/* They are cut as evenly as can be in groups of at most VALUE_ROWS. */
static uint32_t group_rows(const attn_tile *t, uint32_t block, attn_group *groups) {
    uint32_t count = 0;
    for (uint32_t row = 0, n; row < t->n_rows; row += n ? n : 1) {
        uint32_t from, to;
        n = rows_together(t, row, t->n_rows, block, &from, &to);
        for (uint32_t left = n, each; left; left -= each) {
            uint32_t most = (left + VALUE_ROWS - 1) / VALUE_ROWS;
            each = (left + most - 1) / most;
            groups[count++] = (attn_group){row + n - left, each, from, to};
        }
    }
    return count;
}

/* Values as floats in panels, [width / PANEL][BLOCK][PANEL]: one stays in the first level while all rows take it. */
static void convert_values(const attn_tile *t, uint32_t block, uint32_t count) {
    const npu_host_operand *v = &t->call->src[2];
    const npu_format *f = npu_format_of(v->t.type);
    uint64_t panel_bytes = PANEL / f->block_values * f->block_bytes;
    for (uint32_t j = 0; j < count; j++) {
        const uint8_t *from = npu_host_at(v, t->kv_head, t->first + block + j, 0);
        float *to = t->values + j * PANEL;
        for (uint32_t i = 0; i < t->dv; i += PANEL, from += panel_bytes, to += BLOCK * PANEL)
            to_floats(v->t.type, from, to, t->dv - i < PANEL ? t->dv - i : PANEL);
    }
}

/* Values from |i| of the block's first key. */
static inline const float *in_panel(const attn_tile *t, uint32_t i) {
    return t->values + (size_t)(i / PANEL * PANEL) * BLOCK + i % PANEL;
}

/* acc = acc * keep, then p_j * v_j for the visible j, of |n| rows and |count| vectors at |i|, whose values are |values|
 * (+ PANEL a key). n and count are constants where it is called. */
NPU_INLINE void add_panel(const attn_tile *t, const attn_group *g, const float *values, uint32_t i, int n, int count) {
    vf acc[VALUE_ROWS][VALUES / VW];
    const float *p[VALUE_ROWS], *end = values + (size_t)g->to * PANEL;
    values += (size_t)g->from * PANEL;
    for (int r = 0; r < n; r++) {
        const float *from = t->rows[g->row + (uint32_t)r].acc + i;
        vf keep = vf_set(t->keep[g->row + (uint32_t)r]);
        p[r] = many_p(t, g->row + (uint32_t)r) + (size_t)g->from * GROUP_ROWS;
        for (int c = 0; c < count; c++) acc[r][c] = vf_mul(vf_load(from + c * VW), keep);
    }
    for (size_t k = 0; values < end; values += PANEL, k += GROUP_ROWS) {
        vf weight[VALUE_ROWS];
        for (int r = 0; r < n; r++) weight[r] = vf_set(p[r][k]);
        for (int c = 0; c < count; c++) {
            vf value = vf_load(values + c * VW);
            for (int r = 0; r < n; r++) acc[r][c] = vf_fma(weight[r], value, acc[r][c]);
        }
    }
    for (int r = 0; r < n; r++) {
        float *to = t->rows[g->row + (uint32_t)r].acc + i;
        for (int c = 0; c < count; c++) vf_store(to + c * VW, acc[r][c]);
    }
}

NPU_INLINE void add_group(const attn_tile *t, const attn_group *g, const float *values, uint32_t i, int count) {
#define ADD(rows) add_panel(t, g, values, i, rows, count)
    ADD_VALUE_ROWS(g->n, ADD)
#undef ADD
}

static void take_block_many(attn_tile *t, uint32_t block, uint32_t count, uint32_t end) {
    attn_group groups[TILE];
    weigh_all(t, block, count, end);
    uint32_t n = group_rows(t, block, groups), i = 0, each = n ? BLOCK / n + 1 : 0;
    if (!n) return;
    convert_values(t, block, count);
    for (; i + VALUES <= t->width; i += VALUES) {
        for (uint32_t g = 0; g < n; g++) {
            if (i == 0) ask_for_rows(t, 1, block + BLOCK, g * each, each, end);
            add_group(t, &groups[g], in_panel(t, i), i, VALUES / VW);
        }
    }
    for (; i < t->width; i += VW)
        for (uint32_t g = 0; g < n; g++) add_group(t, &groups[g], in_panel(t, i), i, 1);
}
