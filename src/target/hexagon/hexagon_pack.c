/* One weight as it lies on the device, made by all threads: an image, or the file's bytes where the kernels read those.
 */
#include <string.h>

#include "base/cpu.h"
#include "target/hexagon/hexagon_internal.h"

typedef struct packing {
    npu_hex_row_tile_fn *const *row_tiles;
    const npu_weight *w;
    const npu_image_format *image; /* NULL: a copy */
    uint8_t *out;
} packing;

static void pack_part(void *context, unsigned ith, unsigned nth) {
    const packing *p = context;
    const npu_weight *w = p->w;
    if (!p->image) {
        uint64_t first = w->bytes / nth * ith, end = ith + 1 == nth ? w->bytes : w->bytes / nth * (ith + 1);
        memcpy(p->out + first, (const uint8_t *)w->data + first, end - first);
        return;
    }
    uint32_t tiles = (w->ne[1] + NPU_TILE_ROWS - 1) / NPU_TILE_ROWS, first = (uint32_t)((uint64_t)tiles * ith / nth);
    uint32_t end = (uint32_t)((uint64_t)tiles * (ith + 1) / nth);
    npu_hex_repack(p->row_tiles, p->image, w->data, w->nb[1], w->ne[0], w->ne[1], first, end - first, p->out);
}

void npu_hex_pack(npu_pool *pool, npu_hex_row_tile_fn *const *row_tiles, const npu_weight *w, const npu_tensor *as,
                  uint8_t *out) {
    packing p = {row_tiles, w, as->layout == NPU_LAYOUT_TILES ? npu_image_format_of(w->type) : NULL, out};
    npu_pool_run(pool, pack_part, &p);
}

npu_status npu_hex_pack_alone(const npu_target_params *params, npu_pool *pool, const npu_weight *w, uint8_t *out,
                              npu_error *err) {
    npu_tensor t = {.type = w->type};
    uint32_t features;
    NPU_TRY(npu_cpu_level(params->cpu_level, &features, err));
    memcpy(t.ne, w->ne, sizeof t.ne);
    npu_hex_weight_layout(&t);
    npu_hex_pack(pool, npu_hex_row_tiles(features), w, &t, out);
    return NPU_OK;
}
