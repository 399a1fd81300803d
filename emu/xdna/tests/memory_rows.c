// Buffers, syncs, addresses, limits.
#include "rows.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static void every_kernel_version(void **state) {
    static const char *const kernels[] = {"6.14", "7.0", "0.16", "1.0"}, *const generations[] = {"xdna1", "xdna2"};
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct kit k;
        struct kit_run r;
        kit_set("kernel", kernels[i % 4]);
        kit_set("generation", generations[i / 4]);
        kit_set("iova", i == 6 ? "1" : "0");
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        for (unsigned seed = 1; seed < 4; seed++) {
            kit_fill(&r, seed);
            assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
            assert_int_equal(kit_wrong(&r, 0, 16), 0);
        }
        kit_run_close(&r);
        assert_int_equal(kit_get("contexts"), 0);
        assert_int_equal(kit_get("buffers"), 1);
        kit_close(&k);
        assert_int_equal(kit_get("memory"), 0);
    }
}

static void layouts(void **state) {
    static const npu_xdna_layout all[] = {{8, 8, 8, 8, 8, 8, 8, 8, true},       {4, 16, 24, 4, 8, 8, 16, 8, true},
                                          {16, 192, 64, 8, 8, 8, 64, 32, true}, {128, 128, 128, 4, 8, 8, 64, 128, true},
                                          {6, 30, 21, 2, 5, 7, 15, 21, true},   {3, 7, 5, 0, 0, 0, 0, 0, false},
                                          {16, 64, 128, 0, 0, 0, 0, 0, false}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct kit k;
        struct kit_run r;
        kit_open(&k);
        kit_run_open(&k, &all[i], NULL, &r);
        memset(r.a.data, 0, all[i].k / 2); // some zeros, so that rows without any work are met too
        kit_flush(&k, &r.a);
        assert_int_equal(kit_go(&r), AMDXDNA_STATE_COMPLETED);
        assert_int_equal(kit_wrong(&r, 0, all[i].m), 0);
        kit_run_close(&r);
        kit_close(&k);
    }
}

static void unsynced_is_stale(void **state) {
    struct kit k;
    struct kit_run r;
    uint64_t seq;
    (void)state;
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    assert_int_equal(kit_go(&r), 4);
    int32_t before[16 * 32];
    memcpy(before, r.c.data, sizeof before);
    memset(r.a.data, 3, r.a.bytes); // not synced: the device still sees the old bytes
    assert_int_equal(kit_go(&r), 4);
    assert_memory_equal(before, r.c.data, sizeof before);
    kit_flush(&k, &r.a);
    assert_int_equal(kit_submit(&r, 0, &seq), 0);
    assert_int_equal(kit_wait(&r, seq, 30000), 0);
    assert_memory_equal(before, r.c.data, sizeof before); // not synced back
    assert_int_equal(kit_sync(&k, &r.c, AMDXDNA_TO_DEVICE, 0, 128), 0);
    assert_memory_not_equal(before, r.c.data, 128);
    assert_memory_equal((uint8_t *)before + 128, r.c.data + 128, sizeof before - 128); // only the range, in lines
    kit_flush(&k, &r.c);
    assert_int_equal(kit_wrong(&r, 0, 16), 0);
    kit_run_close(&r);
    kit_close(&k);
}

// New memory is not what the CPU wrote, for anybody who forgets the first sync.
static void new_memory_is_poisoned(void **state) {
    struct kit k;
    (void)state;
    kit_set("direction", "strict");
    kit_open(&k);
    struct kit_bo bo = kit_buffer(&k, AMDXDNA_BO_SHARE, 4096);
    assert_int_equal(kit_sync(&k, &bo, AMDXDNA_FROM_DEVICE, 0, 64), EINVAL); // kernel 7.0 says so, after the work
    assert_int_equal(bo.data[0], 0xA5);
    assert_int_equal(bo.data[64], 0);
    kit_free(&k, &bo);
    kit_close(&k);
}

