/* The graph builder: layout (no two living tensors share bytes, in place where allowed), views, and failures by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "graph/graph_internal.h"
#include "support/tiny_graph.h"
#include "wire/op_check.h"

static void finished(tiny_graph *t, uint32_t rows) {
    npu_error err = {0};
    assert_true(tiny_build(t, rows));
    if (npu_graph_finish(&t->g, &err) != NPU_OK) fail_msg("%s: %s", err.code, err.text);
}

/* Whether op |i| reads |t| or bytes of it. */
static bool reads(const npu_graph *g, uint32_t i, const npu_tensor *t) {
    for (int k = 0; k < NPU_OP_SRCS; k++)
        if (g->ops[i].src[k] != NPU_NO_TENSOR && npu_tensor_overlap(&g->tensors[g->ops[i].src[k]], t)) return true;
    return false;
}

static bool writes(const npu_graph *g, uint32_t i, const npu_tensor *t) {
    for (int k = 0; k < NPU_OP_DSTS; k++)
        if (g->ops[i].dst[k] != NPU_NO_TENSOR && npu_tensor_overlap(&g->tensors[g->ops[i].dst[k]], t)) return true;
    return false;
}

/* A source must not be written between its writer and its reader: follow every tensor by its index. */
static void nothing_is_overwritten_while_it_lives(void **state) {
    (void)state;
    for (uint32_t rows = 1; rows <= TINY_ROWS; rows++) {
        tiny_graph t = {0};
        finished(&t, rows);
        const npu_graph *g = &t.g;
        for (uint32_t i = 0; i < g->n_ops; i++) {
            for (int k = 0; k < NPU_OP_DSTS; k++) {
                if (g->ops[i].dst[k] == NPU_NO_TENSOR) continue;
                const npu_tensor *y = &g->tensors[g->ops[i].dst[k]];
                uint32_t last = i;
                for (uint32_t j = i + 1; j < g->n_ops; j++)
                    for (int s = 0; s < NPU_OP_SRCS; s++)
                        if (g->ops[j].src[s] == g->ops[i].dst[k]) last = j;
                for (uint32_t j = i + 1; j < last; j++)
                    if (y->buffer == NPU_GRAPH_COMPUTE && writes(g, j, y))
                        fail_msg("op %u overwrites a result of op %u", j, i);
                if (y->buffer <= NPU_GRAPH_COMPUTE) assert_int_equal(y->offset % 128, 0);
            }
        }
        tiny_free(&t);
    }
}

static void ops_work_in_place_where_they_may(void **state) {
    (void)state;
    tiny_graph t = {0};
    finished(&t, TINY_ROWS);
    unsigned in_place = 0;
    for (uint32_t i = 0; i < t.g.n_ops; i++) {
        const npu_op *op = &t.g.ops[i];
        const npu_tensor *y = &t.g.tensors[op->dst[0]];
        bool may =
            op->code == NPU_OP_ADD || op->code == NPU_OP_SCALE || op->code == NPU_OP_SOFTCAP || op->code == NPU_OP_ROPE;
        bool same = reads(&t.g, i, y) && op->code != NPU_OP_SET_ROWS;
        if (same && !may) fail_msg("op %u (%s) writes over its source", i, npu_op_find(op->code)->name);
        in_place += same;
    }
    assert_int_equal(in_place, 7); /* two rotations, two adds, the scale before one, scale and cap of the logits */
    assert_int_equal(t.g.tensors[t.logits].buffer, NPU_GRAPH_IO);
    tiny_free(&t);
}

static void memory_is_reused(void **state) {
    (void)state;
    tiny_graph t = {0};
    finished(&t, TINY_ROWS);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t.g.n_ops; i++) sum += npu_tensor_extent(&t.g.tensors[t.g.ops[i].dst[0]]);
    assert_true(t.g.compute_bytes < sum / 2);
    assert_int_equal(t.g.state_bytes, TINY_EMBD * TINY_CELLS * 4);
    tiny_free(&t);
}

