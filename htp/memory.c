#include "htp/memory.h"

#include "htp/platform/machine.h"
#include "htp/platform/qurt.h"
#include "wire/guard.h"

enum { ALIGN = 128 };

void *htp_alloc(uint32_t bytes) {
#ifdef HTP_BUILD_REAL
    if (bytes > UINT32_MAX - 2 * ALIGN) return 0;
    uint8_t *raw = qurt_malloc(bytes + 2 * ALIGN);
    if (!raw) return 0;
    uint8_t *memory = (uint8_t *)(((uintptr_t)raw + 2 * ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    ((void **)memory)[-1] = raw;
    return memory;
#else
    return npu_emu_low_alloc(bytes, ALIGN);
#endif
}

void htp_free(void *memory) {
    if (!memory) return;
#ifdef HTP_BUILD_REAL
    qurt_free(((void **)memory)[-1]);
#else
    npu_emu_low_free(memory);
#endif
}

void htp_memory_refresh(const void *address, uint64_t bytes) {
    uintptr_t end = (uintptr_t)address + bytes, line_bytes = htp_machine_line();
    uintptr_t line = (uintptr_t)address & ~(NPU_GUARD(REFRESH_FIRST_LINE) ? line_bytes - 1 : 0);
    for (; NPU_GUARD(REFRESH_CLEAN_INVALIDATE) && line < end; line += line_bytes)
        htp_machine_clean_invalidate((const void *)line);
    if (NPU_GUARD(REFRESH_FENCE)) htp_machine_cache_fence();
}

void htp_copy(void *to, const void *from, uint64_t bytes) {
    __builtin_memcpy(to, from, bytes);
}

void htp_zero(void *to, uint64_t bytes) {
    __builtin_memset(to, 0, bytes);
}
