// See dma_move.h. Rows are moved one by one, past the window's checks and, in strict mode, past the cache.
#include "dma_move.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TYPE_0  0
#define TYPE_9  9
#define TYPE_10 10

// Memory of the program's own: not in the window, but there.
static bool is_own(uint64_t at, uint64_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char resident[256];
    for (uint64_t p = at / page * page; p < at + bytes; p += page * sizeof resident) {
        uint64_t left = at + bytes - p, most = page * sizeof resident;
        if (mincore((void *)(uintptr_t)p, (size_t)(left < most ? left : most), resident)) return false;
    }
    return true;
}

static const char *check_side(uint64_t at, uint64_t stride, const struct emu_move *m, enum emu_access access) {
    uint64_t bytes = m->rows ? (m->rows - 1) * stride + m->row_bytes : 0;
    const char *wrong;
    if (at >> 32) return NULL; // extended: checked at the move
    wrong = emu_window_check(at, bytes, access);
    // Inside the window's range a hole is reserved memory, which is there for mincore too: only below it and above it
    // can the program's own memory lie.
    if (wrong && !strcmp(wrong, "is not mapped") && !emu_low_reserved(at) && is_own(at, bytes)) return NULL;
    return wrong;
}

// memmove, which is most of what a transfer costs. Under qemu two stores in one packet, as the library's function has
// them, are several times as slow as two packets of one: volatile keeps the compiler from making such pairs.
static void copy(uint8_t *dst, const uint8_t *src, size_t bytes) {
#ifdef __hexagon__
    bool apart = dst + bytes <= src || src + bytes <= dst;
    if (apart && !(((uintptr_t)dst | (uintptr_t)src) & 7)) {
        size_t words = bytes / 8;
        volatile uint64_t *to = (volatile uint64_t *)(void *)dst;
        const uint64_t *from = (const uint64_t *)(const void *)src;
        for (size_t i = 0; i < words; i++) to[i] = from[i];
        dst += words * 8, src += words * 8, bytes -= words * 8;
    }
#endif
    memmove(dst, src, bytes);
}

static int move_row(uint64_t dst, uint64_t src, uint64_t bytes) {
    uint8_t part[4096];
    if (!(dst >> 32) && !(src >> 32)) {
        if (emu_strict_dma() || emu_strict_cache()) // a transfer goes past the cache, whenever it moves
            emu_strict_dma_row(dst, src, bytes);
        else
            copy((uint8_t *)(uintptr_t)dst, (const uint8_t *)(uintptr_t)src, (size_t)bytes);
        return 0;
    }
    for (uint64_t at = 0; at < bytes; at += sizeof part) {
        uint64_t n = bytes - at < sizeof part ? bytes - at : sizeof part;
        if (src >> 32) {
            if (emu_window_extended(src + at, part, n, false)) return -1;
        } else {
            memcpy(part, emu_strict_memory(src + at, n, EMU_READ, emu_strict_cache()), (size_t)n);
        }
        if (dst >> 32) {
            if (emu_window_extended(dst + at, part, n, true)) return -1;
        } else {
            memcpy(emu_strict_memory(dst + at, n, EMU_WRITE, emu_strict_cache()), part, (size_t)n);
        }
    }
    return 0;
}

const char *emu_move_decode(const uint32_t *d, struct emu_move *m, enum syndrome *syndrome) {
    uint32_t type;
    *m = (struct emu_move){.src = d[2], .dst = d[3], .rows = 1, .row_bytes = d[1] & 0xFFFFFFu};
    *syndrome = SYNDROME_TYPE;
    if (!(d[1] >> 24 & 3)) return NULL;
    if ((d[1] >> 24 & 3) != 1) return "unknown size class";
    type = d[4] & 0xFF;
    if (type == TYPE_0) {
        m->row_bytes = d[5] & 0xFFFF;
        m->rows = d[5] >> 16;
        m->src_stride = d[6] & 0xFFFF;
        m->dst_stride = d[6] >> 16;
        *syndrome = SYNDROME_ROI;
        return d[7] ? "offsets in a type 0 descriptor" : NULL;
    }
    if (type != TYPE_9 && type != TYPE_10) return "unknown type";
    if (type == TYPE_9 && emu_block->arch < 75) return "type 9 needs v75";
    if (type == TYPE_10 && emu_block->arch < 81) return "type 10 needs v81";
    m->row_bytes = d[5] & 0xFFFFFF;
    m->rows = d[5] >> 24 | (d[6] & 0xFF) << 8;
    m->src_stride = d[6] >> 8;
    m->dst_stride = d[1] & 0xFFFFFF;
    if (type == TYPE_10) {
        m->src |= (uint64_t)(d[4] >> 8 & 0xFF) << 32;
        m->dst |= (uint64_t)(d[4] >> 16 & 0xFF) << 32;
    }
    *syndrome = SYNDROME_ROI;
    return d[7] & 0xFFFFFF ? "an offset in a type 9 descriptor" : NULL;
}

const char *emu_move_check(const struct emu_move *m, enum syndrome *syndrome, uint64_t *where) {
    const char *wrong;
    *where = m->src;
    *syndrome = SYNDROME_ROI;
    if (!m->rows || !m->row_bytes) return "nothing to move";
    if (m->rows > 1 && (m->src_stride < m->row_bytes && m->src_stride)) return "source rows overlap";
    if (m->rows > 1 && m->dst_stride < m->row_bytes) return "destination rows overlap";
    *syndrome = SYNDROME_ADDRESS;
    wrong = check_side(m->src, m->src_stride, m, EMU_READ);
    if (wrong) return wrong;
    *where = m->dst;
    return check_side(m->dst, m->dst_stride, m, EMU_WRITE);
}

int emu_move_run(const struct emu_move *m) {
    for (uint64_t row = 0; row < m->rows; row++)
        if (move_row(m->dst + row * m->dst_stride, m->src + row * m->src_stride, m->row_bytes)) return -1;
    emu_count(EMU_COUNT_DMA_DESCRIPTORS, 1);
    emu_count(EMU_COUNT_DMA_BYTES, m->rows * m->row_bytes);
    return 0;
}
