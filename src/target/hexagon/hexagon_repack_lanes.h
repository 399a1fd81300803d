/* Weight images with vectors: the unpackers of the host's products (matmul_unpack.h) give the codes of LANES rows in
 * vrmpy's order already, so an image is their codes shifted together and stored. Included by each
 * hexagon_repack_<isa>.c after its matmul_vec_<isa>.h. The bytes are those of hexagon_repack.c, which is the reference
 * and does the row tiles that are not full; optest_repack.c compares.
 */
#ifndef NPU_HEXAGON_REPACK_LANES_H
#define NPU_HEXAGON_REPACK_LANES_H

#include "quant/quant.h"
#include "target/hexagon/hexagon_repack.h"
#include "target/host/matmul/matmul_unpack_k.h"
#include "wire/half.h"

/* How the units of a format become an image. |subs|, of units of eight tiles: their sub-scales and minima as bytes,
 * four of each row in a word, in the order of the file. */
typedef struct lanes_format {
    npu_image_format image;
    uint32_t unit_blocks, unit_bytes;
    void (*head)(wunit *u, const wrows *r);
    vi (*code)(wunit *u, const wrows *r, int b, int j); /* as the file has it, before any table */
    void (*subs)(const wunit *u, vi s[4], vi m[2]);
} lanes_format;

NPU_INLINE void subs_q4_k(const wunit *u, vi s[4], vi m[2]) {
    for (int i = 0; i < 2; i++) {
        s[i] = u->s[i];
        m[i] = u->m[i];
    }
}

NPU_INLINE void subs_16(const wunit *u, vi s[4], vi m[2]) {
    (void)m;
    for (int i = 0; i < 4; i++) s[i] = u->s[i];
}

NPU_INLINE void subs_q2_k(const wunit *u, vi s[4], vi m[2]) {
    (void)m;
    for (int i = 0; i < 4; i++) s[i] = v_or(u->s[i], v_sll32(u->m[i], 4));
}

NPU_INLINE void subs_iq4_xs(const wunit *u, vi s[4], vi m[2]) {
    (void)m;
    s[0] = s[1] = v_zero();
    for (int b = 0; b < 8; b++) {
        vi low = v_and(v_srl32(u->s[1], 4 * b), v_set32(15)), top = v_and(v_srl32(u->s[0], 2 * b), v_set32(3));
        s[b / 4] = v_or(s[b / 4], v_sll32(v_or(low, v_sll32(top, 4)), b % 4 * 8));
    }
}

/* The plane of |bits| bits of a tile: fields of one word come from words in turn. */
NPU_INLINE void store_bits(uint8_t *plane, int bits, int shift, const vi w[8]) {
    NPU_UNROLL
    for (int v = 0; v < bits; v++) {
        vi word = v_zero();
        NPU_UNROLL
        for (int i = 0; i < 8 / bits; i++) {
            vi field = v_and(v_srl16(w[v * 8 / bits + i], shift), v_set8((1 << bits) - 1));
            word = v_or(word, v_sll32(field, bits * i));
        }
        v_store(plane + v * NPU_VECTOR_BYTES, word);
    }
}

/* The codes of block |b|; -0 as 0, of which the values tell no difference. */
NPU_INLINE void codes_of(const lanes_format *f, wunit *u, const wrows *r, int b, vi w[8]) {
    static const uint8_t no_minus_0[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15};
    NPU_UNROLL
    for (int j = 0; j < 8; j++) {
        w[j] = f->code(u, r, b, j);
        if (f->image.table == NPU_IMAGE_TABLE_MXFP4) w[j] = v_look_up(v_group16(no_minus_0), w[j]);
    }
}

NPU_INLINE void store_subs(const lanes_format *f, const wunit *u, uint32_t tile, uint32_t lane, uint8_t *scales,
                           uint8_t *minima) {
    const vi order = v_group(0x0F0D0E0C, 0x0B090A08, 0x07050604, 0x03010200); /* the tiles of a word: 0 2 1 3 */
    vi s[4], m[2];
    int words = f->image.scale == NPU_IMAGE_SCALE_SUB16 ? 4 : 2;
    f->subs(u, s, m);
    uint32_t at = tile / (8 / (uint32_t)words) * NPU_VECTOR_BYTES + lane;
    for (int i = 0; i < words; i++) {
        v_store(scales + at + (uint32_t)i * NPU_VECTOR_BYTES, v_look_up(s[i], order));
        if (words == 2 && f->image.has_min)
            v_store(minima + at + (uint32_t)i * NPU_VECTOR_BYTES, v_look_up(m[i], order));
    }
}

/* A NaN becomes quiet, as in the conversions of wire/half.h. */
NPU_INLINE uint32_t half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return h | (uint32_t)((h & 0x7FFF) > 0x7C00) << 9;
}

/* Half the power of two as bfloat16, its two smallest values subnormal. */
NPU_INLINE uint32_t power_at(const uint8_t *p) {
    return *p < 2 ? 0x20u << *p : (uint32_t)(*p - 1) << 7;
}

NPU_INLINE void store_word(uint8_t *p, uint32_t low, uint32_t high) {
    uint32_t word = low | high << 16;
    memcpy(p, &word, 4);
}

