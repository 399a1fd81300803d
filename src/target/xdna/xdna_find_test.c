/* What is found in made-up /sys trees, the lock file, and driver names. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "target/xdna/xdna_sys.h"

static char root[64];

static int setup(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/npu-xdna-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* Writes |text| to root/path, with its folders. */
static void put(const char *path, const char *text) {
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(full, 0700);
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static void put_accel(unsigned n, const char *vendor, const char *device, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "sys/class/accel/accel%u/device/vendor", n);
    put(path, vendor);
    snprintf(path, sizeof path, "sys/class/accel/accel%u/device/device", n);
    put(path, device);
    snprintf(path, sizeof path, "sys/class/accel/accel%u/device/fw_version", n);
    put(path, "255.0.11.71\n");
    snprintf(path, sizeof path, "sys/class/accel/accel%u/device/vbnv", n);
    if (name) put(path, name);
    snprintf(path, sizeof path, "dev/accel/accel%u", n);
    put(path, "");
}

static void finds(void **state) {
    npu_xdna_info info;
    npu_error err = {0};
    (void)state;
    assert_int_equal(npu__xdna_find(root, NULL, &info, &err), NPU_NO_DEVICE);
    assert_non_null(strstr(err.text, "/sys/class/accel (not there)"));
    put_accel(0, "0x8086\n", "0x7d1d\n", NULL);
    assert_int_equal(npu__xdna_find(root, NULL, &info, &err), NPU_NO_DEVICE);
    assert_non_null(strstr(err.text, "none is"));
    put_accel(2, "0x1022\n", "0x17f0\n", "NPU Strix\n");
    assert_int_equal(npu__xdna_find(root, NULL, &info, &err), NPU_OK);
    assert_string_equal(info.node, "/dev/accel/accel2");
    assert_string_equal(info.device, "NPU Strix");
    assert_string_equal(info.generation, "xdna2");
    assert_string_equal(info.firmware, "255.0.11.71");
    assert_true(info.caps_known && info.columns == 8 && info.contexts == 16 && !info.emulated);
    assert_int_equal(npu__xdna_find(root, "/dev/accel/accel0", &info, &err), NPU_NO_DEVICE);
    put_accel(1, "0x1022\n", "0x1502\n", NULL);
    assert_int_equal(npu__xdna_find(root, NULL, &info, &err), NPU_OK);
    assert_string_equal(info.generation, "xdna1");
    assert_string_equal(info.device, "AMD NPU 1502");
    assert_int_equal(npu__xdna_find(root, "/dev/accel/accel2", &info, &err), NPU_OK);
    put_accel(3, "0x1022\n", "0xffff\n", NULL);
    assert_int_equal(npu__xdna_find(root, "/dev/accel/accel3", &info, &err), NPU_OK);
    assert_false(info.caps_known);
}

