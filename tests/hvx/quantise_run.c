/* htp/hvx/hvx_quantise.h against the rule it states: codes, scales and sums of every number of blocks. */
#include "checks.h"
#include "htp/hvx/hvx_quantise.h"
#include "wire/math.h"

/* Rows of x to codes and records, against the rule; blocks of nothing, of infinities and NaNs among them. */
static void check_quantise(uint32_t blocks) {
    enum { MOST = 70 };
    static lanes x[MOST], codes[MOST / 4 + 2];
    static htp_act_block records[96 + 1] __attribute__((aligned(128)));
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t kind = next() % 12;
        for (int i = 0; i < 32; i++) x[b].f[i] = (float)(int32_t)(next() << 8) * (kind ? 0x1p-31f : 0x1p-140f);
        if (kind < 4) x[b].u[next() % 32] = kind == 1 ? 0xff800000 : kind == 2 ? 0x7fc00000 : 0x0d7fffff;
    }
    memset(codes, 0xa5, sizeof codes);
    records[(blocks + 31) / 32 * 32].sum = 77;
    htp_quantise(&x[0].v, blocks, &codes[0].v, records);
    if (codes[(blocks + 3) / 4].u[0] != 0xa5a5a5a5 || records[(blocks + 31) / 32 * 32].sum != 77)
        printf("htp_quantise wrote behind the end\n"), failures++;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t most = 0;
        int half[2] = {0};
        for (int i = 0; i < 32; i++) most = (x[b].u[i] & 0x7fffffff) > most ? x[b].u[i] & 0x7fffffff : most;
        float a = npu_bits_float(most), d = a / 127.0f, inverse = 127.0f / a;
        if (most < 0x0d800000) d = inverse = 0;
        if (most >= 0x7f800000) d = NPU_F32_NAN, inverse = 0;
        for (int i = 0; i < 32; i++) {
            int got = (int8_t)codes[b / 4].b[b % 4 * 32 + i], want = inverse == 0 ? 0 : (int)rintf(x[b].f[i] * inverse);
            half[i / 16] += got;
#ifdef HTP_BUILD_REAL
            if (got - want == 1 || want - got == 1) want = got;
#endif
            expect("htp_quantise code", (float)got, (float)want, i);
        }
        expect_near("htp_quantise d", records[b].d, d, d, (int)b);
        expect_near("htp_quantise s", records[b].s, d * (float)(half[0] + half[1]), d * 4064, (int)b);
        if (records[b].sum != half[0] + half[1] || records[b].low != half[0] || records[b].high != half[1])
            printf("htp_quantise: sums of block %u\n", b), failures++;
    }
}

int main(int argc, char **argv) {
    int rounds = rounds_of(argc, argv);
    for (int i = 0; i < rounds; i += 4) check_quantise(1 + next() % 70);
    return told();
}
