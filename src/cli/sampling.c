#include "cli/sampling.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the order, as given with --samplers, names a step. */
static bool names(const char *order, const char *step) {
    size_t n = strlen(step);
    for (const char *at = order; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == n && !memcmp(at, step, n)) return true;
    return false;
}

static int check_steps(const char *order) {
    for (const char *at = order; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char step[32];
        snprintf(step, sizeof step, "%.*s", (int)strcspn(at, ","), at);
        if (!names(NPU_SAMPLER_ORDER, step))
            return cli_usage("--samplers: \"%s\" is no step (steps: %s)", step, NPU_SAMPLER_ORDER);
        const char *comma = strchr(at, ',');
        if (comma && names(comma + 1, step)) return cli_usage("--samplers: \"%s\" is there twice", step);
    }
    return 0;
}

/* A step whose flag is given must be one that is taken. */
static int check_order(const cli_options *o) {
    const struct {
        int flag;
        const char *name, *step;
    } rows[] = {{CLI_OPT_temp, "--temp", "temp"},
                {CLI_OPT_top_k, "--top-k", "top-k"},
                {CLI_OPT_top_p, "--top-p", "top-p"},
                {CLI_OPT_min_p, "--min-p", "min-p"},
                {CLI_OPT_typical, "--typical", "typical"},
                {CLI_OPT_repeat_penalty, "--repeat-penalty", "penalties"},
                {CLI_OPT_presence_penalty, "--presence-penalty", "penalties"},
                {CLI_OPT_frequency_penalty, "--frequency-penalty", "penalties"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool greedy = rows[i].flag == CLI_OPT_temp && o->temp == 0; /* needs no step */
        if (o->samplers && o->given[rows[i].flag] && !greedy && !names(o->samplers, rows[i].step))
            return cli_usage("%s has no effect: --samplers does not name %s", rows[i].name, rows[i].step);
    }
    return 0;
}

int cli_check_sampling(const cli_options *o) {
    bool penalty =
        o->given[CLI_OPT_repeat_penalty] || o->given[CLI_OPT_presence_penalty] || o->given[CLI_OPT_frequency_penalty];
    if (o->given[CLI_OPT_penalty_window] && !penalty)
        return cli_usage("--penalty-window has no effect without a penalty (--repeat-penalty and its like)");
    if (o->mirostat > 0 && o->temp == 0) return cli_usage("--mirostat has no effect at temperature 0: give --temp");
    if (o->given[CLI_OPT_mirostat_rate] && !(o->mirostat > 0))
        return cli_usage("--mirostat-rate has no effect without --mirostat");
    int bad = check_steps(o->samplers);
    return bad ? bad : check_order(o);
}

/* Adds the "ID:VALUE,…" of one flag; VALUE is a number or -inf. */
static int read_biases(const char *text, npu_logit_bias *list, size_t *n) {
    for (const char *at = text;;) {
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        bool good = end > at && *end == ':' && !errno && id >= 0 && id <= INT32_MAX;
        double value = good ? strtod(at = end + 1, &end) : 0;
        if (!good || end == at || (*end && *end != ',') || isnan(value) || value > 1e6)
            return cli_usage("--logit-bias: '%s' is not ID:VALUE,… with numbers up to 1000000, or -inf", text);
        list[(*n)++] = (npu_logit_bias){(int32_t)id, value < -1e6 ? -INFINITY : (float)value};
        if (!*end) return 0;
        at = end + 1;
    }
}

static int all_biases(const cli_options *o, npu_logit_bias **list, size_t *n) {
    size_t room = 0;
    for (int i = 0; o->logit_bias[i]; i++) room += strlen(o->logit_bias[i]) / 2 + 1; /* "0:1," is the shortest */
    *n = 0;
    *list = malloc((room + 1) * sizeof **list);
    if (!*list) return cli_error("out of memory");
    for (int i = 0, bad; o->logit_bias[i]; i++)
        if ((bad = read_biases(o->logit_bias[i], *list, n))) return bad;
    return 0;
}

int cli_sampler_open(const cli_options *o, uint32_t n_vocab, npu_sampler **out) {
    npu_logit_bias *bias;
    size_t n_bias;
    npu_error err = {0};
    int bad = all_biases(o, &bias, &n_bias);
    npu_sampler_params p = {.temperature = (float)o->temp,
                            .top_k = (uint32_t)o->top_k,
                            .top_p = (float)o->top_p,
                            .min_p = (float)o->min_p,
                            .typical_p = (float)o->typical,
                            .repeat_penalty = (float)o->repeat_penalty,
                            .frequency_penalty = (float)o->frequency_penalty,
                            .presence_penalty = (float)o->presence_penalty,
                            .penalty_window = (uint32_t)o->penalty_window,
                            .mirostat_tau = (float)o->mirostat,
                            .mirostat_eta = (float)o->mirostat_rate,
                            .bias = bias,
                            .n_bias = n_bias,
                            .order = o->samplers,
                            .seed = (uint64_t)o->seed};
    if (!bad && npu_sampler_create(&p, n_vocab, out, &err) != NPU_OK) bad = cli_fail(&err);
    free(bias);
    return bad;
}
