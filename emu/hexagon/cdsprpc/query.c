// What a test or a driver may ask of a session: counters of its NPU process, its number, limits that are settings.
#include "emu_host.h"
#include "npu_emu.h"

#include <string.h>

static const char *const counters[EMU_COUNTERS] = {[EMU_COUNT_MAPPED_BYTES] = "mapped_bytes",
                                                   [EMU_COUNT_MAPPINGS] = "mappings",
                                                   [EMU_COUNT_DMA_DESCRIPTORS] = "dma_descriptors",
                                                   [EMU_COUNT_DMA_BYTES] = "dma_bytes",
                                                   [EMU_COUNT_DMA_FAULTS] = "dma_faults",
                                                   [EMU_COUNT_INVOKES] = "invokes",
                                                   [EMU_COUNT_CACHE_OPS] = "cache_ops",
                                                   [EMU_COUNT_POWER_VOTES] = "power_votes",
                                                   [EMU_COUNT_POWER_TYPES] = "power_types",
                                                   [EMU_COUNT_SMALL_STACKS] = "small_stacks",
                                                   [EMU_COUNT_EVENTS] = "events",
                                                   [EMU_COUNT_FAULTS_MET] = "faults_met",
                                                   [EMU_COUNT_LINES_CLEANED] = "lines_cleaned",
                                                   [EMU_COUNT_LINES_INVALIDATED] = "lines_invalidated",
                                                   [EMU_COUNT_EVICTIONS] = "evictions",
                                                   [EMU_COUNT_VTCM_SCALARS] = "vtcm_scalars",
                                                   [EMU_COUNT_VIOLATIONS] = "violations"};

EMU_API int npu_emu_query(int domain, const char *name, unsigned long long *value) {
    struct emu_session *session;
    int result = AEE_EUNSUPPORTED;
    if (!name || !value) return AEE_EBADPARM;
    emu_lock();
    session = emu_session_of(domain);
    const struct {
        const char *name;
        unsigned long long value;
    } limits[] = {{"window", emu.settings.window_bytes},
                  {"max_buffer", emu.settings.max_buffer_bytes},
                  {"slots", emu.settings.slots}};
    for (size_t i = 0; session && i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(limits[i].name, name)) continue;
        *value = limits[i].value;
        emu_unlock();
        return 0;
    }
    if (!session || session->state != EMU_SESSION_LIVE) {
        emu_unlock();
        return AEE_EBADPARM;
    }
    if (!strcmp(name, "pid")) {
        *value = (unsigned long long)session->pid;
        result = 0;
    }
    for (int i = 0; i < EMU_COUNTERS; i++) {
        if (strcmp(counters[i], name)) continue;
        *value = atomic_load(&session->block->counters[i]);
        result = 0;
    }
    emu_unlock();
    return result;
}
