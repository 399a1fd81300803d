/* See peak.h: AMX tiles. A thread's tiles are set up here and given back. */
#include <immintrin.h>
#include <string.h>

#include "base/peak/peak.h"
#include "base/peak/tile_config.h"

static void set_up(void) {
    tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    load_tile_config(&c);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
}

static uint64_t give_back(void) {
    uint8_t out[16 * 64];
    uint64_t sum;
    _tile_stored(0, out, 64);
    _tile_release();
    memcpy(&sum, out, sizeof sum);
    return sum;
}

uint64_t npu_peak_int8_amx(uint64_t rounds) {
    set_up();
    for (uint64_t n = 0; n < rounds; n++) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    return give_back();
}

uint64_t npu_peak_bf16_amx(uint64_t rounds) {
    set_up();
    for (uint64_t n = 0; n < rounds; n++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    return give_back();
}
