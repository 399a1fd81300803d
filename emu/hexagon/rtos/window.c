// Host buffers in the NPU process: what was announced, what is mapped, the limits on bytes and mappings, HAP_mmap and
// its relatives, and the check of an address range that the DMA engine makes.
#include "emu_dsp.h"
#include "../strict/strict.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE           0x1000u
#define EXTENDED_FIRST 0x100000000u

struct announcement {
    int number; // the host's descriptor number: the key on both sides
    int fd;
    uint64_t bytes;
    uint32_t flags;
    uint32_t gets;       // HAP_mmap_get without put
    uint32_t references; // of queue packets
    void *address;       // of MAP_NOW ones
    struct announcement *next;
};

// |idle| mappings hold their address space after unmapping, until the buffer is freed (setting window_by_free).
struct mapping {
    uint64_t address;
    uint64_t bytes;
    int number;
    int prot;
    int extended_fd; // duplicate for a mapping above 4 GiB, else -1
    bool idle;
    struct mapping *next;
};

static struct {
    pthread_rwlock_t lock;
    struct announcement *announced;
    struct mapping *mapped;
    uint64_t next_extended;
} w = {.lock = PTHREAD_RWLOCK_INITIALIZER, .next_extended = EXTENDED_FIRST};

static struct announcement *find(int number) {
    for (struct announcement *a = w.announced; a; a = a->next)
        if (a->number == number) return a;
    return NULL;
}

