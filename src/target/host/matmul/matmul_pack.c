/* Weights of MUL_MAT packed for the vector kernels (matmul.h says how). Knows of a format only where its words are.
 * Called by whoever keeps packed weights: the host target, the tests.
 */
#include <string.h>

#include "target/host/matmul/matmul.h"
#include "wire/format.h"

/* A run of a unit's bytes: 32-bit words, then perhaps less than one; or a single element of less. */
typedef struct run {
    uint8_t at, bytes;
} run;

enum { MAX_RUNS = 2, MAX_RECODED = 210 };

/* The order in which the kernels read a unit: a stream of ascending addresses is what makes a machine read ahead. */
static const run runs[NPU_TYPE_LIMIT][MAX_RUNS] = {
    [NPU_TYPE_Q4_0] = {{0, 2}, {2, 16}},
    [NPU_TYPE_Q4_1] = {{0, 20}},
    [NPU_TYPE_Q5_0] = {{0, 2}, {2, 20}},
    [NPU_TYPE_Q5_1] = {{0, 24}},
    [NPU_TYPE_Q8_0] = {{0, 2}, {2, 32}},
    [NPU_TYPE_IQ4_NL] = {{0, 2}, {2, 16}},
    [NPU_TYPE_MXFP4] = {{0, 1}, {1, 16}},
    [NPU_TYPE_Q2_K] = {{80, 4}, {0, 80}},  /* d, dmin; scales, codes */
    [NPU_TYPE_Q3_K] = {{96, 14}, {0, 96}}, /* scales, d; third bits, pairs */
    [NPU_TYPE_Q4_K] = {{0, 144}},
    [NPU_TYPE_Q5_K] = {{0, 176}},
    [NPU_TYPE_Q6_K] = {{192, 18}, {0, 192}}, /* scales, d; codes, of another code (q6_k below) */
    [NPU_TYPE_IQ4_XS] = {{0, 136}},
};

static uint64_t packed_bytes(const npu_tensor *w, npu_mode mode) {
    const npu_format *f = npu_format_of(w->type);
    if (!f || !runs[w->type][0].bytes || mode == NPU_MODE_EXACT || w->ne[2] != 1 || w->ne[3] != 1) return 0;
    uint64_t rows = ((uint64_t)w->ne[1] + NPU_MM_PACK_ROWS - 1) / NPU_MM_PACK_ROWS * NPU_MM_PACK_ROWS;
    return rows * npu_format_row_bytes(f, w->ne[0]);
}

/* The |bytes| bytes at |at| of a unit of each row. */
static void column(const uint8_t *const *rows, uint32_t count, uint64_t at, uint32_t bytes, uint8_t *to) {
    for (uint32_t j = 0; j < count; j++) memcpy(to + j * bytes, rows[j] + at, bytes);
    memset(to + count * bytes, 0, (NPU_MM_PACK_ROWS - count) * bytes);
}

static void words(const uint8_t *const *rows, uint32_t count, uint64_t at, uint8_t *to) {
    for (uint32_t j = 0; j < NPU_MM_PACK_ROWS; j++) {
        uint32_t word = 0;
        if (j < count) memcpy(&word, rows[j] + at, 4);
        memcpy(to + 4 * j, &word, 4);
    }
}

/* Codes of 6 bits as kernels unpack them soonest: of each 32 bytes of a half's 96, the low 6 bits are the codes of one
 * of its blocks, and the top bits those of the fourth block. */
static void q6_k(const uint8_t *unit, uint8_t *to) {
    memcpy(to + 192, unit + 192, 18);
    for (int half = 0; half < 2; half++, to += 96) {
        const uint8_t *low = unit + 64 * half, *top = unit + 128 + 32 * half;
        for (int i = 0; i < 32; i++) {
            uint8_t fourth = (uint8_t)(low[32 + i] >> 4 | top[i] >> 6 << 4);
            to[i] = (uint8_t)((low[i] & 15) | (top[i] & 3) << 4 | fourth << 6);
            to[32 + i] = (uint8_t)((low[32 + i] & 15) | (top[i] >> 2 & 3) << 4 | fourth >> 2 << 6);
            to[64 + i] = (uint8_t)(low[i] >> 4 | (top[i] >> 4 & 3) << 4 | fourth >> 4 << 6);
        }
    }
}

