/* The judging half of npu gate: two recordings, four gates, each with a verdict and the first things that differ. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/gate.h"
#include "cli/kld.h"

enum { TEXT = 512, MOST_NOTES = 8 };

/* Times are told only for what takes this long, and where the two fastest runs agree this well. */
static const double LONG_ENOUGH_NS = 20e6, STEADY = 0.01, LIMIT = 0.02;

typedef struct verdict {
    const char *name;
    bool failed;
    char summary[TEXT];
    json_t *notes, *facts;
    unsigned n_notes;
} verdict;

__attribute__((format(printf, 2, 3))) static void note(verdict *v, const char *format, ...) {
    char text[TEXT];
    va_list args;
    v->failed = true;
    if (v->n_notes++ == MOST_NOTES) json_array_append_new(v->notes, json_string("..."));
    if (v->n_notes > MOST_NOTES) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_t *said = json_string(text);
    json_array_append_new(v->notes, said ? said : json_string("(a name that is not UTF-8)"));
}

static const json_t *field(const json_t *o, const char *name) {
    return json_object_get(o, name);
}

static const char *string(const json_t *o, const char *name) {
    const char *s = json_string_value(json_object_get(o, name));
    return s ? s : "";
}

static double number(const json_t *o, const char *name) {
    return json_number_value(json_object_get(o, name));
}

/* How many bytes two texts have in common at the start. */
static size_t common(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    return n;
}

/* A few bytes of a text, as valid UTF-8 whatever they cut. */
typedef struct piece {
    char text[64];
} piece;

static piece piece_of(const char *s, size_t from) {
    piece p;
    size_t n = strlen(s + from);
    npu_utf8_sanitize(p.text, sizeof p.text, s + from, n < 40 ? n : 40);
    return p;
}

static void compare_texts(verdict *v, const json_t *was, const json_t *now) {
    size_t n = json_array_size(was), same = 0;
    if (n != json_array_size(now)) note(v, "%zu prompts were recorded, now there are %zu", n, json_array_size(now));
    for (size_t i = 0; i < n && i < json_array_size(now); i++) {
        const json_t *a = json_array_get(was, i), *b = json_array_get(now, i);
        const char *x = string(a, "text"), *y = string(b, "text");
        if (!json_equal(field(a, "prompt_ids"), field(b, "prompt_ids")))
            note(v, "prompt %zu has other tokens", i + 1);
        else if (strcmp(x, y) != 0)
            note(v, "prompt %zu: after %zu bytes \"%s\" is now \"%s\"", i + 1, common(x, y),
                 piece_of(x, common(x, y)).text, piece_of(y, common(x, y)).text);
        else if (!json_equal(field(a, "ids"), field(b, "ids")))
            note(v, "prompt %zu: the same text of other tokens", i + 1);
        else
            same++;
    }
    snprintf(v->summary, sizeof v->summary, "%zu of %zu greedy answers are the same", same, n);
}

/* The rows of one prompt that both recordings hold whole; whether their bytes are the same, which a KLD of rounding
 * size, below zero even, can't tell. */
static bool compare_rows(const gate_recording *was, const gate_recording *now, uint64_t first, uint64_t n, double *sum,
                         double *max, uint64_t *rows) {
    bool same = true;
    for (uint64_t r = first; r < first + n && r < was->kept_rows && r < now->kept_rows; r++) {
        const float *a = was->kept + r * was->n_vocab, *b = now->kept + r * was->n_vocab;
        double kld = cli_kld(a, cli_log_sum(a, was->n_vocab), b, cli_log_sum(b, was->n_vocab), was->n_vocab);
        if (!(kld <= *max)) *max = kld;
        *sum += kld;
        ++*rows;
        same = same && !memcmp(a, b, was->n_vocab * sizeof *a);
    }
    return same;
}

