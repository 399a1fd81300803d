/* Prints docs/ops.md, or with a file's name compares it with that: the op table (wire/npu_ops.def), the types that
 * `npu conform` gives each op, and whether the NPU program has the op. Run by the test ops_doc; by hand:
 *     build/tests/ops_doc > docs/ops.md
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform/conform_case.h"
#include "wire/format.h"
#include "wire/opplan.h"

enum { MAX_DOC = 1 << 16 };

typedef struct document {
    char text[MAX_DOC];
    size_t n;
} document;

__attribute__((format(printf, 2, 3))) static void put(document *d, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(d->text + d->n, sizeof d->text - d->n, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof d->text - d->n) {
        fprintf(stderr, "ops_doc: the document is too long\n");
        exit(1);
    }
    d->n += (size_t)n;
}

/* Bars inside a table cell. */
static void put_text(document *d, const char *text) {
    for (; *text; text++) put(d, *text == '|' ? "\\|" : "%c", *text);
}

static void put_types(document *d, uint32_t code) {
    const npu_case_row *row;
    for (uint32_t i = 0; (row = npu_case_row_at(i)); i++) {
        if (row->op != code) continue;
        size_t n = 0, formats = 0;
        while (row->types[n] != NPU_CASE_END) n++;
        while (npu_format_at((uint32_t)formats)) formats++;
        if (n == formats) {
            put(d, "all formats");
            return;
        }
        for (size_t k = 0; k < n; k++) put(d, "%s%s", k ? " " : "", npu_format_name(row->types[k]));
    }
}

/* The plan of an op without operands: only an op that the NPU program lacks is refused for that. */
static int on_npu(const npu_op_info *info) {
    npu_op op = {.code = info->code};
    npu_hw hw = {.threads = 1, .vtcm_bytes = 1 << 20};
    uint32_t kernel[NPU_OP_KERNEL_WORDS];
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    return strcmp(npu_opplan_make(&op, NULL, &hw, kernel), "the NPU program has no such op") != 0;
}

static void make(document *d) {
    const npu_op_info *info;
    put(d, "# Ops\n\nMade by `build/tests/ops_doc` from `wire/npu_ops.def`, the cases of `npu conform` and the op "
           "plans; a test "
           "checks that it is current.\nHow numbers are computed: `numerics.md`. Parameter blocks: `wire/op.h`. The "
           "host runs "
           "every op.\n\nError: the largest normalised mean-square error against the host's reference that `npu "
           "conform` lets a "
           "target\nwithout equal bytes have. Types: what it runs the op with; the type is the weight's, table's, "
           "cache's or "
           "source's where\noperands differ. NPU: the Hexagon program has the op (which shapes and types: `npu plan` "
           "says why not "
           "for each).\n\n| Op | Code | Types | Error | NPU | Operands and effect |\n| --- | --- | --- | --- | --- | "
           "--- |\n");
    for (uint32_t code = 0; code < NPU_OP_CODE_LIMIT; code++) {
        if (!(info = npu_op_find(code))) continue;
        put(d, "| `%s` | 0x%02X | ", info->name, info->code);
        put_types(d, info->code);
        put(d, " | %g | %s | ", info->nmse, on_npu(info) ? "yes" : "");
        put_text(d, info->text);
        put(d, " |\n");
    }
}

int main(int argc, char **argv) {
    static document d, now;
    make(&d);
    if (argc < 2) {
        fwrite(d.text, 1, d.n, stdout);
        return 0;
    }
    FILE *file = fopen(argv[1], "rb");
    if (file) {
        now.n = fread(now.text, 1, sizeof now.text, file);
        fclose(file);
    }
    if (file && now.n == d.n && memcmp(now.text, d.text, d.n) == 0) return 0;
    fprintf(stderr, "%s is not current: build/tests/ops_doc > docs/ops.md\n", argv[1]);
    return 1;
}
