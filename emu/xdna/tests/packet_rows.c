// Packets, submits and configurations that are wrong.
#include "rows.h"

#include <errno.h>
#include <string.h>

// A submit whose packet |spoil| changed is taken, waits well, and leaves the command as it was.
static uint32_t spoilt(void (*spoil)(struct kit_run *r, uint32_t *words), bool stays) {
    struct kit k;
    struct kit_run r;
    kit_set("watchdog", "1000");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    uint32_t *w = (uint32_t *)(void *)r.cmd[0].data;
    w[0] = AMDXDNA_CMD_HEADER((uint32_t)AMDXDNA_STATE_NEW, 16u, (uint32_t)AMDXDNA_START_CU);
    w[1] = 1, w[2] = 3, w[4] = (uint32_t)r.insts.address, w[6] = 40;
    const uint64_t at[] = {r.a.address, r.b.address, r.c.address};
    memcpy(w + 7, at, sizeof at);
    spoil(&r, w);
    uint32_t list[] = {r.a.handle, r.b.handle, r.c.handle};
    struct amdxdna_exec_cmd exec = {.hwctx = r.context,
                                    .cmd_handles = r.cmd[0].handle,
                                    .args = (uint64_t)(uintptr_t)list,
                                    .cmd_count = 1,
                                    .arg_count = 3};
    assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &exec), 0);
    assert_int_equal(kit_wait(&r, exec.seq, 30000), 0);
    uint32_t result = kit_state(&r, 0);
    if (stays) assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED); // the context is as good as before
    kit_run_close(&r);
    kit_close(&k);
    return result;
}

static void nothing(struct kit_run *r, uint32_t *w) {
    (void)r, (void)w;
}
static void bad_opcode(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[0] |= 18u << 23;
}
static void no_unit(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[1] = 0;
}
static void unit_not_there(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[1] = 2;
}
static void count_past_the_buffer(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[0] = AMDXDNA_CMD_HEADER((uint32_t)AMDXDNA_STATE_NEW, 1024u, 0u);
}
static void other_first_argument(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[2] = 4;
}
static void address_of_nothing(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[10] += 1;
}
static void buffer_not_listed(struct kit_run *r, uint32_t *w) {
    memcpy(w + 7, &r->cmd[1].address, 8);
}
static void instructions_elsewhere(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[4] = 0x1000;
}
static void address_near_the_end(struct kit_run *r, uint32_t *w) {
    (void)r;
    w[11] += 64;
}
static void stream_too_long(struct kit_run *r, uint32_t *w) {
    (void)w;
    ((uint32_t *)(void *)r->insts.data)[2] = 4;
    kit_flush(r->kit, &r->insts);
}
static void stream_patches_too_much(struct kit_run *r, uint32_t *w) {
    (void)w;
    ((uint32_t *)(void *)r->insts.data)[12] = 3;
    kit_flush(r->kit, &r->insts);
}
static void no_kernel(struct kit_run *r, uint32_t *w) {
    (void)w;
    r->pdi.data[3] = '?';
    kit_flush(r->kit, &r->pdi);
}
static void other_generation(struct kit_run *r, uint32_t *w) {
    (void)w;
    ((uint32_t *)(void *)r->insts.data)[0] = 0x06030100;
    kit_flush(r->kit, &r->insts);
}

static void wrong_packets(void **state) {
    static const struct {
        void (*spoil)(struct kit_run *r, uint32_t *words);
        uint32_t state;
        bool stays;
    } rows[] = {{nothing, AMDXDNA_STATE_COMPLETED, true},
                {bad_opcode, AMDXDNA_STATE_NEW, true},
                {no_unit, AMDXDNA_STATE_NEW, true},
                {unit_not_there, AMDXDNA_STATE_NEW, true},
                {count_past_the_buffer, AMDXDNA_STATE_NEW, true},
                {other_first_argument, AMDXDNA_STATE_NEW, true},
                {address_of_nothing, AMDXDNA_STATE_TIMEOUT, true},
                {buffer_not_listed, AMDXDNA_STATE_TIMEOUT, true},
                {instructions_elsewhere, AMDXDNA_STATE_TIMEOUT, true},
                {address_near_the_end, AMDXDNA_STATE_ERROR, true},
                {stream_too_long, AMDXDNA_STATE_ERROR, false},
                {stream_patches_too_much, AMDXDNA_STATE_ERROR, false},
                {no_kernel, AMDXDNA_STATE_ERROR, false},
                {other_generation, AMDXDNA_STATE_TIMEOUT, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t got = spoilt(rows[i].spoil, rows[i].stays);
        if (got != rows[i].state) fail_msg("row %zu: state %u, not %u", i, got, rows[i].state);
    }
}

static void refused_submits(void **state) {
    struct kit k;
    struct kit_run r;
    (void)state;
    for (int old = 0; old < 2; old++) {
        kit_set("kernel", old ? "6.14" : "7.0");
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        uint32_t list[] = {r.a.handle}, cmd_list[] = {r.cmd[1].handle}, bad_list[] = {999};
        const struct amdxdna_exec_cmd good = {.hwctx = r.context,
                                              .cmd_handles = r.cmd[0].handle,
                                              .args = (uint64_t)(uintptr_t)list,
                                              .cmd_count = 1,
                                              .arg_count = 1};
        struct amdxdna_exec_cmd e = good;
        e.hwctx = 77;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), EINVAL);
        e = good, e.type = 1;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), EINVAL);
        e = good, e.cmd_count = 2;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), EINVAL);
        e = good, e.arg_count = 4096;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), EINVAL);
        e = good, e.cmd_handles = r.a.handle;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), EINVAL);
        e = good, e.args = (uint64_t)(uintptr_t)bad_list;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), ENOENT);
        e = good, e.args = 0;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), EFAULT);
        e = good, e.args = (uint64_t)(uintptr_t)cmd_list;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), old ? EOPNOTSUPP : 0);
        e = good, e.arg_count = 0;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), old ? EINVAL : 0);
        uint32_t bare, syncobj;
        assert_int_equal(kit_context(&k, 1, &bare, &syncobj), 0);
        e = good, e.hwctx = bare;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_EXEC_CMD, &e), old ? EINVAL : 0);
        kit_run_close(&r);
        kit_close(&k);
    }
}

static void kernel_configuration(void **state) {
    struct kit k;
    struct kit_run r;
    (void)state;
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    uint32_t context, syncobj;
    assert_int_equal(kit_context(&k, 1, &context, &syncobj), 0);
    struct amdxdna_config_cu cu = {.count = 1, .cus = {{.bo = r.a.handle}}};
    struct amdxdna_config_hwctx good = {context, AMDXDNA_CONFIG_CU, (uint64_t)(uintptr_t)&cu, 16, 0}, c = good;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), EINVAL); // not in the heap
    cu.cus[0].bo = r.pdi.handle;
    c.value_bytes = 8;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), EINVAL);
    c.value_bytes = 5000;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), E2BIG);
    c = good, c.value = 0;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), EFAULT);
    c = good, c.param = 7;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), EINVAL);
    c = good;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), 0);
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CONFIG_HWCTX, &c), EINVAL); // once only
    kit_run_close(&r);
    kit_close(&k);
}

const struct CMUnitTest packet_rows[] = {ROW(wrong_packets), ROW(refused_submits), ROW(kernel_configuration)};
const size_t n_packet_rows = sizeof packet_rows / sizeof *packet_rows;
