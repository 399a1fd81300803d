// Addresses below 4 GiB: the window in which host buffers are mapped, VTCM, and a small arena for the program. NPU code
// and DMA descriptors hold 32-bit addresses, in a native build too. The whole range is reserved at start, so that
// neither libc nor anybody else lands in it.
#include "emu_dsp.h"
#include "npu_emu_dsp.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD      0x10000u
#define PAGE       0x1000u
#define NO_RESERVE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

struct range {
    uint32_t first, last;
};

#if defined(__SANITIZE_ADDRESS__)
#define SMALL_ADDRESS_SPACE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SMALL_ADDRESS_SPACE
#endif
#endif

#if defined(SMALL_ADDRESS_SPACE)
// The address sanitizer's shadow begins just below 2 GiB.
static const struct range window[] = {{0x10000000, 0x70000000}};
static const struct range arena = {0x70000000, 0x76000000};
static const struct range vtcm = {0x76000000, 0x7C000000};
#elif defined(__hexagon__)
// Under qemu libc's mappings and stacks begin at 1 GiB.
static const struct range window[] = {{0x48000000, 0xF0000000}, {0x02000000, 0x40000000}};
static const struct range arena = {0xF0000000, 0xF8000000};
static const struct range vtcm = {0xF8000000, 0xFE000000};
#else
static const struct range window[] = {{0x10000000, 0xF0000000}};
static const struct range arena = {0xF0000000, 0xF8000000};
static const struct range vtcm = {0xF8000000, 0xFE000000};
#endif

struct piece {
    uint32_t first;
    uint64_t bytes;
    struct piece *next;
};

static struct {
    pthread_mutex_t lock;
    struct piece *pieces; // by address, windows and arena together
} low = {.lock = PTHREAD_MUTEX_INITIALIZER};

// In steps: qemu refuses more than 2 GiB at once.
static int reserve(const struct range *r) {
    const uint32_t step = 0x10000000;
    for (uint32_t first = r->first; first < r->last;) {
        uint32_t bytes = r->last - first < step ? r->last - first : step;
        void *at = (void *)(uintptr_t)first;
        if (mmap(at, bytes, PROT_NONE, NO_RESERVE | MAP_FIXED_NOREPLACE, -1, 0) != at) {
            emu_loud("addresses %#x-%#x are taken: %s", first, first + bytes, strerror(errno));
            return -1;
        }
        first += bytes;
    }
    return 0;
}

uint8_t *emu_vtcm(void) {
    return (uint8_t *)(uintptr_t)(vtcm.first + GUARD);
}

static bool inside(const struct range *r, uint64_t address) {
    return address >= r->first && address < r->last;
}

bool emu_low_reserved(uint64_t address) {
    for (size_t i = 0; i < sizeof window / sizeof *window; i++)
        if (inside(&window[i], address)) return true;
    return inside(&vtcm, address);
}

int emu_low_init(void) {
    for (size_t i = 0; i < sizeof window / sizeof *window; i++)
        if (reserve(&window[i])) return -1;
    if (reserve(&arena) || reserve(&vtcm)) return -1;
    if (emu_block->vtcm_bytes > vtcm.last - vtcm.first - 2 * GUARD) return -1;
    return mprotect(emu_vtcm(), emu_block->vtcm_bytes, PROT_READ | PROT_WRITE);
}

// First fit with a guard after each piece.
static uint32_t take_in(const struct range *r, uint64_t bytes) {
    uint64_t at = r->first;
    struct piece **link = &low.pieces, *made;
    for (; *link && (*link)->first < r->last; link = &(*link)->next) {
        if ((*link)->first < r->first) continue;
        if (at + bytes + GUARD <= (*link)->first) break;
        at = ((*link)->first + (*link)->bytes + 2 * GUARD - 1) / GUARD * GUARD;
    }
    if (at + bytes + GUARD > r->last || !(made = malloc(sizeof *made))) return 0;
    *made = (struct piece){(uint32_t)at, bytes, *link};
    *link = made;
    return (uint32_t)at;
}

static uint64_t remove_piece(uint32_t address) {
    for (struct piece **link = &low.pieces; *link; link = &(*link)->next) {
        struct piece *found = *link;
        uint64_t bytes = found->bytes;
        if (found->first != address) continue;
        *link = found->next;
        free(found);
        return bytes;
    }
    return 0;
}

uint32_t emu_low_take(uint64_t bytes) {
    uint32_t at = 0;
    if (bytes > UINT32_MAX) return 0;
    pthread_mutex_lock(&low.lock);
    for (size_t i = 0; i < sizeof window / sizeof *window && !at; i++) at = take_in(&window[i], bytes);
    pthread_mutex_unlock(&low.lock);
    return at;
}

/* Takes the memory away again. A page that can't be taken stays readable: harmless, so the answer does not matter. */
static void close_low(void *memory, uint64_t bytes) {
    void *at = mmap(memory, (size_t)bytes, PROT_NONE, NO_RESERVE | MAP_FIXED, -1, 0);
    (void)at;
}

void emu_low_give(uint32_t address, uint64_t bytes) {
    pthread_mutex_lock(&low.lock);
    close_low((void *)(uintptr_t)address, bytes);
    remove_piece(address);
    pthread_mutex_unlock(&low.lock);
}

EMU_API void *npu_emu_low_alloc(uint32_t bytes, uint32_t align) {
    uint64_t rounded = ((uint64_t)bytes + PAGE - 1) / PAGE * PAGE;
    uint32_t at;
    if (!bytes || !align || (align & (align - 1)) || align > GUARD) return NULL;
    pthread_mutex_lock(&low.lock);
    at = take_in(&arena, rounded);
    if (at && mprotect((void *)(uintptr_t)at, (size_t)rounded, PROT_READ | PROT_WRITE)) {
        remove_piece(at);
        at = 0;
    }
    pthread_mutex_unlock(&low.lock);
    return (void *)(uintptr_t)at;
}

EMU_API void npu_emu_low_free(void *memory) {
    uint32_t at = (uint32_t)(uintptr_t)memory;
    uint64_t bytes = 0;
    if (!memory) return;
    pthread_mutex_lock(&low.lock);
    bytes = remove_piece(at);
    if (bytes) close_low(memory, bytes);
    pthread_mutex_unlock(&low.lock);
}
