/* Finding special tokens written out in a text. Longer tokens win over shorter ones wherever they stand, and of one
 * length the leftmost; that is how the vocabularies were used in training, so a single scan from left to right would
 * not do. Tokens of one length are found together with a rolling hash: the time is the text's size times the number of
 * different lengths.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/vocab.h"

/* A stretch of the text: plain (id NPU_TOKEN_NONE), a special token, or dropped (white space beside one). */
typedef struct part {
    size_t begin, end;
    int32_t id;
} part;

typedef struct parts {
    part *list;
    size_t n, capacity;
} parts;

/* Tokens of one length, by hash; few, so buckets are a small power of two. */
typedef struct group {
    size_t length;
    const int32_t *ids;
    size_t n;
    int32_t *heads; /* index into ids by hash; -1: none */
    int32_t *links;
    uint32_t *hashes;
    uint32_t mask;
    uint32_t drop; /* factor of the character that leaves the window */
} group;

static npu_status push(parts *p, size_t begin, size_t end, int32_t id, npu_error *err) {
    if (begin == end) return NPU_OK;
    if (p->n == p->capacity) {
        size_t capacity = p->capacity * 2 + 16;
        part *more = realloc(p->list, capacity * sizeof *more);
        if (!more) return NPU__NO_MEMORY(err);
        p->list = more;
        p->capacity = capacity;
    }
    p->list[p->n++] = (part){begin, end, id};
    return NPU_OK;
}

enum { FACTOR = 0x01000193 };

static uint32_t hash_of(const char *s, size_t n) {
    uint32_t h = 0;
    for (size_t i = 0; i < n; i++) h = h * FACTOR + (uint8_t)s[i];
    return h;
}

static uint32_t bucket_of(uint32_t hash, const group *g) {
    return (hash * 0x9E3779B1u >> 8) & g->mask;
}

static void group_build(const npu_tokenizer *tok, group *g) {
    for (uint32_t i = 0; i <= g->mask; i++) g->heads[i] = -1;
    g->drop = 1;
    for (size_t i = 1; i < g->length; i++) g->drop *= FACTOR;
    for (size_t i = g->n; i-- > 0;) { /* the first of equal ones ends up in front */
        size_t len;
        const char *name = npu__strtab_get(&tok->strings, g->ids[i], &len);
        g->hashes[i] = hash_of(name, len);
        int32_t *head = &g->heads[bucket_of(g->hashes[i], g)];
        g->links[i] = *head;
        *head = (int32_t)i;
    }
}

static int32_t group_find(const npu_tokenizer *tok, const group *g, uint32_t hash, const char *s) {
    for (int32_t i = g->heads[bucket_of(hash, g)]; i >= 0; i = g->links[i]) {
        size_t len;
        if (g->hashes[i] == hash && memcmp(npu__strtab_get(&tok->strings, g->ids[i], &len), s, g->length) == 0)
            return g->ids[i];
    }
    return NPU_TOKEN_NONE;
}

static int is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_control(const npu_tokenizer *tok, int32_t id) {
    return tok->types[id] & (NPU__TOKEN_CONTROL | NPU__TOKEN_UNKNOWN);
}

/* The group's token that stands at |at|, unless it is a control token and a part of it was typed. */
static int32_t token_at(const npu_tokenizer *tok, const group *g, uint32_t hash, const char *text, const char *typed,
                        size_t at) {
    int32_t id = group_find(tok, g, hash, text + at);
    if (id == NPU_TOKEN_NONE || !typed || !is_control(tok, id)) return id;
    for (size_t i = 0; i < g->length; i++)
        if (typed[at + i]) return NPU_TOKEN_NONE;
    return id;
}

