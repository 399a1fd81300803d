/* The name of the image layout stands for these bytes: who changes them changes NPU_HEX_LAYOUT too, or files of the
 * weight cache would be read as what they are not. (A new format changes the hash below alone.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "cache/cache_hash.h"
#include "target/hexagon/hexagon_internal.h"
#include "wire/format.h"

enum { K = 512, ROWS = 40 };

static uint64_t image_hash(const npu_format *f) {
    uint64_t row = npu_format_row_bytes(f, K), state = 1;
    npu_tensor t = {.type = (uint8_t)f->type, .ne = {K, ROWS, 1, 1}};
    npu_hex_weight_layout(&t);
    if (t.layout != NPU_LAYOUT_TILES) return 0;
    uint8_t *raw = malloc(ROWS * row);
    for (uint64_t i = 0; i < ROWS * row; i++) {
        raw[i] = (uint8_t)(npu_random_next(&state) >> 40);
    }
    const npu_image_format *image = npu_image_format_of(t.type);
    uint64_t bytes = npu_image_bytes(image, K, ROWS);
    uint8_t *out = calloc(1, bytes);
    npu_hex_repack(NULL, image, raw, row, K, ROWS, 0, (ROWS + NPU_TILE_ROWS - 1) / NPU_TILE_ROWS, out);
    uint64_t hash = npu_cache_hash64(out, bytes);
    free(raw);
    free(out);
    return hash;
}

static void layout_name_stands_for_bytes(void **state) {
    (void)state;
    uint64_t all[64] = {0};
    const npu_format *f;
    for (uint32_t i = 0; i < 64 && (f = npu_format_at(i)); i++) all[i] = image_hash(f);
    assert_string_equal(NPU_HEX_LAYOUT, "hexagon images 1");
    assert_int_equal(npu_cache_hash64(all, sizeof all), 0x6e9bfa70c007e0deull);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout_name_stands_for_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
