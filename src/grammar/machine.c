#include "grammar/machine.h"

#include <stdlib.h>
#include <string.h>

/* A frame: where to go on (return), or a loop and how often it went round. Frames are shared: equal ones on equal
 * frames are one, so a whole stack is a number. Frame 0 is the bottom. */
typedef struct frame {
    uint32_t below, place, count;
    bool loop;
} frame;

/* One way to be: a place that wants a byte, and a stack. */
typedef struct way {
    uint32_t place, stack;
} way;

typedef struct state {
    uint32_t first, n; /* its ways, sorted */
    uint32_t near;     /* UINT32_MAX: not known yet */
    bool may_end;
} state;

/* Hash tables hold numbers plus one; 0 is free. */
typedef struct table {
    uint32_t *slots, mask, n;
} table;

struct npu__machine {
    const npu__program *p;
    uint32_t reach;
    frame *frames;
    uint32_t n_frames, frames_capacity;
    uint32_t *near_frames; /* 0: not known yet */
    state *states;
    uint32_t n_states, states_capacity;
    uint32_t *next; /* n_classes for each state; UINT32_MAX: not known yet */
    way *ways;
    uint32_t n_ways, ways_capacity;
    table frame_table, state_table, seen_table;
    way *work, *seen, *found; /* of the step at hand */
    uint32_t n_work, work_capacity, n_seen, seen_capacity, n_found, found_capacity;
    bool found_end;
};

enum {
    UNKNOWN = 0xFFFFFFFFu,
    WAYS_MAX = 1 << 18, /* of one state */
    WAYS_ALL = 1 << 23,
    STATES_SOON = 1 << 13, /* forget when there are so many */
    STATES_MAX = 1 << 16,  /* and fail when so many are made in between */
    FRAMES_SOON = 1 << 18,
    FRAMES_MAX = 1 << 22,
};

static npu_status no_memory(npu_error *err) {
    return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar's states");
}

static npu_status too_many(npu_error *err) {
    return npu_fail(err, NPU_RANGE, "grammar.states", "the schema leaves too many ways open at once");
}