/* Cuts one plain part at the group's tokens, leftmost first. */
static npu_status cut_part(const npu_tokenizer *tok, const group *g, const char *text, const char *typed, part p,
                           parts *out, npu_error *err) {
    size_t begin = p.begin, at = p.begin;
    uint32_t hash = 0;
    int fresh = 1;
    while (p.end - at >= g->length && at < p.end) {
        if (fresh) hash = hash_of(text + at, g->length);
        fresh = 0;
        int32_t id = token_at(tok, g, hash, text, typed, at);
        if (id == NPU_TOKEN_NONE) {
            if (p.end - at > g->length)
                hash = (hash - (uint8_t)text[at] * g->drop) * FACTOR + (uint8_t)text[at + g->length];
            at++;
            continue;
        }
        size_t left = at, right = at + g->length;
        if (tok->types[id] & NPU__TOKEN_LSTRIP)
            while (left > begin && is_space(text[left - 1])) left--;
        if (tok->types[id] & NPU__TOKEN_RSTRIP)
            while (right < p.end && is_space(text[right])) right++;
        NPU_TRY(push(out, begin, left, NPU_TOKEN_NONE, err));
        NPU_TRY(push(out, at, at + g->length, id, err));
        begin = at = right;
        fresh = 1;
    }
    return push(out, begin, p.end, NPU_TOKEN_NONE, err);
}

static npu_status cut_all(const npu_tokenizer *tok, const group *g, const char *text, const char *typed,
                          const parts *in, parts *out, npu_error *err) {
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        part p = in->list[i];
        if (p.id == NPU_TOKEN_NONE)
            NPU_TRY(cut_part(tok, g, text, typed, p, out, err));
        else
            NPU_TRY(push(out, p.begin, p.end, p.id, err));
    }
    return NPU_OK;
}

/* The tokens to look for, longest first; without |parse_special| only those that are plain text of a kind. */
static size_t wanted(const npu_tokenizer *tok, bool parse_special, int32_t *ids) {
    size_t n = 0;
    for (size_t i = 0; i < tok->n_specials; i++) {
        int32_t id = tok->specials[i];
        if (parse_special || !is_control(tok, id)) ids[n++] = id;
    }
    return n;
}

static npu_status split(const npu_tokenizer *tok, const char *text, size_t len, npu_encode_flags flags, parts *p,
                        parts *other, npu_error *err) {
    NPU_TRY(push(p, 0, len, NPU_TOKEN_NONE, err));
    size_t n = tok->n_specials;
    uint32_t buckets = 16;
    while (buckets < n) buckets *= 2;
    int32_t *room = malloc((2 * n + buckets) * sizeof *room + n * sizeof(uint32_t));
    if (!room) return NPU__NO_MEMORY(err);
    n = wanted(tok, flags.parse_special, room);
    group g = {.links = room + tok->n_specials, .heads = room + 2 * tok->n_specials};
    g.hashes = (uint32_t *)(g.heads + buckets);
    npu_status status = NPU_OK;
    for (size_t i = 0; i < n && status == NPU_OK; i += g.n) {
        size_t next;
        npu__strtab_get(&tok->strings, room[i], &g.length);
        g.ids = room + i;
        for (g.n = 1; i + g.n < n; g.n++) {
            npu__strtab_get(&tok->strings, room[i + g.n], &next);
            if (next != g.length) break;
        }
        if (g.length > len) continue;
        for (g.mask = 15; g.mask + 1 < g.n;) g.mask = g.mask * 2 + 1;
        group_build(tok, &g);
        status = cut_all(tok, &g, text, flags.typed, p, other, err);
        parts swap = *p;
        *p = *other;
        *other = swap;
    }
    free(room);
    return status;
}

npu_status npu__encode_parts(const npu_tokenizer *tok, const char *text, size_t len, npu_encode_flags flags,
                             npu_token_list *out, npu_error *err) {
    parts p = {0}, other = {0};
    npu_status status = split(tok, text, len, flags, &p, &other, err);
    bool first = true;
    for (size_t i = 0; i < p.n && status == NPU_OK; i++) {
        part x = p.list[i];
        if (x.id == NPU_TOKEN_NONE)
            status = tok->kind->encode(tok, text + x.begin, x.end - x.begin, first, out, err);
        else
            status = npu_token_list_add(out, x.id, err);
        first = x.id != NPU_TOKEN_NONE;
    }
    free(p.list);
    free(other.list);
    return status;
}
