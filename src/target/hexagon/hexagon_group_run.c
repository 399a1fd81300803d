/* Batches under way on several devices, and what is left of that when one fails. How the devices wait for each other:
 * wire/fence.h.
 *
 * A batch that fails on one device lets the others go at once: the device says so in its fence, and where it can't, the
 * host does in its place. Sessions that still answer stay; one that does not ends the whole target, as with one device.
 */
#include <string.h>

#include "target/hexagon/hexagon_internal.h"
#include "wire/guard.h"

enum { LOOK_US = 5000, GRACE_US = 100000, PIECE_ROWS = 16 };

static npu_fence *fence_of(const npu_hex_target *t, uint32_t device) {
    return (npu_fence *)(void *)t->fences->data + device;
}

/* --- waiting --- */

static void write_last_word(npu_hex_target *t, uint32_t device) {
    uint64_t word = npu_fence_word(npu_fence_last(t->group.next), t->group.last_word[device]);
    __atomic_store_n(&fence_of(t, device)->word, word, __ATOMIC_RELEASE);
}

/* Lets go everybody who waits for |device|. */
static void let_go(npu_hex_target *t, uint32_t device, uint32_t code) {
    t->group.last_word[device] = code;
    write_last_word(t, device);
}

/* A device that the host gave up may still be at work on what it was sent before, and its signals then write over what
 * the host wrote in its place. */
static void keep_last_words(npu_hex_target *t) {
    for (uint32_t d = 0; d < t->set.n && NPU_GUARD(DRIVER_LAST_WORD); d++)
        if (t->group.last_word[d] &&
            __atomic_load_n(&fence_of(t, d)->sequence, __ATOMIC_ACQUIRE) != npu_fence_last(t->group.next))
            write_last_word(t, d);
}

/* How much a failure tells of what went wrong: a lost device more than an op, that more than whoever waited for them.
 */
static int weight_of(npu_status status, const char *code) {
    if (!strcmp(code, "htp.peer_failed") || !strcmp(code, "htp.peer_lost")) return 1;
    if (!strcmp(code, "htp.no_fence")) return 2;
    return status == NPU_TIMEOUT || status == NPU_DEVICE_LOST ? 4 : 3;
}

static void note_failure(npu_hex_target *t, npu_status status, const npu_error *err) {
    npu_error *r = &t->group.result;
    if (status == NPU_OK || (r->status != NPU_OK && weight_of(r->status, r->code) >= weight_of(status, err->code)))
        return;
    *r = *err;
    r->status = status;
}

/* What |device| said of what it was sent, as far as it has said something. */
static void take_results(npu_hex_target *t, uint32_t device) {
    npu_hex_group *g = &t->group;
    uint64_t answered = npu_hex_session_answered(t->sessions[device]);
    if (t->tracers[device] && answered >= g->first[device]) npu_hex_tracer_collect(t->tracers[device]);
    for (; g->first[device] <= answered; g->first[device]++) {
        npu_error here = {0};
        uint32_t code = NPU_WIRE_OK;
        npu_status status = npu_hex_result(t->sessions[device], g->first[device], &code, &here);
        note_failure(t, status, &here);
        if (status != NPU_OK) let_go(t, device, code ? code : NPU_WIRE_PEER_LOST);
    }
    if (answered >= g->last[device]) g->last[device] = 0;
}

/* What is lost answers nothing more. */
static void give_device_up(npu_hex_target *t, uint32_t device, npu_status status, const npu_error *err) {
    note_failure(t, status, err);
    let_go(t, device, NPU_WIRE_PEER_LOST);
    t->group.last[device] = 0;
}

/* Takes what has come; true when nothing is left to come. */
static bool look(npu_hex_target *t) {
    npu_hex_group *g = &t->group;
    bool waits = false;
    for (uint32_t d = 0; d < t->set.n; d++) {
        bool done;
        npu_error here = {0};
        if (!g->last[d]) continue;
        npu_status status = npu_hex_look(t->sessions[d], g->last[d], waits ? 0 : LOOK_US, &done, &here);
        take_results(t, d);
        if (status != NPU_OK) give_device_up(t, d, status, &here);
        waits |= status == NPU_OK && !done;
    }
    keep_last_words(t);
    return !waits;
}

/* Time is up. Those who only wait for another device are let go and get a moment to say so; who then still says nothing
 * is lost. */
