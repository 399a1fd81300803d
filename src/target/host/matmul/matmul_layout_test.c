/* The name of the strips' layout stands for these bytes: who changes them changes NPU_MM_LAYOUT too, or files of the
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
#include "target/host/matmul/matmul.h"
#include "wire/format.h"

enum { K = 512, ROWS = 40 };

static uint64_t packed_hash(const npu_format *f) {
    const npu_host_packing *p = &npu_host_mul_mat_packing;
    uint64_t row = npu_format_row_bytes(f, K), state = 1;
    npu_tensor t = {
        .type = (uint8_t)f->type, .ne = {K, ROWS, 1, 1}, .nb = {f->block_bytes, row, ROWS * row, ROWS * row}};
    uint64_t bytes = p->bytes(&t, NPU_MODE_DEFAULT);
    if (!bytes) return 0;
    uint8_t *raw = malloc(ROWS * row), *out = calloc(1, bytes);
    for (uint64_t i = 0; i < ROWS * row; i++) {
        raw[i] = (uint8_t)(npu_random_next(&state) >> 40);
    }
    p->pack(&t, raw, 0, p->parts(&t), out);
    uint64_t hash = npu_cache_hash64(out, bytes);
    free(raw);
    free(out);
    return hash;
}

static void layout_name_stands_for_bytes(void **state) {
    (void)state;
    uint64_t all[64] = {0};
    const npu_format *f;
    for (uint32_t i = 0; i < 64 && (f = npu_format_at(i)); i++) all[i] = packed_hash(f);
    assert_string_equal(NPU_MM_LAYOUT, "host strips 2");
    assert_string_equal(npu_host_mul_mat_packing.layout, NPU_MM_LAYOUT);
    assert_int_equal(npu_cache_hash64(all, sizeof all), 0x22233a3b3046f990ull);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout_name_stands_for_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
