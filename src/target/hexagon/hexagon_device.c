#include "target/hexagon/hexagon_device.h"

#include <stdio.h>
#include <string.h>

#include "target/hexagon/hexagon_watch.h"
#include "target/hexagon/hexagon_hazard.h"
#include "wire/message.h"
#include "wire/trace.h"

/* For planning without a device; one that is here is asked. None of it was confirmed on hardware. Sources:
 * - contexts: 6 is what FastRPC's HVX_SUPPORT_128B said of one Snapdragon 8 Elite (v79), and v81 is taken to have no
 *   fewer. 4 for what is older is our assumption, no public figure is known.
 * - local memory: Qualcomm's table of its chips in ExecuTorch and LiteRT (SoC info: SM8350 v68 4 MiB, another v68 8;
 *   SM8450 v69, SM8550 v73, SM8650 v75, SM8750 v79 8 MiB); v81 is taken to have no less.
 * - window: the budget for mapped buffers of llama.cpp's Hexagon backend, 3000 MiB for v73 and 3200 MiB from v75 on;
 *   what is older is taken for v73.
 * The emulated device of an architecture has the same figures (tests/hexagon_plan.py). */
static const npu_hex_arch arches[] = {
    {.arch = 68, .threads = 4, .vtcm_bytes = 4 << 20, .window_bytes = 3000ull << 20},
    {.arch = 69, .threads = 4, .vtcm_bytes = 8 << 20, .window_bytes = 3000ull << 20},
    {.arch = 73, .threads = 4, .vtcm_bytes = 8 << 20, .window_bytes = 3000ull << 20},
    {.arch = 75, .threads = 4, .vtcm_bytes = 8 << 20, .window_bytes = 3200ull << 20},
    {.arch = 79, .threads = 6, .vtcm_bytes = 8 << 20, .window_bytes = 3200ull << 20},
    {.arch = 81, .threads = 6, .vtcm_bytes = 8 << 20, .window_bytes = 3200ull << 20},
};

enum { ARCHES = sizeof arches / sizeof arches[0] };

const npu_hex_arch *npu_hex_arch_of(uint32_t arch) {
    for (unsigned i = 0; i < ARCHES; i++)
        if (arches[i].arch == arch) return &arches[i];
    return NULL;
}

static void list(char *out, size_t size) {
    size_t used = 0;
    for (unsigned i = 0; i < ARCHES; i++)
        used += (size_t)snprintf(out + used, size - used, "%sv%u", i ? ", " : "", arches[i].arch);
}

npu_status npu_hex_arch_named(const char *name, const npu_hex_arch **out, npu_error *err) {
    char text[8], known[64];
    for (unsigned i = 0; i < ARCHES; i++) {
        snprintf(text, sizeof text, "v%u", arches[i].arch);
        *out = &arches[i];
        if (!strcmp(text, name)) return NPU_OK;
    }
    *out = NULL;
    list(known, sizeof known);
    return npu_fail(err, NPU_REFUSED, "hexagon.unknown_arch", "`arch` %s: no NPU program for it (there are: %s)", name,
                    known);
}

npu_status npu_hex_device_arch(const npu_hex_driver *d, uint32_t domain, const npu_hex_arch **out, npu_error *err) {
    fastrpc_capability ask = {.domain = domain, .attribute_ID = ARCH_VER};
    int result = d->remote_handle_control(DSPRPC_GET_DSP_INFO, &ask, sizeof ask);
    char doing[64];
    snprintf(doing, sizeof doing, "asking NPU %u for the Hexagon's architecture", domain - NPU_HEX_DOMAIN);
    if (result) return npu_hex_fail(err, result, doing);
    uint32_t version = ask.capability & 0xFF;
    *out = npu_hex_arch_of(version / 16 * 10 + version % 16);
    if (*out) return NPU_OK;
    char known[64];
    list(known, sizeof known);
    return npu_fail(err, NPU_REFUSED, "hexagon.unknown_arch",
                    "this Hexagon says version 0x%x, for which there is no NPU program (there are: %s)",
                    (unsigned)ask.capability, known);
}

/* 0 when the library does not know or does not say. */
static uint32_t ask(const npu_hex_driver *d, uint32_t attribute) {
    fastrpc_capability c = {.domain = NPU_HEX_DOMAIN, .attribute_ID = attribute};
    return d->remote_handle_control(DSPRPC_GET_DSP_INFO, &c, sizeof c) ? 0 : c.capability;
}

