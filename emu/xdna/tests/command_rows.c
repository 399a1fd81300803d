// Commands: order, waits, buffers in use, answers about the device.
#include "rows.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void about(void **state) {
    struct kit k;
    (void)state;
    char name[64] = {0};
    struct amdxdna_drm_version version = {.name_bytes = sizeof name, .name = (uint64_t)(uintptr_t)name};
    struct amdxdna_firmware firmware;
    struct amdxdna_get_info get = {AMDXDNA_INFO_FIRMWARE, sizeof firmware, (uint64_t)(uintptr_t)&firmware};
    kit_set("kernel", "0.16");
    kit_open(&k);
    assert_int_equal(kit_ioctl(&k, AMDXDNA_DRM_VERSION, &version), 0);
    assert_string_equal(name, AMDXDNA_DRIVER_NAME);
    assert_int_equal(version.minor, 16);
    assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_INFO, &get), 0);
    assert_int_equal(firmware.build, 3);
    uint8_t few[8] = {0};
    get = (struct amdxdna_get_info){AMDXDNA_INFO_AIE_METADATA, 6, (uint64_t)(uintptr_t)few};
    assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_INFO, &get), 0);
    assert_int_equal(few[4], 8);
    assert_int_equal(few[6], 0);
    get.param = 99;
    assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_INFO, &get), EOPNOTSUPP);
    assert_int_equal(kit_ioctl(&k, 0xC0006464u, &get), ENOTTY);
    kit_close(&k);
    assert_int_equal(sys->open("/dev/accel/accel1", 0), -1);
    assert_int_equal(errno, ENOENT);
}

static void other_drivers_nodes(void **state) {
    char name[64] = {0};
    struct amdxdna_drm_version version = {.name_bytes = sizeof name, .name = (uint64_t)(uintptr_t)name};
    (void)state;
    kit_set("node", "2");
    struct kit k = {.fd = sys->open("/dev/accel/accel1", 0)};
    assert_int_equal(kit_ioctl(&k, AMDXDNA_DRM_VERSION, &version), 0);
    assert_string_equal(name, "other_accel");
    assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_INFO, name), ENOTTY);
    assert_int_equal(sys->close(k.fd), 0);
    k.fd = sys->open("/dev/accel/accel2", 0);
    assert_true(k.fd >= 0);
    assert_int_equal(sys->close(k.fd), 0);
    assert_int_equal(sys->close(k.fd), -1);
}

static void point_zero_is_the_newest(void **state) {
    struct kit k;
    struct kit_run r;
    uint64_t seq[2];
    (void)state;
    kit_set("fault", "cmd@2=delay:300000");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    assert_int_equal(kit_submit(&r, 0, &seq[0]), 0);
    assert_int_equal(kit_submit(&r, 1, &seq[1]), 0);
    assert_int_equal(seq[0], 0);
    assert_int_equal(seq[1], 1);
    assert_int_equal(kit_wait(&r, 0, 30000), 0);
    assert_int_equal(kit_state(&r, 1), AMDXDNA_STATE_COMPLETED);
    assert_int_equal(kit_wait(&r, 1, 0), 0);
    assert_int_equal(kit_wait(&r, 2, 20), ETIME); // not submitted yet
    kit_run_close(&r);
    kit_close(&k);
}

static void wait_cmd(void **state) {
    static const struct {
        const char *kernel;
        int error;
    } rows[] = {{"6.14", ENOTTY}, {"7.0", EOPNOTSUPP}, {"0.16", EOPNOTSUPP}, {"1.0", 0}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct kit k;
        struct kit_run r;
        uint64_t seq;
        kit_set("kernel", rows[i].kernel);
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        assert_int_equal(kit_submit(&r, 0, &seq), 0);
        struct amdxdna_wait_cmd wait = {.hwctx = r.context, .seq = seq};
        assert_int_equal(kit_ioctl(&k, AMDXDNA_WAIT_CMD, &wait), rows[i].error);
        if (!rows[i].error) {
            assert_int_equal(kit_state(&r, 0), AMDXDNA_STATE_COMPLETED);
            wait.seq = 1;
            assert_int_equal(kit_ioctl(&k, AMDXDNA_WAIT_CMD, &wait), EINVAL);
        }
        kit_run_close(&r);
        kit_close(&k);
    }
}

