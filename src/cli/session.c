/* A model and a context opened as the flags say. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"
#include "cli/profile.h"
#include "target/target.h"

/* |user|: the options. */
static bool show_progress(void *user, double part) {
    bool shown = !((const cli_options *)user)->quiet && isatty(STDERR_FILENO);
    if (shown && (part >= 1 || cli_interrupted))
        fputs("\r\033[K", stderr);
    else if (shown)
        fprintf(stderr, "\rloading %3.0f %%", part * 100);
    return !cli_interrupted;
}

static bool is_interrupted(void *user) {
    (void)user;
    return cli_interrupted != 0;
}

npu_context_params cli_context_params(const cli_options *o) {
    npu_context_params p = {
        .logger = cli_logger(o),
        .ctx = (uint32_t)o->ctx,
        .n_seq = (uint32_t)o->parallel,
        .prefill_rows = (uint32_t)o->prefill_rows,
        .mode = o->exact  ? NPU_MODE_EXACT
                : o->fast ? NPU_MODE_FAST
                          : NPU_MODE_DEFAULT,
        .kv = o->kv,
        .threads = (unsigned)o->threads,
        .cpu_level = o->cpu_level,
        .npu_target = o->npu_target,
        .npu_devices = o->npu_devices,
        .split = o->split,
        .driver = o->driver,
        .kernels_dir = o->kernels_dir,
        .cache_dir = o->cache[0] ? o->cache : NULL,
        .no_cache = o->no_cache,
        .cache_limit_bytes = (uint64_t)o->cache_limit,
        .plan_path = o->plan_path,
        .emu = o->emu[0] ? o->emu : NULL,
        .timeout_s = o->timeout_s,
        .no_fallback = o->no_fallback,
        .no_wait = o->no_wait,
        .cancelled = is_interrupted,
        .progress = show_progress,
        .progress_user = (void *)(uintptr_t)o,
    };
    return p;
}

int cli_check_target(const cli_options *o) {
    const npu_target_ops *target;
    npu_error err = {0};
    if (!o->npu_target) {
        static const int for_npu[] = {CLI_OPT_kernels_dir, CLI_OPT_timeout_s, CLI_OPT_no_fallback, CLI_OPT_no_wait};
        bool want = o->device && !strcmp(o->device, "npu");
        if (o->driver) return cli_usage("--driver %s needs --npu-target", o->driver);
        if (o->emu[0]) return cli_usage("--emu %s needs --npu-target", o->emu[0]);
        if (o->npu_devices) return cli_usage("--npu-devices %s needs --npu-target", o->npu_devices);
        for (size_t i = 0; !want && i < sizeof for_npu / sizeof for_npu[0]; i++)
            if (o->given[for_npu[i]])
                return cli_usage("%s has no effect on the CPU: it needs --npu-target NAME or --device npu",
                                 cli_option_name(for_npu[i]));
        return 0;
    }
    if (npu_target_find(o->npu_target, &target, &err) != NPU_OK) return cli_fail(&err);
    npu_target_params params = {.logger = cli_logger(o),
                                .driver = o->driver,
                                .arch = o->arch,
                                .devices = o->npu_devices,
                                .split = o->split,
                                .emu = o->emu[0] ? o->emu : NULL};
    return npu_target_check(target, &params, o->kernels_dir, &err) == NPU_OK ? 0 : cli_fail(&err);
}

npu_status cli_emu_keys(const cli_options *o, const char **keys, npu_error *err) {
    npu_target_params params = {.logger = cli_logger(o), .driver = o->driver};
    const npu_target_ops *named = NULL;
    if (o->npu_target) NPU_TRY(npu_target_find(o->npu_target, &named, err));
    for (unsigned i = 0; npu_target_at(i); i++) {
        const npu_target_ops *t = npu_target_at(i);
        if (t->describe_emu && (!named || t == named)) return t->describe_emu(&params, keys, err);
    }
    return npu_fail(err, NPU_REFUSED, "device.emu", "no target of this build has emulated devices");
}

bool cli_emu_help(const cli_options *o, int *bad) {
    npu_error err = {0};
    const char *keys;
    int i = 0;
    while (o->emu[i] && strcmp(o->emu[i], "help") != 0) i++;
    if (!o->emu[i]) return false;
    *bad = cli_emu_keys(o, &keys, &err) == NPU_OK ? 0 : cli_fail(&err);
    if (!*bad) fputs(keys, stdout);
    return true;
}

/* --device npu or auto: the first NPU target that finds its device. NULL when none does; |*err| has every target's
 * reason, and the status of the first that is more than a missing device. */
static const char *find_npu(const cli_options *o, npu_error *err) {
    npu_target_params params = {.logger = cli_logger(o), .arch = o->arch};
    npu_status worst = NPU_NO_DEVICE;
    char why[sizeof err->text] = "";
    size_t used = 0;
    for (unsigned i = 0; npu_target_at(i); i++) {
        npu_error one = {0};
        npu_caps caps;
        if (!npu_target_at(i)->is_npu) continue;
        npu_status status = npu_target_at(i)->probe(&params, &caps, &one);
        if (status == NPU_OK) return npu_target_at(i)->name;
        if (worst == NPU_NO_DEVICE) worst = status;
        int n = snprintf(why + used, sizeof why - used, "%s%s: %s", used ? "; " : "", npu_target_at(i)->name, one.text);
        if (n > 0) used = used + (size_t)n < sizeof why ? used + (size_t)n : sizeof why - 1;
    }
    npu_fail(err, worst, "device.none", "%s", used ? why : "this build has no NPU target");
    return NULL;
}

