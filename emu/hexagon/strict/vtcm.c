// VTCM: who may touch which byte when. Vectors only, in a range that is reserved, and no byte that a transfer is still
// to write, or to read before it is overwritten.
#include "strict.h"

#include <stdlib.h>
#include <string.h>

#define VECTOR_BYTES 128
#define PIECE_BYTES  32 // the least that a PC's compiler leaves of a vector load
#define TARGET       1  // low half of a byte's count: transfers that write it
#define SOURCE       16 // high half: transfers that read it

static uint8_t *_Atomic flights;  // a count for each byte
static uint8_t *_Atomic reserved; // for each VECTOR_BYTES whether somebody has them

static uint64_t offset_of(uint64_t address) {
    return address - (uintptr_t)emu_vtcm();
}

static uint8_t *bytes_of(uint8_t *_Atomic *list, size_t count) {
    uint8_t *now = atomic_load_explicit(list, memory_order_acquire), *none = NULL;
    if (now) return now;
    now = calloc(1, count);
    if (now && !atomic_compare_exchange_strong(list, &none, now)) {
        free(now);
        now = none;
    }
    return now;
}

void emu_strict_vtcm_reserve(uint32_t first, uint32_t bytes, bool owned) {
    uint8_t *list = bytes_of(&reserved, emu_block->vtcm_bytes / VECTOR_BYTES);
    if (list && bytes) memset(list + first / VECTOR_BYTES, owned, (bytes + VECTOR_BYTES - 1) / VECTOR_BYTES);
}

static bool is_reserved(uint64_t offset, uint64_t bytes) {
    const uint8_t *list = bytes_of(&reserved, emu_block->vtcm_bytes / VECTOR_BYTES);
    bool all = true;
    for (uint64_t i = offset / VECTOR_BYTES; list && i * VECTOR_BYTES < offset + bytes; i++) all = all && list[i];
    return all;
}

static bool inside(uint64_t address, uint64_t bytes) {
    return offset_of(address) < emu_block->vtcm_bytes && bytes <= emu_block->vtcm_bytes - offset_of(address);
}

void emu_strict_vtcm_flight(uint64_t address, uint64_t bytes, bool target, int by) {
    uint8_t *count = bytes_of(&flights, emu_block->vtcm_bytes), step = (uint8_t)((target ? TARGET : SOURCE) * by);
    if (!count || !inside(address, bytes)) return;
    count += offset_of(address);
    for (uint64_t i = 0; i < bytes; i++) count[i] = (uint8_t)(count[i] + step);
}

void emu_strict_vtcm_check_row(uint64_t address, uint64_t bytes, bool write) {
    if (inside(address, bytes) && !is_reserved(offset_of(address), bytes))
        emu_strict_report("vtcm_not_owned", "a transfer %s %llu bytes at VTCM offset %llu, which nobody reserved",
                          write ? "writes" : "reads", (unsigned long long)bytes,
                          (unsigned long long)offset_of(address));
}

bool emu_strict_vtcm_busy(uint64_t address, uint64_t bytes, bool sources) {
    const uint8_t *count = atomic_load_explicit(&flights, memory_order_acquire);
    uint8_t any = 0, mask = sources ? 0xFF : 0x0F;
    if (!count || !inside(address, bytes)) return false;
    count += offset_of(address);
    for (uint64_t i = 0; i < bytes; i++) any |= count[i];
    return any & mask;
}

// A vector load may reach past what it is for, into a slot that is being filled, as long as it begins before. Of one
// that a PC's compiler took to pieces it may be any byte before that it began with.
static bool vector_busy(uint64_t address, uint64_t bytes) {
    uint64_t most = bytes < VECTOR_BYTES ? VECTOR_BYTES - bytes : 0;
    for (uint64_t before = 0; before <= most; before++)
        if (!emu_strict_vtcm_busy(address - before, 1, false)) return false;
    return true;
}

void emu_strict_vtcm_access(uintptr_t address, size_t bytes, bool write) {
    const char *what = write ? "writes" : "reads";
    long long offset = (long long)offset_of(address);
    if (!inside(address, bytes))
        emu_strict_report("vtcm_outside", "%s %zu bytes at VTCM offset %lld of %u", what, bytes, offset,
                          emu_block->vtcm_bytes);
    else if (!is_reserved(offset_of(address), bytes))
        emu_strict_report("vtcm_not_owned", "%s %zu bytes at VTCM offset %lld, which nobody reserved", what, bytes,
                          offset);
    if (bytes < VECTOR_BYTES) emu_count(EMU_COUNT_VTCM_SCALARS, 1);
    if (write || bytes < PIECE_BYTES ? emu_strict_vtcm_busy(address, bytes, write) : vector_busy(address, bytes))
        emu_strict_report("dma_not_waited",
                          "%s %zu bytes at VTCM offset %lld, which belong to a transfer whose end the program did not "
                          "wait for",
                          what, bytes, offset);
}