static npu_status ask_all(const npu_hex_driver *d, npu_hw *hw, npu_error *err) {
    const npu_hex_arch *arch;
    NPU_TRY(npu_hex_device_arch(d, NPU_HEX_DOMAIN, &arch, err));
    *hw = npu_hex_hw_of(arch);
    uint32_t contexts = ask(d, HVX_SUPPORT_128B);
    uint64_t vtcm = (uint64_t)ask(d, VTCM_PAGE) * ask(d, VTCM_COUNT);
    /* A device may answer 1 for "it has HVX": there only 2 and more are a number. The emulated one means its 1. */
    uint32_t least_count = d->emulated ? 1 : 2;
    if (contexts >= least_count) hw->threads = contexts < NPU_MAX_THREADS ? contexts : NPU_MAX_THREADS;
    if (vtcm >= NPU_HEX_VTCM_LEAST && vtcm <= NPU_HEX_VTCM_MOST) hw->vtcm_bytes = (uint32_t)vtcm;
    if (d->window_bytes && d->window_bytes < hw->window_bytes) hw->window_bytes = d->window_bytes;
    npu_hex_limit_buffers(d, hw);
    return NPU_OK;
}

npu_status npu_hex_device_hw(const npu_hex_driver *d, npu_hw *hw, npu_error *err) {
    npu_hex_watch *watch = npu_hex_watch_create(d, "NPU 0", NPU_HEX_DOMAIN, 0);
    if (!watch) return npu_fail(err, NPU_NO_MEMORY, "hexagon.device", "no thread to watch its calls");
    npu_hex_watch_begin(watch);
    npu_status status = ask_all(d, hw, err);
    npu_hex_watch_end(watch);
    if (npu_hex_watch_has_ended(watch))
        status = npu_fail(err, NPU_TIMEOUT, "hexagon.timeout",
                          "the library did not say what NPU 0 is (remote_handle_control) within %g s",
                          npu_hex_watch_limit_s(watch));
    npu_hex_watch_free(watch);
    return status;
}

void npu_hex_limit_buffers(const npu_hex_driver *d, npu_hw *hw) {
    if (d->max_buffer_bytes && d->max_buffer_bytes < hw->max_buffer_bytes)
        hw->max_buffer_bytes = (uint32_t)d->max_buffer_bytes;
    if (d->slots && d->slots < hw->slots) hw->slots = d->slots;
}

/* |most|, or less of a small window. */
static uint64_t share_of(const npu_hw *hw, uint64_t most, uint64_t least) {
    enum { SHARE = 32, PAGE = 4096 };
    uint64_t bytes = hw->window_bytes / SHARE;
    if (hw->max_buffer_bytes < most) most = hw->max_buffer_bytes;
    if (bytes > most) bytes = most;
    return bytes < least ? least : bytes / PAGE * PAGE;
}

uint64_t npu_hex_ring_bytes(const npu_hw *hw) {
    return share_of(hw, 16 << 20, NPU_TRACE_LEAST_BYTES);
}

uint32_t npu_hex_batch_buffers(const npu_hw *hw) {
    uint32_t others = hw->slots ? hw->slots - 1 : NPU_WIRE_MAX_BUFFERS;
    return others < NPU_WIRE_MAX_BUFFERS ? others : NPU_WIRE_MAX_BUFFERS;
}

uint64_t npu_hex_arena_bytes(const npu_hw *hw) {
    return share_of(hw, 4 << 20, 65536) / 2;
}

npu_hw npu_hex_hw_of(const npu_hex_arch *a) {
    return (npu_hw){.arch = a->arch,
                    .threads = a->threads,
                    .vtcm_bytes = a->vtcm_bytes,
                    .window_bytes = a->window_bytes,
                    .max_buffer_bytes = NPU_HEX_MAX_BUFFER,
                    .slots = NPU_HEX_SLOTS,
                    .line_bytes = NPU_HEX_LINE};
}

void npu_hex_caps(npu_caps *caps, const npu_hw *hw, bool emulated, const char *how) {
    *caps = (npu_caps){.max_rows = 16, .prefill_rows = 128, .devices = 1, .graph = true, .attn = true, .lm_head = true};
    caps->bit_exact = emulated; /* real HVX float differs in last bits: docs/numerics.md, section 8 */
    caps->hw = *hw;
    snprintf(caps->device, sizeof caps->device, "Hexagon v%u (%s)", hw->arch, how);
    snprintf(caps->generation, sizeof caps->generation, "v%u", hw->arch);
}
