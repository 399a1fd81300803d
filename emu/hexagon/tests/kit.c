// See kit.h. main runs every row, or those whose name contains the last argument:
//   hexagon_test LIBRARY sim|qemu PROGRAM-FOLDER [NAME]
#include "kit.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kit_library lib;
bool kit_qemu;
char *kit_library_path, *kit_program_folder;
static jmp_buf out_of_row;

void kit_fail(const char *file, int line, const char *text, long long got) {
    printf("  %s:%d: %s (%lld = %#llx)\n", file, line, text, got, (unsigned long long)got);
    longjmp(out_of_row, 1);
}

void kit_equal(const char *file, int line, const char *text, long long got, long long expected) {
    char full[256];
    // A code of the DSP may be written as a negative int or as an unsigned number.
    if (got == expected || ((uint32_t)got == (uint32_t)expected && (got >> 32 == -1 || expected >> 32 == -1))) return;
    snprintf(full, sizeof full, "%s is not %lld = %#llx", text, expected, (unsigned long long)expected);
    kit_fail(file, line, full, got);
}

int kit_try_open(int session, remote_handle64 *handle) {
    struct remote_rpc_control_unsigned_module unsigned_module = {CDSP + 8 * session, 1};
    char uri[256];
    snprintf(uri, sizeof uri, "file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0&_dom=cdsp&_session=%d",
             session);
    lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &unsigned_module, sizeof unsigned_module);
    return lib.remote_handle64_open(uri, handle);
}

remote_handle64 kit_open(int session) {
    remote_handle64 handle = 0;
    EQUAL(kit_try_open(session, &handle), 0);
    return handle;
}

void kit_close(remote_handle64 handle) {
    EQUAL(lib.remote_handle64_close(handle), 0);
}

int kit_call(remote_handle64 handle, enum probe_method method, const struct probe_in *in, struct probe_out *out) {
    struct probe_in no_in = {0};
    struct probe_out no_out = {0};
    remote_arg args[2] = {{.buf = {(void *)(uintptr_t)(in ? in : &no_in), sizeof *in}},
                          {.buf = {out ? out : &no_out, sizeof *out}}};
    return lib.remote_handle64_invoke(handle, REMOTE_SCALARS_MAKE(method, 1, 1), args);
}

void kit_set(const char *key, const char *value) {
    EQUAL(lib.npu_emu_configure(key, value), 0);
}

void *kit_buffer(int domain, size_t bytes, enum fastrpc_map_flags flags, int *fd) {
    void *memory = lib.rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, bytes);
    CHECK(memory);
    *fd = lib.rpcmem_to_fd(memory);
    CHECK(*fd >= 0);
    EQUAL(lib.fastrpc_mmap(domain, *fd, memory, 0, bytes, flags), 0);
    return memory;
}

void kit_buffer_free(int domain, void *memory) {
    EQUAL(lib.fastrpc_munmap(domain, lib.rpcmem_to_fd(memory), memory, 0), 0);
    lib.rpcmem_free(memory);
}

struct kit_queue kit_queue_open(uint32_t request, uint32_t response, bool by_callback) {
    struct kit_queue q = {.handle = kit_open(0)};
    struct probe_in in = {.flags = by_callback};
    EQUAL(lib.dspqueue_create(CDSP, 0, request, response, NULL, NULL, NULL, &q.queue), 0);
    EQUAL(lib.dspqueue_export(q.queue, &q.id), 0);
    in.value = q.id;
    EQUAL(kit_call(q.handle, PROBE_QUEUE, &in, NULL), 0);
    return q;
}

void kit_queue_close(struct kit_queue *q) {
    EQUAL(kit_call(q->handle, PROBE_QUEUE_STOP, NULL, NULL), 0);
    EQUAL(lib.dspqueue_close(q->queue), 0);
    kit_close(q->handle);
}

int kit_send(struct kit_queue *q, uint32_t what, uint32_t second) {
    uint32_t words[2] = {what, second};
    return lib.dspqueue_write(q->queue, 0, 0, NULL, sizeof words, (const uint8_t *)words, KIT_PATIENCE_US);
}

int kit_receive(struct kit_queue *q, uint32_t words[2], uint32_t timeout_us) {
    uint32_t flags, count, length;
    return lib.dspqueue_read(q->queue, &flags, 0, &count, NULL, 8, &length, (uint8_t *)words, timeout_us);
}

char kit_state(int pid) {
    char path[64], text[256] = {0}, *state;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file) return 'Z';
    if (!fread(text, 1, sizeof text - 1, file)) text[0] = 0;
    fclose(file);
    state = strrchr(text, ')');
    return state && state[1] ? state[2] : 'Z';
}

// The other half of "life: ends with the host process": opens a session, tells its process, and is killed.
static int be_orphaned(void) {
    remote_handle64 handle;
    unsigned long long pid;
    if (kit_try_open(0, &handle) || lib.npu_emu_query(CDSP, "pid", &pid)) return 1;
    printf("%llu\n", pid);
    fflush(stdout);
    kill(getpid(), SIGKILL);
    return 1;
}

static int load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return -1;
    }
#define KIT_FUNCTION(name)                       \
    *(void **)&lib.name = dlsym(library, #name); \
    if (!lib.name) return printf("%s is missing\n", #name), -1;
#include "kit_functions.def"
    return 0;
}

static int run_row(const struct row *row) {
    printf("%s\n", row->name);
    fflush(stdout);
    if (setjmp(out_of_row)) return -1;
    row->run();
    return 0;
}

// After a failed row the sessions are in an unknown state: the rest can't be judged, so the program stops there.
static int run_rows(const struct row *rows, const char *only, int *count) {
    for (; rows->name; rows++) {
        if (only && !strstr(rows->name, only)) continue;
        if (run_row(rows)) return -1;
        ++*count;
    }
    return 0;
}

static int skip(const char *what) {
    const char *require = getenv("NPU_REQUIRE");
    printf("%s: not available\n", what);
    return require && !strcmp(require, "1") ? 1 : 77;
}

int main(int argc, char **argv) {
    const struct row *const all[] = {kit_rows_memory, kit_rows_call, kit_rows_queue, kit_rows_death,
                                     kit_rows_hang,   kit_rows_life, kit_rows_dsp,   kit_rows_strict};
    char path[512];
    int count = 0;
    if (argc < 4) return 2;
    kit_qemu = !strcmp(argv[2], "qemu");
    snprintf(path, sizeof path, "%s/libprobe.elf", argv[3]);
    if (kit_qemu && access(path, R_OK)) return skip(path);
    if (kit_qemu && system("qemu-hexagon --version >/dev/null 2>&1")) return skip("qemu-hexagon");
    if (load(argv[1])) return 1;
    lib.npu_emu_configure("driver", argv[2]);
    lib.npu_emu_configure("program", argv[3]);
    kit_library_path = argv[1];
    kit_program_folder = argv[3];
    if (argc > 4 && !strcmp(argv[4], "--orphan")) return be_orphaned();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (run_rows(all[i], argc > 4 ? argv[4] : NULL, &count)) return 1;
    printf("%d rows\n", count);
    return 0;
}
