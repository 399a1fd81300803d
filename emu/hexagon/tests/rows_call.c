// Rows about handles, invocations, sessions and requests.
#include "kit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long long pid_of(int domain) {
    unsigned long long pid = 0;
    return lib.npu_emu_query(domain, "pid", &pid) ? 0 : pid;
}

static void one_process(void) {
    remote_handle64 a = kit_open(0), b = kit_open(0), other;
    unsigned long long pid = pid_of(CDSP);
    struct probe_out out;
    CHECK(pid && a != b && a >> 32); // handles are wider than 32 bits
    other = kit_open(1);
    CHECK(pid_of(CDSP + 8) && pid_of(CDSP + 8) != pid);
    kit_close(a);
    EQUAL(pid_of(CDSP), pid); // still a user
    EQUAL(kit_call(b, PROBE_CLOSES, NULL, &out), 0);
    EQUAL(out.value, 1); // close ran, as this was not the last handle
    kit_close(b);
    EQUAL(pid_of(CDSP), 0);
    EQUAL(lib.remote_handle64_close(b), AEE_EINVHANDLE);
    EQUAL(kit_call(b, PROBE_SLEEP, NULL, NULL), AEE_EINVHANDLE);
    EQUAL(kit_call((remote_handle64)-1, PROBE_SLEEP, NULL, NULL), AEE_EINVHANDLE);
    kit_close(other);
}

// The host's open files are no business of the NPU process.
static void inherits_nothing(void) {
    char path[64];
    remote_handle64 h;
    CHECK(dup2(1, 200) == 200);
    h = kit_open(0);
    snprintf(path, sizeof path, "/proc/%llu/fd/200", pid_of(CDSP));
    CHECK(access(path, F_OK) != 0);
    close(200);
    kit_close(h);
}

static void echo(remote_handle64 h, uint8_t *in, uint8_t *out, size_t bytes, int expected) {
    remote_arg args[2] = {{.buf = {in, bytes}}, {.buf = {out, bytes}}};
    EQUAL(lib.remote_handle64_invoke(h, REMOTE_SCALARS_MAKE(PROBE_ECHO, 1, 1), args), expected);
}

static void copies(void) {
    remote_handle64 h = kit_open(0);
    struct probe_out out = {3, 4};
    size_t bytes = 3 << 20;
    uint8_t *in = malloc(bytes), *back = calloc(1, bytes);
    uint8_t *shared = lib.rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, 65536);
    for (size_t i = 0; i < bytes; i++) in[i] = (uint8_t)(i >> 3);
    for (size_t n = 0; n < 40; n++) echo(h, in, back, n * n, 0);
    echo(h, in, back, bytes, 0);
    CHECK(!memcmp(in, back, bytes));
    // Inside shared memory: by mapping. Half inside: refused.
    memcpy(shared + 100, in + 5000, 3000);
    echo(h, shared + 100, shared + 20000, 3000, 0);
    CHECK(!memcmp(shared + 20000, in + 5000, 3000));
    echo(h, shared + 65000, back, 4096, AEE_EBADPARM);
    // A failing method's code passes unchanged and its out data does not arrive.
    EQUAL(kit_call(h, PROBE_FAIL, &(struct probe_in){.value = 0x80000402u}, &out), (int)0x80000402u);
    EQUAL(out.value, 3);
    EQUAL(kit_call(h, PROBE_FAIL, &(struct probe_in){.value = 1234}, &out), 1234);
    EQUAL(kit_call(h, PROBE_METHODS, NULL, &out), (int)0x80000414u); // unknown method
    EQUAL(lib.remote_handle64_invoke(h, REMOTE_SCALARS_MAKE(PROBE_ECHO, 1, 1), NULL), AEE_EBADPARM);
    kit_close(h);
    lib.rpcmem_free(shared);
    free(in);
    free(back);
}

enum { AT_ONCE = 6 };

