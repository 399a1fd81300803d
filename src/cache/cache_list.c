/* The cache for people: what is in a folder, and removing it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cache/cache.h"
#include "cache/cache_dir.h"
#include "cache/cache_image.h"
#include "cache/cache_source.h"

static npu_status folder_of(const char *dir, char **out, npu_error *err) {
    size_t size = strlen(dir) + sizeof "/weights";
    *out = malloc(size);
    if (!*out) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    snprintf(*out, size, "%s/weights", dir);
    return NPU_OK;
}

static void describe_image(const char *folder, const char *file, npu_cache_item *out) {
    char path[4096];
    npu_cache_image image;
    npu_error err = {0};
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (n < 0 || n >= (int)sizeof path) {
        snprintf(out->problem, sizeof out->problem, "its path is too long");
    } else if (npu_cache_image_open(path, NULL, NULL, &image, &err) == NPU_OK) {
        npu_utf8_sanitize(out->model, sizeof out->model, image.head.model, strlen(image.head.model));
        npu_utf8_sanitize(out->layout, sizeof out->layout, image.head.layout, strlen(image.head.layout));
        npu_cache_image_close(&image);
    } else {
        const char *text = strstr(err.text, ": not used: "); /* the path is known already */
        snprintf(out->problem, sizeof out->problem, "%.120s", text ? text + strlen(": not used: ") : err.text);
    }
}

static void describe(const char *folder, const npu_cache_name *name, npu_cache_item *out) {
    *out = (npu_cache_item){.bytes = name->bytes, .used_s = name->used_ns / 1000000000};
    npu_utf8_sanitize(out->file, sizeof out->file, name->file, strlen(name->file));
    if (name->kind == NPU_CACHE_IMAGE)
        describe_image(folder, name->file, out);
    else
        snprintf(out->problem, sizeof out->problem, "%s",
                 npu_cache_dir_in_use(folder, name->file) ? "it is being written" : "its writer was ended");
}

npu_status npu_cache_list(const char *dir, npu_cache_item **out, size_t *n, npu_error *err) {
    npu_cache_name *names = NULL;
    size_t n_names = 0;
    char *folder;
    *out = NULL;
    *n = 0;
    NPU_TRY(folder_of(dir, &folder, err));
    npu_status status = npu_cache_dir_list(folder, &names, &n_names, err);
    if (status == NPU_OK && n_names) {
        *out = calloc(n_names, sizeof **out);
        if (!*out) status = npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a list of files");
    }
    for (size_t i = n_names; *out && i-- > 0;)
        if (names[i].kind != NPU_CACHE_KNOWN) describe(folder, &names[i], &(*out)[(*n)++]);
    free(names);
    free(folder);
    return status;
}

/* Contents that a model had, as images' names begin with them. */
typedef struct contents {
    char model[NPU_CACHE_MODEL_NAME];
    npu_hash128 *all;
    size_t n;
} contents;

static bool has_content(const contents *c, npu_hash128 content) {
    for (size_t i = 0; i < c->n; i++)
        if (!memcmp(&c->all[i], &content, sizeof content)) return true;
    return false;
}

/* By the names under which they were packed, and those that are remembered. */
static void find_contents(const char *folder, const npu_cache_name *names, size_t n, contents *c) {
    for (size_t i = 0; i < n; i++) {
        char model[NPU_CACHE_MODEL_NAME];
        npu_hash128 content;
        npu_cache_item item = {0};
        if (names[i].kind == NPU_CACHE_KNOWN && npu_cache_source_describe(folder, names[i].file, model, &content) &&
            !strcmp(model, c->model))
            c->all[c->n++] = content;
        if (names[i].kind != NPU_CACHE_IMAGE) continue;
        describe_image(folder, names[i].file, &item);
        if (!strcmp(item.model, c->model) && npu_cache_dir_content(names[i].file, &content)) c->all[c->n++] = content;
    }
}

static bool is_chosen(const char *folder, const npu_cache_name *name, const contents *c) {
    char model[NPU_CACHE_MODEL_NAME];
    npu_hash128 content;
    if (name->kind == NPU_CACHE_PART) return false;
    if (name->kind == NPU_CACHE_IMAGE) return npu_cache_dir_content(name->file, &content) && has_content(c, content);
    return npu_cache_source_describe(folder, name->file, model, &content) && has_content(c, content);
}

static void remove_one(const char *folder, const npu_cache_name *name, npu_cache_cleaned *out) {
    int why = npu_cache_dir_remove(folder, name->file);
    if (why && why != EBUSY) {
        npu_cache_left *left = &out->left[out->n_left++];
        left->why = why;
        npu_utf8_sanitize(left->file, sizeof left->file, name->file, strlen(name->file));
    } else if (name->kind != NPU_CACHE_KNOWN) {
        out->in_use += why == EBUSY;
        out->removed += !why;
        out->bytes += why ? 0 : name->bytes;
    }
}

static npu_status clean(const char *folder, const char *model, const npu_cache_name *names, size_t n,
                        npu_cache_cleaned *out, npu_error *err) {
    contents c = {.all = calloc(n + 1, sizeof *c.all)};
    size_t found = 0;
    out->left = calloc(n + 1, sizeof *out->left);
    npu_status status = NPU_OK;
    if (!c.all || !out->left) status = npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a list of files");
    if (status == NPU_OK && model) {
        npu_cache_model_name(model, c.model);
        find_contents(folder, names, n, &c);
    }
    for (size_t i = 0; i < n && status == NPU_OK; i++) {
        if (model && !is_chosen(folder, &names[i], &c)) continue;
        found += names[i].kind == NPU_CACHE_IMAGE;
        remove_one(folder, &names[i], out);
    }
    free(c.all);
    if (!out->n_left) {
        free(out->left);
        out->left = NULL;
    }
    if (status == NPU_OK && model && !found)
        status = npu_fail(err, NPU_NOT_FOUND, "cache.none", "no packed weights of a model called %s are kept", model);
    return status;
}

npu_status npu_cache_clean(const char *dir, const char *model, npu_cache_cleaned *out, npu_error *err) {
    npu_cache_name *names = NULL;
    size_t n;
    char *folder;
    *out = (npu_cache_cleaned){0};
    NPU_TRY(folder_of(dir, &folder, err));
    npu_status status = npu_cache_dir_list(folder, &names, &n, err);
    if (status == NPU_OK) status = clean(folder, model, names, n, out, err);
    free(names);
    free(folder);
    return status;
}
