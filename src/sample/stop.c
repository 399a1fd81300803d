#include "sample/stop.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One string's matcher: how many of its bytes the end of the text matches, by the failure links of Knuth, Morris and
 * Pratt. */
typedef struct matcher {
    const char *text;
    size_t n, at;
    size_t *fail; /* [i]: the longest proper prefix that is a suffix of the first i + 1 bytes */
} matcher;

struct npu_stop {
    matcher *list;
    size_t n;
    char *bytes;
    size_t *links;
    char *held; /* as many bytes as the longest partial match */
    size_t n_held;
    int which;
};

static void build(matcher *m) {
    m->fail[0] = 0;
    for (size_t i = 1, k = 0; i < m->n; i++) {
        while (k && m->text[i] != m->text[k]) k = m->fail[k - 1];
        if (m->text[i] == m->text[k]) k++;
        m->fail[i] = k;
    }
}

npu_status npu_stop_create(const char *const *strings, const size_t *lengths, size_t n, npu_stop **out,
                           npu_error *err) {
    size_t total = 0, longest = 0;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!lengths[i]) return npu_fail(err, NPU_INVALID, "stop.empty", "stop string %zu is empty", i + 1);
        if (lengths[i] > SIZE_MAX / 16 - total)
            return npu_fail(err, NPU_RANGE, "stop.size", "stop strings are too long");
        total += lengths[i];
        if (lengths[i] > longest) longest = lengths[i];
    }
    npu_stop *s = calloc(1, sizeof *s);
    if (s) {
        s->list = calloc(n + 1, sizeof *s->list);
        s->bytes = malloc(total + 1);
        s->links = malloc((total + 1) * sizeof *s->links);
        s->held = malloc(longest + 1);
    }
    if (!s || !s->list || !s->bytes || !s->links || !s->held) {
        npu_stop_free(s);
        return npu_fail(err, NPU_NO_MEMORY, "stop.no_memory", "no memory for %zu stop strings", n);
    }
    total = 0;
    for (size_t i = 0; i < n; total += lengths[i++]) {
        memcpy(s->bytes + total, strings[i], lengths[i]);
        s->list[i] = (matcher){.text = s->bytes + total, .n = lengths[i], .fail = s->links + total};
        build(&s->list[i]);
    }
    s->n = n;
    s->which = -1;
    *out = s;
    return NPU_OK;
}

void npu_stop_free(npu_stop *s) {
    if (!s) return;
    free(s->list);
    free(s->bytes);
    free(s->links);
    free(s->held);
    free(s);
}

/* Advances all matchers by one byte. Returns how many bytes must be held; sets which when a string is complete (of
 * several that end here, the longest, which is the one that began first). */
static size_t advance(npu_stop *s, char c) {
    size_t hold = 0, done = 0;
    for (size_t i = 0; i < s->n; i++) {
        matcher *m = &s->list[i];
        while (m->at && m->text[m->at] != c) m->at = m->fail[m->at - 1];
        if (m->text[m->at] == c) m->at++;
        if (m->at == m->n && m->n > done) {
            done = m->n;
            s->which = (int)i;
        }
        if (m->at > hold) hold = m->at;
    }
    return s->which >= 0 ? done : hold;
}

bool npu_stop_push(npu_stop *s, const char *text, size_t n, npu_stop_give *give, void *context) {
    if (s->which >= 0) return true;
    size_t used = 0,
           hold = s->n_held; /* a match grows by one byte at most, so it never reaches back beyond what is held */
    while (used < n && s->which < 0) hold = advance(s, text[used++]);
    size_t certain = s->n_held + used - hold;
    size_t from_held = certain < s->n_held ? certain : s->n_held;
    if (from_held) {
        give(context, s->held, from_held);
        s->n_held -= from_held;
        memmove(s->held, s->held + from_held, s->n_held);
        certain -= from_held;
    }
    if (certain) give(context, text, certain);
    if (s->which >= 0) return true;
    memcpy(s->held + s->n_held, text + certain, n - certain);
    s->n_held += n - certain;
    return false;
}

void npu_stop_finish(npu_stop *s, npu_stop_give *give, void *context) {
    if (s->which < 0 && s->n_held) give(context, s->held, s->n_held);
    s->n_held = 0;
    s->which = -1;
    for (size_t i = 0; i < s->n; i++) s->list[i].at = 0;
}

int npu_stop_which(const npu_stop *s) {
    return s->which;
}
