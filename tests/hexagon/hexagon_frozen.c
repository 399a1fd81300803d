/* An NPU process that is stopped (SIGSTOP): neither dead nor slow. The request that meets it fails as a time-out inside
 * its time, closing ends the process, and a new target gives the right bytes. One device and a set, of which one is
 * stopped; before a batch and before closing. And the host's process that is stopped, which is nobody's failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "target/hexagon/hexagon_watch.h"
#include "target/hexagon/hexagon_session.h"
#include "target/target.h"
#include "wire/format.h"

enum { K = 256, BYTES = K * 4, TIMEOUT_S = 2, LATE_S = 20, ALL = 16 };

extern const npu_target_ops npu_target_hexagon;
static const npu_target_ops *const ops = &npu_target_hexagon;

static npu_target *open_target(const char *devices, const char *split, const char *fault) {
    const char *const emu[] = {"cdsps=2", fault, NULL};
    npu_target_params params = {.driver = "sim", .devices = devices, .split = split, .emu = emu};
    npu_target *t;
    npu_error err = {0};
    params.timeout_s = TIMEOUT_S;
    if (ops->open(&params, NULL, NULL, &t, &err) != NPU_OK) fail_msg("%s", err.text);
    return t;
}

/* Doubles |value| on the device. */
static npu_status add(npu_target *t, npu_buffer *io, float value, npu_error *err) {
    npu_tensor tensors[2];
    npu_weight_ref weights[2] = {{0}};
    npu_op op = {.code = NPU_OP_ADD};
    npu_event event;
    for (int i = 0; i < 2; i++)
        tensors[i] = (npu_tensor){
            .ne = {K, 1, 1, 1}, .nb = {4, BYTES, BYTES, BYTES}, .type = NPU_TYPE_F32, .offset = (uint64_t)i * BYTES};
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    op.src[0] = op.src[1] = 0, op.dst[0] = 1;
    for (int i = 0; i < 2 * K; i++) ((float *)(void *)io->data)[i] = value;
    npu_batch batch = {.tensors = tensors, .ops = &op, .buffers = &io, .weights = weights};
    batch.n_tensors = 2, batch.n_ops = batch.n_buffers = 1;
    batch.step.rows[NPU_ROWS_STEP] = batch.step.rows[NPU_ROWS_OUT] = 1;
    npu_status status = ops->submit(t, &batch, &event, err);
    if (status == NPU_OK) status = ops->wait(t, event, err);
    for (int i = 0; i < K && status == NPU_OK; i++)
        if (((const float *)(const void *)(io->data + BYTES))[i] != 2 * value) status = NPU_INTERNAL;
    return status;
}

static npu_buffer *alloc(npu_target *t) {
    npu_buffer *b;
    npu_error err = {0};
    if (ops->buffer_alloc(t, 2 * BYTES, NPU_BUFFER_IO, &b, &err) != NPU_OK) fail_msg("%s", err.text);
    return b;
}

/* Behind the name in /proc/PID/stat: the state, then who started it. */
static bool read_stat(const char *pid, char *state, long *parent) {
    char path[300], text[256] = "", *end;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = *pid >= '0' && *pid <= '9' ? fopen(path, "r") : NULL;
    if (!f) return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    end = strrchr(text, ')');
    return end && sscanf(end, ") %c %ld", state, parent) == 2;
}

/* Processes that this one started. */
static unsigned children(pid_t out[16]) {
    unsigned n = 0;
    DIR *all = opendir("/proc");
    assert_non_null(all);
    for (const struct dirent *e; (e = readdir(all));) {
        char state;
        long parent;
        if (read_stat(e->d_name, &state, &parent) && parent == getpid() && n < 16)
            out[n++] = (pid_t)strtol(e->d_name, NULL, 10);
    }
    closedir(all);
    return n;
}

/* The signal has arrived when the process is seen stopped. */
static void stop(pid_t pid) {
    char text[16], state = 0;
    long parent;
    snprintf(text, sizeof text, "%d", pid);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    while (read_stat(text, &state, &parent) && state != 'T') usleep(1000);
    assert_int_equal(state, 'T');
}

static double seconds(void) {
    return (double)npu_clock_ns() / 1e9;
}

/* |which| of the processes, or ALL. */
static void freeze(const char *devices, const char *split, unsigned which, bool at_closing) {
    pid_t started[16];
    npu_error err = {0};
    npu_target *t = open_target(devices, split, NULL);
    npu_buffer *io = alloc(t);
    assert_int_equal(add(t, io, 3, &err), NPU_OK);
    unsigned n = children(started);
    assert_int_equal(n, devices ? 2 : 1);
    for (unsigned i = 0; i < n; i++)
        if (which == ALL || which == i) stop(started[i]);
    double begin = seconds();
    if (!at_closing) {
        npu_status status = add(t, io, 4, &err);
        if (status != NPU_TIMEOUT || strcmp(err.code, "hexagon.timeout") != 0)
            fail_msg("%s: %s [%s]", npu_status_name(status), err.text, err.code);
        assert_true(seconds() - begin < TIMEOUT_S + LATE_S);
        begin = seconds();
    }
    ops->buffer_free(t, io);
    ops->close(t);
    bool meets_it = at_closing || which == ALL; /* closing, then, finds a process that no request found */
    assert_true(seconds() - begin < (meets_it ? 2 * NPU_HEX_CALL_LEAST_S : 0) + LATE_S);
    assert_int_equal(children(started), 0);
    t = open_target(devices, split, NULL);
    io = alloc(t);
    assert_int_equal(add(t, io, 5, &err), NPU_OK);
    ops->buffer_free(t, io);
    ops->close(t);
}

