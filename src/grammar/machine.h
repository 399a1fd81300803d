/* Follows a program through a text, all ways at once. What the text so far allows is a state, a number: equal
 * situations have equal numbers, so that each is worked out once. States are made as they are met and forgotten when
 * they become too many. Seen by the files of this folder only.
 */
#ifndef NPU_GRAMMAR_MACHINE_H
#define NPU_GRAMMAR_MACHINE_H

#include "grammar/program.h"

typedef struct npu__machine npu__machine;

enum { NPU__STATE_DEAD = 0 };

/* |program| must outlive it. |reach|: how many bytes from a state on matter for npu__machine_near. */
npu_status npu__machine_create(const npu__program *program, uint32_t reach, npu__machine **out, npu_error *err);
void npu__machine_free(npu__machine *m);

npu_status npu__machine_start(npu__machine *m, uint32_t *state, npu_error *err);

/* The state after one more byte; NPU__STATE_DEAD: none may follow. RANGE ("grammar.states"): too many at once. */
npu_status npu__machine_step(npu__machine *m, uint32_t state, uint8_t byte, uint32_t *next, npu_error *err);

/* A state that allows the same next |reach| bytes, equal for as many states as is easily seen: counters far from their
 * limits don't tell states apart. */
npu_status npu__machine_near(npu__machine *m, uint32_t state, uint32_t *near, npu_error *err);

bool npu__machine_may_end(const npu__machine *m, uint32_t state);
bool npu__machine_may_go_on(const npu__machine *m, uint32_t state);

/* Whether so much is kept that npu__machine_forget should be called; that drops all states but *state, which gets a new
 * number. */
bool npu__machine_full(const npu__machine *m);
npu_status npu__machine_forget(npu__machine *m, uint32_t *state, npu_error *err);

/* States made so far: their numbers are below it. */
uint32_t npu__machine_count(const npu__machine *m);

#endif
