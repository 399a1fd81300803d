/* --npu-devices and --split as a table: what is taken, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "target/hexagon/hexagon_set.h"

static void sound_sets(void **state) {
    static const struct {
        const char *devices, *split;
        uint32_t n;
        npu_hex_split how;
        npu_hex_place last;
    } rows[] = {
        {NULL, NULL, 1, NPU_HEX_WHOLE, {0, 0}},
        {"0", NULL, 1, NPU_HEX_WHOLE, {0, 0}},
        {"1:2", NULL, 1, NPU_HEX_WHOLE, {1, 2}},
        {"0:0,0:1", NULL, 2, NPU_HEX_LAYER, {0, 1}},
        {"0,1", "layer", 2, NPU_HEX_LAYER, {1, 0}},
        {"0:0,0:1", "row", 2, NPU_HEX_ROW, {0, 1}},
        {"[0:0,0:1]", NULL, 2, NPU_HEX_ROW, {0, 1}},
        {"[0:0,1:0]", "row", 2, NPU_HEX_ROW, {1, 0}},
        {"0:0,1:0", "tensor", 2, NPU_HEX_TENSOR, {1, 0}},
        {"0:3", "row", 1, NPU_HEX_WHOLE, {0, 3}},
        {"0:0,0:1,0:2,0:3,1:0,1:1,1:2,1:3", NULL, 8, NPU_HEX_LAYER, {1, 3}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_hex_set set;
        npu_error err = {0};
        assert_int_equal(npu_hex_set_read(rows[i].devices, rows[i].split, &set, &err), NPU_OK);
        assert_int_equal(set.n, rows[i].n);
        assert_int_equal(set.split, rows[i].how);
        assert_int_equal(set.at[set.n - 1].npu, rows[i].last.npu);
        assert_int_equal(set.at[set.n - 1].session, rows[i].last.session);
    }
}

static void refused_sets(void **state) {
    static const struct {
        const char *devices, *split, *says;
    } rows[] = {
        {"", NULL, "NPU:SESSION"},
        {",", NULL, "NPU:SESSION"},
        {"0:0,", NULL, "NPU:SESSION"},
        {"0:", NULL, "SESSION 0 to 3"},
        {"2:0", NULL, "NPU 0 or 1"},
        {"0:4", NULL, "SESSION 0 to 3"},
        {"00:0", NULL, "NPU 0 or 1"},
        {"0:11", NULL, "SESSION 0 to 3"},
        {"0:0 0:1", NULL, "commas"},
        {"0:0,0:0", NULL, "twice"},
        {"0,0:0", NULL, "twice"},
        {"[0:0,0:1", NULL, "ends with ]"},
        {"[0:0,0:1]x", NULL, "commas"},
        {"[0:0],[0:1]", NULL, "list of groups"},
        {"0:0]", NULL, "commas"},
        {"0:0,0:1", "columns", "not one of"},
        {"[0:0,0:1]", "layer", "brackets"},
        {"0:0,0:1,0:2,0:3,1:0,1:1,1:2,1:3,0:0", NULL, "more than 8"},
        {NULL, "layer", "without `npu_devices`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_hex_set set;
        npu_error err = {0};
        assert_int_equal(npu_hex_set_read(rows[i].devices, rows[i].split, &set, &err), NPU_INVALID);
        if (!strstr(err.text, rows[i].says)) fail_msg("\"%s\": %s", rows[i].devices, err.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_sets), cmocka_unit_test(refused_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
