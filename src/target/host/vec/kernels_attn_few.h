/* FLASH_ATTN on vectors: a block of keys for few query rows, and its values for these and for masked ones. A template
 * as kernels_map.h; part of kernels_attn_block.h. Lanes are keys: they are turned ([D][32]), halves as halves where the
 * machine can (half of the shuffles, and no floats written and read again), because with few rows the products cost
 * less than what it takes to read and turn the keys.
 */
#ifdef VEC_TURN_HALVES
/* Keys as halves: t->halves[(v * d + i) * VW + lane], v the vector of the block. Whole blocks are turned where they
 * lie; the rows of a last one are copied, because nothing behind them may be read. */
static void turn_halves(const attn_tile *t, uint32_t block, uint32_t count, attn_ask *ask) {
    const npu_host_operand *k = &t->call->src[1];
    const uint8_t *rows = npu_host_at(k, t->kv_head, t->first + block, 0);
    size_t stride = k->t.nb[2];
    if (count < BLOCK) {
        for (uint32_t j = 0; j < count; j++) memcpy((uint8_t *)t->keys + j * 2 * t->d, rows + j * stride, 2 * t->d);
        rows = (const uint8_t *)t->keys;
        stride = 2 * t->d;
    }
    for (uint32_t v = 0; v < BLOCK_VECTORS; v++) {
        for (uint32_t i = 0; i < t->d; i += 32) {
            ask_for(ask, VW);
            vec_turn_halves(rows + v * VW * stride + 2 * i, stride, t->d - i < 32 ? t->d - i : 32,
                            t->halves + (size_t)(v * t->d + i) * VW);
        }
    }
}
static bool can_turn_halves(const attn_tile *t) {
    return t->call->src[1].t.type == NPU_TYPE_F16 && t->d % 2 == 0;
}
#else
static void turn_halves(const attn_tile *t, uint32_t block, uint32_t count, attn_ask *ask) {
    (void)t, (void)block, (void)count, (void)ask;
}
static bool can_turn_halves(const attn_tile *t) {
    (void)t;
    return false;
}
#endif

/* Keys |block| … of the span, at most |count|, turned so that lanes are keys. Lanes past |count| are left as they are:
 * their scores are never used. */
static void turn_keys(const attn_tile *t, uint32_t block, uint32_t count, attn_ask *ask) {
    const npu_host_operand *k = &t->call->src[1];
    uint32_t stride = attn_round(t->d), lines_of_row = (t->piece[1] + 63) / 64;
    if (can_turn_halves(t)) {
        turn_halves(t, block, count, ask);
        return;
    }
    for (uint32_t j = 0; j < count; j++) {
        ask_for(ask, lines_of_row);
        to_floats(k->t.type, npu_host_at(k, t->kv_head, t->first + block + j, 0), t->keys + j * stride, t->d);
    }
    for (uint32_t j = 0; j < count; j += VTILE) {
        for (uint32_t i = 0; i < t->d; i += VTILE) {
            vf_transpose(t->keys + j * stride + i, stride, t->turned + (size_t)i * BLOCK + j, BLOCK);
        }
    }
}

/* Sums of products with the block's keys for |n| rows from |row|; n and |halves| are constants where it is called. */
NPU_INLINE void dot_rows(const attn_tile *t, uint32_t row, int n, int halves) {
    vf s[VROWS][BLOCK_VECTORS];
    for (int r = 0; r < n; r++)
        for (int v = 0; v < BLOCK_VECTORS; v++) s[r][v] = vf_set(0.0f);
    for (uint32_t i = 0; i < t->d; i++) {
        vf q[VROWS];
        size_t at = (size_t)i * BLOCK;
        for (int r = 0; r < n; r++) q[r] = vf_set(t->rows[row + (uint32_t)r].q[i]);
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            vf k = halves ? vf_load_half(t->halves + ((size_t)v * t->d + i) * VW) : vf_load(t->turned + at + v * VW);
            for (int r = 0; r < n; r++) s[r][v] = vf_fma(q[r], k, s[r][v]);
        }
    }
    for (int r = 0; r < n; r++)
        for (int v = 0; v < BLOCK_VECTORS; v++) vf_store(t->p + (row + (uint32_t)r) * BLOCK + v * VW, s[r][v]);
}

