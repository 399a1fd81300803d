/* Every vectorised row tile of this machine against the reference, byte by byte: all image formats, odd and even
 * numbers of tiles, rows that end within a row tile, rows apart, each part by itself. Blocks hold random bytes, so
 * scales are NaN, infinite and subnormal too. Images lie between poisoned guard zones; the weights' memory ends with
 * their last byte, so that sanitizers see reads behind it.
 *
 * Usage: optest_repack [seed]
 */
#include "base/cpu.h"
#include "support/optest.h"
#include "target/hexagon/hexagon_repack.h"
#include "wire/format.h"

typedef struct weight {
    const npu_image_format *image;
    uint8_t *raw;
    uint64_t row_bytes;
    uint32_t k, n;
} weight;

/* The whole image in |parts| calls, in guards. */
static uint8_t *image_of(const weight *w, npu_hex_row_tile_fn *const *fast, uint32_t parts) {
    uint64_t bytes = npu_image_bytes(w->image, w->k, w->n);
    uint32_t tiles = (w->n + NPU_TILE_ROWS - 1) / NPU_TILE_ROWS;
    uint8_t *out = optest_guarded(bytes, fast ? 0x5A : OPTEST_POISON); /* what nobody writes differs */
    for (uint32_t p = 0; p < parts; p++) {
        uint32_t first = tiles * p / parts, end = tiles * (p + 1) / parts;
        npu_hex_repack(fast, w->image, w->raw, w->row_bytes, w->k, w->n, first, end - first, out);
    }
    optest_check(optest_guards_hold(out, bytes), "%s, %s: written outside of the image",
                 npu_format_of(w->image->type)->name, fast ? "vectorised" : "reference");
    return out;
}

static void compare(const weight *w, const char *level, const uint8_t *have, const uint8_t *want) {
    uint64_t bytes = npu_image_bytes(w->image, w->k, w->n), at = 0;
    while (at < bytes && have[at] == want[at]) at++;
    optest_check(at == bytes, "%s, %s: k %u, n %u, row of %llu bytes: byte %llu of the image is %02x, not %02x",
                 npu_format_of(w->image->type)->name, level, w->k, w->n, (unsigned long long)w->row_bytes,
                 (unsigned long long)at, at < bytes ? have[at] : 0, at < bytes ? want[at] : 0);
}

static void check(const npu_image_format *image, uint32_t blocks, uint32_t n, uint32_t apart) {
    const npu_format *f = npu_format_of(image->type);
    weight w = {.image = image, .k = blocks * f->block_values, .n = n};
    uint64_t row = npu_format_row_bytes(f, w.k);
    w.row_bytes = row + apart;
    uint64_t bytes = w.row_bytes * (n - 1) + row;
    w.raw = optest_memory(bytes, 0);
    optest_fill(w.raw, bytes);
    uint8_t *want = image_of(&w, NULL, 1);
    const char *level;
    for (unsigned i = 0; (level = npu_cpu_level_at(i)); i++) {
        uint32_t features;
        npu_error err;
        if (npu_cpu_level(level, &features, &err) != NPU_OK || !npu_hex_row_tiles(features)) continue;
        uint8_t *have = image_of(&w, npu_hex_row_tiles(features), 1 + optest_random() % 3);
        compare(&w, level, have, want);
        optest_free(have);
    }
    optest_free(want);
    free(w.raw);
}

static void all(void) {
    static const uint32_t ns[] = {1, 7, 31, 32, 33, 63, 64, 96, 100, 129};
    for (uint32_t type = 0; type < NPU_TYPE_LIMIT; type++) {
        const npu_image_format *image = npu_image_format_of(type);
        if (!image) continue;
        for (uint32_t i = 0; i < 60; i++)
            check(image, 1 + optest_random() % (npu_format_of(type)->block_values == 256 ? 4 : 19), ns[i % 10],
                  i % 3 == 2 ? optest_random() % 40 : 0);
    }
}

int main(int argc, char **argv) {
    return optest_run(argc, argv, all);
}
