/* See cgroup.h. */
#include "base/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_below(const char *root, const char *path) {
    char name[4 * NPU_CGROUP_MOST];
    return snprintf(name, sizeof name, "%s%s", root, path) < (int)sizeof name ? fopen(name, "re") : NULL;
}

static void parse(const char *at, uint64_t *out, int n) {
    for (int i = 0; i < n; i++) {
        at += strspn(at, " \t");
        out[i] = *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : 0;
        at += strcspn(at, " \t\n");
    }
}

void npu_file_numbers(const char *root, const char *path, const char *name, uint64_t *out, int n) {
    char line[256];
    size_t length = strlen(name);
    bool found = false;
    FILE *file = open_below(root, path);
    while (file && !found && fgets(line, sizeof line, file)) found = strncmp(line, name, length) == 0;
    if (file) fclose(file);
    parse(found ? line + length : "", out, n);
}

/* Whether a word of the list, words parted by commas, is |name|. */
static bool lists(const char *list, size_t length, const char *name) {
    size_t size = strlen(name);
    for (const char *end = list + length; list <= end; list++) {
        size_t word = strcspn(list, ",:");
        if (word == size && !strncmp(list, name, size)) return true;
        list += word;
    }
    return false;
}

void npu_cgroup_own(const char *root, const npu_cgroup_tree *tree, char group[NPU_CGROUP_MOST]) {
    char line[NPU_CGROUP_MOST];
    FILE *file = open_below(root, "/proc/self/cgroup");
    group[0] = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at || !lists(list + 1, (size_t)(at - list - 1), tree->controller)) continue;
        at[strcspn(at, "\n")] = 0;
        if (!strstr(at, "/..") && strcmp(at, ":/") != 0) snprintf(group, NPU_CGROUP_MOST, "%s", at + 1);
    }
    if (file) fclose(file);
}

bool npu_cgroup_parent(char group[NPU_CGROUP_MOST]) {
    char *slash = strrchr(group, '/');
    if (slash) *slash = 0;
    return slash;
}

void npu_cgroup_numbers(const char *root, const npu_cgroup_tree *tree, const char *group, const char *file,
                        const char *name, uint64_t *out, int n) {
    char path[2 * NPU_CGROUP_MOST];
    snprintf(path, sizeof path, "%s%s%s", tree->mount, group, file);
    npu_file_numbers(root, path, name, out, n);
}

/* Microseconds of all cores in a period, and the period. */
static void quota_of(const char *root, const npu_cgroup_tree *tree, const char *group, uint64_t out[2]) {
    if (!tree->controller[0]) {
        npu_cgroup_numbers(root, tree, group, "/cpu.max", "", out, 2);
        return;
    }
    npu_cgroup_numbers(root, tree, group, "/cpu.cfs_quota_us", "", &out[0], 1);
    npu_cgroup_numbers(root, tree, group, "/cpu.cfs_period_us", "", &out[1], 1);
}

unsigned npu_cgroup_cores(const char *root) {
    static const npu_cgroup_tree trees[] = {{"/sys/fs/cgroup", ""}, {"/sys/fs/cgroup/cpu", "cpu"}};
    uint64_t least = UINT_MAX;
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char group[NPU_CGROUP_MOST];
        npu_cgroup_own(root, &trees[i], group);
        do {
            uint64_t quota[2];
            quota_of(root, &trees[i], group, quota);
            uint64_t cores = quota[0] && quota[1] ? quota[0] / quota[1] + (quota[0] % quota[1] != 0) : least;
            if (cores < least) least = cores;
        } while (npu_cgroup_parent(group));
    }
    return least == UINT_MAX ? 0 : (unsigned)least;
}