static void one_device(void **state) {
    (void)state;
    freeze(NULL, NULL, 0, false);
}

static void one_of_a_set(void **state) {
    (void)state;
    freeze("0:0,1:0", "row", 0, false);
    freeze("0:0,1:0", "row", 1, false);
    freeze("0:0,1:0", "layer", ALL, false); /* without a plan one has it all */
}

static void at_closing(void **state) {
    (void)state;
    freeze(NULL, NULL, 0, true);
}

/* What a set's other sessions have is given back at once: a process that was given up on is not asked. */
static void beside_a_lost_one(void **state) {
    (void)state;
    static const npu_hex_place places[] = {{0, 0}, {0, 1}};
    npu_target_params params = {.driver = "sim", .timeout_s = TIMEOUT_S};
    npu_hex_session *sessions[2];
    npu_hex_buffer *buffers[2][2];
    npu_hex_driver driver;
    npu_error err = {0};
    npu_emu_query_fn *query;
    pid_t started[16];
    assert_int_equal(npu_hex_driver_open(&params, NULL, &driver, &err), NPU_OK);
    *(void **)&query = dlsym(driver.library, "npu_emu_query");
    assert_non_null(query);
    for (unsigned late = 0; late < 2; late++) {
        if (npu_hex_sessions_open(&driver, &params, places, 2, sessions, &err) != NPU_OK) fail_msg("%s", err.text);
        for (unsigned i = 0; i < 2; i++)
            for (unsigned k = 0; k < 2; k++)
                assert_int_equal(npu_hex_buffer_alloc(sessions[i], BYTES, k, &buffers[i][k], &err), NPU_OK);
        unsigned long long pid = 0;
        assert_int_equal(query(CDSP_DOMAIN_ID + 8 * (int)late, "pid", &pid), 0);
        stop((pid_t)pid);
        double begin = seconds();
        assert_int_equal(npu_hex_give_up(sessions[late], &err), NPU_TIMEOUT);
        for (unsigned i = 0; i < 2; i++) npu_hex_buffer_free(buffers[i][0]);
        npu_hex_sessions_close(sessions, 2);
        assert_true(seconds() - begin < LATE_S);
        assert_int_equal(children(started), 0);
    }
    npu_hex_driver_close(&driver);
}

/* In the process that is stopped: a batch that takes long, after it was said that it begins. */
static int run_slow_batch(int begins, const char *devices, const char *split) {
    pid_t started[16] = {0};
    npu_error err = {0};
    npu_target *t = open_target(devices, split, "fault=dsp:op@2=delay:1000000");
    npu_buffer *io = alloc(t);
    bool fine = add(t, io, 3, &err) == NPU_OK && children(started) >= 1 &&
                write(begins, started, sizeof *started) == sizeof *started;
    if (fine && add(t, io, 4, &err) != NPU_OK) {
        fprintf(stderr, "%s\n", err.text);
        fine = false;
    }
    ops->buffer_free(t, io);
    ops->close(t);
    return fine ? 0 : 1;
}

/* In the middle of a batch, for longer than one may take; the NPU's process, when it |stops_too|, goes on later. */
static void stop_host(const char *devices, const char *split, bool stops_too) {
    int begins[2], ended;
    pid_t npu;
    assert_int_equal(pipe(begins), 0);
    pid_t host = fork();
    if (!host) _exit(run_slow_batch(begins[1], devices, split));
    close(begins[1]);
    assert_int_equal(read(begins[0], &npu, sizeof npu), sizeof npu);
    usleep(300000);
    stop(host);
    if (stops_too) stop(npu);
    sleep(TIMEOUT_S + 1);
    kill(host, SIGCONT);
    usleep(300000);
    if (stops_too) kill(npu, SIGCONT);
    assert_int_equal(waitpid(host, &ended, 0), host);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    close(begins[0]);
}

static void the_host(void **state) {
    (void)state;
    stop_host(NULL, NULL, true);
    stop_host("0:0,1:0", "row", false); /* the NPUs go on, as hardware does */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_device), cmocka_unit_test(one_of_a_set),
                                       cmocka_unit_test(at_closing), cmocka_unit_test(beside_a_lost_one),
                                       cmocka_unit_test(the_host)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
