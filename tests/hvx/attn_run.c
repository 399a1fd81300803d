/* htp/hvx/hvx_attn.h against scalar C: keys of every type, scores, softmax of a block, sums of values. */
#include "checks.h"
#include "htp/hvx/hvx_attn.h"
#include "htp/hvx/hvx_math.h"
#include "wire/format.h"

enum { ATTN_D = 100, ATTN_VECTORS = 128, ATTN_Q8_0_BYTES = 34 };

static struct {
    uint8_t raw[32 * 4 * ATTN_VECTORS + 128] __attribute__((aligned(128)));
    lanes rows[32 * ATTN_VECTORS / 32], keys[ATTN_VECTORS + 1];
    float of[32][ATTN_VECTORS]; /* of a key and an element */
} attn;

/* Keys of one type, with their values as they should come out. Returns the stride. */
static uint32_t fill_keys(uint32_t type, uint32_t d) {
    uint32_t bytes = type == NPU_TYPE_Q8_0 ? d / 32 * ATTN_Q8_0_BYTES : type == NPU_TYPE_F32 ? 4 * d : 2 * d;
    uint32_t stride = (bytes + 127) / 128 * 128;
    for (uint32_t j = 0; j < 32; j++) {
        uint8_t *row = attn.raw + j * stride;
        for (uint32_t i = 0; i < d; i++) {
            float x = npu_half_to_float((uint16_t)(next() & 0xbfff)), scale = npu_half_to_float(0x2f01);
            uint16_t half = npu_float_to_half(x), top = (uint16_t)(npu_float_bits(x) >> 16);
            int8_t code = (int8_t)next();
            uint8_t *block = row + i / 32 * ATTN_Q8_0_BYTES;
            if (type == NPU_TYPE_F32) memcpy(row + 4 * i, &x, 4);
            if (type == NPU_TYPE_F16) memcpy(row + 2 * i, &half, 2);
            if (type == NPU_TYPE_BF16) memcpy(row + 2 * i, &top, 2), x = npu_bits_float((uint32_t)top << 16);
            if (type == NPU_TYPE_Q8_0) block[0] = 0x01, block[1] = 0x2f, block[2 + i % 32] = (uint8_t)code;
            attn.of[j][i] = type == NPU_TYPE_Q8_0 ? scale * (float)code : x;
        }
    }
    return stride;
}

static void check_keys(uint32_t type, uint32_t d) {
    uint32_t stride = fill_keys(type, d), width = (d + 31) / 32;
    attn.keys[32 * width].u[5] = 0xa5a5a5a5;
    htp_attn_keys(type, attn.raw, stride, d, &attn.rows[0].v, &attn.keys[0].v);
    for (uint32_t i = 0; i < d; i++)
        for (int j = 0; j < 32; j++)
            expect_near("htp_attn_keys", attn.keys[i].f[j], attn.of[j][i], fabsf(attn.of[j][i]), j);
    if (attn.keys[32 * width].u[5] != 0xa5a5a5a5) printf("htp_attn_keys wrote behind the end\n"), failures++;
}

/* The block's sums over lanes in the order of docs/numerics.md, section 3. */
static float folded(const float *x) {
    float t[32];
    memcpy(t, x, sizeof t);
    for (int h = 16; h; h /= 2)
        for (int j = 0; j < h; j++) t[j] += t[j + h];
    return t[0];
}

static float score_of(int r, int j) {
    return (float)((r * 7 + j * 5) % 32) * 0.25f - 6.0f + (float)r;
}

static void check_softmax(uint32_t queries, uint32_t first, uint32_t end) {
    htp_attn_state state[HTP_ATTN_QUERIES], *at[HTP_ATTN_QUERIES] = {0}, was[HTP_ATTN_QUERIES];
    static lanes scores[HTP_ATTN_QUERIES], p[HTP_ATTN_QUERIES];
    float c[HTP_ATTN_QUERIES];
    for (uint32_t r = 0; r < queries; r++) {
        int nothing = next() % 4 == 0;
        for (int j = 0; j < 32; j++) scores[r].f[j] = nothing ? -NPU_F32_INF : score_of((int)(r + next() % 4), j);
        was[r] = state[r] = next() & 1 ? (htp_attn_state){-NPU_F32_INF, 0} : (htp_attn_state){score_of(1, 9), 2.5f};
        at[r] = &state[r];
    }
    htp_attn_softmax(queries, &scores[0].v, first, end, at, &p[0].v, c);
    for (uint32_t r = 0; r < queries; r++) {
        float m = was[r].m, want[32];
        for (uint32_t j = first; j < end; j++) m = npu_maxf(m, scores[r].f[j]);
        expect("htp_attn_softmax m", state[r].m, m, (int)r);
        if (m == -NPU_F32_INF) {
            expect("htp_attn_softmax l of nothing", state[r].l, was[r].l, (int)r);
            continue;
        }
        for (uint32_t j = 0; j < 32; j++) want[j] = j >= first && j < end ? npu_expf(scores[r].f[j] - m) : 0;
        for (int j = 0; j < 32; j++) expect_near("htp_attn_softmax p", p[r].f[j], want[j], 1, j);
        float worth = npu_expf(was[r].m - m), l = fmaf(was[r].l, worth, folded(want));
        expect_near("htp_attn_softmax c", c[r], worth, 1, (int)r);
        expect_near("htp_attn_softmax l", state[r].l, l, l, (int)r);
    }
}

