/* Layers of random shapes shared among 2 to 8 devices, by rows and by tensors, held against every element and every
 * line: each element of a result is one device's, each value of K in one device's sums, operands are cut where the
 * result is; and where devices would write one line, hexagon_hazard.h says so, so that device 0 does the op. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/random_layer.h"
#include "target/hexagon/hexagon_hazard.h"
#include "target/hexagon/hexagon_parts.h"
#include "wire/format.h"

enum { LAYERS = 3000, MOST_BYTES = 1 << 22, DST = NPU_OP_SRCS };

static void take(npu_tensor *t, int dim, npu_hex_range r) {
    uint32_t values;
    npu_tensor_unit(t, &values);
    t->offset += r.first / (dim ? 1 : values) * t->nb[dim];
    t->ne[dim] = r.count;
}

/* Whether device |d| writes to memory of its own. */
static bool writes_own(const npu_hex_parting *p, const npu_op *o, const npu_hex_parts *c, uint32_t d) {
    return c->own || (o->code == NPU_OP_SET_ROWS && npu_hex_parts_is_replica(p, o, d));
}

/* Whether devices touch one line of what they write. */
static bool meet(const npu_hex_parting *p, const npu_op *o, const npu_hex_parts *c, uint8_t *lines) {
    bool met = false;
    for (unsigned k = DST; k < NPU_HEX_OPERANDS; k++) {
        const npu_tensor *whole = npu_hex_parts_operand(p, o, k);
        if (!whole) continue;
        memset(lines, 0xFF, MOST_BYTES / NPU_HEX_LINE);
        for (uint32_t d = 0; d < p->n; d++) {
            npu_tensor t = *whole;
            if (!c->of[k][d].count || writes_own(p, o, c, d)) continue;
            take(&t, c->dim[k], c->of[k][d]);
            uint32_t values, unit = npu_tensor_unit(&t, &values);
            uint64_t run = (uint64_t)t.ne[0] / values * unit;
            for (uint32_t i2 = 0; i2 < t.ne[2]; i2++)
                for (uint32_t i1 = 0; i1 < t.ne[1]; i1++) {
                    uint64_t at = t.offset + i1 * t.nb[1] + i2 * t.nb[2];
                    assert_true(at + run <= MOST_BYTES);
                    for (uint64_t n = at / NPU_HEX_LINE; n <= (at + run - 1) / NPU_HEX_LINE; n++) {
                        met |= lines[n] != 0xFF && lines[n] != d;
                        lines[n] = (uint8_t)d;
                    }
                }
        }
    }
    return met;
}

static bool inside(const npu_hex_parting *p, const npu_op *o, const npu_hex_parts *c) {
    npu_hex_hazards h = {0};
    npu_hex_hazards_begin(&h);
    for (unsigned k = DST; k < NPU_HEX_OPERANDS; k++)
        for (uint32_t d = 0; d < p->n; d++) {
            const npu_tensor *whole = npu_hex_parts_operand(p, o, k);
            if (!whole || !c->of[k][d].count || writes_own(p, o, c, d)) continue;
            npu_tensor t = *whole;
            take(&t, c->dim[k], c->of[k][d]);
            assert_true(npu_hex_hazards_add(&h, d, &t, &p->batch->buffers[t.buffer], true));
        }
    bool result = npu_hex_hazards_inside(&h);
    npu_hex_hazards_free(&h);
    return result;
}

/* Devices' ranges follow each other and are all of |n|; a key-value head may be several devices'. */
static void covers(const npu_hex_parting *p, const npu_hex_range *of, uint32_t n) {
    uint32_t at = 0;
    for (uint32_t d = 0; d < p->n; d++) {
        if (d && p->heads.replicated && of[d].count && of[d].count == of[d - 1].count && of[d].first == of[d - 1].first)
            continue;
        if (of[d].count) assert_int_equal(of[d].first, at);
        at += of[d].count;
    }
    assert_int_equal(at, n);
}

static void same(const npu_hex_parting *p, const npu_hex_range *a, const npu_hex_range *b, uint32_t factor) {
    for (uint32_t d = 0; d < p->n; d++) {
        assert_int_equal(a[d].count, b[d].count * factor);
        if (a[d].count) assert_int_equal(a[d].first, b[d].first * factor);
    }
}