static void *meet(void *handle) {
    struct probe_in in = {.value = AT_ONCE};
    return (void *)(intptr_t)kit_call(*(remote_handle64 *)handle, PROBE_MEET, &in, NULL);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void concurrent(void) {
    remote_handle64 h = kit_open(0);
    pthread_t threads[AT_ONCE];
    void *results[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) pthread_create(&threads[i], NULL, meet, &h);
    for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], &results[i]);
    for (int i = 0; i < AT_ONCE; i++) EQUAL((intptr_t)results[i], 0);
    kit_close(h);
}

static void opening(void) {
    remote_handle64 h;
    struct remote_rpc_control_unsigned_module module = {CDSP, 1};
    lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &module, sizeof module);
    EQUAL(lib.remote_handle64_open("file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0", &h), AEE_EBADPARM);
    EQUAL(lib.remote_handle64_open("file:///libnone.so?probe_skel_handle_invoke&_modver=1.0&_dom=cdsp", &h),
          (int)0x80000406u);
    EQUAL(lib.remote_handle64_open("file:///libprobe.so?no_such_skel&_modver=1.0&_dom=cdsp", &h), (int)0x80000442u);
    EQUAL(lib.remote_handle64_open("file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0&_dom=adsp", &h),
          AEE_ENOSUCHDEVICE);
    module.enable = 0;
    EQUAL(lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &module, sizeof module), 0);
    EQUAL(lib.remote_handle64_open("file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0&_dom=cdsp", &h),
          (int)0x80000406u); // unsigned program, signed session
    h = kit_open(0);
    EQUAL(lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &module, sizeof module), AEE_EALREADYLOADED);
    module.enable = 1;
    EQUAL(lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &module, sizeof module), 0);
    kit_close(h);
}

static void sessions(void) {
    remote_rpc_reserve_new_session_t r = {
        .domain_name = "cdsp", .domain_name_len = 4, .session_name = "t", .session_name_len = 1};
    remote_rpc_effective_domain_id_t e = {.domain_name = "cdsp", .domain_name_len = 4, .session_id = 2};
    for (uint32_t i = 1; i < 4; i++) {
        EQUAL(lib.remote_session_control(FASTRPC_RESERVE_NEW_SESSION, &r, sizeof r), 0);
        EQUAL(r.session_id, i);
        EQUAL(r.effective_domain_id, CDSP + 8 * i);
    }
    EQUAL(lib.remote_session_control(FASTRPC_RESERVE_NEW_SESSION, &r, sizeof r), AEE_ENOSESSION);
    for (int i = 1; i < 4; i++) {
        struct remote_rpc_session_close c = {CDSP + 8 * i};
        EQUAL(lib.remote_session_control(FASTRPC_SESSION_CLOSE, &c, sizeof c), 0);
    }
    EQUAL(lib.remote_session_control(FASTRPC_GET_EFFECTIVE_DOMAIN_ID, &e, sizeof e), 0);
    EQUAL(e.effective_domain_id, 19);
    EQUAL(lib.remote_session_control(FASTRPC_GET_EFFECTIVE_DOMAIN_ID, &e, 4), AEE_EBADPARM);
    EQUAL(lib.remote_session_control(0, &e, sizeof e), AEE_EUNSUPPORTED);
    EQUAL(lib.remote_session_control(77, &e, sizeof e), AEE_EUNSUPPORTED);
}

static void get_uri(void) {
    char uri[128], module[] = "file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0";
    remote_rpc_get_uri_t g = {.domain_name = "cdsp",
                              .domain_name_len = 4,
                              .session_id = 1,
                              .module_uri = module,
                              .module_uri_len = sizeof module,
                              .uri = uri,
                              .uri_len = sizeof uri};
    EQUAL(lib.remote_session_control(FASTRPC_GET_URI, &g, sizeof g), 0);
    CHECK(!strcmp(uri, "file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0&_dom=cdsp&_session=1"));
    g.uri_len = 70;
    EQUAL(lib.remote_session_control(FASTRPC_GET_URI, &g, sizeof g), AEE_EBADSIZE);
    kit_set("get_uri", "0");
    EQUAL(lib.remote_session_control(FASTRPC_GET_URI, &g, sizeof g), AEE_EUNSUPPORTED);
    kit_set("get_uri", "1");
}

