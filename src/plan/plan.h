/* The plan: everything that decides how a model will run, as a table: what runs where, in which layout, and why.
 *
 * Derived once from the model's graphs and a target's caps (npu_plan_derive), written and read as plan.json, compared
 * with what is there before anything is opened (npu_plan_check). After that the plan decides: targets read it and never
 * choose again. A plan is immutable once made; any thread may read it.
 */
#ifndef NPU_PLAN_H
#define NPU_PLAN_H

#include "runtime/graph.h"
#include "target/target.h"

enum { NPU_PLAN_VERSION = 1, NPU_PLAN_HASH_LEN = 64, NPU_PLAN_MAX_TENSORS = 8 };

/* One fact about the model that changes how it runs, with the GGUF key it came from ("" when it follows from tensor
 * shapes). */
typedef struct npu_plan_fact {
    char name[32], key[96], value[96];
} npu_plan_fact;

/* One op of the graph: (layer, role), its tensors, shapes, and where it runs. */
typedef struct npu_plan_entry {
    uint16_t layer, role, code, n_tensors;
    uint32_t K, N, real_k, real_n; /* padded and real inner and outer size; equal unless the layout pads */
    uint64_t bytes;                /* of the weights in the layout they are used in; 0 without weights */
    uint8_t type;                  /* GGUF type of the (first) weight */
    bool on_device;
    char image[24];                         /* image kind: "gguf" = as in the file */
    char why[96];                           /* why it is not on the device; "" when it is */
    char tensors[NPU_PLAN_MAX_TENSORS][64]; /* GGUF names of the weights */
} npu_plan_entry;

typedef struct npu_plan_settings {
    npu_mode mode;
    uint32_t ctx, n_seq, decode_rows, prefill_rows;
    uint32_t out_rows; /* of a step that may ask for logits; 0 = as many as keep their memory bounded */
    uint8_t kv_type;   /* GGUF type number */
} npu_plan_settings;

struct npu_plan {
    uint32_t version;
    char hash[NPU_PLAN_HASH_LEN + 1]; /* SHA-256 over all the rest in canonical form */
    char architecture[32];
    char model_name[96];
    uint64_t weight_bytes, state_bytes, compute_bytes, io_bytes;
    uint32_t n_layers;
    char target[16];
    npu_caps caps;
    npu_plan_settings settings;
    npu_plan_fact *facts;
    npu_plan_entry *entries; /* one per op of the graph, in its order */
    uint32_t n_facts, n_entries;
};

/* What a plan is derived from. The graphs are the same ops at two row counts; an op is planned on the device when the
 * target takes it at both. |target| NULL: all on the host. */
typedef struct npu_plan_request {
    const char *architecture, *model_name;
    const npu_plan_fact *facts;
    uint32_t n_facts, n_layers;
    const npu_graph *decode, *prefill;
    const npu_weight_source *source;
    const npu_target_ops *target;
    npu_caps caps;
    npu_plan_settings settings;
} npu_plan_request;

/* |*out| is the caller's, to be freed with npu_plan_free. NO_MEMORY, or INTERNAL when the two graphs differ. */
npu_status npu_plan_derive(const npu_plan_request *request, npu_plan **out, npu_error *err);
void npu_plan_free(npu_plan *plan); /* NULL is fine */

/* plan.json. Reading checks the version, every field and range, and the hash: plan.version, plan.field, plan.hash. */
npu_status npu_plan_write(const npu_plan *plan, const char *path, npu_error *err);
npu_status npu_plan_read(const char *path, npu_plan **out, npu_error *err);

/* The JSON text as a malloc'd string, NULL when out of memory. */
char *npu_plan_to_json(const npu_plan *plan);

/* Whether |given| (from a file) is the plan for this model, target and settings, of which |derived| was just made:
 * refuses with the first difference named: plan.model, plan.target, plan.caps, plan.settings, plan.entry. */
npu_status npu_plan_check(const npu_plan *given, const npu_plan *derived, npu_error *err);

/* The part of it that concerns the device: plan.target, plan.generation, plan.caps. */
npu_status npu_plan_check_caps(const npu_plan *plan, const char *target, const npu_caps *caps, npu_error *err);

/* Ops that would run on the host although a device target was asked for; 0 = none. |*first| may be NULL. */
uint32_t npu_plan_fallbacks(const npu_plan *plan, const npu_plan_entry **first);

#endif
