/* A model at given settings: where its state lies, its graph at two row counts (decode and prefill), its rotary tables.
 * Needs no target: estimates and plans are made from it, and contexts run it.
 */
#ifndef NPU_MODEL_INSTANCE_H
#define NPU_MODEL_INSTANCE_H

#include "model/build.h"
#include "model/weights.h"
#include "plan/plan.h"

enum { NPU_GRAPH_DECODE = 0, NPU_GRAPH_PREFILL = 1, NPU_GRAPH_KINDS = 2 };

typedef struct npu_instance {
    npu_plan_settings settings;
    const npu_hparams *h;
    npu_weight_source source;
    npu_state state;
    npu_graph graphs[NPU_GRAPH_KINDS];
    npu_build_io io[NPU_GRAPH_KINDS];
    float *freqs[2]; /* whole, local */
    float rope_scale[2];
    uint64_t weight_bytes;  /* read by one decode step */
    uint64_t multiply_adds; /* with weights, for one row without the head */
} npu_instance;

/* |w| and what it refers to must outlive the instance. REFUSED: the settings don't fit the model; NO_MEMORY; RANGE.
 * After failure nothing has to be freed. */
npu_status npu_instance_init(npu_instance *m, npu_weights *w, const npu_plan_settings *settings, npu_error *err);
void npu_instance_free(npu_instance *m);

/* Rows that may ask for logits in one step of a graph. */
uint32_t npu_instance_max_out(const npu_instance *m, unsigned kind);

/* Bytes of keys and values that attention reads for one row at the end of the longest sequence. */
uint64_t npu_instance_kv_bytes(const npu_instance *m);

#endif
