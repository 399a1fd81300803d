// Rows about memory: descriptors, mappings, limits.
#include "kit.h"

#include <string.h>

static uint64_t fill(uint8_t *memory, size_t bytes) {
    uint64_t total = 0;
    for (size_t i = 0; i < bytes; i++) total += memory[i] = (uint8_t)(i * 31 + 7);
    return total;
}

static void fd_is_the_key(void) {
    remote_handle64 h = kit_open(0);
    struct probe_out out;
    int fd;
    uint8_t *memory = kit_buffer(CDSP, 12345, FASTRPC_MAP_FD_DELAYED, &fd);
    uint64_t total = fill(memory, 12345);
    EQUAL(kit_call(h, PROBE_SUM_FD, &(struct probe_in){.fd = (uint32_t)fd, .bytes = 12345}, &out), 0);
    EQUAL(out.value, total);
    CHECK(out.more && out.more + 12345 <= 0xFFFFFFFFu); // a pointer below 4 GiB
    kit_buffer_free(CDSP, memory);
    kit_close(h);
}

static void map_kinds(void) {
    remote_handle64 h = kit_open(0);
    struct probe_in in = {.bytes = 4096, .flags = 3};
    struct probe_out out;
    unsigned long long mapped;
    int now, later;
    uint8_t *a = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD, &now), *b;
    EQUAL(lib.npu_emu_query(CDSP, "mappings", &mapped), 0);
    EQUAL(mapped, 1); // before anybody asked
    b = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD_DELAYED, &later);
    lib.npu_emu_query(CDSP, "mappings", &mapped);
    EQUAL(mapped, 1);
    in.fd = (uint32_t)now;
    a[9] = 5;
    EQUAL(kit_call(h, PROBE_SUM_GET, &in, &out), 0);
    EQUAL(out.value, 5);
    in.fd = (uint32_t)later;
    EQUAL(kit_call(h, PROBE_SUM_GET, &in, &out), 0x80000448); // only announced
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, &out), 0);
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, &out), 0); // HAP_munmap leaves the announcement
    in.fd = 12345;
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, &out), 0x80000465); // never announced: (void *)-1
    // Memory lives until its last mapping ends.
    in.fd = (uint32_t)later;
    EQUAL(kit_call(h, PROBE_MAP, &in, &out), 0);
    kit_buffer_free(CDSP, b);
    EQUAL(kit_call(h, PROBE_STORE, &in, NULL), 0);
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, NULL), 0x80000465); // the announcement is gone
    in.value = out.value;
    EQUAL(kit_call(h, PROBE_UNMAP, &in, NULL), 0);
    EQUAL(kit_call(h, PROBE_UNMAP, &in, NULL), 0x80000448);
    kit_buffer_free(CDSP, a);
    kit_close(h);
}

static void map_errors(void) {
    remote_handle64 h, other;
    int fd;
    void *memory = lib.rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, 4096);
    CHECK(lib.fastrpc_mmap(CDSP, lib.rpcmem_to_fd(memory), memory, 0, 4096, FASTRPC_MAP_FD) != 0); // no process yet
    lib.rpcmem_free(memory);
    h = kit_open(0);
    memory = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD, &fd);
    EQUAL(lib.fastrpc_mmap(CDSP, fd, memory, 0, 4096, FASTRPC_MAP_FD), AEE_EALREADY);
    other = kit_open(1); // another domain has its own
    EQUAL(lib.fastrpc_mmap(CDSP + 8, fd, memory, 0, 4096, FASTRPC_MAP_FD_DELAYED), 0);
    EQUAL(lib.fastrpc_mmap(CDSP + 8, fd, memory, 0, 4096, FASTRPC_MAP_FD), AEE_EALREADY);
    EQUAL(lib.fastrpc_munmap(CDSP + 8, fd, memory, 4096), 0);
    kit_close(other);
    EQUAL(lib.fastrpc_mmap(CDSP, -1, memory, 0, 4096, FASTRPC_MAP_FD), AEE_EBADPARM);
    EQUAL(lib.fastrpc_mmap(CDSP, fd, memory, 8, 4096, FASTRPC_MAP_FD), AEE_EBADPARM);
    EQUAL(lib.fastrpc_mmap(CDSP, fd, memory, 0, 4096, (enum fastrpc_map_flags)1), AEE_EBADPARM);
    EQUAL(lib.fastrpc_mmap(CDSP, fd, memory, 0, 4096, (enum fastrpc_map_flags)0x10002), AEE_EBADPARM);
    EQUAL(lib.fastrpc_munmap(CDSP, fd, NULL, 0), 0); // found by fd only
    EQUAL(lib.fastrpc_munmap(CDSP, fd, NULL, 0), AEE_ENOSUCHMAP);
    EQUAL(lib.rpcmem_to_fd((char *)memory + 1), -1);
    lib.rpcmem_free((char *)memory + 1); // unknown: nothing happens
    EQUAL(lib.rpcmem_to_fd(memory), fd);
    lib.rpcmem_free(memory);
    CHECK(!lib.rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, 0, 0) && !lib.rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, 0, -5));
    kit_close(h);
}

