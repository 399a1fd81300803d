#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/format.h"
#include "wire/half.h"

static void table_is_consistent(void **state) {
    (void)state;
    uint32_t n = 0;
    for (const npu_format *f; (f = npu_format_at(n)); n++) {
        assert_ptr_equal(npu_format_of(f->type), f);
        assert_ptr_equal(npu_format_named(f->name), f);
        assert_string_equal(npu_format_name(f->type), f->name);
        assert_int_equal(f->block_values % f->group_values, 0);
    }
    assert_int_equal(n, 16);
    assert_ptr_equal(npu_format_named("Q4_K"), npu_format_of(NPU_TYPE_Q4_K));
    assert_null(npu_format_named("q4"));
    assert_null(npu_format_named("q4_kk"));
    assert_null(npu_format_of(26));
    assert_null(npu_format_of(UINT32_MAX));
    assert_string_equal(npu_format_name(26), "i32");
    assert_string_equal(npu_format_name(999), "unknown");
    assert_int_equal(npu_format_row_bytes(npu_format_of(NPU_TYPE_Q6_K), 512), 420);
}

/* Widening is exact, so every half must come back as itself; NaNs become quiet. */
static void halves_round_trip(void **state) {
    (void)state;
    for (uint32_t h = 0; h <= 0xFFFF; h++) {
        uint16_t want = (uint16_t)((h & 0x7FFF) > 0x7C00 ? h | 0x200 : h);
        assert_int_equal(npu_float_to_half(npu_half_to_float((uint16_t)h)), want);
        want = (uint16_t)((h & 0x7FFF) > 0x7F80 ? h | 0x40 : h);
        assert_int_equal(npu_float_to_bf16(npu_bf16_to_float((uint16_t)h)), want);
    }
}

/* Between neighbours: below the middle goes down, above goes up, the middle to even. */
static void narrowing_rounds_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7C00; h++) {
        double low = (double)npu_half_to_float((uint16_t)h);
        double high = h == 0x7BFF ? 65536 : (double)npu_half_to_float((uint16_t)(h + 1));
        uint32_t middle = npu_float_bits((float)((low + high) / 2));
        for (uint32_t sign = 0; sign <= 1; sign++) {
            uint32_t s16 = sign << 15, s32 = sign << 31;
            assert_int_equal(npu_float_to_half(npu_bits_float(s32 | (middle - 1))), s16 | h);
            assert_int_equal(npu_float_to_half(npu_bits_float(s32 | (middle + 1))), s16 | (h + 1));
            assert_int_equal(npu_float_to_half(npu_bits_float(s32 | middle)), s16 | (h + (h & 1)));
        }
    }
    assert_int_equal(npu_float_to_half(npu_bits_float(1)), 0);
    assert_int_equal(npu_float_to_half(3e38f), 0x7C00);
    assert_int_equal(npu_float_to_half(npu_bits_float(0x7F800001)), 0x7E00);
    assert_int_equal(npu_float_to_bf16(npu_bits_float(0x3F808000)), 0x3F80);
    assert_int_equal(npu_float_to_bf16(npu_bits_float(0x3F818000)), 0x3F82);
    assert_int_equal(npu_float_to_bf16(npu_bits_float(0x7F7FFFFF)), 0x7F80);
    assert_int_equal(npu_float_to_bf16(npu_bits_float(0x7F800001)), 0x7FC0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_consistent),
        cmocka_unit_test(halves_round_trip),
        cmocka_unit_test(narrowing_rounds_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