static void q6_k_back(const uint8_t *packed, uint8_t *to) {
    memcpy(to + 192, packed + 192, 18);
    for (int half = 0; half < 2; half++, packed += 96) {
        uint8_t *low = to + 64 * half, *top = to + 128 + 32 * half;
        for (int i = 0; i < 32; i++) {
            uint8_t a = packed[i], b = packed[32 + i], c = packed[64 + i];
            uint8_t fourth = (uint8_t)(a >> 6 | b >> 6 << 2 | c >> 6 << 4);
            low[i] = (uint8_t)((a & 15) | (c & 15) << 4);
            low[32 + i] = (uint8_t)((b & 15) | (fourth & 15) << 4);
            top[i] = (uint8_t)((a >> 4 & 3) | (b >> 4 & 3) << 2 | (c >> 4 & 3) << 4 | fourth >> 4 << 6);
        }
    }
}

/* What a unit becomes before its bytes are put in order, and the way back; no entry = it is as it was. */
static const struct recoding {
    void (*make)(const uint8_t *unit, uint8_t *to), (*undo)(const uint8_t *packed, uint8_t *to);
} recoded[NPU_TYPE_LIMIT] = {[NPU_TYPE_Q6_K] = {q6_k, q6_k_back}};

/* The unit at |at| of each row. */
static uint8_t *pack_unit(const run *order, const uint8_t *const *rows, uint32_t count, uint64_t at, uint8_t *to) {
    for (int i = 0; i < MAX_RUNS && order[i].bytes; i++) {
        uint32_t left = order[i].bytes;
        uint64_t from = at + order[i].at;
        for (; left >= 4; left -= 4, from += 4, to += 4 * NPU_MM_PACK_ROWS) words(rows, count, from, to);
        if (left) column(rows, count, from, left, to);
        to += left * NPU_MM_PACK_ROWS;
    }
    return to;
}

static void pack(const npu_tensor *w, const uint8_t *data, uint64_t first, uint64_t end, uint8_t *to) {
    const npu_format *f = npu_format_of(w->type);
    const uint64_t row_bytes = npu_format_row_bytes(f, w->ne[0]);
    to += first * NPU_MM_PACK_ROWS * row_bytes;
    for (uint64_t strip = first; strip < end; strip++) {
        const uint8_t *rows[NPU_MM_PACK_ROWS];
        uint64_t n = strip * NPU_MM_PACK_ROWS;
        uint32_t count = w->ne[1] - n < NPU_MM_PACK_ROWS ? (uint32_t)(w->ne[1] - n) : NPU_MM_PACK_ROWS;
        for (uint32_t j = 0; j < count; j++) rows[j] = data + (n + j) * w->nb[1];
        for (uint64_t at = 0; at < row_bytes; at += f->block_bytes) {
            uint8_t units[NPU_MM_PACK_ROWS][MAX_RECODED];
            const uint8_t *fresh[NPU_MM_PACK_ROWS];
            void (*const make)(const uint8_t *, uint8_t *) = recoded[w->type].make;
            for (uint32_t j = 0; make && j < count; j++) {
                make(rows[j] + at, units[j]);
                fresh[j] = units[j];
            }
            to = make ? pack_unit(runs[w->type], fresh, count, 0, to) : pack_unit(runs[w->type], rows, count, at, to);
        }
    }
}

/* The unit of the |j|-th row of the strip at |from|. */
static void unpack_unit(const run *order, uint32_t j, const uint8_t *from, uint8_t *to) {
    for (int i = 0; i < MAX_RUNS && order[i].bytes; i++) {
        uint8_t *unit = to + order[i].at;
        for (uint32_t left = order[i].bytes, bytes; left; left -= bytes, unit += bytes) {
            bytes = left < 4 ? left : 4;
            memcpy(unit, from + j * bytes, bytes);
            from += NPU_MM_PACK_ROWS * bytes;
        }
    }
}

static void row(const npu_tensor *w, const uint8_t *packed, uint64_t n, uint8_t *to) {
    const npu_format *f = npu_format_of(w->type);
    const uint64_t row_bytes = npu_format_row_bytes(f, w->ne[0]);
    void (*const undo)(const uint8_t *, uint8_t *) = recoded[w->type].undo;
    packed += n / NPU_MM_PACK_ROWS * NPU_MM_PACK_ROWS * row_bytes;
    for (uint64_t at = 0; at < row_bytes; at += f->block_bytes, packed += NPU_MM_PACK_ROWS * f->block_bytes) {
        uint8_t unit[MAX_RECODED];
        unpack_unit(runs[w->type], (uint32_t)(n % NPU_MM_PACK_ROWS), packed, undo ? unit : to + at);
        if (undo) undo(unit, to + at);
    }
}

static uint64_t strips(const npu_tensor *w) {
    return ((uint64_t)w->ne[1] + NPU_MM_PACK_ROWS - 1) / NPU_MM_PACK_ROWS;
}

const npu_host_packing npu_host_mul_mat_packing = {NPU_MM_LAYOUT, packed_bytes, strips, pack, row};
