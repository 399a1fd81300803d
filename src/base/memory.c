/* Reads /proc/meminfo and the files of this process's cgroups; memory.h says what for. */
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/cgroup.h"

enum { NO_LIMIT_SHIFT = 60 }; /* version 1 writes "no limit" as a number near 2^63 */

static uint64_t number_in(const char *root, const char *path, const char *name) {
    uint64_t number;
    npu_file_numbers(root, path, name, &number, 1);
    return number;
}

/* A version's files: what a group may use, what it uses, and how much of that is files the system can drop: those that
 * were read once and those that were read again, as in the machine's MemAvailable. */
typedef struct hierarchy {
    npu_cgroup_tree tree;
    const char *limit, *used, *stat, *droppable[2];
} hierarchy;

static const hierarchy hierarchies[] = {
    {{"/sys/fs/cgroup", ""}, "/memory.max", "/memory.current", "/memory.stat", {"inactive_file ", "active_file "}},
    {{"/sys/fs/cgroup/memory", "memory"},
     "/memory.limit_in_bytes",
     "/memory.usage_in_bytes",
     "/memory.stat",
     {"total_inactive_file ", "total_active_file "}},
};

static uint64_t group_number(const char *root, const hierarchy *h, const char *group, const char *file,
                             const char *name) {
    uint64_t number;
    npu_cgroup_numbers(root, &h->tree, group, file, name, &number, 1);
    return number;
}

/* Cuts |m| to what one group leaves. */
static void cut(npu_machine_memory *m, bool *known, const char *root, const hierarchy *h, const char *group) {
    uint64_t limit = group_number(root, h, group, h->limit, ""), used = group_number(root, h, group, h->used, "");
    if (!limit || limit >> NO_LIMIT_SHIFT) return;
    uint64_t drop =
        group_number(root, h, group, h->stat, h->droppable[0]) + group_number(root, h, group, h->stat, h->droppable[1]);
    used -= drop < used ? drop : used;
    uint64_t left = used < limit ? limit - used : 0;
    if (!m->total || limit < m->total) m->total = limit;
    if (!*known || left < m->free) m->free = left;
    *known = true;
}

npu_machine_memory npu_memory_now(const char *root) {
    npu_machine_memory m = {number_in(root, "/proc/meminfo", "MemTotal:") * 1024,
                            number_in(root, "/proc/meminfo", "MemAvailable:") * 1024};
    bool known = m.free != 0;
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        char group[NPU_CGROUP_MOST];
        npu_cgroup_own(root, &hierarchies[i].tree, group);
        do {
            cut(&m, &known, root, &hierarchies[i], group);
        } while (npu_cgroup_parent(group));
    }
    if (!known) m.free = m.total;
    return m;
}