static bool room(void *list, uint32_t n, uint32_t *capacity, size_t item) {
    if (n < *capacity) return true;
    uint32_t more = *capacity * 2 + 64;
    void *grown = realloc(*(void **)list, more * item);
    if (!grown) return false;
    *(void **)list = grown;
    *capacity = more;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static uint64_t frame_hash(const frame *f) {
    return mix(mix(f->below, f->place), (uint64_t)f->count << 1 | f->loop);
}

static uint64_t ways_hash(const way *ways, uint32_t n, bool may_end) {
    uint64_t h = may_end;
    for (uint32_t i = 0; i < n; i++) h = mix(h, (uint64_t)ways[i].place << 32 | ways[i].stack);
    return h;
}

typedef uint64_t hash_of(const npu__machine *m, uint32_t i);

static uint64_t hash_frame(const npu__machine *m, uint32_t i) {
    return frame_hash(&m->frames[i]);
}
static uint64_t hash_state(const npu__machine *m, uint32_t i) {
    return ways_hash(m->ways + m->states[i].first, m->states[i].n, m->states[i].may_end);
}
static uint64_t hash_seen(const npu__machine *m, uint32_t i) {
    return ways_hash(&m->seen[i], 1, false);
}

/* Makes room in a table for one more. */
static bool widen(npu__machine *m, table *t, hash_of *hash) {
    if (t->slots && t->n * 2 < t->mask) return true;
    uint32_t mask = t->slots ? t->mask * 2 + 1 : 255;
    uint32_t *slots = calloc((size_t)mask + 1, sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = 0; t->slots && i <= t->mask; i++) {
        if (!t->slots[i]) continue;
        uint32_t at = (uint32_t)hash(m, t->slots[i] - 1) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->mask = mask;
    return true;
}

static npu_status push(npu__machine *m, frame f, uint32_t *out, npu_error *err) {
    table *t = &m->frame_table;
    if (!widen(m, t, hash_frame)) return no_memory(err);
    uint32_t at = (uint32_t)frame_hash(&f) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        const frame *g = &m->frames[t->slots[at] - 1];
        if (g->below == f.below && g->place == f.place && g->count == f.count && g->loop == f.loop) {
            *out = t->slots[at] - 1;
            return NPU_OK;
        }
    }
    if (m->n_frames == FRAMES_MAX) return too_many(err);
    uint32_t before = m->frames_capacity;
    if (!room(&m->frames, m->n_frames, &m->frames_capacity, sizeof f)) return no_memory(err);
    if (before != m->frames_capacity) {
        uint32_t *near = realloc(m->near_frames, m->frames_capacity * sizeof *near);
        if (!near) return no_memory(err);
        m->near_frames = near;
    }
    m->frames[m->n_frames] = f;
    m->near_frames[m->n_frames] = 0;
    *out = m->n_frames++;
    t->slots[at] = *out + 1;
    t->n++;
    return NPU_OK;
}

/* Whether this way was not followed yet in this step; then it is marked so. */
static npu_status is_new(npu__machine *m, way w, bool *fresh, npu_error *err) {
    table *t = &m->seen_table;
    if (!widen(m, t, hash_seen)) return no_memory(err);
    uint32_t at = (uint32_t)ways_hash(&w, 1, false) & t->mask;
    *fresh = false;
    for (; t->slots[at]; at = (at + 1) & t->mask)
        if (m->seen[t->slots[at] - 1].place == w.place && m->seen[t->slots[at] - 1].stack == w.stack) return NPU_OK;
    if (m->n_seen == WAYS_MAX) return too_many(err);
    if (!room(&m->seen, m->n_seen, &m->seen_capacity, sizeof w)) return no_memory(err);
    m->seen[m->n_seen++] = w;
    t->slots[at] = m->n_seen;
    t->n++;
    *fresh = true;
    return NPU_OK;
}

/* Empties the marks; only the slots in use, as most steps mark few. */
static void clear_seen(npu__machine *m) {
    table *t = &m->seen_table;
    if (m->n_seen * 4 > t->mask) {
        if (t->slots) memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
    } else {
        for (uint32_t i = 0; i < m->n_seen; i++) {
            uint32_t at = (uint32_t)hash_seen(m, i) & t->mask;
            while (t->slots[at] != i + 1) at = (at + 1) & t->mask;
            t->slots[at] = UNKNOWN; /* keeps the chains whole until all are found */
        }
        for (uint32_t i = 0; i < m->n_seen; i++)
            for (uint32_t at = (uint32_t)hash_seen(m, i) & t->mask; t->slots[at] == UNKNOWN; at = (at + 1) & t->mask)
                t->slots[at] = 0;
    }
    t->n = m->n_seen = 0;
}

static npu_status add_work(npu__machine *m, uint32_t place, uint32_t stack, npu_error *err) {
    if (!room(&m->work, m->n_work, &m->work_capacity, sizeof *m->work)) return no_memory(err);
    m->work[m->n_work++] = (way){place, stack};
    return NPU_OK;
}

static npu_status go_round(npu__machine *m, way w, npu_error *err) {
    const npu__ginst *loop = &m->p->code[w.place];
    frame f = m->frames[w.stack];
    if (f.count >= loop->min) NPU_TRY(add_work(m, loop->x, f.below, err));
    if (f.count >= loop->max) return NPU_OK;
    if (loop->max != NPU__G_NO_LIMIT || f.count < loop->min) f.count++;
    uint32_t stack;
    NPU_TRY(push(m, f, &stack, err));
    return add_work(m, w.place + 1, stack, err);
}

/* Follows one way until it wants a byte. */
static npu_status follow(npu__machine *m, way w, npu_error *err) {
    const npu__ginst *inst = &m->p->code[w.place];
    uint32_t stack;
    switch (inst->op) {
    case NPU__G_BYTES:
        if (!room(&m->found, m->n_found, &m->found_capacity, sizeof w)) return no_memory(err);
        m->found[m->n_found++] = w;
        return NPU_OK;
    case NPU__G_SPLIT:
        NPU_TRY(add_work(m, inst->x, w.stack, err));
        return add_work(m, w.place + 1, w.stack, err);
    case NPU__G_JUMP:
        return add_work(m, inst->x, w.stack, err);
    case NPU__G_CALL:
        NPU_TRY(push(m, (frame){w.stack, w.place + 1, 0, false}, &stack, err));
        return add_work(m, m->p->rules[inst->x], stack, err);
    case NPU__G_RETURN:
        if (w.stack == 0) {
            m->found_end = true;
            return NPU_OK;
        }
        return add_work(m, m->frames[w.stack].place, m->frames[w.stack].below, err);
    case NPU__G_ENTER:
        NPU_TRY(push(m, (frame){w.stack, inst->x, 0, true}, &stack, err));
        return add_work(m, inst->x, stack, err);
    case NPU__G_LOOP:
        return go_round(m, w, err);
    }
    return NPU_OK;
}

static npu_status follow_all(npu__machine *m, npu_error *err) {
    while (m->n_work) {
        way w = m->work[--m->n_work];
        bool fresh;
        NPU_TRY(is_new(m, w, &fresh, err));
        if (fresh) NPU_TRY(follow(m, w, err));
    }
    return NPU_OK;
}

static int by_place(const void *a, const void *b) {
    const way *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The state that has the ways found, which may repeat. */
static npu_status intern(npu__machine *m, uint32_t *out, npu_error *err) {
    uint32_t n = 0;
    table *t = &m->state_table;
    if (m->n_found > 1) qsort(m->found, m->n_found, sizeof *m->found, by_place);
    for (uint32_t i = 0; i < m->n_found; i++)
        if (!n || by_place(&m->found[n - 1], &m->found[i]) != 0) m->found[n++] = m->found[i];
    if (!widen(m, t, hash_state)) return no_memory(err);
    uint32_t at = (uint32_t)ways_hash(m->found, n, m->found_end) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        const state *s = &m->states[ *out = t->slots[at] - 1];
        if (s->n != n || s->may_end != m->found_end) continue;
        if (!n || !memcmp(m->ways + s->first, m->found, n * sizeof(way))) return NPU_OK;
    }
    if (m->n_states == STATES_MAX || m->n_ways > WAYS_ALL) return too_many(err);
    uint32_t before = m->states_capacity;
    if (!room(&m->states, m->n_states, &m->states_capacity, sizeof *m->states)) return no_memory(err);
    if (before != m->states_capacity) {
        uint32_t *next = realloc(m->next, (size_t)m->states_capacity * m->p->n_classes * sizeof *next);
        if (!next) return no_memory(err);
        m->next = next;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!room(&m->ways, m->n_ways + i, &m->ways_capacity, sizeof *m->ways)) return no_memory(err);
        m->ways[m->n_ways + i] = m->found[i];
    }
    memset(m->next + (size_t)m->n_states * m->p->n_classes, 0xFF, m->p->n_classes * sizeof *m->next);
    m->states[m->n_states] = (state){m->n_ways, n, UNKNOWN, m->found_end};
    m->n_ways += n;
    *out = m->n_states++;
    t->slots[at] = *out + 1;
    t->n++;
    return NPU_OK;
}