static void *fifth(void *argument) {
    struct kit_run *r = argument;
    uint64_t seq;
    int error = kit_submit(r, 0, &seq);
    return (void *)(uintptr_t)(error ? 99 : seq);
}

static void fifth_command_waits(void **state) {
    struct kit k;
    struct kit_run r;
    uint64_t seq;
    pthread_t thread;
    void *result;
    (void)state;
    kit_set("fault", "cmd@1=delay:3000000");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    unsigned long long before = kit_get("commands");
    for (unsigned i = 0; i < 4; i++) assert_int_equal(kit_submit(&r, i, &seq), 0);
    assert_int_equal(pthread_create(&thread, NULL, fifth, &r), 0);
    usleep(50000);
    assert_int_equal(kit_get("commands") - before, 4); // the fifth is not taken yet
    pthread_join(thread, &result);
    assert_int_equal((uintptr_t)result, 4);
    assert_int_equal(kit_wait(&r, 4, 30000), 0);
    assert_int_equal(kit_state(&r, 0), AMDXDNA_STATE_COMPLETED);
    kit_run_close(&r);
    kit_close(&k);
}

// Which of two contexts is done first, for a few seeds; inside each the order stays.
static unsigned order_with(const char *order, unsigned seed) {
    struct kit k;
    struct kit_run r[3];
    uint64_t seq;
    char text[16];
    unsigned first = 99;
    snprintf(text, sizeof text, "%u", seed);
    kit_set("seed", text);
    kit_set("order", order);
    kit_set("fault", "cmd=delay:30000");
    kit_open(&k);
    for (int i = 0; i < 3; i++) kit_run_open(&k, &kit_small, NULL, &r[i]);
    for (unsigned s = 0; s < 2; s++)
        for (int i = 0; i < 3; i++) assert_int_equal(kit_submit(&r[i], s, &seq), 0);
    while (first == 99) {
        usleep(3000);
        for (unsigned i = 0; i < 3 && first == 99; i++)
            if (kit_state(&r[i], 0) == AMDXDNA_STATE_COMPLETED) first = i;
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kit_wait(&r[i], 1, 30000), 0);
        assert_int_equal(kit_state(&r[i], 0), AMDXDNA_STATE_COMPLETED);
        kit_run_close(&r[i]);
    }
    kit_close(&k);
    return first;
}

static void order_between_contexts(void **state) {
    unsigned seen = 0;
    (void)state;
    assert_int_equal(order_with("fifo", 1), 0);
    for (unsigned seed = 1; seed <= 10 && seen != 7; seed++) seen |= 1u << order_with("seeded", seed);
    assert_int_equal(seen, 7);
}

static void buffer_closed_in_flight(void **state) {
    struct kit k;
    struct kit_run r;
    uint64_t seq;
    (void)state;
    kit_set("fault", "cmd@1=delay:700000");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    assert_int_equal(kit_submit(&r, 0, &seq), 0);
    unsigned long long before = kit_get("memory");
    kit_free(&k, &r.b);
    assert_int_equal(kit_get("memory"), before); // the command still has it
    assert_int_equal(kit_wait(&r, seq, 30000), 0);
    assert_int_equal(kit_state(&r, 0), AMDXDNA_STATE_COMPLETED);
    assert_true(kit_get("memory") < before);
    r.b = kit_buffer(&k, AMDXDNA_BO_SHARE, 64);
    kit_run_close(&r);
    kit_close(&k);
}

