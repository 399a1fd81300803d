/* Opening and closing contexts, and what can be asked of an open one (npu/context.h). */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/memory.h"
#include "base/pool.h"

static bool go_on(const npu_context_params *p, double part) {
    return !p->progress || p->progress(p->progress_user, part);
}

/* Weights become usable layer by layer, so that a long load shows and can be stopped. */
static npu_status load(npu_target *target, const npu_instance *instance, const npu_context_params *p, npu_error *err) {
    uint32_t n = instance->h->n_layers;
    for (uint32_t i = 0; i < n; i++) {
        NPU_TRY(target->ops->load_block(target, i, 1, &instance->source, err));
        if (!go_on(p, (double)(i + 1) / n)) return npu_fail(err, NPU_CANCELLED, "context.cancelled", "cancelled");
    }
    return NPU_OK;
}

static npu_status open_device(npu_context *c, const npu_context_params *p, const npu_target_ops *target,
                              const npu_caps *caps, npu_error *err) {
    npu_target_params params = npu__api_target_params(p);
    const npu_plan_entry *first = NULL;
    NPU_TRY(npu__api_derive(c->model, p, &c->instance, target, caps, &c->plan, err));
    npu_memory need = npu__api_memory(c->model, &c->instance, "");
    need.device_bytes = npu__api_device_bytes(c->plan);
    NPU_TRY(npu__api_check_memory(&need, err));
    if (p->no_fallback && npu_plan_fallbacks(c->plan, &first))
        return npu_fail(err, NPU_REFUSED, "context.fallback", "layer %d, role %s would run on the CPU: %s",
                        first->layer == NPU_NO_LAYER ? -1 : first->layer, npu_role_name(first->role), first->why);
    NPU_TRY(c->host->ops->load_block(c->host, 0, c->model->h.n_layers, &c->instance.source, err));
    params.trace = c->trace;
    params.cache = c->cache ? npu_cache_seam(c->cache) : NULL;
    NPU_TRY(target->open(&params, c->plan, p->kernels_dir, &c->device, err));
    return load(c->device, &c->instance, p, err);
}

/* All ops run on the host whatever a plan says; a given one is still held against the model and the settings. */
static npu_status load_host(npu_context *c, const npu_context_params *p, const npu_caps *caps, npu_error *err) {
    NPU_TRY(npu__api_derive(c->model, p, &c->instance, NULL, caps, &c->plan, err));
    return load(c->host, &c->instance, p, err);
}

static npu_status make_executor(npu_context *c, const npu_context_params *p, npu_error *err) {
    uint32_t n_ops = c->instance.graphs[0].n_ops;
    bool *on_device = NULL;
    if (c->device) {
        on_device = calloc(n_ops, sizeof *on_device);
        if (!on_device) return npu_fail(err, NPU_NO_MEMORY, "context.memory", "no memory for a plan of %u ops", n_ops);
        for (uint32_t i = 0; i < n_ops && i < c->plan->n_entries; i++) on_device[i] = c->plan->entries[i].on_device;
    }
    npu_executor_params params = {.host = c->host,
                                  .device = c->device,
                                  .plan = c->plan,
                                  .files = c->model->files,
                                  .n_files = (uint32_t)npu_gguf_file_count(c->model->gguf),
                                  .cancelled = p->cancelled,
                                  .cancelled_user = p->cancelled_user,
                                  .trace = c->trace};
    npu_executor_graph graphs[NPU_GRAPH_KINDS];
    for (int i = 0; i < NPU_GRAPH_KINDS; i++) graphs[i] = (npu_executor_graph){&c->instance.graphs[i], on_device};
    npu_status status = npu_executor_create(&params, graphs, NPU_GRAPH_KINDS, &c->executor, err);
    free(on_device);
    return status;
}

/* What packs in a few milliseconds is not worth files. */
enum { LEAST_CACHED_BYTES = 16 << 20 };

static npu_status open_cache(npu_context *c, const npu_context_params *p, npu_error *err) {
    uint32_t n = (uint32_t)npu_gguf_file_count(c->model->gguf);
    npu_cache_file *files = calloc(n, sizeof *files);
    if (!files) return npu_fail(err, NPU_NO_MEMORY, "context.memory", "no memory for %u files", n);
    for (uint32_t i = 0; i < n; i++) {
        const npu_gguf_file *f = npu_gguf_file_at(c->model->gguf, i);
        files[i] =
            (npu_cache_file){f->path, c->model->files[i].data, f->size, f->device, f->inode, f->mtime_ns, f->ctime_ns};
    }
    npu_cache_params params = {.logger = p->logger,
                               .dir = p->cache_dir,
                               .limit_bytes = p->cache_limit_bytes ? p->cache_limit_bytes : NPU_CACHE_DEFAULT_LIMIT,
                               .least_bytes = LEAST_CACHED_BYTES,
                               .threads = p->threads,
                               .files = files,
                               .n_files = n,
                               .cancelled = p->cancelled,
                               .cancelled_user = p->cancelled_user};
    npu_status status = npu_cache_open(&params, &c->cache, err);
    free(files);
    return status;
}

