#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/quant.h"
#include "wire/half.h"

static void every_format_has_functions(void **state) {
    (void)state;
    const npu_format *f;
    for (uint32_t i = 0; (f = npu_format_at(i)); i++) {
        assert_non_null(npu_quant_of(f->type));
        uint8_t block[256] = {0};
        float out[256 + 1];
        out[f->block_values] = 12345; /* guard: no value past the row */
        assert_int_equal(npu_quant_dequant_row(f->type, block, out, f->block_values), NPU_OK);
        for (uint32_t j = 0; j < f->block_values; j++) assert_true(out[j] == 0);
        assert_true(out[f->block_values] == 12345);
        if (f->block_values > 1)
            assert_int_equal(npu_quant_dequant_row(f->type, block, out, f->block_values - 1), NPU_INVALID);
    }
    float one = 1;
    assert_int_equal(npu_quant_dequant_row(26, &one, &one, 1), NPU_UNSUPPORTED);
    assert_int_equal(npu_quant_row(NPU_TYPE_Q4_0, &one, &one, 32), NPU_UNSUPPORTED);
    assert_null(npu_quant_of(NPU_TYPE_LIMIT));
}

static void q8_0_packs_by_the_rule(void **state) {
    (void)state;
    float x[32] = {0}, back[32];
    uint8_t block[34 + 1];
    x[3] = -127;
    x[4] = 2.5f; /* a tie: away from zero */
    x[5] = -2.5f;
    block[34] = 0xA5;
    assert_int_equal(npu_quant_row(NPU_TYPE_Q8_0, x, block, 32), NPU_OK);
    assert_int_equal(block[34], 0xA5);
    assert_int_equal(npu_quant_dequant_row(NPU_TYPE_Q8_0, block, back, 32), NPU_OK);
    assert_true(back[3] == -127 && back[4] == 3 && back[5] == -3 && back[6] == 0);
}

/* A row that is not finite must not come back as one that is; the smallest numbers must not turn into such a row. */
static void q8_0_keeps_nonfinite_apart(void **state) {
    (void)state;
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    uint8_t block[34];
    float x[32], back[32];
    for (size_t i = 0; i < 3; i++) {
        memset(x, 0, sizeof x);
        x[31] = bad[i];
        npu_quant_row(NPU_TYPE_Q8_0, x, block, 32);
        npu_quant_dequant_row(NPU_TYPE_Q8_0, block, back, 32);
        for (int j = 0; j < 32; j++) assert_true(isnan(back[j]));
    }
    memset(x, 0, sizeof x);
    x[7] = npu_bits_float(127);
    npu_quant_row(NPU_TYPE_Q8_0, x, block, 32);
    npu_quant_dequant_row(NPU_TYPE_Q8_0, block, back, 32);
    for (int j = 0; j < 32; j++) assert_true(back[j] == 0);
}

static void floats_pass_through(void **state) {
    (void)state;
    float x[3] = {1.0f, -65504.0f, 1e-8f}, back[3];
    uint16_t half[3];
    npu_quant_row(NPU_TYPE_F16, x, half, 3);
    npu_quant_dequant_row(NPU_TYPE_F16, half, back, 3);
    assert_true(back[0] == 1 && back[1] == -65504 && back[2] == 0);
    npu_quant_row(NPU_TYPE_BF16, x, half, 3);
    npu_quant_dequant_row(NPU_TYPE_BF16, half, back, 3);
    assert_true(back[0] == 1 && back[1] == -65536);
    npu_quant_row(NPU_TYPE_F32, x, back, 3);
    assert_memory_equal(back, x, sizeof x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_has_functions),
        cmocka_unit_test(q8_0_packs_by_the_rule),
        cmocka_unit_test(q8_0_keeps_nonfinite_apart),
        cmocka_unit_test(floats_pass_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
