/* The integer heart of MUL_MAT: one tile of 32 rows x 32 k times one block of 32 activation codes. Lane r of the result
 * is row r's exact sum of (code - offset) * q. Plain form, see f32.h. */
#ifndef HTP_HVX_DOT_H
#define HTP_HVX_DOT_H

#include <stdint.h>

typedef struct htp_i32 {
    int32_t i[32];
} __attribute__((aligned(128))) htp_i32;

/* 4-bit codes of 8 k a vector: low halves are the first four. |offset_sum| = offset * sum of q. */
static inline htp_i32 htp_dot_tile4(const uint8_t *codes, const int8_t *q, int32_t offset_sum) {
    htp_i32 y;
    for (int r = 0; r < 32; r++) y.i[r] = -offset_sum;
    for (int v = 0; v < 4; v++, codes += 128, q += 8)
        for (int r = 0; r < 32; r++) {
            const uint8_t *c = codes + 4 * r;
            y.i[r] += (c[0] & 15) * q[0] + (c[1] & 15) * q[1] + (c[2] & 15) * q[2] + (c[3] & 15) * q[3] +
                      (c[0] >> 4) * q[4] + (c[1] >> 4) * q[5] + (c[2] >> 4) * q[6] + (c[3] >> 4) * q[7];
        }
    return y;
}

static inline htp_i32 htp_dot_tile8(const uint8_t *codes, const int8_t *q) {
    htp_i32 y = {{0}};
    for (int v = 0; v < 8; v++, codes += 128, q += 4)
        for (int r = 0; r < 32; r++) {
            const int8_t *c = (const int8_t *)codes + 4 * r;
            y.i[r] += c[0] * q[0] + c[1] * q[1] + c[2] * q[2] + c[3] * q[3];
        }
    return y;
}

#endif
