/* Drives the tokenizer for test scripts: strings from standard input (each a little-endian 32-bit length and bytes),
 * the ids of each on a line, comma-separated. With "decode" the ids are decoded and the bytes printed in hexadecimal;
 * with "time" there is one line only: the seconds of creating the tokenizer, then those of each string.
 *     tokenizer_tool MODEL [special] [add] [decode] [time]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tokenizer/detokenizer.h"

/* Of the processor, which is the same on a busy machine. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(const npu_error *err) {
    fprintf(stderr, "%s: %s\n", err->code, err->text);
    return 1;
}

static npu_status print_decoded(const npu_tokenizer *tok, const npu_token_list *list, npu_error *err) {
    npu_text text = {0};
    npu_status status = npu_tokenizer_decode(tok, list->ids, list->n, (npu_decode_flags){.special = true}, &text, err);
    for (size_t i = 0; i < text.n; i++) printf("%02x", (unsigned)(unsigned char)text.data[i]);
    npu_text_free(&text);
    return status;
}

typedef enum output { IDS, DECODED, TIMES } output;

static npu_status one(const npu_tokenizer *tok, const char *text, uint32_t n, npu_encode_flags flags, output what,
                      npu_error *err) {
    npu_token_list list = {0};
    double start = seconds();
    npu_status status = npu_tokenizer_encode(tok, text, n, flags, &list, err);
    if (what == TIMES) printf(" %.4f", seconds() - start);
    if (status == NPU_OK && what == DECODED) status = print_decoded(tok, &list, err);
    for (size_t i = 0; i < list.n && what == IDS; i++) printf("%s%d", i ? "," : "", (int)list.ids[i]);
    if (what != TIMES) putchar('\n');
    npu_token_list_free(&list);
    return status;
}

static npu_status all(const npu_tokenizer *tok, npu_encode_flags flags, output what, npu_error *err) {
    uint32_t n;
    while (fread(&n, sizeof n, 1, stdin) == 1) {
        char *text = malloc(n + (size_t)1);
        if (!text || fread(text, 1, n, stdin) != n) {
            free(text);
            return npu_fail(err, NPU_IO, "tool.input", "the input ends inside a string");
        }
        npu_status status = one(tok, text, n, flags, what, err);
        free(text);
        if (status != NPU_OK) return status;
    }
    return NPU_OK;
}

int main(int argc, char **argv) {
    npu_error err = {0};
    npu_gguf *gguf;
    npu_tokenizer *tok;
    npu_encode_flags flags = {0};
    output what = IDS;
    for (int i = 2; i < argc; i++) {
        flags.parse_special |= strcmp(argv[i], "special") == 0;
        flags.add_special |= strcmp(argv[i], "add") == 0;
        if (strcmp(argv[i], "decode") == 0) what = DECODED;
        if (strcmp(argv[i], "time") == 0) what = TIMES;
    }
    if (argc < 2 || npu_gguf_open(argv[1], NULL, &gguf, &err) != NPU_OK) return fail(&err);
    double start = seconds();
    if (npu_tokenizer_create(gguf, NULL, &tok, &err) != NPU_OK) return fail(&err);
    if (what == TIMES) printf("%.4f", seconds() - start);
    npu_status status = all(tok, flags, what, &err);
    if (what == TIMES) putchar('\n');
    npu_tokenizer_free(tok);
    npu_gguf_close(gguf);
    return status == NPU_OK ? 0 : fail(&err);
}