static void begin(npu__machine *m) {
    m->n_work = m->n_found = 0;
    m->found_end = false;
    clear_seen(m);
}

npu_status npu__machine_start(npu__machine *m, uint32_t *s, npu_error *err) {
    begin(m);
    NPU_TRY(add_work(m, m->p->rules[0], 0, err));
    NPU_TRY(follow_all(m, err));
    return intern(m, s, err);
}

npu_status npu__machine_step(npu__machine *m, uint32_t s, uint8_t byte, uint32_t *out, npu_error *err) {
    size_t at = (size_t)s * m->p->n_classes + m->p->classes[byte];
    if (m->next[at] != UNKNOWN) {
        *out = m->next[at];
        return NPU_OK;
    }
    begin(m);
    for (uint32_t i = 0; i < m->states[s].n; i++) {
        way w = m->ways[m->states[s].first + i];
        if (m->p->sets[m->p->code[w.place].x].bits[byte / 64] >> byte % 64 & 1)
            NPU_TRY(add_work(m, w.place + 1, w.stack, err));
    }
    NPU_TRY(follow_all(m, err));
    NPU_TRY(intern(m, out, err));
    m->next[at] = *out;
    return NPU_OK;
}

/* The same stack with counts that are far from both limits set to one value. */
static npu_status near_stack(npu__machine *m, uint32_t stack, uint32_t *out, npu_error *err) {
    uint32_t depth = m->n_work; /* the work list is the stack of frames that are not known yet */
    for (uint32_t f = stack; f && !m->near_frames[f]; f = m->frames[f].below) NPU_TRY(add_work(m, 0, f, err));
    while (m->n_work > depth) {
        uint32_t at = m->work[--m->n_work].stack, near;
        frame f = m->frames[at];
        f.below = m->near_frames[f.below];
        if (f.loop) {
            const npu__ginst *loop = &m->p->code[f.place];
            if (f.count < loop->min && loop->min - f.count > m->reach)
                f.count = 0;
            else if (f.count >= loop->min && loop->max != NPU__G_NO_LIMIT && loop->max - f.count > m->reach)
                f.count = loop->min;
        }
        NPU_TRY(push(m, f, &near, err));
        m->near_frames[at] = near;
    }
    *out = m->near_frames[stack];
    return NPU_OK;
}

