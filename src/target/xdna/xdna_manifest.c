/* See xdna_manifest.h. */
#include "target/xdna/xdna_manifest.h"

#include <jansson.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 4096 };

/* Keeps the first failure, so that the format below reads as a list. */
typedef struct reader {
    const char *dir;
    unsigned index; /* of the kernel; from 0 */
    npu_status status;
    npu_error *err;
} reader;

static void bad(reader *r, const char *field, const char *what) {
    if (r->status != NPU_OK) return;
    r->status = npu_fail(r->err, NPU_REFUSED, "plan.manifest", "%s/" NPU_XDNA_MANIFEST ": kernel %u: %s %s", r->dir,
                         r->index, field, what);
}

static void text(reader *r, const json_t *o, const char *field, bool needed, char *out, size_t size) {
    const json_t *value = json_object_get(o, field);
    if (!value && !needed) return;
    if (!json_is_string(value) || json_string_length(value) >= size || strlen(json_string_value(value)) == 0)
        bad(r, field, "is not a short text");
    else
        memcpy(out, json_string_value(value), json_string_length(value) + 1);
}

static uint32_t dim(reader *r, const json_t *o, const char *field, uint32_t most) {
    const json_t *value = json_object_get(o, field);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value)) bad(r, field, "is not a number");
    if (r->status == NPU_OK && (n < 1 || n > most))
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.dims",
                             "%s/" NPU_XDNA_MANIFEST ": kernel %u: %s is %lld, not from 1 to %u", r->dir, r->index,
                             field, (long long)n, most);
    return (uint32_t)n;
}

/* A file of the folder itself, whatever a manifest from elsewhere says. */
static void file(reader *r, const json_t *o, const char *field, bool needed, char *out, size_t size) {
    text(r, o, field, needed, out, size);
    if (strchr(out, '/') || !strcmp(out, "..")) bad(r, field, "is not a file name");
}

static void hash(reader *r, const json_t *o, const char *field, bool needed, char out[NPU_PLAN_HASH_LEN + 1]) {
    text(r, o, field, needed, out, NPU_PLAN_HASH_LEN + 1);
    if (out[0] && strspn(out, "0123456789abcdef") != NPU_PLAN_HASH_LEN)
        bad(r, field, "is not a SHA-256 in lower-case hexadecimal");
}

const npu_xdna_kind *npu_xdna_kind_named(const char *name) {
    static const npu_xdna_kind kinds[] = {{"int8", "xdna_int8"}, {"head", "xdna_head"}, {"gemv_q4_1", NULL}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i].name, name)) return &kinds[i];
    return NULL;
}

static void read_kernel(reader *r, const json_t *o, npu_plan_kernel *k, npu_xdna_insts *insts) {
    char role[32] = "";
    text(r, o, "role", true, role, sizeof role);
    int found = npu_role_named(role);
    if (found < 0 && r->status == NPU_OK)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.role",
                             "%s/" NPU_XDNA_MANIFEST ": kernel %u: role \"%s\" is not one that this build knows",
                             r->dir, r->index, role);
    k->role = (uint16_t)(found < 0 ? 0 : found);
    k->M = dim(r, o, "M", NPU_XDNA_MAX_M);
    k->K = dim(r, o, "K", NPU_XDNA_MAX_K);
    k->N = dim(r, o, "N", NPU_XDNA_MAX_N);
    text(r, o, "kind", true, k->kind, sizeof k->kind);
    if (!npu_xdna_kind_named(k->kind)) bad(r, "kind", "is not int8, head or gemv_q4_1");
    text(r, o, "layout", true, k->layout, sizeof k->layout);
    file(r, o, "file", true, k->file, sizeof k->file);
    hash(r, o, "sha256", true, k->sha256);
    file(r, o, "insts", false, insts->file, sizeof insts->file);
    hash(r, o, "insts_sha256", insts->file[0] != 0, insts->sha256);
    npu_xdna_layout l;
    if (r->status == NPU_OK) r->status = npu_xdna_kernel_layout(k, &l, r->err);
}

static npu_status read_all(const json_t *root, npu_xdna_manifest *m, npu_error *err) {
    const json_t *list = json_object_get(root, "kernels"), *generation = json_object_get(root, "generation");
    json_int_t version = json_integer_value(json_object_get(root, "npu_xdna_kernels"));
    json_int_t hadamard = json_integer_value(json_object_get(root, "hadamard"));
    if (version != 1)
        return npu_fail(err, NPU_REFUSED, "plan.manifest",
                        "%s/" NPU_XDNA_MANIFEST ": npu_xdna_kernels is %lld: this build reads version 1", m->dir,
                        (long long)version);
    if (!json_is_array(list) || json_array_size(list) > MAX_KERNELS || hadamard < 0 || hadamard > UINT32_MAX ||
        (generation && (!json_is_string(generation) || json_string_length(generation) >= sizeof m->generation)))
        return npu_fail(err, NPU_REFUSED, "plan.manifest",
                        "%s/" NPU_XDNA_MANIFEST ": kernels, hadamard or generation is not as it must be", m->dir);
    if (generation) memcpy(m->generation, json_string_value(generation), json_string_length(generation) + 1);
    m->hadamard = (uint32_t)hadamard;
    m->n = (uint32_t)json_array_size(list);
    m->kernels = calloc(m->n + 1, sizeof *m->kernels);
    m->insts = calloc(m->n + 1, sizeof *m->insts);
    if (!m->kernels || !m->insts) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for a manifest");
    for (unsigned i = 0; i < m->n; i++) {
        reader r = {.dir = m->dir, .index = i, .err = err};
        read_kernel(&r, json_array_get(list, i), &m->kernels[i], &m->insts[i]);
        if (r.status != NPU_OK) return r.status;
    }
    return NPU_OK;
}

