#include "base/json_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct growing {
    char *data;
    size_t used, size;
    bool failed; /* from then on everything does: jansson does not ask after a key */
} growing;

static int add(const char *bytes, size_t n, void *user) {
    growing *g = user;
    if (n >= g->size - g->used && !g->failed) {
        size_t size = 2 * (g->size + n) + 256;
        char *data = realloc(g->data, size);
        g->failed = !data;
        if (data) g->data = data, g->size = size;
    }
    if (g->failed) return -1;
    memcpy(g->data + g->used, bytes, n);
    g->used += n;
    g->data[g->used] = 0;
    return 0;
}

char *npu_json_text(const json_t *json, size_t flags) {
    growing g = {0};
    if (json_dump_callback(json, add, &g, flags) == 0 && !g.failed) return g.data;
    free(g.data);
    return NULL;
}