npu_status npu__machine_near(npu__machine *m, uint32_t s, uint32_t *out, npu_error *err) {
    if (m->states[s].near == UNKNOWN) {
        begin(m);
        for (uint32_t i = 0; i < m->states[s].n; i++) {
            way w = m->ways[m->states[s].first + i];
            NPU_TRY(near_stack(m, w.stack, &w.stack, err));
            if (!room(&m->found, m->n_found, &m->found_capacity, sizeof w)) return no_memory(err);
            m->found[m->n_found++] = w;
        }
        m->found_end = m->states[s].may_end;
        uint32_t near;
        NPU_TRY(intern(m, &near, err));
        m->states[s].near = near;
    }
    *out = m->states[s].near;
    return NPU_OK;
}

bool npu__machine_may_end(const npu__machine *m, uint32_t s) {
    return m->states[s].may_end;
}

bool npu__machine_may_go_on(const npu__machine *m, uint32_t s) {
    return m->states[s].n != 0;
}

uint32_t npu__machine_count(const npu__machine *m) {
    return m->n_states;
}

bool npu__machine_full(const npu__machine *m) {
    return m->n_states > STATES_SOON || m->n_frames > FRAMES_SOON || m->n_ways > WAYS_ALL / 2;
}

static void empty(table *t) {
    if (t->slots) memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
    t->n = 0;
}

/* As new: the bottom frame and the dead state. */
static npu_status reset(npu__machine *m, npu_error *err) {
    m->n_frames = m->n_states = m->n_ways = 0;
    empty(&m->frame_table);
    empty(&m->state_table);
    begin(m);
    uint32_t bottom, dead;
    NPU_TRY(push(m, (frame){0, 0, 0, false}, &bottom, err));
    NPU_TRY(intern(m, &dead, err));
    m->states[dead].near = dead;
    memset(m->next, 0, m->p->n_classes * sizeof *m->next);
    return NPU_OK;
}

npu_status npu__machine_forget(npu__machine *m, uint32_t *s, npu_error *err) {
    state kept = m->states[*s];
    frame *frames = malloc(m->n_frames * sizeof *frames);
    uint32_t *renamed = calloc(m->n_frames, sizeof *renamed), n_frames = m->n_frames;
    way *ways = malloc((kept.n + 1) * sizeof *ways);
    npu_status status = frames && renamed && ways ? NPU_OK : no_memory(err);
    if (status == NPU_OK) {
        memcpy(frames, m->frames, n_frames * sizeof *frames);
        memcpy(ways, m->ways + kept.first, kept.n * sizeof *ways);
        for (uint32_t i = 0; i < kept.n; i++) /* marks the frames that are in use */
            for (uint32_t f = ways[i].stack; f && !renamed[f]; f = frames[f].below) renamed[f] = 1;
        status = reset(m, err);
    }
    for (uint32_t f = 1; f < n_frames && status == NPU_OK; f++) { /* a frame is younger than the one below it */
        if (!renamed[f]) continue;
        frame g = frames[f];
        g.below = renamed[g.below];
        status = push(m, g, &renamed[f], err);
    }
    if (status == NPU_OK) {
        begin(m);
        for (uint32_t i = 0; i < kept.n && status == NPU_OK; i++) {
            if (!room(&m->found, m->n_found, &m->found_capacity, sizeof *m->found)) status = no_memory(err);
            if (status == NPU_OK) m->found[m->n_found++] = (way){ways[i].place, renamed[ways[i].stack]};
        }
        m->found_end = kept.may_end;
        if (status == NPU_OK) status = intern(m, s, err);
    }
    free(frames);
    free(renamed);
    free(ways);
    return status;
}

npu_status npu__machine_create(const npu__program *program, uint32_t reach, npu__machine **out, npu_error *err) {
    npu__machine *m = *out = calloc(1, sizeof *m);
    if (!m) return no_memory(err);
    m->p = program;
    m->reach = reach;
    npu_status status = reset(m, err);
    if (status == NPU_OK) return NPU_OK;
    npu__machine_free(m);
    *out = NULL;
    return status;
}

void npu__machine_free(npu__machine *m) {
    if (!m) return;
    free(m->frames);
    free(m->near_frames);
    free(m->states);
    free(m->next);
    free(m->ways);
    free(m->frame_table.slots);
    free(m->state_table.slots);
    free(m->seen_table.slots);
    free(m->work);
    free(m->seen);
    free(m->found);
    free(m);
}
