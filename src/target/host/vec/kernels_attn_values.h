/* FLASH_ATTN on vectors: what the values of a step of keys add to the sums of many query rows, to the bit: rows take
 * nothing from keys that they do not see. A template as kernels_map.h; part of kernels_attn_many.h.
 */
/* Rows that see the same keys of a step and take values together: n of them from |row|, keys from .. to - 1. */
typedef struct attn_group {
    uint32_t row, n, from, to;
} attn_group;

/* Whether |row| takes the values of all blocks from which it sees keys from .. to - 1. */
static bool takes_all(const attn_tile *t, uint32_t row, uint32_t from, uint32_t to) {
    for (uint32_t b = from / BLOCK; b * BLOCK < to; b++)
        if (t->keep[b * TILE + row] < 0) return false;
    return true;
}

/* How many rows from |row| on see the keys from .. to - 1 of the step at |key| and take all their values. */
static uint32_t rows_alike(const attn_tile *t, uint32_t row, uint32_t key, uint32_t from, uint32_t to) {
    uint32_t n = 0;
    for (; row + n < t->n_rows; n++) {
        uint32_t next_from, next_to;
        visible(&t->rows[row + n], key, STEP, &next_from, &next_to);
        if (next_from != from || next_to != to || !takes_all(t, row + n, from, to)) break;
    }
    return n;
}

/* |n| rows are cut in groups of VALUE_ROWS, and at the end, where a small group would keep sums waiting for each other,
 * in two that are as even as can be. No division: there are many groups in each step. */
static attn_group *cut_rows(attn_group *g, uint32_t row, uint32_t n, uint32_t from, uint32_t to) {
    for (uint32_t left = n, each; left; left -= each) {
        each = left >= 2 * VALUE_ROWS ? VALUE_ROWS : left > VALUE_ROWS ? (left + 1) / 2 : left;
        *g++ = (attn_group){row + n - left, each, from, to};
    }
    return g;
}

/* A row that does not take all blocks of which it sees something is a group for each block. */
static uint32_t group_rows(const attn_tile *t, uint32_t key, uint32_t count, attn_group *groups) {
    attn_group *g = groups;
    if (all_see(t, key, count) && !t->skips) return (uint32_t)(cut_rows(g, 0, t->n_rows, 0, count) - groups);
    for (uint32_t row = 0, n; row < t->n_rows; row += n ? n : 1) {
        uint32_t from, to;
        visible(&t->rows[row], key, STEP, &from, &to);
        n = from < to ? rows_alike(t, row, key, from, to) : 0;
        g = cut_rows(g, row, n, from, to);
        for (uint32_t next; !n && from < to; from = next) {
            next = from / BLOCK * BLOCK + BLOCK < to ? from / BLOCK * BLOCK + BLOCK : to;
            if (takes_all(t, row, from, next)) *g++ = (attn_group){row, 1, from, next};
        }
    }
    return (uint32_t)(g - groups);
}

/* Values as floats in panels, [width / PANEL][STEP][PANEL]: those of a pass stay in the first level while all rows take
 * them. */
static void convert_values(const attn_tile *t, uint32_t key, uint32_t count) {
    const npu_host_operand *v = &t->call->src[2];
    const npu_format *f = npu_format_of(v->t.type);
    uint64_t panel_bytes = PANEL / f->block_values * f->block_bytes;
    for (uint32_t j = 0; j < count; j++) {
        const uint8_t *from = npu_host_at(v, t->kv_head, t->first + key + j, 0);
        float *to = t->values + j * PANEL;
        for (uint32_t i = 0; i < t->dv; i += PANEL, from += panel_bytes, to += STEP * PANEL)
            to_floats(v->t.type, from, to, t->dv - i < PANEL ? t->dv - i : PANEL);
    }
}

/* Values from |i| of the step's first key. */
static inline const float *in_panel(const attn_tile *t, uint32_t i) {
    return t->values + (size_t)(i / PANEL * PANEL) * STEP + i % PANEL;
}

/* Where |n| rows of a group have their weights, factors and sums. */
typedef struct attn_sums {
    const float *p[VALUE_ROWS], *keep;
    float *acc[VALUE_ROWS];
    uint32_t from, to;
} attn_sums;

/* For each block acc = acc * keep, then p_j * v_j for the visible j, of |n| rows and |count| vectors at |i|, whose
 * values are |values| (+ PANEL a key). n and count are constants where it is called. */
NPU_INLINE void add_panel(const attn_sums *s, const float *values, uint32_t i, int n, int count) {
    vf acc[VALUE_ROWS][VALUES / VW];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < count; c++) acc[r][c] = vf_load(s->acc[r] + i + c * VW);
    for (uint32_t at = s->from, to; at < s->to; at = to) {
        const float *keep = s->keep + at / BLOCK * TILE;
        to = at / BLOCK * BLOCK + BLOCK < s->to ? at / BLOCK * BLOCK + BLOCK : s->to;
        for (int r = 0; r < n; r++)
            for (int c = 0; c < count; c++) acc[r][c] = vf_mul(acc[r][c], vf_set(keep[r]));
        const float *v = values + (size_t)at * PANEL, *end = values + (size_t)to * PANEL;
        for (size_t k = (size_t)at * GROUP_ROWS; v < end; v += PANEL, k += GROUP_ROWS) {
            vf weight[VALUE_ROWS];
            for (int r = 0; r < n; r++) weight[r] = vf_set(s->p[r][k]);
            for (int c = 0; c < count; c++) {
                vf value = vf_load(v + c * VW);
                for (int r = 0; r < n; r++) acc[r][c] = vf_fma(weight[r], value, acc[r][c]);
            }
        }
    }
    for (int r = 0; r < n; r++)
        for (int c = 0; c < count; c++) vf_store(s->acc[r] + i + c * VW, acc[r][c]);
}

/* What the values |from| to before |to| of each key add to the |n| rows, a constant, of a group. */
NPU_INLINE void add_group(const attn_tile *t, const attn_group *g, uint32_t from, uint32_t to, int n) {
    attn_sums s = {.keep = t->keep + g->row, .from = g->from, .to = g->to};
    uint32_t i = from;
    for (int r = 0; r < n; r++) {
        s.p[r] = many_p(t, g->row + (uint32_t)r);
        s.acc[r] = t->rows[g->row + (uint32_t)r].acc;
    }
    for (; i + VALUES <= to; i += VALUES) add_panel(&s, in_panel(t, i), i, n, VALUES / VW);
    for (; i < to; i += VW) add_panel(&s, in_panel(t, i), i, n, 1);
}

/* The group takes what the values |from| to before |to| of each key add. */
static void take_pass(const attn_tile *t, const attn_group *g, uint32_t from, uint32_t to) {
#define ADD(rows) add_group(t, g, from, to, rows)
    ADD_VALUE_ROWS(g->n, ADD)
#undef ADD
}

/* STEP keys from |key| on, or as many as there are before |end|. */
static void take_step(attn_tile *t, uint32_t key, uint32_t end) {
    attn_group groups[TILE * STEP_BLOCKS];
    uint32_t count = end - key < STEP ? end - key : STEP;
    weigh_all(t, key, count);
    uint32_t n = group_rows(t, key, count, groups), each = n ? STEP / n + 1 : 0;
    if (!n) return;
    convert_values(t, key, count);
    for (uint32_t i = 0; i < t->width; i += PASS) {
        for (uint32_t g = 0; g < n; g++) {
            if (i == 0) ask_for_rows(t, 1, key + STEP + g * each, each, end);
            take_pass(t, &groups[g], i, t->width - i < PASS ? t->width : i + PASS);
        }
    }
}
