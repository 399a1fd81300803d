// Rows about how long an NPU process lives, and what many of them leave behind.
#include "kit.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// The NPU process must not outlive the host, however that ends; nor die with a thread of it.
static void dies_with_host(void) {
    char text[32] = {0};
    int ends[2], status;
    pid_t host, npu;
    CHECK(!pipe(ends));
    fflush(stdout);
    host = fork();
    CHECK(host >= 0);
    if (!host) {
        dup2(ends[1], 1);
        execv("/proc/self/exe", (char *const[]){"hexagon_test", kit_library_path, kit_qemu ? "qemu" : "sim",
                                                kit_program_folder, "--orphan", NULL});
        _exit(1);
    }
    close(ends[1]);
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    CHECK(waitpid(host, &status, 0) == host && WIFSIGNALED(status));
    npu = atoi(text);
    CHECK(npu > 1);
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && kit_state(npu) != 'Z'; i++) usleep(5000);
    EQUAL(kit_state(npu), 'Z');
}

static void *open_here(void *handle) {
    return (void *)(intptr_t)kit_try_open(0, handle);
}

static void outlives_thread(void) {
    remote_handle64 h = 0;
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, open_here, &h);
    pthread_join(thread, &result);
    EQUAL((intptr_t)result, 0);
    usleep(50000);
    EQUAL(kit_call(h, PROBE_CLOSES, NULL, NULL), 0);
    kit_close(h);
}

static int open_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;
    CHECK(folder);
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

// Many lives and deaths: nothing is left over.
static void many_deaths(void) {
    int before = open_files();
    for (unsigned i = 0, seed = 20; i < 20; i++) {
        struct kit_queue q = kit_queue_open(0, 0, false);
        char fault[64];
        uint32_t words[2];
        int result = 0;
        snprintf(fault, sizeof fault, "dsp:dspqueue_%s@%d=die", i & 1 ? "read" : "write", 1 + rand_r(&seed) % 20);
        kit_set("fault", fault);
        for (int n = 0; n < 25 && !result; n++) {
            result = kit_send(&q, PROBE_PACKET_ECHO, 7);
            if (!result) result = kit_receive(&q, words, KIT_PATIENCE_US);
        }
        EQUAL(result, AEE_EINTERRUPTED);
        kit_set("fault", "off");
        EQUAL(lib.dspqueue_close(q.queue), 0);
        kit_close(q.handle);
    }
    EQUAL(open_files(), before);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1); // no zombies
}

static void eight_sessions(void) {
    remote_handle64 handles[8];
    kit_set("cdsps", "2");
    for (int i = 0; i < 8; i++) {
        struct remote_rpc_control_unsigned_module module = {CDSP + i / 4 + 8 * (i % 4), 1};
        char uri[160];
        snprintf(uri, sizeof uri, "file:///libprobe.so?probe_skel_handle_invoke&_modver=1.0&_dom=cdsp%s&_session=%d",
                 i < 4 ? "" : "1", i % 4);
        lib.remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &module, sizeof module);
        EQUAL(lib.remote_handle64_open(uri, &handles[i]), 0);
    }
    for (int n = 0; n < 20; n++)
        for (int i = 0; i < 8; i++) EQUAL(kit_call(handles[i], PROBE_CLOSES, NULL, NULL), 0);
    for (int i = 0; i < 8; i++) kit_close(handles[i]);
    kit_set("cdsps", "1");
}

const struct row kit_rows_life[] = {{"life: ends with the host process", dies_with_host},
                                    {"life: not with the thread that opened", outlives_thread},
                                    {"life: twenty deaths in a row, at seeded packets", many_deaths},
                                    {"life: eight sessions", eight_sessions},
                                    {0}};
