/* Random pairs of accesses against the lines that they touch: what meets is always found; what does not, always passes
 * where both are columns of rows of one step, which is what devices make side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/hexagon/hexagon_hazard.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { CASES = 20000, BYTES = 1 << 16 };

static uint64_t seed = 20261130;

static uint32_t below(uint32_t n) {
    return npu_random_below(&seed, n);
}

static void mark(const npu_tensor *t, uint8_t *bytes) {
    uint32_t i[4];
    memset(bytes, 0, BYTES);
    for (i[3] = 0; i[3] < t->ne[3]; i[3]++)
        for (i[2] = 0; i[2] < t->ne[2]; i[2]++)
            for (i[1] = 0; i[1] < t->ne[1]; i[1]++)
                for (i[0] = 0; i[0] < t->ne[0]; i[0]++)
                    memset(bytes + t->offset + i[0] * t->nb[0] + i[1] * t->nb[1] + i[2] * t->nb[2] + i[3] * t->nb[3], 1,
                           4);
}

/* Columns of rows |step| bytes apart. */
static npu_tensor columns(uint32_t step) {
    npu_tensor t = {.type = NPU_TYPE_F32, .ne = {1 + below(step / 4), 1 + below(6), 1, 1}, .nb = {4, step, step, step}};
    t.offset = (uint64_t)below(3) * step + 4 * below(step / 4 - t.ne[0] + 1);
    if (t.ne[1] > 1 && below(2)) { /* the same as heads */
        for (uint32_t w = 2; w < 5; w++)
            if (t.ne[0] % w == 0 && t.ne[2] == 1) {
                t.ne[2] = t.ne[1], t.ne[1] = w, t.ne[0] /= w;
                t.nb[1] = t.ne[0] * 4;
            }
    }
    return t;
}

static npu_tensor anything(void) {
    npu_tensor t = {.type = NPU_TYPE_F32, .offset = 4 * below(64)};
    uint64_t step = 4;
    for (int k = 0; k < 4; k++) {
        t.ne[k] = 1 + below(k ? 4 : 20);
        t.nb[k] = step;
        step = step * t.ne[k] + (below(3) ? 0 : 4 * below(9));
    }
    if (!below(4)) {
        uint64_t nb = t.nb[1];
        t.nb[1] = t.nb[2], t.nb[2] = nb;
    }
    return t;
}

static bool needs_barrier(const npu_tensor *a, bool write_a, const npu_tensor *b, bool write_b, uint32_t device_b) {
    static const char memory;
    npu_hex_hazards h = {0};
    npu_hex_hazards_begin(&h);
    assert_true(npu_hex_hazards_add(&h, 0, a, &memory, write_a));
    assert_false(npu_hex_hazards_end(&h));
    npu_hex_hazards_begin(&h);
    assert_true(npu_hex_hazards_add(&h, device_b, b, &memory, write_b));
    bool needed = npu_hex_hazards_end(&h);
    npu_hex_hazards_begin(&h); /* after a barrier the same again needs none */
    assert_true(npu_hex_hazards_add(&h, device_b, b, &memory, write_b));
    if (needed) assert_false(npu_hex_hazards_end(&h));
    npu_hex_hazards_free(&h);
    return needed;
}

static void random_accesses(void **state) {
    (void)state;
    uint8_t *a = malloc(BYTES), *b = malloc(BYTES);
    uint32_t met = 0, passed = 0;
    assert_non_null(a);
    assert_non_null(b);
    for (int i = 0; i < CASES; i++) {
        bool regular = below(2), write_a = below(2), write_b = below(2);
        uint32_t step = 128 * (1 + below(4)), other = below(4) ? 1 : 0;
        npu_tensor x = regular ? columns(step) : anything(), y = regular ? columns(step) : anything();
        mark(&x, a);
        mark(&y, b);
        bool meet = false;
        for (int k = 0; k < BYTES && !meet; k += NPU_HEX_LINE)
            meet = memchr(a + k, 1, NPU_HEX_LINE) && memchr(b + k, 1, NPU_HEX_LINE);
        meet = meet && (write_a || write_b) && other;
        bool needed = needs_barrier(&x, write_a, &y, write_b, other);
        if (meet && !needed) fail_msg("case %d: two devices meet and none waits", i);
        if (!other && needed) fail_msg("case %d: a device waits for itself", i);
        if (regular && needed && !meet && (x.ne[1] > 1 || x.ne[2] > 1) && (y.ne[1] > 1 || y.ne[2] > 1)) {
            uint64_t end_x = x.offset + npu_tensor_extent(&x), end_y = y.offset + npu_tensor_extent(&y);
            if (write_a || write_b)
                fail_msg("case %d: a barrier for nothing (%llu %llu)", i, (unsigned long long)end_x,
                         (unsigned long long)end_y);
        }
        *(needed ? &met : &passed) += 1;
    }
    free(a);
    free(b);
    assert_true(met > CASES / 20 && passed > CASES / 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_accesses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
