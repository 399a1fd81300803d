/* libFuzzer target of the tokenizers: the first half of the input is a GGUF file, the rest a text for it. A vocabulary
 * that is taken must encode any text, and decoding the result must give valid UTF-8 when streamed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/detokenizer.h"

static void check_utf8(const char *s, size_t n) {
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        at += npu_utf8_decode(s + at, n - at, &cp);
        if (cp == UINT32_MAX) __builtin_trap();
    }
}

static void use(const npu_tokenizer *tok, const char *text, size_t n, npu_encode_flags flags) {
    npu_error err;
    npu_token_list list = {0};
    npu_detokenizer *d;
    const char *s;
    size_t len;
    if (npu_tokenizer_encode(tok, text, n, flags, &list, &err) != NPU_OK) return;
    if (npu_detokenizer_create(tok, (npu_decode_flags){.special = flags.parse_special}, &d, &err) != NPU_OK)
        __builtin_trap();
    for (size_t i = 0; i < list.n; i++) {
        if (npu_detokenizer_push(d, list.ids[i], &s, &len, &err) != NPU_OK) __builtin_trap();
        check_utf8(s, len);
    }
    npu_detokenizer_finish(d, &s, &len);
    check_utf8(s, len);
    npu_detokenizer_free(d);
    npu_token_list_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npu_error err;
    npu_gguf *gguf;
    npu_tokenizer *tok;
    if (size < 4) return 0;
    uint32_t at = (uint32_t)data[0] << 8 | data[1];
    size -= 2;
    data += 2;
    if (at > size) at = (uint32_t)size;
    uint8_t *file = malloc(at + 1);
    if (!file) return 0;
    memcpy(file, data, at);
    if (npu_gguf_open_memory(file, at, "fuzz", NULL, &gguf, &err) == NPU_OK) {
        if (npu_tokenizer_create(gguf, NULL, &tok, &err) == NPU_OK) {
            use(tok, (const char *)data + at, size - at, (npu_encode_flags){false, true});
            use(tok, (const char *)data + at, size - at, (npu_encode_flags){true, false});
            npu_tokenizer_free(tok);
        }
        npu_gguf_close(gguf);
    }
    free(file);
    return 0;
}
