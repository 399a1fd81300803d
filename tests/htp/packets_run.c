/* Prints, for each dot product, the packets that qemu-hexagon counts for one iteration of its loop (two tiles): the
 * difference between runs of two lengths, so that what is before and after the loop does not matter. */
#include <stdio.h>
#include <stdlib.h>

#include "htp/hvx/hvx_dot.h"

enum { SHORT = 8, LONG = 40, COLUMNS = 4 }; /* tiles */

/* Control register 20 into r0, by its encoding: assemblers know no name for it. */
static uint32_t packets_run(void) {
    register uint32_t count __asm__("r0");
    __asm__ volatile(".word 0x6a14c000" : "=r"(count)::"memory");
    return count;
}

static HVX_Vector codes[LONG * 8], scales[LONG / 2], minima[LONG / 2], y[COLUMNS];
static int8_t x[LONG * 32] __attribute__((aligned(8)));
static htp_act_block blocks[LONG];

__attribute__((noinline)) static uint32_t packets(htp_dot_fn *dot, uint32_t tiles) {
    htp_act_row rows[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) rows[c] = (htp_act_row){x, blocks};
    uint32_t before = packets_run();
    dot(codes, scales, minima, rows, tiles, y);
    return packets_run() - before;
}

int main(void) {
    static const char *const names[HTP_DOT_FORMATS] = {"q4_0", "q4_1", "q8_0"};
    for (int f = 0; f < HTP_DOT_FORMATS; f++)
        for (int n = 0; n < 3; n++) {
            uint32_t more = packets(htp_dot[f][n], LONG) - packets(htp_dot[f][n], SHORT), loops = (LONG - SHORT) / 2;
            if (more % loops) return EXIT_FAILURE;
            printf("dot_%s_%d %u\n", names[f], 1 << n, more / loops);
        }
    return 0;
}
