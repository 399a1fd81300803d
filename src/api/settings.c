/* From parameters to settings: defaults, ranges, the target's caps, the plan. Shared by estimating, planning and
 * opening. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/pool.h"
#include "model/arch.h"

enum {
    DEFAULT_CTX = 4096,
    DECODE_ROWS = 16,
    PREFILL_ROWS = 128,
    MAX_SEQ = 1 << 16,
    LOGITS_PART = 32,
    MAX_TIMEOUT_S = 1000000
};

_Static_assert((int)NPU_THREADS_MAX == NPU_POOL_MOST, "what the header promises is what a pool has");

npu_target_params npu__api_target_params(const npu_context_params *p) {
    return (npu_target_params){.logger = p->logger,
                               .mode = p->mode,
                               .n_threads = p->threads,
                               .cpu_level = p->cpu_level,
                               .driver = p->driver,
                               .devices = p->npu_devices,
                               .split = p->split,
                               .cache_dir = p->cache_dir,
                               .timeout_s = p->timeout_s,
                               .no_wait = p->no_wait,
                               .emu = p->emu};
}

/* What says which device, where none is to be used, was meant for one. */
static npu_status check_alone(const npu_context_params *p, npu_error *err) {
    const char *alone = p->npu_devices        ? "npu_devices"
                        : p->split            ? "split"
                        : p->driver           ? "driver"
                        : p->emu && p->emu[0] ? "emu"
                                              : NULL;
    if (!alone) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "context.no_target", "`%s` has no effect on the CPU: it needs `npu_target`",
                    alone);
}

void npu__api_tell_cores(const npu_context_params *p, unsigned cores) {
    if (!p->threads && cores > NPU_THREADS_MAX)
        npu_log(&p->logger, NPU_LOG_WARN, "%d threads for %u cores: more are not used (`threads` %d asks for so many)",
                NPU_THREADS_MAX, cores, NPU_THREADS_MAX);
}

npu_status npu__api_caps(const npu_context_params *p, const char *arch, const npu_target_ops **target, npu_caps *caps,
                         npu_error *err) {
    npu_target_params target_params = npu__api_target_params(p);
    target_params.arch = arch;
    *target = NULL;
    if (!(p->timeout_s >= 0 && p->timeout_s <= MAX_TIMEOUT_S)) /* or not a number */
        return npu_fail(err, NPU_INVALID, "context.timeout", "`timeout_s` %g: 0 to %d", p->timeout_s, MAX_TIMEOUT_S);
    if (!p->npu_target) {
        NPU_TRY(check_alone(p, err));
        return npu_target_host.probe(&target_params, caps, err);
    }
    NPU_TRY(npu_target_find(p->npu_target, target, err));
    NPU_TRY(npu_target_check(*target, &target_params, p->kernels_dir, err));
    if (p->mode != NPU_MODE_DEFAULT)
        return npu_fail(err, NPU_REFUSED, "context.target_mode",
                        "target %s runs in default mode only; exact and fast are for the CPU", p->npu_target);
    return (*target)->probe(&target_params, caps, err);
}

static npu_status kv_type(const npu_context_params *p, uint8_t *type, npu_error *err) {
    static const struct {
        const char *name;
        uint8_t type;
    } types[] = {{"f16", NPU_TYPE_F16}, {"f32", NPU_TYPE_F32}, {"q8_0", NPU_TYPE_Q8_0}};
    const char *name = p->kv ? p->kv : p->mode == NPU_MODE_EXACT ? "f32" : "f16";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) != 0) continue;
        *type = types[i].type;
        return NPU_OK;
    }
    return npu_fail(err, NPU_INVALID, "context.kv", "`kv` \"%s\" is not one of f16, f32, q8_0", name);
}

static uint32_t at_most(uint32_t value, uint32_t most) {
    return value < most ? value : most;
}

