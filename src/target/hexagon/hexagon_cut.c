#include "target/hexagon/hexagon_cut.h"

#include "target/hexagon/hexagon_hazard.h"
#include "wire/op_check.h"

uint32_t npu_hex_cut_lines(uint64_t step_bytes) {
    uint32_t n = 1;
    while (n < NPU_HEX_LINE && n * step_bytes % NPU_HEX_LINE) n *= 2;
    return n;
}

void npu_hex_cut_pieces(uint32_t pieces, uint32_t each, uint32_t all, uint32_t n, uint32_t cuts[NPU_HEX_DEVICES + 1]) {
    uint32_t share = (pieces + n - 1) / n;
    for (uint32_t d = 0; d <= n; d++) {
        uint64_t at = (uint64_t)d * share * each;
        cuts[d] = at < all ? (uint32_t)at : all;
    }
    cuts[n] = all;
}

/* Each dimension lies within one step of the next: no two coordinates share bytes, and pieces of |dim| do not
 * interleave with anything but the steps above it. */
static bool in_order(const npu_tensor *t, uint32_t values, uint32_t unit_bytes) {
    uint64_t reach = (uint64_t)(t->ne[0] / values) * unit_bytes;
    if (t->nb[0] != unit_bytes || t->ne[0] % values) return false;
    for (unsigned k = 1; k < NPU_MAX_DIMS; k++) {
        if (t->ne[k] == 1) continue;
        if (t->nb[k] < reach) return false;
        reach = t->nb[k] * t->ne[k];
    }
    return true;
}

bool npu_hex_cut(const npu_tensor *t, unsigned dim, uint32_t unit, uint32_t n, uint32_t cuts[NPU_HEX_DEVICES + 1]) {
    uint32_t values, unit_bytes = npu_tensor_unit(t, &values), block = dim ? 1 : values;
    bool safe = t->layout == NPU_LAYOUT_GGUF && t->offset % NPU_HEX_LINE == 0 && unit % block == 0 &&
                in_order(t, values, unit_bytes) && t->ne[dim] <= UINT32_MAX / 2 &&
                unit <= UINT32_MAX / NPU_HEX_LINE / 2;
    for (unsigned k = dim + 1; k < NPU_MAX_DIMS; k++) safe = safe && (t->ne[k] == 1 || t->nb[k] % NPU_HEX_LINE == 0);
    uint32_t each = safe ? unit * npu_hex_cut_lines(unit / block * t->nb[dim]) : 1;
    uint32_t pieces = safe ? (t->ne[dim] + each - 1) / each : 1;
    if (pieces < 2 || n < 2) {
        npu_hex_cut_pieces(1, t->ne[dim], t->ne[dim], n, cuts);
        return false;
    }
    npu_hex_cut_pieces(pieces, each, t->ne[dim], n, cuts);
    return true;
}
