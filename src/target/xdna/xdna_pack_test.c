/* Packing against the layout's own functions, element by element, for tiled layouts of both generations and rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "target/xdna/xdna_pack.h"

static const npu_xdna_layout layouts[] = {
    {.m = 16, .k = 128, .n = 192, .r = 8, .s = 8, .t = 8, .kt = 64, .nt = 64, .tiled = true},
    {.m = 16, .k = 96, .n = 64, .r = 4, .s = 8, .t = 8, .kt = 32, .nt = 16, .tiled = true},
    {.m = 32, .k = 40, .n = 36, .r = 4, .s = 4, .t = 6, .kt = 20, .nt = 12, .tiled = true},
    {.m = 16, .k = 64, .n = 48, .tiled = false},
    {.m = 5, .k = 7, .n = 9, .tiled = false},
};

static int8_t code(uint32_t i, uint32_t k) {
    return (int8_t)(i * 31 + k * 7 + (i * k >> 3));
}

static void packs_as_the_layout_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const npu_xdna_layout *l = &layouts[i];
        assert_true(npu_xdna_layout_ok(l));
        uint32_t group = npu_xdna_pack_group(l);
        int8_t *a = calloc(1, npu_xdna_a_bytes(l)), *b = calloc(1, npu_xdna_b_bytes(l));
        int8_t *codes = malloc((size_t)l->k * group);
        assert_true(a && b && codes);
        assert_int_equal(l->n % group, 0);
        for (uint32_t m = 0; m < l->m; m++) {
            for (uint32_t k = 0; k < l->k; k++) codes[k] = code(m, k);
            npu_xdna_pack_row(l, m, codes, a);
        }
        for (uint32_t n = 0; n < l->n; n += group) {
            for (uint32_t j = 0; j < group; j++)
                for (uint32_t k = 0; k < l->k; k++) codes[j * l->k + k] = code(n + j, k);
            npu_xdna_pack_columns(l, n, codes, b);
        }
        for (uint32_t k = 0; k < l->k; k++) {
            for (uint32_t m = 0; m < l->m; m++) assert_int_equal(a[npu_xdna_a_at(l, m, k)], code(m, k));
            for (uint32_t n = 0; n < l->n; n++) assert_int_equal(b[npu_xdna_b_at(l, k, n)], code(n, k));
        }
        free(codes);
        free(a);
        free(b);
    }
}

static void unpacks_as_the_layout_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const npu_xdna_layout *l = &layouts[i];
        int32_t *c = malloc(npu_xdna_c_bytes(l)), *sums = malloc((l->n + 1) * sizeof *sums);
        assert_true(c && sums);
        for (uint32_t m = 0; m < l->m; m++)
            for (uint32_t n = 0; n < l->n; n++) c[npu_xdna_c_at(l, m, n)] = (int32_t)(m * 1000 + n);
        for (uint32_t m = 0; m < l->m; m++)
            for (uint32_t count = 1; count <= l->n; count++) {
                sums[count] = -1;
                npu_xdna_unpack_row(l, m, count, c, sums);
                for (uint32_t n = 0; n < count; n++) assert_int_equal(sums[n], m * 1000 + n);
                assert_int_equal(sums[count], -1);
            }
        free(c);
        free(sums);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_as_the_layout_says),
        cmocka_unit_test(unpacks_as_the_layout_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
