// Answers about the device. A buffer that is too short gets as much as fits.
#include "emu_xdna.h"

#include <errno.h>
#include <string.h>

// DRM copies a text up to the length given, and tells the length it has.
static void copy_text(const char *text, uint64_t to, uint64_t *bytes) {
    size_t length = strlen(text);
    if (to && *bytes) memcpy((void *)(uintptr_t)to, text, *bytes < length ? *bytes : length);
    *bytes = length;
}

int emu_info_version(struct emu_file *f, struct amdxdna_drm_version *v) {
    v->major = f->foreign ? 1 : f->settings.profile->major;
    v->minor = f->foreign ? 0 : f->settings.profile->minor;
    v->patch = 0;
    copy_text(f->foreign ? "other_accel" : AMDXDNA_DRIVER_NAME, v->name, &v->name_bytes);
    copy_text("20260101", v->date, &v->date_bytes);
    copy_text("emulated device", v->text, &v->text_bytes);
    return 0;
}

static void answer(struct amdxdna_get_info *g, const void *data, uint32_t bytes) {
    if (g->bytes > bytes) g->bytes = bytes;
    memcpy((void *)(uintptr_t)g->buffer, data, g->bytes);
}

int emu_info_get(struct emu_file *f, struct amdxdna_get_info *g) {
    const struct amdxdna_aie_metadata metadata = {.col_size = 0x2000000,
                                                  .cols = (uint16_t)f->settings.generation->columns,
                                                  .rows = 6,
                                                  .major = f->settings.generation->number,
                                                  .core = {.row_count = 4, .row_start = 2, .dma_channels = 2},
                                                  .mem = {.row_count = 1, .row_start = 1, .dma_channels = 6},
                                                  .shim = {.row_count = 1, .row_start = 0, .dma_channels = 2}};
    if (!g->buffer) return EFAULT;
    switch (g->param) {
    case AMDXDNA_INFO_AIE_METADATA:
        answer(g, &metadata, sizeof metadata);
        return 0;
    case AMDXDNA_INFO_FIRMWARE:
        answer(g, &f->settings.firmware, sizeof f->settings.firmware);
        return 0;
    default:
        return EOPNOTSUPP;
    }
}
