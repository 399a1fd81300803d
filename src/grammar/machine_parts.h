/* What the files of the machine share: its frames, ways and states, each kept once. */
#ifndef NPU_GRAMMAR_MACHINE_PARTS_H
#define NPU_GRAMMAR_MACHINE_PARTS_H

#include "grammar/machine.h"

/* A frame: where to go on (return), or a loop and how often it went round. Frames are shared: equal ones on equal
 * frames are one, so a whole stack is a number. Frame 0 is the bottom. */
typedef struct npu__frame {
    uint32_t below, place, count;
    bool loop;
} npu__frame;

/* One npu__way to be: a place that wants a byte, and a stack. */
typedef struct npu__way {
    uint32_t place, stack;
} npu__way;

typedef struct npu__state {
    uint32_t first, n; /* its ways, sorted */
    uint32_t near;     /* UINT32_MAX: not known yet */
    bool may_end;
} npu__state;

/* Hash tables hold numbers plus one; 0 is free. */
typedef struct npu__table {
    uint32_t *slots, mask, n;
} npu__table;

struct npu__machine {
    const npu__program *p;
    uint32_t reach;
    npu__frame *frames;
    uint32_t n_frames, frames_capacity;
    uint32_t *near_frames; /* 0: not known yet */
    npu__state *states;
    uint32_t n_states, states_capacity;
    uint32_t *next; /* n_classes for each state; UINT32_MAX: not known yet */
    npu__way *ways;
    uint32_t n_ways, ways_capacity;
    npu__table frame_table, state_table, seen_table;
    npu__way *work, *seen, *found; /* of the step at hand */
    uint32_t n_work, work_capacity, n_seen, seen_capacity, n_found, found_capacity;
    bool found_end;
};

enum {
    NPU__UNKNOWN = 0xFFFFFFFFu,
    NPU__WAYS_MAX = 1 << 18, /* of one state */
    NPU__WAYS_ALL = 1 << 23,
    NPU__STATES_SOON = 1 << 13, /* forget when there are so many */
    NPU__STATES_MAX = 1 << 16,  /* and fail when so many are made in between */
    NPU__FRAMES_SOON = 1 << 18,
    NPU__FRAMES_MAX = 1 << 22,
};

static inline npu_status npu__machine_no_memory(npu_error *err) {
    return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar's states");
}

static inline npu_status npu__machine_too_many(npu_error *err) {
    return npu_fail(err, NPU_RANGE, "grammar.states", "the schema leaves too many ways open at once");
}

bool npu__machine_room(void *list, uint32_t n, uint32_t *capacity, size_t item); /* for one more; false: no memory */

npu_status npu__machine_push(npu__machine *m, npu__frame f, uint32_t *out, npu_error *err);
/* Whether this way was not followed yet in this step; then it is marked so. */
npu_status npu__machine_is_new(npu__machine *m, npu__way w, bool *fresh, npu_error *err);
void npu__machine_clear_seen(npu__machine *m);
/* The state that has the ways found, which may repeat. */
npu_status npu__machine_intern(npu__machine *m, uint32_t *out, npu_error *err);

#endif