static void direction(void **state) {
    struct kit k;
    struct kit_run r;
    (void)state;
    kit_set("kernel", "1.0");
    kit_set("direction", "strict");
    kit_open(&k);
    kit_run_open(&k, &kit_small, NULL, &r);
    assert_int_equal(kit_go(&r), 4);
    assert_int_equal(*(int32_t *)(void *)r.c.data, 0); // TO_DEVICE brought nothing back
    assert_int_equal(kit_sync(&k, &r.c, AMDXDNA_FROM_DEVICE, 0, r.c.bytes), 0);
    assert_int_equal(kit_wrong(&r, 0, 16), 0);
    uint8_t was = r.a.data[5];
    r.a.data[5] = (uint8_t)(was + 1);
    assert_int_equal(kit_sync(&k, &r.a, AMDXDNA_FROM_DEVICE, 0, r.a.bytes), 0); // loses what the CPU wrote
    assert_int_equal(r.a.data[5], was);
    kit_run_close(&r);
    kit_close(&k);
}

static void dirty_lines_over_output(void **state) {
    struct kit k;
    struct kit_run r;
    uint64_t seq;
    (void)state;
    for (int evict = 0; evict < 2; evict++) {
        kit_set("evict", evict ? "1" : "0");
        kit_open(&k);
        kit_run_open(&k, &kit_small, NULL, &r);
        unsigned long long before = kit_get("dirty_over_output");
        memset(r.c.data, 0x55, 64); // a sentinel that nobody synced
        assert_int_equal(kit_submit(&r, 0, &seq), 0);
        assert_int_equal(kit_wait(&r, seq, 30000), 0);
        assert_int_equal(kit_get("dirty_over_output"), before + 1);
        kit_flush(&k, &r.c);
        assert_int_equal(r.c.data[0], 0x55); // wins over the command's result
        assert_int_not_equal(kit_wrong(&r, 0, 16), 0);
        kit_run_close(&r);
        kit_close(&k);
    }
}

static void sync_answers(void **state) {
    static const struct {
        const char *kernel;
        uint32_t direction;
        uint64_t offset, bytes;
        int error;
    } rows[] = {{"6.14", 0, 9000, 1, 0},     {"6.14", 1, 0, 4096, 0},     {"7.0", 0, 0, 99999, 0},
                {"7.0", 0, 4096, 1, EINVAL}, {"7.0", 1, 0, 64, EINVAL},   {"0.16", 1, 0, 64, EINVAL},
                {"1.0", 1, 0, 4096, 0},      {"1.0", 0, 64, 4096, EINVAL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kit k;
        kit_set("kernel", rows[i].kernel);
        kit_open(&k);
        struct kit_bo bo = kit_buffer(&k, AMDXDNA_BO_SHARE, 4096);
        assert_int_equal(kit_sync(&k, &bo, rows[i].direction, rows[i].offset, rows[i].bytes), rows[i].error);
        bo.handle += 1000;
        assert_int_equal(kit_sync(&k, &bo, 0, 0, 1), ENOENT);
        bo.handle -= 1000;
        kit_free(&k, &bo);
        kit_close(&k);
    }
}

static void limits(void **state) {
    struct kit k;
    struct kit_bo bo;
    uint32_t handle, syncobj;
    (void)state;
    kit_set("generation", "xdna1");
    kit_set("contexts", "6");
    kit_set("memory", "80M");
    kit_open(&k);
    for (int i = 0; i < 6; i++) assert_int_equal(kit_context(&k, 1, &handle, &syncobj), 0);
    struct amdxdna_destroy_hwctx destroy = {handle, 0};
    assert_int_equal(kit_context(&k, 1, &handle, &syncobj), EINVAL);
    assert_int_equal(kit_ioctl(&k, AMDXDNA_DESTROY_HWCTX, &destroy), 0);
    assert_int_equal(kit_ioctl(&k, AMDXDNA_DESTROY_HWCTX, &destroy), EINVAL);
    assert_int_equal(kit_context(&k, 6, &handle, &syncobj), EINVAL); // columns
    assert_int_equal(kit_context(&k, 5, &handle, &syncobj), 0);
    assert_int_equal(kit_try_buffer(&k, AMDXDNA_BO_SHARE, 20 << 20, &bo), ENOMEM);
    assert_int_equal(kit_try_buffer(&k, AMDXDNA_BO_DEV, 65 << 20, &bo), ENOSPC);
    assert_int_equal(kit_try_buffer(&k, AMDXDNA_BO_DEV, 63 << 20, &bo), 0);
    assert_int_equal(kit_try_buffer(&k, AMDXDNA_BO_DEV, 1 << 20, &bo), ENOSPC);
    assert_int_equal(kit_try_buffer(&k, AMDXDNA_BO_DEV_HEAP, 64 << 20, &bo), ENOSPC);
    assert_int_equal(kit_try_buffer(&k, AMDXDNA_BO_SHARE, 0, &bo), EINVAL);
    assert_int_equal(kit_try_buffer(&k, 9, 4096, &bo), EINVAL);
    kit_close(&k);
}

static void heap_comes_first(void **state) {
    static const struct {
        const char *kernel;
        int unmapped, second;
        uint64_t bytes;
    } rows[] = {{"6.14", EINVAL, EBUSY, 32 << 20}, {"7.0", EAGAIN, ENOSPC, 64 << 20}, {"1.0", EAGAIN, EBUSY, 64 << 20}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kit_set("kernel", rows[i].kernel);
        struct kit k = {.fd = sys->open("/dev/accel/accel0", 0), .rows = 4};
        struct amdxdna_create_bo dev = {.size = 4096, .type = AMDXDNA_BO_DEV},
                                 heap = {.size = rows[i].bytes, .type = AMDXDNA_BO_DEV_HEAP}, odd = heap;
        uint32_t handle, syncobj;
        assert_int_equal(kit_context(&k, 1, &handle, &syncobj), ENOENT);
        assert_int_equal(kit_ioctl(&k, AMDXDNA_CREATE_BO, &dev), ENOENT);
        odd.size = 65 << 20;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_CREATE_BO, &odd), EINVAL);
        assert_int_equal(kit_ioctl(&k, AMDXDNA_CREATE_BO, &heap), 0);
        assert_int_equal(kit_ioctl(&k, AMDXDNA_CREATE_BO, &heap), rows[i].second);
        assert_int_equal(kit_context(&k, 1, &handle, &syncobj), rows[i].unmapped);
        assert_int_equal(kit_ioctl(&k, AMDXDNA_CREATE_BO, &dev), rows[i].unmapped);
        assert_int_equal(sys->close(k.fd), 0);
    }
}