static void give_up(npu_hex_target *t) {
    npu_hex_group *g = &t->group;
    bool done = false;
    for (uint32_t d = 0; d < t->set.n; d++)
        if (g->last[d]) let_go(t, d, NPU_WIRE_PEER_LOST);
    for (uint64_t until = npu_hex_session_clock_us(t->session) + GRACE_US;
         !done && npu_hex_session_clock_us(t->session) < until;)
        done = look(t);
    for (uint32_t d = 0; d < t->set.n; d++) {
        npu_error here = {0};
        if (!g->last[d]) continue;
        note_failure(t, npu_hex_give_up(t->sessions[d], &here), &here);
        g->last[d] = 0;
    }
    npu_error late = {0}; /* none is lost: they were slow */
    npu_fail(&late, NPU_TIMEOUT, "hexagon.timeout", "%u devices did not finish a batch within %g s", t->set.n,
             (double)npu_hex_session_timeout_us(t->session) / 1e6);
    note_failure(t, NPU_TIMEOUT, &late);
}

/* --- sending --- */

/* As many requests can be under way as there are places for answers. All devices are looked at meanwhile: the one that
 * is waited for may wait for another, which has failed. */
static npu_status make_room(npu_hex_target *t, uint32_t device) {
    npu_hex_group *g = &t->group;
    while (g->last[device] && g->last[device] - g->first[device] + 1 >= NPU_HEX_DEPTH) {
        (void)look(t);
        if (npu_hex_session_clock_us(t->session) >= g->until_us) give_up(t);
    }
    return g->result.status;
}

/* Sends one image to its device. What can't be sent is waited for by those who have their part already: they are let go
 * at once. */
static npu_status send(npu_hex_target *t, const npu_hex_image *m, const npu_step *step, uint32_t number) {
    npu_hex_group *g = &t->group;
    uint64_t sequence;
    npu_error here = {0};
    npu_hex_request request = npu_hex_request_of(m, step);
    request.fence = number;
    request.has_peers = true;
    NPU_TRY(make_room(t, m->device));
    npu_status status = npu_hex_submit(t->sessions[m->device], &request, &sequence, &here);
    if (status != NPU_OK) {
        give_device_up(t, m->device, status, &here);
        return status;
    }
    if (!g->last[m->device]) g->first[m->device] = sequence;
    g->last[m->device] = sequence;
    if (t->tracers[m->device]) npu_hex_tracer_sent(t->tracers[m->device], sequence, g->batch, m->first_op, m->n_ops);
    return NPU_OK;
}

/* How many of its rows a step takes at a time, so that the devices of a split by layers work at the same time; a
 * multiple of |unit|. */
static uint32_t rows_at_a_time(const npu_hex_target *t, const npu_hex_image *images, uint32_t n, uint32_t rows,
                               uint32_t unit) {
    uint32_t each[NPU_HEX_DEVICES] = {0}, last[NPU_HEX_DEVICES] = {0};
    uint32_t most = rows <= NPU_HEX_DECODE_ROWS ? t->set.n : 2 * t->set.n;
    uint32_t pieces = rows <= NPU_HEX_DECODE_ROWS ? rows : (rows + PIECE_ROWS - 1) / PIECE_ROWS;
    for (uint32_t i = 0; i < n; i++)
        ++*(images[i].pass == NPU_HEX_PASS_ROWS ? &each[images[i].device] : &last[images[i].device]);
    if (pieces > most) pieces = most;
    for (uint32_t d = 0; d < t->set.n; d++) /* no more requests than can be under way */
        while (pieces > 1 && pieces * each[d] + last[d] > NPU_HEX_DEPTH) pieces--;
    return pieces > 1 ? ((rows + pieces - 1) / pieces + unit - 1) / unit * unit : rows;
}

