/* FLASH_ATTN on vectors, one block of 32 keys. A template as kernels_map.h; used by kernels_attn.h, which says what a
 * tile is. The contract is numerics.md §7.
 *
 * Few rows: kernels_attn_few.h, where reading the cache is the cost; many rows: kernels_attn_many.h, where the products
 * are. Values are converted once for many rows and on the fly for few.
 *
 * The cache is [D, heads, cells]: a tile of few rows has all of a thread's KV heads, so that it reads each cell's row
 * as one piece. Alone, the short piece of one head out of each long row takes half of the memory's speed at most.
 */
#include "target/host/vec/kernels_floats.h"

enum { CHUNK = 1024, BLOCK = 32, TILE = 192, FEW = 8, BLOCK_VECTORS = BLOCK / VW };

/* Blocks that many rows take at a time: their queries and what they accumulate are read once for all of them. */
enum { STEP_BLOCKS = 2, STEP = STEP_BLOCKS * BLOCK };
_Static_assert(CHUNK % STEP == 0, "a chunk is whole steps");

/* Values that are at work together, and those that lie together: whole blocks of any format that a cache may have,
 * which are converted as a whole. */
enum { VALUES = 4 * VW, FORMAT_BLOCK = 32, PANEL = VALUES < FORMAT_BLOCK ? FORMAT_BLOCK : VALUES };
/* Values that many rows take in one pass over them: with STEP keys half of the first level. */
enum { PASS = 64 };
_Static_assert(PASS % PANEL == 0, "a pass is whole panels");
_Static_assert(PANEL % VALUES == 0 && PANEL % FORMAT_BLOCK == 0, "a panel is whole steps and whole blocks of a format");

/* Rows that are at work together where lanes are rows. */
enum { GROUP_ROWS = ROW_VECTORS * VW };
_Static_assert(TILE % GROUP_ROWS == 0, "a tile is whole groups of rows");

/* One (query row, head) of a tile. */
typedef struct attn_row {
    const float *q;
    float *y;
    const uint8_t *mask;
    const float *sink;
    float slope;
    uint32_t n, lo; /* keys; first visible */
    uint32_t kv_head;
    float m_all, l_all;   /* of the chunks before this one */
    float *acc, *acc_all; /* of this chunk and of those before; |width| floats each */
    float *part;          /* where results of chunks go; NULL = to acc_all */
} attn_row;

/* Lines of the tile's heads in a block's values and the next block's keys, behind the last block in the keys that the
 * next tile begins with, which are asked for while the block's keys and values are at work, in the order in which they
 * lie; the first head's alone where heads don't lie side by side. Evenly: more at a time than a core can wait for would
 * hold up its own loads. */
typedef struct attn_lines {
    const uint8_t *row;
    uint64_t stride;
    uint32_t line, lines, rows; /* of the row; all in it; rows from this one on. Rows without gaps are one */
} attn_lines;

typedef struct attn_ask {
    attn_lines now, next;
} attn_ask;

/* Scratch of one thread. */
typedef struct attn_tile {
    const npu_host_call *call;
    uint32_t d, dv, width; /* |width|: dv rounded up to whole vectors */
    uint32_t n_rows;
    uint32_t piece[3]; /* bytes of one head in a row of keys [1] and of values [2]; a stride may be anything */
    bool few;          /* rows of any one KV head; only then there may be several heads, one after the other */
    uint32_t kv_head;  /* at hand */
    uint64_t first;    /* first cell of the spans */
    attn_lines then;   /* what the next tile of few rows turns first */
    float *keys, *turned, *values, *p, *acc, *queries;
    uint16_t *halves; /* turned keys that were not converted */
    attn_row rows[TILE];
    uint32_t all_from, all_to;      /* keys that all rows see */
    bool skips;                     /* a row takes nothing of a block of this step */
    float m[TILE], l[TILE];         /* of the chunk */
    float keep[STEP_BLOCKS * TILE]; /* for each block: factor for what was before it, negative: nothing new */
    float top[TILE];                /* largest score of a block that all rows see, but for NaN */
} attn_tile;

static uint32_t attn_round(uint32_t n) {
    return (n + 15) / 16 * 16;
}

static uint32_t attn_panels(uint32_t n) {
    return (n + PANEL - 1) / PANEL * PANEL;
}

static inline bool is_few(const attn_tile *t) {
    return t->few;
}

/* Masks differ from row to row: they are added where lanes are keys. */
static inline bool is_many(const attn_tile *t) {
    return !is_few(t) && !t->call->src[4].data;
}

/* A row of the next block is asked for between other work. Rows of one head lie apart, so that no machine reads them
 * ahead by itself. */
static inline void ask_for_row(const attn_tile *t, int src, uint32_t j, uint32_t end) {
    if (j >= end) return;
    const uint8_t *row = npu_host_at(&t->call->src[src], t->kv_head, t->first + j, 0);
    for (uint32_t i = 0; i < t->piece[src]; i += 64) __builtin_prefetch(row + i, 0, 2);
}

/* Of |heads| heads from |head| on, the rows of |keys| keys from |cell| on. */
static attn_lines lines_at(const attn_tile *t, int src, uint32_t head, uint32_t heads, uint64_t cell, uint32_t keys) {
    const npu_host_operand *o = &t->call->src[src];
    uint32_t bytes = o->t.nb[1] == t->piece[src] ? heads * t->piece[src] : t->piece[src];
    attn_lines a = {.row = npu_host_at(o, head, cell, 0), .stride = o->t.nb[2], .rows = 1};
    if (bytes == a.stride)
        bytes *= keys;
    else
        a.rows = keys;
    a.lines = (bytes + 63) / 64;
    return a;
}

