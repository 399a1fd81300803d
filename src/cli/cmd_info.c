/* npu info: what a GGUF file holds, without running it. Works for files whose architecture is not known, too. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/cli.h"
#include "gguf/gguf.h"

enum { SHOWN_TEXT = 80, SHOWN_ITEMS = 8 };

static void add(char *out, size_t out_size, const char *text) {
    size_t used = strlen(out);
    snprintf(out + used, out_size - used, "%s", text);
}

/* One element as text; strings are cut and cleaned. */
static void format_item(const npu_gguf_value *v, uint64_t i, char *out, size_t out_size) {
    int64_t n;
    uint64_t big;
    double f;
    if (v->elem_type == NPU_GGUF_BOOL) {
        snprintf(out, out_size, "%s", v->data[i] ? "true" : "false");
    } else if (npu_gguf_value_int(v, i, &n, &big)) {
        if (n == INT64_MAX)
            snprintf(out, out_size, "%llu", (unsigned long long)big);
        else
            snprintf(out, out_size, "%lld", (long long)n);
    } else if (npu_gguf_value_float(v, i, &f)) {
        snprintf(out, out_size, "%.9g", f);
    } else {
        snprintf(out, out_size, "...");
    }
}

static void format_value(const npu_gguf_value *v, char *out, size_t out_size) {
    char item[64];
    out[0] = 0;
    if (v->type == NPU_GGUF_STRING) {
        npu_utf8_sanitize(out, out_size < SHOWN_TEXT ? out_size : SHOWN_TEXT, (const char *)v->data, v->bytes);
    } else if (v->type != NPU_GGUF_ARRAY) {
        format_item(v, 0, out, out_size);
    } else if (v->elem_type == NPU_GGUF_STRING || v->elem_type == NPU_GGUF_ARRAY) {
        snprintf(out, out_size, "%llu %s values", (unsigned long long)v->count, npu_gguf_type_name(v->elem_type));
    } else {
        add(out, out_size, "[");
        for (uint64_t i = 0; i < v->count && i < SHOWN_ITEMS; i++) {
            format_item(v, i, item, sizeof item);
            if (i) add(out, out_size, ", ");
            add(out, out_size, item);
        }
        add(out, out_size, v->count > SHOWN_ITEMS ? ", ...]" : "]");
    }
}

static void key_name(const npu_gguf_value *v, char *out, size_t out_size) {
    npu_utf8_sanitize(out, out_size, v->key.data, v->key.size);
}

typedef struct type_sum {
    uint64_t tensors, values, bytes;
} type_sum;

static type_sum sum_types(const npu_gguf *g, type_sum sums[NPU_TYPE_LIMIT]) {
    type_sum all = {0};
    for (size_t i = 0; i < npu_gguf_tensor_count(g); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(g, i);
        uint64_t values = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
        type_sum *s = &sums[t->type];
        *s = (type_sum){s->tensors + 1, s->values + values, s->bytes + t->bytes};
        all = (type_sum){all.tensors + 1, all.values + values, all.bytes + t->bytes};
    }
    return all;
}

static void print_plain(const npu_gguf *g, const char *path) {
    type_sum sums[NPU_TYPE_LIMIT] = {0}, all = sum_types(g, sums);
    char name[256], value[256];
    cli_line(stdout, "%s: GGUF v%u, %zu file%s, %.1f M values, %.1f MiB of tensors", path, npu_gguf_version(g),
             npu_gguf_file_count(g), npu_gguf_file_count(g) == 1 ? "" : "s", (double)all.values / 1e6,
             (double)all.bytes / CLI_MIB);
    putchar('\n');
    for (size_t i = 0; i < npu_gguf_key_count(g); i++) {
        key_name(npu_gguf_key_at(g, i), name, sizeof name);
        format_value(npu_gguf_key_at(g, i), value, sizeof value);
        printf("  %-44s %s\n", name, value);
    }
    printf("\n  %-8s %8s %14s %12s\n", "type", "tensors", "values", "bytes");
    for (uint32_t t = 0; t < NPU_TYPE_LIMIT; t++)
        if (sums[t].tensors)
            printf("  %-8s %8llu %14llu %12llu\n", npu_format_name(t), (unsigned long long)sums[t].tensors,
                   (unsigned long long)sums[t].values, (unsigned long long)sums[t].bytes);
    putchar('\n');
    for (size_t i = 0; i < npu_gguf_tensor_count(g); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(g, i);
        npu_utf8_sanitize(name, sizeof name, t->name, strlen(t->name));
        printf("  %-40s %-6s", name, npu_format_name(t->type));
        for (uint32_t d = 0; d < t->n_dims; d++) printf("%s%llu", d ? " x " : " ", (unsigned long long)t->ne[d]);
        putchar('\n');
    }
}

static int print_json(const npu_gguf *g, const char *path) {
    char name[256], value[256];
    json_t *keys = json_object(), *tensors = json_array();
    for (size_t i = 0; i < npu_gguf_key_count(g); i++) {
        key_name(npu_gguf_key_at(g, i), name, sizeof name);
        format_value(npu_gguf_key_at(g, i), value, sizeof value);
        cli_json_set(&keys, name, json_string(value));
    }
    for (size_t i = 0; i < npu_gguf_tensor_count(g); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(g, i);
        json_t *dims = json_array();
        npu_utf8_sanitize(name, sizeof name, t->name, strlen(t->name));
        for (uint32_t d = 0; d < t->n_dims; d++) cli_json_add(&dims, json_integer((json_int_t)t->ne[d]));
        cli_json_add(&tensors, json_pack("{s:s, s:s, s:o, s:I}", "name", name, "type", npu_format_name(t->type), "dims",
                                         dims, "bytes", (json_int_t)t->bytes));
    }
    npu_utf8_sanitize(name, sizeof name, path, strlen(path));
    json_t *root = json_pack("{s:s, s:i, s:i, s:o, s:o}", "file", name, "version", (int)npu_gguf_version(g), "files",
                             (int)npu_gguf_file_count(g), "keys", keys, "tensors", tensors);
    return cli_print_json(root, JSON_INDENT(1));
}

int cli_info(const cli_options *o) {
    npu_gguf *g;
    npu_error err = {0};
    npu_logger logger = cli_logger(o);
    if (npu_gguf_open(o->positional[0], &logger, &g, &err) != NPU_OK) return cli_fail(&err);
    int bad = 0;
    if (o->json)
        bad = print_json(g, o->positional[0]);
    else
        print_plain(g, o->positional[0]);
    npu_gguf_close(g);
    return bad;
}
