#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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

#include "base/mapfile.h"

static void make_file(char *path, size_t size) {
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
}

static void maps_regular_files_only(void **state) {
    (void)state;
    npu_map map;
    npu_error err;
    assert_int_equal(npu_map_open("/proc/nonexistent/file", &map, &err), NPU_NOT_FOUND);
    assert_int_equal(npu_map_open("/tmp", &map, &err), NPU_INVALID);
    assert_string_equal(err.code, "file.directory");
    assert_int_equal(npu_map_open("/dev/zero", &map, &err), NPU_INVALID);
    assert_string_equal(err.code, "file.not_regular");

    char pipe_path[] = "/tmp/npu-map-test-XXXXXX"; /* a pipe nobody writes to must not hang */
    make_file(pipe_path, 0);
    assert_int_equal(npu_map_open(pipe_path, &map, &err), NPU_OK);
    assert_null(map.data);
    assert_int_equal(map.size, 0);
    npu_map_close(&map);
    unlink(pipe_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(npu_map_open(pipe_path, &map, &err), NPU_INVALID);
    unlink(pipe_path);
}

static void finds_the_file_behind_an_address(void **state) {
    (void)state;
    char path[] = "/tmp/npu map test XXXXXX", name[64];
    npu_map map;
    npu_error err;
    int local;
    make_file(path, 10000);
    assert_int_equal(npu_map_open(path, &map, &err), NPU_OK);
    assert_int_equal(map.size, 10000);
    assert_true(npu_map_name_at(map.data, name, sizeof name));
    assert_string_equal(name, path);
    assert_true(npu_map_name_at(map.data + 9999, name, sizeof name));
    assert_true(npu_map_name_at(map.data, name, 8));
    assert_string_equal(name, "/tmp/np");
    assert_false(npu_map_name_at(&local, name, sizeof name));
    assert_false(npu_map_name_at(NULL, name, sizeof name));
    npu_map_close(&map);
    unlink(path);
}

static void report_and_exit(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    char name[64];
    _exit(npu_map_name_at(info->si_addr, name, sizeof name) && strstr(name, "npu-map-test") ? 42 : 1);
}

/* What the command-line programs do, in a child: the handler knows which file shrank. */
static void works_in_a_signal_handler(void **state) {
    (void)state;
    char path[] = "/tmp/npu-map-test-XXXXXX";
    npu_map map;
    npu_error err;
    make_file(path, 1 << 16);
    assert_int_equal(npu_map_open(path, &map, &err), NPU_OK);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sigaction action = {.sa_sigaction = report_and_exit, .sa_flags = SA_SIGINFO};
        sigaction(SIGBUS, &action, NULL);
        if (truncate(path, 100) != 0) _exit(2);
        volatile const uint8_t *far = map.data + 40000;
        _exit(*far ? 3 : 4);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    npu_map_close(&map);
    unlink(path);
}

/* KiB of the mapping at |data| that are resident, by the system's own count; -1: no such mapping. */
static long resident(const void *data) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512], start[32];
    long kib = -1;
    bool here = false;
    assert_non_null(maps);
    snprintf(start, sizeof start, "%lx-", (unsigned long)(uintptr_t)data);
    while (kib < 0 && fgets(line, sizeof line, maps)) {
        if (!strncmp(line, start, strlen(start))) here = true;
        if (here && !strncmp(line, "Rss:", 4)) kib = strtol(line + 4, NULL, 10);
    }
    fclose(maps);
    return kib;
}

static void dropped_pages_come_back(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    char path[] = "/tmp/npu-map-test-XXXXXX";
    npu_map map;
    npu_error err;
    uint64_t sum = 0;
    make_file(path, SIZE);
    FILE *f = fopen(path, "r+");
    for (int i = 0; i < SIZE; i++) fputc(i % 251, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(npu_map_open(path, &map, &err), NPU_OK);
    for (int i = 0; i < SIZE; i++) sum += map.data[i];
    long before = resident(map.data);
    assert_true(before >= SIZE / 1024);
    npu_map_drop(map.data + 1, 10); /* less than a page: nothing */
    npu_map_drop(map.data, 0);
    assert_int_equal(resident(map.data), before);
    npu_map_drop(map.data + 100, SIZE - 200);
    assert_true(resident(map.data) < before / 4);
    for (int i = 0; i < SIZE; i++) sum -= map.data[i];
    assert_int_equal(sum, 0);
    npu_map_close(&map);
    unlink(path);
}

/* Nor does reading what lies between. A file that is written at once has large pages on systems that give files any. */
static void dropped_pages_do_not_come_back_with_others(void **state) {
    (void)state;
    enum { SIZE = 16 << 20, STEP = 1 << 20 };
    char path[] = "/tmp/npu-map-test-XXXXXX";
    npu_map map;
    npu_error err;
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    memset(bytes, 7, SIZE);
    int fd = mkstemp(path), sum = 0;
    assert_int_equal(write(fd, bytes, SIZE), SIZE);
    close(fd);
    assert_int_equal(npu_map_open(path, &map, &err), NPU_OK);
    for (int i = 0; i < SIZE; i += STEP) sum += map.data[i];
    for (int i = 0; i < SIZE; i += STEP) npu_map_drop(map.data + i + 100, STEP - 200);
    for (int i = 0; i < SIZE; i += STEP) sum += map.data[i];
    assert_int_equal(sum, 2 * 7 * SIZE / STEP);
    assert_true(resident(map.data) <= SIZE / 1024 / 4);
    npu_map_close(&map);
    unlink(path);
    free(bytes);
}

/* What a file lost is an error and no signal. */
static void copies_what_is_there(void **state) {
    (void)state;
    enum { SIZE = 1 << 16 };
    char path[] = "/tmp/npu-map-test-XXXXXX";
    static uint8_t copy[SIZE];
    npu_map map;
    npu_error err;
    make_file(path, SIZE);
    assert_int_equal(npu_map_open(path, &map, &err), NPU_OK);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "abc", 3, SIZE - 3), 3);
    close(fd);
    assert_true(npu_map_copy(copy, map.data + 5, SIZE - 5));
    assert_memory_equal(copy + SIZE - 8, "abc", 3);
    assert_true(npu_map_copy(copy, map.data, 0));
    assert_int_equal(truncate(path, 100), 0);
    assert_false(npu_map_copy(copy, map.data, SIZE));
    assert_true(npu_map_copy(copy, map.data, 100));
    npu_map_close(&map);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_regular_files_only),
        cmocka_unit_test(finds_the_file_behind_an_address),
        cmocka_unit_test(works_in_a_signal_handler),
        cmocka_unit_test(dropped_pages_come_back),
        cmocka_unit_test(dropped_pages_do_not_come_back_with_others),
        cmocka_unit_test(copies_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