_Static_assert(VROWS <= 4, "dot_all takes apart what is less than VROWS by hand");

/* Rows at once hide the latency of the sums and share the keys' conversion: as evenly as can be, so of VROWS + 1 not
 * one is left alone where VROWS is more than 2. */
NPU_INLINE void dot_all(const attn_tile *t, uint32_t row, uint32_t end_row, int halves) {
    for (uint32_t n; row < end_row; row += n) {
        uint32_t left = end_row - row;
        n = left == VROWS + 1 ? VROWS / 2 + 1 : left < VROWS ? left : VROWS;
        switch (n) {
        case 1:
            dot_rows(t, row, 1, halves);
            break;
        case 2:
            dot_rows(t, row, VROWS < 2 ? 1 : 2, halves);
            break;
        case 3:
            dot_rows(t, row, VROWS < 3 ? 1 : 3, halves);
            break;
        default:
            dot_rows(t, row, VROWS, halves);
            break;
        }
    }
}

static inline vf add_mask(const attn_tile *t, const attn_row *r, uint32_t j, uint32_t end, vf s) {
    float values[VW] = {0};
    for (uint32_t i = 0; i < VW && j + i < end; i++) values[i] = npu_ref_mask(&t->call->src[4], r->mask, j + i);
    return vf_add(s, vf_mul(vf_set(r->slope), vf_load(values)));
}

/* Sums of products become p; m and l of the row move on. Returns the factor for what was accumulated before, or a
 * negative number when the block adds nothing. */
static float weigh(attn_tile *t, uint32_t row, uint32_t block) {
    const npu_params_attn *params = &t->call->op->params.attn;
    const attn_row *r = &t->rows[row];
    float *p = t->p + row * BLOCK;
    uint32_t from, to;
    vf s[BLOCK_VECTORS], top = vf_set(-NPU_F32_INF);
    vm seen[BLOCK_VECTORS], nan = vm_first(0);
    visible(r, block, &from, &to);
    if (from >= to) return -1;
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        int base = v * VW;
        seen[v] = vm_and_not(vm_first((int)to - base), vm_first((int)from - base));
        s[v] = vf_mul(vf_load(p + base), vf_set(params->scale));
        if (params->softcap != 0) {
            vf cap = vf_set(params->softcap);
            s[v] = vf_mul(cap, vf_tanh(vf_div(s[v], cap)));
        }
        if (r->mask) s[v] = add_mask(t, r, block + (uint32_t)base, block + to, s[v]);
        vf shown = vf_select(seen[v], s[v], vf_set(-NPU_F32_INF));
        nan = vm_or(nan, vf_nan(shown));
        top = vf_select(vf_gt(shown, top), shown, top);
    }
    float m_new = npu_maxf(t->m[row], vm_any(nan) ? NPU_F32_NAN : vf_top(top));
    if (m_new == -NPU_F32_INF) return -1;
    float keep =
        m_new == t->m[row] ? 1 : npu_expf(t->m[row] - m_new); /* exp(0) is 1; most blocks have no new maximum */
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        s[v] = vf_select(seen[v], vf_exp_below(vf_sub(s[v], vf_set(m_new))), vf_set(0.0f));
        vf_store(p + v * VW, s[v]);
    }
    t->l[row] = npu_fmaf(t->l[row], keep, fold32(s));
    t->m[row] = m_new;
    return keep;
}

static void weigh_few(attn_tile *t, uint32_t block, uint32_t count, uint32_t end) {
    attn_ask ask = lines_of(t, 2, block, end);
    for (uint32_t row = 0, next; row < t->n_rows; row = next) {
        next = next_head(t, row);
        t->kv_head = t->rows[row].kv_head;
        turn_keys(t, block, count, &ask);
        if (can_turn_halves(t))
            dot_all(t, row, next, 1);
        else
            dot_all(t, row, next, 0);
        for (uint32_t r = row; r < next; r++) t->keep[r] = weigh(t, r, block);
    }
}

