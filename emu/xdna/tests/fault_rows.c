// Faults on request: each as the reference describes it, and what comes after it.
#include "rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void every_call_answers_an_errno(void **state) {
    static const struct {
        const char *name;
        unsigned long request;
        int errors[8];
    } rows[] = {
        {"version", AMDXDNA_DRM_VERSION, {EINVAL}},
        {"create_hwctx", AMDXDNA_CREATE_HWCTX, {EINVAL, EFAULT, ENOENT, ENODEV, EAGAIN}},
        {"config_hwctx", AMDXDNA_CONFIG_HWCTX, {EINVAL, E2BIG, EFAULT}},
        {"destroy_hwctx", AMDXDNA_DESTROY_HWCTX, {EINVAL}},
        {"create_bo", AMDXDNA_CREATE_BO, {EINVAL, ENOSPC, EBUSY, EAGAIN, ENOMEM}},
        {"get_bo_info", AMDXDNA_GET_BO_INFO, {ENOENT, EINVAL}},
        {"sync_bo", AMDXDNA_SYNC_BO, {ENOENT, EINVAL}},
        {"exec_cmd", AMDXDNA_EXEC_CMD, {EINVAL, ENOENT, EFAULT, EINTR}},
        {"wait", AMDXDNA_DRM_TIMELINE_WAIT, {ETIME, EINTR, ENOENT}},
        {"wait_cmd", AMDXDNA_WAIT_CMD, {EOPNOTSUPP}},
        {"get_info", AMDXDNA_GET_INFO, {EOPNOTSUPP, ENODEV}},
        {"gem_close", AMDXDNA_DRM_GEM_CLOSE, {EINVAL}},
    };
    struct kit k;
    (void)state;
    kit_open(&k);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (const int *e = rows[i].errors; *e; e++) {
            char rule[64];
            uint64_t arg[8] = {0};
            snprintf(rule, sizeof rule, "%s@1=code:%d", rows[i].name, *e);
            kit_set("fault", rule);
            assert_int_equal(kit_ioctl(&k, rows[i].request, arg), *e);
            snprintf(rule, sizeof rule, "%s=code:0", rows[i].name);
            kit_set("fault", rule);
            assert_int_equal(kit_ioctl(&k, rows[i].request, arg), 0);
        }
    }
    kit_set("fault", "off");
    kit_close(&k);
    kit_set("fault", "open@1=code:13");
    assert_int_equal(sys->open("/dev/accel/accel0", 0), -1);
    assert_int_equal(errno, EACCES);
    kit_open(&k);
    kit_close(&k);
}

static void mapping_fails(void **state) {
    struct kit k;
    (void)state;
    kit_open(&k);
    kit_set("fault", "mmap=code:12");
    struct amdxdna_create_bo create = {.size = 4096, .type = AMDXDNA_BO_SHARE};
    assert_int_equal(kit_ioctl(&k, AMDXDNA_CREATE_BO, &create), 0);
    struct amdxdna_get_bo_info info = {.handle = create.handle};
    assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_BO_INFO, &info), 0);
    assert_true(info.xdna_addr == AMDXDNA_INVALID_ADDRESS); // not mapped yet
    assert_true(sys->mmap(NULL, 4096, PROT_READ, MAP_SHARED, k.fd, (off_t)(int64_t)info.map_offset) == MAP_FAILED);
    assert_int_equal(errno, ENOMEM);
    kit_close(&k);
}

// The wait succeeds, and the command did not.
static void failed_states(void **state) {
    static const uint32_t states[] = {AMDXDNA_STATE_NEW,
                                      AMDXDNA_STATE_ERROR,
                                      AMDXDNA_STATE_ABORT,
                                      AMDXDNA_STATE_TIMEOUT,
                                      AMDXDNA_STATE_NORESPONSE,
                                      0xF,
                                      0xB};
    (void)state;
    for (int spoils = 0; spoils < 2; spoils++) {
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            struct kit k;
            struct kit_run r;
            char rule[32];
            kit_set("kernel", spoils ? "7.0" : "6.14");
            snprintf(rule, sizeof rule, "cmd@1=code:%u", states[i]);
            kit_set("fault", rule);
            kit_open(&k);
            kit_run_open(&k, &kit_small, NULL, &r);
            assert_int_equal(kit_go(&r), states[i]);
            bool failed = states[i] == 5 || states[i] == 6 || states[i] == 8;
            assert_int_equal(((uint32_t *)(void *)r.cmd[0].data)[2], spoils && failed ? UINT32_MAX : 3);
            assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED); // a packet that was built anew
            assert_int_equal(kit_wrong(&r, 0, 16), 0);
            kit_run_close(&r);
            kit_close(&k);
        }
    }
}