/* Scales of two neighbouring tiles, or of the last one alone; or d and m of eight. |p|: the first tile's block. */
NPU_INLINE void store_halves(const lanes_format *f, const npu_quant *q, const uint8_t *p, uint64_t stride, bool pair,
                             uint8_t *scales, uint8_t *minima) {
    uint32_t next = pair ? f->unit_bytes : 0, mask = pair ? 0xFFFF : 0;
    for (int row = 0; row < NPU_TILE_ROWS; row++, p += stride, scales += 4, minima += 4) {
        if (f->subs) {
            store_word(scales, half_at(p + q->d_at), f->image.has_min ? half_at(p + q->m_at) ^ 0x8000 : 0);
        } else if (f->image.scale == NPU_IMAGE_SCALE_BF16) {
            store_word(scales, power_at(p), power_at(p + next) & mask);
        } else {
            store_word(scales, half_at(p + q->d_at), half_at(p + q->d_at + next) & mask);
            if (f->image.has_min) store_word(minima, half_at(p + q->m_at), half_at(p + q->m_at + next) & mask);
        }
    }
}

/* One row tile. By units, and by pairs of them where two tiles share a vector of scales. */
NPU_INLINE void lanes_tile(const lanes_format *f, const uint8_t *raw, uint64_t stride, uint32_t k, uint8_t *out) {
    const npu_image_format *image = &f->image;
    const npu_quant *q = npu_quant_of(image->type);
    uint32_t low = 0, high = npu_image_plane_at(image, NPU_IMAGE_HIGH, k);
    uint8_t *scales = out + npu_image_plane_at(image, NPU_IMAGE_SCALES, k);
    uint8_t *minima = out + npu_image_plane_at(image, NPU_IMAGE_MINIMA, k);
    uint8_t *super = out + npu_image_plane_at(image, NPU_IMAGE_SUPER, k);
    uint32_t tiles = k / NPU_TILE_K, step = f->unit_blocks;
    for (uint32_t tile = 0; tile < tiles; tile += step, raw += f->unit_bytes) {
        if (f->subs)
            store_halves(f, q, raw, stride, false, super + tile / 8 * NPU_VECTOR_BYTES, super);
        else if (tile % 2 == 0)
            store_halves(f, q, raw, stride, tile + 1 < tiles, scales + tile / 2 * NPU_VECTOR_BYTES,
                         minima + tile / 2 * NPU_VECTOR_BYTES);
        for (uint32_t row = 0; row < NPU_TILE_ROWS; row += LANES) {
            wrows r = rows_at(raw + row * stride, stride);
            wunit u;
            u.quads = 0;
            f->head(&u, &r);
            NPU_UNROLL
            for (int b = 0; b < (int)f->unit_blocks; b++) {
                vi w[8];
                uint32_t at = (tile + (uint32_t)b) * NPU_VECTOR_BYTES;
                codes_of(f, &u, &r, b, w);
                store_bits(out + low + at * image->low + row * 4, image->low, 0, w);
                if (image->high) store_bits(out + high + at * image->high + row * 4, image->high, image->low, w);
            }
            if (f->subs) store_subs(f, &u, tile, row * 4, scales, minima);
        }
    }
}

/* What the formats have beside wire's tables. */
#define UNPACK_Q4_0   no_head, code_q4_0, NULL
#define UNPACK_Q4_1   no_head, code_q4_1, NULL
#define UNPACK_Q5_0   no_head, code_q5_0, NULL
#define UNPACK_Q5_1   no_head, code_q5_1, NULL
#define UNPACK_Q8_0   no_head, code_q8_0, NULL
#define UNPACK_IQ4_NL no_head, code_q4_0, NULL
#define UNPACK_MXFP4  no_head, index_mxfp4, NULL
#define UNPACK_Q4_K   head_q4_k, code_q4_k, subs_q4_k
#define UNPACK_Q5_K   head_q4_k, code_q5_k, subs_q4_k
#define UNPACK_IQ4_XS head_iq4_xs, index_iq4_xs, subs_iq4_xs
#define UNPACK_Q2_K   head_q2_k, code_q2_k, subs_q2_k
#define UNPACK_Q3_K   head_q3_k, code_q3_k, subs_16
#define UNPACK_Q6_K   head_q6_k, code_q6_k, subs_16

enum {
#define NPU_FORMAT(NAME, code, name, values, bytes, group, flags) \
    UNIT_BLOCKS_##NAME = (values) / 32, UNIT_BYTES_##NAME = (bytes),
#include "wire/npu_formats.def"
    LANES_FORMATS
};

#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias)                                            \
    static void lanes_tile_##NAME(const uint8_t *raw, uint64_t row_bytes, uint32_t k, uint8_t *out) {          \
        static const lanes_format f = {                                                                        \
            {NPU_TYPE_##NAME, low, high, NPU_IMAGE_TABLE_##table, offset, NPU_IMAGE_SCALE_##scale, min, bias}, \
            UNIT_BLOCKS_##NAME,                                                                                \
            UNIT_BYTES_##NAME,                                                                                 \
            UNPACK_##NAME};                                                                                    \
        lanes_tile(&f, raw, row_bytes, k, out);                                                                \
    }
#include "wire/npu_images.def"

#endif