static void addresses(void **state) {
    struct kit k;
    (void)state;
    for (int old = 0; old < 2; old++) {
        kit_set("kernel", old ? "6.14" : "7.0");
        kit_open(&k);
        struct kit_bo bo = kit_buffer(&k, AMDXDNA_BO_SHARE, 4096), dev = kit_buffer(&k, AMDXDNA_BO_DEV, 100);
        struct amdxdna_get_bo_info info = {.handle = bo.handle};
        assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_BO_INFO, &info), 0);
        assert_true(info.xdna_addr == (old ? AMDXDNA_INVALID_ADDRESS : (uint64_t)(uintptr_t)bo.data));
        void *again = sys->mmap(NULL, 4096, PROT_READ, MAP_SHARED, k.fd, (off_t)(int64_t)info.map_offset);
        assert_true(old ? again == MAP_FAILED && errno == EEXIST : again != MAP_FAILED);
        if (!old) munmap(again, 4096);
        info = (struct amdxdna_get_bo_info){.handle = dev.handle};
        assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_BO_INFO, &info), 0);
        assert_true(info.map_offset == AMDXDNA_INVALID_ADDRESS && !(info.xdna_addr % AMDXDNA_DEV_STEP));
        info.pad = 1;
        assert_int_equal(kit_ioctl(&k, AMDXDNA_GET_BO_INFO, &info), EINVAL);
        kit_close(&k);
    }
}

const struct CMUnitTest memory_rows[] = {ROW(every_kernel_version),
                                         ROW(layouts),
                                         ROW(unsynced_is_stale),
                                         ROW(new_memory_is_poisoned),
                                         ROW(direction),
                                         ROW(dirty_lines_over_output),
                                         ROW(sync_answers),
                                         ROW(limits),
                                         ROW(heap_comes_first),
                                         ROW(addresses)};
const size_t n_memory_rows = sizeof memory_rows / sizeof *memory_rows;