static void hang(void **state) {
    (void)state;
    for (int old = 0; old < 2; old++) {
        struct kit k;
        struct kit_run r;
        uint64_t seq;
        kit_set("kernel", old ? "6.14" : "0.16");
        kit_set("watchdog", "1000");
        kit_set("fault", "cmd@2=hang");
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        for (unsigned i = 0; i < 4; i++) assert_int_equal(kit_submit(&r, i, &seq), 0);
        assert_int_equal(kit_wait(&r, 3, 30000), 0);
        assert_int_equal(kit_state(&r, 0), AMDXDNA_STATE_COMPLETED);
        assert_int_equal(kit_state(&r, 1), old ? AMDXDNA_STATE_NEW : AMDXDNA_STATE_TIMEOUT);
        assert_int_equal(kit_state(&r, 2), AMDXDNA_STATE_ABORT);
        assert_int_equal(kit_state(&r, 3), AMDXDNA_STATE_ABORT);
        assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED); // the context was made anew
        kit_run_close(&r);
        kit_close(&k);
    }
}

// With no watchdog nothing ever answers, in this context; closing works all the same.
static void no_answer(void **state) {
    struct kit k;
    struct kit_run r, other;
    uint64_t seq;
    (void)state;
    kit_set("watchdog", "0");
    kit_set("fault", "cmd@1=hang");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    kit_run_open(&k, &kit_small, NULL, &other);
    assert_int_equal(kit_submit(&r, 0, &seq), 0);
    assert_int_equal(kit_wait(&r, seq, 100), ETIME);
    assert_int_equal(kit_go(&other), AMDXDNA_STATE_COMPLETED); // others go on
    assert_int_equal(kit_state(&r, 0), AMDXDNA_STATE_NEW);
    kit_close(&k);
}

static void lost_context(void **state) {
    struct kit k;
    struct kit_run r, other;
    uint64_t seq;
    (void)state;
    kit_set("fault", "cmd@2=restart");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    kit_run_open(&k, &kit_small, NULL, &other);
    assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
    assert_int_equal(kit_go(&r), AMDXDNA_STATE_ABORT);
    assert_int_equal(kit_submit(&r, 0, &seq), EINVAL);
    assert_int_equal(kit_go(&other), AMDXDNA_STATE_COMPLETED);
    kit_run_close(&r);
    kit_run_close(&other);
    kit_close(&k);
}

static void short_rows(void **state) {
    static const uint32_t rows[] = {0, 1, 8, 15};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kit k;
        struct kit_run r;
        char rule[32];
        snprintf(rule, sizeof rule, "cmd@1=short:%u", rows[i]);
        kit_set("fault", rule);
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        memset(r.c.data, 0x77, r.c.bytes);
        kit_flush(&k, &r.c);
        assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
        assert_int_equal(kit_wrong(&r, 0, rows[i]), 0);
        for (uint32_t m = rows[i]; m < 16; m++)
            for (uint32_t n = 0; n < 32; n++)
                assert_int_equal(((uint32_t *)(void *)r.c.data)[npu_xdna_c_at(&r.layout, m, n)], 0x77777777);
        assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
        assert_int_equal(kit_wrong(&r, 0, 16), 0);
        kit_run_close(&r);
        kit_close(&k);
    }
}

