/* Every CPU level of this machine against the plain reference, default and exact mode. The reference itself only
 * where there is no other level: it computes in every other run, and what it writes besides is the same on any machine.
 * What conform_test asks more of on a PC, as a program that needs only libc, for machines that are emulated. */
#include <string.h>

#include "base/cpu.h"
#include "conform/conform.h"
#include "support/optest.h"

enum { CASES = 400, SEED = 20250 };

static void print_failure(void *user, const npu_conform_report *r) {
    (void)user;
    if (r->verdict == NPU_CONFORM_FAIL) printf("FAIL %s %s (%s): %s\n", r->op, r->type, r->shapes, r->why);
}

static void run_level(const char *level, npu_mode mode) {
    npu_target *target;
    npu_error err;
    uint32_t features;
    npu_target_params params = {.cpu_level = level, .mode = mode, .n_threads = 2};
    if (npu_cpu_level(level, &features, &err) == NPU_UNSUPPORTED) return;
    if (npu_target_host.open(&params, NULL, NULL, &target, &err) != NPU_OK) {
        optest_check(false, "level %s: %s", level, err.text);
        return;
    }
    npu_conform_params p = {.target = target, .cases = CASES, .seed = SEED};
    npu_conform_totals totals = {0};
    npu_status status = npu_conform_run(&p, print_failure, NULL, &totals, &err);
    npu_target_host.close(target);
    if (status != NPU_OK) printf("level %s: %s\n", level, err.text);
    printf("level %s, mode %d: %u passed, %u failed, %u skipped\n", level, (int)mode, totals.passed, totals.failed,
           totals.skipped);
    optest_check(status == NPU_OK && totals.passed && !totals.failed, "level %s, mode %d", level, (int)mode);
}

static void all(void) {
    for (unsigned i = 0; npu_cpu_level_at(i); i++) {
        if (!strcmp(npu_cpu_level_at(i), "ref") && npu_cpu_features()) continue;
        run_level(npu_cpu_level_at(i), NPU_MODE_DEFAULT);
        run_level(npu_cpu_level_at(i), NPU_MODE_EXACT);
    }
}

int main(int argc, char **argv) {
    return optest_run(argc, argv, all);
}
