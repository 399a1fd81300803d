// Shared buffers as a strict program sees them, a copy each: between views.c, which maps them, and memory.c, which
// moves their lines.
#ifndef EMU_STRICT_VIEWS_H
#define EMU_STRICT_VIEWS_H

#include "strict.h"

#include <pthread.h>

// One shared buffer; all mappings of it show the same copy, as one cache does.
struct view {
    int number;
    uint64_t bytes;
    uint8_t *copy, *memory;
    size_t memory_bytes; // as mapped, with the records of its lines
    struct emu_line *lines;
    uint32_t *seen; // |writer| of each line when it entered the copy
    uint8_t *dirty; // of each line
    bool own_lines; // the buffer's file has none
    int copy_fd;
    unsigned places;
    struct view *next;
};

// All of them; what a view says of its lines is under the lock too.
extern pthread_mutex_t emu_views_lock;
extern struct view *emu_views;

// The view at an address and how far in it that is, or NULL. Without the lock.
struct view *emu_view_at(uint64_t address, uint64_t *offset);

static inline uint32_t emu_line_bytes(void) {
    return emu_block->strict.line_bytes;
}

static inline uint64_t emu_line_count(const struct view *v) {
    return (v->bytes + emu_line_bytes() - 1) / emu_line_bytes();
}

// memory.c: |v| goes away; under the lock.
void emu_strict_forget(const struct view *v);

#endif