static void death(void **state) {
    static const char *const rules[] = {"cmd@1=die", "cmd@2=die", "sync_bo@7=die", "wait@1=die"};
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct kit k;
        struct kit_run r;
        uint64_t seq = 0, next;
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        kit_set("fault", rules[i]);
        int error = kit_submit(&r, 0, &seq);
        bool taken = !error;
        for (int n = 0; n < 50 && !error; n++) {
            error = kit_wait(&r, seq, 30000);
            if (!error) error = kit_sync(&k, &r.c, AMDXDNA_TO_DEVICE, 0, 64);
            if (!error) error = kit_submit(&r, 0, &seq), taken = !error;
        }
        if (error != ENODEV) fail_msg("%s: %s", rules[i], strerror(error));
        uint32_t end = kit_state(&r, 0); // of a packet that was refused it is what the packet was made with
        assert_true(!taken || end == AMDXDNA_STATE_ABORT || end == AMDXDNA_STATE_COMPLETED);
        assert_int_equal(kit_submit(&r, 0, &next), ENODEV);
        assert_int_equal(kit_wait(&r, seq, 1000), 0);
        kit_close(&k);
        kit_set("fault", "off");
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
        assert_int_equal(kit_wrong(&r, 0, 16), 0);
        kit_run_close(&r);
        kit_close(&k);
    }
}

static void delay(void **state) {
    struct kit k;
    struct kit_run r;
    uint64_t seq;
    struct timespec t[2];
    (void)state;
    kit_set("fault", "cmd@1=delay:500000;sync_bo@5=delay:1000");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    assert_int_equal(kit_submit(&r, 0, &seq), 0);
    assert_int_equal(kit_wait(&r, seq, 30000), 0);
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    assert_true((t[1].tv_sec - t[0].tv_sec) * 1000 + (t[1].tv_nsec - t[0].tv_nsec) / 1000000 >= 490);
    kit_run_close(&r);
    kit_close(&k);
}

// Which rules had nothing to meet; a rule that was met stays so when the device is opened again with the same ones.
static void rules_that_nothing_meets(void **state) {
    static const char rules[] = "sync_bo@1000=code:5;cmd@1=delay:1;wait@9=die";
    struct kit k;
    struct kit_run r;
    char text[200];
    (void)state;
    kit_set("fault", rules);
    assert_int_equal(kit_unmet(text, sizeof text), 3);
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
    kit_run_close(&r);
    kit_close(&k);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(kit_unmet(text, sizeof text), 2);
        assert_string_equal(text, "sync_bo@1000=code:5;wait@9=die");
        kit_set("fault", rules);
    }
    kit_set("fault", "off");
    assert_int_equal(kit_unmet(text, sizeof text), 0);
    kit_set("fault", rules);
    assert_int_equal(kit_unmet(text, sizeof text), 3);
    kit_set("fault", "off");
}

// Each key's values are in the help, and in what refuses others.
static void values_are_said(void **state) {
    char help[4096], *rest = help, *line, key[32], values[32];
    unsigned rows = 0;
    (void)state;
    snprintf(help, sizeof help, "%s", kit_help());
    for (; (line = strtok_r(rest, "\n", &rest)); rows++) {
        if (*line == ' ') break;
        assert_int_equal(sscanf(line, "%31s %31s", key, values), 2);
        bool is_rules = !strcmp(key, "fault");
        const char *why = kit_refusal(key, is_rules ? "x" : "");
        if (strncmp(why, "takes ", 6) || !strstr(why, is_rules ? "name[@n[+]]=action" : values))
            fail_msg("%s: %s", key, why);
    }
    assert_true(rows == 15 && strstr(kit_help(), "memory       1M..64G") && strstr(kit_help(), "short:ROWS"));
}

const struct CMUnitTest fault_rows[] = {ROW(every_call_answers_an_errno),
                                        ROW(mapping_fails),
                                        ROW(failed_states),
                                        ROW(hang),
                                        ROW(no_answer),
                                        ROW(lost_context),
                                        ROW(short_rows),
                                        ROW(death),
                                        ROW(delay),
                                        ROW(rules_that_nothing_meets),
                                        ROW(values_are_said)};
const size_t n_fault_rows = sizeof fault_rows / sizeof *fault_rows;
