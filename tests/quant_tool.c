/* Unpacks or packs raw rows: what tests/quant_vs_gguf.py compares with the gguf Python package.
 *   quant_tool unpack TYPE < blocks > floats        quant_tool pack TYPE < floats > blocks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant/quant.h"

static size_t read_all(FILE *in, unsigned char **out) {
    size_t room = 1 << 16, used = 0, n;
    unsigned char *data = malloc(room);
    while (data && (n = fread(data + used, 1, room - used, in)) > 0) {
        used += n;
        if (used == room) data = realloc(data, room *= 2);
    }
    *out = data;
    return used;
}

int main(int argc, char **argv) {
    const npu_format *format = argc == 3 ? npu_format_named(argv[2]) : NULL;
    if (!format || (strcmp(argv[1], "pack") != 0 && strcmp(argv[1], "unpack") != 0)) {
        fprintf(stderr, "usage: quant_tool pack|unpack TYPE\n");
        return 2;
    }
    unsigned char *in, *out;
    size_t size = read_all(stdin, &in);
    int pack = argv[1][0] == 'p';
    size_t n = pack ? size / sizeof(float) : size / format->block_bytes * format->block_values;
    size_t out_size = pack ? (size_t)npu_format_row_bytes(format, n) : n * sizeof(float);
    out = malloc(out_size + 1);
    if (!in || !out) return 1;
    npu_status status = pack ? npu_quant_row(format->type, (const float *)(void *)in, out, n)
                             : npu_quant_dequant_row(format->type, in, (float *)(void *)out, n);
    if (status != NPU_OK) {
        fprintf(stderr, "error: %s: %s\n", format->name, npu_status_text(status));
        return 1;
    }
    fwrite(out, 1, out_size, stdout);
    free(in);
    free(out);
    return 0;
}
