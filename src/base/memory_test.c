#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/memory.h"
#include "support/fake_root.h"

static void is(uint64_t total, uint64_t free_bytes) {
    npu_machine_memory m = npu_memory_now(root);
    assert_int_equal(m.total, total);
    assert_int_equal(m.free, free_bytes);
}

static void the_least_limit_counts(void **state) {
    (void)state;
    is(0, 0);
    put("/proc/meminfo", "MemTotal:       8000 kB\nMemFree:  1 kB\nMemAvailable:   6000 kB\n");
    is(8000 * 1024, 6000 * 1024);
    put("/sys/fs/cgroup/memory.max", "max\n");
    is(8000 * 1024, 6000 * 1024);
    put("/sys/fs/cgroup/memory.max", "4096000\n");
    put("/sys/fs/cgroup/memory.current", "3000000\n");
    is(4096000, 1096000);
    put("/sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 600000\nactive_file 400000\n");
    is(4096000, 2096000);
    put("/sys/fs/cgroup/memory.current", "5000000\n"); /* more than the limit, for a moment */
    is(4096000, 96000);
    put("/proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 10 kB\n");
    is(4096000, 10240);
    drop("/sys/fs/cgroup/memory.max");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    is(8000 * 1024, 10240);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2048000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2000000\n");
    put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 15000\ntotal_active_file 5000\n");
    put("/proc/meminfo", "MemTotal: 8000 kB\n");
    is(2048000, 68000);
}

/* A service of the system: the limit is at its own group or at a slice above it, not at the root. */
static void groups_below_the_root_count(void **state) {
    (void)state;
    put("/proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 6000 kB\n");
    put("/proc/self/cgroup", "1:name=systemd:/x\n0::/a.slice/b.service\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.max", "4096000\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.current", "96000\n");
    is(4096000, 4000000);
    put("/sys/fs/cgroup/a.slice/memory.max", "2048000\n");
    is(2048000, 2048000);
    put("/proc/self/cgroup", "0::/../other\n"); /* out of what can be seen */
    is(8000 * 1024, 6000 * 1024);
    put("/proc/self/cgroup", "9:cpu,cpuacct:/c\n8:memory:/c\n");
    put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1024000\n");
    is(1024000, 1024000);
}

static void this_machine_has_some(void **state) {
    (void)state;
    npu_machine_memory m = npu_memory_now("");
    assert_true(m.total > 16 << 20);
    assert_true(m.free > 0 && m.free <= m.total);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_least_limit_counts, make_root, remove_root),
        cmocka_unit_test_setup_teardown(groups_below_the_root_count, make_root, remove_root),
        cmocka_unit_test(this_machine_has_some)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