static attn_lines lines_of(const attn_tile *t, int src, uint32_t block, uint32_t end) {
    if (block >= end || !t->n_rows) return (attn_lines){0};
    uint32_t first = t->rows[0].kv_head, heads = t->rows[t->n_rows - 1].kv_head - first + 1;
    return lines_at(t, src, first, heads, t->first + block, end - block < BLOCK ? end - block : BLOCK);
}

/* The next |lines|, a constant where it is called. */
NPU_INLINE void ask_for(attn_ask *a, uint32_t lines) {
    if (a->now.lines - a->now.line >= lines) {
        for (size_t i = 0; i < lines; i++) __builtin_prefetch(a->now.row + (a->now.line + i) * 64, 0, 2);
        a->now.line += lines;
        return;
    }
    for (; lines; lines--) {
        if (a->now.line == a->now.lines) {
            if (a->now.rows > 1) {
                a->now.row += a->now.stride;
                a->now.line = 0;
                a->now.rows--;
            } else {
                a->now = a->next;
                a->next = (attn_lines){0};
                if (!a->now.rows) return;
            }
        }
        __builtin_prefetch(a->now.row + (size_t)a->now.line++ * 64, 0, 2);
    }
}

static inline uint32_t next_head(const attn_tile *t, uint32_t row) {
    uint32_t next = row + 1;
    while (next < t->n_rows && t->rows[next].kv_head == t->rows[row].kv_head) next++;
    return next;
}

/* What one row sees of |count| keys from |key| on: from .. to - 1, counted from |key|; nothing when from >= to. */
static inline void visible(const attn_row *r, uint32_t key, uint32_t count, uint32_t *from, uint32_t *to) {
    *from = r->lo > key ? r->lo - key : 0;
    *to = r->n <= key ? 0 : r->n - key < count ? r->n - key : count;
}

/* add(n) with n, 1 to VALUE_ROWS, as a constant. */
#define ADD_VALUE_ROWS(n, add)       \
    switch (n) {                     \
    case 4:                          \
        add(VALUE_ROWS < 4 ? 1 : 4); \
        break;                       \
    case 3:                          \
        add(VALUE_ROWS < 3 ? 1 : 3); \
        break;                       \
    case 2:                          \
        add(VALUE_ROWS < 2 ? 1 : 2); \
        break;                       \
    default:                         \
        add(1);                      \
        break;                       \
    }

/* exp of |n| vectors of numbers that are not above 0, or NaN: what vf_exp gives, without its care for large ones. What
 * is below NPU_EXP_MIN gives anything on the way and 0 in the end. 127, the exponent's offset, is in what rounds: no x
 * in range makes x * NPU_LOG2E end in .5, so that it does not matter whether the number that it rounds to is even. Each
 * step is taken for all |n|, a constant where it is called: one after the other they would fill a core's queue with
 * steps that wait. */
NPU_INLINE void vf_exp_below_all(vf *x, int n) {
    vf magic = vf_set(NPU_ROUND_MAGIC + 127), t[4], r[4], y[4];
    for (int i = 0; i < n; i++) t[i] = vf_fma(x[i], vf_set(NPU_LOG2E), magic);
    for (int i = 0; i < n; i++) y[i] = vf_sub(t[i], magic);
    for (int i = 0; i < n; i++) r[i] = vf_fma(y[i], vf_set(-NPU_LN2_HI), x[i]);
    for (int i = 0; i < n; i++) r[i] = vf_fma(y[i], vf_set(-NPU_LN2_LO), r[i]);
    for (int i = 0; i < n; i++) y[i] = vf_fma(r[i], vf_set(NPU_EXP_C4), vf_set(NPU_EXP_C3));
    for (int i = 0; i < n; i++) y[i] = vf_fma(y[i], r[i], vf_set(NPU_EXP_C2));
    for (int i = 0; i < n; i++) y[i] = vf_fma(y[i], r[i], vf_set(NPU_EXP_C1));
    for (int i = 0; i < n; i++) y[i] = vf_fma(y[i], r[i], vf_set(NPU_EXP_C0));
    for (int i = 0; i < n; i++) y[i] = vf_fma(y[i], vf_mul(r[i], r[i]), r[i]);
    for (int i = 0; i < n; i++) t[i] = vi_float(vi_shl(vf_bits(t[i]), 23));
    for (int i = 0; i < n; i++) y[i] = vf_fma(y[i], t[i], t[i]);
    for (int i = 0; i < n; i++) x[i] = vf_zero_where(vf_lt(x[i], vf_set(NPU_EXP_MIN)), y[i]);
}

static inline vf vf_exp_below(vf x) {
    vf_exp_below_all(&x, 1);
    return x;
}

#include "target/host/vec/kernels_attn_few.h"
#include "target/host/vec/kernels_attn_many.h"

static void take_block(attn_tile *t, uint32_t block, uint32_t end) {
    uint32_t count = end - block < BLOCK ? end - block : BLOCK;
    attn_ask ask = {lines_of(t, 2, block, end), block + BLOCK < end ? lines_of(t, 1, block + BLOCK, end) : t->then};
    weigh_few(t, block, count, &ask);
    for (uint32_t row = 0, next; row < t->n_rows; row = next) {
        bool any = false;
        next = next_head(t, row);
        t->kv_head = t->rows[row].kv_head;
        for (uint32_t r = row; r < next; r++) any |= !(t->keep[r] < 0);
        if (!any) continue;
        attn_values v = values_of(t, block, count, end, &ask);
        take_values(t, row, next, block, &v, &ask);
    }
}
