/* npu conform: every op of a target on random shapes and strides against the host's plain reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/profile.h"
#include "conform/conform.h"

/* The command that runs this case alone, on the same target and device. */
static void print_repeat(const cli_options *o, const npu_conform_report *r) {
    static const int own[] = {CLI_OPT_op, CLI_OPT_type, CLI_OPT_cases, CLI_OPT_seed, CLI_OPT_profile, CLI_OPT_verbose};
    printf("  repeat: npu conform --op %s --type %s --cases 1 --seed %llu", r->op, r->type,
           (unsigned long long)r->seed);
    cli_print_given(o, own, sizeof own / sizeof own[0]);
    putchar('\n');
}

static void report_case(void *user, const npu_conform_report *r) {
    const cli_options *o = user;
    static const char *const names[] = {[NPU_CONFORM_PASS] = "pass",
                                        [NPU_CONFORM_FAIL] = "FAIL",
                                        [NPU_CONFORM_SKIP] = "skip",
                                        [NPU_CONFORM_REFUSED] = "refused"};
    bool failed = r->verdict == NPU_CONFORM_FAIL;
    if (!failed && r->verdict != NPU_CONFORM_REFUSED && !o->verbose) return;
    cli_line(stdout, "%s %s %s seed %llu (%s)%s %s", names[r->verdict], r->op, r->type, (unsigned long long)r->seed,
             r->shapes, failed ? ":" : "", r->why);
    if (failed) print_repeat(o, r);
}

static int run_cases(const cli_options *o, npu_target *target, cli_profile *profile) {
    npu_conform_params p = {.target = target,
                            .op = o->op,
                            .type = o->type,
                            .cases = (uint32_t)o->cases,
                            .seed = (uint64_t)o->seed,
                            .profile = profile ? cli_profile_add : NULL,
                            .profile_user = profile,
                            .go_on = cli_go_on};
    npu_conform_totals totals = {0};
    npu_error err = {0};
    if (npu_conform_run(&p, report_case, (void *)o, &totals, &err) != NPU_OK) return cli_fail(&err);
    cli_part(stdout, "%s (%s), seed %lld: %u passed, %u failed, %u skipped", target->ops->name, target->caps.device,
             (long long)o->seed, totals.passed, totals.failed, totals.skipped);
    if (totals.refused) printf(", %u refused", totals.refused);
    putchar('\n');
    if (profile) cli_profile_print(profile, stderr);
    return totals.failed ? CLI_EXIT_FAILED : totals.refused ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
}

int cli_conform(const cli_options *o) {
    int bad = cli_check_target(o);
    if (bad) return bad;
    const npu_target_ops *ops = &npu_target_host;
    npu_target *target = NULL;
    npu_error err = {0};
    npu_target_params params = {.logger = cli_logger(o),
                                .mode = o->exact ? NPU_MODE_EXACT : NPU_MODE_DEFAULT,
                                .n_threads = (unsigned)o->threads,
                                .cpu_level = o->cpu_level,
                                .driver = o->driver,
                                .timeout_s = o->timeout_s,
                                .emu = o->emu[0] ? o->emu : NULL};
    const char *name;
    if (o->npu_target || o->device) bad = cli_choose_target(o, &name);
    if (bad) return bad;
    if ((o->npu_target || o->device) && name && npu_target_find(name, &ops, &err) != NPU_OK) return cli_fail(&err);
    if (!ops->submit) {
        npu_fail(&err, NPU_REFUSED, "conform.target",
                 "target %s runs no single ops, only the products of a plan: npu bench --ops gemv measures those",
                 ops->name);
        return cli_fail(&err);
    }
    if (ops->open(&params, NULL, o->kernels_dir, &target, &err) != NPU_OK) return cli_fail(&err);
    cli_look_for_interrupt();
    cli_profile *profile = o->profile ? calloc(1, sizeof *profile) : NULL;
    bad = o->profile && !profile ? cli_error("no memory for a profile") : run_cases(o, target, profile);
    free(profile);
    ops->close(target);
    return bad;
}
