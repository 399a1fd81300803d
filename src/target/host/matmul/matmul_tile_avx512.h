/* The panel products of MUL_MAT on AVX-512 with VNNI: tiles of 32 weight rows and up to 6 activation rows, whose sums
 * all stay in registers. Included by matmul_avx512.c, in place of the plain |panel| of matmul_kernel.h, and by
 * matmul_amx.c.
 */
#ifndef NPU_MATMUL_TILE_AVX512_H
#define NPU_MATMUL_TILE_AVX512_H

#include "target/host/matmul/matmul_kernel.h"

enum { STRIP = NPU_MM_STRIP };

/* A block of 16 rows in a panel is the vectors w[8], scale, then by kind: min | sc0, sc1 | sc | sc, min, mn. */
NPU_INLINE uint32_t vectors_of(wkind kind) {
    const uint8_t n[KIND_COUNT] = {9, 10, 11, 10, 12};
    return n[kind];
}

/* Codes of formats that have an offset get |offset|, so that one product serves all formats of a kind. */
NPU_INLINE void put_block(const wformat *f, const wblock *o, int offset, __m512i *v) {
    const __m512i more = _mm512_set1_epi8((char)(f->offset ? offset - f->offset : 0));
    for (int j = 0; j < 8; j++) v[j] = f->offset ? _mm512_add_epi8(o->w[j], more) : o->w[j];
    v[8] = _mm512_castps_si512(o->scale);
    if (f->kind == KIND_MIN) v[9] = _mm512_castps_si512(o->min);
    if (f->kind == KIND_TWO) {
        v[9] = _mm512_castps_si512(_mm512_cvtepi32_ps(o->sc0));
        v[10] = _mm512_castps_si512(_mm512_cvtepi32_ps(o->sc1));
    }
    if (f->kind == KIND_PAIR || f->kind == KIND_PAIR_MIN) v[9] = o->sc;
    if (f->kind == KIND_PAIR_MIN) {
        v[10] = _mm512_castps_si512(o->min);
        v[11] = o->mn;
    }
}

NPU_INLINE void put_unsigned(const wformat *f, const wblock *o, __m512i *v) {
    put_block(f, o, 128, v);
}

/* Columns |first| … of the activations against |blocks| blocks of a panel of 2 x 16 weight rows. */
typedef struct mm_tile {
    const __m512i *panel;
    uint32_t blocks;
    const npu_mm_act *a; /* first column, first block */
    uint64_t a_stride;   /* columns apart */
    float *const *y;
    uint32_t n;        /* first weight row */
    int begin;         /* y holds nothing yet */
    const float *bias; /* not NULL: the last blocks of a row; add it */
    __mmask16 mask[2];
} mm_tile;

/* What a panel is: vectors of a block, what fills them, and all activation rows against the panel in |t|. */
typedef struct mm_panel {
    uint32_t (*vectors)(wkind kind);
    void (*put)(const wformat *f, const wblock *o, __m512i *v);
    void (*columns)(wkind kind, mm_tile t, uint32_t rows);
} mm_panel;

enum { MAX_COLUMNS = 6, MAX_COLUMNS_TWO = 4 }; /* as many accumulators as registers allow */

NPU_INLINE void dots(const __m512i *w0, const __m512i *w1, const int8_t *q, uint64_t q_stride, int columns,
                     __m512i sum[2][MAX_COLUMNS]) {
    NPU_UNROLL
    for (int j = 0; j < 4; j++) {
        NPU_UNROLL
        for (int c = 0; c < columns; c++) {
            __m512i x = broadcast4(q + c * q_stride + 4 * j);
            sum[0][c] = _mm512_dpbusd_epi32(sum[0][c], w0[j], x);
            sum[1][c] = _mm512_dpbusd_epi32(sum[1][c], w1[j], x);
        }
    }
}

/* The integer sum of a block |r| from those of its halves, which have scales of their own. Floats are exact here (all
 * is below 2^24), and two of their operations take the time of a product of words. */
