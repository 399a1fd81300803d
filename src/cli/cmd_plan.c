/* npu plan: what runs where, in which layout, and why; printed, written as plan.json, checked against this machine, or
 * compared with another plan. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "cli/cli.h"
#include "cli/plan_print.h"
#include "cli/profile.h"

static void print_line(void *user, const char *text) {
    (void)user;
    cli_line(stdout, "%s", text);
}

/* As diff does: 0 the same, 1 different, else a refusal. */
static int diff(const char *path_a, const char *path_b) {
    npu_plan *a = NULL, *b = NULL;
    npu_error err = {0};
    uint32_t n = 0;
    npu_status status = npu_plan_read(path_a, &a, &err);
    if (status == NPU_OK) status = npu_plan_read(path_b, &b, &err);
    if (status == NPU_OK) status = npu_plan_diff(a, b, print_line, NULL, &n, &err);
    npu_plan_free(a);
    npu_plan_free(b);
    if (status != NPU_OK) return cli_fail(&err);
    return n ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

/* Opens all that npu run would open by this plan; what does not fit is refused on the way. */
static int check(const cli_options *o, cli_session *session) {
    int bad = cli_open_context(o, session);
    if (bad) return bad;
    const npu_context *c = session->context;
    const npu_target *device = c->device ? c->device : c->host;
    if (!o->quiet) cli_line(stdout, "plan %s fits %s on %s", c->plan->hash, c->plan->model_name, device->caps.device);
    if (device->ops->report && !o->quiet) device->ops->report(device, print_line, NULL);
    return 0;
}

/* With --arch the device is not here: only what was planned for it is compared. */
static int derive(const cli_options *o, cli_session *session, npu_plan **plan) {
    npu_context_params params = cli_context_params(o);
    npu_error err = {0};
    params.progress = NULL;
    int bad = cli_choose_target(o, &params.npu_target);
    if (!bad && o->arch && !params.npu_target)
        bad = cli_usage("--arch has no effect on the CPU: it needs --npu-target NAME or --device npu");
    if (!bad && npu_api_plan(session->model, &params, o->arch, plan, &err) != NPU_OK) bad = cli_fail(&err);
    if (!bad && o->output && npu_plan_write(*plan, o->output, &err) != NPU_OK) {
        cli_discard(o->output);
        bad = cli_fail(&err);
    }
    return bad;
}

/* Some targets plan with what their kernels folder has. */
static bool plans_with_kernels(const cli_options *o) {
    const npu_target_ops *target = NULL;
    if (!o->npu_target || npu_target_find(o->npu_target, &target, NULL) != NPU_OK) return true;
    return target->design != NULL;
}

int cli_plan(const cli_options *o) {
    if (o->diff && !o->n_positional) return cli_usage("--diff %s needs a second file: --diff A B", o->diff);
    if (o->diff) return diff(o->diff, o->positional[0]);
    if (o->n_positional) return cli_usage("npu plan: '%s' is one operand too many", o->positional[0]);
    if (o->check && !o->plan_path) return cli_usage("--check needs --plan FILE");
    bool opens = o->check && !o->arch, kernels = o->kernels_dir && !plans_with_kernels(o);
    if (!opens && (kernels || o->given[CLI_OPT_timeout_s]))
        return cli_usage("%s has no effect: only --check opens the NPU", kernels ? "--kernels" : "--timeout");
    cli_session session;
    npu_plan *plan = NULL;
    int bad = cli_open_model(o, false, &session);
    if (!bad) bad = opens ? check(o, &session) : derive(o, &session, &plan);
    if (!bad && plan && !o->output && !o->check) cli_print_plan(plan);
    if (!bad && o->profile && !opens) cli_profile_print_none(stderr);
    npu_plan_free(plan);
    return cli_close(&session, bad);
}
