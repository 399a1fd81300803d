#include "grammar/program.h"

#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 1 << 20 };

void npu__program_free(npu__program *p) {
    free(p->code);
    free(p->sets);
    free(p->rules);
    *p = (npu__program){0};
}

/* Room for one more in a list; false: no memory. */
static bool room(npu__program *p, void *list, uint32_t n, uint32_t *capacity, size_t item) {
    if (n < *capacity) return true;
    uint32_t more = *capacity * 2 + 64;
    void *grown = realloc(*(void **)list, more * item);
    if (!grown) return !(p->no_memory = true);
    *(void **)list = grown;
    *capacity = more;
    return true;
}

uint32_t npu__emit(npu__program *p, npu__gop op, uint32_t x) {
    if (p->n == CODE_MAX) p->too_large = true;
    if (p->too_large || p->no_memory || !room(p, &p->code, p->n, &p->capacity, sizeof *p->code)) return 0;
    p->code[p->n] = (npu__ginst){.op = op, .x = x};
    return p->n++;
}

void npu__aim(npu__program *p, uint32_t place) {
    if (!p->too_large && !p->no_memory) p->code[place].x = p->n;
}

void npu__emit_set(npu__program *p, npu__byte_set set) {
    uint32_t i = 0;
    while (i < p->n_sets && memcmp(&p->sets[i], &set, sizeof set) != 0) i++;
    if (i == p->n_sets) {
        if (!room(p, &p->sets, p->n_sets, &p->sets_capacity, sizeof *p->sets)) return;
        p->sets[p->n_sets++] = set;
    }
    npu__emit(p, NPU__G_BYTES, i);
}

void npu__emit_range(npu__program *p, uint8_t low, uint8_t high) {
    npu__byte_set set = {{0}};
    for (unsigned b = low; b <= high; b++) set.bits[b / 64] |= (uint64_t)1 << b % 64;
    npu__emit_set(p, set);
}

void npu__emit_text(npu__program *p, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) npu__emit_range(p, (uint8_t)s[i], (uint8_t)s[i]);
}

uint32_t npu__new_rule(npu__program *p) {
    if (!room(p, &p->rules, p->n_rules, &p->rules_capacity, sizeof *p->rules)) return 0;
    p->rules[p->n_rules] = 0;
    return p->n_rules++;
}

void npu__begin_rule(npu__program *p, uint32_t rule) {
    if (rule < p->n_rules) p->rules[rule] = p->n;
}

uint32_t npu__open(npu__program *p, uint32_t min, uint32_t max) {
    if (min == 0 && max == NPU__G_NO_LIMIT) return npu__emit(p, NPU__G_SPLIT, 0);
    uint32_t enter = npu__emit(p, NPU__G_ENTER, 0), loop = npu__emit(p, NPU__G_LOOP, 0);
    if (p->too_large || p->no_memory) return 0;
    p->code[enter].x = loop;
    p->code[loop].min = min;
    p->code[loop].max = max;
    return loop;
}

void npu__close(npu__program *p, uint32_t open) {
    npu__emit(p, NPU__G_JUMP, open);
    npu__aim(p, open);
}

void npu__either(npu__program *p, npu__choice *c) {
    *c = (npu__choice){0};
    c->split = npu__emit(p, NPU__G_SPLIT, 0);
}

void npu__or(npu__program *p, npu__choice *c) {
    uint32_t jump = npu__emit(p, NPU__G_JUMP, 0);
    if (c->n == c->capacity) {
        size_t capacity = c->capacity * 2 + 8;
        uint32_t *more = realloc(c->jumps, capacity * sizeof *more);
        if (!more) {
            p->no_memory = true;
            return;
        }
        c->jumps = more;
        c->capacity = capacity;
    }
    c->jumps[c->n++] = jump;
    npu__aim(p, c->split);
    c->split = npu__emit(p, NPU__G_SPLIT, 0);
}

/* The last split has no other way: it becomes a jump to what follows it. */
void npu__end(npu__program *p, npu__choice *c) {
    if (!p->too_large && !p->no_memory) {
        p->code[c->split].op = NPU__G_JUMP;
        p->code[c->split].x = c->split + 1;
        for (size_t i = 0; i < c->n; i++) p->code[c->jumps[i]].x = p->n;
    }
    free(c->jumps);
    *c = (npu__choice){0};
}

/* Whether the text can come to an end from place |i| on, as far as is known. */
static bool can_end(const npu__program *p, const uint8_t *can, uint32_t i) {
    const npu__ginst *g = &p->code[i];
    switch (g->op) {
    case NPU__G_RETURN:
        return true;
    case NPU__G_SPLIT:
        return can[i + 1] || can[g->x];
    case NPU__G_JUMP: /* one back to a loop may leave it: all rounds are alike */
        return can[p->code[g->x].op == NPU__G_LOOP ? p->code[g->x].x : g->x];
    case NPU__G_CALL:
        return can[p->rules[g->x]] && can[i + 1];
    case NPU__G_LOOP:
        return (!g->min && can[g->x]) || (g->max && can[i + 1]);
    case NPU__G_ENTER:
        return can[g->x];
    default:
        return can[i + 1];
    }
}

/* Ways that never come to an end are closed: a value that must hold one of its own kind asks for text without end. */
static npu_status close_endless(npu__program *p, npu_error *err) {
    enum { SWEEPS = 64 }; /* calls go mostly forward, so that few are needed; a stranger schema keeps its ways */
    uint8_t *can = calloc((size_t)p->n + 1, 1);
    bool more = true;
    if (!can) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    for (int sweep = 0; sweep < SWEEPS && more; sweep++) {
        more = false;
        for (uint32_t i = p->n; i-- > 0;)
            if (!can[i] && can_end(p, can, i)) {
                can[i] = 1;
                more = true;
            }
    }
    for (uint32_t i = 0; i < p->n && !more; i++) {
        npu__ginst *g = &p->code[i];
        if (g->op == NPU__G_LOOP && !can[i + 1]) g->max = 0;
        if (g->op != NPU__G_SPLIT || can[i + 1] == can[g->x]) continue;
        if (can[i + 1]) g->x = i + 1;
        g->op = NPU__G_JUMP;
    }
    bool begins = can[p->rules[0]];
    free(can);
    if (begins || more) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "schema.empty", "nothing that fits the schema ever comes to an end");
}

npu_status npu__program_finish(npu__program *p, npu_error *err) {
    if (p->too_large)
        return npu_fail(err, NPU_RANGE, "grammar.size", "the schema is too large: more than %d steps", CODE_MAX);
    if (p->no_memory) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    NPU_TRY(close_endless(p, err));
    p->n_classes = 0;
    for (unsigned b = 0; b < 256; b++) {
        unsigned other = 0;
        for (; other < b; other++) { /* the first byte that is in the same sets */
            uint32_t i = 0;
            while (i < p->n_sets &&
                   (p->sets[i].bits[b / 64] >> b % 64 & 1) == (p->sets[i].bits[other / 64] >> other % 64 & 1))
                i++;
            if (i == p->n_sets) break;
        }
        p->classes[b] = other < b ? p->classes[other] : (uint8_t)p->n_classes++;
    }
    return NPU_OK;
}
