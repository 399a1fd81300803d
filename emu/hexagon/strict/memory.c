// The cache between the program and shared buffers. The program sees a copy of each buffer; bytes enter it when it is
// mapped and when a line is invalidated, and leave it when a dirty line is cleaned (or by chance earlier). So the copy
// is as old as a cache may be, and what differs from memory when it is read was changed by somebody since. Lines of the
// buffer itself carry who wrote and read them last and when (clocks.c), which also finds what has equal bytes.
#include "strict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE_BITS 16 // mapped pieces begin at 64 KiB
#define PLACES     (1u << (32 - PLACE_BITS))
#define RECENT     256
#define BEGUN      32

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

static struct {
    pthread_mutex_t lock;
    struct view *views;
    struct {
        _Atomic(struct view *) view;
        uint32_t base;
    } places[PLACES];
    struct {
        struct view *view;
        uint32_t line;
    } recent[RECENT]; // lines that became dirty, for early eviction
    uint32_t dirtied;
} m = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t line_bytes(void) {
    return emu_block->strict.line_bytes;
}

static struct view *view_at(uint64_t address, uint64_t *offset) {
    struct view *v = atomic_load_explicit(&m.places[address >> PLACE_BITS].view, memory_order_acquire);
    if (v) *offset = address - m.places[address >> PLACE_BITS].base;
    return v && *offset < v->bytes ? v : NULL;
}

// --- mapping ---

static uint64_t line_count(const struct view *v) {
    return (v->bytes + line_bytes() - 1) / line_bytes();
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
    if (tail.magic == EMU_TAIL_MAGIC && tail.line_bytes == line_bytes() && tail.lines >= line_count(v)) {
        v->lines = (struct emu_line *)(void *)(v->memory + tail.lines_at);
        return 0;
    }
    v->own_lines = true;
    v->lines = calloc(line_count(v), sizeof *v->lines);
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
    for (uint64_t i = 0; i < line_count(v); i++) v->seen[i] = atomic_load(&v->lines[i].writer);
}

static struct view *open_view(int number, int fd, uint64_t bytes) {
    struct view *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    v->number = number;
    v->bytes = (bytes + 4095) / 4096 * 4096;
    v->copy_fd = -1;
    v->seen = malloc(line_count(v) * sizeof *v->seen);
    v->dirty = calloc(line_count(v), 1);
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
    pthread_mutex_lock(&m.lock);
    for (v = m.views; v && v->number != number; v = v->next) continue;
    if (!v && (v = open_view(number, fd, buffer_bytes))) {
        v->next = m.views;
        m.views = v;
    }
    if (v && bytes <= v->bytes &&
        mmap((void *)(uintptr_t)at, bytes, prot, MAP_SHARED | MAP_FIXED, v->copy_fd, 0) != MAP_FAILED) {
        for (uint64_t i = 0; i < bytes; i += 1u << PLACE_BITS) {
            m.places[(at + i) >> PLACE_BITS].base = at;
            atomic_store_explicit(&m.places[(at + i) >> PLACE_BITS].view, v, memory_order_release);
        }
        v->places++;
        result = 0;
    }
    pthread_mutex_unlock(&m.lock);
    return result;
}

void emu_strict_unmap(uint32_t at, uint64_t bytes) {
    struct view *v;
    uint64_t offset, dirty = UINT64_MAX;
    int number = 0;
    pthread_mutex_lock(&m.lock);
    v = view_at(at, &offset);
    for (uint64_t i = 0; v && i < bytes; i += 1u << PLACE_BITS)
        atomic_store(&m.places[(at + i) >> PLACE_BITS].view, NULL);
    if (v && !--v->places) {
        struct view **link = &m.views;
        while (*link != v) link = &(*link)->next;
        *link = v->next;
        for (uint64_t i = 0; i < line_count(v) && dirty == UINT64_MAX; i++)
            if (v->dirty[i]) dirty = i;
        for (unsigned i = 0; i < RECENT; i++)
            if (m.recent[i].view == v) m.recent[i].view = NULL;
        number = v->number;
        close_view(v);
    }
    pthread_mutex_unlock(&m.lock);
    if (dirty != UINT64_MAX)
        emu_strict_report("unmapped_dirty", "buffer %d, offset %#llx: unmapped before the line was written back",
                          number, (unsigned long long)dirty * line_bytes());
}

// --- lines; under m.lock ---

// Whole lines: the last one of a buffer ends with its page. The record first, and on the other side last: who has the
// bytes has the moment that they are of, or a later one.
static void write_back(struct view *v, uint32_t line) {
    uint64_t at = (uint64_t)line * line_bytes();
    v->seen[line] = emu_strict_now();
    atomic_store(&v->lines[line].writer, v->seen[line]);
    memcpy(v->memory + at, v->copy + at, line_bytes());
    emu_strict_release();
}