int cli_open_model(const cli_options *o, bool with_tokenizer, cli_session *out) {
    *out = (cli_session){0};
    int bad = cli_check_target(o);
    if (bad) return bad;
    if (!o->model) return cli_usage("no model: give one with --model FILE");
    bad = cli_check_results(o);
    if (bad) return bad;
    npu_model_params params = {.logger = cli_logger(o), .no_tokenizer = !with_tokenizer};
    npu_error err = {0};
    if (npu_model_open(o->model, &params, &out->model, &err) != NPU_OK) return cli_fail(&err);
    return cli_check_parts(o, out->model);
}

int cli_choose_target(const cli_options *o, const char **name) {
    npu_error err = {0};
    bool want = o->device && !strcmp(o->device, "npu");
    bool may = !o->exact && !o->fast && (!o->device || !strcmp(o->device, "auto"));
    *name = o->npu_target;
    if (!*name && (want || may)) *name = find_npu(o, &err);
    return !*name && want ? cli_fail(&err) : 0;
}

int cli_open_context(const cli_options *o, cli_session *session) {
    npu_context_params params = cli_context_params(o);
    npu_error err = {0};
    int bad = cli_choose_target(o, &params.npu_target);
    if (bad) return bad;
    params.trace_path = session->trace = o->trace_path;
    if (o->profile && !(session->profile = calloc(1, sizeof *session->profile)))
        return cli_fail(&(npu_error){.status = NPU_NO_MEMORY, .code = "profile.memory"});
    npu_status status = npu_context_open(session->model, &params, &session->context, &err);
    bool asked = o->npu_target || (o->device && !strcmp(o->device, "npu"));
    if (params.npu_target && !asked && (status == NPU_NO_DEVICE || status == NPU_NOT_FOUND)) {
        npu_log(&params.logger, NPU_LOG_WARN, "%s is there but not usable: %s", params.npu_target, err.text);
        params.npu_target = NULL;
        status = npu_context_open(session->model, &params, &session->context, &err);
    }
    if (status == NPU_OK && session->profile) cli_profile_start(session->profile, session->context);
    return status == NPU_OK ? 0 : cli_fail(&err);
}

int cli_open_reference(const cli_options *o, const cli_session *session, npu_context **out) {
    npu_context_params p = cli_context_params(o);
    npu_error err = {0};
    p.npu_target = NULL;
    p.driver = NULL;
    p.npu_devices = NULL;
    p.split = NULL;
    p.kernels_dir = NULL;
    p.plan_path = NULL;
    p.emu = NULL;
    p.no_fallback = false;
    p.mode = strcmp(o->against, "exact") ? NPU_MODE_DEFAULT : NPU_MODE_EXACT;
    if (p.mode == NPU_MODE_EXACT) p.kv = NULL;
    return npu_context_open(session->model, &p, out, &err) == NPU_OK ? 0 : cli_fail(&err);
}

int cli_open_grammar(const npu_model *model, const char *schema_path, bool any_object, npu_grammar **out) {
    char *schema = NULL;
    size_t size = 0;
    npu_error err = {0};
    *out = NULL;
    if (!schema_path && !any_object) return 0;
    int bad = schema_path ? cli_read_file(schema_path, &schema, &size) : 0;
    if (!bad && npu_grammar_create(model, schema, size, out, &err) != NPU_OK)
        bad = schema_path ? cli_fail_in(schema_path, &err) : cli_fail(&err);
    free(schema);
    return bad;
}

const char *cli_plan_hash(const cli_session *session) {
    return session->context->plan->hash;
}

static int end_trace(const cli_session *session) {
    npu_trace_report report;
    npu_error err = {0};
    if (!session->trace || !session->context) return 0;
    if (npu_context_trace_end(session->context, &report, &err) != NPU_OK) return cli_fail(&err);
    if (report.dropped)
        cli_line(stderr, "npu: warning: %llu of %llu spans are missing in %s: the device had no room for them",
                 (unsigned long long)report.dropped, (unsigned long long)report.spans + report.dropped, session->trace);
    return 0;
}

int cli_close(cli_session *session, int bad) {
    int trace = end_trace(session);
    if (session->profile && session->context && (!bad || session->profile->n)) { /* else its error is enough */
        cli_profile_print(session->profile, stderr);
        cli_profile_print_device(session->context, stderr);
    }
    free(session->profile);
    cli_look_for_interrupt(); /* it may write for a while */
    npu_context_close(session->context);
    npu_model_close(session->model);
    *session = (cli_session){0};
    return bad ? bad : trace;
}

double cli_now(void) {
    return (double)npu_clock_ns() * 1e-9;
}

uint64_t cli_peak_memory(void) {
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmHWM:", 6)) kib = strtoull(line + 6, NULL, 10);
    if (f) fclose(f);
    return kib * 1024;
}
