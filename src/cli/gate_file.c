/* A recording as a folder: gate.json (prompts, texts, hashes, profile, the options it was made with), logits.f32 (the
 * kept rows, little endian), plan.json. gate.json is written last: without it there is no recording. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "cli/gate.h"

enum { PATH_SIZE = 4096 };

/* The options that decide what is computed, and where. */
static const struct kept_option {
    int option;
    size_t offset;
    enum { TEXT, COUNT, NUMBER, SWITCH, FILE_NAME } kind;
} kept_options[] = {
#define KEPT(field, kind) \
    { CLI_OPT_##field, offsetof(cli_options, field), kind }
    KEPT(model, FILE_NAME),
    KEPT(device, TEXT),
    KEPT(npu_target, TEXT),
    KEPT(driver, TEXT),
    KEPT(npu_devices, TEXT),
    KEPT(split, TEXT),
    KEPT(kernels_dir, FILE_NAME),
    KEPT(plan_path, FILE_NAME),
    KEPT(timeout_s, NUMBER),
    KEPT(threads, COUNT),
    KEPT(cpu_level, TEXT),
    KEPT(prefill_rows, COUNT),
    KEPT(kv, TEXT),
    KEPT(exact, SWITCH),
    KEPT(fast, SWITCH),
    KEPT(ctx, COUNT),
    KEPT(no_fallback, SWITCH),
    KEPT(max_tokens, COUNT),
    KEPT(runs, COUNT),
#undef KEPT
};

enum { N_KEPT = sizeof kept_options / sizeof kept_options[0] };

static int in_folder(const char *dir, const char *name, char out[PATH_SIZE]) {
    if (snprintf(out, PATH_SIZE, "%s/%s", dir, name) < PATH_SIZE) return 0;
    return cli_error("%s: the name is too long", dir);
}

/* A check runs in another folder than the recording. */
static json_t *file_name(const char *path) {
    char *full = realpath(path, NULL), text[PATH_SIZE];
    npu_utf8_sanitize(text, sizeof text, full ? full : path, strlen(full ? full : path));
    free(full);
    return json_string(text);
}

static json_t *options_json(const cli_options *o) {
    json_t *all = json_object(), *emu = json_array();
    for (int i = 0; i < N_KEPT; i++) {
        const struct kept_option *k = &kept_options[i];
        const void *at = (const char *)o + k->offset;
        if (!o->given[k->option]) continue;
        json_t *value = k->kind == COUNT    ? json_integer(*(const int64_t *)at)
                        : k->kind == NUMBER ? json_real(*(const double *)at)
                        : k->kind == SWITCH ? json_true()
                        : k->kind == TEXT   ? json_string(*(const char *const *)at)
                                            : file_name(*(const char *const *)at);
        json_object_set_new(all, cli_option_name(k->option), value);
    }
    for (int i = 0; o->emu[i]; i++) json_array_append_new(emu, json_string(o->emu[i]));
    json_object_set_new(all, "--emu", emu);
    return all;
}

/* Whether |v| is of the option's type and in its range. */
static bool is_value(const struct kept_option *k, const json_t *v) {
    if (k->kind == SWITCH) return json_is_boolean(v);
    if (k->kind == TEXT || k->kind == FILE_NAME)
        return json_is_string(v) && json_string_length(v) == strlen(json_string_value(v));
    return (k->kind == COUNT ? json_is_integer(v) : json_is_number(v)) &&
           cli_option_takes(k->option, json_number_value(v));
}

/* The name of the first option that is none of these or has a value that it can't have; NULL when all are well. */
static const char *wrong_option(const json_t *all) {
    const json_t *emu = json_object_get(all, "--emu");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)all, name, value) {
        int i = 0;
        while (i < N_KEPT && strcmp(name, cli_option_name(kept_options[i].option)) != 0) i++;
        if (i < N_KEPT ? !is_value(&kept_options[i], value) : strcmp(name, "--emu") != 0) return name;
    }
    if (!json_is_array(emu) || json_array_size(emu) > CLI_LIST_MAX) return "--emu";
    for (size_t i = 0; i < json_array_size(emu); i++)
        if (!json_is_string(json_array_get(emu, i))) return "--emu";
    return NULL;
}

static int refuse(const char *path, const char *code, const char *what) {
    npu_error err = {0};
    npu_fail(&err, NPU_REFUSED, code, "%s %s", path, what);
    return cli_fail(&err);
}

static int check_options(const char *path, const json_t *all) {
    char what[128];
    if (!json_is_object(all)) return refuse(path, "gate.field", "has no options");
    const char *wrong = wrong_option(all);
    if (!wrong) return 0;
    snprintf(what, sizeof what, "has options.%s: missing, unknown or with a value that it can't have", wrong);
    return refuse(path, "gate.field", what);
}

