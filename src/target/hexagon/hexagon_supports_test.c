/* What is asked of the target while planning: weights that no shared buffer can hold are planned in parts, if 32 rows
 * of them fit into one; and what the NPU program would refuse as a tensor is refused there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "target/hexagon/hexagon_internal.h"
#include "wire/check.h"
#include "wire/format.h"

/* A product with |n| rows of 4096 values of |type|. */
static bool takes(uint8_t type, uint32_t n, uint32_t most, const char **why) {
    const npu_target_params params = {.arch = "v73"};
    const npu_format *f = npu_format_of(type);
    npu_caps caps;
    npu_error err;
    assert_int_equal(npu_target_hexagon.probe(&params, &caps, &err), NPU_OK);
    caps.hw.max_buffer_bytes = most;
    npu_tensor t[3] = {{.ne = {4096, 1, 1, 1}, .type = NPU_TYPE_F32, .nb = {4, 16384, 16384, 16384}},
                       {.ne = {4096, n, 1, 1}, .type = type, .flags = NPU_TENSOR_WEIGHT},
                       {.ne = {n, 1, 1, 1}, .type = NPU_TYPE_F32, .nb = {4, 4ull * n, 4ull * n, 4ull * n}}};
    t[1].nb[0] = f->block_bytes;
    t[1].nb[1] = 4096 / f->block_values * f->block_bytes;
    t[1].nb[2] = t[1].nb[3] = t[1].nb[1] * n;
    npu_op op = {.code = NPU_OP_MUL_MAT};
    for (unsigned i = 0; i < NPU_OP_SRCS; i++) op.src[i] = i < 2 ? (uint16_t)i : NPU_NO_TENSOR;
    for (unsigned i = 0; i < NPU_OP_DSTS; i++) op.dst[i] = i < 1 ? 2 : NPU_NO_TENSOR;
    *why = NULL;
    return npu_target_hexagon.supports(&caps, NPU_MODE_DEFAULT, &op, t, why);
}

static void weights_over_a_buffer(void **state) {
    const char *why;
    (void)state;
    assert_true(takes(NPU_TYPE_Q4_0, 1 << 18, 1 << 30, &why)); /* 576 MiB */
    assert_true(takes(NPU_TYPE_Q4_0, 1 << 20, 1 << 30, &why));
    assert_true(takes(NPU_TYPE_F32, 1 << 17, 1 << 30, &why)); /* 2 GiB */
    assert_true(takes(NPU_TYPE_F32, 1 << 17, 1 << 19, &why)); /* 32 rows a part */
    assert_false(takes(NPU_TYPE_F32, 1 << 17, (1 << 19) - 1, &why));
    assert_string_equal(why, "a weight, or 32 rows of it, is larger than a shared buffer can be");
}

/* Whether a copy from such a tensor is taken, which must be what the NPU program says of the tensor. */
static bool copies(npu_tensor x) {
    const npu_target_params params = {.arch = "v73"};
    const char *why = NULL;
    npu_caps caps;
    npu_error err;
    assert_int_equal(npu_target_hexagon.probe(&params, &caps, &err), NPU_OK);
    npu_tensor t[2] = {x, {.type = x.type, .rows_of = x.rows_of, .rows_dim = x.rows_dim}};
    uint64_t at = 4;
    for (unsigned i = 0; i < NPU_MAX_DIMS; i++, at *= t[1].ne[i - 1]) t[1].ne[i] = x.ne[i], t[1].nb[i] = at;
    npu_op op = {.code = NPU_OP_CPY};
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    op.src[0] = 0, op.dst[0] = 1;
    bool takes = npu_target_hexagon.supports(&caps, NPU_MODE_DEFAULT, &op, t, &why);
    assert_true(takes == !why);
    assert_true(takes == (!npu_wire_check_tensor(&t[0], UINT64_MAX) && !npu_wire_check_tensor(&t[1], UINT64_MAX)));
    return takes;
}

static void tensors_that_the_npu_refuses(void **state) {
    (void)state;
    const npu_tensor x = {.ne = {8, 4, 2, 1}, .nb = {4, 32, 128, 256}, .type = NPU_TYPE_F32};
    assert_true(copies(x));
    for (unsigned i = 0; i < 3; i++) {
        npu_tensor t = x;
        t.nb[i] = 0; /* one element at several places */
        assert_false(copies(t));
        t.nb[i] = 1ull << 41;
        assert_false(copies(t));
    }
    npu_tensor t = x;
    t.nb[3] = 0; /* a dimension of one has no stride */
    assert_true(copies(t));
    t = x;
    t.ne[0] = (1 << 28) + 1;
    assert_false(copies(t));
    t.ne[0] = 1 << 28, t.ne[1] = 17, t.nb[1] = 4ull << 28, t.ne[2] = 1;
    assert_false(copies(t));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights_over_a_buffer),
                                       cmocka_unit_test(tensors_that_the_npu_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