static uint64_t page_round(uint64_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

// Shows the buffer's memory at |at|, or in strict mode the process' copy of it.
static int show(const struct announcement *a, uint32_t at, uint64_t bytes, int prot) {
    if (emu_strict_cache()) return emu_strict_map(at, bytes, prot, a->fd, a->number, a->bytes);
    return mmap((void *)(uintptr_t)at, (size_t)bytes, prot, MAP_SHARED | MAP_FIXED, a->fd, 0) == MAP_FAILED ? -1 : 0;
}

static void hide(const struct mapping *m) {
    if (emu_strict_cache() && m->extended_fd < 0 && !m->idle) emu_strict_unmap((uint32_t)m->address, m->bytes);
}

static void *reuse_idle(const struct announcement *a, uint64_t bytes, int prot) {
    for (struct mapping *m = w.mapped; m; m = m->next) {
        void *at = (void *)(uintptr_t)m->address;
        if (!m->idle || m->number != a->number || m->bytes != bytes || m->extended_fd >= 0) continue;
        if (show(a, (uint32_t)m->address, bytes, prot)) return NULL;
        m->idle = false;
        m->prot = prot;
        return at;
    }
    return NULL;
}

static struct mapping *add_mapping(uint64_t address, uint64_t bytes, int number, int prot) {
    struct mapping *m = malloc(sizeof *m);
    if (!m) return NULL;
    *m = (struct mapping){address, bytes, number, prot, -1, false, w.mapped};
    w.mapped = m;
    return m;
}

// Maps the first |bytes| of an announced buffer. NULL when a limit stands against it.
static void *map(const struct announcement *a, uint64_t bytes, int prot) {
    uint32_t at;
    bytes = page_round(bytes);
    if (bytes > page_round(a->bytes)) return NULL;
    if (emu_block->window_by_free) {
        void *again = reuse_idle(a, bytes, prot);
        if (again) return again;
    }
    if (atomic_load(&emu_block->counters[EMU_COUNT_MAPPINGS]) >= emu_block->slots ||
        bytes > emu_block->window_bytes - atomic_load(&emu_block->counters[EMU_COUNT_MAPPED_BYTES]))
        return NULL;
    at = emu_low_take(bytes);
    if (!at) return NULL;
    if (show(a, at, bytes, prot) || !add_mapping(at, bytes, a->number, prot)) {
        emu_low_give(at, bytes);
        return NULL;
    }
    emu_count(EMU_COUNT_MAPPINGS, 1);
    emu_count(EMU_COUNT_MAPPED_BYTES, bytes);
    return (void *)(uintptr_t)at;
}

static void release(struct mapping *m) {
    hide(m);
    if (m->extended_fd >= 0) {
        close(m->extended_fd);
    } else {
        emu_low_give((uint32_t)m->address, m->bytes);
        atomic_fetch_sub(&emu_block->counters[EMU_COUNT_MAPPINGS], 1);
        atomic_fetch_sub(&emu_block->counters[EMU_COUNT_MAPPED_BYTES], m->bytes);
    }
    free(m);
}

static int unmap(uint64_t address, uint64_t bytes) {
    for (struct mapping **link = &w.mapped; *link; link = &(*link)->next) {
        struct mapping *m = *link;
        if (m->address != address || m->idle) continue;
        if (bytes && page_round(bytes) != m->bytes) return AEE_EBADPARM;
        if (emu_block->window_by_free && m->extended_fd < 0) {
            hide(m);
            m->idle = true;
            mprotect((void *)(uintptr_t)address, (size_t)m->bytes, PROT_NONE);
            return AEE_SUCCESS;
        }
        *link = m->next;
        release(m);
        return AEE_SUCCESS;
    }
    return AEE_ENOSUCHMAP;
}

int emu_window_announce(int number, int fd, uint64_t bytes, uint32_t flags) {
    struct announcement *a = calloc(1, sizeof *a);
    int result = 0, code;
    if (!a || fd < 0 || emu_dsp_meet("map", &code)) {
        if (fd >= 0) close(fd);
        free(a);
        return AEE_ENOMEMORY;
    }
    *a = (struct announcement){.number = number, .fd = fd, .bytes = bytes, .flags = flags};
    pthread_rwlock_wrlock(&w.lock);
    if (flags & EMU_MAP_NOW) {
        a->address = map(a, bytes, PROT_READ | PROT_WRITE);
        if (!a->address) result = AEE_ENOMEMORY;
    }
    if (!result) {
        a->next = w.announced;
        w.announced = a;
    }
    pthread_rwlock_unlock(&w.lock);
    if (result) {
        close(fd);
        free(a);
    }
    return result;
}

int emu_window_withdraw(int number) {
    struct announcement *found = NULL;
    pthread_rwlock_wrlock(&w.lock);
    for (struct announcement **link = &w.announced; *link; link = &(*link)->next) {
        if ((*link)->number != number) continue;
        found = *link;
        *link = found->next;
        break;
    }
    if (found && found->address) unmap((uintptr_t)found->address, 0);
    pthread_rwlock_unlock(&w.lock);
    if (found) close(found->fd);
    free(found);
    return found ? AEE_SUCCESS : AEE_ENOSUCHMAP;
}

void emu_window_forget(int number) {
    bool implicit;
    pthread_rwlock_wrlock(&w.lock);
    for (struct mapping **link = &w.mapped; *link;) {
        struct mapping *m = *link;
        if (m->number != number || !m->idle) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        release(m);
    }
    implicit = find(number) != NULL;
    pthread_rwlock_unlock(&w.lock);
    if (implicit) emu_window_withdraw(number);
}

void *emu_window_address(int number, uint64_t *bytes) {
    struct announcement *a;
    void *address = NULL;
    *bytes = 0;
    pthread_rwlock_rdlock(&w.lock);
    a = find(number);
    if (a) {
        address = a->address;
        *bytes = a->bytes;
        for (struct mapping *m = w.mapped; m && !address; m = m->next)
            if (m->number == number && !m->idle && m->extended_fd < 0) address = (void *)(uintptr_t)m->address;
    }
    pthread_rwlock_unlock(&w.lock);
    return address;
}

int emu_window_reference(int number, int change) {
    struct announcement *a;
    int result = AEE_SUCCESS;
    pthread_rwlock_wrlock(&w.lock);
    a = find(number);
    if (!a)
        result = AEE_ENOSUCHMAP;
    else if (change < 0 && !a->references)
        result = AEE_EBADPARM;
    else
        a->references += (uint32_t)change;
    pthread_rwlock_unlock(&w.lock);
    return result;
}

const char *emu_window_check(uint64_t address, uint64_t bytes, enum emu_access access) {
    const char *wrong = "is not mapped";
    uint64_t first = (uintptr_t)emu_vtcm();
    if (address >= first && address - first < emu_block->vtcm_bytes)
        return bytes <= emu_block->vtcm_bytes - (address - first) ? NULL : "leaves VTCM";
    pthread_rwlock_rdlock(&w.lock);
    for (struct mapping *m = w.mapped; m; m = m->next) {
        if (m->idle || address < m->address || address - m->address >= m->bytes) continue;
        if (bytes > m->bytes - (address - m->address))
            wrong = "leaves its mapping";
        else if (!(m->prot & (access == EMU_WRITE ? PROT_WRITE : PROT_READ)))
            wrong = "may not be accessed so";
        else
            wrong = NULL;
        break;
    }
    pthread_rwlock_unlock(&w.lock);
    return wrong;
}

int emu_window_extended(uint64_t address, void *memory, uint64_t bytes, bool write) {
    int result = -1;
    pthread_rwlock_rdlock(&w.lock);
    for (struct mapping *m = w.mapped; m; m = m->next) {
        ssize_t moved;
        off_t at = (off_t)(address - m->address);
        if (m->extended_fd < 0 || address < m->address || address - m->address > m->bytes ||
            bytes > m->bytes - (address - m->address) || (write && !(m->prot & PROT_WRITE)))
            continue;
        moved = write ? pwrite(m->extended_fd, memory, (size_t)bytes, at)
                      : pread(m->extended_fd, memory, (size_t)bytes, at);
        result = moved == (ssize_t)bytes ? 0 : -1;
    }
    pthread_rwlock_unlock(&w.lock);
    return result;
}

void *emu_window_map(int number, uint64_t bytes, int prot) {
    const struct announcement *a;
    void *at = NULL;
    pthread_rwlock_wrlock(&w.lock);
    a = find(number);
    if (a) at = map(a, bytes, prot);
    pthread_rwlock_unlock(&w.lock);
    return at;
}

int emu_window_unmap(uint64_t address, uint64_t bytes) {
    int result;
    if (!bytes) return AEE_EBADPARM;
    pthread_rwlock_wrlock(&w.lock);
    result = unmap(address, bytes);
    pthread_rwlock_unlock(&w.lock);
    return result;
}

int emu_window_get(int number, void **address) {
    struct announcement *a;
    int result = AEE_ENOSUCHMAP;
    pthread_rwlock_wrlock(&w.lock);
    a = find(number);
    if (a && a->address) {
        a->gets++;
        *address = a->address;
        result = AEE_SUCCESS;
    }
    pthread_rwlock_unlock(&w.lock);
    return result;
}

int emu_window_put(int number) {
    struct announcement *a;
    int result = AEE_ENOSUCHMAP;
    pthread_rwlock_wrlock(&w.lock);
    a = find(number);
    if (a && a->address) result = a->gets ? AEE_SUCCESS : AEE_EBADMAPREFCNT;
    if (!result) a->gets--;
    pthread_rwlock_unlock(&w.lock);
    return result;
}

uint64_t emu_window_map_extended(int number, uint64_t bytes, int prot) {
    const struct announcement *a;
    struct mapping *m = NULL;
    uint64_t address = 0;
    int fd = -1;
    pthread_rwlock_wrlock(&w.lock);
    a = find(number);
    if (a && bytes && bytes <= page_round(a->bytes)) fd = dup(a->fd);
    if (fd >= 0) m = add_mapping(w.next_extended, page_round(bytes), number, prot);
    if (m) {
        m->extended_fd = fd;
        w.next_extended += m->bytes + PAGE;
        address = m->address;
    }
    pthread_rwlock_unlock(&w.lock);
    if (!m && fd >= 0) close(fd);
    return address;
}
