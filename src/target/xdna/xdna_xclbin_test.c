/* The reader of xclbin files against hostile ones, each in a block of its own size so that a sanitizer sees every byte
 * too far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/xclbin_build.h"
#include "target/xdna/xdna_kernel.h"

enum { IMAGE = 40, TOTAL = XCLBIN_IMAGE + IMAGE };

static void good(uint8_t *out) {
    uint8_t pdi[IMAGE];
    for (int i = 0; i < IMAGE; i++) pdi[i] = (uint8_t)(i + 1);
    assert_int_equal(xclbin_build(out, pdi, IMAGE, 4), TOTAL);
}

static npu_status read_copy(const uint8_t *data, size_t bytes, npu_xdna_image *out, npu_error *err) {
    uint8_t *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    npu_status status = npu__xdna_xclbin_read("k", copy, bytes, out, err);
    if (status == NPU_OK) assert_true(out->pdi >= copy && out->pdi + out->pdi_bytes <= copy + bytes);
    free(copy);
    return status;
}

static void reads(void **state) {
    uint8_t data[TOTAL];
    npu_xdna_image image;
    npu_error err = {0};
    (void)state;
    good(data);
    assert_int_equal(npu__xdna_xclbin_read("k", data, TOTAL, &image, &err), NPU_OK);
    assert_int_equal(image.columns, 4);
    assert_int_equal(image.functional, 2);
    assert_int_equal(image.ops_per_cycle, 2048);
    assert_int_equal(image.pdi_bytes, IMAGE);
    assert_ptr_equal(image.pdi, data + XCLBIN_IMAGE);
    assert_false(image.emulated);
}

static void every_length(void **state) {
    uint8_t data[TOTAL];
    npu_xdna_image image;
    (void)state;
    good(data);
    for (size_t n = 0; n < TOTAL; n++) {
        npu_error err = {0};
        assert_int_equal(read_copy(data, n, &image, &err), NPU_INVALID);
        assert_string_equal(err.code, "xdna.bad_xclbin");
        assert_non_null(strstr(err.text, "kernel k"));
    }
}

static void named_damage(void **state) {
    static const struct {
        size_t at;
        unsigned bytes;
        uint64_t value;
        const char *says;
    } rows[] = {
        {0, 1, 'y', "header"},
        {304, 8, TOTAL + 1, "shorter"},
        {304 + 144, 4, 257, "too many"},
        {304 + 144, 4, 100, "table past"},
        {304 + 144, 4, 1, "AIE_PARTITION"},
        {456, 4, 9, "IP_LAYOUT"},
        {456 + 24, 8, TOTAL, "section past"},
        {456 + 24, 8, UINT64_MAX, "section past"},
        {456 + 32, 8, UINT64_MAX, "section past"},
        {456 + 32, 8, 4, "IP_LAYOUT too short"},
        {456 + 40 + 32, 8, 183, "too short"},
        {XCLBIN_IP, 4, 3, "too short"},
        {XCLBIN_IP, 4, UINT32_MAX, "too short"},
        {XCLBIN_IP + 88, 4, 1, "no DPU kernel"},
        {XCLBIN_IP + 92, 4, 0, "no DPU kernel"},
        {XCLBIN_PARTITION + 32, 2, 0, "0 columns"},
        {XCLBIN_PARTITION + 120, 4, UINT32_MAX, "PDIs past"},
        {XCLBIN_PARTITION + 120, 4, 0, "no PDI"},
        {XCLBIN_PARTITION + 124, 4, UINT32_MAX, "PDIs past"},
        {XCLBIN_PDI + 16, 4, IMAGE + 1, "image past"},
        {XCLBIN_PDI + 16, 4, 0, "empty"},
        {XCLBIN_PDI + 20, 4, UINT32_MAX, "image past"},
        {XCLBIN_PDI + 24, 4, UINT32_MAX, "groups past"},
        {XCLBIN_PDI + 28, 4, UINT32_MAX - 4, "groups past"},
        {XCLBIN_GROUP + 16, 4, UINT32_MAX, "ids past"},
        {XCLBIN_GROUP + 16, 4, 1, "no PDI"},
        {XCLBIN_IDS + 8, 8, 0x100000901, "no PDI"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t data[TOTAL];
        npu_xdna_image image;
        npu_error err = {0};
        good(data);
        xclbin_put(data + rows[i].at, rows[i].value, rows[i].bytes);
        assert_int_equal(read_copy(data, TOTAL, &image, &err), NPU_INVALID);
        if (!strstr(err.text, rows[i].says)) fail_msg("row %zu: %s", i, err.text);
    }
}

static void every_word_spoilt(void **state) {
    static const uint32_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF8, TOTAL};
    (void)state;
    for (size_t at = 0; at + 4 <= TOTAL; at += 2) {
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            uint8_t data[TOTAL];
            npu_xdna_image image;
            npu_error err = {0};
            good(data);
            xclbin_put(data + at, values[v], 4);
            npu_status status = read_copy(data, TOTAL, &image, &err);
            assert_true(status == NPU_OK || status == NPU_INVALID);
        }
    }
}

static void instructions(void **state) {
    static const struct {
        size_t at, cut;
        uint32_t value;
        const char *says;
    } rows[] = {{12, 0, 156, "says 156 bytes"},
                {12, 0, 164, "says 164"},
                {0, 0, 0x06050100, "generation 5"},
                {0, 159, 0x06040100, "no instruction stream"},
                {0, 12, 0x06040100, "no instruction stream"}};
    uint8_t data[TOTAL], insts[160];
    npu_xdna_image image;
    npu_error err = {0};
    (void)state;
    good(data);
    npu_xdna_kernel kernel = {"k", data, TOTAL, insts, xclbin_stream(insts, 2)};
    assert_int_equal(npu__xdna_image_read(&kernel, &image, &err), NPU_OK);
    assert_int_equal(image.generation, 2);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        xclbin_stream(insts, 2);
        xclbin_put(insts + rows[i].at, rows[i].value, 4);
        kernel.insts_bytes = rows[i].cut ? rows[i].cut : 160;
        assert_int_equal(npu__xdna_image_read(&kernel, &image, &err), NPU_INVALID);
        if (!strstr(err.text, rows[i].says)) fail_msg("row %zu: %s", i, err.text);
    }
    kernel.insts = NULL;
    assert_int_equal(npu__xdna_image_read(&kernel, &image, &err), NPU_INVALID);
}

static void descriptions(void **state) {
    static const struct {
        const char *text;
        uint32_t columns, generation; /* columns 0: refused */
    } rows[] = {{"npu-emu-kernel 1\nkind int8\ncolumns 4\n", 4, 0},
                {"npu-emu-kernel 1\ngeneration xdna1\ncolumns 1", 1, 1},
                {"npu-emu-kernel 1\nkind columns 4\n", 0, 0},
                {"npu-emu-kernel 1\ncolumns 9\n", 0, 0},
                {"npu-emu-kernel 1\ncolumns -1\n", 0, 0},
                {"npu-emu-kernel 1\n", 0, 0},
                {"npu-emu-kernel 2\ncolumns 4\n", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_xdna_kernel kernel = {"k", (const uint8_t *)rows[i].text, strlen(rows[i].text), NULL, 0};
        npu_xdna_image image;
        npu_error err = {0};
        uint32_t columns;
        bool emulated;
        npu_status status = npu__xdna_image_read(&kernel, &image, &err);
        assert_int_equal(status, rows[i].columns ? NPU_OK : NPU_INVALID);
        assert_int_equal(npu_xdna_kernel_check(&kernel, &columns, &emulated, &err), status);
        if (status != NPU_OK) continue;
        assert_int_equal(image.columns, rows[i].columns);
        assert_int_equal(columns, rows[i].columns);
        assert_int_equal(image.generation, rows[i].generation);
        assert_true(emulated);
    }
    static uint8_t big[5000];
    memset(big, '\n', sizeof big);
    memcpy(big, "npu-emu-kernel 1\ncolumns 4", 26);
    npu_xdna_kernel kernel = {"k", big, sizeof big, NULL, 0};
    npu_xdna_image image;
    assert_int_equal(npu__xdna_image_read(&kernel, &image, NULL), NPU_INVALID);
    kernel.image_bytes = 100;
    kernel.insts = big;
    kernel.insts_bytes = 16;
    assert_int_equal(npu__xdna_image_read(&kernel, &image, NULL), NPU_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads),        cmocka_unit_test(every_length),
                                       cmocka_unit_test(named_damage), cmocka_unit_test(every_word_spoilt),
                                       cmocka_unit_test(instructions), cmocka_unit_test(descriptions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
