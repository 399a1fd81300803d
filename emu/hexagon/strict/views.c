// Maps shared buffers for a strict program: a copy of each buffer, which all its mappings show, as one cache does, and
// the records of the buffer's lines.
#include "views.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE_BITS 16 // mapped pieces begin at 64 KiB
#define PLACES     (1u << (32 - PLACE_BITS))

pthread_mutex_t emu_views_lock = PTHREAD_MUTEX_INITIALIZER;
struct view *emu_views;

static struct {
    _Atomic(struct view *) view;
    uint32_t base;
} places[PLACES];

struct view *emu_view_at(uint64_t address, uint64_t *offset) {
    struct view *v = atomic_load_explicit(&places[address >> PLACE_BITS].view, memory_order_acquire);
    if (v) *offset = address - places[address >> PLACE_BITS].base;
    return v && *offset < v->bytes ? v : NULL;
}

// Maps the buffer's memory and finds, or makes, the records of its lines.
static int open_memory(struct view *v, int fd) {
    struct emu_buffer_tail tail = {0};
    struct stat file;
    if (fstat(fd, &file)) return -1;
    v->memory_bytes = (size_t)file.st_size;
    v->memory = mmap(NULL, v->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (v->memory == MAP_FAILED) return -1;
    if (v->memory_bytes > sizeof tail) memcpy(&tail, v->memory + v->memory_bytes - sizeof tail, sizeof tail);
    if (tail.magic == EMU_TAIL_MAGIC && tail.line_bytes == emu_line_bytes() && tail.lines >= emu_line_count(v)) {
        v->lines = (struct emu_line *)(void *)(v->memory + tail.lines_at);
        return 0;
    }
    v->own_lines = true;
    v->lines = calloc(emu_line_count(v), sizeof *v->lines);
    return v->lines ? 0 : -1;
}

static int open_copy(struct view *v) {
    v->copy_fd = memfd_create("npu-emu-cache", MFD_CLOEXEC);
    if (v->copy_fd < 0 || ftruncate(v->copy_fd, (off_t)v->bytes)) return -1;
    v->copy = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->copy_fd, 0);
    return v->copy == MAP_FAILED ? -1 : 0;
}

static void close_view(struct view *v) {
    if (v->memory && v->memory != MAP_FAILED) munmap(v->memory, v->memory_bytes);
    if (v->copy && v->copy != MAP_FAILED) munmap(v->copy, v->bytes);
    if (v->copy_fd >= 0) close(v->copy_fd);
    if (v->own_lines) free(v->lines);
    free(v->seen);
    free(v->dirty);
    free(v);
}

// Pages that nobody wrote are zeros on both sides.
static void fill(struct view *v, int fd) {
    for (off_t at = 0, end; (uint64_t)at < v->bytes; at = end) {
        at = lseek(fd, at, SEEK_DATA);
        if (at < 0 || (uint64_t)at >= v->bytes) break;
        end = lseek(fd, at, SEEK_HOLE);
        if (end < 0 || (uint64_t)end > v->bytes) end = (off_t)v->bytes;
        memcpy(v->copy + at, v->memory + at, (size_t)(end - at));
    }
    for (uint64_t i = 0; i < emu_line_count(v); i++) v->seen[i] = atomic_load(&v->lines[i].writer);
}

static struct view *open_view(int number, int fd, uint64_t bytes) {
    struct view *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    v->number = number;
    v->bytes = (bytes + 4095) / 4096 * 4096;
    v->copy_fd = -1;
    v->seen = malloc(emu_line_count(v) * sizeof *v->seen);
    v->dirty = calloc(emu_line_count(v), 1);
    if (!v->seen || !v->dirty || open_copy(v) || open_memory(v, fd)) {
        close_view(v);
        return NULL;
    }
    fill(v, fd);
    return v;
}

int emu_strict_map(uint32_t at, uint64_t bytes, int prot, int fd, int number, uint64_t buffer_bytes) {
    struct view *v;
    int result = -1;
    pthread_mutex_lock(&emu_views_lock);
    for (v = emu_views; v && v->number != number; v = v->next) continue;
    if (!v && (v = open_view(number, fd, buffer_bytes))) {
        v->next = emu_views;
        emu_views = v;
    }
    if (v && bytes <= v->bytes &&
        mmap((void *)(uintptr_t)at, bytes, prot, MAP_SHARED | MAP_FIXED, v->copy_fd, 0) != MAP_FAILED) {
        for (uint64_t i = 0; i < bytes; i += 1u << PLACE_BITS) {
            places[(at + i) >> PLACE_BITS].base = at;
            atomic_store_explicit(&places[(at + i) >> PLACE_BITS].view, v, memory_order_release);
        }
        v->places++;
        result = 0;
    }
    pthread_mutex_unlock(&emu_views_lock);
    return result;
}

void emu_strict_unmap(uint32_t at, uint64_t bytes) {
    struct view *v;
    uint64_t offset, dirty = UINT64_MAX;
    int number = 0;
    pthread_mutex_lock(&emu_views_lock);
    v = emu_view_at(at, &offset);
    for (uint64_t i = 0; v && i < bytes; i += 1u << PLACE_BITS)
        atomic_store(&places[(at + i) >> PLACE_BITS].view, NULL);
    if (v && !--v->places) {
        struct view **link = &emu_views;
        while (*link != v) link = &(*link)->next;
        *link = v->next;
        for (uint64_t i = 0; i < emu_line_count(v) && dirty == UINT64_MAX; i++)
            if (v->dirty[i]) dirty = i;
        emu_strict_forget(v);
        number = v->number;
        close_view(v);
    }
    pthread_mutex_unlock(&emu_views_lock);
    if (dirty != UINT64_MAX)
        emu_strict_report("unmapped_dirty", "buffer %d, offset %#llx: unmapped before the line was written back",
                          number, (unsigned long long)dirty * emu_line_bytes());
}
