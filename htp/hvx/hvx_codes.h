/* Codes of an image tile as unsigned bytes in vrmpy's order, ready to be multiplied: bit fields put together, codebooks
 * looked up. The image's row is a constant where these are inlined, so only what a format needs is left. */
#ifndef HTP_HVX_CODES_H
#define HTP_HVX_CODES_H

#include <stdint.h>

#include <hexagon_types.h>
#include <hexagon_protos.h>
#include <hvx_hexagon_protos.h>

#include "htp/hvx/hvx_inline.h"
#include "wire/codebook.h"
#include "wire/image.h"

/* A codebook for vlut32, which takes a table's even bytes: twice, so that bit 4 of an index does not matter. */
static inline HVX_Vector hvx_codebook(const npu_image_format *f) {
#define BYTE(v) (uint8_t)((v) + 128), 0,
    static const uint8_t iq4[128] __attribute__((aligned(128))) = {NPU_CODEBOOK_IQ4(BYTE) NPU_CODEBOOK_IQ4(BYTE)};
#undef BYTE
#define BYTE(v) (uint8_t)((v) + 12), 0,
    static const uint8_t mxfp4[128] __attribute__((aligned(128))) = {NPU_CODEBOOK_MXFP4(BYTE) NPU_CODEBOOK_MXFP4(BYTE)};
#undef BYTE
    return *(const HVX_Vector *)(f->table == NPU_IMAGE_TABLE_IQ4 ? iq4 : mxfp4);
}

/* The low bits of k = 4w … 4w+3. */
HVX_INLINE HVX_Vector hvx_low_codes(const npu_image_format *f, const HVX_Vector *low, HVX_Vector book, int w) {
    int at = w * f->low % 8;
    HVX_Vector v = low[w * f->low / 8];
    if (at) v = Q6_Vub_vlsr_VubR(v, at);
    if (f->table) return Q6_Vb_vlut32_VbVbR_nomatch(v, book, 0);
    if (at + f->low == 8) return v;
    return Q6_V_vand_VV(v, Q6_Vb_vsplat_R((1 << f->low) - 1));
}

/* |codes| with the high bits put on top. A shift of whole words that accumulates does it in one; only a field that ends
 * a byte could be taken for a sign. */
HVX_INLINE HVX_Vector hvx_high_codes(const npu_image_format *f, const HVX_Vector *high, HVX_Vector codes, int w) {
    int at = w * f->high % 8, to = f->low, mask = (1 << f->high) - 1;
    HVX_Vector v = high[w * f->high / 8];
    if (at > to && at + f->high == 8)
        return Q6_V_vor_VV(codes, Q6_V_vand_VV(Q6_Vub_vlsr_VubR(v, at - to), Q6_Vb_vsplat_R(mask << to)));
    v = Q6_V_vand_VV(v, Q6_Vb_vsplat_R(mask << at));
    if (at == to) return Q6_V_vor_VV(codes, v);
    return at < to ? Q6_Vw_vaslacc_VwVwR(codes, v, to - at) : Q6_Vw_vasracc_VwVwR(codes, v, at - to);
}

/* The codes of k = 4w … 4w+3 of the tile whose planes begin at |low| and |high|; |book| from hvx_codebook when there is
 * one. */
HVX_INLINE HVX_Vector hvx_codes(const npu_image_format *f, const HVX_Vector *low, const HVX_Vector *high,
                                HVX_Vector book, int w) {
    HVX_Vector codes = hvx_low_codes(f, low, book, w);
    return f->high ? hvx_high_codes(f, high, codes, w) : codes;
}

#endif