static void check_attention(uint32_t queries, uint32_t d, uint32_t first, uint32_t end) {
    static lanes values[32 * 3], sums[HTP_ATTN_QUERIES][3], scores[HTP_ATTN_QUERIES + 1];
    static float q[HTP_ATTN_QUERIES][ATTN_D], p[HTP_ATTN_QUERIES][32];
    const float *qs[HTP_ATTN_QUERIES], *ps[HTP_ATTN_QUERIES];
    HVX_Vector *at[HTP_ATTN_QUERIES];
    float c[HTP_ATTN_QUERIES], was[HTP_ATTN_QUERIES][96];
    uint32_t width = 1 + d % 3;
    fill_keys(NPU_TYPE_F32, d);
    for (uint32_t i = 0; i < d; i++)
        for (int j = 0; j < 32; j++) attn.keys[i].f[j] = attn.of[j][i];
    for (uint32_t e = 0; e < 32 * width; e++)
        for (int i = 0; i < 32; i++) values[e].f[i] = (float)((int32_t)next() >> 4) * 0x1p-20f;
    for (uint32_t r = 0; r < queries; r++) {
        for (uint32_t i = 0; i < d; i++) q[r][i] = (float)((int32_t)next() >> 4) * 0x1p-20f;
        for (int j = 0; j < 32; j++) p[r][j] = (float)(next() & 0xffff) * 0x1p-16f;
        for (uint32_t e = 0; e < 32 * width; e++) was[r][e] = sums[r][e / 32].f[e % 32] = (float)(next() & 0xffff);
        c[r] = r & 1 ? 1.0f : 0.375f;
        qs[r] = q[r], ps[r] = p[r], at[r] = &sums[r][0].v;
    }
    scores[queries].u[0] = 0xa5a5a5a5;
    htp_attn_dot(queries, qs, &attn.keys[0].v, d, &scores[0].v);
    if (scores[queries].u[0] != 0xa5a5a5a5) printf("htp_attn_dot wrote behind the end\n"), failures++;
    htp_attn_add(queries, ps, c, first, end, &values[0].v, width, at);
    for (uint32_t r = 0; r < queries; r++) {
        for (int j = 0; j < 32; j++) {
            float s = 0;
            double size = 0;
            for (uint32_t i = 0; i < d; i++)
                s = fmaf(q[r][i], attn.of[j][i], s), size += fabsf(q[r][i] * attn.of[j][i]);
            expect_near("htp_attn_dot", scores[r].f[j], s, size, j);
        }
        for (uint32_t e = 0; e < 32 * width; e++) {
            float s = was[r][e] * c[r];
            double size = s;
            for (uint32_t j = first; j < end; j++) {
                float v = values[j * width + e / 32].f[e % 32];
                s = fmaf(p[r][j], v, s), size += fabsf(p[r][j] * v);
            }
            expect_near("htp_attn_add", sums[r][e / 32].f[e % 32], s, size, (int)e);
        }
    }
}

static void check_attentions(void) {
    static const uint32_t types[] = {NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_F32, NPU_TYPE_Q8_0};
    uint32_t first = next() % 32, end = first + 1 + next() % (32 - first), queries = 1 + next() % HTP_ATTN_QUERIES;
    uint32_t type = types[next() % 4];
    check_keys(type, type == NPU_TYPE_Q8_0 ? 32 * (1 + next() % 3) : 1 + next() % ATTN_D);
    check_softmax(queries, first, end);
    check_attention(queries, 1 + next() % ATTN_D, first, end);
}

int main(int argc, char **argv) {
    int rounds = rounds_of(argc, argv);
    for (int i = 0; i < rounds; i++) check_attentions();
    return told();
}
