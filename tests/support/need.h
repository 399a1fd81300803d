// What C tests say when the machine lacks something they need: "not available", a failure in CI (cmake/testing.cmake).
// A whole program:   int main(void) { if (!file) return npu_not_available(file); … }
// One cmocka test:   if (!file) { npu_skip_test("…"); }
#pragma once
#include <stdio.h>
#include <stdlib.h>

// Names what is missing; returns the exit code that ctest takes for "skipped".
static inline int npu_not_available(const char *what) {
    fprintf(stderr, "not available: %s\n", what);
    return 77;
}

// Returns the folder of the reference cases, or NULL if it is not there (ctest sets NPU_SHARED).
static inline const char *npu_shared_dir(void) {
    return getenv("NPU_SHARED");
}

// Ends the running cmocka test as skipped. Include cmocka.h first.
#define npu_skip_test(what) (npu_not_available(what), skip())
