/* A folder that stands for the system's root, for code that reads /proc and /sys: make_root and remove_root around a
 * group of tests. */
#ifndef NPU_TESTS_FAKE_ROOT_H
#define NPU_TESTS_FAKE_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static char root[sizeof "/tmp/npu-root-test-XXXXXX"];

static inline int make_root(void **state) {
    (void)state;
    strcpy(root, "/tmp/npu-root-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static inline int remove_root(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command); /* NOLINT(cert-env33-c) */
}

static inline void put(const char *path, const char *text) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *at = name + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(name, 0700);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static inline void drop(const char *path) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    remove(name);
}

#endif
