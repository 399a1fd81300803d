/* FLASH_ATTN on vectors: a block of keys for few query rows, and its values for these and for masked ones. A template
 * as kernels_map.h; part of kernels_attn_block.h. Lanes are keys: they are turned ([D][32]), halves as halves where the
 * machine can (half of the shuffles, and no floats written and read again), because with few rows the products cost
 * less than what it takes to read and turn the keys.
 */
/* Eighths of the lines that a step uses, which it asks for. Multiplying and weighing take as long as turning, so that
 * the work on keys asks for its block's values and some of the next keys, and the work on values for the rest. */
enum { ASK_TURNING = 6, ASK_PRODUCTS = 5, ASK_VALUES = 6, RUN = 8 };

static inline uint32_t ask_lines(uint32_t values, uint32_t eighths) {
    return (values * eighths + 255) / 256;
}

#ifdef VEC_TURN_HALVES
/* Where column |i|, a multiple of RUN, of the turned halves of vector |v| begins; TURNED_STEP behind it are those of
 * the next, for RUN of them. */
static inline uint16_t *turned_halves(const attn_tile *t, uint32_t v, uint32_t i) {
    return t->halves + (size_t)(i / TURNED * BLOCK_VECTORS + v) * (TURNED * VW) + vec_turned(i % TURNED);
}

/* Whole blocks are turned where they lie; the rows of a last one are copied, because nothing behind them may be read.
 */
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
        for (uint32_t i = 0; i < t->d; i += TURNED) {
            ask_for(ask, ask_lines(VW * TURNED, ASK_TURNING));
            vec_turn_halves(rows + v * VW * stride + 2 * i, stride, t->d - i < TURNED ? t->d - i : TURNED,
                            turned_halves(t, v, i));
        }
    }
}
static bool can_turn_halves(const attn_tile *t) {
    return t->call->src[1].t.type == NPU_TYPE_F16 && t->d % 2 == 0;
}
#else
enum { TURNED = 1, TURNED_STEP = 1 };
static inline uint16_t *turned_halves(const attn_tile *t, uint32_t v, uint32_t i) {
    (void)v, (void)i;
    return t->halves;
}
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

/* Sums of products with the block's keys, scaled, for |n| rows from |row|, and the largest of each; n and |halves| are
 * constants where it is called. */
NPU_INLINE void dot_rows(attn_tile *t, uint32_t row, attn_ask *ask, int n, int halves) {
    vf s[VROWS][BLOCK_VECTORS], scale = vf_set(t->call->op->params.attn.scale);
    const float *q[VROWS], *f = t->turned;
    for (int r = 0; r < n; r++) q[r] = t->rows[row + (uint32_t)r].q;
    for (int r = 0; r < n; r++)
        for (int v = 0; v < BLOCK_VECTORS; v++) s[r][v] = vf_set(0.0f);
    for (uint32_t from = 0, columns; from < t->d; from += columns) {
        const uint16_t *h = turned_halves(t, 0, from);
        columns = halves && t->d - from > RUN ? RUN : t->d - from;
        if (halves) ask_for(ask, ask_lines(BLOCK * RUN, ASK_PRODUCTS));
        for (size_t i = 0; i < columns; i++, f += BLOCK, h += TURNED_STEP) {
            vf x[VROWS];
            for (int r = 0; r < n; r++) x[r] = vf_set(q[r][i]);
            for (int v = 0; v < BLOCK_VECTORS; v++) {
                vf key = halves ? vf_load_half(h + v * (TURNED * VW)) : vf_load(f + v * VW);
                for (int r = 0; r < n; r++) s[r][v] = vf_fma(x[r], key, s[r][v]);
            }
        }
        for (int r = 0; r < n; r++) q[r] += columns;
    }
    for (int r = 0; r < n; r++) {
        float *p = t->p + (row + (size_t)r) * BLOCK;
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            s[r][v] = vf_mul(s[r][v], scale);
            vf_store(p + v * VW, s[r][v]);
        }
        vf top = s[r][0];
        for (int v = 1; v < BLOCK_VECTORS; v++) top = vf_max(s[r][v], top);
        t->top[row + (uint32_t)r] = vf_top(top);
    }
}

_Static_assert(VROWS <= 4, "dot_all takes apart what is less than VROWS by hand");

/* Rows at once hide the latency of the sums and share the keys' conversion: as evenly as can be, so of VROWS + 1 not
 * one is left alone where VROWS is more than 2. */
NPU_INLINE void dot_all(attn_tile *t, uint32_t row, uint32_t end_row, attn_ask *ask, int halves) {
    for (uint32_t n; row < end_row; row += n) {
        uint32_t left = end_row - row;
        n = left == VROWS + 1 ? VROWS / 2 + 1 : left < VROWS ? left : VROWS;
        switch (n) {
        case 1:
            dot_rows(t, row, ask, 1, halves);
            break;
        case 2:
            dot_rows(t, row, ask, VROWS < 2 ? 1 : 2, halves);
            break;
        case 3:
            dot_rows(t, row, ask, VROWS < 3 ? 1 : 3, halves);
            break;
        default:
            dot_rows(t, row, ask, VROWS, halves);
            break;
        }
    }
}

static inline vf add_mask(const attn_tile *t, const attn_row *r, uint32_t j, uint32_t end, vf s) {
    float values[VW] = {0};
    for (uint32_t i = 0; i < VW && j + i < end; i++) values[i] = npu_ref_mask(&t->call->src[4], r->mask, j + i);
    return vf_add(s, vf_mul(vf_set(r->slope), vf_load(values)));
}

/* Sums of products of a row, scaled, become scores with what is left: softcap, mask, and -Inf where it does not see the
 * key. Returns the largest, NaN when one is. */