npu_status npu_xdna_manifest_read(const char *dir, npu_xdna_manifest *out, npu_error *err) {
    size_t size = strlen(dir) + sizeof "/" NPU_XDNA_MANIFEST;
    char *path = malloc(size);
    npu_map map = {0};
    npu_error why = {0};
    json_error_t where = {0};
    *out = (npu_xdna_manifest){.dir = strdup(dir)};
    npu_status status =
        path && out->dir ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for a manifest");
    if (status == NPU_OK) {
        snprintf(path, size, "%s/" NPU_XDNA_MANIFEST, dir);
        if (npu_map_open(path, &map, &why) != NPU_OK)
            status = npu_fail(err, NPU_REFUSED, "plan.manifest", "the kernels folder has no readable manifest: %s",
                              why.text);
    }
    json_t *root = map.data ? json_loadb((const char *)map.data, map.size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (status == NPU_OK && !root)
        status = npu_fail(err, NPU_REFUSED, "plan.manifest", "%s: line %d: %s", path, where.line,
                          map.data ? where.text : "the file is empty");
    if (status == NPU_OK) status = read_all(root, out, err);
    json_decref(root);
    npu_map_close(&map);
    free(path);
    if (status != NPU_OK) npu_xdna_manifest_free(out);
    return status;
}

void npu_xdna_manifest_free(npu_xdna_manifest *m) {
    free(m->dir);
    free(m->kernels);
    free(m->insts);
    *m = (npu_xdna_manifest){0};
}

/* Goes over |before| and a whole number of at most nine digits; false when they are not there. */
static bool take(const char **at, const char *before, uint32_t *out) {
    size_t n = strlen(before), digits = 0;
    if (strncmp(*at, before, n) != 0) return false;
    for (*out = 0; digits < 9 && (*at)[n + digits] >= '0' && (*at)[n + digits] <= '9'; digits++)
        *out = *out * 10 + (uint32_t)((*at)[n + digits] - '0');
    *at += n + digits;
    return digits > 0;
}

npu_status npu_xdna_kernel_layout(const npu_plan_kernel *k, npu_xdna_layout *l, npu_error *err) {
    const char *at = k->layout;
    *l = (npu_xdna_layout){.m = k->M, .k = k->K, .n = k->N};
    const npu_xdna_kind *kind = npu_xdna_kind_named(k->kind);
    if (kind && !kind->image) return NPU_OK; /* its operands are no codes */
    l->tiled = take(&at, "tiles ", &l->r) && take(&at, "x", &l->s) && take(&at, "x", &l->t) && take(&at, " ", &l->kt) &&
               take(&at, "x", &l->nt) && !*at;
    if ((l->tiled || !strcmp(k->layout, "rows")) && npu_xdna_layout_ok(l)) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "plan.kernel_shape", "kernel %s: layout \"%s\" does not fit %u x %u x %u",
                    k->file, k->layout, k->M, k->K, k->N);
}

static npu_status map_file(const npu_xdna_manifest *m, const char *name, const char *want, npu_map *out,
                           npu_error *err) {
    size_t size = strlen(m->dir) + strlen(name) + 2;
    char *path = malloc(size), have[SHA256_DIGEST_STRING_LENGTH] = "";
    npu_error why = {0};
    if (!path) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for a path");
    snprintf(path, size, "%s/%s", m->dir, name);
    npu_status status = npu_map_open(path, out, &why);
    free(path);
    if (status != NPU_OK)
        return npu_fail(err, NPU_REFUSED, "plan.kernel_missing", "kernel %s of the manifest: %s", name, why.text);
    SHA256Data(out->data ? out->data : (const uint8_t *)"", out->size, have);
    if (!strcmp(have, want)) return NPU_OK;
    npu_map_close(out);
    return npu_fail(err, NPU_REFUSED, "plan.kernel_hash",
                    "kernel %s: its SHA-256 is %.16s..., the manifest says %.16s...", name, have, want);
}

npu_status npu_xdna_kernel_open(const npu_xdna_manifest *m, uint32_t i, bool proven, npu_xdna_kernel_files *out,
                                npu_error *err) {
    const npu_plan_kernel *k = &m->kernels[i];
    *out = (npu_xdna_kernel_files){0};
    npu_status status = map_file(m, k->file, k->sha256, &out->image, err);
    if (status == NPU_OK && m->insts[i].file[0])
        status = map_file(m, m->insts[i].file, m->insts[i].sha256, &out->insts, err);
    out->kernel = (npu_xdna_kernel){k->file, out->image.data, out->image.size, out->insts.data, out->insts.size};
    if (status == NPU_OK) status = npu_xdna_kernel_check(&out->kernel, &out->columns, &out->emulated, err);
    if (status == NPU_OK && out->emulated) status = npu_xdna_description_check(k, &out->image, proven, err);
    if (status != NPU_OK) npu_xdna_kernel_close(out);
    return status;
}

void npu_xdna_kernel_close(npu_xdna_kernel_files *files) {
    npu_map_close(&files->image);
    npu_map_close(&files->insts);
    *files = (npu_xdna_kernel_files){0};
}