/* A block's values: floats, or halves where they lie. */
typedef struct attn_values {
    const uint8_t *first;
    uint64_t stride;   /* bytes from one key's value to the next's */
    bool halves;       /* else floats */
    uint32_t from, to; /* keys that the rows at hand see */
} attn_values;

static attn_values values_of(const attn_tile *t, uint32_t block, uint32_t count, uint32_t end, attn_ask *ask) {
    const npu_host_operand *v = &t->call->src[2];
    attn_values out = {.first = (const uint8_t *)t->values, .stride = t->width * sizeof(float)};
    if (is_few(t) && v->t.type == NPU_TYPE_F16 && t->dv == t->width) {
        out.halves = true;
        out.first = npu_host_at(v, t->kv_head, t->first + block, 0);
        out.stride = v->t.nb[2];
        return out;
    }
    for (uint32_t j = 0; j < count; j++) {
        if (is_few(t))
            ask_for(ask, (t->piece[2] + 63) / 64);
        else
            ask_for_row(t, 2, block + BLOCK + j, end);
        to_floats(v->t.type, npu_host_at(v, t->kv_head, t->first + block + j, 0), t->values + j * t->width, t->dv);
    }
    return out;
}

/* acc = acc * keep, then p_j * v_j for the visible j, of |n| rows from |row| and |count| vectors at |i|; n, count and
 * halves are constants where it is called. */
NPU_INLINE void add_values(const attn_tile *t, const attn_values *v, attn_ask *ask, uint32_t row, uint32_t i, int n,
                           int count, int halves) {
    vf acc[VALUE_ROWS][8];
    const float *p = t->p + row * BLOCK, *keep = t->keep + row;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < count; c++)
            acc[r][c] = vf_mul(vf_load(t->rows[row + (uint32_t)r].acc + i + c * VW), vf_set(keep[r]));
    for (uint32_t j = v->from; j < v->to; j++) {
        const void *at = v->first + j * v->stride;
        const float *f = (const float *)at + i;
        const uint16_t *h = (const uint16_t *)at + i;
        vf weight[VALUE_ROWS];
        if (halves) ask_for(ask, ((uint32_t)count * VW + 31) / 32);
        for (int r = 0; r < n; r++) weight[r] = vf_set(p[(uint32_t)r * BLOCK + j]);
        for (int c = 0; c < count; c++) {
            vf value = halves ? vf_load_half(h + c * VW) : vf_load(f + c * VW);
            for (int r = 0; r < n; r++) acc[r][c] = vf_fma(weight[r], value, acc[r][c]);
        }
    }
    for (int r = 0; r < n; r++)
        for (int c = 0; c < count; c++) vf_store(t->rows[row + (uint32_t)r].acc + i + c * VW, acc[r][c]);
}

NPU_INLINE void add_all(const attn_tile *t, const attn_values *v, attn_ask *ask, uint32_t row, int n, int halves) {
    uint32_t i = 0;
    if (n == 1)
        for (; i + 8 * VW <= t->width; i += 8 * VW) add_values(t, v, ask, row, i, n, 8, halves);
    for (; i + 4 * VW <= t->width; i += 4 * VW) add_values(t, v, ask, row, i, n, 4, halves);
    for (; i < t->width; i += VW) add_values(t, v, ask, row, i, n, 1, halves);
}

NPU_INLINE void add_rows_of(const attn_tile *t, const attn_values *v, attn_ask *ask, uint32_t row, uint32_t n,
                            int halves) {
#define ADD(rows) add_all(t, v, ask, row, rows, halves)
    ADD_VALUE_ROWS(n, ADD)
#undef ADD
}

/* Rows |row| to before |end_row|, of one head; those that see the same keys of the block are taken together, up to
 * VALUE_ROWS of them. */
static void take_values(const attn_tile *t, uint32_t row, uint32_t end_row, uint32_t block, attn_values *v,
                        attn_ask *ask) {
    for (uint32_t n; row < end_row; row += n ? n : 1) {
        n = rows_together(t, row, row + VALUE_ROWS < end_row ? row + VALUE_ROWS : end_row, block, &v->from, &v->to);
        if (!n) continue;
        if (v->halves)
            add_rows_of(t, v, ask, row, n, 1);
        else
            add_rows_of(t, v, ask, row, n, 0);
    }
}
