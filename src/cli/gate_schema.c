/* What gate.json must have: every field that a check or a comparison reads, of its type. The first one that is missing
 * or wrong is refused by its path. The options it was made with are gate_file.c's. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "cli/gate.h"
#include "cli/profile.h"

typedef struct field {
    const char *name;
    enum { STRING, COUNT, IDS, NUMBER } type;
} field;

typedef struct reader {
    const char *path;
    int bad;
} reader;

#define LEN(list) (sizeof(list) / sizeof *(list))

static void refuse(reader *r, const char *where, const char *name) {
    npu_error err = {0};
    if (r->bad) return;
    npu_fail(&err, NPU_REFUSED, "gate.field", "%s: %s%s%s is missing or of a wrong type", r->path, where,
             *where ? "." : "", name);
    r->bad = cli_fail(&err);
}

static bool is_count(const json_t *v) {
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool is_ids(const json_t *v) {
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!is_count(json_array_get(v, i)) || json_integer_value(json_array_get(v, i)) > INT32_MAX) return false;
    return json_is_array(v);
}

static void check_fields(reader *r, const char *where, const json_t *o, const field *fields, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_object_get(o, fields[i].name);
        bool ok = fields[i].type == STRING  ? json_is_string(v)
                  : fields[i].type == COUNT ? is_count(v)
                  : fields[i].type == IDS   ? is_ids(v)
                                            : json_is_number(v);
        if (!ok) refuse(r, where, fields[i].name);
    }
}

/* An element's path. */
typedef struct place {
    char text[48];
} place;

static place place_of(const char *list, size_t i) {
    place p;
    snprintf(p.text, sizeof p.text, "%s[%zu]", list, i);
    return p;
}

static void check_prompts(reader *r, const json_t *texts, const json_t *logits, uint64_t *kept_rows) {
    static const field of_text[] = {{"prompt", STRING}, {"text", STRING}, {"prompt_ids", IDS}, {"ids", IDS}};
    static const field of_logits[] = {{"prompt", STRING}, {"sha256", STRING}, {"ids", IDS}, {"kept", COUNT}};
    if (!json_is_array(texts)) refuse(r, "", "texts");
    if (!json_is_array(logits)) refuse(r, "", "logits");
    for (size_t i = 0; i < json_array_size(texts); i++)
        check_fields(r, place_of("texts", i).text, json_array_get(texts, i), of_text, LEN(of_text));
    for (size_t i = 0; i < json_array_size(logits); i++) {
        const json_t *o = json_array_get(logits, i);
        json_int_t kept = json_integer_value(json_object_get(o, "kept"));
        check_fields(r, place_of("logits", i).text, o, of_logits, LEN(of_logits));
        if (kept < 1 || kept > GATE_KEPT_ROWS) refuse(r, place_of("logits", i).text, "kept");
        *kept_rows += (uint64_t)kept;
    }
}

static void check_profile(reader *r, const json_t *profile) {
    static const field of_run[] = {{"runs", COUNT}, {"cpu_ns", COUNT}, {"cpu_second_ns", COUNT}};
    static const field of_row[] = {{"owner", STRING},    {"role", STRING},   {"op", STRING},
                                   {"calls", COUNT},     {"rows", COUNT},    {"ns", COUNT},
                                   {"fallbacks", COUNT}, {"retries", COUNT}, {"second_ns", COUNT}};
    const json_t *rows = json_object_get(profile, "rows");
    check_fields(r, "profile", profile, of_run, LEN(of_run));
    if (!json_is_array(rows)) refuse(r, "profile", "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        place at = place_of("profile.rows", i);
        check_fields(r, at.text, json_array_get(rows, i), of_row, LEN(of_row));
        for (int k = 0; k < CLI_PHASES; k++) {
            field phase = {cli_phase_name((cli_phase)k), COUNT};
            check_fields(r, at.text, json_array_get(rows, i), &phase, 1);
        }
    }
}

int cli_gate_check(const char *path, gate_recording *r) {
    static const field of_distance[] = {{"what", STRING}, {"kld_mean", NUMBER}, {"kld_max", NUMBER}};
    const json_t *against = json_object_get(r->doc, "against");
    json_int_t n_vocab = json_integer_value(json_object_get(r->doc, "n_vocab"));
    reader read = {path, 0};
    if (json_integer_value(json_object_get(r->doc, "npu_gate")) != GATE_VERSION) {
        npu_error err = {0};
        npu_fail(&err, NPU_REFUSED, "gate.version", "%s is not a recording of this version", path);
        return cli_fail(&err);
    }
    if (n_vocab < 1 || n_vocab >= 1 << 24) refuse(&read, "", "n_vocab");
    if (!json_is_string(json_object_get(r->doc, "plan"))) refuse(&read, "", "plan");
    check_prompts(&read, json_object_get(r->doc, "texts"), json_object_get(r->doc, "logits"), &r->kept_rows);
    check_profile(&read, json_object_get(r->doc, "profile"));
    if (against) check_fields(&read, "against", against, of_distance, LEN(of_distance));
    r->n_vocab = (uint32_t)n_vocab;
    return read.bad;
}
