/* Reads /proc/meminfo and the files of a cgroup; memory.h says what for. */
#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_LIMIT_SHIFT = 60 }; /* version 1 writes "no limit" as a number near 2^63 */

/* The number behind |name| in a file whose lines are names and numbers, or the first of the file when |name| is "". 0
 * when it is not there or not a number ("max"). */
static uint64_t number_in(const char *root, const char *path, const char *name) {
    char file_name[512], line[256];
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

/* A group's files: what it may use, what it uses, and how much of that is files the system can drop. */
typedef struct group {
    const char *limit, *used, *stat, *droppable;
} group;

static const group groups[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file "},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "},
};

npu_memory npu_memory_now(const char *root) {
    npu_memory m = {number_in(root, "/proc/meminfo", "MemTotal:") * 1024,
                    number_in(root, "/proc/meminfo", "MemAvailable:") * 1024};
    bool known = m.free != 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const group *g = &groups[i];
        uint64_t limit = number_in(root, g->limit, ""), used = number_in(root, g->used, "");
        if (!limit || limit >> NO_LIMIT_SHIFT) continue;
        uint64_t drop = number_in(root, g->stat, g->droppable);
        used -= drop < used ? drop : used;
        uint64_t left = used < limit ? limit - used : 0;
        if (!m.total || limit < m.total) m.total = limit;
        if (!known || left < m.free) m.free = left;
        known = true;
    }
    if (!known) m.free = m.total;
    return m;
}
