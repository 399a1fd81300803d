/* The driver's part of a batch on several devices, its queues played by this test: whom it lets go when a batch can't
 * be sent on, and how long it asks the library to wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "target/hexagon/hexagon_internal.h"
#include "target/hexagon/hexagon_session_internal.h"

enum { DEVICES = 3, KEPT = 7, ROOM = NPU_HEX_DEPTH, TIMEOUT_S = 20 };

/* One batch: what each device is to get, and what comes of it. A device answers all of its parts but that it waits for
 * |waits_for|'s slot to be let go before the last one; -1: for nobody. |answers_late|: nothing comes before so many
 * messages were sent. */
typedef struct row {
    const char *what;
    uint32_t parts[DEVICES];
    int waits_for[DEVICES];
    int op_fails;          /* the device whose first part fails; -1: none */
    uint32_t write_fails;  /* the message that can't be sent, from 1 on; 0: none */
    uint32_t answers_late; /* messages */
    const char *code;
    bool signals_over; /* who is waited for lives, and signals once over what the host said in its place */
} row;

static const row *playing;
static npu_hex_target *target;
static uint64_t sent[DEVICES], answered[DEVICES];
static uint32_t n_sent, wait_us, reads_expire;
static bool has_signalled;

static uint32_t device_of(dspqueue_t queue) {
    uint32_t d = 0;
    while (target->sessions[d]->queue != queue) d++;
    return d;
}

static AEEResult write_queue(dspqueue_t queue, uint32_t flags, uint32_t n_buffers, struct dspqueue_buffer *buffers,
                             uint32_t bytes, const uint8_t *message, uint32_t us) {
    (void)flags, (void)n_buffers, (void)buffers, (void)bytes, (void)message;
    wait_us = us;
    if (++n_sent == playing->write_fails) return AEE_ECONNREFUSED;
    sent[device_of(queue)]++;
    return AEE_SUCCESS;
}

/* Whether those who wait for |device| are let go; in a row with signals_over it takes that back once. */
static bool let_go(int device) {
    npu_fence *f = (npu_fence *)(void *)target->fences->data + device;
    bool is_said = __atomic_load_n(&f->word, __ATOMIC_ACQUIRE) ==
                   npu_fence_word(npu_fence_last(target->group.next), NPU_WIRE_PEER_LOST);
    if (!is_said || !playing->signals_over || has_signalled) return is_said;
    __atomic_store_n(&f->word, npu_fence_word(target->group.next, NPU_WIRE_OK), __ATOMIC_RELEASE);
    has_signalled = true;
    return false;
}

static AEEResult read_queue(dspqueue_t queue, uint32_t *flags, uint32_t most_buffers, uint32_t *n_buffers,
                            struct dspqueue_buffer *buffers, uint32_t most_bytes, uint32_t *bytes, uint8_t *message,
                            uint32_t us) {
    uint32_t d = device_of(queue);
    (void)flags, (void)most_buffers, (void)n_buffers, (void)buffers;
    wait_us = us;
    if (reads_expire) return reads_expire--, AEE_EEXPIRED;
    if (n_sent < playing->answers_late || answered[d] == sent[d]) return AEE_EEXPIRED;
    bool waits = playing->waits_for[d] >= 0 && answered[d] + 1 == sent[d];
    if (waits && !let_go(playing->waits_for[d])) return AEE_EEXPIRED;
    uint32_t code = waits ? NPU_WIRE_PEER_LOST : NPU_WIRE_OK;
    if (playing->op_fails == (int)d) code = answered[d] ? NPU_WIRE_PEER_FAILED : NPU_WIRE_BAD_ROW_ID;
    npu_wire_response a = {.magic = NPU_WIRE_MAGIC,
                           .version = NPU_WIRE_VERSION,
                           .kind = NPU_WIRE_BATCH,
                           .sequence = ++answered[d],
                           .code = code,
                           .op = NPU_WIRE_NO_OP};
    assert_true(most_bytes >= sizeof a);
    memcpy(message, &a, sizeof a);
    *bytes = sizeof a;
    return AEE_SUCCESS;
}

