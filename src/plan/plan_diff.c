/* What differs between two plans, as lines to read: facts, caps, needs, settings, designs, kernels, entries. Works on
 * the plans' JSON form, so that a new field shows without a word here. Layers with the same change share a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "plan/plan_hash.h"
#include "target/weights.h"

enum { TEXT = 512 };

/* A change of one or several layers' entries. */
typedef struct change {
    char label[64], text[2 * TEXT];
    char layers[128]; /* "0-3,5"; full ones end with "..." */
    int last;         /* layer that was added last; -2 = none */
    bool in_range;
} change;

typedef struct diff {
    npu_plan_line_fn *line;
    void *user;
    uint32_t n;
    change *changes;
    size_t n_changes;
    bool failed; /* no memory */
} diff;

static void say(diff *d, const char *what, const char *text) {
    char line[3 * TEXT];
    snprintf(line, sizeof line, "%s: %s", what, text);
    d->n++;
    d->line(d->user, line);
}

/* A value as it is printed: strings bare, what is not there as "nothing". */
static void value_text(const json_t *v, char *out, size_t size) {
    const char *s = json_string_value(v);
    char *dump = v && !s ? npu_json_text(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    snprintf(out, size, "%s", !v ? "nothing" : s && !*s ? "\"\"" : s ? s : dump ? dump : "?");
    free(dump);
}

static void change_text(const char *field, const json_t *a, const json_t *b, char out[TEXT]) {
    char x[200], y[200];
    value_text(a, x, sizeof x);
    value_text(b, y, sizeof y);
    snprintf(out, TEXT, "%s %s -> %s", field, x, y);
}

/* Fields of two objects of one place; those of |b| alone come last. |skip|: one that is compared elsewhere. */
static void diff_fields(const json_t *a, const json_t *b, const char *skip,
                        void (*found)(void *user, const char *field, const json_t *x, const json_t *y), void *user) {
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)a, key, v) {
        const json_t *other = json_object_get(b, key);
        if ((!skip || strcmp(key, skip) != 0) && !json_equal(v, other)) found(user, key, v, other);
    }
    json_object_foreach((json_t *)b, key, v) if (!json_object_get(a, key)) found(user, key, NULL, v);
}

typedef struct place {
    diff *d;
    const char *name;
} place;

static void say_field(void *user, const char *field, const json_t *x, const json_t *y) {
    place *p = user;
    char text[TEXT];
    change_text(field, x, y, text);
    say(p->d, p->name, text);
}

static void diff_objects(diff *d, const char *name, const json_t *a, const json_t *b, const char *skip) {
    place p = {d, name};
    diff_fields(a, b, skip, say_field, &p);
}

/* The |nth| element of a list whose |key| has this text. */
static const json_t *element(const json_t *list, const char *key, const char *text, unsigned nth) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i);
        const char *s = json_string_value(json_object_get(e, key));
        if (s && !strcmp(s, text) && !nth--) return e;
    }
    return NULL;
}

/* Lists whose elements have a name: facts, designs by role, kernels by file. */
static void diff_named(diff *d, const char *name, const char *key, const json_t *a, const json_t *b) {
    for (int side = 0; side < 2; side++) {
        const json_t *from = side ? b : a, *to = side ? a : b;
        for (size_t i = 0; i < json_array_size(from); i++) {
            const char *text = json_string_value(json_object_get(json_array_get(from, i), key));
            unsigned nth = 0;
            char where[160];
            for (size_t k = 0; k < i; k++)
                nth += json_equal(json_object_get(json_array_get(from, k), key),
                                  json_object_get(json_array_get(from, i), key));
            const json_t *other = element(to, key, text ? text : "", nth);
            snprintf(where, sizeof where, "%s %s", name, text ? text : "?");
            if (!other)
                say(d, where, side ? "new" : "gone");
            else if (!side)
                diff_objects(d, where, json_array_get(from, i), other, NULL);
        }
    }
}

static void add_layer(change *c, int layer) {
    size_t used = strlen(c->layers);
    char more[16] = "";
    if (c->last == layer && c->last != -2) return;
    if (layer == c->last + 1 && layer > 0 && c->last >= 0) {
        char *cut = c->in_range ? strrchr(c->layers, '-') : NULL;
        if (cut) *cut = 0;
        c->in_range = true;
        snprintf(more, sizeof more, "-%d", layer);
    } else {
        c->in_range = false;
        if (layer >= 0) snprintf(more, sizeof more, "%s%d", used ? "," : "", layer);
    }
    c->last = layer;
    used = strlen(c->layers);
    if (used + strlen(more) < sizeof c->layers - 4) {
        memcpy(c->layers + used, more, strlen(more) + 1);
    } else if (used && c->layers[used - 1] != '.') {
        memcpy(c->layers + used, "...", 4);
    }
}

/* Keeps a change of an entry until all are known. */
static void keep(diff *d, const char *label, int layer, const char *text) {
    size_t i = 0;
    while (i < d->n_changes && (strcmp(d->changes[i].label, label) != 0 || strcmp(d->changes[i].text, text) != 0)) i++;
    if (i == d->n_changes) {
        change *more = realloc(d->changes, (i + 1) * sizeof *more);
        if (!more) {
            d->failed = true;
            return;
        }
        d->changes = more;
        d->changes[d->n_changes++] = (change){.last = -2};
        snprintf(more[i].label, sizeof more[i].label, "%s", label);
        snprintf(more[i].text, sizeof more[i].text, "%s", text);
    }
    add_layer(&d->changes[i], layer);
}

