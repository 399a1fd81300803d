// The user DMA engine, one a thread. Descriptors run when the thread looks (dmpoll, dmwait, dmpause, dmsyncht), never
// before: a program that reads its data without waiting finds the old bytes. How many run at a look is one decision
// (|quantum|), so that a stricter mode can let them come late or in between.
#include "emu_dsp.h"
#include "npu_emu_dsp.h"
#include "../strict/strict.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum syndrome { SYNDROME_ALIGNMENT = 1, SYNDROME_TYPE = 2, SYNDROME_ADDRESS = 3, SYNDROME_ROI = 6, SYNDROME_BUS = 7 };

#define DONE      0x80000000u
#define TYPE_0    0
#define TYPE_9    9
#define TYPE_10   10
#define STEP_MOST 65536

struct engine {
    uint32_t *next; // the descriptor to run next, NULL when idle
    uint32_t *last; // the one that ran last
    uint32_t state;
    uint32_t dm2, dm4, dm5;
};

// No array in here: clang's Hexagon back end addresses an indexed thread-local array as if it were an ordinary one.

static __thread struct engine engine;

static void *address(const uint32_t *near, uint32_t low) {
    uintptr_t upper = sizeof(uintptr_t) > 4 ? (uintptr_t)near & ~(uintptr_t)0xFFFFFFFFu : 0;
    return (void *)(upper | low);
}

static const char *strict_kind(enum syndrome syndrome) {
    switch (syndrome) {
    case SYNDROME_ALIGNMENT:
        return "dma_alignment";
    case SYNDROME_ADDRESS:
        return "dma_outside";
    case SYNDROME_ROI:
        return "dma_stride";
    default:
        return "dma_type";
    }
}

// The engine stops at |descriptor|, whose done bit stays clear, and runs none of those behind it.
static void stop(uint32_t *descriptor, uint32_t syndrome, uint64_t where) {
    engine.state = NPU_EMU_DM0_ERROR;
    engine.dm4 = 1u | syndrome << 8;
    engine.dm5 = (uint32_t)where;
    engine.next = NULL;
    engine.last = descriptor;
}

static void fail(uint32_t *descriptor, enum syndrome syndrome, uint64_t where, const char *what) {
    emu_count(EMU_COUNT_DMA_FAULTS, 1);
    if (emu_strict_dma())
        emu_strict_report(strict_kind(syndrome), "dma: %s at %#llx, descriptor %08x %08x %08x %08x %08x %08x", what,
                          (unsigned long long)where, descriptor[0], descriptor[1], descriptor[2], descriptor[3],
                          descriptor[5], descriptor[6]);
    emu_loud("dma: %s at %#llx, descriptor %p: %08x %08x %08x %08x", what, (unsigned long long)where,
             (void *)descriptor, descriptor[0], descriptor[1], descriptor[2], descriptor[3]);
    stop(descriptor, syndrome, where);
}

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

