/* A hostile NPU: answers that are mutated, cut, doubled, late, in another order or random never make the host touch
 * memory that is not its own (guard bytes, sanitizers), never count as success for a batch that did not succeed, and
 * leave the session either good or lost by name. Loopback, with a packet queue of this test's own in between. */
#include "loopback_queue.h"

/* --- sessions --- */

typedef struct fixture {
    npu_hex_session *session;
    npu_hex_buffer *arena, *image;
    npu_hex_buffer *fences; /* NULL: there are no other devices */
    uint32_t bytes;
    uint32_t fence;
} fixture;

/* y = x + x, or y = table[ids] with an id that is outside (|bad|). With fences it signals number 1 at its end. */
static void write_image(fixture *f, bool bad) {
    npu_tensor t[3] = {{.ne = {VALUES, 2, 1, 1}, .nb = {4, VALUES * 4, VALUES * 8, VALUES * 8}, .type = NPU_TYPE_F32}};
    npu_op op;
    memset(&op, 0, sizeof op);
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    t[1] = t[2] = t[0];
    t[1].offset = 4096;
    t[2] = (npu_tensor){.ne = {2, 1, 1, 1}, .nb = {4, 8, 8, 8}, .offset = 8192, .type = 26};
    op.code = bad ? NPU_OP_GET_ROWS : NPU_OP_ADD;
    op.src[0] = 0, op.src[1] = bad ? 2 : 0, op.dst[0] = 1;
    assert_null(npu_opplan_make(&op, t, npu_hex_session_hw(f->session), op.kernel));
    ((int32_t *)(void *)(f->arena->data + 8192))[1] = 2;
    npu_wire_buffer b[2] = {{f->arena->fd, NPU_WIRE_BUFFER_PINNED, f->arena->bytes}};
    npu_wire_sync signal = {.op = 1, .kind = NPU_SYNC_SIGNAL, .number = 1};
    npu_wire_image h = {.magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .header_bytes = sizeof h};
    h.n_buffers = 1, h.n_tensors = 3, h.n_ops = 1;
    if (f->fences) {
        b[h.n_buffers++] = (npu_wire_buffer){f->fences->fd, NPU_WIRE_BUFFER_PINNED, f->fences->bytes};
        h.features = NPU_WIRE_HAS_SYNCS;
        h.n_syncs = 1, h.fence_buffer = 1, h.fence_slot = 3;
    }
    h.buffer_bytes = sizeof b[0], h.tensor_bytes = sizeof t[0], h.op_bytes = sizeof op;
    h.buffers_at = sizeof h, h.tensors_at = h.buffers_at + sizeof b, h.ops_at = h.tensors_at + sizeof t;
    h.total_bytes = h.ops_at + (uint32_t)sizeof op;
    if (f->fences) h.syncs_at = h.total_bytes;
    h.total_bytes = f->bytes = h.total_bytes + h.n_syncs * (uint32_t)sizeof signal;
    memcpy(f->image->data, &h, sizeof h);
    memcpy(f->image->data + h.buffers_at, b, sizeof b);
    memcpy(f->image->data + h.tensors_at, t, sizeof t);
    memcpy(f->image->data + h.ops_at, &op, sizeof op);
    if (f->fences) memcpy(f->image->data + h.syncs_at, &signal, sizeof signal);
}

static void open_session(fixture *f) {
    npu_target_params params = {.driver = "sim", .timeout_s = 0.001}; /* an empty queue says so at once */
    npu_error err = {0};
    if (npu_hex_session_open(&driver, &params, &f->session, &err)) fail_msg("%s", err.text);
    assert_int_equal(npu_hex_buffer_alloc(f->session, ARENA, true, &f->arena, &err), NPU_OK);
    assert_int_equal(npu_hex_buffer_alloc(f->session, ARENA, true, &f->image, &err), NPU_OK);
}

static npu_status submit(fixture *f, bool goes_on, uint64_t *sequence, npu_error *err) {
    npu_hex_request r = {.image = f->image, .bytes = f->bytes, .n_ops = 1, .goes_on = goes_on};
    r.has_peers = f->fences != NULL;
    r.fence = f->fence;
    return npu_hex_submit(f->session, &r, sequence, err);
}

static void is_named(npu_status status, const npu_error *err) {
    if (status == NPU_OK) return;
    if (!err->code[0] || !err->text[0]) fail_msg("status %s without a name", npu_status_name(status));
}