// The address sanitizer leaves an NPU process less than 2 GiB; gcc and clang say it differently.
#if defined(__SANITIZE_ADDRESS__)
#define LEAST_WINDOW ((size_t)1200 << 20)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAST_WINDOW ((size_t)1200 << 20)
#endif
#endif
#ifndef LEAST_WINDOW
#define LEAST_WINDOW ((size_t)3000 << 20)
#endif

// What the best known backend does at start: map big buffers until it fails.
static void address_space_limit(void) {
    remote_handle64 h = kit_open(0);
    void *memory[64];
    size_t total = 0, n = 0;
    int failed = 0;
    for (size_t bytes = 1u << 30; bytes >= 256u << 20; bytes /= 4) {
        for (failed = 0; !failed && n < 64;) {
            memory[n] = lib.rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, bytes);
            CHECK(memory[n]);
            failed = lib.fastrpc_mmap(CDSP, lib.rpcmem_to_fd(memory[n]), memory[n], 0, bytes, FASTRPC_MAP_FD);
            if (failed)
                lib.rpcmem_free(memory[n]);
            else
                n++, total += bytes;
        }
        CHECK(failed);
    }
    CHECK(total >= LEAST_WINDOW && total <= 3584u << 20);
    while (n) kit_buffer_free(CDSP, memory[--n]);
    kit_close(h);
}

static void window_and_slots(void) {
    remote_handle64 h;
    struct probe_in in = {.bytes = 1 << 20, .flags = 1};
    struct probe_out out;
    void *memory[4];
    int fd[4];
    kit_set("window", "3145728");
    h = kit_open(0);
    for (int i = 0; i < 4; i++) memory[i] = kit_buffer(CDSP, 1 << 20, FASTRPC_MAP_FD_DELAYED, &fd[i]);
    for (int i = 0; i < 4; i++) {
        in.fd = (uint32_t)fd[i];
        EQUAL(kit_call(h, PROBE_MAP, &in, &out), i < 3 ? 0 : (int)0x80000465);
    }
    for (int i = 0; i < 4; i++) kit_buffer_free(CDSP, memory[i]);
    kit_close(h);
    kit_set("window", "3489660928");
    kit_set("slots", "2");
    h = kit_open(0);
    for (int i = 0; i < 3; i++) memory[i] = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD_DELAYED, &fd[i]);
    in.bytes = 4096;
    for (int i = 0; i < 3; i++) {
        in.fd = (uint32_t)fd[i];
        EQUAL(kit_call(h, PROBE_MAP, &in, &out), i < 2 ? 0 : (int)0x80000465);
    }
    kit_close(h);
    for (int i = 0; i < 3; i++) lib.rpcmem_free(memory[i]);
    kit_set("slots", "64");
}

// The field report that address space returns only when the buffer itself is freed.
static void window_by_free(void) {
    unsigned long long mapped;
    remote_handle64 h;
    void *memory;
    int fd;
    kit_set("window_by_free", "1");
    h = kit_open(0);
    memory = kit_buffer(CDSP, 1 << 20, FASTRPC_MAP_FD, &fd);
    EQUAL(lib.fastrpc_munmap(CDSP, fd, memory, 1 << 20), 0);
    lib.npu_emu_query(CDSP, "mapped_bytes", &mapped);
    EQUAL(mapped, 1 << 20);
    lib.rpcmem_free(memory);
    lib.npu_emu_query(CDSP, "mapped_bytes", &mapped);
    EQUAL(mapped, 0);
    kit_close(h);
    kit_set("window_by_free", "0");
}

static void protection(void) {
    remote_handle64 h = kit_open(0);
    struct probe_in in = {.bytes = 4096, .flags = 1 | 4, .value = 9};
    struct probe_out out = {0};
    int fd;
    uint8_t *memory = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD_DELAYED, &fd);
    in.fd = (uint32_t)fd;
    EQUAL(kit_call(h, PROBE_MAP, &in, &out), 0x80000465); // executable: refused
    EQUAL(out.value, 0);                                  // and nothing comes out of a failed call
    in.flags = 3 | 0x10;
    EQUAL(kit_call(h, PROBE_MAP, &in, &out), 0);
    EQUAL(kit_call(h, PROBE_STORE, &in, NULL), 0);
    EQUAL(memory[0], 9);
    in.flags = 1;
    EQUAL(kit_call(h, PROBE_MAP, &in, &out), 0);
    EQUAL(kit_call(h, PROBE_STORE, &in, NULL), 0x8000040D); // a write to a read-only mapping faults
    EQUAL(memory[0], 9);
    kit_close(h);
    lib.rpcmem_free(memory);
}

const struct row kit_rows_memory[] = {
    {"the fd number is the key on both sides; DSP pointers lie below 4 GiB", fd_is_the_key},
    {"MAP_FD is mapped at once, FD_DELAYED by HAP_mmap", map_kinds},
    {"EALREADY, ENOSUCHMAP, EBADPARM of mappings; rpcmem's conventions", map_errors},
    {"address-space limit", address_space_limit},
    {"window and slots", window_and_slots},
    {"address space that returns at rpcmem_free only", window_by_free},
    {"HAP_mmap protection", protection},
    {0}};