static void open_set(const char *devices, const char *split, double timeout_s) {
    static const char *const two[] = {"cdsps=2", NULL};
    npu_target_params params = {
        .driver = "sim", .devices = devices, .split = split, .emu = two, .timeout_s = timeout_s};
    npu_target *t;
    npu_error err = {0};
    if (npu_target_hexagon.open(&params, NULL, NULL, &t, &err) != NPU_OK) fail_msg("%s", err.text);
    target = (npu_hex_target *)t;
}

static void play(const row *r) {
    playing = r;
    n_sent = 0;
    has_signalled = false;
    memset(sent, 0, sizeof sent);
    memset(answered, 0, sizeof answered);
    target->driver.dspqueue_write = write_queue;
    target->driver.dspqueue_read = read_queue;
}

/* Images that the batch finds as if it had been lowered before. */
static void add_images(const row *r) {
    uint32_t n = r->parts[0] + r->parts[1] + r->parts[2];
    target->images = calloc(n, sizeof *target->images);
    assert_non_null(target->images);
    for (uint32_t d = 0; d < DEVICES; d++)
        for (uint32_t i = 0; i < r->parts[d]; i++)
            target->images[target->n_images++] =
                (npu_hex_image){.id = KEPT, .buffer = target->fences, .device = d, .bytes = 8, .n_ops = 1};
    target->image_slots = n;
}

/* Who has its parts may wait for any device that has not: it must not wait for the time-out, and what is said is what
 * went wrong. */
static void lets_the_others_go(void **state) {
    static const row rows[] = {
        {"another device's op failed while there was no room",
         {ROOM + 1, ROOM + 1, ROOM + 1},
         {1, -1, -1},
         2,
         0,
         3 * ROOM,
         "htp.bad_row_id"},
        {"the same; a device that comes later is waited for",
         {ROOM + 1, ROOM + 1, ROOM + 1},
         {2, -1, -1},
         1,
         0,
         3 * ROOM,
         "htp.bad_row_id"},
        {"a device of which others have more parts can't be sent to", {3, 1, 3}, {-1, 0, -1}, -1, 5, 1, "hexagon.lost"},
        {"the device itself is waited for", {2, 2, 2}, {1, -1, -1}, -1, 5, 1, "hexagon.lost"},
        {"the same; it still signals for its first part", {2, 2, 2}, {1, -1, -1}, -1, 5, 1, "hexagon.lost", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_batch batch = {.image_id = KEPT};
        npu_event event;
        npu_error err = {0};
        open_set("0:0,0:1,1:0", "row", TIMEOUT_S);
        play(&rows[i]);
        add_images(&rows[i]);
        uint64_t start = npu_clock_us();
        npu_status status = npu_hex_group_submit(target, &batch, &event, &err);
        if (npu_clock_us() - start > TIMEOUT_S * 1000000 / 2) fail_msg("%s: too late: \"%s\"", rows[i].what, err.text);
        if (status == NPU_OK || strcmp(err.code, rows[i].code) != 0)
            fail_msg("%s: %s, \"%s\" [%s]", rows[i].what, npu_status_name(status), err.text, err.code);
        assert_int_equal(has_signalled, rows[i].signals_over);
        npu_target_hexagon.close(&target->base);
    }
}

/* A time-out that the library can't be asked for at once is not a short one. */
static void long_time_outs(void **state) {
    static const row one = {.waits_for = {-1, -1, -1}, .op_fails = -1};
    static const double seconds[] = {5000, 1e6};
    (void)state;
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        npu_error err = {0};
        uint64_t sequence;
        open_set("0:0,0:1", "row", seconds[i]);
        play(&one);
        npu_hex_request request = {.image = target->fences, .bytes = 8, .n_ops = 1};
        if (npu_hex_submit(target->session, &request, &sequence, &err) != NPU_OK) fail_msg("%s", err.text);
        assert_int_equal(wait_us, UINT32_MAX - 1);
        reads_expire = 1;
        if (npu_hex_wait(target->session, sequence, &err) != NPU_OK) fail_msg("%g: %s", seconds[i], err.text);
        assert_int_equal(wait_us, UINT32_MAX - 1);
        npu_target_hexagon.close(&target->base);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lets_the_others_go), cmocka_unit_test(long_time_outs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