NPU_INLINE __m512 join_halves(wkind kind, const __m512i *r, __m512i low, __m512i high) {
    if (kind != KIND_TWO) return _mm512_cvtepi32_ps(v_dot16(v_pair(low, high), r[9]));
    __m512 first = _mm512_mul_ps(_mm512_cvtepi32_ps(low), _mm512_castsi512_ps(r[9]));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_castsi512_ps(r[10]), first);
}

/* Adds the integer sum of a block |r| with the activations |a|, scaled. */
NPU_INLINE __m512 add_block(wkind kind, const __m512i *r, const npu_mm_act *a, __m512 sum, __m512 acc) {
    __m512 d = _mm512_set1_ps(a->d);
    acc = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_castsi512_ps(r[8]), d), sum, acc);
    if (kind == KIND_MIN) acc = _mm512_fmadd_ps(_mm512_castsi512_ps(r[9]), _mm512_set1_ps(a->s), acc);
    if (kind == KIND_PAIR_MIN) {
        __m512i mins = _mm512_dpwssd_epi32(_mm512_setzero_si512(), r[11], broadcast4(&a->b0));
        acc = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_castsi512_ps(r[10]), d), _mm512_cvtepi32_ps(mins), acc);
    }
    return acc;
}

NPU_INLINE void tile_block(wkind kind, int columns, const __m512i *v, const npu_mm_act *a, uint64_t a_stride,
                           __m512 acc[2][MAX_COLUMNS]) {
    const __m512i *r[2] = {v, v + vectors_of(kind)};
    const int offset = kind == KIND_MIN || kind == KIND_PAIR_MIN ? 0 : 128;
    __m512i sum[2][MAX_COLUMNS];
    __m512 total[2][MAX_COLUMNS];
    if (kind == KIND_PLAIN || kind == KIND_MIN) {
        NPU_UNROLL
        for (int c = 0; c < columns; c++) sum[0][c] = sum[1][c] = start_of(&a[c * a_stride].n, offset);
        dots(r[0], r[1], a->q, a_stride * sizeof *a, columns, sum);
        dots(r[0] + 4, r[1] + 4, a->q + 16, a_stride * sizeof *a, columns, sum);
        NPU_UNROLL
        for (int i = 0; i < 2 * columns; i++) total[i % 2][i / 2] = _mm512_cvtepi32_ps(sum[i % 2][i / 2]);
    } else {
        __m512i high[2][MAX_COLUMNS];
        NPU_UNROLL
        for (int c = 0; c < columns; c++) sum[0][c] = sum[1][c] = start_of(&a[c * a_stride].n_low, offset);
        dots(r[0], r[1], a->q, a_stride * sizeof *a, columns, sum);
        NPU_UNROLL
        for (int c = 0; c < columns; c++) high[0][c] = high[1][c] = start_of(&a[c * a_stride].n_high, offset);
        dots(r[0] + 4, r[1] + 4, a->q + 16, a_stride * sizeof *a, columns, high);
        NPU_UNROLL
        for (int i = 0; i < 2 * columns; i++)
            total[i % 2][i / 2] = join_halves(kind, r[i % 2], sum[i % 2][i / 2], high[i % 2][i / 2]);
    }
    NPU_UNROLL
    for (int i = 0; i < 2 * columns; i++)
        acc[i % 2][i / 2] = add_block(kind, r[i % 2], &a[i / 2 * a_stride], total[i % 2][i / 2], acc[i % 2][i / 2]);
}

