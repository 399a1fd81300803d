// Kernel descriptions and instruction streams: what a command is made of, checked like the untrusted input it is.
#include "device.h"
#include "numbers.h"

#include <string.h>

#define MAX_TEXT 4096u

enum { KIND = 1, SHAPE = 2, LAYOUT = 4, MICRO = 8, CORE = 16, COLUMNS = 32, GENERATION = 64 };

static bool read_kind(const char *v, struct emu_kernel *k) {
    k->kind = strcmp(v, "gemv_q4_1") ? EMU_KERNEL_INT8 : EMU_KERNEL_GEMV_Q4_1;
    return k->kind == EMU_KERNEL_GEMV_Q4_1 || !strcmp(v, "int8") || !strcmp(v, "head");
}

static bool read_shape(const char *v, struct emu_kernel *k) {
    uint32_t n[3];
    if (!emu_numbers(v, ' ', n, 3)) return false;
    k->layout.m = n[0], k->layout.k = n[1], k->layout.n = n[2];
    return true;
}

static bool read_layout(const char *v, struct emu_kernel *k) {
    k->layout.tiled = !strcmp(v, "tiles");
    return k->layout.tiled || !strcmp(v, "rows");
}

static bool read_micro(const char *v, struct emu_kernel *k) {
    uint32_t n[3];
    if (!emu_numbers(v, ' ', n, 3)) return false;
    k->layout.r = n[0], k->layout.s = n[1], k->layout.t = n[2];
    return true;
}

static bool read_core(const char *v, struct emu_kernel *k) {
    uint32_t n[2];
    if (!emu_numbers(v, ' ', n, 2)) return false;
    k->layout.kt = n[0], k->layout.nt = n[1];
    return true;
}

static bool read_columns(const char *v, struct emu_kernel *k) {
    return emu_numbers(v, 0, &k->columns, 1) && k->columns >= 1 && k->columns <= 8;
}

static bool read_generation(const char *v, struct emu_kernel *k) {
    k->generation = !strcmp(v, "xdna1") ? 1 : !strcmp(v, "xdna2") ? 2 : 0;
    return k->generation != 0;
}

static const struct {
    const char *key;
    unsigned bit;
    bool (*read)(const char *value, struct emu_kernel *k);
} keys[] = {
    {"kind ", KIND, read_kind},
    {"shape ", SHAPE, read_shape},
    {"layout ", LAYOUT, read_layout},
    {"micro ", MICRO, read_micro},
    {"core ", CORE, read_core},
    {"columns ", COLUMNS, read_columns},
    {"generation ", GENERATION, read_generation},
};

static bool read_line(const char *line, struct emu_kernel *k, unsigned *seen) {
    if (!*line || *line == '#') return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = strlen(keys[i].key);
        if (strncmp(line, keys[i].key, n)) continue;
        if (*seen & keys[i].bit) return false;
        *seen |= keys[i].bit;
        return keys[i].read(line + n, k);
    }
    return false;
}

static bool complete(const struct emu_kernel *k, unsigned seen) {
    const unsigned always = KIND | SHAPE | COLUMNS;
    if ((seen & always) != always || !npu_xdna_layout_ok(&k->layout)) return false;
    if (k->kind == EMU_KERNEL_GEMV_Q4_1)
        return !(seen & (LAYOUT | MICRO | CORE)) && !(k->layout.n % 32) && !(k->layout.k % 256);
    bool tiles = k->layout.tiled;
    return (seen & LAYOUT) && tiles == !!(seen & MICRO) && tiles == !!(seen & CORE);
}

// A buffer is whole pages: the text ends at its first zero byte.
bool emu_kernel_read(const uint8_t *text, size_t bytes, struct emu_kernel *out) {
    char copy[MAX_TEXT + 1], *rest = copy, *line;
    unsigned seen = 0;
    size_t n = strnlen((const char *)text, bytes < MAX_TEXT ? bytes : MAX_TEXT);
    memcpy(copy, text, n);
    copy[n] = 0;
    *out = (struct emu_kernel){0};
    line = strsep(&rest, "\n");
    if (strcmp(line, "npu-emu-kernel 1")) return false;
    while ((line = strsep(&rest, "\n")))
        if (!read_line(line, out, &seen)) return false;
    return complete(out, seen);
}

void emu_kernel_bytes(const struct emu_kernel *k, uint64_t bytes[3]) {
    const npu_xdna_layout *l = &k->layout;
    bool gemv = k->kind == EMU_KERNEL_GEMV_Q4_1;
    bytes[0] = gemv ? 4 * (uint64_t)l->m * l->k : npu_xdna_a_bytes(l);
    bytes[1] = gemv ? (uint64_t)(l->n / 32) * (l->k / 256) * 5120 : npu_xdna_b_bytes(l);
    bytes[2] = npu_xdna_c_bytes(l);
}

// Words of an operation, 0 for one that is not known or can't be.
static uint64_t op_words(const uint32_t *w, uint64_t left) {
    uint32_t op = w[0] & 0xFF, bytes;
    switch (op) {
    case 0: // WRITE
        bytes = 24;
        break;
    case 1: // BLOCKWRITE
        bytes = left > 3 ? w[3] : 0;
        break;
    case 3: // MASKWRITE
        bytes = 28;
        break;
    case 5: // NOOP
        bytes = 4;
        break;
    case 0x80: // TCT
    case 0x81: // DDR_PATCH
        bytes = left > 1 ? w[1] : 0;
        break;
    default:
        bytes = 0;
    }
    return bytes % 4 ? 0 : bytes / 4;
}

enum emu_stream emu_stream_check(const uint8_t *insts, uint64_t bytes, uint32_t generation, uint32_t n_args) {
    const uint32_t *words = (const uint32_t *)(const void *)insts;
    if (bytes < 16 || (uintptr_t)insts % 4) return EMU_STREAM_BAD;
    uint64_t total = words[3] / 4, at = 4;
    if (words[3] % 4 || total < 4 || words[3] > bytes || (words[0] & 0xFFFF) != 0x0100) return EMU_STREAM_BAD;
    if ((words[0] >> 16 & 0xFF) != generation + 2) return EMU_STREAM_OTHER_DEVICE;
    for (uint32_t i = 0; i < words[2]; i++) {
        if (at >= total) return EMU_STREAM_BAD;
        uint64_t n = op_words(words + at, total - at);
        if (!n || n > total - at) return EMU_STREAM_BAD;
        if ((words[at] & 0xFF) == 0x81 && (n < 12 || words[at + 8] >= n_args)) return EMU_STREAM_BAD;
        at += n;
    }
    return at == total ? EMU_STREAM_OK : EMU_STREAM_BAD;
}