static void compare_logits(verdict *v, const gate_recording *was, const gate_recording *now) {
    const json_t *a = field(was->doc, "logits"), *b = field(now->doc, "logits");
    size_t n = json_array_size(a), same = 0;
    uint64_t row = 0, rows = 0;
    double sum = 0, max = 0;
    if (was->n_vocab != now->n_vocab || n != json_array_size(b) || was->kept_rows != now->kept_rows) {
        note(v, "recorded are %zu prompts and %u logits a row, now there are %zu and %u", n, was->n_vocab,
             json_array_size(b), now->n_vocab);
        snprintf(v->summary, sizeof v->summary, "other prompts or another vocabulary");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(a, i), *y = json_array_get(b, i);
        uint64_t kept = (uint64_t)json_integer_value(field(x, "kept"));
        bool equal = !strcmp(string(x, "sha256"), string(y, "sha256"));
        double before = sum;
        bool as_kept = true;
        if (json_equal(field(x, "kept"), field(y, "kept")))
            as_kept = compare_rows(was, now, row, kept, &sum, &max, &rows);
        if (!json_equal(field(x, "ids"), field(y, "ids"))) note(v, "prompt %zu has other tokens", i + 1);
        if (!equal)
            note(v, "prompt %zu: other bytes; mean KLD of its last rows %.3g", i + 1, (sum - before) / (double)kept);
        if (equal && !as_kept) note(v, "prompt %zu: logits.f32 does not belong to its recording", i + 1);
        same += equal;
        row += kept;
    }
    json_object_set_new(v->facts, "kld_mean", json_real(rows && isfinite(sum) ? sum / (double)rows : 0));
    json_object_set_new(v->facts, "kld_max", json_real(isfinite(max) ? max : 0));
    snprintf(v->summary, sizeof v->summary, "%zu of %zu prompts have the same bytes; KLD mean %.3g, max %.3g", same, n,
             rows ? sum / (double)rows : 0, max);
}

static const json_t *row_like(const json_t *rows, const json_t *like) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        if (json_equal(field(r, "owner"), field(like, "owner")) && json_equal(field(r, "role"), field(like, "role")) &&
            json_equal(field(r, "op"), field(like, "op")))
            return r;
    }
    return NULL;
}

/* |second| 0: there was no second run. */
static bool is_steady(double first, double second) {
    return first > 0 && second >= first && second - first <= STEADY * first;
}

/* Whether a row's times tell anything on both sides. */
static bool can_tell(const json_t *row) {
    return number(row, "ns") >= LONG_ENOUGH_NS && is_steady(number(row, "ns"), number(row, "second_ns"));
}

