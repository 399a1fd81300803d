/* The Hexagon target's vtable: a layer over a session that knows plans, weights and batches. */
#include "target/hexagon/hexagon_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "target/gemv_helper.h"
#include "wire/guard.h"

static npu_hex_target *of(npu_target *target) {
    return (npu_hex_target *)(void *)target;
}

/* Asks the library, and opens no session. --arch: planning for a device that is not here asks nobody; but an emulated
 * device takes the architecture as a setting. */
static npu_status hex_probe(const npu_target_params *params, npu_caps *caps, npu_error *err) {
    npu_hex_driver driver;
    const npu_hex_arch *arch;
    *caps = (npu_caps){0};
    if (params->arch && !params->driver) {
        NPU_TRY(npu_hex_arch_named(params->arch, &arch, err));
        npu_hw hw = npu_hex_hw_of(arch);
        npu_hex_caps(caps, &hw, false, "planned");
        return NPU_OK;
    }
    npu_hex_set set;
    NPU_TRY(npu_hex_set_read(params->devices, params->split, &set, err));
    NPU_TRY(npu_hex_driver_open(params, NULL, &driver, err));
    npu_hw hw;
    npu_status status = npu_hex_device_hw(&driver, &hw, err);
    if (status == NPU_OK) npu_hex_caps(caps, &hw, driver.emulated, driver.emulated ? params->driver : "device");
    npu_hex_driver_close(&driver);
    return status;
}

static npu_status hex_check_params(const npu_target_params *params, const char *kernels_dir, npu_error *err) {
    npu_hex_set set;
    NPU_TRY(npu_hex_set_read(params->devices, params->split, &set, err));
    return npu_hex_driver_check(params, kernels_dir, err);
}

static void hex_close(npu_target *target) {
    if (!target) return;
    npu_hex_target *t = of(target);
    for (uint32_t d = 0; d < NPU_HEX_DEVICES; d++) npu_hex_tracer_free(t->tracers[d]);
    npu_hex_group_close(t);
    npu_hex_images_free(t);
    npu_hex_weights_free(t);
    npu_pool_destroy(t->pool);
    npu_hex_driver_tell_unmet(&t->driver, &t->base.logger);
    npu_hex_driver_close(&t->driver);
    free(t);
}

/* A group of tracks for each device. */
static npu_status trace_devices(npu_hex_target *t, npu_trace *out, npu_error *err) {
    for (uint32_t d = 0; d < t->set.n; d++) {
        char name[96];
        if (t->set.n > 1)
            snprintf(name, sizeof name, "%s, %s", t->base.caps.device, npu_hex_session_name(t->sessions[d]));
        else
            snprintf(name, sizeof name, "%s", t->base.caps.device);
        NPU_TRY(npu_hex_tracer_create(out, t->sessions[d], name, &t->tracers[d], err));
    }
    return NPU_OK;
}

static void tell_programs(const npu_hex_target *t) {
    const char *folder = t->driver.programs;
    npu_log(&t->base.logger, NPU_LOG_INFO, "hexagon: %s, NPU programs in %s", t->driver.path,
            *folder ? folder : "the folders of DSP_LIBRARY_PATH");
}

static npu_status hex_open(const npu_target_params *params, const npu_plan *plan, const char *kernels_dir,
                           npu_target **out, npu_error *err) {
    *out = NULL;
    if (params->mode != NPU_MODE_DEFAULT)
        return npu_fail(err, NPU_REFUSED, "hexagon.mode", "the NPU computes in default mode only");
    npu_hex_target *t = calloc(1, sizeof *t);
    if (!t) return npu_fail(err, NPU_NO_MEMORY, "hexagon.open", "out of memory");
    t->base.ops = &npu_target_hexagon;
    t->base.logger = params->logger;
    t->base.mode = params->mode;
    t->cache = params->cache;
    uint32_t features = 0;
    npu_status status = npu_hex_set_read(params->devices, params->split, &t->set, err);
    if (status == NPU_OK) status = npu_cpu_level(params->cpu_level, &features, err);
    t->row_tiles = npu_hex_row_tiles(features);
    if (status == NPU_OK) status = npu_pool_create(params->n_threads, &t->pool, err);
    if (status == NPU_OK) status = npu_hex_driver_open(params, kernels_dir, &t->driver, err);
    if (status == NPU_OK) tell_programs(t);
    if (status == NPU_OK) status = npu_hex_group_open(t, params, err);
    if (status == NPU_OK) {
        bool emulated = t->driver.emulated;
        npu_hex_caps(&t->base.caps, npu_hex_session_hw(t->session), emulated, emulated ? params->driver : "device");
        if (plan) status = npu_hex_check_plan(&t->base.caps, plan, err);
        if (plan && status == NPU_OK) status = npu_hex_group_obey(t, plan, err);
        if (status == NPU_OK && params->trace) status = trace_devices(t, params->trace, err);
    }
    if (status != NPU_OK) {
        hex_close(&t->base);
        return status;
    }
    npu_hex_place_weights(t, plan);
    t->session_id = (uint64_t)(uintptr_t)t;
    *out = &t->base;
    return NPU_OK;
}

