// Strict mode: the strict probe does one thing wrong, and the host must get that thing's name. Two devices: a thread
// invokes each, and a word that the host writes lets the second one go on, which to strict mode orders nothing.
#include "kit.h"
#include "strict_probe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER 65536
#define READY  20 // line that says device 1 is there
#define GO     21 // line that the host writes

static const struct {
    const char *name, *kind;
} wrongs[] = {[STRICT_NOTHING] = {"", ""},
#define STRICT_WRONG(name, function, kind) [STRICT_##name] = {#name, kind},
              STRICT_WRONGS
#undef STRICT_WRONG
};

struct device {
    int session;
    remote_handle64 handle;
    struct strict_in in;
    struct strict_out out;
    int result;
    pthread_t thread;
};

static uint32_t *memory; // of the buffer that all devices map
static int memory_fd;

static int invoke(struct device *d, enum strict_method method) {
    remote_arg args[2] = {{.buf = {&d->in, sizeof d->in}}, {.buf = {&d->out, sizeof d->out}}};
    return lib.remote_handle64_invoke(d->handle, REMOTE_SCALARS_MAKE(method, 1, 1), args);
}

static void start(struct device *d, int session) {
    struct remote_rpc_control_unsigned_module unsigned_module = {CDSP + 8 * session, 1};
    char uri[256];
    *d = (struct device){.session = session};
    snprintf(uri, sizeof uri, "file:///libstrict.so?strict_skel_handle_invoke&_modver=1.0&_dom=cdsp&_session=%d",
             session);
    lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &unsigned_module, sizeof unsigned_module);
    EQUAL(lib.remote_handle64_open(uri, &d->handle), 0);
    EQUAL(lib.fastrpc_mmap(CDSP + 8 * session, memory_fd, memory, 0, BUFFER, FASTRPC_MAP_FD_DELAYED), 0);
    d->in.fd = (uint32_t)memory_fd;
    d->in.bytes = BUFFER;
    EQUAL(invoke(d, STRICT_MAP), 0);
}

static void end(struct device *d) {
    lib.fastrpc_munmap(CDSP + 8 * d->session, memory_fd, memory, BUFFER);
    lib.remote_handle64_close(d->handle);
}

static int run(struct device *d, uint32_t what, uint32_t line, uint32_t value) {
    memset(d->in.steps, 0, sizeof d->in.steps);
    d->in.steps[0].what = what, d->in.steps[0].line = line, d->in.steps[0].value = value;
    return invoke(d, STRICT_RUN);
}

// What was reported for the device; "" for nothing. The process goes on for a moment after its call has failed.
static const char *kind_of(const struct device *d, char text[400]) {
    static char kind[32];
    kind[0] = text[0] = 0;
    lib.npu_emu_violation(CDSP + 8 * d->session, kind, sizeof kind, text, 400);
    return kind;
}

// The line of the program, where addr2line can tell it, else the offset in its file.
static bool says_where(const char *text) {
    static int lines = -1;
    if (lines < 0) lines = !system("addr2line --version >/dev/null 2>&1");
    return strstr(text, lines ? " at strict_skel.c:" : " (libstrict.strict.so+0x");
}

static void expect(const struct device *d, int result, const char *kind, const char *what) {
    char text[400];
    const char *got = kind_of(d, text);
    if (strcmp(got, kind)) printf("  %s: \"%s\" (%s), not \"%s\"\n", what, got, text, kind);
    CHECK(!strcmp(got, kind));
    CHECK(*kind ? result != 0 && strstr(text, "thread") && says_where(text) : result == 0);
}

static bool begin(void) {
    char path[600];
    snprintf(path, sizeof path, "%s/libstrict.strict.so", kit_program_folder);
    if (kit_qemu || access(path, R_OK)) return false; // only gcc makes the hooks, and not beside other sanitizers
    kit_set("strict", "1");
    memory = lib.rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, BUFFER);
    CHECK(memory);
    memory_fd = lib.rpcmem_to_fd(memory);
    return true;
}

static void finish(void) {
    lib.rpcmem_free(memory);
    kit_set("strict", "0");
}

static void all_wrongs(void) {
    if (!begin()) return;
    for (uint32_t what = 1; what < STRICT_WRONGS_END; what++) {
        struct device d;
        int result;
        memset(memory, 1, BUFFER);
        start(&d, 0);
        memory[32] = 9; // after it was mapped
        result = run(&d, what, 0, 0);
        expect(&d, result, wrongs[what].kind, wrongs[what].name);
        if (what == STRICT_READ_FRESH) EQUAL(d.out.value, 9);
        if (what == STRICT_READ_STALE_ATOMIC) EQUAL(d.out.value, 0x01010101);
        if (what == STRICT_WRITE_CLEAN) EQUAL(memory[33], 77);
        end(&d);
    }
    finish();
}

