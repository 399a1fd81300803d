// The two views of memory and how bytes move between them: by whole lines, and only when a program syncs. A line that
// the CPU wrote since it was synced last (known by a hash) is written back, whichever way the sync is meant to go: that
// is what flushing a cache line does, and why a forgotten sync before a command may overwrite its results after it. Any
// other line is fetched anew. With the setting direction=strict a sync does only what it is called.
#include "emu_xdna.h"

#include <errno.h>
#include <string.h>

static uint64_t hash_line(const uint8_t *line) {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (unsigned i = 0; i < EMU_LINE; i += 8) {
        uint64_t word;
        memcpy(&word, line + i, 8);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    return h | 1; // 0 means never synced
}

static void sync_line(struct emu_file *f, uint64_t offset, bool push, bool pull) {
    uint8_t *host = f->host + offset, *device = f->device + offset;
    uint64_t *known = &f->lines[offset / EMU_LINE], now = hash_line(host);
    if (now != *known) {
        if (push) {
            memcpy(device, host, EMU_LINE);
            *known = now;
            emu.counters[EMU_LINES_TO_DEVICE]++;
            return;
        }
    }
    if (!pull) return;
    memcpy(host, device, EMU_LINE);
    *known = hash_line(host);
    emu.counters[EMU_LINES_TO_HOST]++;
}

static void sync_range(struct emu_file *f, uint64_t offset, uint64_t bytes, bool push, bool pull) {
    uint64_t end = offset + bytes;
    for (offset &= ~(uint64_t)(EMU_LINE - 1); offset < end; offset += EMU_LINE) sync_line(f, offset, push, pull);
}

int emu_sync(struct emu_file *f, const struct amdxdna_sync_bo *s) {
    const struct emu_profile *p = f->settings.profile;
    const struct emu_bo *bo = emu_bo_of(f, s->handle);
    uint64_t offset = s->offset, bytes = s->size;
    if (!bo) return ENOENT;
    if (s->direction > AMDXDNA_FROM_DEVICE) return EINVAL;
    if (p->sync_whole) {
        offset = 0;
        bytes = bo->size;
    } else {
        if (offset >= bo->size) return EINVAL;
        if (bytes > bo->size - offset && p->sync_strict) return EINVAL;
        if (bytes > bo->size - offset) bytes = bo->size - offset;
    }
    bool strict = f->settings.strict_direction, to = s->direction == AMDXDNA_TO_DEVICE;
    emu.counters[EMU_SYNCS]++;
    if (bo->type != AMDXDNA_BO_CMD) sync_range(f, bo->offset + offset, bytes, !strict || to, !strict || !to);
    return to ? 0 : p->from_device_errno;
}

void emu_sync_after(struct emu_file *f, struct emu_xdna_range range) {
    uint64_t end = range.offset + range.bytes;
    if (!range.bytes || end > f->settings.memory) return;
    for (uint64_t at = range.offset & ~(uint64_t)(EMU_LINE - 1); at < end; at += EMU_LINE) {
        if (f->lines[at / EMU_LINE] == hash_line(f->host + at)) continue;
        emu.counters[EMU_DIRTY]++;
        if (f->settings.evict) sync_line(f, at, true, false);
    }
}
