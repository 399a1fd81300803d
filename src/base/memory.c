/* Reads /proc/meminfo and the files of this process's cgroups; memory.h says what for. */
#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NO_LIMIT_SHIFT = 60, /* version 1 writes "no limit" as a number near 2^63 */
    PATH_MOST = 1024
};

/* The number behind |name| in a file whose lines are names and numbers, or the first of the file when |name| is "". 0
 * when it is not there or not a number ("max"). */
static uint64_t number_in(const char *root, const char *path, const char *name) {
    char file_name[4 * PATH_MOST], line[256];
    size_t length = strlen(name);
    uint64_t value = 0;
    if (snprintf(file_name, sizeof file_name, "%s%s", root, path) >= (int)sizeof file_name) return 0;
    FILE *file = fopen(file_name, "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, name, length) != 0) continue;
        value = strtoull(line + length, NULL, 10);
        break;
    }
    fclose(file);
    return value;
}

/* A version's root, its line in /proc/self/cgroup, and its files: what a group may use, what it uses, and how much of
 * that is files the system can drop. */
typedef struct hierarchy {
    const char *root, *controller, *limit, *used, *stat, *droppable;
} hierarchy;

static const hierarchy hierarchies[] = {
    {"/sys/fs/cgroup", "::", "/memory.max", "/memory.current", "/memory.stat", "inactive_file "},
    {"/sys/fs/cgroup/memory", ":memory:", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "/memory.stat",
     "total_inactive_file "},
};

/* The group of this process below a hierarchy's root: "" for the root itself, which in a namespace of its own is all
 * that can be seen. */
static void group_of(const char *root, const hierarchy *h, char path[PATH_MOST]) {
    char name[PATH_MOST], line[PATH_MOST];
    path[0] = 0;
    if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) >= (int)sizeof name) return;
    FILE *file = fopen(name, "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char *at = line + strspn(line, "0123456789");
        if (strncmp(at, h->controller, strlen(h->controller)) != 0) continue;
        at += strlen(h->controller);
        at[strcspn(at, "\n")] = 0;
        if (strstr(at, "/..") == NULL) snprintf(path, PATH_MOST, "%s", at);
    }
    fclose(file);
}

static uint64_t group_number(const char *root, const hierarchy *h, const char *group, const char *file,
                             const char *name) {
    char path[2 * PATH_MOST];
    snprintf(path, sizeof path, "%s%s%s", h->root, group, file);
    return number_in(root, path, name);
}

/* Cuts |m| to what one group leaves. */
static void cut(npu_memory *m, bool *known, const char *root, const hierarchy *h, const char *group) {
    uint64_t limit = group_number(root, h, group, h->limit, ""), used = group_number(root, h, group, h->used, "");
    if (!limit || limit >> NO_LIMIT_SHIFT) return;
    uint64_t drop = group_number(root, h, group, h->stat, h->droppable);
    used -= drop < used ? drop : used;
    uint64_t left = used < limit ? limit - used : 0;
    if (!m->total || limit < m->total) m->total = limit;
    if (!*known || left < m->free) m->free = left;
    *known = true;
}

npu_memory npu_memory_now(const char *root) {
    npu_memory m = {number_in(root, "/proc/meminfo", "MemTotal:") * 1024,
                    number_in(root, "/proc/meminfo", "MemAvailable:") * 1024};
    bool known = m.free != 0;
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        char group[PATH_MOST];
        group_of(root, &hierarchies[i], group);
        for (;;) { /* its parents' limits hold for it too */
            cut(&m, &known, root, &hierarchies[i], group);
            char *slash = strrchr(group, '/');
            if (!slash) break;
            *slash = 0;
        }
    }
    if (!known) m.free = m.total;
    return m;
}
