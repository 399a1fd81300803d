/* The frames, ways and states of a machine: equal ones are one, found by hash tables. */
#include <stdlib.h>
#include <string.h>

#include "grammar/machine_parts.h"

bool npu__machine_room(void *list, uint32_t n, uint32_t *capacity, size_t item) {
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

static uint64_t frame_hash(const npu__frame *f) {
    return mix(mix(f->below, f->place), (uint64_t)f->count << 1 | f->loop);
}

static uint64_t ways_hash(const npu__way *ways, uint32_t n, bool may_end) {
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

/* Makes room in a npu__table for one more. */
static bool widen(npu__machine *m, npu__table *t, hash_of *hash) {
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

npu_status npu__machine_push(npu__machine *m, npu__frame f, uint32_t *out, npu_error *err) {
    npu__table *t = &m->frame_table;
    if (!widen(m, t, hash_frame)) return npu__machine_no_memory(err);
    uint32_t at = (uint32_t)frame_hash(&f) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        const npu__frame *g = &m->frames[t->slots[at] - 1];
        if (g->below == f.below && g->place == f.place && g->count == f.count && g->loop == f.loop) {
            *out = t->slots[at] - 1;
            return NPU_OK;
        }
    }
    if (m->n_frames == NPU__FRAMES_MAX) return npu__machine_too_many(err);
    uint32_t before = m->frames_capacity;
    if (!npu__machine_room(&m->frames, m->n_frames, &m->frames_capacity, sizeof f)) return npu__machine_no_memory(err);
    if (before != m->frames_capacity) {
        uint32_t *near = realloc(m->near_frames, m->frames_capacity * sizeof *near);
        if (!near) return npu__machine_no_memory(err);
        m->near_frames = near;
    }
    m->frames[m->n_frames] = f;
    m->near_frames[m->n_frames] = 0;
    *out = m->n_frames++;
    t->slots[at] = *out + 1;
    t->n++;
    return NPU_OK;
}

/* Whether this npu__way was not followed yet in this step; then it is marked so. */
npu_status npu__machine_is_new(npu__machine *m, npu__way w, bool *fresh, npu_error *err) {
    npu__table *t = &m->seen_table;
    if (!widen(m, t, hash_seen)) return npu__machine_no_memory(err);
    uint32_t at = (uint32_t)ways_hash(&w, 1, false) & t->mask;
    *fresh = false;
    for (; t->slots[at]; at = (at + 1) & t->mask)
        if (m->seen[t->slots[at] - 1].place == w.place && m->seen[t->slots[at] - 1].stack == w.stack) return NPU_OK;
    if (m->n_seen == NPU__WAYS_MAX) return npu__machine_too_many(err);
    if (!npu__machine_room(&m->seen, m->n_seen, &m->seen_capacity, sizeof w)) return npu__machine_no_memory(err);
    m->seen[m->n_seen++] = w;
    t->slots[at] = m->n_seen;
    t->n++;
    *fresh = true;
    return NPU_OK;
}

/* Empties the marks; only the slots in use, as most steps mark few. */
void npu__machine_clear_seen(npu__machine *m) {
    npu__table *t = &m->seen_table;
    if (m->n_seen * 4 > t->mask) {
        if (t->slots) memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
    } else {
        for (uint32_t i = 0; i < m->n_seen; i++) {
            uint32_t at = (uint32_t)hash_seen(m, i) & t->mask;
            while (t->slots[at] != i + 1) at = (at + 1) & t->mask;
            t->slots[at] = NPU__UNKNOWN; /* keeps the chains whole until all are found */
        }
        for (uint32_t i = 0; i < m->n_seen; i++)
            for (uint32_t at = (uint32_t)hash_seen(m, i) & t->mask; t->slots[at] == NPU__UNKNOWN;
                 at = (at + 1) & t->mask)
                t->slots[at] = 0;
    }
    t->n = m->n_seen = 0;
}

static int by_place(const void *a, const void *b) {
    const npu__way *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The npu__state that has the ways found, which may repeat. */
npu_status npu__machine_intern(npu__machine *m, uint32_t *out, npu_error *err) {
    uint32_t n = 0;
    npu__table *t = &m->state_table;
    if (m->n_found > 1) qsort(m->found, m->n_found, sizeof *m->found, by_place);
    for (uint32_t i = 0; i < m->n_found; i++)
        if (!n || by_place(&m->found[n - 1], &m->found[i]) != 0) m->found[n++] = m->found[i];
    if (!widen(m, t, hash_state)) return npu__machine_no_memory(err);
    uint32_t at = (uint32_t)ways_hash(m->found, n, m->found_end) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        const npu__state *s = &m->states[ *out = t->slots[at] - 1];
        if (s->n != n || s->may_end != m->found_end) continue;
        if (!n || !memcmp(m->ways + s->first, m->found, n * sizeof(npu__way))) return NPU_OK;
    }
    if (m->n_states == NPU__STATES_MAX || m->n_ways > NPU__WAYS_ALL) return npu__machine_too_many(err);
    uint32_t before = m->states_capacity;
    if (!npu__machine_room(&m->states, m->n_states, &m->states_capacity, sizeof *m->states))
        return npu__machine_no_memory(err);
    if (before != m->states_capacity) {
        uint32_t *next = realloc(m->next, (size_t)m->states_capacity * m->p->n_classes * sizeof *next);
        if (!next) return npu__machine_no_memory(err);
        m->next = next;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!npu__machine_room(&m->ways, m->n_ways + i, &m->ways_capacity, sizeof *m->ways))
            return npu__machine_no_memory(err);
        m->ways[m->n_ways + i] = m->found[i];
    }
    memset(m->next + (size_t)m->n_states * m->p->n_classes, 0xFF, m->p->n_classes * sizeof *m->next);
    m->states[m->n_states] = (npu__state){m->n_ways, n, NPU__UNKNOWN, m->found_end};
    m->n_ways += n;
    *out = m->n_states++;
    t->slots[at] = *out + 1;
    t->n++;
    return NPU_OK;
}