static void refresh(struct view *v, uint32_t line) {
    uint64_t at = (uint64_t)line * line_bytes();
    memcpy(v->copy + at, v->memory + at, line_bytes());
    v->seen[line] = atomic_load(&v->lines[line].writer);
}

static uint32_t writer_of(const struct view *v, uint32_t line) {
    return atomic_load_explicit(&v->lines[line].writer, memory_order_acquire);
}

// A dirty line goes to memory though nobody asked for it. It stays dirty: what is stored to it next may be on its way.
static void evict_one(void) {
    uint32_t i = emu_strict_random(RECENT);
    struct view *v = m.recent[i].view;
    uint32_t line = m.recent[i].line;
    if (!v || !v->dirty[line] || writer_of(v, line) != v->seen[line]) return;
    write_back(v, line);
    emu_count(EMU_COUNT_EVICTIONS, 1);
}

static unsigned long long offset_of(uint32_t line) {
    return (unsigned long long)line * line_bytes();
}

static void clean_line(struct view *v, uint32_t line) {
    uint32_t now = writer_of(v, line);
    char who[32];
    if (now != v->seen[line])
        emu_strict_report("line_conflict",
                          "buffer %d, offset %#llx: the line is written back, but %s wrote it since this device's "
                          "store: two writers of one line",
                          v->number, offset_of(line), emu_strict_agent(now, who));
    write_back(v, line);
    v->dirty[line] = 0;
    emu_count(EMU_COUNT_LINES_CLEANED, 1);
}

static void maintain(struct view *v, uint32_t line, bool clean, bool invalidate) {
    if (clean && v->dirty[line]) clean_line(v, line);
    if (!invalidate) return;
    if (v->dirty[line])
        emu_strict_report("dirty_lost", "buffer %d, offset %#llx: a dirty line is dropped before it was written back",
                          v->number, offset_of(line));
    v->dirty[line] = 0;
    refresh(v, line);
    emu_count(EMU_COUNT_LINES_INVALIDATED, 1);
}

void emu_strict_clean(uint64_t address, uint64_t bytes, bool clean, bool invalidate) {
    uint64_t offset;
    emu_strict_step(EMU_STEP_CACHE);
    pthread_mutex_lock(&m.lock);
    struct view *v = address >> 32 ? NULL : view_at(address, &offset);
    if (v && bytes) {
        uint64_t end = offset + bytes < v->bytes ? offset + bytes : v->bytes;
        for (uint64_t line = offset / line_bytes(); line * line_bytes() < end; line++)
            maintain(v, (uint32_t)line, clean, invalidate);
        if (emu_strict_random(1000) < emu_block->strict.evict) evict_one();
    }
    pthread_mutex_unlock(&m.lock);
    emu_strict_step(EMU_STEP_CACHE);
}

void emu_strict_clean_all(bool invalidate) {
    pthread_mutex_lock(&m.lock);
    for (struct view *v = m.views; v; v = v->next)
        for (uint64_t line = 0; line < line_count(v); line++) maintain(v, (uint32_t)line, true, invalidate);
    pthread_mutex_unlock(&m.lock);
}

// Cache instructions are only begun; their end is the fence's.
static __thread struct {
    uint64_t address;
    bool clean, invalidate;
} begun[BEGUN];
static __thread unsigned n_begun;

void emu_strict_fence(void) {
    for (unsigned i = 0; i < n_begun; i++) emu_strict_clean(begun[i].address, 1, begun[i].clean, begun[i].invalidate);
    n_begun = 0;
}

void emu_strict_line(uint64_t address, bool clean, bool invalidate) {
    if (n_begun == BEGUN) emu_strict_fence();
    begun[n_begun].address = address;
    begun[n_begun].clean = clean;
    begun[n_begun++].invalidate = invalidate;
}

// --- the program's accesses ---

static void outside(uintptr_t address, size_t bytes, const char *what) {
    emu_strict_report("outside", "%s %zu bytes at %#llx, where no buffer is mapped", what, bytes,
                      (unsigned long long)address);
}

// Under m.lock, so that no line of ours is on its way.
static void check_fresh(struct view *v, uint32_t line, uint64_t from, uint64_t bytes, const char *kind,
                        const char *what) {
    uint32_t now = writer_of(v, line);
    char who[32];
    bool moved = now != v->seen[line];
    if (v->dirty[line] || (!moved && !memcmp(v->copy + from, v->memory + from, bytes))) return;
    emu_strict_report(kind,
                      "buffer %d, offset %#llx, %llu bytes: %s a line that %s changed since this device last "
                      "invalidated it",
                      v->number, (unsigned long long)from, (unsigned long long)bytes, what,
                      emu_strict_agent(moved ? now : 0, who));
    refresh(v, line); // goes on only when it was told to
}

