/* npu cache: the packed weights that earlier runs left in the user's cache folder (docs/cache.md). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"
#include "cli/cli.h"

static void print_item(const npu_cache_item *item) {
    char when[32] = "?";
    struct tm tm;
    time_t t = (time_t)item->used_s;
    if (localtime_r(&t, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    cli_line(stdout, "%9.1f MiB  %s  %-20s %s  %s%s%s", (double)item->bytes / CLI_MIB, when, item->layout, item->file,
             item->model, item->problem[0] ? "not usable: " : "", item->problem);
}

static json_t *to_json(const npu_cache_item *item) {
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "file", item->file, "model", item->model, "layout", item->layout,
                  "bytes", (json_int_t)item->bytes, "last_use", (json_int_t)item->used_s, "usable", !item->problem[0]);
    if (item->problem[0]) cli_json_set(&row, "why", json_string(item->problem));
    return row;
}

static int list(const cli_options *o) {
    npu_cache_item *items;
    npu_error err = {0};
    size_t n;
    uint64_t bytes = 0;
    if (o->n_positional > 1) return cli_usage("npu cache ls takes no model");
    if (npu_cache_list(o->cache, &items, &n, &err) != NPU_OK) return cli_fail(&err);
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        bytes += items[i].bytes;
        if (o->json)
            cli_json_add(&rows, to_json(&items[i]));
        else
            print_item(&items[i]);
    }
    free(items);
    if (o->json)
        return cli_print_json(
            json_pack("{s:s+, s:I, s:o}", "folder", o->cache, "/weights", "bytes", (json_int_t)bytes, "images", rows),
            JSON_INDENT(1));
    json_decref(rows);
    cli_line(stdout, "%zu file%s, %.1f MiB in %s/weights", n, n == 1 ? "" : "s", (double)bytes / CLI_MIB, o->cache);
    return CLI_EXIT_OK;
}

static json_t *left_to_json(const npu_cache_cleaned *done) {
    json_t *rows = json_array();
    for (size_t i = 0; i < done->n_left; i++)
        cli_json_add(&rows, json_pack("{s:s, s:s}", "file", done->left[i].file, "why", strerror(done->left[i].why)));
    return rows;
}

static int report(const cli_options *o, const npu_cache_cleaned *done) {
    if (o->json)
        return cli_print_json(json_pack("{s:I, s:I, s:I, s:o}", "removed", (json_int_t)done->removed, "bytes",
                                        (json_int_t)done->bytes, "in_use", (json_int_t)done->in_use, "left",
                                        left_to_json(done)),
                              JSON_INDENT(1));
    printf("%zu file%s removed, %.1f MiB", done->removed, done->removed == 1 ? "" : "s", (double)done->bytes / CLI_MIB);
    if (done->in_use) printf("; %zu kept, in use", done->in_use);
    putchar('\n');
    return CLI_EXIT_OK;
}

static int clean(const cli_options *o) {
    npu_cache_cleaned done;
    npu_error err = {0};
    const char *model = o->n_positional > 1 ? o->positional[1] : NULL;
    bool is_done = npu_cache_clean(o->cache, model, &done, &err) == NPU_OK;
    int code = is_done ? report(o, &done) : cli_fail(&err);
    for (size_t i = 0; i < done.n_left; i++)
        code = cli_error("%s/weights/%s can't be removed: %s", o->cache, done.left[i].file, strerror(done.left[i].why));
    free(done.left);
    return code;
}

int cli_cache(const cli_options *o) {
    bool cleans = !strcmp(o->positional[0], "clean");
    if (!cleans && strcmp(o->positional[0], "ls") != 0)
        return cli_usage("npu cache: '%s' is none of ls, clean", o->positional[0]);
    if (!o->cache[0]) return cli_error("there is no cache folder: %s", o->cache_problem);
    return cleans ? clean(o) : list(o);
}