NPU_INLINE void tile(wkind kind, int columns, const mm_tile *t) {
    __m512 acc[2][MAX_COLUMNS];
    NPU_UNROLL
    for (int i = 0; i < 2 * columns; i++) {
        acc[i % 2][i / 2] = t->begin ? _mm512_setzero_ps()
                                     : _mm512_maskz_loadu_ps(t->mask[i % 2], t->y[i / 2] + t->n + LANES * (i % 2));
    }
    const __m512i *v = t->panel;
    const npu_mm_act *a = t->a;
    for (uint32_t b = 0; b < t->blocks; b++, a++, v += 2 * vectors_of(kind)) {
        tile_block(kind, columns, v, a, t->a_stride, acc);
    }
    NPU_UNROLL
    for (int i = 0; i < 2 * columns; i++) {
        int g = i % 2, c = i / 2;
        __m512 y = acc[g][c];
        if (t->bias) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(t->mask[g], t->bias + t->n + LANES * g));
        _mm512_mask_storeu_ps(t->y[c] + t->n + LANES * g, t->mask[g], y);
    }
}

typedef void tile_fn(const mm_tile *t);

#define MM_TILE(name, kind, columns)                 \
    static void name##_##columns(const mm_tile *t) { \
        tile(kind, columns, t);                      \
    }
#define MM_TILES_4(name, kind) \
    MM_TILE(name, kind, 1) MM_TILE(name, kind, 2) MM_TILE(name, kind, 3) MM_TILE(name, kind, 4)
#define MM_TILES_6(name, kind) MM_TILES_4(name, kind) MM_TILE(name, kind, 5) MM_TILE(name, kind, 6)
MM_TILES_6(plain, KIND_PLAIN)
MM_TILES_6(min, KIND_MIN)
MM_TILES_4(two, KIND_TWO)
MM_TILES_4(pair, KIND_PAIR)
MM_TILES_4(pair_min, KIND_PAIR_MIN)
#undef MM_TILE
#undef MM_TILES_4
#undef MM_TILES_6

static tile_fn *const tiles[KIND_COUNT][MAX_COLUMNS] = {
    [KIND_PLAIN] = {plain_1, plain_2, plain_3, plain_4, plain_5, plain_6},
    [KIND_MIN] = {min_1, min_2, min_3, min_4, min_5, min_6},
    [KIND_TWO] = {two_1, two_2, two_3, two_4},
    [KIND_PAIR] = {pair_1, pair_2, pair_3, pair_4},
    [KIND_PAIR_MIN] = {pair_min_1, pair_min_2, pair_min_3, pair_min_4},
};

/* All activation rows against the panel, as evenly as can be over as few tiles as can be. */
static void all_columns(wkind kind, mm_tile t, uint32_t rows) {
    uint32_t most = kind == KIND_PLAIN || kind == KIND_MIN ? MAX_COLUMNS : MAX_COLUMNS_TWO;
    uint32_t parts = (rows + most - 1) / most;
    for (uint32_t i = 0, at = 0; i < parts; i++) {
        uint32_t columns = (rows - at) / (parts - i);
        tiles[kind][columns - 1](&t);
        at += columns;
        t.a += columns * t.a_stride;
        t.y += columns;
    }
}

/* One unit of 16 weight rows into |to|, where two groups of 16 take turns. */
NPU_INLINE void unpack_unit(const mm_panel *p, const wformat *f, const wrows *r, __m512i *to) {
    wunit u;
    u.quads = 0;
    f->head(&u, r);
    NPU_UNROLL
    for (int b = 0; b < (int)f->unit_blocks; b++, to += 2 * p->vectors(f->kind)) {
        wblock o;
        block_of(f, &u, r, b, &o);
        p->put(f, &o, to);
    }
}

/* Unpacks |units| units of 32 weight rows. */
NPU_INLINE void unpack(const mm_panel *form, const wformat *f, const uint8_t *p, uint64_t stride, uint32_t units,
                       const uint8_t *next, __m512i *v) {
    for (uint32_t i = 0; i < units; i++, p += f->unit_bytes, next += STRIP * f->unit_bytes) {
        prefetch(next, STRIP * f->unit_bytes);
        for (uint32_t g = 0; g < 2; g++) {
            wrows r = rows_at(p + g * LANES * stride, stride);
            unpack_unit(form, f, &r, v + (2 * i * f->unit_blocks + g) * form->vectors(f->kind));
        }
    }
}