void emu_strict_read(uintptr_t address, size_t bytes, bool atomic) {
    uint64_t offset, end;
    struct view *v = view_at(address, &offset);
    if (!v || bytes > v->bytes - offset) {
        outside(address, bytes, "reads");
        return;
    }
    end = offset + bytes;
    for (uint64_t at = offset, next; at < end; at = next) {
        uint32_t line = (uint32_t)(at / line_bytes());
        next = (uint64_t)(line + 1) * line_bytes() < end ? (uint64_t)(line + 1) * line_bytes() : end;
        if (!v->dirty[line] && !atomic &&
            (writer_of(v, line) != v->seen[line] || memcmp(v->copy + at, v->memory + at, next - at))) {
            pthread_mutex_lock(&m.lock);
            check_fresh(v, line, at, next - at, "stale_read", "reads");
            pthread_mutex_unlock(&m.lock);
        }
        emu_strict_acquire(v->seen[line]);
    }
}

static void make_dirty(struct view *v, uint32_t line) {
    uint32_t now = writer_of(v, line);
    char who[32];
    check_fresh(v, line, (uint64_t)line * line_bytes(), line_bytes(), "stale_write", "writes to");
    if (emu_strict_unordered(now))
        emu_strict_report("line_conflict",
                          "buffer %d, offset %#llx: writes a line that %s wrote, and nothing ordered "
                          "the two",
                          v->number, offset_of(line), emu_strict_agent(now, who));
    v->dirty[line] = 1;
    m.recent[m.dirtied % RECENT].view = v;
    m.recent[m.dirtied++ % RECENT].line = line;
}

// What was stored there before leaves the cache now, and somebody may look at it before the rest comes.
static void evict_early(struct view *v, uint32_t line) {
    pthread_mutex_lock(&m.lock);
    if (v->dirty[line] && writer_of(v, line) == v->seen[line]) {
        write_back(v, line);
        emu_count(EMU_COUNT_EVICTIONS, 1);
    }
    pthread_mutex_unlock(&m.lock);
    emu_strict_step(EMU_STEP_CACHE);
}

// Before the store.
void emu_strict_write(uintptr_t address, size_t bytes, bool atomic) {
    uint64_t offset;
    uint32_t chance = emu_block->strict.evict;
    struct view *v = view_at(address, &offset);
    if (!v || bytes > v->bytes - offset) {
        outside(address, bytes, "writes");
        return;
    }
    for (uint64_t line = offset / line_bytes(); line * line_bytes() < offset + bytes; line++) {
        if (v->dirty[line]) {
            if (atomic && chance && !emu_strict_random(4)) evict_early(v, (uint32_t)line);
            continue;
        }
        pthread_mutex_lock(&m.lock);
        if (!v->dirty[line]) make_dirty(v, (uint32_t)line);
        pthread_mutex_unlock(&m.lock);
    }
    if (!chance || emu_strict_random(1000) >= chance) return;
    pthread_mutex_lock(&m.lock);
    evict_one();
    pthread_mutex_unlock(&m.lock);
}

// --- DMA ---

static void check_line(struct view *v, uint32_t line, enum emu_access access) {
    struct emu_line *l = &v->lines[line];
    uint32_t writer = atomic_load(&l->writer), reader = atomic_load(&l->reader), now = emu_strict_now();
    bool write = access == EMU_WRITE;
    char who[32];
    if (v->dirty[line])
        emu_strict_report(write ? "dma_over_dirty" : "dma_of_dirty",
                          "buffer %d, offset %#llx: a transfer %s memory past the cache, which has a dirty line there",
                          v->number, offset_of(line), write ? "writes" : "reads");
    if (emu_strict_unordered(writer))
        emu_strict_report(write ? "line_conflict" : "unordered_read",
                          "buffer %d, offset %#llx: a transfer %s a line that %s wrote, and nothing ordered the two",
                          v->number, offset_of(line), write ? "writes" : "reads", emu_strict_agent(writer, who));
    if (write && emu_strict_unordered(reader))
        emu_strict_report("unordered_write",
                          "buffer %d, offset %#llx: a transfer writes a line that %s reads, and "
                          "nothing ordered the two",
                          v->number, offset_of(line), emu_strict_agent(reader, who));
    if (write)
        atomic_store(&l->writer, now);
    else if (reader != now && !emu_strict_unordered(reader))
        atomic_store(&l->reader, now);
}

uint8_t *emu_strict_memory(uint64_t address, uint64_t bytes, enum emu_access access, bool check) {
    uint64_t offset;
    struct view *v = address >> 32 ? NULL : view_at(address, &offset);
    if (!v) return (uint8_t *)(uintptr_t)address; // the device's own memory
    if (check)
        for (uint64_t line = offset / line_bytes(); line * line_bytes() < offset + bytes; line++)
            check_line(v, (uint32_t)line, access);
    return v->memory + offset;
}