static void gemv_q4_1(void **state) {
    enum { K = 512, N = 64 };
    struct kit k;
    struct kit_run r;
    uint64_t seq;
    (void)state;
    kit_open(&k);
    npu_xdna_layout l = {1, K, N, 0, 0, 0, 0, 0, false};
    kit_run_open(&k, &l, NULL, &r);
    strcpy((char *)r.pdi.data, "npu-emu-kernel 1\nkind gemv_q4_1\nshape 1 512 64\ncolumns 4\n");
    kit_flush(&k, &r.pdi);
    kit_free(&k, &r.a);
    kit_free(&k, &r.b);
    r.a = kit_buffer(&k, AMDXDNA_BO_SHARE, 4 * K);
    r.b = kit_buffer(&k, AMDXDNA_BO_SHARE, N / 32 * (K / 256) * 5120);
    float *x = (float *)(void *)r.a.data;
    for (int i = 0; i < K; i++) x[i] = (float)(i % 7) - 2;
    for (uint64_t i = 0; i < r.b.bytes; i++) {
        uint64_t in = i % 5120;
        r.b.data[i] = in < 1024 ? (in % 2 ? 0x3F : 0x80) : (uint8_t)(i * 29); // every scale and minimum is 1.0
    }
    kit_flush(&k, &r.a);
    kit_flush(&k, &r.b);
    assert_int_equal(kit_submit(&r, 0, &seq), 0);
    assert_int_equal(kit_wait(&r, seq, 30000), 0);
    assert_int_equal(kit_state(&r, 0), AMDXDNA_STATE_COMPLETED);
    kit_flush(&k, &r.c);
    for (uint32_t n = 0; n < N; n++) {
        double sum = 0; // small whole numbers: exact in any order
        for (uint32_t c = 0; c < K; c++) {
            const uint8_t *tile = r.b.data + (n / 32 * (K / 256) + c / 256) * 5120 + 1024;
            uint32_t row = n % 32, column = c % 256;
            uint32_t byte = tile[(row / 16 * 8 + column / 32) * 256 + 8 * (column % 32) + row % 16 / 2];
            sum += ((row % 2 ? byte >> 4 : byte & 15u) + 1.0) * (double)x[c];
        }
        if ((double)((float *)(void *)r.c.data)[n] != sum) fail_msg("row %u", n);
    }
    kit_run_close(&r);
    kit_close(&k);
}

// The device process must not outlive a program that is killed.
static void dies_with_its_program(void **state) {
    (void)state;
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (!child) {
        int fd = sys->open("/dev/accel/accel0", 0);
        unsigned long long pid = fd >= 0 ? kit_get("pid") : 0;
        if (write(pipe_fds[1], &pid, sizeof pid) < 0) _exit(1);
        kill(getpid(), SIGKILL);
    }
    unsigned long long pid = 0;
    assert_int_equal(read(pipe_fds[0], &pid, sizeof pid), sizeof pid);
    waitpid(child, NULL, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    assert_true(pid > 1);
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%llu/stat", pid);
    for (int i = 0; i < 200; i++) {
        FILE *f = fopen(path, "r");
        if (!f) return;
        size_t n = fread(line, 1, sizeof line - 1, f);
        line[n] = 0;
        fclose(f);
        const char *name_end = strrchr(line, ')');
        if (name_end && name_end[1] && name_end[2] == 'Z') return;
        usleep(50000);
    }
    fail_msg("process %llu is still there", pid);
}

const struct CMUnitTest command_rows[] = {ROW(about),
                                          ROW(other_drivers_nodes),
                                          ROW(point_zero_is_the_newest),
                                          ROW(wait_cmd),
                                          ROW(fifth_command_waits),
                                          ROW(order_between_contexts),
                                          ROW(buffer_closed_in_flight),
                                          ROW(gemv_q4_1),
                                          ROW(dies_with_its_program)};
const size_t n_command_rows = sizeof command_rows / sizeof *command_rows;
