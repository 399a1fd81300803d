/* The DMA queue of one thread: a strict FIFO of transfers between DDR and VTCM (or scratch).
 *
 * Every push has its pop, in the same order; a pop waits until that transfer has arrived. A transfer may need several
 * descriptors (old chips have 16-bit strides): the queue hides that, so pairing never depends on sizes. Single owner,
 * no locks. An engine error is sticky: pops return at once and the op ends with DMA_FAILED.
 */
#ifndef HTP_DMA_H
#define HTP_DMA_H

#include <stdint.h>

#include "htp/trace.h"

enum { HTP_DMA_RING = 256, HTP_DMA_TRANSFERS = 256 };

typedef struct htp_dma {
    uint32_t (*ring)[8];              /* descriptors, 32 bytes each */
    uint32_t linked, done;            /* descriptors so far */
    uint32_t ends[HTP_DMA_TRANSFERS]; /* |linked| after each transfer */
    uint32_t pushed, popped;          /* transfers so far */
    uint32_t wide;                    /* type 9 descriptors: 24-bit strides */
    uint32_t failed;
    uint64_t bytes;   /* pushed so far */
    htp_trace *trace; /* of the thread; NULL = off */
} htp_dma;

/* |ring|: HTP_DMA_RING * 32 bytes from htp_alloc. */
void htp_dma_init(htp_dma *q, void *ring, uint32_t arch, htp_trace *trace);

void htp_dma_push(htp_dma *q, void *to, const void *from, uint32_t bytes);
void htp_dma_push_2d(htp_dma *q, void *to, const void *from, uint32_t row_bytes, uint32_t rows, uint64_t to_stride,
                     uint64_t from_stride);
void htp_dma_pop(htp_dma *q);

#endif