void cli_gate_options(const gate_recording *r, cli_options *o) {
    const json_t *all = json_object_get(r->doc, "options"), *emu = json_object_get(all, "--emu");
    for (int i = 0; i < N_KEPT; i++) {
        const struct kept_option *k = &kept_options[i];
        const json_t *value = json_object_get(all, cli_option_name(k->option));
        void *at = (char *)o + k->offset;
        if (!value || o->given[k->option]) continue;
        o->given[k->option] = true;
        if (k->kind == TEXT || k->kind == FILE_NAME) *(const char **)at = json_string_value(value);
        if (k->kind == COUNT) *(int64_t *)at = json_integer_value(value);
        if (k->kind == NUMBER) *(double *)at = json_number_value(value);
        if (k->kind == SWITCH) *(bool *)at = json_is_true(value);
    }
    if (o->given[CLI_OPT_emu]) return;
    for (size_t i = 0; i < json_array_size(emu) && i < CLI_LIST_MAX; i++)
        o->emu[i] = json_string_value(json_array_get(emu, i));
    o->given[CLI_OPT_emu] = json_array_size(emu) > 0;
}

static int write_bytes(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
    if (f && fclose(f) != 0) ok = false;
    return ok ? 0 : cli_error("%s: %s", path, strerror(errno));
}

static bool is_empty(const char *dir) {
    DIR *d = opendir(dir);
    bool empty = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) empty = false;
    if (d) closedir(d);
    return empty;
}

/* A folder that holds other files is not written to; an old recording ends here. */
static int make_folder(const char *dir, const char *gate_json) {
    int why = mkdir(dir, 0777) == 0 ? 0 : errno;
    if (why == EEXIST && is_empty(dir)) why = 0;
    if (why != EEXIST) return why ? cli_error("%s: %s", dir, strerror(why)) : 0;
    why = unlink(gate_json) == 0 ? 0 : errno;
    if (why == ENOENT) return cli_usage("--output %s is there and is no recording", dir);
    return why ? cli_error("%s: %s", gate_json, strerror(why)) : 0;
}

int cli_gate_write(const char *dir, const cli_options *o, const cli_session *session, gate_recording *r) {
    char gate_json[PATH_SIZE], logits[PATH_SIZE], plan[PATH_SIZE];
    npu_error err = {0};
    int bad = in_folder(dir, "gate.json", gate_json);
    if (!bad) bad = in_folder(dir, "logits.f32", logits);
    if (!bad) bad = in_folder(dir, "plan.json", plan);
    if (!bad) bad = make_folder(dir, gate_json);
    json_object_set_new(r->doc, "options", options_json(o));
    if (!bad) bad = write_bytes(logits, r->kept, (size_t)r->kept_rows * r->n_vocab * sizeof *r->kept);
    if (!bad && npu_plan_write(session->context->plan, plan, &err) != NPU_OK) bad = cli_fail(&err);
    char *text = bad ? NULL : npu_json_text(r->doc, JSON_INDENT(1));
    if (!bad && !text) bad = cli_error("the recording can't be told in JSON");
    if (!bad && text) bad = write_bytes(gate_json, text, strlen(text));
    free(text);
    return bad;
}

static int read_kept(const char *path, gate_recording *r) {
    size_t want = (size_t)r->kept_rows * r->n_vocab * sizeof *r->kept, got = 0;
    char *text = NULL;
    int bad = cli_read_file(path, &text, &got);
    if (!bad && got != want) bad = refuse(path, "gate.logits", "has another size than its recording says");
    r->kept = (float *)(void *)text; /* from malloc */
    return bad;
}

int cli_gate_read(const char *dir, gate_recording *r) {
    char gate_json[PATH_SIZE], logits[PATH_SIZE], plan[PATH_SIZE];
    json_error_t why;
    *r = (gate_recording){0};
    int bad = in_folder(dir, "gate.json", gate_json);
    if (!bad) bad = in_folder(dir, "logits.f32", logits);
    if (!bad) bad = in_folder(dir, "plan.json", plan);
    if (bad) return bad;
    if (access(gate_json, R_OK) != 0)
        return cli_error("%s: %s (npu gate record -m MODEL -o %s makes a recording)", gate_json, strerror(errno), dir);
    r->doc = json_load_file(gate_json, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!r->doc) return refuse(gate_json, "gate.json", why.text);
    bad = cli_gate_check(gate_json, r);
    if (!bad) bad = check_options(gate_json, json_object_get(r->doc, "options"));
    if (!bad) bad = read_kept(logits, r);
    if (!bad) (void)npu_plan_read(plan, &r->plan, &r->plan_error);
    return bad;
}
