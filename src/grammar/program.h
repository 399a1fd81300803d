/* A grammar as a small program over bytes: what a text must be, for machine.c to follow with all ways at once. Rules
 * may call each other (so values nest), loops count. Made by schema.c; seen by the files of this folder only.
 */
#ifndef NPU_GRAMMAR_PROGRAM_H
#define NPU_GRAMMAR_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum npu__gop {
    NPU__G_BYTES,  /* one byte of set x */
    NPU__G_SPLIT,  /* go on here, or at x */
    NPU__G_JUMP,   /* to x */
    NPU__G_CALL,   /* rule x, then go on here */
    NPU__G_RETURN, /* from a rule; from the first one: the text may end */
    NPU__G_ENTER,  /* start to count for the loop at x */
    NPU__G_LOOP,   /* min to max times what stands here up to the jump back, then x */
} npu__gop;

typedef struct npu__ginst {
    npu__gop op;
    uint32_t x, min, max;
} npu__ginst;

enum { NPU__G_NO_LIMIT = 0xFFFFFFFFu };

typedef struct npu__byte_set {
    uint64_t bits[4];
} npu__byte_set;

typedef struct npu__program {
    npu__ginst *code;
    uint32_t n, capacity;
    npu__byte_set *sets;
    uint32_t n_sets, sets_capacity;
    uint32_t *rules; /* where each begins; rule 0 is the whole text */
    uint32_t n_rules, rules_capacity;
    uint8_t classes[256]; /* bytes that no set tells apart have one class */
    uint32_t n_classes;
    bool no_memory, too_large;
} npu__program;

void npu__program_free(npu__program *p);

/* Failures are kept in the program: look at it when all is written. RANGE ("grammar.size"), NO_MEMORY; INVALID
 * ("schema.empty"): no text of the grammar ever ends. */
npu_status npu__program_finish(npu__program *p, npu_error *err);

uint32_t npu__emit(npu__program *p, npu__gop op, uint32_t x); /* its place */
void npu__aim(npu__program *p, uint32_t place);               /* x of what stands there: the place that comes next */
void npu__emit_set(npu__program *p, npu__byte_set set);
void npu__emit_range(npu__program *p, uint8_t low, uint8_t high);
void npu__emit_text(npu__program *p, const char *s, size_t n);
uint32_t npu__new_rule(npu__program *p); /* begins nowhere yet */
void npu__begin_rule(npu__program *p, uint32_t rule);

/* What follows up to npu__close is repeated. */
uint32_t npu__open(npu__program *p, uint32_t min, uint32_t max);
void npu__close(npu__program *p, uint32_t open);

/* Alternatives: npu__either, then the parts with npu__or between them, then npu__end. */
typedef struct npu__choice {
    uint32_t split, *jumps;
    size_t n, capacity;
} npu__choice;
void npu__either(npu__program *p, npu__choice *c);
void npu__or(npu__program *p, npu__choice *c);
void npu__end(npu__program *p, npu__choice *c);

/* Digits and numbers (numbers.c). Bounds are inclusive; a real number is written without an exponent when it has one.
 */
void npu__emit_whole(npu__program *p, int64_t low, int64_t high);
void npu__emit_real(npu__program *p, const double *low, const double *high);

#endif
