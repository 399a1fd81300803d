// The user DMA engine, one a thread. Descriptors run when the thread looks (dmpoll, dmwait, dmpause, dmsyncht), never
// before: a program that reads its data without waiting finds the old bytes. How many run at a look is one decision
// (|quantum|), so that a stricter mode can let them come late or in between.
#include "dma_move.h"
#include "npu_emu_dsp.h"

#define DONE      0x80000000u
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

// A fault on request at |descriptor|: true when the bus failed, after the first half ("short") or at once ("code:").
static bool is_cut(uint32_t *descriptor, struct emu_move m) {
    int64_t value = 0;
    enum emu_fault_action action = emu_dsp_fault("dma", &value);
    if (action != EMU_FAULT_SHORT && action != EMU_FAULT_CODE) return false;
    if (action == EMU_FAULT_SHORT) {
        *(m.rows > 1 ? &m.rows : &m.row_bytes) /= 2;
        emu_move_run(&m);
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
    wrong = emu_move_decode(d, &m, &syndrome);
    if (!wrong) wrong = emu_move_check(&m, &syndrome, &where);
    if (!wrong && is_cut(d, m)) return;
    if (!wrong && emu_move_run(&m)) {
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
        if (!emu_move_decode(d, &m, &syndrome) && !emu_move_check(&m, &syndrome, &where)) emu_strict_dma_linked(d, &m);
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
