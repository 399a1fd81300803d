/* Prints, for each dot product, the packets that qemu-hexagon counts for one iteration of its loop: the
 * difference between runs of two lengths, so that what is before and after the loop does not matter. */
#include <stdio.h>
#include <stdlib.h>

#include "htp/hvx/hvx_dot.h"

enum { SHORT = 16, LONG = 48, COLUMNS = 4 }; /* tiles */

/* Control register 20 into r0, by its encoding: assemblers know no name for it. */
static uint32_t packets_run(void) {
    register uint32_t count __asm__("r0");
    __asm__ volatile(".word 0x6a14c000" : "=r"(count)::"memory");
    return count;
}

static HVX_Vector image[LONG * 16], y[COLUMNS];
static int8_t x[LONG * 32] __attribute__((aligned(8)));
static htp_act_block blocks[LONG];

__attribute__((noinline)) static uint32_t packets(htp_dot_fn *dot, uint32_t tiles) {
    htp_act_row rows[COLUMNS];
    const htp_planes planes = {image, image, image, image, image};
    for (int c = 0; c < COLUMNS; c++) rows[c] = (htp_act_row){x, blocks};
    uint32_t before = packets_run();
    dot(planes, rows, tiles, y);
    return packets_run() - before;
}

int main(void) {
    static const struct {
        const char *name;
        uint32_t tiles; /* an iteration */
    } images[NPU_IMAGE_COUNT] = {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) \
    {#NAME, NPU_IMAGE_SCALE_##scale >= NPU_IMAGE_SCALE_SUB32 ? 8 : 2},
#include "wire/npu_images.def"
    };
    for (int i = 0; i < NPU_IMAGE_COUNT; i++)
        for (int n = 0; n < 3; n++) {
            uint32_t loops = (LONG - SHORT) / images[i].tiles;
            uint32_t more = packets(htp_dot[i][n], LONG) - packets(htp_dot[i][n], SHORT);
            if (more % loops) return EXIT_FAILURE;
            printf("dot_%s_%d %u\n", images[i].name, 1 << n, more / loops);
        }
    return 0;
}
