/* What each token stands for in text, as bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/vocab.h"

/* Byte-level BPE spells each byte as a printable character: Latin-1's printable ones as themselves, the 68 others as
 * U+0100 and up, in order. */
static int is_own_char(uint32_t b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
}

uint32_t npu__byte_to_char(uint8_t byte) {
    if (is_own_char(byte)) return byte;
    if (byte <= 0x20) return 0x100u + byte;
    return byte <= 0xA0 ? 0x121u + byte - 0x7F : 0x143u;
}

int npu__char_to_byte(uint32_t cp) {
    if (cp <= 0xFF) return is_own_char(cp) ? (int)cp : -1;
    if (cp <= 0x120) return (int)(cp - 0x100);
    if (cp <= 0x142) return (int)(cp - 0x121 + 0x7F);
    return cp == 0x143 ? 0xAD : -1;
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int npu__byte_token_value(const char *name, size_t n) {
    if (n != 6 || memcmp(name, "<0x", 3) != 0 || name[5] != '>' || hex(name[3]) < 0 || hex(name[4]) < 0) return -1;
    return hex(name[3]) * 16 + hex(name[4]);
}

static size_t copy(char *out, const char *s, size_t n) {
    memcpy(out, s, n);
    return n;
}

/* Characters that stand for no byte (a token that was added as plain text) come out as they are. */
static size_t decode_bytes(char *out, const char *s, size_t n) {
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + at, n - at, &cp);
        int byte = npu__char_to_byte(cp);
        if (byte >= 0)
            out[used++] = (char)byte;
        else
            used += copy(out + used, s + at, len);
        at += len;
    }
    return used;
}

static size_t unescape_spaces(char *out, const char *s, size_t n) {
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        int space = n - at >= 3 && memcmp(s + at, "\xE2\x96\x81", 3) == 0;
        out[used++] = space ? ' ' : s[at];
        at += space ? 3 : 1;
    }
    return used;
}

/* Never longer than the name. */
static size_t piece(const npu_tokenizer *tok, int32_t id, char *out) {
    size_t n;
    const char *name = npu__strtab_get(&tok->strings, id, &n);
    uint8_t type = tok->types[id];
    if (type & (NPU__TOKEN_UNKNOWN | NPU__TOKEN_CONTROL | NPU__TOKEN_USER)) return copy(out, name, n);
    if (type & NPU__TOKEN_NORMAL) {
        if (tok->kind->byte_pieces && !(tok->pre && tok->pre->flags & NPU__PRE_RAW)) return decode_bytes(out, name, n);
        return unescape_spaces(out, name, n);
    }
    int byte = type & NPU__TOKEN_BYTE ? npu__byte_token_value(name, n) : -1;
    if (byte < 0) return 0;
    out[0] = (char)byte;
    return 1;
}

npu_status npu__pieces_build(npu_tokenizer *tok, npu_error *err) {
    size_t most = 1;
    for (uint32_t i = 0; i < tok->n_tokens; i++) {
        size_t n;
        npu__strtab_get(&tok->strings, (int32_t)i, &n);
        most += n;
    }
    tok->pieces = malloc(most);
    tok->piece_offsets = malloc((tok->n_tokens + (size_t)1) * sizeof *tok->piece_offsets);
    if (!tok->pieces || !tok->piece_offsets) return NPU__NO_MEMORY(err);
    tok->piece_offsets[0] = 0;
    for (uint32_t i = 0; i < tok->n_tokens; i++)
        tok->piece_offsets[i + 1] = tok->piece_offsets[i] + piece(tok, (int32_t)i, tok->pieces + tok->piece_offsets[i]);
    return NPU_OK;
}
