/* See machine.h: how a state follows another, byte by byte. */
#include "grammar/machine.h"

#include <stdlib.h>
#include <string.h>

#include "grammar/machine_parts.h"

static npu_status add_work(npu__machine *m, uint32_t place, uint32_t stack, npu_error *err) {
    if (!npu__machine_room(&m->work, m->n_work, &m->work_capacity, sizeof *m->work)) return npu__machine_no_memory(err);
    m->work[m->n_work++] = (npu__way){place, stack};
    return NPU_OK;
}

static npu_status go_round(npu__machine *m, npu__way w, npu_error *err) {
    const npu__ginst *loop = &m->p->code[w.place];
    npu__frame f = m->frames[w.stack];
    if (f.count >= loop->min) NPU_TRY(add_work(m, loop->x, f.below, err));
    if (f.count >= loop->max) return NPU_OK;
    if (loop->max != NPU__G_NO_LIMIT || f.count < loop->min) f.count++;
    uint32_t stack;
    NPU_TRY(npu__machine_push(m, f, &stack, err));
    return add_work(m, w.place + 1, stack, err);
}

/* Follows one npu__way until it wants a byte. */
static npu_status follow(npu__machine *m, npu__way w, npu_error *err) {
    const npu__ginst *inst = &m->p->code[w.place];
    uint32_t stack;
    switch (inst->op) {
    case NPU__G_BYTES:
        if (!npu__machine_room(&m->found, m->n_found, &m->found_capacity, sizeof w)) return npu__machine_no_memory(err);
        m->found[m->n_found++] = w;
        return NPU_OK;
    case NPU__G_SPLIT:
        NPU_TRY(add_work(m, inst->x, w.stack, err));
        return add_work(m, w.place + 1, w.stack, err);
    case NPU__G_JUMP:
        return add_work(m, inst->x, w.stack, err);
    case NPU__G_CALL:
        NPU_TRY(npu__machine_push(m, (npu__frame){w.stack, w.place + 1, 0, false}, &stack, err));
        return add_work(m, m->p->rules[inst->x], stack, err);
    case NPU__G_RETURN:
        if (w.stack == 0) {
            m->found_end = true;
            return NPU_OK;
        }
        return add_work(m, m->frames[w.stack].place, m->frames[w.stack].below, err);
    case NPU__G_ENTER:
        NPU_TRY(npu__machine_push(m, (npu__frame){w.stack, inst->x, 0, true}, &stack, err));
        return add_work(m, inst->x, stack, err);
    case NPU__G_LOOP:
        return go_round(m, w, err);
    }
    return NPU_OK;
}

static npu_status follow_all(npu__machine *m, npu_error *err) {
    while (m->n_work) {
        npu__way w = m->work[--m->n_work];
        bool fresh;
        NPU_TRY(npu__machine_is_new(m, w, &fresh, err));
        if (fresh) NPU_TRY(follow(m, w, err));
    }
    return NPU_OK;
}

static void begin(npu__machine *m) {
    m->n_work = m->n_found = 0;
    m->found_end = false;
    npu__machine_clear_seen(m);
}

npu_status npu__machine_start(npu__machine *m, uint32_t *s, npu_error *err) {
    begin(m);
    NPU_TRY(add_work(m, m->p->rules[0], 0, err));
    NPU_TRY(follow_all(m, err));
    return npu__machine_intern(m, s, err);
}

npu_status npu__machine_step(npu__machine *m, uint32_t s, uint8_t byte, uint32_t *out, npu_error *err) {
    size_t at = (size_t)s * m->p->n_classes + m->p->classes[byte];
    if (m->next[at] != NPU__UNKNOWN) {
        *out = m->next[at];
        return NPU_OK;
    }
    begin(m);
    for (uint32_t i = 0; i < m->states[s].n; i++) {
        npu__way w = m->ways[m->states[s].first + i];
        if (m->p->sets[m->p->code[w.place].x].bits[byte / 64] >> byte % 64 & 1)
            NPU_TRY(add_work(m, w.place + 1, w.stack, err));
    }
    NPU_TRY(follow_all(m, err));
    NPU_TRY(npu__machine_intern(m, out, err));
    m->next[at] = *out;
    return NPU_OK;
}

