/* Packets of a trace on their way to its file: gathered and compressed together, as they are much alike. A reader takes
 * a packet whose only field is such a piece for the packets in it. Called by perfetto.c and trace.c. */
#ifndef NPU_TRACE_PACKETS_H
#define NPU_TRACE_PACKETS_H

#include <stdint.h>
#include <stdio.h>

enum { NPU_PACKETS_ROOM = 64 << 10 };

/* Begins with its file, and zeroes. */
typedef struct npu_packets {
    FILE *file;
    uint32_t used;
    uint8_t bytes[NPU_PACKETS_ROOM];
    uint8_t packed[NPU_PACKETS_ROOM];
} npu_packets;

/* A whole packet with its field number and length, of at most NPU_PACKETS_ROOM bytes. It is in the file after a later
 * call, or after npu_packets_flush. A failure to write stays in the file (ferror). */
void npu_packets_add(npu_packets *packets, const void *packet, uint32_t bytes);
void npu_packets_flush(npu_packets *packets);

/* Protobuf's form of a number; returns its bytes. */
uint32_t npu_packets_varint(uint8_t out[10], uint64_t v);

#endif
