/* FLASH_ATTN on vectors in fast mode: what the values of a step of keys add to the sums of many query rows, two keys in
 * each word of BF16. A template as kernels_map.h; part of kernels_attn_many.h.
 *
 * All rows take all values of a step; the weight of a key that a row does not see is 0. So what a sequence holds must
 * be finite, or the rows of a tile that see less of it than others have NaN.
 */
enum { WORDS = BLOCK / 2, STEP_WORDS = STEP / 2 }; /* a key's words of a block and of a step */

/* Rows that take nothing from a block go on with weights of 0. */
static void settle(attn_tile *t, uint32_t count) {
    for (uint32_t b = 0; b * BLOCK < count; b++) {
        for (uint32_t row = 0; row < t->n_rows; row++) {
            if (!(t->keep[b * TILE + row] < 0)) continue;
            t->keep[b * TILE + row] = 1;
            float *p = many_p(t, row) + (size_t)b * BLOCK * GROUP_ROWS;
            for (uint32_t w = 0; w < WORDS; w++) p[w * GROUP_ROWS] = 0;
        }
    }
}

/* Values |i| of the |w|-th word of a step; [width / PANEL][STEP_WORDS][PANEL]. */
static inline float *word_at(const attn_tile *t, uint32_t w, uint32_t i) {
    return t->values + (size_t)(i / PANEL * PANEL) * STEP_WORDS + (size_t)w * PANEL + i % PANEL;
}

/* Values from |i| on, a panel of them, of key |j| of the step as floats; zeros where there is none. */
static void value_panel(const attn_tile *t, uint32_t key, uint32_t j, uint32_t count, uint32_t i, float *to) {
    const npu_host_operand *v = &t->call->src[2];
    const npu_format *f = npu_format_of(v->t.type);
    uint32_t n = j >= count ? 0 : t->dv - i < PANEL ? t->dv - i : PANEL;
    if (n)
        to_floats(v->t.type, npu_host_at(v, t->kv_head, t->first + key + j, 0) + i / f->block_values * f->block_bytes,
                  to, n);
    memset(to + n, 0, (PANEL - n) * sizeof(float));
}

/* Words pair keys as put_weights() pairs weights: a key of a block's first or third quarter and the one a quarter
 * behind it. */
static void convert_values(const attn_tile *t, uint32_t key, uint32_t count) {
    float low[PANEL], high[PANEL];
    for (uint32_t w = 0; w < STEP_WORDS; w++) {
        uint32_t third = w / (BLOCK / 4) % 2 * (BLOCK / 2), j = w / WORDS * BLOCK + third + w % (BLOCK / 4);
        for (uint32_t i = 0; i < t->dv; i += PANEL) {
            float *to = word_at(t, w, i);
            value_panel(t, key, j, count, i, low);
            value_panel(t, key, j + BLOCK / 4, count, i, high);
            for (uint32_t k = 0; k < PANEL; k += VW) vf_store(to + k, vf_pair(vf_load(low + k), vf_load(high + k)));
        }
    }
}

/* What |count| vectors of values from |i| on add to |n| rows from |row| on; n and count are constants where it is
 * called. */
NPU_INLINE void add_words(const attn_tile *t, uint32_t row, uint32_t words, uint32_t i, int n, int count) {
    vf acc[VALUE_ROWS][VALUES / VW];
    const float *p[VALUE_ROWS], *v = word_at(t, 0, i);
    for (int r = 0; r < n; r++) {
        p[r] = many_p(t, row + (uint32_t)r);
        for (int c = 0; c < count; c++) acc[r][c] = vf_load(t->rows[row + (uint32_t)r].acc + i + c * VW);
    }
    for (uint32_t at = 0; at < words; at += WORDS) {
        const float *keep = t->keep + at / WORDS * TILE + row;
        size_t k = (size_t)at * 2 * GROUP_ROWS;
        for (int r = 0; r < n; r++)
            for (int c = 0; c < count; c++) acc[r][c] = vf_mul(acc[r][c], vf_set(keep[r]));
        for (uint32_t w = 0; w < WORDS; w++, v += PANEL, k += GROUP_ROWS) {
            vf weight[VALUE_ROWS];
            for (int r = 0; r < n; r++) weight[r] = vf_set(p[r][k]);
            for (int c = 0; c < count; c++) {
                vf value = vf_load(v + c * VW);
                for (int r = 0; r < n; r++) acc[r][c] = vf_fma_pairs(weight[r], value, acc[r][c]);
            }
        }
    }
    for (int r = 0; r < n; r++)
        for (int c = 0; c < count; c++) vf_store(t->rows[row + (uint32_t)r].acc + i + c * VW, acc[r][c]);
}

/* The same of all values |from| to before |to|. */
NPU_INLINE void add_rows(const attn_tile *t, uint32_t row, uint32_t words, uint32_t from, uint32_t to, int n) {
    uint32_t i = from;
    for (; i + VALUES <= to; i += VALUES) add_words(t, row, words, i, n, VALUES / VW);
    for (; i < to; i += VW) add_words(t, row, words, i, n, 1);
}

/* STEP keys from |key| on, or as many as there are before |end|. */
static void take_step(attn_tile *t, uint32_t key, uint32_t end) {
    uint32_t count = end - key < STEP ? end - key : STEP, words = (count + BLOCK - 1) / BLOCK * WORDS;
    uint32_t each = STEP * VALUE_ROWS / t->n_rows + 1;
    weigh_all(t, key, count);
    if (t->skips || !all_see(t, key, count)) settle(t, count);
    convert_values(t, key, count);
    for (uint32_t i = 0; i < t->width; i += PASS) {
        uint32_t to = t->width - i < PASS ? t->width : i + PASS;
        for (uint32_t row = 0; row < t->n_rows; row += VALUE_ROWS) {
            uint32_t n = t->n_rows - row < VALUE_ROWS ? t->n_rows - row : VALUE_ROWS;
            if (i == 0) ask_for_rows(t, 1, key + STEP + row / VALUE_ROWS * each, each, end);
#define ADD(rows) add_rows(t, row, words, i, to, rows)
            ADD_VALUE_ROWS(n, ADD)
#undef ADD
        }
    }
}
