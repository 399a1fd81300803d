#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cpu.h"

static void levels_are_what_is_here_or_refused(void **state) {
    (void)state;
    uint32_t here = npu_cpu_features(), features;
    npu_error err = {0};
    assert_int_equal(npu_cpu_level(NULL, &features, &err), NPU_OK);
    assert_int_equal(features, here);
    assert_int_equal(npu_cpu_level("ref", &features, &err), NPU_OK);
    assert_int_equal(features, 0);
    for (unsigned i = 0; npu_cpu_level_at(i); i++) {
        npu_status status = npu_cpu_level(npu_cpu_level_at(i), &features, &err);
        assert_true(status == NPU_OK || status == NPU_UNSUPPORTED);
        assert_int_equal(features & ~here, 0);
        if (status != NPU_OK) assert_non_null(strstr(err.text, npu_cpu_level_at(i)));
    }
}

static void unknown_levels_list_the_known(void **state) {
    (void)state;
    uint32_t features;
    npu_error err = {0};
    assert_int_equal(npu_cpu_level("sse9", &features, &err), NPU_INVALID);
    assert_non_null(strstr(err.text, "ref, avx2, avxvnni, avx512, avx512bf16, amx, neon, dotprod, i8mm"));
    assert_int_equal(npu_cpu_level("", &features, &err), NPU_INVALID);
}

static void the_name_fits(void **state) {
    (void)state;
    char name[8];
    memset(name, 'x', sizeof name);
    npu_cpu_name(name, 4);
    assert_int_equal(name[3], 0);
    assert_int_equal(name[4], 'x');
    npu_cpu_name(name, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_what_is_here_or_refused),
        cmocka_unit_test(unknown_levels_list_the_known),
        cmocka_unit_test(the_name_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
