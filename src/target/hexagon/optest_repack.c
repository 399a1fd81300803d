/* Every vectorised row tile of this machine against the reference, byte by byte: all image formats, odd and even
 * numbers of tiles, rows that end within a row tile, rows apart, each part by itself. Blocks hold random bytes, so
 * scales are NaN, infinite and subnormal too. Images lie between poisoned guard zones; the weights' memory ends with
 * their last byte, so that sanitizers see reads behind it.
 *
 * Usage: optest_repack [seed]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "target/hexagon/hexagon_repack.h"
#include "wire/format.h"

enum { GUARD = 256, POISON = 0xA5 };

static uint64_t random_state;

static uint32_t random32(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

static uint8_t *need(uint64_t bytes) {
    uint8_t *p = malloc(bytes);
    if (!p) exit(2);
    return p;
}

static int failures, checks;

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
    uint8_t *out = need(bytes + 2 * GUARD);
    memset(out, POISON, GUARD);
    memset(out + GUARD, fast ? 0x5A : POISON, bytes); /* what nobody writes differs */
    memset(out + GUARD + bytes, POISON, GUARD);
    for (uint32_t p = 0; p < parts; p++) {
        uint32_t first = tiles * p / parts, end = tiles * (p + 1) / parts;
        npu_hex_repack(fast, w->image, w->raw, w->row_bytes, w->k, w->n, first, end - first, out + GUARD);
    }
    return out;
}

static void compare(const weight *w, const char *level, const uint8_t *have, const uint8_t *want) {
    uint64_t bytes = npu_image_bytes(w->image, w->k, w->n) + 2 * GUARD, at = 0;
    checks++;
    while (at < bytes && have[at] == want[at]) at++;
    if (at == bytes) return;
    failures++;
    printf("%s, %s: k %u, n %u, row of %llu bytes: byte %lld of the image is %02x, not %02x\n",
           npu_format_of(w->image->type)->name, level, w->k, w->n, (unsigned long long)w->row_bytes,
           (long long)at - GUARD, have[at], want[at]);
}

static int guards_hold(const weight *w, const uint8_t *image) {
    uint64_t bytes = npu_image_bytes(w->image, w->k, w->n);
    int good = 1;
    for (int i = 0; i < GUARD; i++) good &= image[i] == POISON && image[GUARD + bytes + (uint64_t)i] == POISON;
    return good;
}

static void check(const npu_image_format *image, uint32_t blocks, uint32_t n, uint32_t apart) {
    const npu_format *f = npu_format_of(image->type);
    weight w = {.image = image, .k = blocks * f->block_values, .n = n};
    uint64_t row = npu_format_row_bytes(f, w.k);
    w.row_bytes = row + apart;
    uint64_t bytes = w.row_bytes * (n - 1) + row;
    w.raw = need(bytes);
    for (uint64_t i = 0; i < bytes; i++) w.raw[i] = (uint8_t)(random32() >> 24);
    uint8_t *want = image_of(&w, NULL, 1);
    if (!guards_hold(&w, want)) {
        failures++;
        printf("%s: the reference wrote outside of its image\n", f->name);
    }
    const char *level;
    for (unsigned i = 0; (level = npu_cpu_level_at(i)); i++) {
        uint32_t features;
        npu_error err;
        if (npu_cpu_level(level, &features, &err) != NPU_OK || !npu_hex_row_tiles(features)) continue;
        uint8_t *have = image_of(&w, npu_hex_row_tiles(features), 1 + random32() % 3);
        compare(&w, level, have, want);
        free(have);
    }
    free(want);
    free(w.raw);
}

int main(int argc, char **argv) {
    static const uint32_t ns[] = {1, 7, 31, 32, 33, 63, 64, 96, 100, 129};
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    printf("seed %llu\n", (unsigned long long)random_state);
    for (uint32_t type = 0; type < NPU_TYPE_LIMIT; type++) {
        const npu_image_format *image = npu_image_format_of(type);
        if (!image) continue;
        for (uint32_t i = 0; i < 60; i++)
            check(image, 1 + random32() % (npu_format_of(type)->block_values == 256 ? 4 : 19), ns[i % 10],
                  i % 3 == 2 ? random32() % 40 : 0);
    }
    printf("%d of %d checks failed\n", failures, checks);
    return failures || (!checks && npu_hex_row_tiles(npu_cpu_features()));
}
