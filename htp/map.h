/* Host buffers in the NPU's 32-bit window: fd -> address, mapped on first use.
 *
 * Steps use the same weights in the same order again and again, so that the one used last is the one that is not needed
 * for longest: it goes first, and what was there before stays (least recent use would keep nothing). One that was not
 * used for very long is not part of that order any more and goes before these.
 *
 * A batch takes all its buffers at once; only mappings that it does not use may go, weights before pinned ones. What
 * does not fit, or can't be mapped after everything else has gone, is a failure of the batch, never of the program. The
 * RPC thread may take a buffer away (munmap) at any time: it waits for a batch that uses it.
 */
#ifndef HTP_MAP_H
#define HTP_MAP_H

#include <stdint.h>

#include "htp/platform/qurt.h"
#include "wire/message.h"

typedef struct htp_mapping {
    uint8_t *address; /* NULL = free entry */
    uint64_t bytes;
    uint64_t last_use;
    int32_t fd;
    uint8_t in_use, pinned;
} htp_mapping;

typedef struct htp_map {
    qurt_mutex_t lock;
    qurt_cond_t released;
    uint64_t window_bytes, mapped_bytes, uses;
    uint64_t ever_mapped_bytes; /* by the thread that runs batches */
    uint64_t most_bytes;        /* that were mapped at once */
    uint32_t mapped, most;      /* mappings, and as many as there were at once */
    uint32_t arch;
    htp_mapping entries[2 * NPU_WIRE_MAX_BUFFERS];
} htp_map;

void htp_map_init(htp_map *map, uint64_t window_bytes, uint32_t arch);
void htp_map_close(htp_map *map); /* unmaps all */

/* Maps |n| buffers and gives their addresses; they stay until htp_map_release. Returns NPU_WIRE_OK, or with the index
 * of the buffer MAP_FAILED, MAP_KEPT when as much was mapped before: some devices give address space back only when a
 * buffer is freed, and there nothing can slide. */
uint32_t htp_map_take(htp_map *map, const npu_wire_buffer *buffers, uint32_t n, uint8_t **addresses, uint32_t *index);
void htp_map_release(htp_map *map);

void htp_map_drop(htp_map *map, int32_t fd);

/* A mapping that its owner keeps, outside of any window budget. NULL when it can't be had. */
void *htp_map_raw(uint32_t arch, int32_t fd, uint64_t bytes);
void htp_unmap_raw(uint32_t arch, void *address, uint64_t bytes);

#endif
