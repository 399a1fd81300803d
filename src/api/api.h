/* The structs behind the public handles, and what the front ends of this project may use besides the public functions.
 * Private to src/api, src/cli, src/serve and tests.
 */
#ifndef NPU_API_API_H
#define NPU_API_API_H

#include "cache/cache.h"
#include "model/instance.h"
#include "npu/npu.h"
#include "tokenizer/tokenizer.h"

struct npu_model {
    npu_gguf *gguf;
    npu_hparams h;
    npu_weights weights;
    npu_tokenizer *tokenizer; /* NULL: opened without */
    npu_logger logger;
    npu_executor_file *files; /* the mappings that tensors lie in */
};

struct npu_context {
    npu_model *model;
    npu_instance instance;
    npu_target *host, *device;
    npu_plan *plan;
    npu_executor *executor;
    npu_trace *trace; /* NULL = none */
    npu_decode_progress_fn *progress;
    void *progress_user;
    npu_cache *cache;    /* NULL = none */
    const float *logits; /* of the last npu_decode */
    uint32_t n_logits;
    float *kept; /* logits of earlier steps of one npu_decode, max_logits rows */
    uint32_t max_logits;
};

/* Derives the plan for a context without opening one. With a plan_path the file is read, checked against what was
 * derived, and returned. |arch|: plan for a device of that generation that is not here, NULL = probe. Free with
 * npu_plan_free. */
npu_status npu_api_plan(npu_model *model, const npu_context_params *params, const char *arch, npu_plan **out,
                        npu_error *err);

/* The parts of opening that planning shares: settings and instance for a target (NULL = host alone). */
npu_status npu__api_instance(npu_model *model, const npu_context_params *params, const npu_caps *caps,
                             npu_instance *out, npu_error *err);
npu_status npu__api_caps(const npu_context_params *params, const char *arch, const npu_target_ops **target,
                         npu_caps *caps, npu_error *err);
/* Says so when threads = 0 leaves some of |cores| idle. */
void npu__api_tell_cores(const npu_context_params *params, unsigned cores);
npu_target_params npu__api_target_params(const npu_context_params *params);
npu_status npu__api_derive(npu_model *model, const npu_context_params *params, const npu_instance *instance,
                           const npu_target_ops *target, const npu_caps *caps, npu_plan **out, npu_error *err);

#endif