/* Counts of one row must be the same. */
static void compare_counts(verdict *v, const json_t *a, const json_t *b) {
    static const char *const counts[] = {"calls", "rows", "fallbacks", "retries"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (!json_equal(field(a, counts[i]), field(b, counts[i])))
            note(v, "%s %s %s: %.0f %s, now %.0f", string(a, "owner"), string(a, "role"), string(a, "op"),
                 number(a, counts[i]), counts[i], number(b, counts[i]));
}

static void compare_profiles(verdict *v, const json_t *was, const json_t *now) {
    const json_t *rows = field(was, "rows"), *other = field(now, "rows");
    unsigned told = 0, all = 0;
    bool same_machine = is_steady(number(was, "cpu_ns"), number(was, "cpu_second_ns")) &&
                        is_steady(number(now, "cpu_ns"), number(now, "cpu_second_ns")) &&
                        fabs(number(now, "cpu_ns") / number(was, "cpu_ns") - 1) <= STEADY;
    for (size_t i = 0; i < json_array_size(other); i++) {
        const json_t *b = json_array_get(other, i);
        if (!row_like(rows, b)) note(v, "%s %s %s: a new row", string(b, "owner"), string(b, "role"), string(b, "op"));
    }
    for (size_t i = 0; i < json_array_size(rows); i++, all++) {
        const json_t *a = json_array_get(rows, i), *b = row_like(other, a);
        if (!b) {
            note(v, "%s %s %s: the row is gone", string(a, "owner"), string(a, "role"), string(a, "op"));
            continue;
        }
        compare_counts(v, a, b);
        double change = number(a, "ns") > 0 ? number(b, "ns") / number(a, "ns") - 1 : 0;
        if (!same_machine || !can_tell(a) || !can_tell(b)) continue;
        told++;
        if (fabs(change) > LIMIT)
            note(v, "%s %s %s: %.2f ms, now %.2f ms (%+.1f %%)", string(a, "owner"), string(a, "role"), string(a, "op"),
                 number(a, "ns") / 1e6, number(b, "ns") / 1e6, 100 * change);
    }
    json_object_set_new(v->facts, "times_told", json_integer(told));
    json_object_set_new(v->facts, "rows", json_integer(all));
    int used = snprintf(v->summary, sizeof v->summary, "%u rows; times (limit 2 %%) can be told of %u", all, told);
    if (told < all)
        snprintf(v->summary + used, sizeof v->summary - (size_t)used, "%s",
                 same_machine ? ", the others are too short or too unsteady"
                              : ": the machine is busy, or not as fast as it was");
}

static void plan_line(void *user, const char *text) {
    note(user, "%s", text);
}

/* Whether a side's plan.json is there and is the one whose hash its recording has. */
static bool has_plan(verdict *v, const gate_recording *side, const npu_plan *plan) {
    if (!plan)
        note(v, "plan.json can't be read: %s", side->plan_error.text);
    else if (strcmp(plan->hash, string(side->doc, "plan")) != 0)
        note(v, "plan.json does not belong to its recording: it has %.16s..., gate.json %.16s...", plan->hash,
             string(side->doc, "plan"));
    return plan != NULL;
}

static void compare_plans(verdict *v, const gate_recording *was, const gate_recording *now, const npu_plan *plan_now) {
    const char *a = string(was->doc, "plan"), *b = string(now->doc, "plan");
    uint32_t n = 0;
    npu_error err = {0};
    bool known = has_plan(v, was, was->plan);
    known = has_plan(v, now, plan_now) && known;
    if (!strcmp(a, b)) {
        snprintf(v->summary, sizeof v->summary, "%s", a);
        return;
    }
    snprintf(v->summary, sizeof v->summary, "recorded with %.16s..., now %.16s...", a, b);
    v->failed = true;
    if (known && npu_plan_diff(was->plan, plan_now, plan_line, v, &n, &err) != NPU_OK) note(v, "%s", err.text);
}

/* Against the exact mode or the CPU: told, not judged. */
static void compare_distance(verdict *v, const json_t *was, const json_t *now) {
    static const char *const names[] = {"recorded_against", "against"};
    const json_t *sides[] = {field(was, "against"), field(now, "against")};
    size_t used = strlen(v->summary);
    for (int i = 0; i < 2; i++)
        if (sides[i]) json_object_set(v->facts, names[i], (json_t *)sides[i]);
    if (sides[1])
        snprintf(v->summary + used, sizeof v->summary - used, "; from %s: KLD mean %.4g, max %.4g",
                 string(sides[1], "what"), number(sides[1], "kld_mean"), number(sides[1], "kld_max"));
}

static void print(const verdict *v) {
    cli_line(stdout, "%-8s %s  %s", v->name, v->failed ? "FAIL" : "pass", v->summary);
    for (size_t i = 0; i < json_array_size(v->notes); i++)
        cli_line(stdout, "         %s", json_string_value(json_array_get(v->notes, i)));
}

static json_t *verdict_json(const verdict *v) {
    json_object_set_new(v->facts, "passed", json_boolean(!v->failed));
    json_object_set_new(v->facts, "summary", json_string(v->summary));
    json_object_set(v->facts, "notes", v->notes);
    return json_incref(v->facts);
}

unsigned cli_gate_compare(const cli_options *o, const gate_recording *was, const gate_recording *now,
                          const npu_plan *plan_now) {
    verdict v[GATE_COUNT] = {{.name = "text"}, {.name = "logits"}, {.name = "profile"}, {.name = "plan"}};
    unsigned failed = 0;
    for (int i = 0; i < GATE_COUNT; i++) v[i].notes = json_array();
    for (int i = 0; i < GATE_COUNT; i++) v[i].facts = json_object();
    compare_texts(&v[0], field(was->doc, "texts"), field(now->doc, "texts"));
    compare_logits(&v[1], was, now);
    compare_distance(&v[1], was->doc, now->doc);
    compare_profiles(&v[2], field(was->doc, "profile"), field(now->doc, "profile"));
    compare_plans(&v[3], was, now, plan_now);
    json_t *root = json_object();
    for (int i = 0; i < GATE_COUNT; i++) {
        failed |= v[i].failed ? 1u << i : 0;
        if (!o->json) print(&v[i]);
        json_object_set_new(root, v[i].name, verdict_json(&v[i]));
        json_decref(v[i].notes);
        json_decref(v[i].facts);
    }
    json_object_set_new(root, "passed", json_boolean(!failed));
    if (o->json)
        cli_print_json(root, JSON_INDENT(1));
    else
        json_decref(root);
    return failed;
}