static void names(void) {
    struct device d;
    char text[400], buffer[32];
    if (!begin()) return;
    start(&d, 0);
    memory[32] = 9;
    CHECK(run(&d, STRICT_READ_STALE, 0, 0) != 0);
    CHECK(!strcmp(kind_of(&d, text), "stale_read"));
    snprintf(buffer, sizeof buffer, "buffer %d, offset 0x80", memory_fd);
    CHECK(strstr(text, buffer) && strstr(text, "the host changed"));
    end(&d);
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1); // where no addr2line is
    start(&d, 0);
    setenv("PATH", path, 1);
    free(path);
    CHECK(!strcmp(kind_of(&d, text), "")); // a new process has done nothing
    CHECK(run(&d, STRICT_DMA_LEFT, 0, 0) != 0);
    CHECK(!strcmp(kind_of(&d, text), "dma_left"));
    CHECK(strstr(text, " (libstrict.strict.so+0x"));
    end(&d);
    finish();
}

static void goes_on(void) {
    struct device d;
    unsigned long long count;
    char text[400];
    if (!begin()) return;
    kit_set("go_on", "1");
    start(&d, 0);
    memory[32] = 9;
    EQUAL(run(&d, STRICT_READ_STALE, 0, 0), 0);
    EQUAL(run(&d, STRICT_DMA_POP, 0, 0), 0);
    CHECK(!strcmp(kind_of(&d, text), "stale_read")); // the first
    EQUAL(lib.npu_emu_query(CDSP, "violations", &count), 0);
    EQUAL(count, 2);
    end(&d);
    kit_set("go_on", "0");
    finish();
}

static void scalars(void) {
    struct device d;
    unsigned long long count;
    if (!begin()) return;
    start(&d, 0);
    EQUAL(run(&d, STRICT_VTCM_SCALAR, 0, 0), 0);
    EQUAL(lib.npu_emu_query(CDSP, "vtcm_scalars", &count), 0);
    EQUAL(count, 1);
    end(&d);
    finish();
}

// Each switch alone, and what the others would have found.
static void switches(void) {
    static const struct {
        const char *key;
        uint32_t what;
    } rows[] = {{"cache", STRICT_READ_STALE}, {"dma", STRICT_DMA_POP}, {"vtcm_checks", STRICT_VTCM_OUTSIDE}};
    if (!begin()) return;
    for (unsigned on = 0; on < 3; on++) {
        kit_set("strict", "0");
        kit_set(rows[on].key, "1");
        for (unsigned i = 0; i < 2; i++) { // without its check the third is an ordinary crash
            struct device d;
            char text[400];
            memory[32] = 1;
            start(&d, 0);
            memory[32] = 9;
            run(&d, rows[i].what, 0, 0);
            CHECK((*kind_of(&d, text) != 0) == (i == on));
            end(&d);
        }
    }
    finish();
}

// Transfers go past the cache, also where nothing else about them is strict.
static void past_the_cache(void) {
    struct device d;
    if (!begin()) return;
    kit_set("strict", "0");
    kit_set("cache", "1");
    start(&d, 0);
    memory[2 * 32] = 9;
    EQUAL(run(&d, STRICT_DMA_LOAD, 2, 0), 0);
    EQUAL(d.out.value, 9);
    EQUAL(run(&d, STRICT_DMA_STORE, 2, 5), 0);
    EQUAL(memory[2 * 32], 5);
    end(&d);
    finish();
}

// Lines of 64 bytes: a program that keeps 128 does half of it.
static void lines(void) {
    struct device d;
    int result;
    if (!begin()) return;
    kit_set("line", "64");
    lib.rpcmem_free(memory);
    memory = lib.rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, BUFFER);
    memory_fd = lib.rpcmem_to_fd(memory);
    start(&d, 0);
    result = run(&d, STRICT_DMA_OF_DIRTY, 0, 0);
    expect(&d, result, "dma_of_dirty", "line 64");
    end(&d);
    kit_set("line", "128");
    finish();
}

static void *call(void *argument) {
    struct device *d = argument;
    d->result = invoke(d, STRICT_RUN);
    return NULL;
}