/* A number for each program, in the order in which they are sent: each waits for the one before. */
static npu_status send_layers(npu_hex_target *t, const npu_hex_image *images, uint32_t n, const npu_step *step) {
    uint32_t rows = step->rows[NPU_ROWS_STEP], number = t->group.next, split = 0;
    while (split < n && images[split].pass == NPU_HEX_PASS_ROWS) split++;
    uint32_t unit = split ? images[0].part_rows : 0, each = unit ? rows_at_a_time(t, images, n, rows, unit) : rows;
    for (uint32_t first = 0; split && (first < rows || !first); first += each ? each : 1) {
        npu_step part = *step;
        part.first = first;
        part.rows[NPU_ROWS_STEP] = rows - first < each ? rows - first : each;
        for (uint32_t i = 0; i < split; i++) NPU_TRY(send(t, &images[i], &part, number += !images[i].goes_on));
    }
    for (uint32_t i = split; i < n; i++) NPU_TRY(send(t, &images[i], step, number += !images[i].goes_on));
    return NPU_OK;
}

/* The device's next image from |i| on, or |n|. */
static uint32_t find_image(const npu_hex_image *images, uint32_t n, uint32_t i, uint32_t device) {
    while (i < n && images[i].device != device) i++;
    return i;
}

/* Every device gets its parts of the batch, numbered from the same fence; parts in turn, so that no device waits for
 * one whose part was not sent yet. When no more are sent, those who have theirs may wait for any device that does not
 * have all of its own. */
static npu_status send_rows(npu_hex_target *t, const npu_hex_image *images, uint32_t n, const npu_step *step) {
    uint32_t next[NPU_HEX_DEVICES] = {0}, sent = 0;
    npu_status status = NPU_OK;
    while (sent < n && status == NPU_OK)
        for (uint32_t d = 0; d < t->set.n && status == NPU_OK; d++) {
            next[d] = find_image(images, n, next[d], d);
            if (next[d] == n) continue;
            status = send(t, &images[next[d]], step, t->group.next);
            if (status != NPU_OK) continue;
            next[d]++;
            sent++;
        }
    for (uint32_t d = 0; d < t->set.n && status != NPU_OK; d++)
        if (find_image(images, n, next[d], d) < n && !t->group.last_word[d]) let_go(t, d, NPU_WIRE_PEER_LOST);
    return status;
}

/* What fails after something was sent is known when that has come to its end. */
static void begin(npu_hex_target *t) {
    npu_hex_group *g = &t->group;
    memset(g->last, 0, sizeof g->last);
    memset(g->last_word, 0, sizeof g->last_word);
    memset(&g->result, 0, sizeof g->result);
    g->batches++;
    /* Nobody is at work: what is in the slots is of batches before, and the oldest is not to come round again. */
    for (uint32_t d = 0; d < NPU_FENCE_SLOTS; d++)
        __atomic_store_n(&fence_of(t, d)->word, npu_fence_word(g->next, NPU_WIRE_OK), __ATOMIC_RELEASE);
    g->under_way = true;
    g->until_us = npu_hex_session_clock_us(t->session) + npu_hex_session_timeout_us(t->session);
}

npu_status npu_hex_group_submit(npu_hex_target *t, const npu_batch *batch, npu_event *event, npu_error *err) {
    const npu_hex_image *images;
    npu_hex_group *g = &t->group;
    uint32_t n;
    if (g->under_way) (void)npu_hex_group_wait(t, g->batches, NULL);
    for (uint32_t d = 0; d < t->set.n; d++)
        if (npu_hex_session_lost(t->sessions[d]))
            return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "%s is lost, and with it its group",
                            npu_hex_session_name(t->sessions[d]));
    NPU_TRY(npu_hex_lower(t, batch, &images, &n, err));
    begin(t);
    g->batch = batch;
    *event = (npu_event){t->session_id, g->batches};
    npu_status status =
        t->set.split == NPU_HEX_LAYER ? send_layers(t, images, n, &batch->step) : send_rows(t, images, n, &batch->step);
    return status == NPU_OK ? NPU_OK : npu_hex_group_wait(t, g->batches, err);
}

npu_status npu_hex_group_wait(npu_hex_target *t, uint64_t batch, npu_error *err) {
    npu_hex_group *g = &t->group;
    if (!batch || batch != g->batches)
        return npu_fail(err, NPU_INVALID, "hexagon.event", "batch %llu is not the last one", (unsigned long long)batch);
    if (g->under_way) {
        while (!look(t))
            if (npu_hex_session_clock_us(t->session) >= g->until_us) {
                give_up(t);
                break;
            }
        g->next += NPU_FENCE_MOST;
        g->under_way = false;
    }
    if (g->result.status != NPU_OK && err) *err = g->result;
    return g->result.status;
}
