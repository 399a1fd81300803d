// The tiny graph in two sizes for one executor, with a host target and another one for a device that computes as the
// host does. The test makes the executor; cmocka.h comes first.
#pragma once
#include <string.h>

#include "support/tiny_graph.h"
#include "target/target.h"

typedef struct tiny_pair {
    tiny_graph graphs[2]; // of 2 and of TINY_ROWS rows
    npu_executor_file file;
    npu_target *host, *inner;
    npu_executor *x;
} tiny_pair;

static inline npu_target *tiny_host(unsigned threads) {
    npu_target_params params = {.n_threads = threads};
    npu_target *host = NULL;
    npu_error err = {0};
    assert_int_equal(npu_target_host.open(&params, NULL, NULL, &host, &err), NPU_OK);
    return host;
}

static inline void tiny_pair_build(tiny_pair *p, unsigned threads) {
    npu_error err = {0};
    *p = (tiny_pair){.host = tiny_host(threads), .inner = tiny_host(threads)};
    for (int i = 0; i < 2; i++) {
        assert_true(tiny_build(&p->graphs[i], i ? TINY_ROWS : 2));
        assert_int_equal(npu_graph_finish(&p->graphs[i].g, &err), NPU_OK);
    }
    p->file = (npu_executor_file){p->graphs[0].file, TINY_FILE_VALUES * sizeof(float)};
}

static inline void tiny_pair_free(tiny_pair *p) {
    npu_executor_free(p->x);
    npu_target_host.close(p->host);
    npu_target_host.close(p->inner);
    for (int i = 0; i < 2; i++) tiny_free(&p->graphs[i]);
}

// Positions |first| … |first| + |n| - 1; logits after the last of them.
static inline npu_status tiny_pair_step(tiny_pair *p, uint32_t first, uint32_t n, npu_error *err) {
    unsigned k = n > 2;
    npu_step s = tiny_inputs(&p->graphs[k], p->x, k, first, n);
    return npu_executor_run(p->x, k, &s, err);
}

// A prompt of |n| rows through the larger graph, then single rows up to |end| through the smaller one; the last logits.
static inline void tiny_pair_run(tiny_pair *p, uint32_t n, uint32_t end, float out[TINY_VOCAB]) {
    npu_error err = {0};
    if (tiny_pair_step(p, 0, n, &err) != NPU_OK) fail_msg("%s", err.text);
    for (uint32_t i = n; i < end; i++)
        if (tiny_pair_step(p, i, 1, &err) != NPU_OK) fail_msg("%s", err.text);
    memcpy(out, npu_executor_data(p->x, 0, p->graphs[0].logits), TINY_VOCAB * sizeof *out);
}