// |first| runs in device 0 while device 1 waits, then |second| in device 1.
static void two(uint32_t first, uint32_t second, const char *kind) {
    struct device a, b;
    if (!begin()) return;
    start(&a, 0);
    start(&b, 1);
    b.in.steps[0].what = STRICT_STORE, b.in.steps[0].line = READY, b.in.steps[0].value = 1;
    b.in.steps[1].what = STRICT_WAIT, b.in.steps[1].line = GO, b.in.steps[1].value = 1;
    b.in.steps[2].what = second, b.in.steps[2].line = 2, b.in.steps[2].value = 6;
    pthread_create(&b.thread, NULL, call, &b);
    while (!__atomic_load_n(&memory[READY * 32], __ATOMIC_SEQ_CST)) usleep(1000);
    EQUAL(run(&a, first, 2, 5), 0);
    __atomic_store_n(&memory[GO * 32], 1, __ATOMIC_SEQ_CST);
    pthread_join(b.thread, NULL);
    expect(&b, b.result, kind, "two devices");
    end(&b);
    end(&a);
    finish();
}

static void store_and_store(void) {
    two(STRICT_STORE, STRICT_STORE, "line_conflict");
}
static void dma_and_dma(void) {
    two(STRICT_DMA_STORE, STRICT_DMA_STORE, "line_conflict");
}
static void write_and_read(void) {
    two(STRICT_DMA_STORE, STRICT_DMA_LOAD, "unordered_read");
}
static void read_and_write(void) {
    two(STRICT_DMA_LOAD, STRICT_DMA_STORE, "unordered_write");
}
static void read_and_read(void) {
    two(STRICT_DMA_LOAD, STRICT_DMA_LOAD, "");
}

// Device 0 writes line 2 and signals in line 3; device 1 waits for that.
static void fence(void) {
    struct device a, b;
    if (!begin()) return;
    start(&a, 0);
    start(&b, 1);
    b.in.steps[0].what = STRICT_WAIT, b.in.steps[0].line = 3, b.in.steps[0].value = 7;
    b.in.steps[1].what = STRICT_DMA_LOAD, b.in.steps[1].line = 2;
    pthread_create(&b.thread, NULL, call, &b);
    memset(a.in.steps, 0, sizeof a.in.steps);
    a.in.steps[0].what = STRICT_DMA_STORE, a.in.steps[0].line = 2, a.in.steps[0].value = 5;
    a.in.steps[1].what = STRICT_STORE, a.in.steps[1].line = 3, a.in.steps[1].value = 7;
    EQUAL(invoke(&a, STRICT_RUN), 0);
    pthread_join(b.thread, NULL);
    expect(&b, b.result, "", "fence");
    EQUAL(b.out.value, 5);
    end(&b);
    end(&a);
    finish();
}

// The host's answer and next call order two devices too; a line that stayed dirty meanwhile does not belong to anybody.
static void by_the_host(void) {
    struct device a, b;
    int result;
    if (!begin()) return;
    start(&a, 0);
    start(&b, 1);
    EQUAL(run(&a, STRICT_DMA_STORE, 2, 5), 0);
    EQUAL(run(&b, STRICT_DMA_LOAD, 2, 0), 0);
    EQUAL(b.out.value, 5);
    EQUAL(run(&a, STRICT_STORE_DIRTY, 4, 1), 0);
    EQUAL(run(&b, STRICT_STORE, 4, 2), 0);
    result = run(&a, STRICT_CLEAN, 4, 0);
    expect(&a, result, "line_conflict", "dirty meanwhile");
    end(&b);
    end(&a);
    finish();
}

const struct row kit_rows_strict[] = {{"strict: each wrong by its name", all_wrongs},
                                      {"strict: a report names buffer, offset, who, code", names},
                                      {"strict: goes on when told to", goes_on},
                                      {"strict: scalars in VTCM are counted", scalars},
                                      {"strict: each switch alone", switches},
                                      {"strict: DMA with a cache alone", past_the_cache},
                                      {"strict: lines of 64 bytes", lines},
                                      {"strict: two devices store to one line", store_and_store},
                                      {"strict: two devices write one line by DMA", dma_and_dma},
                                      {"strict: a device reads what another writes", write_and_read},
                                      {"strict: a device writes what another reads", read_and_write},
                                      {"strict: two devices read", read_and_read},
                                      {"strict: a fence orders", fence},
                                      {"strict: the host orders", by_the_host},
                                      {0}};
