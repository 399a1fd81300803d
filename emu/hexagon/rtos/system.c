// What is left of QuRT and HAP: hardware numbers, clocks, caches (counted; strict mode has some), HVX units, power
// votes, the log.
#include "emu_dsp.h"
#include "HAP_farf.h"
#include "HAP_perf.h"
#include "HAP_power.h"
#include "npu_emu_dsp.h"
#include "qurt.h"
#include "../common/futex.h"
#include "../strict/strict.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EMU_API uint32_t npu_emu_arch(void) {
    return emu_block->arch;
}

EMU_API uint64_t npu_emu_window(void) {
    return emu_block->window_bytes;
}

EMU_API int npu_emu_idle(void) {
    return emu_block->idle != 0;
}

EMU_API void npu_emu_event(const char *name) {
    int code;
    emu_count(EMU_COUNT_EVENTS, 1);
    emu_watchdog_step();
    emu_strict_step(EMU_STEP_EVENT);
    if (emu_strict_dma() && !strcmp(name, "fence")) emu_strict_dma_drained("at a fence");
    emu_dsp_meet(name, &code);
}

EMU_API void npu_emu_op(uint32_t index, const char *name) {
    if (emu_strict_dma()) emu_strict_op((int)index, name);
    npu_emu_event("op");
}

EMU_API uint32_t npu_emu_line(void) {
    return emu_strict_cache() ? emu_block->strict.line_bytes : EMU_LINE_BYTES;
}

EMU_API int qurt_sysenv_get_max_hw_threads(qurt_sysenv_max_hthreads_t *threads) {
    if (!threads) return QURT_EINVALID;
    threads->max_hthreads = emu_block->hw_threads;
    return QURT_EOK;
}

EMU_API void *qurt_malloc(unsigned int bytes) {
    return malloc(bytes);
}
EMU_API void *qurt_calloc(unsigned int count, unsigned int bytes) {
    return calloc(count, bytes);
}
EMU_API void qurt_free(void *memory) {
    free(memory);
}

// --- clocks ---

EMU_API uint64_t HAP_perf_get_time_us(void) {
    return emu_now_ns() / 1000;
}
EMU_API uint64_t HAP_perf_get_pcycles(void) {
    uint64_t ns = emu_now_ns();
    return ns / 1000 * emu_block->pcycles_mhz + ns % 1000 * emu_block->pcycles_mhz / 1000;
}
EMU_API unsigned long long qurt_get_core_pcycles(void) {
    return HAP_perf_get_pcycles();
}
EMU_API uint64_t HAP_perf_get_qtimer_count(void) {
    return emu_now_ns() * 12 / 625;
}
EMU_API uint64_t HAP_perf_qtimer_count_to_us(uint64_t count) {
    return count * 10 / 192;
}
EMU_API unsigned long long qurt_sysclock_get_hw_ticks(void) {
    return HAP_perf_get_qtimer_count();
}

// --- caches ---

EMU_API int qurt_mem_cache_clean(qurt_addr_t address, qurt_size_t bytes, qurt_mem_cache_op_t op,
                                 qurt_mem_cache_type_t type) {
    int code;
    if (emu_dsp_meet("qurt_mem_cache_clean", &code)) return code;
    if (type != QURT_MEM_DCACHE && type != QURT_MEM_ICACHE) return QURT_EVAL;
    emu_count(EMU_COUNT_CACHE_OPS, 1);
    switch (op) {
    case QURT_MEM_CACHE_FLUSH_ALL:
    case QURT_MEM_CACHE_FLUSH_INVALIDATE_ALL:
        if (emu_strict_cache() && type == QURT_MEM_DCACHE) emu_strict_clean_all(op != QURT_MEM_CACHE_FLUSH_ALL);
        return QURT_EOK;
    case QURT_MEM_CACHE_FLUSH:
    case QURT_MEM_CACHE_INVALIDATE:
    case QURT_MEM_CACHE_FLUSH_INVALIDATE:
        if (!address || !bytes) return QURT_EVAL;
        if (emu_strict_cache() && type == QURT_MEM_DCACHE)
            emu_strict_clean(address, bytes, op != QURT_MEM_CACHE_INVALIDATE, op != QURT_MEM_CACHE_FLUSH);
        return QURT_EOK;
    default:
        return QURT_EVAL;
    }
}

static void line(const void *address, bool clean, bool invalidate) {
    emu_count(EMU_COUNT_CACHE_OPS, 1);
    if (emu_strict_cache()) emu_strict_line((uintptr_t)address, clean, invalidate);
}

EMU_API void npu_emu_dccleana(const void *address) {
    line(address, true, false);
}