/* The same stack with counts that are far from both limits set to one value. */
static npu_status near_stack(npu__machine *m, uint32_t stack, uint32_t *out, npu_error *err) {
    uint32_t depth = m->n_work; /* the work list is the stack of frames that are not known yet */
    for (uint32_t f = stack; f && !m->near_frames[f]; f = m->frames[f].below) NPU_TRY(add_work(m, 0, f, err));
    while (m->n_work > depth) {
        uint32_t at = m->work[--m->n_work].stack, near;
        npu__frame f = m->frames[at];
        f.below = m->near_frames[f.below];
        if (f.loop) {
            const npu__ginst *loop = &m->p->code[f.place];
            if (f.count < loop->min && loop->min - f.count > m->reach)
                f.count = 0;
            else if (f.count >= loop->min && loop->max != NPU__G_NO_LIMIT && loop->max - f.count > m->reach)
                f.count = loop->min;
        }
        NPU_TRY(npu__machine_push(m, f, &near, err));
        m->near_frames[at] = near;
    }
    *out = m->near_frames[stack];
    return NPU_OK;
}

npu_status npu__machine_near(npu__machine *m, uint32_t s, uint32_t *out, npu_error *err) {
    if (m->states[s].near == NPU__UNKNOWN) {
        begin(m);
        for (uint32_t i = 0; i < m->states[s].n; i++) {
            npu__way w = m->ways[m->states[s].first + i];
            NPU_TRY(near_stack(m, w.stack, &w.stack, err));
            if (!npu__machine_room(&m->found, m->n_found, &m->found_capacity, sizeof w))
                return npu__machine_no_memory(err);
            m->found[m->n_found++] = w;
        }
        m->found_end = m->states[s].may_end;
        uint32_t near;
        NPU_TRY(npu__machine_intern(m, &near, err));
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
    return m->n_states > NPU__STATES_SOON || m->n_frames > NPU__FRAMES_SOON || m->n_ways > NPU__WAYS_ALL / 2;
}

static void empty(npu__table *t) {
    if (t->slots) memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
    t->n = 0;
}

/* As new: the bottom npu__frame and the dead state. */
static npu_status reset(npu__machine *m, npu_error *err) {
    m->n_frames = m->n_states = m->n_ways = 0;
    empty(&m->frame_table);
    empty(&m->state_table);
    begin(m);
    uint32_t bottom, dead;
    NPU_TRY(npu__machine_push(m, (npu__frame){0, 0, 0, false}, &bottom, err));
    NPU_TRY(npu__machine_intern(m, &dead, err));
    m->states[dead].near = dead;
    memset(m->next, 0, m->p->n_classes * sizeof *m->next);
    return NPU_OK;
}

npu_status npu__machine_forget(npu__machine *m, uint32_t *s, npu_error *err) {
    npu__state kept = m->states[*s];
    npu__frame *frames = malloc(m->n_frames * sizeof *frames);
    uint32_t *renamed = calloc(m->n_frames, sizeof *renamed), n_frames = m->n_frames;
    npu__way *ways = malloc((kept.n + 1) * sizeof *ways);
    npu_status status = frames && renamed && ways ? NPU_OK : npu__machine_no_memory(err);
    if (status == NPU_OK) {
        memcpy(frames, m->frames, n_frames * sizeof *frames);
        memcpy(ways, m->ways + kept.first, kept.n * sizeof *ways);
        for (uint32_t i = 0; i < kept.n; i++) /* marks the frames that are in use */
            for (uint32_t f = ways[i].stack; f && !renamed[f]; f = frames[f].below) renamed[f] = 1;
        status = reset(m, err);
    }
    for (uint32_t f = 1; f < n_frames && status == NPU_OK; f++) { /* a frame is younger than the one below it */
        if (!renamed[f]) continue;
        npu__frame g = frames[f];
        g.below = renamed[g.below];
        status = npu__machine_push(m, g, &renamed[f], err);
    }
    if (status == NPU_OK) {
        begin(m);
        for (uint32_t i = 0; i < kept.n && status == NPU_OK; i++) {
            if (!npu__machine_room(&m->found, m->n_found, &m->found_capacity, sizeof *m->found))
                status = npu__machine_no_memory(err);
            if (status == NPU_OK) m->found[m->n_found++] = (npu__way){ways[i].place, renamed[ways[i].stack]};
        }
        m->found_end = kept.may_end;
        if (status == NPU_OK) status = npu__machine_intern(m, s, err);
    }
    free(frames);
    free(renamed);
    free(ways);
    return status;
}

npu_status npu__machine_create(const npu__program *program, uint32_t reach, npu__machine **out, npu_error *err) {
    npu__machine *m = *out = calloc(1, sizeof *m);
    if (!m) return npu__machine_no_memory(err);
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
