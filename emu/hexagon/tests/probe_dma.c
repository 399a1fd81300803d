// Checks of the user DMA engine, in the NPU process.
#include "probe_program.h"

#include <string.h>

static uint32_t low32(const void *p) {
    return (uint32_t)(uintptr_t)p;
}

int probe_check_dma_good(void) {
    uint8_t *memory = npu_emu_low_alloc(65536, 4096);
    uint32_t(*ring)[8] = npu_emu_low_alloc(4096, 64);
    uint8_t *src = memory, *dst = memory + 32768;
    CHECK(memory && ring);
    for (int i = 0; i < 32768; i++) src[i] = (uint8_t)(i * 7);
    // 1-D, begun by dmlink on an idle engine behind a zeroed tail.
    memcpy(ring[1], (uint32_t[8]){0, 1000, low32(src), low32(dst)}, 32);
    npu_emu_dmlink(ring[0], ring[1]);
    CHECK(dst[1] == 0 && !(ring[1][1] >> 31)); // nothing moves before the thread looks
    CHECK((npu_emu_dmpoll() & 3) == NPU_EMU_DM0_IDLE && ring[1][1] >> 31);
    CHECK(!memcmp(src, dst, 1000) && dst[1000] == 0);
    // 2-D, type 0, two of them in a chain.
    memcpy(ring[3], (uint32_t[8]){0, 1u << 24, low32(src), low32(dst + 8192), 0, 3u << 16 | 100, 300u << 16 | 200, 0},
           32);
    memcpy(ring[2],
           (uint32_t[8]){low32(ring[3]), 1u << 24, low32(src), low32(dst), 0, 2u << 16 | 64, 64u << 16 | 128, 0}, 32);
    npu_emu_dmstart(ring[2]);
    CHECK((npu_emu_dmwait() & 3) == NPU_EMU_DM0_IDLE && ring[3][1] >> 31);
    CHECK(!memcmp(dst, src, 64) && !memcmp(dst + 64, src + 128, 64));
    for (int row = 0; row < 3; row++) CHECK(!memcmp(dst + 8192 + row * 300, src + row * 200, 100));
    npu_emu_low_free(memory);
    npu_emu_low_free(ring);
    return 0;
}

static int dma_fails(uint32_t *d, uint32_t syndrome) {
    npu_emu_dmstart(d);
    if ((npu_emu_dmwait() & 3) != NPU_EMU_DM0_ERROR || (npu_emu_dmcfgrd(4) >> 8 & 0xFF) != syndrome) return 0;
    return !(d[1] >> 31) || (uintptr_t)d % 16;
}

int probe_check_dma_bad(void) {
    uint8_t *memory = npu_emu_low_alloc(65536, 4096);
    uint32_t(*ring)[8] = npu_emu_low_alloc(4096, 64);
    uint32_t a = low32(memory);
    CHECK(memory && ring);
    memcpy(ring[0] + 1, (uint32_t[4]){0, 16, a, a + 64}, 16);
    CHECK(dma_fails(ring[0] + 1, 1)); // alignment
    memcpy(ring[1], (uint32_t[8]){0, 1u << 24, a, a + 4096, 5, 0, 0, 0}, 32);
    CHECK(dma_fails(ring[1], 2)); // type
    memcpy(ring[2], (uint32_t[8]){0, 1u << 24 | 64, a, a + 4096, 9, 2u << 24 | 64, 64u << 8, 0}, 32);
    CHECK(npu_emu_arch() >= 75 || dma_fails(ring[2], 2)); // type 9 before v75
    memcpy(ring[3], (uint32_t[8]){0, 1u << 24 | 64, a, a + 4096, 10, 2u << 24 | 64, 64u << 8, 0}, 32);
    CHECK(npu_emu_arch() >= 81 || dma_fails(ring[3], 2)); // type 10 before v81
    memcpy(ring[4], (uint32_t[4]){0, 16, 0x20000000, a}, 16);
    CHECK(dma_fails(ring[4], 3)); // a hole of the window
    memcpy(ring[5], (uint32_t[4]){0, 0, a, a + 64}, 16);
    CHECK(dma_fails(ring[5], 6)); // nothing to move
    npu_emu_dmstart(NULL);
    npu_emu_low_free(memory);
    npu_emu_low_free(ring);
    return 0;
}

int probe_check_dma_type_9(void) {
    uint8_t *memory = npu_emu_low_alloc(65536, 4096);
    uint32_t *d = npu_emu_low_alloc(4096, 64);
    CHECK(memory && d);
    for (int i = 0; i < 32768; i++) memory[i] = (uint8_t)(i * 5);
    memcpy(d, (uint32_t[8]){0, 1u << 24 | 96, low32(memory), low32(memory + 32768), 9, 3u << 24 | 64, 80u << 8, 0}, 32);
    npu_emu_dmstart(d);
    CHECK((npu_emu_dmwait() & 3) == NPU_EMU_DM0_IDLE && d[1] >> 31);
    for (int row = 0; row < 3; row++) CHECK(!memcmp(memory + 32768 + row * 96, memory + row * 80, 64));
    npu_emu_low_free(memory);
    npu_emu_low_free(d);
    return 0;
}

// Copies 4096 bytes from an extended mapping of buffer |fd| to low memory and back behind them.
int probe_check_extended(uint32_t fd) {
    HAP_mem_request_payload map = {HAP_MEM_MAP,
                                   {{.len = 8192, .prot = 3, .flags = HAP_MEM_FLAGS_EXTENDED_MAP, .fd = (int)fd}}};
    HAP_mem_request_payload unmap = {HAP_MEM_UNMAP, {{0}}};
    uint8_t *memory = npu_emu_low_alloc(4096, 4096);
    uint32_t *d = npu_emu_low_alloc(4096, 64), high, low;
    CHECK(memory && d && !HAP_mem_request(&map) && map.mmap.dsp_va >> 32);
    high = (uint32_t)(map.mmap.dsp_va >> 32);
    low = (uint32_t)map.mmap.dsp_va;
    memcpy(d,
           (uint32_t[8]){low32(d + 8), 1u << 24 | 1024, low, low32(memory), 10 | high << 8, 4u << 24 | 1024, 1024u << 8,
                         0},
           32);
    memcpy(
        d + 8,
        (uint32_t[8]){0, 1u << 24 | 1024, low32(memory), low + 4096, 10 | high << 16, 4u << 24 | 1024, 1024u << 8, 0},
        32);
    npu_emu_dmstart(d);
    CHECK((npu_emu_dmwait() & 3) == NPU_EMU_DM0_IDLE);
    CHECK(memory[0] == 11 && memory[4095] == 12);
    unmap.munmap.dsp_va = map.mmap.dsp_va;
    unmap.munmap.len = 8192;
    CHECK(!HAP_mem_request(&unmap) && HAP_mem_request(&unmap));
    npu_emu_low_free(memory);
    npu_emu_low_free(d);
    return 0;
}