/* One entry's changes, until they are kept as one text. */
typedef struct entry_change {
    char text[2 * TEXT];
} entry_change;

static void add_text(entry_change *c, const char *text) {
    size_t used = strlen(c->text), more = strlen(text);
    if (used + more + 3 > sizeof c->text) return; /* the first changes say enough */
    if (used) memcpy(c->text + used, "; ", 2);
    memcpy(c->text + used + (used ? 2 : 0), text, more + 1);
}

static void add_field(void *user, const char *field, const json_t *x, const json_t *y) {
    char text[TEXT];
    const char *now = json_string_value(y);
    if (!strcmp(field, "why") && now && !*now) return;
    change_text(field, x, y, text);
    add_text(user, text);
}

/* "q/int8+k/int8": an entry's residency keys without the layer. */
static void designs_text(const json_t *list, char *out, size_t size) {
    snprintf(out, size, "%s", json_array_size(list) ? "" : "none");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *key = json_string_value(json_object_get(json_array_get(list, i), "residency"));
        const char *role = key ? strchr(key, '/') : NULL;
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? "+" : "", role ? role + 1 : "?");
    }
}

static void diff_designs(entry_change *c, const json_t *a, const json_t *b) {
    char x[200], y[200], text[TEXT];
    designs_text(a, x, sizeof x);
    designs_text(b, y, sizeof y);
    if (!strcmp(x, y)) return;
    snprintf(text, sizeof text, "designs %s -> %s", x, y);
    add_text(c, text);
}

static bool same_place(const json_t *a, const json_t *b) {
    return json_equal(json_object_get(a, "layer"), json_object_get(b, "layer")) &&
           json_equal(json_object_get(a, "role"), json_object_get(b, "role")) &&
           json_equal(json_object_get(a, "op"), json_object_get(b, "op"));
}

/* The entry of |to| for the |i|-th of |from|: same layer, role and op, and as many of those before it. Both lists are
 * in the graph's order, so that the search starts where the last one ended. */
static const json_t *partner(const json_t *from, const json_t *to, size_t i, size_t *at) {
    for (; *at < json_array_size(to); (*at)++)
        if (same_place(json_array_get(from, i), json_array_get(to, *at))) return json_array_get(to, (*at)++);
    return NULL;
}

/* What is only in |from|; with |both|, also what differs. */
static void diff_entries(diff *d, const json_t *from, const json_t *to, const char *only, bool both) {
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_t *e = json_array_get(from, i);
        char label[64];
        size_t kept = at;
        const json_t *other = partner(from, to, i, &at);
        snprintf(label, sizeof label, "%s %s", json_string_value(json_object_get(e, "role")),
                 json_string_value(json_object_get(e, "op")));
        int layer = (int)json_integer_value(json_object_get(e, "layer"));
        entry_change c = {""};
        if (!other) {
            at = kept;
            keep(d, label, layer, only);
        } else if (both) {
            diff_fields(e, other, "designs", add_field, &c);
            diff_designs(&c, json_object_get(e, "designs"), json_object_get(other, "designs"));
            if (*c.text) keep(d, label, layer, c.text);
        }
    }
}

static void diff_bodies(diff *d, const json_t *a, const json_t *b) {
    const json_t *model_a = json_object_get(a, "model"), *model_b = json_object_get(b, "model");
    const json_t *target_a = json_object_get(a, "target"), *target_b = json_object_get(b, "target");
    diff_objects(d, "model", model_a, model_b, "facts");
    diff_named(d, "fact", "name", json_object_get(model_a, "facts"), json_object_get(model_b, "facts"));
    if (!json_equal(json_object_get(target_a, "name"), json_object_get(target_b, "name"))) {
        place p = {d, "target"};
        say_field(&p, "name", json_object_get(target_a, "name"), json_object_get(target_b, "name"));
    }
    diff_objects(d, "caps", json_object_get(target_a, "caps"), json_object_get(target_b, "caps"), NULL);
    diff_objects(d, "needs", json_object_get(target_a, "needs"), json_object_get(target_b, "needs"), NULL);
    diff_objects(d, "settings", json_object_get(a, "settings"), json_object_get(b, "settings"), NULL);
    diff_named(d, "design", "role", json_object_get(a, "designs"), json_object_get(b, "designs"));
    diff_named(d, "kernel", "file", json_object_get(a, "kernels"), json_object_get(b, "kernels"));
    diff_entries(d, json_object_get(a, "entries"), json_object_get(b, "entries"), "gone", true);
    diff_entries(d, json_object_get(b, "entries"), json_object_get(a, "entries"), "new", false);
    for (size_t i = 0; i < d->n_changes; i++) {
        const change *c = &d->changes[i];
        char what[256];
        snprintf(what, sizeof what, *c->layers ? "%s, layer %s" : "%s", c->label, c->layers);
        say(d, what, c->text);
    }
}

npu_status npu_plan_diff(const npu_plan *a, const npu_plan *b, npu_plan_line_fn *line, void *user, uint32_t *n,
                         npu_error *err) {
    json_t *x = npu_plan_body(a), *y = npu_plan_body(b);
    diff d = {.line = line, .user = user};
    if (x && y) diff_bodies(&d, x, y);
    bool failed = !x || !y || d.failed;
    json_decref(x);
    json_decref(y);
    free(d.changes);
    *n = d.n;
    return failed ? npu_fail(err, NPU_NO_MEMORY, "plan.memory", "no memory to compare two plans") : NPU_OK;
}
