// The cache between the program and shared buffers. The program sees a copy of each buffer; bytes enter it when it is
// mapped and when a line is invalidated, and leave it when a dirty line is cleaned (or by chance earlier). So the copy
// is as old as a cache may be, and what differs from memory when it is read was changed by somebody since. Lines of the
// buffer itself carry who wrote and read them last and when (clocks.c), which also finds what has equal bytes.
#include "views.h"

#include <string.h>

#define RECENT 256
#define BEGUN  32

static struct {
    struct view *view;
    uint32_t line;
} recent[RECENT]; // lines that became dirty, for early eviction; under the lock
static uint32_t dirtied;

void emu_strict_forget(const struct view *v) {
    for (unsigned i = 0; i < RECENT; i++)
        if (recent[i].view == v) recent[i].view = NULL;
}

// --- lines; under the lock ---

// Whole lines: the last one of a buffer ends with its page. The record first, and on the other side last: who has the
// bytes has the moment that they are of, or a later one.
static void write_back(struct view *v, uint32_t line) {
    uint64_t at = (uint64_t)line * emu_line_bytes();
    v->seen[line] = emu_strict_now();
    atomic_store(&v->lines[line].writer, v->seen[line]);
    memcpy(v->memory + at, v->copy + at, emu_line_bytes());
    emu_strict_release();
}

static void refresh(struct view *v, uint32_t line) {
    uint64_t at = (uint64_t)line * emu_line_bytes();
    memcpy(v->copy + at, v->memory + at, emu_line_bytes());
    v->seen[line] = atomic_load(&v->lines[line].writer);
}

static uint32_t writer_of(const struct view *v, uint32_t line) {
    return atomic_load_explicit(&v->lines[line].writer, memory_order_acquire);
}

// A dirty line goes to memory though nobody asked for it. It stays dirty: what is stored to it next may be on its way.
static void evict_one(void) {
    uint32_t i = emu_strict_random(RECENT);
    struct view *v = recent[i].view;
    uint32_t line = recent[i].line;
    if (!v || !v->dirty[line] || writer_of(v, line) != v->seen[line]) return;
    write_back(v, line);
    emu_count(EMU_COUNT_EVICTIONS, 1);
}

static unsigned long long offset_of(uint32_t line) {
    return (unsigned long long)line * emu_line_bytes();
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
    pthread_mutex_lock(&emu_views_lock);
    struct view *v = address >> 32 ? NULL : emu_view_at(address, &offset);
    if (v && bytes) {
        uint64_t end = offset + bytes < v->bytes ? offset + bytes : v->bytes;
        for (uint64_t line = offset / emu_line_bytes(); line * emu_line_bytes() < end; line++)
            maintain(v, (uint32_t)line, clean, invalidate);
        if (emu_strict_random(1000) < emu_block->strict.evict) evict_one();
    }
    pthread_mutex_unlock(&emu_views_lock);
    emu_strict_step(EMU_STEP_CACHE);
}

void emu_strict_clean_all(bool invalidate) {
    pthread_mutex_lock(&emu_views_lock);
    for (struct view *v = emu_views; v; v = v->next)
        for (uint64_t line = 0; line < emu_line_count(v); line++) maintain(v, (uint32_t)line, true, invalidate);
    pthread_mutex_unlock(&emu_views_lock);
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

// Under the lock, so that no line of ours is on its way.
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
    struct view *v = emu_view_at(address, &offset);
    if (!v || bytes > v->bytes - offset) {
        outside(address, bytes, "reads");
        return;
    }
    end = offset + bytes;
    for (uint64_t at = offset, next; at < end; at = next) {
        uint32_t line = (uint32_t)(at / emu_line_bytes());
        next = (uint64_t)(line + 1) * emu_line_bytes() < end ? (uint64_t)(line + 1) * emu_line_bytes() : end;
        if (!v->dirty[line] && !atomic &&
            (writer_of(v, line) != v->seen[line] || memcmp(v->copy + at, v->memory + at, next - at))) {
            pthread_mutex_lock(&emu_views_lock);
            check_fresh(v, line, at, next - at, "stale_read", "reads");
            pthread_mutex_unlock(&emu_views_lock);
        }
        emu_strict_acquire(v->seen[line]);
    }
}

static void make_dirty(struct view *v, uint32_t line) {
    uint32_t now = writer_of(v, line);
    char who[32];
    check_fresh(v, line, (uint64_t)line * emu_line_bytes(), emu_line_bytes(), "stale_write", "writes to");
    if (emu_strict_unordered(now))
        emu_strict_report("line_conflict",
                          "buffer %d, offset %#llx: writes a line that %s wrote, and nothing ordered "
                          "the two",
                          v->number, offset_of(line), emu_strict_agent(now, who));
    v->dirty[line] = 1;
    recent[dirtied % RECENT].view = v;
    recent[dirtied++ % RECENT].line = line;
}

// What was stored there before leaves the cache now, and somebody may look at it before the rest comes.
static void evict_early(struct view *v, uint32_t line) {
    pthread_mutex_lock(&emu_views_lock);
    if (v->dirty[line] && writer_of(v, line) == v->seen[line]) {
        write_back(v, line);
        emu_count(EMU_COUNT_EVICTIONS, 1);
    }
    pthread_mutex_unlock(&emu_views_lock);
    emu_strict_step(EMU_STEP_CACHE);
}

// Before the store.
void emu_strict_write(uintptr_t address, size_t bytes, bool atomic) {
    uint64_t offset;
    uint32_t chance = emu_block->strict.evict;
    struct view *v = emu_view_at(address, &offset);
    if (!v || bytes > v->bytes - offset) {
        outside(address, bytes, "writes");
        return;
    }
    for (uint64_t line = offset / emu_line_bytes(); line * emu_line_bytes() < offset + bytes; line++) {
        if (v->dirty[line]) {
            if (atomic && chance && !emu_strict_random(4)) evict_early(v, (uint32_t)line);
            continue;
        }
        pthread_mutex_lock(&emu_views_lock);
        if (!v->dirty[line]) make_dirty(v, (uint32_t)line);
        pthread_mutex_unlock(&emu_views_lock);
    }
    if (!chance || emu_strict_random(1000) >= chance) return;
    pthread_mutex_lock(&emu_views_lock);
    evict_one();
    pthread_mutex_unlock(&emu_views_lock);
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
    struct view *v = address >> 32 ? NULL : emu_view_at(address, &offset);
    if (!v) return (uint8_t *)(uintptr_t)address; // the device's own memory
    if (check)
        for (uint64_t line = offset / emu_line_bytes(); line * emu_line_bytes() < offset + bytes; line++)
            check_line(v, (uint32_t)line, access);
    return v->memory + offset;
}
