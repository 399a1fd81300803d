// The wrongs that the strict probe does and the kind that strict mode must name for each, and what two devices do to
// lines they share. Known to the program (strict_skel.c) and the host's rows (rows_strict.c).
#ifndef EMU_TESTS_STRICT_PROBE_H
#define EMU_TESTS_STRICT_PROBE_H

#include <stdint.h>

// STRICT_WRONG(NAME, function of the program, kind or "" for what is right)
#define STRICT_WRONGS                                       \
    STRICT_WRONG(READ_FRESH, cache, "")                     \
    STRICT_WRONG(READ_STALE, cache, "stale_read")           \
    STRICT_WRONG(READ_NO_FENCE, cache, "stale_read")        \
    STRICT_WRONG(READ_STALE_ATOMIC, cache, "")              \
    STRICT_WRONG(WRITE_STALE, cache, "stale_write")         \
    STRICT_WRONG(WRITE_CLEAN, cache, "")                    \
    STRICT_WRONG(INVALIDATE_DIRTY, cache, "dirty_lost")     \
    STRICT_WRONG(UNMAP_DIRTY, cache, "unmapped_dirty")      \
    STRICT_WRONG(READ_OUTSIDE, cache, "outside")            \
    STRICT_WRONG(DMA_GOOD, dma, "")                         \
    STRICT_WRONG(DMA_READ_STALE, dma, "stale_read")         \
    STRICT_WRONG(DMA_OF_DIRTY, dma, "dma_of_dirty")         \
    STRICT_WRONG(DMA_OVER_DIRTY, dma, "dma_over_dirty")     \
    STRICT_WRONG(DMA_NOT_WAITED, dma, "dma_not_waited")     \
    STRICT_WRONG(DMA_SOURCE_WRITTEN, dma, "dma_not_waited") \
    STRICT_WRONG(DMA_OVERLAP, dma, "dma_overlap")           \
    STRICT_WRONG(DMA_ORDERED, dma, "")                      \
    STRICT_WRONG(DMA_OUT_OF_ORDER, dma, "dma_order")        \
    STRICT_WRONG(DMA_LEFT, dma, "dma_left")                 \
    STRICT_WRONG(DMA_PUSH_LEFT, engine, "dma_left")         \
    STRICT_WRONG(DMA_POP, engine, "dma_pop")                \
    STRICT_WRONG(DMA_AGAIN, dma, "dma_depth")               \
    STRICT_WRONG(DMA_TOO_DEEP, engine, "dma_depth")         \
    STRICT_WRONG(DMA_ALIGNMENT, engine, "dma_alignment")    \
    STRICT_WRONG(DMA_STRIDE, engine, "dma_stride")          \
    STRICT_WRONG(DMA_OUTSIDE, engine, "dma_outside")        \
    STRICT_WRONG(DMA_TYPE, engine, "dma_type")              \
    STRICT_WRONG(VTCM_OUTSIDE, vtcm, "vtcm_outside")        \
    STRICT_WRONG(VTCM_NOT_OWNED, vtcm, "vtcm_not_owned")    \
    STRICT_WRONG(VTCM_LAST, vtcm, "")                       \
    STRICT_WRONG(VTCM_BEHIND, vtcm, "vtcm_not_owned")       \
    STRICT_WRONG(DMA_TO_BEHIND, dma, "vtcm_not_owned")      \
    STRICT_WRONG(DMA_FROM_BEHIND, dma, "vtcm_not_owned")    \
    STRICT_WRONG(VTCM_MISALIGNED, vtcm, "misaligned")       \
    STRICT_WRONG(VTCM_SCALAR, vtcm, "")

enum strict_what {
    STRICT_NOTHING,
#define STRICT_WRONG(name, function, kind) STRICT_##name,
    STRICT_WRONGS
#undef STRICT_WRONG
        STRICT_WRONGS_END,
    // To the line |line| of the buffer:
    STRICT_STORE,       // stores |value| and cleans it
    STRICT_STORE_DIRTY, // stores |value| and does not
    STRICT_CLEAN,       // cleans it
    STRICT_WAIT,        // invalidates and reads it, as an atomic, until it is |value|
    STRICT_DMA_STORE,   // writes its first half by DMA
    STRICT_DMA_LOAD,    // reads it by DMA
};

enum strict_method { STRICT_OPEN, STRICT_CLOSE, STRICT_MAP, STRICT_RUN };

struct strict_in {
    uint32_t fd, bytes; // to map
    struct {
        uint32_t what, line, value;
    } steps[3];
};

struct strict_out {
    uint32_t value; // that the last step read
};

#endif
