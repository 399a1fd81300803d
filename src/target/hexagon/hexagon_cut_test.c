/* 10 000 random tensors cut for 1 to 8 devices, held against every element and every line: each element has one device,
 * no line two; and device 0 has all exactly where the rules of hexagon_cut.h say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/hexagon/hexagon_cut.h"
#include "target/hexagon/hexagon_hazard.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { CASES = 10000, MOST_BYTES = 1 << 21 };

static uint64_t seed = 20261130;

static uint32_t below(uint32_t n) {
    return npu_random_below(&seed, n);
}

typedef struct sample {
    npu_tensor t;
    uint32_t values, unit_bytes, dim, unit, n;
} sample;

static sample make(void) {
    static const uint8_t types[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_Q8_0, NPU_TYPE_F32, NPU_TYPE_BF16};
    static const uint32_t sizes[] = {1, 3, 8, 32, 33, 64, 96, 128, 160, 256, 320};
    sample s = {.t = {.type = types[below(5)]}, .dim = below(2), .n = 1 + below(NPU_HEX_DEVICES)};
    s.unit_bytes = npu_tensor_unit(&s.t, &s.values);
    s.t.ne[0] = sizes[below(11)] * s.values;
    for (int k = 1; k < NPU_MAX_DIMS; k++) s.t.ne[k] = below(3) ? 1 + below(5) : 1;
    s.t.nb[0] = s.unit_bytes;
    uint64_t step = s.t.ne[0] / s.values * s.unit_bytes;
    for (int k = 1; k < NPU_MAX_DIMS; k++) { /* dense, padded to lines, padded by anything */
        uint32_t how = below(5) ? 1 : below(3);
        if (how == 1) step = (step + NPU_HEX_LINE - 1) / NPU_HEX_LINE * NPU_HEX_LINE;
        if (how == 2) step += below(3) * s.unit_bytes;
        s.t.nb[k] = step;
        step *= s.t.ne[k];
    }
    if (!below(8)) { /* dimensions in another order */
        unsigned a = 1 + below(3), b = 1 + below(3);
        uint64_t nb = s.t.nb[a];
        s.t.nb[a] = s.t.nb[b], s.t.nb[b] = nb;
    }
    s.t.offset = below(8) ? below(4) * NPU_HEX_LINE : below(64) * s.unit_bytes;
    static const uint32_t units[] = {1, 1, 2, 3, 32, 64};
    s.unit = units[below(6)] * (s.dim ? 1 : s.values);
    return s;
}

static uint64_t place(const sample *s, const uint32_t i[NPU_MAX_DIMS]) {
    uint64_t at = s->t.offset + i[0] / s->values * s->t.nb[0];
    for (int k = 1; k < NPU_MAX_DIMS; k++) at += i[k] * s->t.nb[k];
    return at;
}

/* Gives every byte and every line of the tensor its device; false when two devices meet, which |cuts| must not do. */
static bool paint(const sample *s, const uint32_t *cuts, uint8_t *bytes, uint8_t *lines) {
    bool apart = true;
    memset(bytes, 0xFF, MOST_BYTES);
    memset(lines, 0xFF, MOST_BYTES / NPU_HEX_LINE);
    uint32_t i[NPU_MAX_DIMS];
    for (i[3] = 0; i[3] < s->t.ne[3]; i[3]++)
        for (i[2] = 0; i[2] < s->t.ne[2]; i[2]++)
            for (i[1] = 0; i[1] < s->t.ne[1]; i[1]++)
                for (i[0] = 0; i[0] < s->t.ne[0]; i[0] += s->values) {
                    uint32_t owners = 0, owner = 0;
                    for (uint32_t d = 0; d < s->n; d++)
                        if (i[s->dim] >= cuts[d] && i[s->dim] < cuts[d + 1]) owners++, owner = d;
                    assert_int_equal(owners, 1);
                    uint64_t at = place(s, i);
                    assert_true(at + s->unit_bytes <= MOST_BYTES);
                    for (uint32_t b = 0; b < s->unit_bytes; b++) {
                        apart = apart &&
                                (lines[(at + b) / NPU_HEX_LINE] == 0xFF || lines[(at + b) / NPU_HEX_LINE] == owner);
                        lines[(at + b) / NPU_HEX_LINE] = (uint8_t)owner;
                        bytes[at + b] = (uint8_t)owner;
                    }
                }
    return apart;
}

/* Whether coordinates are in order of their places, dimension by dimension, and none reaches into the next. */
static bool is_nested(const sample *s) {
    uint64_t end = s->t.ne[0] / s->values * s->unit_bytes;
    for (int k = 1; k < NPU_MAX_DIMS; k++) {
        if (s->t.ne[k] > 1 && s->t.nb[k] < end) return false;
        if (s->t.ne[k] > 1) end = s->t.nb[k] * s->t.ne[k];
    }
    return true;
}

/* The rules, put another way: the smallest multiple of the unit after which a line begins, by trying. */
static bool may_cut(const sample *s) {
    bool steps = true;
    for (unsigned k = s->dim + 1; k < NPU_MAX_DIMS; k++)
        steps = steps && (s->t.ne[k] == 1 || s->t.nb[k] % NPU_HEX_LINE == 0);
    if (s->n < 2 || s->t.offset % NPU_HEX_LINE || !steps || !is_nested(s)) return false;
    for (uint32_t at = s->unit; at < s->t.ne[s->dim]; at += s->unit)
        if (at / (s->dim ? 1 : s->values) * s->t.nb[s->dim] % NPU_HEX_LINE == 0) return true;
    return false;
}

static void random_partitions(void **state) {
    (void)state;
    uint8_t *bytes = malloc(MOST_BYTES), *lines = malloc(MOST_BYTES / NPU_HEX_LINE);
    uint32_t cut = 0, whole = 0;
    assert_non_null(bytes);
    assert_non_null(lines);
    for (int i = 0; i < CASES; i++) {
        sample s = make();
        uint32_t cuts[NPU_HEX_DEVICES + 1], most = 0;
        uint64_t end = s.t.offset + npu_tensor_extent(&s.t);
        if (end > MOST_BYTES) continue;
        bool is_cut = npu_hex_cut(&s.t, s.dim, s.unit, s.n, cuts);
        if (is_cut != may_cut(&s)) fail_msg("case %d: %s", i, is_cut ? "cut against the rules" : "not cut");
        assert_int_equal(cuts[0], 0);
        assert_int_equal(cuts[s.n], s.t.ne[s.dim]);
        for (uint32_t d = 0; d < s.n; d++) {
            assert_true(cuts[d] <= cuts[d + 1]);
            assert_true(cuts[d] % s.unit == 0 || cuts[d] == s.t.ne[s.dim]);
            if (cuts[d + 1] - cuts[d] > most) most = cuts[d + 1] - cuts[d];
        }
        if (is_cut) assert_true(most < s.t.ne[s.dim]);
        if (!is_cut) assert_int_equal(cuts[1], s.t.ne[s.dim]);
        if (is_cut && !paint(&s, cuts, bytes, lines)) fail_msg("case %d: two devices write one line", i);
        if (!is_cut && is_nested(&s)) assert_true(paint(&s, cuts, bytes, lines));
        *(is_cut ? &cut : &whole) += 1;
    }
    free(bytes);
    free(lines);
    assert_true(cut > CASES / 10 && whole > CASES / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_partitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