// Reads the rectangle out of |d|. NULL, or what is wrong with *syndrome.
static const char *decode(const uint32_t *d, struct emu_move *m, enum syndrome *syndrome) {
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

static const char *check(const struct emu_move *m, enum syndrome *syndrome, uint64_t *where) {
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

static int run_moves(const struct emu_move *m) {
    for (uint64_t row = 0; row < m->rows; row++)
        if (move_row(m->dst + row * m->dst_stride, m->src + row * m->src_stride, m->row_bytes)) return -1;
    emu_count(EMU_COUNT_DMA_DESCRIPTORS, 1);
    emu_count(EMU_COUNT_DMA_BYTES, m->rows * m->row_bytes);
    return 0;
}

// A fault on request at |descriptor|: true when the bus failed, after the first half ("short") or at once ("code:").
static bool is_cut(uint32_t *descriptor, struct emu_move m) {
    int64_t value = 0;
    enum emu_fault_action action = emu_dsp_fault("dma", &value);
    if (action != EMU_FAULT_SHORT && action != EMU_FAULT_CODE) return false;
    if (action == EMU_FAULT_SHORT) {
        *(m.rows > 1 ? &m.rows : &m.row_bytes) /= 2;
        run_moves(&m);
    }
    if (emu_strict_dma()) emu_strict_dma_stopped();
    stop(descriptor, action == EMU_FAULT_CODE ? (uint32_t)value & 0xFF : SYNDROME_BUS, m.src);
    return true;
}

static void step(void) {
    uint32_t *d = engine.next;
    enum syndrome syndrome = SYNDROME_ALIGNMENT;
    uint64_t where = (uintptr_t)d;
    const char *wrong = NULL;
    struct emu_move m;
    if ((uintptr_t)d % 16) {
        emu_count(EMU_COUNT_DMA_FAULTS, 1);
        if (emu_strict_dma()) emu_strict_report("dma_alignment", "descriptor %p is not 16-byte aligned", (void *)d);
        emu_loud("dma: descriptor %p is not 16-byte aligned", (void *)d);
        engine.state = NPU_EMU_DM0_ERROR;
        engine.dm4 = 1u | SYNDROME_ALIGNMENT << 8;
        engine.dm5 = (uint32_t)(uintptr_t)d;
        engine.next = NULL;
        return;
    }
    wrong = decode(d, &m, &syndrome);
    if (!wrong) wrong = check(&m, &syndrome, &where);
    if (!wrong && is_cut(d, m)) return;
    if (!wrong && run_moves(&m)) {
        syndrome = SYNDROME_ADDRESS;
        wrong = "extended address is not mapped";
    }
    if (wrong) {
        fail(d, syndrome, where, wrong);
        return;
    }
    if (emu_strict_dma()) emu_strict_dma_done(d);
    atomic_store_explicit((_Atomic uint32_t *)&d[1], d[1] | DONE, memory_order_release); // after the last byte
    engine.last = d;
    engine.next = d[0] ? address(d, d[0]) : NULL;
    if (!engine.next) engine.state = NPU_EMU_DM0_IDLE;
}

// Descriptors that run at this look of the thread.
static unsigned quantum(void) {
    return emu_strict_dma() ? emu_strict_dma_quantum() : STEP_MOST;
}

static void look(unsigned most) {
    for (unsigned i = 0; i < most && engine.next && engine.state == NPU_EMU_DM0_RUN; i++) step();
}

static uint32_t dm0(void) {
    const uint32_t *at = engine.next ? engine.next : engine.last;
    return ((uint32_t)(uintptr_t)at & ~15u) | engine.state;
}

// Strict mode knows a transfer from its link on; what is wrong with one shows when it runs.
static void note(uint32_t *d) {
    for (; d && !((uintptr_t)d % 16); d = d[0] ? address(d, d[0]) : NULL) {
        enum syndrome syndrome;
        struct emu_move m;
        uint64_t where;
        if (!decode(d, &m, &syndrome) && !check(&m, &syndrome, &where)) emu_strict_dma_linked(d, &m);
    }
}

static void start(void *next) {
    engine.next = next;
    engine.state = next ? NPU_EMU_DM0_RUN : NPU_EMU_DM0_IDLE;
}

EMU_API void npu_emu_dmstart(void *next) {
    if (emu_strict_dma()) note(next);
    start(next);
}

// A running engine meets |next| by the word written into |tail|; an idle one starts with it, a stopped one never runs
// it.
EMU_API void npu_emu_dmlink(void *tail, void *next) {
    if (emu_strict_dma() && engine.state != NPU_EMU_DM0_ERROR) note(next);
    if (tail) *(volatile uint32_t *)tail = (uint32_t)(uintptr_t)next;
    if (engine.state == NPU_EMU_DM0_IDLE) start(next);
    if (emu_strict_dma()) look(emu_strict_dma_quantum());
}

EMU_API uint32_t npu_emu_dmpoll(void) {
    look(quantum());
    return dm0();
}

EMU_API uint32_t npu_emu_dmwait(void) {
    while (engine.next && engine.state == NPU_EMU_DM0_RUN) look(STEP_MOST);
    if (emu_strict_dma()) emu_strict_dma_waited();
    return dm0();
}

EMU_API uint32_t npu_emu_dmpause(void) {
    uint32_t before;
    look(quantum());
    before = dm0();
    engine.state = NPU_EMU_DM0_IDLE;
    engine.next = NULL;
    return before;
}

EMU_API void npu_emu_dmresume(uint32_t value) {
    if ((value & 3) == NPU_EMU_DM0_RUN) start(address(engine.last, value & ~15u));
}

EMU_API void npu_emu_dmsyncht(void) {
    npu_emu_dmwait();
}

EMU_API void npu_emu_dma_pushed(uint32_t depth) {
    if (emu_strict_dma()) emu_strict_dma_pushed(depth);
}

EMU_API void npu_emu_dma_popped(void) {
    if (emu_strict_dma()) emu_strict_dma_popped();
}

EMU_API uint32_t npu_emu_dmcfgrd(uint32_t index) {
    switch (index) {
    case 0:
        return dm0();
    case 2:
        return engine.dm2;
    case 4:
        return engine.dm4;
    case 5:
        return engine.dm5;
    default:
        return 0;
    }
}

EMU_API void npu_emu_dmcfgwr(uint32_t index, uint32_t value) {
    if (index == 2) engine.dm2 = value;
}
