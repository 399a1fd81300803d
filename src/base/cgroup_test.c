/* Cores that quotas pay for, of this process's group and those above it. */
#include "base/cgroup.h"
#include "support/fake_root.h"

static void the_least_quota_counts(void **state) {
    (void)state;
    assert_int_equal(npu_cgroup_cores(root), 0);
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(npu_cgroup_cores(root), 0);
    put("/sys/fs/cgroup/cpu.max", "350000 100000\n");
    assert_int_equal(npu_cgroup_cores(root), 4); /* rounded up */
    put("/proc/self/cgroup", "0::/a.slice/b.service\n");
    assert_int_equal(npu_cgroup_cores(root), 4);
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "50000 100000\n");
    assert_int_equal(npu_cgroup_cores(root), 1);
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a.slice/cpu.max", "200000 100000\n");
    assert_int_equal(npu_cgroup_cores(root), 2);
    put("/proc/self/cgroup", "0::/\n");
    assert_int_equal(npu_cgroup_cores(root), 4);
    put("/proc/self/cgroup", "0::/../a.slice\n"); /* out of what can be seen */
    assert_int_equal(npu_cgroup_cores(root), 4);
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_int_equal(npu_cgroup_cores(root), 0);
    drop("/sys/fs/cgroup/cpu.max");
}

static void version_1_has_a_tree_of_its_own(void **state) {
    (void)state;
    put("/proc/self/cgroup", "8:cpuset:/x\n7:cpuacct,cpu:/c\n1:name=systemd:/y\n");
    put("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "300000\n");
    assert_int_equal(npu_cgroup_cores(root), 0);
    put("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    assert_int_equal(npu_cgroup_cores(root), 3);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(npu_cgroup_cores(root), 3);
    put("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(npu_cgroup_cores(root), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_quota_counts),
        cmocka_unit_test(version_1_has_a_tree_of_its_own),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
