#include "htp/dma.h"

#include "htp/memory.h"
#include "htp/platform/machine.h"
#include "wire/guard.h"

enum {
    DONE = 1u << 31,
    BYPASS = 3u << 28, /* source and destination past the cache */
    TWO_D = 1u << 24,
    MAX_1D = (1 << 24) - 1, /* bytes */
    MAX_ROWS = 65535,
    BEFORE_WRAP = 300, /* counters begin there, so that every session sees them wrap */
};

static uint32_t address(const void *p) {
    return (uint32_t)(uintptr_t)p;
}

void htp_dma_init(htp_dma *q, void *ring, uint32_t arch, htp_trace *trace) {
    *q = (htp_dma){.ring = ring, .wide = arch >= 75, .trace = trace};
    q->linked = q->done = q->pushed = q->popped = 0u - BEFORE_WRAP;
    htp_zero(ring, HTP_DMA_RING * 32);
}

/* Whether |n| comes after |done|, however often they have wrapped. */
static int after(uint32_t n, uint32_t done) {
    return NPU_GUARD(DMA_SIGNED_COMPARE) ? (int32_t)(n - done) > 0 : n > done;
}

/* Waits until |n| descriptors in all are done. */
static void wait_done(htp_dma *q, uint32_t n) {
    uint64_t begin = 0;
    while (after(n, q->done) && !q->failed) {
        volatile uint32_t *d = q->ring[q->done % HTP_DMA_RING];
        if (__atomic_load_n(&d[1], __ATOMIC_ACQUIRE) & DONE) {
            q->done++;
            continue;
        }
        if (HTP_TRACED(q->trace) && !begin) begin = htp_trace_time();
        if ((htp_machine_dmpoll() & 3) == 2 && NPU_GUARD(DMA_STATUS)) q->failed = 1;
    }
    if (begin) htp_trace_add(q->trace, NPU_TRACE_DMA_WAIT, begin, 0);
}

/* The next free descriptor, zeroed. One slot stays unused: it is the tail that the next one is linked to. */
static uint32_t *next_descriptor(htp_dma *q) {
    if (NPU_GUARD(DMA_DESCRIPTOR_WAIT)) wait_done(q, q->linked - (HTP_DMA_RING - 2));
    uint32_t *d = q->ring[q->linked % HTP_DMA_RING];
    for (unsigned i = 0; i < 8; i++) d[i] = 0;
    return d;
}

static void link(htp_dma *q, uint32_t *d) {
    if (!q->failed) htp_machine_dmlink(q->ring[(q->linked + HTP_DMA_RING - 1) % HTP_DMA_RING], d);
    q->linked++;
}

static void link_1d(htp_dma *q, uint8_t *to, const uint8_t *from, uint32_t bytes) {
    while (bytes) {
        uint32_t now = bytes < MAX_1D ? bytes : MAX_1D & ~127u, *d = next_descriptor(q);
        d[1] = now | BYPASS;
        d[2] = address(from);
        d[3] = address(to);
        link(q, d);
        to += now, from += now, bytes -= now;
    }
}

static void end_transfer(htp_dma *q) {
    q->ends[q->pushed++ % HTP_DMA_TRANSFERS] = q->linked;
    htp_machine_dma_pushed(HTP_DMA_TRANSFERS);
}

void htp_dma_push(htp_dma *q, void *to, const void *from, uint32_t bytes) {
    q->bytes += bytes;
    link_1d(q, to, from, bytes);
    end_transfer(q);
}

static void link_2d(htp_dma *q, uint8_t *to, const uint8_t *from, uint32_t row_bytes, uint32_t rows, uint32_t to_stride,
                    uint32_t from_stride) {
    uint32_t *d = next_descriptor(q);
    d[2] = address(from);
    d[3] = address(to);
    if (q->wide) {
        d[1] = to_stride | TWO_D | BYPASS;
        d[4] = 9;
        d[5] = row_bytes | (rows & 0xFF) << 24;
        d[6] = rows >> 8 | from_stride << 8;
    } else {
        d[1] = TWO_D | BYPASS;
        d[5] = row_bytes | rows << 16;
        d[6] = from_stride | to_stride << 16;
    }
    link(q, d);
}

void htp_dma_push_2d(htp_dma *q, void *to_, const void *from_, uint32_t row_bytes, uint32_t rows, uint64_t to_stride,
                     uint64_t from_stride) {
    uint8_t *to = to_;
    const uint8_t *from = from_;
    uint64_t most = q->wide ? (1u << 24) - 1 : 65535;
    q->bytes += (uint64_t)row_bytes * rows;
    if (to_stride == row_bytes && from_stride == row_bytes && (uint64_t)row_bytes * rows <= MAX_1D) {
        link_1d(q, to, from, row_bytes * rows);
    } else if (NPU_GUARD(DMA_ROW_LIMIT) && (row_bytes > most || to_stride > most || from_stride > most)) {
        for (uint32_t r = 0; r < rows; r++) link_1d(q, to + r * to_stride, from + r * from_stride, row_bytes);
    } else if (row_bytes) {
        while (rows) {
            uint32_t now = rows < MAX_ROWS ? rows : MAX_ROWS;
            link_2d(q, to, from, row_bytes, now, (uint32_t)to_stride, (uint32_t)from_stride);
            to += now * to_stride, from += now * from_stride, rows -= now;
        }
    }
    end_transfer(q);
}

void htp_dma_pop(htp_dma *q) {
    htp_machine_dma_popped();
    uint32_t end = q->ends[q->popped++ % HTP_DMA_TRANSFERS];
    if (NPU_GUARD(DMA_POP_WAIT)) wait_done(q, end);
}
