/* Descriptions of kernels for the emulated device, held against the manifest that lists them: a layout that the two see
 * differently would give wrong sums and no error. The device refuses a bad description too, but can only say that a
 * command failed. The format is in docs/xdna.md; called by xdna_manifest.c.
 */
#include <stdio.h>
#include <string.h>

#include "target/xdna/xdna_manifest.h"

enum { KIND, SHAPE, LAYOUT, MICRO, CORE, N_SAID_TWICE, COLUMNS = N_SAID_TWICE, GENERATION, N_KEYS, VALUE_SIZE = 48 };
static const char *const keys[N_KEYS] = {"kind", "shape", "layout", "micro", "core", "columns", "generation"};

/* Values by key; "" when there is no such line. */
typedef struct description {
    char value[N_KEYS][VALUE_SIZE];
} description;

static bool read_line(const char *line, size_t n, description *d) {
    if (!n || *line == '#') return true;
    for (int i = 0; i < N_KEYS; i++) {
        size_t key = strlen(keys[i]);
        if (n <= key || strncmp(line, keys[i], key) != 0 || line[key] != ' ') continue;
        const char *value = line + key + 1;
        size_t size = n - key - 1;
        if (d->value[i][0] || !size || size >= VALUE_SIZE) return false;
        memcpy(d->value[i], value, size);
        return true;
    }
    return false;
}

static npu_status bad(const npu_plan_kernel *k, const char *key, const char *text, size_t n, npu_error *err) {
    return npu_fail(err, NPU_INVALID, "xdna.bad_description",
                    "kernel %s: no usable description: %s\"%.*s\" is unknown or there twice", k->file, key,
                    (int)(n < 60 ? n : 60), text);
}

static npu_status read(const npu_plan_kernel *k, const npu_map *text, description *d, npu_error *err) {
    const char *at = (const char *)text->data, *end = at + text->size;
    for (bool first = true; at < end; first = false) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((next ? next : end) - at);
        if (!first && !read_line(at, n, d)) return bad(k, "", at, n, err); /* the first line told what the file is */
        at = next ? next + 1 : end;
    }
    const char *columns = d->value[COLUMNS], *generation = d->value[GENERATION];
    if (columns[0] < '1' || columns[0] > '8' || columns[1]) return bad(k, "columns ", columns, strlen(columns), err);
    if (generation[0] && strcmp(generation, "xdna1") != 0 && strcmp(generation, "xdna2") != 0)
        return bad(k, "generation ", generation, strlen(generation), err);
    return NPU_OK;
}

/* The lines that the manifest's words stand for. */
static npu_status wanted(const npu_plan_kernel *k, description *d, npu_error *err) {
    npu_xdna_layout l;
    NPU_TRY(npu_xdna_kernel_layout(k, &l, err));
    snprintf(d->value[KIND], VALUE_SIZE, "%s", k->kind);
    snprintf(d->value[SHAPE], VALUE_SIZE, "%u %u %u", k->M, k->K, k->N);
    if (!npu_xdna_kind_named(k->kind)->image) return NPU_OK; /* its operands have one layout, which is not written */
    snprintf(d->value[LAYOUT], VALUE_SIZE, "%s", l.tiled ? "tiles" : "rows");
    if (!l.tiled) return NPU_OK;
    snprintf(d->value[MICRO], VALUE_SIZE, "%u %u %u", l.r, l.s, l.t);
    snprintf(d->value[CORE], VALUE_SIZE, "%u %u", l.kt, l.nt);
    return NPU_OK;
}

npu_status npu_xdna_description_check(const npu_plan_kernel *k, const npu_map *text, bool proven, npu_error *err) {
    description said = {0}, want = {0};
    NPU_TRY(read(k, text, &said, err));
    NPU_TRY(wanted(k, &want, err));
    for (int i = 0; i < (proven ? LAYOUT : N_SAID_TWICE); i++)
        if (strcmp(said.value[i], want.value[i]) != 0)
            return npu_fail(err, NPU_REFUSED, "plan.kernel_shape",
                            "kernel %s: %s is \"%s\" in the file, \"%s\" by the manifest", k->file, keys[i],
                            said.value[i], want.value[i]);
    return NPU_OK;
}