static uint32_t capability(uint32_t attribute) {
    struct remote_dsp_capability c = {CDSP, attribute, 0};
    EQUAL(lib.remote_handle_control(DSPRPC_GET_DSP_INFO, &c, sizeof c), 0);
    return c.capability;
}

static void dsp_info(void) {
    struct remote_dsp_capability c = {CDSP, 260, 0};
    struct remote_rpc_control_latency latency = {1, 0xDEADBEEF};
    remote_handle64 h = kit_open(0);
    EQUAL(capability(DOMAIN_SUPPORT), 1);
    EQUAL(capability(UNSIGNED_PD_SUPPORT), 1);
    EQUAL(capability(HVX_SUPPORT_128B), 4);
    EQUAL(capability(VTCM_PAGE) * capability(VTCM_COUNT), 8 << 20);
    EQUAL(capability(ARCH_VER) & 0xFF, 0x73);
    EQUAL(capability(HMX_SUPPORT_DEPTH), 1);
    EQUAL(lib.remote_handle_control(DSPRPC_GET_DSP_INFO, &c, sizeof c), AEE_EBADPARM);
    EQUAL(lib.remote_handle_control(99, &c, sizeof c), AEE_EUNSUPPORTED);
    EQUAL(lib.remote_handle64_control(h, DSPRPC_CONTROL_LATENCY, &latency, sizeof latency), 0);
    if (!kit_qemu) {
        kit_set("arch", "v79");
        EQUAL(capability(ARCH_VER) & 0xFF, 0x79);
        kit_set("arch", "v73");
    }
    kit_close(h);
}

static void domains(void) {
    fastrpc_domain list[4];
    system_req_payload p = {.id = FASTRPC_GET_DOMAINS, .sys = {.flags = FASTRPC_NSP}};
    EQUAL(sizeof p, 32);
    EQUAL(lib.remote_system_request(&p), 0);
    EQUAL(p.sys.num_domains, 1);
    p.sys.domains = list;
    p.sys.max_domains = 4;
    EQUAL(lib.remote_system_request(&p), 0);
    EQUAL(list[0].id, CDSP);
    CHECK(!strcmp(list[0].name, "cdsp"));
    kit_set("cdsps", "2");
    EQUAL(lib.remote_system_request(&p), 0);
    EQUAL(p.sys.num_domains, 2);
    CHECK(!strcmp(list[1].name, "cdsp1"));
    kit_set("cdsps", "1");
}

static void faults(void) {
    remote_handle64 h;
    void *memory;
    double begin;
    kit_set("fault", "rpcmem_alloc2@2=code:0;remote_handle64_open=code:0x80000402");
    memory = lib.rpcmem_alloc2(25, 1, 4096);
    CHECK(memory && !lib.rpcmem_alloc2(25, 1, 4096));
    lib.rpcmem_free(memory);
    EQUAL(kit_try_open(0, &h), (int)0x80000402u);
    kit_set("fault", "off");
    h = kit_open(0);
    kit_set("fault", "dsp:invoke=delay:100000");
    begin = now();
    EQUAL(kit_call(h, PROBE_CLOSES, NULL, NULL), 0);
    CHECK(now() - begin > 0.09);
    kit_set("fault", "dsp:invoke@2=code:55");
    EQUAL(kit_call(h, PROBE_CLOSES, NULL, NULL), 0);
    EQUAL(kit_call(h, PROBE_CLOSES, NULL, NULL), 55);
    EQUAL(kit_call(h, PROBE_CLOSES, NULL, NULL), 0);
    kit_set("fault", "off");
    EQUAL(lib.npu_emu_configure("fault", "nonsense"), AEE_EBADPARM);
    CHECK(strstr(lib.npu_emu_refusal(), "name[@n[+]]="));
    EQUAL(lib.npu_emu_configure("fault", "fastrpc_mmap=code:1;dsp:HAP_nmap@3=die"), AEE_EBADPARM);
    CHECK(strstr(lib.npu_emu_refusal(), "HAP_nmap"));
    EQUAL(lib.npu_emu_configure("fault", "HAP_mmap=die"), AEE_EBADPARM); // no call of the host
    EQUAL(lib.npu_emu_configure("fault", "dsp:rpcmem_alloc=die"), AEE_EBADPARM);
    EQUAL(lib.npu_emu_configure("arch", "v99"), AEE_EBADPARM);
    EQUAL(lib.npu_emu_configure("no such key", "1"), AEE_EUNSUPPORTED);
    CHECK(strstr(lib.npu_emu_describe(), "window"));
    kit_close(h);
}

