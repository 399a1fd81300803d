/* The table of weight images. A new format that fits the planes of image.h is a row here and an unpacker on the host.
 */
#include "wire/image.h"

#include <stddef.h>

#include "wire/format.h"

static const npu_image_format images[] = {
    {NPU_TYPE_Q4_0, 4, 8, 0},
    {NPU_TYPE_Q4_1, 4, 0, 1},
    {NPU_TYPE_Q8_0, 8, 128, 0},
};

const npu_image_format *npu_image_format_of(uint32_t type) {
    for (uint32_t i = 0; i < sizeof images / sizeof images[0]; i++)
        if (images[i].type == type) return &images[i];
    return NULL;
}