static void node_is_missing(void **state) {
    npu_xdna_info info;
    npu_error err = {0};
    char path[128];
    (void)state;
    put_accel(0, "0x1022\n", "0x1502\n", NULL);
    snprintf(path, sizeof path, "%s/dev/accel/accel0", root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(npu__xdna_find(root, NULL, &info, &err), NPU_NO_DEVICE);
    assert_non_null(strstr(err.text, "can't be opened"));
}

static void generations(void **state) {
    static const struct {
        uint32_t columns;
        const char *name;
    } rows[] = {{4, "xdna1"}, {5, "xdna1"}, {8, "xdna2"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        npu_xdna_info info = {.columns = rows[i].columns, .core_rows = 4};
        assert_int_equal(npu__xdna_generation(&info, NULL), NPU_OK);
        assert_string_equal(info.generation, rows[i].name);
        assert_int_equal(info.columns, rows[i].columns);
    }
    npu_xdna_info info = {.columns = 0};
    assert_int_equal(npu__xdna_generation(&info, NULL), NPU_REFUSED);
}

static void versions(void **state) {
    (void)state;
    assert_int_equal(npu__xdna_version(0, 0)->from_device, AMDXDNA_FROM_DEVICE);
    assert_int_equal(npu__xdna_version(0, 1)->from_device, AMDXDNA_TO_DEVICE);
    assert_int_equal(npu__xdna_version(0, 99)->from_device, AMDXDNA_TO_DEVICE);
    assert_int_equal(npu__xdna_version(1, 0)->from_device, AMDXDNA_FROM_DEVICE);
    assert_null(npu__xdna_version(2, 0));
    assert_null(npu__xdna_version(-1, 0));
}

static char said[256];
static atomic_bool heard;
static void listen(void *context, npu_log_level level, const char *text) {
    (void)context, (void)level;
    snprintf(said, sizeof said, "%s", text);
    heard = true;
}

/* A child holds the lock until it is told to end. */
static pid_t hold(int *tell) {
    int ready[2], end[2], fd;
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (!child) {
        close(end[1]);
        npu_logger quiet = {0};
        npu_status status = npu__xdna_lock(&quiet, root, "accel0", true, &fd, NULL);
        if (write(ready[1], status == NPU_OK ? "y" : "n", 1) != 1 || read(end[0], &byte, 1) < 0) _exit(1);
        _exit(0);
    }
    close(end[0]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ready[0]);
    *tell = end[1];
    return child;
}

static void *end_soon(void *argument) {
    while (!heard) usleep(1000); /* that somebody waits */
    usleep(20000);
    close(*(int *)argument);
    return NULL;
}

static void lock(void **state) {
    int tell, fd, other;
    npu_error err = {0};
    pthread_t thread;
    char text[64];
    npu_logger logger = {listen, NULL, NPU_LOG_WARN};
    (void)state;
    pid_t child = hold(&tell);
    assert_int_equal(npu__xdna_lock(&logger, root, "accel0", true, &fd, &err), NPU_REFUSED);
    assert_string_equal(err.code, "xdna.busy");
    snprintf(text, sizeof text, "process %ld", (long)child);
    assert_non_null(strstr(err.text, text));
    assert_int_equal(npu__xdna_lock(&logger, root, "accel1", true, &other, &err), NPU_OK); /* another device */
    close(other);
    assert_string_equal(said, "");
    assert_int_equal(pthread_create(&thread, NULL, end_soon, &tell), 0);
    assert_int_equal(npu__xdna_lock(&logger, root, "accel0", false, &fd, &err), NPU_OK);
    assert_non_null(strstr(said, "waiting for the NPU accel0"));
    assert_non_null(strstr(said, text));
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
    close(fd);
    assert_int_equal(npu__xdna_lock(&logger, root, "accel0", true, &fd, &err), NPU_OK);
    close(fd);
}

static void lock_file_of_others(void **state) {
    npu_logger logger = {0};
    npu_error err = {0};
    char link[128], target[128];
    int fd;
    (void)state;
    put("victim", "precious");
    snprintf(link, sizeof link, "%s/npu-xdna-a.lock", root);
    snprintf(target, sizeof target, "%s/victim", root);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(npu__xdna_lock(&logger, root, "a", true, &fd, &err), NPU_REFUSED);
    assert_string_equal(err.code, "xdna.lock");
    unlink(link);
    assert_int_equal(linkat(AT_FDCWD, target, AT_FDCWD, link, 0), 0);
    assert_int_equal(npu__xdna_lock(&logger, root, "a", true, &fd, &err), NPU_REFUSED);
    unlink(link);
    assert_int_equal(mkdir(link, 0700), 0);
    assert_int_equal(npu__xdna_lock(&logger, root, "a", true, &fd, &err), NPU_REFUSED);
    char text[16] = "";
    FILE *f = fopen(target, "r");
    assert_non_null(f);
    if (!f) return;
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    assert_string_equal(text, "precious");
}

static void drivers(void **state) {
    static const char *const emu[] = {"seed=1", NULL};
    npu_error err = {0};
    npu_xdna *dev;
    const char *text;
    (void)state;
    npu_xdna_params params = {.driver = "sim"};
    assert_int_equal(npu_xdna_open(&params, &dev, &err), NPU_REFUSED);
    assert_string_equal(err.text, "`driver` sim: xdna has no such driver (auto, accel, emu)");
    params = (npu_xdna_params){.driver = "accel", .emu = emu};
    assert_int_equal(npu_xdna_open(&params, &dev, &err), NPU_REFUSED);
    assert_string_equal(err.code, "xdna.emu_setting");
    params = (npu_xdna_params){.driver = "auto"};
    assert_int_equal(npu_xdna_describe_emu(&params, &text, &err), NPU_REFUSED);
    params = (npu_xdna_params){.node = "/dev/accel/accel15"};
    if (access(params.node, F_OK)) {
        assert_int_equal(npu_xdna_open(&params, &dev, &err), NPU_NO_DEVICE);
        assert_null(dev);
        assert_non_null(strstr(err.text, params.node));
    }
    params = (npu_xdna_params){0};
    if (access("/dev/accel", F_OK)) {
        assert_int_equal(npu_xdna_open(&params, &dev, &err), NPU_NO_DEVICE);
        assert_non_null(strstr(err.text, "looked for /dev/accel/accel0 to accel15"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(finds, setup, teardown),
                                       cmocka_unit_test_setup_teardown(node_is_missing, setup, teardown),
                                       cmocka_unit_test(generations),
                                       cmocka_unit_test(versions),
                                       cmocka_unit_test_setup_teardown(lock, setup, teardown),
                                       cmocka_unit_test_setup_teardown(lock_file_of_others, setup, teardown),
                                       cmocka_unit_test(drivers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