static float score(const attn_tile *t, uint32_t row, uint32_t block, uint32_t from, uint32_t to) {
    const attn_row *r = &t->rows[row];
    float *p = t->p + (size_t)row * BLOCK, softcap = t->call->op->params.attn.softcap;
    vf top = vf_set(-NPU_F32_INF), cap = vf_set(softcap);
    vm nan = vm_first(0);
    for (int base = 0; base < BLOCK; base += VW) {
        vm seen = vm_and_not(vm_first((int)to - base), vm_first((int)from - base));
        vf s = vf_load(p + base);
        if (softcap != 0) s = vf_mul(cap, vf_tanh(vf_div(s, cap)));
        if (r->mask) s = add_mask(t, r, block + (uint32_t)base, block + to, s);
        s = vf_select(seen, s, vf_set(-NPU_F32_INF));
        nan = vm_or(nan, vf_nan(s));
        top = vf_max(s, top);
        vf_store(p + base, s);
    }
    return vm_any(nan) ? NPU_F32_NAN : vf_top(top);
}

/* The row's scores, and its m, which moves on. Returns the factor for what was accumulated before, or a negative number
 * when the block adds nothing. Where there is nothing to do to scores t->top is right but for a NaN: the p of one is
 * NaN, and so is l from then on. */
static float move_top(attn_tile *t, uint32_t row, uint32_t block) {
    const attn_row *r = &t->rows[row];
    float m = t->m[row], top = t->top[row];
    uint32_t from, to;
    visible(r, block, BLOCK, &from, &to);
    if (from >= to) return -1;
    if (to - from < BLOCK || r->mask || t->call->op->params.attn.softcap != 0 || !(top > -NPU_F32_INF))
        top = score(t, row, block, from, to);
    float m_new = npu_maxf(m, top);
    if (m_new == -NPU_F32_INF) return -1;
    t->m[row] = m_new;
    return m_new == m ? 1 : npu_expf(m - m_new); /* exp(0) is 1; most blocks have no new maximum */
}

enum { EXP_VECTORS = BLOCK_VECTORS < 4 ? BLOCK_VECTORS : 4 };

/* Scores of a row become p; l of the row moves on. */
static void weigh(attn_tile *t, uint32_t row) {
    float *p = t->p + (size_t)row * BLOCK;
    vf s[BLOCK_VECTORS], m = vf_set(t->m[row]);
    for (int v = 0; v < BLOCK_VECTORS; v++) s[v] = vf_sub(vf_load(p + v * VW), m);
    for (int v = 0; v < BLOCK_VECTORS; v += EXP_VECTORS) vf_exp_below_all(s + v, EXP_VECTORS);
    for (int v = 0; v < BLOCK_VECTORS; v++) vf_store(p + v * VW, s[v]);
    t->l[row] = npu_fmaf(t->l[row], t->keep[row], fold32(s));
}

/* Each step for all rows of a head: one row's steps wait for each other, different rows' do not. */
static void weigh_few(attn_tile *t, uint32_t block, uint32_t count, attn_ask *ask) {
    for (uint32_t row = 0, next; row < t->n_rows; row = next) {
        next = next_head(t, row);
        t->kv_head = t->rows[row].kv_head;
        turn_keys(t, block, count, ask);
        if (can_turn_halves(t))
            dot_all(t, row, next, ask, 1);
        else
            dot_all(t, row, next, ask, 0);
        for (uint32_t r = row; r < next; r++) t->keep[r] = move_top(t, r, block);
        for (uint32_t r = row; r < next; r++)
            if (!(t->keep[r] < 0)) weigh(t, r);
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
    enum { AT_ONCE = 4 }; /* keys between lines that are asked for */
    vf acc[VALUE_ROWS][8];
    const uint8_t *at = v->first + v->from * v->stride + i * (halves ? sizeof(uint16_t) : sizeof(float));
    const float *p = t->p + (size_t)row * BLOCK + v->from, *keep = t->keep + row;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < count; c++)
            acc[r][c] = vf_mul(vf_load(t->rows[row + (uint32_t)r].acc + i + c * VW), vf_set(keep[r]));
    for (uint32_t left = v->to - v->from, keys; left; left -= keys) {
        keys = left < AT_ONCE ? left : AT_ONCE;
        if (halves) ask_for(ask, ask_lines((uint32_t)count * VW * AT_ONCE, ASK_VALUES));
        for (uint32_t j = 0; j < keys; j++, at += v->stride, p++) {
            const void *key = at;
            const float *f = key;
            const uint16_t *h = key;
            vf weight[VALUE_ROWS];
            for (int r = 0; r < n; r++) weight[r] = vf_set(p[r * BLOCK]);
            for (int c = 0; c < count; c++) {
                vf value = halves ? vf_load_half(h + c * VW) : vf_load(f + c * VW);
                for (int r = 0; r < n; r++) acc[r][c] = vf_fma(weight[r], value, acc[r][c]);
            }
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

/* How many rows from |row| on, at most up to before |end|, take the same values of a block, those of the keys from ..
 * to - 1; 0 when |row| takes none. */
static inline uint32_t rows_together(const attn_tile *t, uint32_t row, uint32_t end, uint32_t block, uint32_t *from,
                                     uint32_t *to) {
    visible(&t->rows[row], block, BLOCK, from, to);
    if (t->keep[row] < 0 || *from >= *to) return 0;
    uint32_t n = 1;
    for (; row + n < end && !(t->keep[row + n] < 0); n++) {
        uint32_t next_from, next_to;
        visible(&t->rows[row + n], block, BLOCK, &next_from, &next_to);
        if (next_from != *from || next_to != *to) break;
    }
    return n;
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
