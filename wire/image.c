/* The table of weight images, from npu_images.def, and where an image's planes are. */
#include "wire/image.h"

#include <stddef.h>

#include "wire/format.h"

static const npu_image_format images[NPU_IMAGE_COUNT] = {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) \
    {NPU_TYPE_##NAME, low, high, NPU_IMAGE_TABLE_##table, offset, NPU_IMAGE_SCALE_##scale, min, bias},
#include "wire/npu_images.def"
};

const npu_image_format *npu_image_format_of(uint32_t type) {
    for (uint32_t i = 0; i < NPU_IMAGE_COUNT; i++)
        if (images[i].type == type) return &images[i];
    return NULL;
}

uint32_t npu_image_index(const npu_image_format *f) {
    return (uint32_t)(f - images);
}

int npu_image_fits(const npu_image_format *f, uint32_t k) {
    return k && k <= NPU_IMAGE_MAX_K && k % npu_format_of(f->type)->block_values == 0;
}

uint32_t npu_image_vectors(const npu_image_format *f, npu_image_plane plane, uint32_t k) {
    uint32_t tiles = k / NPU_TILE_K, sub = f->scale >= NPU_IMAGE_SCALE_SUB32;
    switch (plane) {
    case NPU_IMAGE_LOW:
        return tiles * f->low;
    case NPU_IMAGE_HIGH:
        return tiles * f->high;
    case NPU_IMAGE_MINIMA: /* SUB16 has them in the scales' bytes */
        if (!f->has_min || f->scale == NPU_IMAGE_SCALE_SUB16) return 0;
        return npu_image_vectors(f, NPU_IMAGE_SCALES, k);
    case NPU_IMAGE_SCALES:
        return f->scale == NPU_IMAGE_SCALE_SUB32 ? tiles / 4 : (tiles + 1) / 2;
    default:
        return sub ? tiles / 8 : 0;
    }
}

uint32_t npu_image_plane_at(const npu_image_format *f, npu_image_plane plane, uint32_t k) {
    uint32_t vectors = 0;
    for (uint32_t p = 0; p < plane; p++) vectors += npu_image_vectors(f, (npu_image_plane)p, k);
    return vectors * NPU_VECTOR_BYTES;
}

uint32_t npu_image_row_tile_bytes(const npu_image_format *f, uint32_t k) {
    return npu_image_plane_at(f, NPU_IMAGE_PLANES, k);
}

uint32_t npu_image_slice_unit(const npu_image_format *f) {
    return NPU_TILE_K * (f->scale >= NPU_IMAGE_SCALE_SUB32 ? 8 : 2);
}

bool npu_image_is_slice(const npu_image_format *f, uint64_t first, uint32_t k, uint64_t whole) {
    uint32_t unit = npu_image_slice_unit(f);
    return whole <= NPU_IMAGE_MAX_K && npu_image_fits(f, (uint32_t)whole) && k && k <= whole && first <= whole - k &&
           first % unit == 0 && (k % unit == 0 || first + k == whole);
}
