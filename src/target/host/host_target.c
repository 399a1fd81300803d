/* The host target: its vtable, opening, buffers. Ops run inside submit (host_submit.c); wait has nothing left to wait
 * for. Weights are used where the model file is mapped (npu_host_buffer_wrap) or as packed copies that are made when a
 * graph is first seen (host_pack.c), so load_block has nothing to do. */
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cpu.h"
#include "target/gemv_helper.h"
#include "target/host/host.h"

enum { HOST_ROWS = 16, HOST_PREFILL_ROWS = 128 };

static void name_device(uint32_t features, npu_caps *caps) {
    char cpu[40];
    npu_cpu_name(cpu, sizeof cpu);
    const char *set = features & NPU_CPU_AMX          ? "AMX"
                      : features & NPU_CPU_AVX512BF16 ? "AVX-512 VNNI, BF16"
                      : features & NPU_CPU_AVX512     ? "AVX-512 VNNI"
                      : features & NPU_CPU_AVXVNNI    ? "AVX-VNNI"
                      : features & NPU_CPU_AVX2       ? "AVX2"
                      : features & NPU_CPU_I8MM       ? "NEON I8MM"
                      : features & NPU_CPU_DOTPROD    ? "NEON dot product"
                      : features & NPU_CPU_NEON       ? "NEON"
                                                      : "plain C";
    snprintf(caps->device, sizeof caps->device, "%s, %s", cpu, set);
}

static npu_status host_probe(const npu_target_params *params, npu_caps *caps, npu_error *err) {
    uint32_t features;
    NPU_TRY(npu_cpu_level(params->cpu_level, &features, err));
    *caps = (npu_caps){.max_rows = HOST_ROWS,
                       .prefill_rows = HOST_PREFILL_ROWS,
                       .devices = 1,
                       .graph = true,
                       .int8_kv = true,
                       .bit_exact = params->mode != NPU_MODE_FAST || !npu_host_has_fast(features)};
#if defined(__x86_64__)
    snprintf(caps->generation, sizeof caps->generation, "x86-64");
#elif defined(__aarch64__)
    snprintf(caps->generation, sizeof caps->generation, "aarch64");
#endif
    name_device(features, caps);
    return NPU_OK;
}

static void host_close(npu_target *target) {
    npu_host *host = (npu_host *)target;
    if (!host) return;
    npu_host_images_free(host);
    npu_host_copies_free(host);
    npu_pool_destroy(host->pool);
    free(host->scratch);
    free(host);
}

static npu_status host_open(const npu_target_params *params, const npu_plan *plan, const char *kernels_dir,
                            npu_target **out, npu_error *err) {
    (void)plan, (void)kernels_dir;
    *out = NULL;
    npu_caps caps;
    NPU_TRY(host_probe(params, &caps, err));
    npu_host *host = calloc(1, sizeof *host);
    if (!host) return npu_fail(err, NPU_NO_MEMORY, "host.open", "no memory for the host target");
    host->base = (npu_target){&npu_target_host, params->logger, params->mode, caps};
    host->cache = params->cache;
    npu_status status = npu_cpu_level(params->cpu_level, &host->features, err);
    if (status == NPU_OK) status = npu_pool_create(params->n_threads, &host->pool, err);
    if (status != NPU_OK) {
        host_close(&host->base);
        return status;
    }
    *out = &host->base;
    return NPU_OK;
}

static npu_status host_load_block(npu_target *target, unsigned first_layer, unsigned n_layers,
                                  const npu_weight_source *source, npu_error *err) {
    (void)target, (void)first_layer, (void)n_layers, (void)source, (void)err;
    return NPU_OK;
}

/* Pages of their own: zeroed, taken from the system only when touched (a long context costs what it uses). */
static npu_status host_buffer_alloc(npu_target *target, uint64_t bytes, npu_buffer_use use, npu_buffer **out,
                                    npu_error *err) {
    *out = NULL;
    npu_buffer *buffer = calloc(1, sizeof *buffer);
    void *data = MAP_FAILED;
    if (buffer && bytes && bytes <= PTRDIFF_MAX) {
        data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (data == MAP_FAILED) {
        free(buffer);
        return npu_fail(err, NPU_NO_MEMORY, "host.buffer", "no memory for a buffer of %llu bytes",
                        (unsigned long long)bytes);
    }
    *buffer = (npu_buffer){target, data, bytes, use, data, false};
    *out = buffer;
    return NPU_OK;
}

static void host_buffer_free(npu_target *target, npu_buffer *buffer) {
    if (!buffer) return;
    if (target && npu_host_buffer_is_wrapped(buffer)) {
        npu_host_forget_copies((npu_host *)target, buffer->data, buffer->bytes);
    }
    if (buffer->impl) munmap(buffer->impl, buffer->bytes);
    free(buffer);
}

npu_status npu_host_buffer_wrap(const void *data, uint64_t bytes, npu_buffer_use use, npu_buffer **out,
                                npu_error *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) return npu_fail(err, NPU_NO_MEMORY, "host.buffer", "no memory for a buffer's record");
    **out = (npu_buffer){NULL, (uint8_t *)(uintptr_t)data, bytes, use, NULL, false};
    return NPU_OK;
}

bool npu_host_buffer_is_wrapped(const npu_buffer *buffer) {
    return !buffer->owner && !buffer->impl;
}

static npu_status host_buffer_sync(npu_target *target, npu_buffer *buffer, uint64_t offset, uint64_t bytes,
                                   npu_sync_dir dir, npu_error *err) {
    (void)target, (void)buffer, (void)offset, (void)bytes, (void)dir, (void)err;
    return NPU_OK;
}

static npu_status host_wait(npu_target *target, npu_event event, npu_error *err) {
    const npu_host *host = (const npu_host *)target;
    if (event.session == (uint64_t)(uintptr_t)host && event.sequence <= host->sequence) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "host.event", "wait for an event that no submit gave");
}

const npu_target_ops npu_target_host = {
    .name = "host",
    .probe = host_probe,
    .open = host_open,
    .load_block = host_load_block,
    .buffer_alloc = host_buffer_alloc,
    .buffer_free = host_buffer_free,
    .buffer_sync = host_buffer_sync,
    .gemv = npu_gemv_by_submit,
    .submit = npu_host_submit,
    .wait = host_wait,
    .supports = npu_host_supports,
    .close = host_close,
};