// What qemu can't be is refused when it is said, in either order; then the settings are those before.
static void contradictions(void) {
    static const struct setting {
        const char *key, *value, *back;
    } rows[] = {{"arch", "v75", "v73"}, {"strict", "1", "0"},      {"cache", "1", "0"},  {"dma", "1", "0"},
                {"evict", "1", "0"},    {"vtcm_checks", "1", "0"}, {"preempt", "1", "0"}};
    for (const struct setting *s = rows; s < rows + sizeof rows / sizeof *rows; s++) {
        kit_set("driver", "qemu");
        EQUAL(lib.npu_emu_configure(s->key, s->value), AEE_EBADPARM);
        CHECK(strstr(lib.npu_emu_refusal(), "qemu") && strstr(lib.npu_emu_refusal(), "driver sim"));
        kit_set("driver", "sim");
        kit_set(s->key, s->value);
        EQUAL(lib.npu_emu_configure("driver", "qemu"), AEE_EBADPARM);
        kit_set(s->key, s->back);
        kit_set("driver", "qemu");
    }
    kit_set("driver", kit_qemu ? "qemu" : "sim");
    kit_close(kit_open(0));
}

static void *refuse_elsewhere(void *result) {
    *(int *)result = lib.npu_emu_configure("fault", "dsp:HAP_nmap@3=die");
    return NULL;
}

// Why something failed is of the thread that it failed for, and of its last call; a long path cuts no reason off.
static void reasons(void) {
    const char *key = kit_qemu ? "qemu" : "loader";
    char path[800];
    int elsewhere = 0;
    pthread_t thread;
    remote_handle64 h;
    EQUAL(lib.npu_emu_configure("fault", "fastrpc_mnap=code:1"), AEE_EBADPARM);
    EQUAL(pthread_create(&thread, NULL, refuse_elsewhere, &elsewhere), 0);
    pthread_join(thread, NULL);
    EQUAL(elsewhere, AEE_EBADPARM);
    CHECK(strstr(lib.npu_emu_refusal(), "fastrpc_mnap"));
    for (size_t i = 0; i < sizeof path; i++) path[i] = i % 8 ? 'x' : '/';
    path[sizeof path - 1] = 0;
    kit_set("fault", "remote_handle64_open@2=code:5");
    kit_set(key, path);
    CHECK(kit_try_open(0, &h));
    CHECK(strstr(lib.npu_emu_refusal(), "No such file or directory"));
    EQUAL(kit_try_open(0, &h), 5);
    CHECK(!strcmp(lib.npu_emu_refusal(), ""));
    kit_set("fault", "off");
    snprintf(path, sizeof path, "%.*s/npu-emu-dsp", (int)(strrchr(kit_library_path, '/') - kit_library_path),
             kit_library_path);
    kit_set(key, kit_qemu ? "qemu-hexagon" : path);
    kit_close(kit_open(0));
}

const struct row kit_rows_call[] = {{"one DSP process for each effective domain", one_process},
                                    {"the NPU process inherits no open files", inherits_nothing},
                                    {"invoke: data copied or mapped, results passed through", copies},
                                    {"invoke: several host threads at once", concurrent},
                                    {"opening: URI, missing and unsigned programs", opening},
                                    {"sessions: reserved, none left", sessions},
                                    {"FASTRPC_GET_URI", get_uri},
                                    {"GET_DSP_INFO and the latency request", dsp_info},
                                    {"remote_system_request", domains},
                                    {"faults on request", faults},
                                    {"settings that contradict each other", contradictions},
                                    {"why something failed", reasons},
                                    {0}};