static void views_keep_rows_and_strides(void **state) {
    (void)state;
    tiny_graph t = {0};
    npu_graph_init(&t.g, &t.source, 5, 2, 0);
    npu_t x = npu_graph_input(&t.g, NPU_TYPE_F32, 24, 0, NPU_ROWS_STEP);
    npu_t part = npu_graph_slice(&t.g, x, 8, 16);
    npu_t heads = npu_graph_reshape(&t.g, part, 4, 4, 0);
    const npu_tensor *v = &t.g.tensors[heads];
    assert_int_equal(v->ne[0], 4);
    assert_int_equal(v->ne[1], 4);
    assert_int_equal(v->ne[2], 5);
    assert_int_equal(v->rows_dim, 2);
    assert_int_equal(v->nb[1], 16);
    assert_int_equal(v->nb[2], 96);
    assert_int_equal(v->offset, 32);
    npu_t back = npu_graph_reshape(&t.g, heads, 16, 0, 1);
    assert_int_equal(t.g.tensors[back].nb[1], 96);
    assert_int_equal(t.g.status, NPU_OK);
    npu_graph_reshape(&t.g, part, 5, 3, 0);
    assert_int_equal(t.g.status, NPU_INTERNAL);
    tiny_free(&t);
}

static void failure_is(tiny_graph *t, npu_status status, const char *word) {
    npu_error err = {0};
    assert_int_equal(npu_graph_finish(&t->g, &err), status);
    if (!strstr(err.text, word)) fail_msg("\"%s\" does not name \"%s\"", err.text, word);
    tiny_free(t);
}

static void failures_are_kept_and_named(void **state) {
    (void)state;
    tiny_graph t = {0};
    assert_true(tiny_build(&t, 3));
    npu_graph_weight(&t.g, 0, NPU_ROLE_Q, NPU_PART_BIAS, 1); /* absent and optional: no failure */
    assert_int_equal(t.g.status, NPU_OK);
    npu_graph_weight(&t.g, 7, NPU_ROLE_Q, NPU_PART_BIAS, 0);
    npu_graph_scale(&t.g, NPU_NO_TENSOR, 1); /* later failures do not hide the first */
    failure_is(&t, NPU_NOT_FOUND, "no q in layer 7");

    t = (tiny_graph){0};
    assert_true(tiny_build(&t, 3));
    npu_graph_at(&t.g, 4, NPU_ROLE_D);
    npu_graph_mul_mat(&t.g, tiny_weight(&t, 4, NPU_ROLE_D), npu_graph_get_rows(&t.g, t.logits, t.out_rows),
                      NPU_NO_TENSOR);
    failure_is(&t, NPU_INTERNAL, "layer 4, role d");

    t = (tiny_graph){0};
    assert_true(tiny_build(&t, 3));
    t.g.ops[2].src[0] = NPU_NO_TENSOR;
    failure_is(&t, NPU_INTERNAL, "op 2");

    t = (tiny_graph){0}; /* rows of the step and of the outputs are as many in this graph, but not in every step */
    npu_graph_init(&t.g, &t.source, 3, 3, 0);
    npu_t step_rows = npu_graph_input(&t.g, NPU_TYPE_F32, 8, 0, NPU_ROWS_STEP);
    npu_t out_rows = npu_graph_input(&t.g, NPU_TYPE_F32, 8, 0, NPU_ROWS_OUT);
    npu_graph_add(&t.g, step_rows, out_rows);
    failure_is(&t, NPU_INTERNAL, "op 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_overwritten_while_it_lives),
        cmocka_unit_test(ops_work_in_place_where_they_may),
        cmocka_unit_test(memory_is_reused),
        cmocka_unit_test(views_keep_rows_and_strides),
        cmocka_unit_test(failures_are_kept_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