static npu_status hex_load_block(npu_target *target, unsigned first_layer, unsigned n_layers,
                                 const npu_weight_source *source, npu_error *err) {
    return npu_hex_load(of(target), first_layer, n_layers, source, err);
}

static npu_status hex_buffer_alloc(npu_target *target, uint64_t bytes, npu_buffer_use use, npu_buffer **out,
                                   npu_error *err) {
    npu_buffer *b = calloc(1, sizeof *b);
    npu_hex_buffer *impl;
    *out = NULL;
    if (!b) return npu_fail(err, NPU_NO_MEMORY, "hexagon.buffer", "out of memory");
    npu_status status = npu_hex_alloc_shared(of(target), bytes, use != NPU_BUFFER_WEIGHTS, &impl, err);
    if (status != NPU_OK) {
        free(b);
        return status;
    }
    *b = (npu_buffer){.owner = target, .data = impl->data, .bytes = bytes, .use = use, .impl = impl};
    *out = b;
    return NPU_OK;
}

static void hex_buffer_free(npu_target *target, npu_buffer *buffer) {
    if (!buffer) return;
    npu_hex_group_forget(of(target), buffer->impl);
    npu_hex_buffer_free(buffer->impl);
    free(buffer);
}

/* Shared memory is coherent for the CPU (FastRPC asks nothing of user space); the NPU program keeps its own caches. */
static npu_status hex_buffer_sync(npu_target *target, npu_buffer *buffer, uint64_t offset, uint64_t bytes,
                                  npu_sync_dir dir, npu_error *err) {
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return npu_fail(err, NPU_INVALID, "hexagon.sync", "a sync outside of its buffer");
    if (dir == NPU_SYNC_TO_DEVICE) npu_hex_group_sync(of(target), buffer->impl, offset, bytes);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return NPU_OK;
}

static npu_status hex_submit(npu_target *target, const npu_batch *batch, npu_event *event, npu_error *err) {
    npu_hex_target *t = of(target);
    const npu_hex_image *images;
    uint32_t n;
    if (t->set.n > 1) return npu_hex_group_submit(t, batch, event, err);
    /* Images that are not kept share their place: the one before must have been read. How it ended is its own wait's
     * matter. */
    if (!batch->image_id && t->unkept && NPU_GUARD(DRIVER_UNKEPT_WAIT)) (void)npu_hex_wait(t->session, t->unkept, NULL);
    NPU_TRY(npu_hex_lower(t, batch, &images, &n, err));
    event->session = t->session_id;
    for (uint32_t i = 0; i < n; i++) {
        const npu_hex_image *m = &images[i];
        npu_hex_request request = npu_hex_request_of(m, &batch->step);
        request.goes_on = i > 0;
        NPU_TRY(npu_hex_submit(t->session, &request, &event->sequence, err));
        if (!t->tracers[0]) continue;
        npu_hex_tracer_sent(t->tracers[0], event->sequence, batch, m->first_op, m->n_ops);
        if (i % (NPU_HEX_DEPTH / 2) == NPU_HEX_DEPTH / 2 - 1) npu_hex_tracer_collect(t->tracers[0]);
    }
    if (!batch->image_id) t->unkept = event->sequence;
    return NPU_OK;
}

static npu_status hex_wait(npu_target *target, npu_event event, npu_error *err) {
    npu_hex_target *t = of(target);
    if (event.session != t->session_id)
        return npu_fail(err, NPU_INVALID, "hexagon.event", "an event of another session");
    if (t->set.n > 1) return npu_hex_group_wait(t, event.sequence, err);
    npu_status status = npu_hex_wait(t->session, event.sequence, err);
    if (t->tracers[0]) npu_hex_tracer_collect(t->tracers[0]);
    return status;
}

static void hex_count(const npu_target *target, npu_target_counters *out) {
    const npu_hex_target *t = (const npu_hex_target *)(const void *)target;
    *out = *npu_hex_session_counters(t->session);
    npu_hex_group_count(t, out);
}

const npu_target_ops npu_target_hexagon = {
    .name = "hexagon",
    .is_npu = true,
    .has_devices = true,
    .search_variable = "DSP_LIBRARY_PATH",
    .search_before = "ADSP_LIBRARY_PATH",
    .probe = hex_probe,
    .open = hex_open,
    .load_block = hex_load_block,
    .buffer_alloc = hex_buffer_alloc,
    .buffer_free = hex_buffer_free,
    .buffer_sync = hex_buffer_sync,
    .gemv = npu_gemv_by_submit,
    .submit = hex_submit,
    .wait = hex_wait,
    .supports = npu_hex_supports,
    .image = npu_hex_weight_image,
    .parts = npu_hex_weight_parts,
    .pack = npu_hex_pack_alone,
    .check_plan = npu_hex_check_plan,
    .spread = npu_hex_spread,
    .check_params = hex_check_params,
    .describe_emu = npu_hex_describe_emu,
    .count = hex_count,
    .close = hex_close,
};