static npu_status open_context(npu_context *c, const npu_context_params *p, npu_error *err) {
    const npu_target_ops *target;
    npu_caps caps = {0};
    npu_target_params params = npu__api_target_params(p);
    NPU_TRY(npu__api_caps(p, NULL, &target, &caps, err));
    NPU_TRY(npu__api_instance(c->model, p, &caps, &c->instance, err));
    npu__api_tell_cores(p, npu_pool_cores());
    npu_memory need = npu__api_memory(c->model, &c->instance, "");
    NPU_TRY(npu__api_check_memory(&need, err));
    if (need.available_bytes && need.weights_bytes > need.available_bytes)
        npu_log(&p->logger, NPU_LOG_WARN, "the weights (%llu MiB) are larger than the memory that is available",
                (unsigned long long)(need.weights_bytes >> 20));
    c->max_logits = npu_instance_max_out(&c->instance, NPU_GRAPH_PREFILL);
    c->kept = malloc((size_t)c->max_logits * c->model->h.n_vocab * sizeof(float));
    if (!c->kept)
        return npu_fail(err, NPU_NO_MEMORY, "context.memory", "no memory for %u rows of logits", c->max_logits);
    if (p->trace_path) NPU_TRY(npu_trace_create(p->trace_path, &c->trace, err));
    if (p->cache_dir && !p->no_cache) NPU_TRY(open_cache(c, p, err));
    params.cache = c->cache ? npu_cache_seam(c->cache) : NULL;
    NPU_TRY(npu_target_host.open(&params, NULL, NULL, &c->host, err));
    NPU_TRY(target ? open_device(c, p, target, &caps, err) : load_host(c, p, &caps, err));
    if (p->mode == NPU_MODE_FAST && c->plan->caps.bit_exact)
        npu_log(&p->logger, NPU_LOG_WARN, "fast mode has no effect on this CPU: it needs AVX-512 BF16 or AMX");
    npu_log(&p->logger, NPU_LOG_INFO, "%s on %s by plan %s", c->plan->architecture, c->plan->target, c->plan->hash);
    return make_executor(c, p, err);
}

npu_status npu_context_open(npu_model *model, const npu_context_params *params, npu_context **out, npu_error *err) {
    npu_context_params p = params ? *params : (npu_context_params){0};
    *out = NULL;
    npu_context *c = calloc(1, sizeof *c);
    if (!c) return npu_fail(err, NPU_NO_MEMORY, "context.memory", "no memory to open a context");
    c->model = model;
    npu_status status = open_context(c, &p, err);
    if (status == NPU_OK) {
        *out = c;
    } else {
        npu_context_close(c);
    }
    return status;
}

void npu_context_close(npu_context *c) {
    if (!c) return;
    if (c->executor && c->cache) npu_cache_save(c->cache); /* targets still have what they packed */
    npu_executor_free(c->executor);
    if (c->device) c->device->ops->close(c->device);
    if (c->host) c->host->ops->close(c->host);
    npu_plan_free(c->plan);
    npu_instance_free(&c->instance);
    npu_trace_free(c->trace);
    npu_cache_close(c->cache);
    free(c->kept);
    free(c);
}

npu_status npu_context_trace_end(npu_context *c, npu_trace_report *out, npu_error *err) {
    *out = (npu_trace_report){0};
    return c->trace ? npu_trace_end_file(c->trace, &out->spans, &out->dropped, err) : NPU_OK;
}

uint32_t npu_context_ctx(const npu_context *c) {
    return c->instance.state.ctx;
}

uint32_t npu_context_n_seq(const npu_context *c) {
    return c->instance.state.n_seq;
}

uint32_t npu_context_prefill_rows(const npu_context *c) {
    return c->instance.settings.prefill_rows;
}

uint32_t npu_context_max_logits(const npu_context *c) {
    return c->max_logits;
}

void npu_context_counters(const npu_context *c, npu_counters *out) {
    *out = (npu_counters){.weight_bytes_per_token = c->instance.weight_bytes,
                          .multiply_adds_per_token = c->instance.multiply_adds,
                          .kv_bytes_per_token = npu_instance_kv_bytes(&c->instance)};
    npu_executor_count(c->executor, out);
    if (c->cache) npu_cache_count(c->cache, &out->cached_bytes, &out->packed_bytes);
}

void npu_context_profile(npu_context *c, npu_profile_fn *fn, void *user) {
    npu_executor_profile(c->executor, fn, user);
}

uint32_t npu_seq_length(const npu_context *c, uint32_t seq) {
    return seq < c->instance.state.n_seq ? c->instance.state.lengths[seq] : 0;
}

static npu_status check_seq(const npu_context *c, uint32_t seq, npu_error *err) {
    if (seq < c->instance.state.n_seq) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "decode.seq", "sequence %u: the context has %u", seq, c->instance.state.n_seq);
}

npu_status npu_seq_truncate(npu_context *c, uint32_t seq, uint32_t length, npu_error *err) {
    NPU_TRY(check_seq(c, seq, err));
    npu_state_truncate(&c->instance.state, seq, length);
    return NPU_OK;
}

npu_status npu_seq_copy(npu_context *c, uint32_t from, uint32_t to, uint32_t length, npu_error *err) {
    NPU_TRY(check_seq(c, from, err));
    NPU_TRY(check_seq(c, to, err));
    if (length > c->instance.state.lengths[from])
        return npu_fail(err, NPU_INVALID, "decode.seq", "sequence %u has %u tokens, %u were asked for", from,
                        c->instance.state.lengths[from], length);
    if (from == to) return npu_seq_truncate(c, to, length, err);
    return npu_state_copy(&c->instance.state, c->executor, from, to, length, err);
}

npu_status npu_context_reset(npu_context *c, npu_error *err) {
    (void)err;
    npu_state_reset(&c->instance.state);
    c->n_logits = 0;
    return NPU_OK;
}
