// Builds a small xclbin (one DPU kernel, one PDI) and an instruction stream, for tests. The offsets are those of the
// public format; fields that nobody reads stay zero.
#pragma once
#include <stdint.h>
#include <string.h>

#define XCLBIN_IP        (456 + 2 * 40)        // section IP_LAYOUT: two entries
#define XCLBIN_PARTITION (XCLBIN_IP + 8 + 160) // section AIE_PARTITION
#define XCLBIN_PDI       (XCLBIN_PARTITION + 184)
#define XCLBIN_GROUP     (XCLBIN_PDI + 96)
#define XCLBIN_IDS       (XCLBIN_GROUP + 96)
#define XCLBIN_IMAGE     (XCLBIN_IDS + 16)

static inline void xclbin_put(uint8_t *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static inline void xclbin_section(uint8_t *row, uint32_t kind, uint64_t offset, uint64_t bytes) {
    xclbin_put(row, kind, 4);
    xclbin_put(row + 24, offset, 8);
    xclbin_put(row + 32, bytes, 8);
}

// Into |out|, which has room for XCLBIN_IMAGE + |pdi_bytes|; returns how many bytes that were.
static inline size_t xclbin_build(uint8_t *out, const void *pdi, size_t pdi_bytes, unsigned columns) {
    const size_t total = XCLBIN_IMAGE + pdi_bytes;
    memset(out, 0, total);
    memcpy(out, "xclbin2", 8);
    xclbin_put(out + 304, total, 8);
    xclbin_put(out + 304 + 144, 2, 4);
    xclbin_section(out + 456, 8, XCLBIN_IP, 8 + 160);
    xclbin_section(out + 456 + 40, 32, XCLBIN_PARTITION, total - XCLBIN_PARTITION);
    xclbin_put(out + XCLBIN_IP, 2, 4);
    xclbin_put(out + XCLBIN_IP + 8, 1, 4);                            // another kind of entry
    xclbin_put(out + XCLBIN_IP + 88, 7, 4);                           // a kernel …
    xclbin_put(out + XCLBIN_IP + 92, 1 | 2 << 4 | 0x901ull << 16, 4); // … of the array, functional 2
    xclbin_put(out + XCLBIN_PARTITION + 8, 2048, 4);                  // operations per cycle
    xclbin_put(out + XCLBIN_PARTITION + 32, columns, 2);
    xclbin_put(out + XCLBIN_PARTITION + 120, 1, 4);
    xclbin_put(out + XCLBIN_PARTITION + 124, XCLBIN_PDI - XCLBIN_PARTITION, 4);
    xclbin_put(out + XCLBIN_PDI + 16, pdi_bytes, 4);
    xclbin_put(out + XCLBIN_PDI + 20, XCLBIN_IMAGE - XCLBIN_PARTITION, 4);
    xclbin_put(out + XCLBIN_PDI + 24, 1, 4);
    xclbin_put(out + XCLBIN_PDI + 28, XCLBIN_GROUP - XCLBIN_PARTITION, 4);
    xclbin_put(out + XCLBIN_GROUP + 16, 2, 4);
    xclbin_put(out + XCLBIN_GROUP + 20, XCLBIN_IDS - XCLBIN_PARTITION, 4);
    xclbin_put(out + XCLBIN_IDS, 0x700, 8);
    xclbin_put(out + XCLBIN_IDS + 8, 0x901, 8);
    memcpy(out + XCLBIN_IMAGE, pdi, pdi_bytes);
    return total;
}

// A stream that patches the addresses of three arguments in: 160 bytes.
static inline size_t xclbin_stream(uint8_t *out, unsigned generation) {
    memset(out, 0, 160);
    xclbin_put(out, 0x06000100u | (generation + 2) << 16, 4);
    xclbin_put(out + 4, 8 | 1 << 8, 4);
    xclbin_put(out + 8, 3, 4);
    xclbin_put(out + 12, 160, 4);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *op = out + 16 + 48 * (size_t)i;
        xclbin_put(op, 0x81, 4);
        xclbin_put(op + 4, 48, 4);
        xclbin_put(op + 24, 0x1D004 + 0x20 * i, 4);
        xclbin_put(op + 32, i, 4);
    }
    return 160;
}