/* The same of two packed strips of 16. |next|: what is unpacked after that, after all products with this. */
NPU_INLINE void unpack_packed(const mm_panel *form, const wformat *f, const uint8_t *const p[2],
                              const uint8_t *const next[2], uint32_t units, __m512i *v) {
    for (uint32_t i = 0; i < units; i++) {
        for (uint32_t g = 0; g < 2; g++) {
            prefetch(next[g] + (uint64_t)i * NPU_MM_PACK_ROWS * f->unit_bytes, NPU_MM_PACK_ROWS * f->unit_bytes);
            wrows r = packed_at(p[g] + (uint64_t)i * NPU_MM_PACK_ROWS * f->unit_bytes, 0);
            unpack_unit(form, f, &r, v + (2 * i * f->unit_blocks + g) * form->vectors(f->kind));
        }
    }
}

/* A chunk of 32 weight rows is unpacked once, into L1, for all activation rows. */
NPU_INLINE void panel_with(const mm_panel *form, const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1,
                           uint8_t *scratch) {
    uint32_t units = task->blocks / f->unit_blocks, chunk = CHUNK / f->unit_blocks;
    __m512i *v = (__m512i *)scratch;
    for (uint32_t n = n0; n < n1; n += STRIP) {
        uint32_t count = n1 - n < STRIP ? n1 - n : STRIP;
        uint64_t stride = 0;
        const uint8_t *p = NULL, *next = NULL;
        if (!task->packed) {
            p = strip_of(task, n, count, STRIP, (uint64_t)units * f->unit_bytes, scratch + NPU_MM_PANEL_BYTES, &stride);
            next = n + STRIP < n1 ? p + STRIP * stride : task->after;
        }
        uint32_t rows_mask = (uint32_t)((1ull << count) - 1);
        mm_tile t = {v, .a_stride = task->blocks, .n = n, .mask = {(__mmask16)rows_mask, (__mmask16)(rows_mask >> 16)}};
        for (uint32_t i = 0; i < units; i += chunk) {
            uint32_t here = units - i < chunk ? units - i : chunk;
            uint64_t at = (uint64_t)i * f->unit_bytes;
            if (task->packed) { /* results of a second strip that isn't there are not stored */
                const uint8_t *first = packed_rows(f, task, n).p[0] + NPU_MM_PACK_ROWS * at;
                const uint8_t *second =
                    count > LANES ? packed_rows(f, task, n + LANES).p[0] + NPU_MM_PACK_ROWS * at : first;
                const uint64_t strip = (uint64_t)units * NPU_MM_PACK_ROWS * f->unit_bytes;
                const uint64_t ahead = i + here < units ? (uint64_t)here * NPU_MM_PACK_ROWS * f->unit_bytes
                                                        : 2 * strip - NPU_MM_PACK_ROWS * at;
                const int more = i + here < units || n + STRIP < n1;
                const uint8_t *next_first = more ? first + ahead : first, *next_second = more ? second + ahead : first;
                unpack_packed(form, f, (const uint8_t *const[]){first, second},
                              (const uint8_t *const[]){next_first, next_second}, here, v);
            } else {
                unpack(form, f, p + at, stride, here, next + STRIP * at, v);
            }
            t.blocks = here * f->unit_blocks;
            t.begin = i == 0;
            t.bias = i + here == units ? task->bias : NULL;
            t.a = task->acts + (uint64_t)i * f->unit_blocks;
            t.y = task->y;
            form->columns(f->kind, t, task->rows);
        }
    }
}

static const mm_panel vector_panel = {vectors_of, put_unsigned, all_columns};

NPU_INLINE void panel_vectors(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    panel_with(&vector_panel, f, task, n0, n1, scratch);
}

#endif
