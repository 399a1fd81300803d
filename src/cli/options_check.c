/* What a set of flags can't mean: pairs that contradict each other, and values that need more than the table to check.
 * Called when all flags are parsed, before anything is opened. */
#include <string.h>

#include "base/cpu.h"
#include "cli/cli.h"

/* bench --ops, --repack and --roofline measure without a model: what says how to run one would be passed over. */
static int check_no_model(const cli_options *o) {
    static const int of_models[] = {CLI_OPT_model,       CLI_OPT_prompt_tokens, CLI_OPT_gen_tokens, CLI_OPT_depth,
                                    CLI_OPT_ctx,         CLI_OPT_json_schema,   CLI_OPT_host_cost,  CLI_OPT_plan_path,
                                    CLI_OPT_no_fallback, CLI_OPT_prefill_rows,  CLI_OPT_kv,         CLI_OPT_exact,
                                    CLI_OPT_fast,        CLI_OPT_profile,       CLI_OPT_trace_path, CLI_OPT_parallel,
                                    CLI_OPT_no_cache,    CLI_OPT_cache_limit};
    static const int of_targets[] = {CLI_OPT_runs, CLI_OPT_device, CLI_OPT_npu_target};
    const char *alone = o->ops ? "--ops" : o->repack ? "--repack" : o->roofline ? "--roofline" : NULL;
    for (size_t i = 0; alone && i < sizeof of_models / sizeof of_models[0]; i++)
        if (o->given[of_models[i]])
            return cli_usage("%s has no effect with %s: it is for running a model", cli_option_name(of_models[i]),
                             alone);
    for (size_t i = 0; o->roofline && i < sizeof of_targets / sizeof of_targets[0]; i++)
        if (o->given[of_targets[i]])
            return cli_usage("%s has no effect with --roofline: it is about this CPU", cli_option_name(of_targets[i]));
    return 0;
}

static int check_pairs(const cli_options *o) {
    static const struct {
        int a, b;
    } pairs[] = {
        {CLI_OPT_exact, CLI_OPT_fast},           {CLI_OPT_exact, CLI_OPT_npu_target},
        {CLI_OPT_prompt, CLI_OPT_file},          {CLI_OPT_verbose, CLI_OPT_quiet},
        {CLI_OPT_exact, CLI_OPT_driver},         {CLI_OPT_fast, CLI_OPT_npu_target},
        {CLI_OPT_fast, CLI_OPT_driver},          {CLI_OPT_host_cost, CLI_OPT_json_schema},
        {CLI_OPT_no_cache, CLI_OPT_cache_limit}, {CLI_OPT_ops, CLI_OPT_repack},
        {CLI_OPT_estimate, CLI_OPT_ops},         {CLI_OPT_estimate, CLI_OPT_repack},
        {CLI_OPT_estimate, CLI_OPT_roofline},    {CLI_OPT_estimate, CLI_OPT_host_cost},
        {CLI_OPT_estimate, CLI_OPT_json_schema}, {CLI_OPT_estimate, CLI_OPT_parallel},
        {CLI_OPT_estimate, CLI_OPT_runs},        {CLI_OPT_estimate, CLI_OPT_prompt_tokens},
        {CLI_OPT_estimate, CLI_OPT_gen_tokens},  {CLI_OPT_estimate, CLI_OPT_profile},
        {CLI_OPT_estimate, CLI_OPT_trace_path},  {CLI_OPT_parallel, CLI_OPT_host_cost},
        {CLI_OPT_ops, CLI_OPT_roofline},         {CLI_OPT_repack, CLI_OPT_roofline},
        {CLI_OPT_parallel, CLI_OPT_json_schema}, {CLI_OPT_detokenize, CLI_OPT_prompt},
        {CLI_OPT_detokenize, CLI_OPT_file},      {CLI_OPT_detokenize, CLI_OPT_no_special},
        {CLI_OPT_check, CLI_OPT_output},         {CLI_OPT_diff, CLI_OPT_check},
        {CLI_OPT_diff, CLI_OPT_output},          {CLI_OPT_diff, CLI_OPT_model},
        {CLI_OPT_diff, CLI_OPT_plan_path},       {CLI_OPT_raw, CLI_OPT_system},
        {CLI_OPT_raw, CLI_OPT_template},         {CLI_OPT_json_mode, CLI_OPT_json_schema},
        {CLI_OPT_mirostat, CLI_OPT_top_k},       {CLI_OPT_mirostat, CLI_OPT_top_p},
        {CLI_OPT_mirostat, CLI_OPT_min_p},       {CLI_OPT_mirostat, CLI_OPT_typical},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (o->given[pairs[i].a] && o->given[pairs[i].b])
            return cli_usage("%s and %s contradict each other", cli_option_name(pairs[i].a),
                             cli_option_name(pairs[i].b));
    if (!o->device) return 0;
    if (!strcmp(o->device, "cpu") && (o->npu_target || o->driver))
        return cli_usage("--device cpu and %s contradict each other", o->npu_target ? "--npu-target" : "--driver");
    if (!strcmp(o->device, "npu") && (o->exact || o->fast))
        return cli_usage("--device npu and %s contradict each other", o->exact ? "--exact" : "--fast");
    return 0;
}

/* A level that exists but that this machine lacks is refused later, as what a target can't do. */
static int check_cpu_level(const cli_options *o) {
    uint32_t features;
    npu_error err = {0};
    char text[CLI_TEXT];
    if (o->cpu_level && npu_cpu_level(o->cpu_level, &features, &err) == NPU_INVALID)
        return cli_usage("%s", cli_flags_in(err.text, text));
    return 0;
}

/* One key twice: the second would take the first's place. */
static int check_emu(const cli_options *o) {
    for (int i = 0; o->emu[i]; i++)
        for (int k = 0; k < i; k++) {
            size_t n = strcspn(o->emu[i], "=") + 1;
            if (!strncmp(o->emu[i], o->emu[k], n) && strcmp(o->emu[i], "help") != 0)
                return cli_usage("--emu %s and --emu %s contradict each other%s", o->emu[k], o->emu[i],
                                 !strncmp(o->emu[i], "fault=", n) ? ": several rules are joined by ;" : "");
        }
    return 0;
}

/* An emulated device that does not compute answers with what was in memory. */
static int check_idle(const cli_options *o) {
    for (int i = 0; o->emu[i] && !o->host_cost; i++)
        if (!strncmp(o->emu[i], "idle=", 5) && strcmp(o->emu[i], "idle=0") != 0)
            return cli_usage("--emu %s: the device would not compute: only for npu bench --host-cost", o->emu[i]);
    return 0;
}

int cli_check_options(const cli_options *o) {
    int bad = check_pairs(o);
    if (!bad) bad = check_emu(o);
    if (!bad) bad = check_idle(o);
    if (!bad && o->split && !o->npu_devices)
        bad = cli_usage("--split %s has no effect: it needs --npu-devices SET", o->split);
    if (!bad) bad = check_no_model(o);
    for (int i = 0; !bad && o->stop[i]; i++)
        if (!*o->stop[i]) bad = cli_usage("--stop: string %d is empty", i + 1);
    return bad ? bad : check_cpu_level(o);
}
