/* Running the passes of a pre-tokenizer over a text. The passes themselves are in pretok_word.c and pretok_pass.c. */
#include "tokenizer/pretok.h"

#include <stdlib.h>

static npu_status split_alloc(npu__split *s, size_t n, npu_error *err) {
    s->cps = malloc((n + 1) * sizeof *s->cps);
    s->classes = malloc((n + 1) * sizeof *s->classes);
    s->ends = malloc((n + 1) * sizeof *s->ends);
    s->next = malloc((n + 1) * sizeof *s->next);
    if (s->cps && s->classes && s->ends && s->next) return NPU_OK;
    npu__split_free(s);
    return npu_fail(err, NPU_NO_MEMORY, "tokenizer.no_memory", "no memory to tokenize %zu bytes of text", n);
}

void npu__split_free(npu__split *s) {
    free(s->cps);
    free(s->classes);
    free(s->ends);
    free(s->next);
    *s = (npu__split){0};
}

static void cut_matches(npu__split *s, size_t begin, size_t end, const npu__pass *pass) {
    for (size_t pos = begin; pos < end;) {
        size_t n = pass->match(s, pos, end, pass->rule);
        if (n) {
            npu__split_emit(s, pos);
            npu__split_emit(s, pos + n);
        }
        pos += n ? n : 1;
    }
    npu__split_emit(s, end);
}

npu_status npu__pretok_split(const npu__pretok *p, const char *text, size_t len, npu__split *s, npu_error *err) {
    if (len >= INT32_MAX)
        return npu_fail(err, NPU_RANGE, "tokenizer.text_size", "text of %zu bytes is too long to tokenize", len);
    NPU_TRY(split_alloc(s, len, err));
    for (size_t at = 0; at < len; s->n++) {
        at += npu__unicode_decode(text + at, len - at, &s->cps[s->n]);
        s->classes[s->n] = npu__unicode_class_of(s->cps[s->n]);
    }
    s->cps[s->n] = UINT32_MAX;
    s->classes[s->n] = 0;
    if (s->n) s->ends[s->n_ends++] = (uint32_t)s->n;
    for (const npu__pass *pass = p->passes; pass < p->passes + NPU__PRE_PASSES && (pass->match || pass->cut); pass++) {
        size_t begin = 0;
        s->n_next = 0;
        for (size_t i = 0; i < s->n_ends; begin = s->ends[i++]) {
            if (pass->match)
                cut_matches(s, begin, s->ends[i], pass);
            else
                pass->cut(s, begin, s->ends[i], pass->rule);
        }
        uint32_t *swap = s->ends;
        s->ends = s->next;
        s->n_ends = s->n_next;
        s->next = swap;
    }
    return NPU_OK;
}