static npu_status make_settings(const npu_model *m, const npu_context_params *p, const npu_caps *caps,
                                npu_plan_settings *s, npu_error *err) {
    *s = (npu_plan_settings){.mode = p->mode, .n_seq = p->n_seq ? p->n_seq : 1};
    s->ctx = p->ctx ? p->ctx : at_most(m->h.n_ctx_train, DEFAULT_CTX);
    s->prefill_rows = p->prefill_rows ? p->prefill_rows : caps->prefill_rows ? caps->prefill_rows : PREFILL_ROWS;
    s->decode_rows = caps->max_rows ? at_most(caps->max_rows, DECODE_ROWS) : DECODE_ROWS;
    if ((int)p->mode < NPU_MODE_DEFAULT || p->mode > NPU_MODE_FAST)
        return npu_fail(err, NPU_INVALID, "context.mode", "mode %d does not exist", (int)p->mode);
    if (s->n_seq > MAX_SEQ)
        return npu_fail(err, NPU_INVALID, "context.n_seq", "`n_seq` %u: at most %d", s->n_seq, MAX_SEQ);
    if (s->prefill_rows > NPU_PREFILL_ROWS_MAX ||
        (caps->prefill_rows && p->npu_target && s->prefill_rows > caps->prefill_rows))
        return npu_fail(err, NPU_INVALID, "context.prefill_rows", "`prefill_rows` %u: at most %u", s->prefill_rows,
                        p->npu_target && caps->prefill_rows ? caps->prefill_rows : NPU_PREFILL_ROWS_MAX);
    s->decode_rows = at_most(s->decode_rows, s->prefill_rows);
    if (caps->hw.window_bytes) { /* logits are not to push weights out of the device's window; they lie in one buffer */
        uint64_t room = caps->hw.window_bytes / LOGITS_PART, most = caps->hw.max_buffer_bytes / 2;
        uint64_t rows = (room < most ? room : most) / 4 / m->h.n_vocab;
        s->out_rows = rows > s->prefill_rows ? s->prefill_rows : rows ? (uint32_t)rows : 1;
    }
    if (s->ctx > m->h.n_ctx_train)
        npu_log(&p->logger, NPU_LOG_WARN, "a context of %u positions is longer than the model's own %u", s->ctx,
                m->h.n_ctx_train);
    if (strlen(p->npu_devices ? p->npu_devices : "") >= sizeof s->devices ||
        strlen(p->split ? p->split : "") >= sizeof s->split)
        return npu_fail(err, NPU_INVALID, "context.devices", "`npu_devices` or `split` is too long to be one");
    if (p->npu_devices) strcpy(s->devices, p->npu_devices);
    if (p->split) strcpy(s->split, p->split);
    return kv_type(p, &s->kv_type, err);
}

npu_status npu__api_instance(npu_model *m, const npu_context_params *p, const npu_caps *caps, npu_instance *out,
                             npu_error *err) {
    npu_plan_settings settings;
    NPU_TRY(make_settings(m, p, caps, &settings, err));
    return npu_instance_init(out, &m->weights, &settings, err);
}

npu_status npu__api_derive(npu_model *m, const npu_context_params *p, const npu_instance *instance,
                           const npu_target_ops *target, const npu_caps *caps, npu_plan **out, npu_error *err) {
    npu_gguf_str name = {0};
    npu_gguf_get_str(m->gguf, "general.name", &name, NULL);
    npu_target_params target_params = npu__api_target_params(p);
    npu_plan_request request = {.architecture = m->h.arch->name,
                                .model_name = name.data,
                                .model_name_size = name.size,
                                .facts = m->h.facts,
                                .n_facts = m->h.n_facts,
                                .n_layers = m->h.n_layers,
                                .decode = &instance->graphs[NPU_GRAPH_DECODE],
                                .prefill = &instance->graphs[NPU_GRAPH_PREFILL],
                                .source = &instance->source,
                                .target = target,
                                .target_params = p->plan_path ? NULL : &target_params,
                                .kernels_dir = p->kernels_dir,
                                .caps = *caps,
                                .settings = instance->settings};
    NPU_TRY(npu_plan_derive(&request, out, err));
    if (!p->plan_path) {
        npu_status fits = target && target->check_plan ? target->check_plan(caps, *out, err) : NPU_OK;
        if (fits != NPU_OK) npu_plan_free(*out);
        if (fits != NPU_OK) *out = NULL;
        return fits;
    }
    npu_plan *given = NULL;
    npu_status status = npu_plan_read(p->plan_path, &given, err);
    if (status == NPU_OK) status = npu_plan_check(given, *out, err);
    if (status == NPU_OK && target && target->check_plan) status = target->check_plan(caps, given, err);
    npu_plan_free(*out);
    *out = status == NPU_OK ? given : NULL;
    if (status != NPU_OK) npu_plan_free(given);
    return status;
}

npu_status npu_api_plan(npu_model *m, const npu_context_params *params, const char *arch, npu_plan **out,
                        npu_error *err) {
    npu_context_params p = params ? *params : (npu_context_params){0};
    const npu_target_ops *target;
    npu_caps caps = {0};
    npu_instance instance;
    *out = NULL;
    NPU_TRY(npu__api_caps(&p, arch, &target, &caps, err));
    NPU_TRY(npu__api_instance(m, &p, &caps, &instance, err));
    npu_status status = npu__api_derive(m, &p, &instance, target, &caps, out, err);
    npu_instance_free(&instance);
    return status;
}
