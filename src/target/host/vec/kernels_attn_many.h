/* FLASH_ATTN on vectors: scores and weights of a block of keys for many query rows. A template as kernels_map.h; part
 * of kernels_attn_block.h. Lanes are query rows: queries are turned once a tile ([TILE / GROUP_ROWS][D][GROUP_ROWS]),
 * keys are only converted, and maxima, weights and sums of all rows go side by side without a step across lanes.
 */
enum { ROW_VECTORS = 2, GROUP_ROWS = ROW_VECTORS * VW };
_Static_assert((BLOCK + MANY_KEYS - 1) / MANY_KEYS * (MANY_KEYS - 1) <= BLOCK, "groups of dot_many make a block");

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

/* Sums of products of ROW_VECTORS vectors of rows from |row| with |count| keys from |j|: to p[j][row]. |count| is a
 * constant where it is called. */
NPU_INLINE void dot_keys(const attn_tile *t, uint32_t row, uint32_t j, int count) {
    vf s[MANY_KEYS][ROW_VECTORS];
    const size_t stride = attn_round(t->d), d = t->d;
    const float *q = t->queries + row * stride, *k[MANY_KEYS];
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
    for (int c = 0; c < count; c++)
        for (int v = 0; v < ROW_VECTORS; v++) vf_store(t->p + (j + (uint32_t)c) * TILE + row + v * VW, s[c][v]);
}

/* The same with all keys of a block, in groups as large as registers allow and as even as can be. */
static void dot_many(const attn_tile *t, uint32_t row) {
    const uint32_t groups = (BLOCK + MANY_KEYS - 1) / MANY_KEYS;
    for (uint32_t i = 0, j = 0; i < groups; i++) {
        uint32_t count = (BLOCK - j) / (groups - i);
        if (count == MANY_KEYS)
            dot_keys(t, row, j, MANY_KEYS);
        else
            dot_keys(t, row, j, MANY_KEYS - 1);
        j += count;
    }
}

/* Sums of products of one vector of rows become scores, -Inf where a row does not see the key; the largest is returned,
 * NaN when one is. */
static vf score_many(const attn_tile *t, uint32_t row, uint32_t block, bool all_seen) {
    const npu_params_attn *params = &t->call->op->params.attn;
    vf top = vf_set(-NPU_F32_INF), scale = vf_set(params->scale), cap = vf_set(params->softcap);
    float first[VW] = {0}, last[VW] = {0}; /* nothing is visible to lanes without a row */
    vm nan = vm_first(0);
    for (uint32_t r = 0; !all_seen && r < VW && row + r < t->n_rows; r++) {
        uint32_t from, to;
        visible(&t->rows[row + r], block, &from, &to);
        first[r] = from < BLOCK ? (float)from : BLOCK;
        last[r] = (float)to;
    }
    vf lo = vf_load(first), n = vf_load(last);
    for (uint32_t j = 0; j < BLOCK; j++) {
        float *p = t->p + j * TILE + row;
        vf s = vf_mul(vf_load(p), scale);
        if (params->softcap != 0) s = vf_mul(cap, vf_tanh(vf_div(s, cap)));
        if (!all_seen) {
            vf place = vf_set((float)j);
            s = vf_select(vm_and_not(vf_lt(place, n), vf_lt(place, lo)), s, vf_set(-NPU_F32_INF));
        }
        nan = vm_or(nan, vf_nan(s));
        top = vf_select(vf_gt(s, top), s, top);
        vf_store(p, s);
    }
    return vf_select(nan, vf_set(NPU_F32_NAN), top);
}

/* Scores of one vector of rows become p; their m, l and keep move on. */
static void weigh_many(attn_tile *t, uint32_t row, uint32_t block, bool all_seen) {
    vf top = score_many(t, row, block, all_seen), m = vf_load(t->m + row);
    vf m_new = vf_max_nan(m, top), none = vf_set(-NPU_F32_INF), lane[BLOCK / 2];
    for (uint32_t j = 0; j < BLOCK / 2; j++) {
        float *p = t->p + j * TILE + row;
        vf first = vf_exp_below(vf_sub(vf_load(p), m_new));
        vf second = vf_exp_below(vf_sub(vf_load(p + BLOCK / 2 * TILE), m_new));
        vf_store(p, first);
        vf_store(p + BLOCK / 2 * TILE, second);
        lane[j] = vf_add(first, second);
    }
    for (uint32_t h = BLOCK / 4; h; h /= 2)
        for (uint32_t j = 0; j < h; j++) lane[j] = vf_add(lane[j], lane[j + h]);
    vm empty = vf_eq(m_new, none);
    vf keep = vf_exp_below(vf_sub(m, m_new));
    vf_store(t->l + row, vf_select(empty, vf_load(t->l + row), vf_fma(vf_load(t->l + row), keep, lane[0])));
    vf_store(t->keep + row, vf_select(empty, vf_set(-1.0f), keep));
    vf_store(t->m + row, m_new);
}

/* |count| keys of the block; what is in their places behind it is of another block and not seen. */
static void weigh_all(attn_tile *t, uint32_t block, uint32_t count, uint32_t end) {
    const npu_host_operand *k = &t->call->src[1];
    uint32_t stride = attn_round(t->d), rows = t->n_rows;
    bool all_seen = count == BLOCK;
    for (uint32_t j = 0; j < count; j++) {
        ask_for_row(k, t, block + BLOCK + j, end);
        to_floats(k->t.type, npu_host_at(k, t->kv_head, t->first + block + j, 0), t->keys + j * stride, t->d);
    }
    for (uint32_t row = 0; row < rows; row += GROUP_ROWS) dot_many(t, row);
    for (uint32_t i = 0; i < rows; i++)
        all_seen = all_seen && t->rows[i].lo <= block && t->rows[i].n - block >= BLOCK && t->rows[i].n > block;
    for (uint32_t row = 0; row < rows; row += VW) weigh_many(t, row, block, all_seen);
}