static void answers_are_not_believed(void **state) {
    (void)state;
    uint32_t ok = 0, lost = 0, failed = 0;
    fixture f = {0};
    for (int i = 0; i < 6000; i++) {
        npu_error err = {0};
        uint64_t sequence;
        if (!f.session) open_session(&f);
        bool bad = rnd() % 2;
        honest = rnd() % 4 == 0;
        write_image(&f, bad);
        npu_status status = submit(&f, false, &sequence, &err);
        if (status == NPU_OK) status = npu_hex_wait(f.session, sequence, &err);
        is_named(status, &err);
        if (honest && status != NPU_OK && status != NPU_RANGE && status != NPU_DEVICE_LOST)
            fail_msg("an honest answer: %s", err.text);
        ok += status == NPU_OK;
        failed += status != NPU_OK && status != NPU_DEVICE_LOST && status != NPU_TIMEOUT;
        /* A second answer of the batch before must not pass for this one's. */
        if (status == NPU_OK && honest && truth.code != NPU_WIRE_OK) fail_msg("batch %d: a failure became success", i);
        if (status != NPU_DEVICE_LOST && status != NPU_TIMEOUT) continue;
        lost++;
        assert_int_not_equal(submit(&f, false, &sequence, NULL), NPU_OK); /* a lost session stays lost */
        npu_hex_session_close(f.session);
        f = (fixture){0};
    }
    npu_hex_session_close(f.session);
    printf("%u ok, %u failures reported, %u sessions lost\n", ok, failed, lost);
    assert_true(lost > 1000 && ok > 500);
}

/* A part that fails makes the whole batch fail, also when its later parts are fine. */
static void parts_fail_together(void **state) {
    (void)state;
    fixture f = {0};
    npu_error err = {0};
    uint64_t first, last;
    honest = true;
    open_session(&f);
    for (int parts = 1; parts < 60; parts++) {
        write_image(&f, true);
        assert_int_equal(submit(&f, false, &first, &err), NPU_OK);
        write_image(&f, false);
        for (int i = 1; i < parts; i++) assert_int_equal(submit(&f, true, &last, &err), NPU_OK);
        assert_int_equal(npu_hex_wait(f.session, parts > 1 ? last : first, &err), NPU_RANGE);
        assert_string_equal(err.code, "htp.bad_row_id");
        assert_int_equal(submit(&f, false, &last, &err), NPU_OK);
        assert_int_equal(npu_hex_wait(f.session, last, &err), NPU_OK);
    }
    npu_hex_session_close(f.session);
}

/* Who waits for this device may look late: a failure stays in its fence, whatever else is sent of the batch, and
 * nothing more of that runs. The next batch begins anew. */
static void failure_is_the_last_word(void **state) {
    (void)state;
    fixture f = {0};
    npu_error err = {0};
    uint64_t first, second;
    honest = true;
    open_session(&f);
    assert_int_equal(npu_hex_buffer_alloc(f.session, ARENA, true, &f.fences, &err), NPU_OK);
    const volatile npu_fence *fence = (const npu_fence *)(const void *)f.fences->data + 3;
    for (uint32_t batch = 0; batch < 4; batch++) { /* numbers wrap in the first */
        f.fence = NPU_FENCE_FIRST + batch * NPU_FENCE_MOST;
        write_image(&f, true);
        assert_int_equal(submit(&f, false, &first, &err), NPU_OK);
        assert_int_equal(npu_hex_wait(f.session, first, &err), NPU_RANGE);
        f.fence += 5;
        write_image(&f, false);
        memset(f.arena->data + 4096, 0x77, 8);
        assert_int_equal(submit(&f, false, &second, &err), NPU_OK);
        assert_int_not_equal(npu_hex_wait(f.session, second, &err), NPU_OK);
        assert_string_equal(err.code, "htp.peer_failed");
        assert_int_equal(f.arena->data[4096], 0x77);
        assert_int_equal(fence->sequence, NPU_FENCE_FIRST + (batch + 1) * NPU_FENCE_MOST - 1);
        assert_int_equal(fence->status, NPU_WIRE_BAD_ROW_ID);
    }
    f.fence = NPU_FENCE_FIRST + 4 * NPU_FENCE_MOST;
    assert_int_equal(submit(&f, false, &first, &err), NPU_OK);
    assert_int_equal(npu_hex_wait(f.session, first, &err), NPU_OK);
    assert_int_equal(f.arena->data[4096], 0);
    assert_int_equal(fence->sequence, NPU_FENCE_FIRST + 4 * NPU_FENCE_MOST + 1);
    assert_int_equal(fence->status, NPU_WIRE_OK);
    npu_hex_session_close(f.session);
}