EMU_API void npu_emu_dcinva(const void *address) {
    line(address, false, true);
}

EMU_API void npu_emu_dccleaninva(const void *address) {
    line(address, true, true);
}

// --- HVX units: a thread holds at most one ---

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given;
    uint32_t taken;
} hvx = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER};

static __thread bool has_unit;

static int take_unit(qurt_hvx_mode_t mode, bool wait) {
    if (mode != QURT_HVX_MODE_128B) return QURT_EVAL;
    if (has_unit) return QURT_EOK;
    pthread_mutex_lock(&hvx.lock);
    while (hvx.taken == emu_block->hvx_contexts && wait) pthread_cond_wait(&hvx.given, &hvx.lock);
    if (hvx.taken < emu_block->hvx_contexts) {
        hvx.taken++;
        has_unit = true;
    }
    pthread_mutex_unlock(&hvx.lock);
    return has_unit ? QURT_EOK : QURT_EFAILED;
}

EMU_API int qurt_hvx_lock(qurt_hvx_mode_t mode) {
    return take_unit(mode, true);
}
EMU_API int qurt_hvx_try_lock(qurt_hvx_mode_t mode) {
    return take_unit(mode, false);
}

EMU_API int qurt_hvx_unlock(void) {
    if (!has_unit) return QURT_EOK;
    has_unit = false;
    pthread_mutex_lock(&hvx.lock);
    hvx.taken--;
    pthread_cond_signal(&hvx.given);
    pthread_mutex_unlock(&hvx.lock);
    return QURT_EOK;
}

EMU_API int qurt_hvx_get_mode(void) {
    return QURT_HVX_MODE_128B;
}

EMU_API int qurt_hvx_get_units(void) {
    return (int)(emu_block->hvx_contexts << 8 | (2 * emu_block->hvx_contexts & 0xFFu));
}

EMU_API int qurt_hvx_reserve(int units) {
    return units;
}
EMU_API int qurt_hvx_cancel_reserve(void) {
    return QURT_EOK;
}

EMU_API void qurt_pmu_set(int id, unsigned int value) {
    (void)id, (void)value;
}
EMU_API unsigned int qurt_pmu_get(int id) {
    (void)id;
    return 0;
}
EMU_API void qurt_pmu_enable(int on) {
    (void)on;
}

// --- power ---

EMU_API int HAP_power_set(void *context, HAP_power_request_t *request) {
    int code;
    (void)context;
    if (emu_dsp_meet("HAP_power_set", &code)) return code;
    if (!request) return AEE_EBADPARM;
    if ((int)request->type < HAP_power_set_mips_bw || (int)request->type > HAP_power_set_HMX_v2)
        return AEE_EUNSUPPORTED;
    if (request->type == HAP_power_set_HMX_v2 && !emu_block->hmx_v2) return AEE_EUNSUPPORTED;
    emu_count(EMU_COUNT_POWER_VOTES, 1);
    atomic_fetch_or(&emu_block->counters[EMU_COUNT_POWER_TYPES], (uint64_t)1 << request->type);
    return AEE_SUCCESS;
}

EMU_API void *HAP_utils_create_context(void) {
    return calloc(1, 16);
}
EMU_API void HAP_utils_destroy_context(void *context) {
    free(context);
}

// --- log ---

static void log_line(int level, const char *file, int line, const char *text) {
    const char *slash = strrchr(file ? file : "?", '/');
    if (level < 0 || level > 31 || !(emu_block->farf_mask >> level & 1)) return;
    fprintf(stderr, "dsp %u %s:%d: %.256s\n", emu_block->effective_domain,
            slash  ? slash + 1
            : file ? file
                   : "?",
            line, text);
}

EMU_API void HAP_debug(const char *message, int level, const char *file, int line) {
    log_line(level, file, line, message);
}

__attribute__((format(printf, 4, 0))) static void log_formatted(int level, const char *file, int line,
                                                                const char *format, va_list arguments) {
    char text[257];
    vsnprintf(text, sizeof text, format, arguments);
    log_line(level, file, line, text);
}

EMU_API void HAP_debug_v2(int level, const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_formatted(level, file, line, format, arguments);
    va_end(arguments);
}

EMU_API void HAP_debug_runtime(int level, const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_formatted(level, file, line, format, arguments);
    va_end(arguments);
}

EMU_API int HAP_setFARFRuntimeLoggingParams(unsigned int mask, const char *files[], unsigned short file_count) {
    (void)files, (void)file_count;
    emu_block->farf_mask = mask & 0x1F;
    return AEE_SUCCESS;
}
