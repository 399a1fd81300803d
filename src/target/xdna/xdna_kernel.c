#include "target/xdna/xdna_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "target/xdna/xdna_chip.h"

#define DESCRIPTION   "npu-emu-kernel 1\n"
#define MAX_TEXT      4096
#define FIRST_STREAM  2u /* a stream's header has the generation and this */
#define OP_DDR_PATCH  0x81u
#define SHIM_BD_WORDS 0x1D004u /* register that gets the low half of an address, of the first buffer descriptor */

void npu__xdna_stream(uint32_t generation, uint32_t columns, uint32_t words[NPU_XDNA_STREAM_WORDS]) {
    memset(words, 0, NPU_XDNA_STREAM_WORDS * sizeof *words);
    words[0] = 0x06000100u | (generation + FIRST_STREAM) << 16;
    words[1] = columns | 1 << 8;
    words[2] = 3;
    words[3] = NPU_XDNA_STREAM_WORDS * 4;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *op = words + 4 + 12 * (size_t)i;
        op[0] = OP_DDR_PATCH;
        op[1] = 48;
        op[6] = SHIM_BD_WORDS + 0x20 * i;
        op[8] = i;
    }
}

static bool is_description(const npu_xdna_kernel *k) {
    size_t n = strlen(DESCRIPTION);
    return k->image_bytes > n && !memcmp(k->image, DESCRIPTION, n);
}

/* The value of a line "key value" in the text; NULL when there is none. */
static const char *value_of(const char *text, const char *key) {
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, n) && line[n] == ' ') return line + n + 1;
    }
    return NULL;
}

/* Only what a context needs to know; the device reads the rest. */
static npu_status read_description(const npu_xdna_kernel *k, npu_xdna_image *out, npu_error *err) {
    char text[MAX_TEXT + 1];
    if (k->image_bytes > MAX_TEXT || memchr(k->image, 0, k->image_bytes))
        return npu_fail(err, NPU_INVALID, "xdna.bad_description",
                        "kernel %s: no usable description: longer than %d bytes or with a zero byte", k->name,
                        MAX_TEXT);
    memcpy(text, k->image, k->image_bytes);
    text[k->image_bytes] = 0;
    const char *columns = value_of(text, "columns"), *generation = value_of(text, "generation");
    unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;
    if (n < 1 || n > 8)
        return npu_fail(err, NPU_INVALID, "xdna.bad_description",
                        "kernel %s: no usable description: columns must be 1 to 8", k->name);
    *out = (npu_xdna_image){.pdi = k->image, .pdi_bytes = k->image_bytes, .columns = (uint32_t)n, .emulated = true};
    if (generation && !strncmp(generation, "xdna", 4)) out->generation = (uint32_t)strtoul(generation + 4, NULL, 10);
    return NPU_OK;
}

/* The stream's own size must be what there is of it; its generation is told by its header. */
static npu_status check_stream(const npu_xdna_kernel *k, npu_xdna_image *out, npu_error *err) {
    uint8_t header[16];
    if (!k->insts)
        return npu_fail(err, NPU_INVALID, "xdna.bad_xclbin", "kernel %s: an xclbin needs its instructions", k->name);
    if (k->insts_bytes < sizeof header || k->insts_bytes % 4 || k->insts_bytes > UINT32_MAX)
        return npu_fail(err, NPU_INVALID, "xdna.bad_xclbin", "kernel %s: %zu bytes are no instruction stream", k->name,
                        k->insts_bytes);
    memcpy(header, k->insts, sizeof header);
    uint32_t bytes =
        (uint32_t)header[12] | (uint32_t)header[13] << 8 | (uint32_t)header[14] << 16 | (uint32_t)header[15] << 24;
    if (bytes != k->insts_bytes || header[2] < FIRST_STREAM || !npu_xdna_chip_numbered(header[2] - FIRST_STREAM))
        return npu_fail(err, NPU_INVALID, "xdna.bad_xclbin",
                        "kernel %s: the instruction stream says %u bytes for device generation %u; it has %zu bytes",
                        k->name, bytes, header[2], k->insts_bytes);
    out->generation = header[2] - FIRST_STREAM;
    return NPU_OK;
}

npu_status npu__xdna_image_read(const npu_xdna_kernel *k, npu_xdna_image *out, npu_error *err) {
    if (is_description(k)) {
        if (!k->insts) return read_description(k, out, err);
        return npu_fail(err, NPU_INVALID, "xdna.bad_description", "kernel %s: a description takes no instructions",
                        k->name);
    }
    NPU_TRY(npu__xdna_xclbin_read(k->name, k->image, k->image_bytes, out, err));
    return check_stream(k, out, err);
}

npu_status npu_xdna_kernel_check(const npu_xdna_kernel *kernel, uint32_t *columns, bool *emulated, npu_error *err) {
    npu_xdna_image image;
    NPU_TRY(npu__xdna_image_read(kernel, &image, err));
    *columns = image.columns;
    *emulated = image.emulated;
    return NPU_OK;
}
