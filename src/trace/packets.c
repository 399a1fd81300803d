#include "trace/packets.h"

#include <string.h>
#include <zlib.h>

/* Fields of the messages, and their kind. */
enum { TRACE_PACKET = 1, PACKET_COMPRESSED = 50, BYTES = 2 };

/* The fastest: the thread that writes a trace is the one that is traced. It makes a seventh of a long trace. */
enum { LEVEL = Z_BEST_SPEED };

uint32_t npu_packets_varint(uint8_t out[10], uint64_t v) {
    uint32_t n = 0;
    do {
        out[n] = (uint8_t)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
        v >>= 7;
    } while (out[n++] & 0x80);
    return n;
}

static void write_packed(const npu_packets *p, uint32_t n) {
    uint8_t inner[20], outer[20];
    uint32_t inner_bytes = npu_packets_varint(inner, PACKET_COMPRESSED << 3 | BYTES);
    inner_bytes += npu_packets_varint(inner + inner_bytes, n);
    uint32_t outer_bytes = npu_packets_varint(outer, TRACE_PACKET << 3 | BYTES);
    outer_bytes += npu_packets_varint(outer + outer_bytes, inner_bytes + n);
    (void)fwrite(outer, 1, outer_bytes, p->file);
    (void)fwrite(inner, 1, inner_bytes, p->file);
    (void)fwrite(p->packed, 1, n, p->file);
}

void npu_packets_flush(npu_packets *p) {
    uLongf n = sizeof p->packed;
    if (p->used && compress2(p->packed, &n, p->bytes, p->used, LEVEL) == Z_OK && n < p->used)
        write_packed(p, (uint32_t)n);
    else /* no memory for that, or nothing in it repeats */
        (void)fwrite(p->bytes, 1, p->used, p->file);
    p->used = 0;
}

void npu_packets_add(npu_packets *p, const void *packet, uint32_t bytes) {
    if (bytes > NPU_PACKETS_ROOM - p->used) npu_packets_flush(p);
    memcpy(p->bytes + p->used, packet, bytes);
    p->used += bytes;
}
