/* What the system's files say of this process's cgroups, versions 1 and 2. For memory.c and pool.c. */
#ifndef NPU_BASE_CGROUP_H
#define NPU_BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

enum { NPU_CGROUP_MOST = 1024 };

/* A controller where a version of cgroups has it. */
typedef struct npu_cgroup_tree {
    const char *mount;      /* "/sys/fs/cgroup", and for version 1 the controller's folder in it */
    const char *controller; /* its name in /proc/self/cgroup; "" = version 2, which has one tree for all */
} npu_cgroup_tree;

/* The group of this process below |mount|: "" for the root itself, which in a namespace of its own is all that can be
 * seen. |root| stands for the system's root folder: "", or a test's folder. */
void npu_cgroup_own(const char *root, const npu_cgroup_tree *tree, char group[NPU_CGROUP_MOST]);

/* Cuts |group| to its parent, whose limits hold for it too. False: it is the root. */
bool npu_cgroup_parent(char group[NPU_CGROUP_MOST]);

/* Fills |out| with the first |n| numbers behind |name| in a file whose lines are names and numbers, or of its first
 * line when |name| is "". 0 for what is not there or not a number ("max", -1). */
void npu_file_numbers(const char *root, const char *path, const char *name, uint64_t *out, int n);

/* The same for a file of a group. */
void npu_cgroup_numbers(const char *root, const npu_cgroup_tree *tree, const char *group, const char *file,
                        const char *name, uint64_t *out, int n);

/* Cores that the quotas of this process's group and its parents pay for, rounded up; 0 = no limit known. */
unsigned npu_cgroup_cores(const char *root);

#endif