static void events_must_exist(void **state) {
    (void)state;
    fixture f = {0};
    npu_error err = {0};
    uint64_t sequence = 0;
    honest = true;
    open_session(&f);
    write_image(&f, false);
    assert_int_equal(npu_hex_wait(f.session, 0, &err), NPU_INVALID);
    assert_int_equal(npu_hex_wait(f.session, 1, &err), NPU_INVALID);
    for (int i = 0; i < 40; i++) assert_int_equal(submit(&f, false, &sequence, &err), NPU_OK);
    assert_int_equal(npu_hex_wait(f.session, sequence, &err), NPU_OK);
    assert_int_equal(npu_hex_wait(f.session, sequence - 3, &err), NPU_OK);
    assert_int_equal(npu_hex_wait(f.session, 1, &err), NPU_INVALID); /* its answer is forgotten */
    assert_int_equal(npu_hex_wait(f.session, sequence + 1, &err), NPU_INVALID);
    npu_hex_session_close(f.session);
}

/* Answers that did not come, or came out of turn, lose the session; no batch gets another's. */
static void answers_come_in_order(void **state) {
    (void)state;
    static const struct {
        uint32_t n, which[2]; /* of the answers to a batch that fails and to a sound one */
    } come[] = {{1, {1, 0}}, {2, {1, 0}}, {2, {0, 0}}};
    for (size_t i = 0; i < sizeof come / sizeof come[0]; i++) {
        fixture f = {0};
        npu_error err = {0};
        uint64_t first, second;
        honest = true;
        open_session(&f);
        write_image(&f, true);
        assert_int_equal(submit(&f, false, &first, &err), NPU_OK);
        write_image(&f, false);
        assert_int_equal(submit(&f, false, &second, &err), NPU_OK);
        packet both[2] = {queue[0], queue[1]};
        for (queued = 0; queued < come[i].n; queued++) queue[queued] = both[come[i].which[queued]];
        assert_int_equal(npu_hex_wait(f.session, first, &err), come[i].which[0] ? NPU_DEVICE_LOST : NPU_RANGE);
        assert_int_equal(npu_hex_wait(f.session, second, &err), NPU_DEVICE_LOST);
        npu_hex_session_close(f.session);
    }
}

/* The rings have room for so many answers. */
static void no_more_than_the_rings_hold(void **state) {
    (void)state;
    fixture f = {0};
    npu_error err = {0};
    uint64_t sequence = 0;
    honest = true;
    open_session(&f);
    write_image(&f, false);
    for (int i = 0; i < 2 * QUEUE; i++) {
        assert_int_equal(submit(&f, false, &sequence, &err), NPU_OK);
        assert_true(queued <= NPU_HEX_DEPTH);
    }
    assert_int_equal(npu_hex_wait(f.session, sequence, &err), NPU_OK);
    npu_hex_session_close(f.session);
}

/* A buffer that is given back: the NPU program lets it go before the library does. Of a session that is lost nothing is
 * given back while its process, which may still write there, is not known to have ended. */
static void buffers_go_last(void **state) {
    (void)state;
    fixture f = {0};
    npu_error err = {0};
    uint64_t sequence;
    honest = true;
    open_session(&f);
    n_deeds = 0;
    npu_hex_buffer_free(f.arena);
    assert_string_equal(deeds, "muf");
    assert_int_equal(npu_hex_buffer_alloc(f.session, ARENA, true, &f.arena, &err), NPU_OK);
    write_image(&f, false);
    assert_int_equal(submit(&f, false, &sequence, &err), NPU_OK);
    queue[0].says = 1;
    n_deeds = 0, deeds[0] = 0;
    assert_int_equal(npu_hex_wait(f.session, sequence, &err), NPU_DEVICE_LOST);
    assert_int_equal(submit(&f, false, &sequence, &err), NPU_DEVICE_LOST);
    npu_hex_buffer_free(f.arena);
    assert_string_equal(deeds, "");
    npu_hex_session_close(f.session);
    assert_int_equal(deeds[0], 'c');
    assert_int_equal(strspn(deeds + 1, "uf"), strlen(deeds) - 1);
    assert_true(strlen(deeds) >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_not_believed), cmocka_unit_test(parts_fail_together),
        cmocka_unit_test(failure_is_the_last_word), cmocka_unit_test(events_must_exist),
        cmocka_unit_test(answers_come_in_order),    cmocka_unit_test(no_more_than_the_rings_hold),
        cmocka_unit_test(buffers_go_last)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