static void check_operands(const npu_hex_parting *p, const npu_op *o, const npu_hex_parts *c) {
    for (unsigned k = 0; k < NPU_OP_DSTS && o->code == NPU_OP_MUL_MAT; k++)
        if (o->dst[k] != NPU_NO_TENSOR) {
            assert_int_equal(c->dim[1 + k], 1);
            same(p, c->of[1 + k], c->of[DST + k], 1);
        }
    if (o->code == NPU_OP_SET_ROWS || o->code == NPU_OP_GLU) same(p, c->of[0], c->of[DST], 1);
    if (o->code != NPU_OP_FLASH_ATTN) return;
    const npu_tensor *q = npu_hex_parts_operand(p, o, 0), *k = npu_hex_parts_operand(p, o, 1);
    same(p, c->of[2], c->of[1], 1);
    for (uint32_t d = 0, group = q->ne[1] / k->ne[1]; d < p->n; d++) /* the query heads of its key-value heads */
        if (c->of[0][d].count) {
            assert_true(c->of[0][d].first / group >= c->of[1][d].first);
            assert_int_equal((c->of[0][d].first + c->of[0][d].count - 1) / group,
                             c->of[1][d].first + c->of[1][d].count - 1);
            if (!p->heads.replicated) assert_int_equal(c->of[0][d].count, c->of[1][d].count * group);
        }
    same(p, c->of[DST], c->of[0], 1);
}

static void check_sums(const npu_hex_parting *p, const npu_op *o, const npu_hex_parts *c) {
    const npu_tensor *w = npu_hex_parts_operand(p, o, 1);
    covers(p, c->of[0], w->ne[0]);
    same(p, c->of[0], c->of[1], 1);
    for (uint32_t d = 0; d < p->n; d++) {
        uint32_t unit = w->type == NPU_TYPE_Q4_K || w->type == NPU_TYPE_Q6_K ? 256 : w->type == NPU_TYPE_F32 ? 32 : 64;
        if (c->of[0][d].count) assert_int_equal(c->of[0][d].first % unit, 0);
    }
}

static void random_layers(void **state) {
    (void)state;
    static layer l;
    uint8_t *lines = malloc(MOST_BYTES / NPU_HEX_LINE);
    uint32_t counts[4] = {0}, met = 0, replicated = 0;
    assert_non_null(lines);
    for (int i = 0; i < LAYERS; i++) {
        npu_hex_value values[OPS] = {{0}};
        make(&l);
        npu_hex_parting p = {.batch = &l.batch, .n = 2 + below(7), .sums = below(2), .values = values};
        npu_hex_parts_begin(&p);
        for (uint32_t k = 0; k < l.batch.n_ops; k++) {
            npu_hex_parts c;
            npu_hex_parts_choose(&p, k, &c);
            counts[c.mode]++;
            if (c.mode == NPU_HEX_SUMS) check_sums(&p, &l.ops[k], &c);
            assert_true(p.sums || c.mode != NPU_HEX_SUMS);
            assert_int_equal(c.adds_up, k && values[k - 1].sums);
            if (c.mode == NPU_HEX_PARTS) {
                for (unsigned y = DST; y < NPU_HEX_OPERANDS; y++) {
                    const npu_tensor *t = npu_hex_parts_operand(&p, &l.ops[k], y);
                    if (t) covers(&p, c.of[y], t->ne[c.dim[y]]);
                }
                check_operands(&p, &l.ops[k], &c);
                bool two_in_one = meet(&p, &l.ops[k], &c, lines);
                if (two_in_one && !inside(&p, &l.ops[k], &c)) fail_msg("layer %d, op %u: two devices in a line", i, k);
                met += two_in_one;
                if (two_in_one) c = npu_hex_parts_alone();
            }
            npu_hex_parts_note(&p, k, &c);
        }
        assert_false(p.conflict);
        replicated += p.has_replicas;
    }
    free(lines);
    for (int m = 0; m < 4; m++) assert_true(counts[m] > LAYERS / 10);
    assert_true(met > LAYERS / 100 && replicated > LAYERS / 50);
}

static void choose_all(npu_hex_parting *p) {
    memset(p->values, 0, OPS * sizeof *p->values);
    npu_hex_parts_begin(p);
    for (uint32_t k = 0; k < p->batch->n_ops; k++) {
        npu_hex_parts c;
        npu_hex_parts_choose(p, k, &c);
        npu_hex_parts_note(p, k, &c);
    }
}

/* Who reads keys or values whole where each device has only its heads' is seen, and without copies of heads nobody
 * lacks anything. */
static void readers_of_what_a_device_lacks(void **state) {
    (void)state;
    static layer l;
    uint32_t conflicts = 0;
    for (int i = 0; i < LAYERS; i++) {
        npu_hex_value values[OPS];
        make(&l);
        product(&l, l.ops[2].dst[1 + below(2)], NPU_TYPE_F32, 64);
        npu_hex_parting p = {.batch = &l.batch, .n = 2 + below(7), .sums = below(2), .values = values};
        choose_all(&p);
        assert_int_equal(p.conflict, p.has_replicas);
        conflicts += p.conflict;
        npu_hex_parting again = {.batch = &l.batch, .n = p.n, .sums = p.sums, .values = values, .no_replicas = true};
        choose_all(&again);
        assert_false(again.conflict || again.has_replicas);
    }
    assert_true(conflicts > LAYERS / 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_layers),
                                       cmocka_unit_test(readers_of_what_a_device_lacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
