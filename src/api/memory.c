/* What a context would need, and what there is for it. */
#include "api/memory.h"

#include "api/api.h"
#include "base/memory.h"

npu_memory npu__api_memory(const npu_model *m, const npu_instance *instance, const char *root) {
    npu_memory need = {.weights_bytes = m->weights.used_bytes,
                       .state_bytes = instance->state.bytes,
                       .available_bytes = npu_memory_now(root).free};
    uint64_t io = 0, compute = 0;
    for (int i = 0; i < NPU_GRAPH_KINDS; i++) {
        const npu_graph *g = &instance->graphs[i];
        if (g->io_bytes > io) io = g->io_bytes;
        if (g->compute_bytes > compute) compute = g->compute_bytes;
    }
    need.compute_bytes = io + compute;
    return need;
}

uint64_t npu__api_device_bytes(const npu_plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++)
        for (unsigned k = 0; k < plan->entries[i].n_designs; k++) {
            const npu_plan_design *d = &plan->designs[plan->entries[i].designs[k]];
            bytes += d->bytes + d->N * sizeof(float);
        }
    return bytes;
}

npu_status npu__api_check_memory(const npu_memory *need, npu_error *err) {
    uint64_t own;
    if (__builtin_add_overflow(need->state_bytes, need->compute_bytes, &own) ||
        __builtin_add_overflow(own, need->device_bytes, &own) || (need->available_bytes && own > need->available_bytes))
        return npu_fail(err, NPU_NO_MEMORY, "context.memory",
                        "the context needs %llu MiB for keys and values, %llu MiB for computing and %llu MiB for a "
                        "device's copies of weights, %llu MiB are available",
                        (unsigned long long)(need->state_bytes >> 20), (unsigned long long)(need->compute_bytes >> 20),
                        (unsigned long long)(need->device_bytes >> 20),
                        (unsigned long long)(need->available_bytes >> 20));
    return NPU_OK;
}

npu_status npu_context_estimate(npu_model *m, const npu_context_params *params, npu_memory *out, npu_error *err) {
    npu_context_params p = params ? *params : (npu_context_params){0};
    const npu_target_ops *target;
    npu_caps caps = {0};
    npu_instance instance;
    *out = (npu_memory){0};
    NPU_TRY(npu__api_caps(&p, NULL, &target, &caps, err));
    NPU_TRY(npu__api_instance(m, &p, &caps, &instance, err));
    npu_memory need = npu__api_memory(m, &instance, "");
    npu_status status = NPU_OK;
    if (target && target->design) {
        npu_plan *plan = NULL;
        status = npu__api_derive(m, &p, &instance, target, &caps, &plan, err);
        if (status == NPU_OK) need.device_bytes = npu__api_device_bytes(plan);
        npu_plan_free(plan);
    }
    if (status == NPU_OK) *out = need;
    npu_instance_free(&instance);
    return status;
}
