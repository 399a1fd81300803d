/* The cache for people: what is in a folder, and removing it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cache/cache.h"
#include "cache/cache_dir.h"
#include "cache/cache_image.h"

static npu_status folder_of(const char *dir, char **out, npu_error *err) {
    size_t size = strlen(dir) + sizeof "/weights";
    *out = malloc(size);
    if (!*out) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    snprintf(*out, size, "%s/weights", dir);
    return NPU_OK;
}

static void describe(const char *folder, const npu_cache_name *name, npu_cache_item *out) {
    char path[4096];
    npu_cache_image image;
    npu_error err = {0};
    *out = (npu_cache_item){.bytes = name->bytes, .used_s = name->used_ns / 1000000000};
    npu_utf8_sanitize(out->file, sizeof out->file, name->file, strlen(name->file));
    int n = snprintf(path, sizeof path, "%s/%s", folder, name->file);
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

npu_status npu_cache_list(const char *dir, npu_cache_item **out, size_t *n, npu_error *err) {
    npu_cache_name *names = NULL;
    char *folder;
    *out = NULL;
    *n = 0;
    NPU_TRY(folder_of(dir, &folder, err));
    npu_status status = npu_cache_dir_list(folder, &names, n, err);
    if (status == NPU_OK && *n) {
        *out = calloc(*n, sizeof **out);
        if (!*out) status = npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a list of files");
        for (size_t i = 0; i < *n && *out; i++) describe(folder, &names[*n - 1 - i], &(*out)[i]);
    }
    free(names);
    free(folder);
    return status;
}

static npu_status clean(const char *folder, const char *model, const npu_cache_item *items, size_t n,
                        npu_cache_cleaned *out, npu_error *err) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (model && strcmp(model, items[i].model) != 0) continue;
        found++;
        int why = npu_cache_dir_remove(folder, items[i].file);
        if (why && why != EBUSY)
            return npu_fail(err, NPU_IO, "cache.remove", "%s/%s: %s", folder, items[i].file, strerror(why));
        out->in_use += why == EBUSY;
        out->removed += !why;
        out->bytes += why ? 0 : items[i].bytes;
    }
    if (!model) npu_cache_dir_sweep(folder, true);
    if (!model || found) return NPU_OK;
    return npu_fail(err, NPU_NOT_FOUND, "cache.none", "no packed weights of a model called %s are kept", model);
}

npu_status npu_cache_clean(const char *dir, const char *model, npu_cache_cleaned *out, npu_error *err) {
    npu_cache_item *items;
    size_t n;
    char *folder;
    *out = (npu_cache_cleaned){0};
    NPU_TRY(npu_cache_list(dir, &items, &n, err));
    npu_status status = folder_of(dir, &folder, err);
    if (status == NPU_OK) {
        status = clean(folder, model, items, n, out, err);
        free(folder);
    }
    free(items);
    return status;
}
