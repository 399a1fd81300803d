// Rows about NPU processes that hang, are slow or are stopped.
#include "watched.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

// Death at the n-th queue read, a hang, and a mute program: what a host's time-outs must deal with.
static void faults_in_queue(void) {
    struct kit_queue q = watched_open();
    uint32_t words[2];
    kit_set("fault", "dsp:dspqueue_read@3=die");
    for (int i = 0; i < 2; i++) {
        EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
        EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    }
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), AEE_EINTERRUPTED);
    kit_set("fault", "off");
    watched_ended(&q, AEE_ENOSUCH);
    q = watched_open();
    kit_set("fault", "dsp:dspqueue_write@1=hang");
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    EQUAL(kit_receive(&q, words, 50000), AEE_EEXPIRED);
    watched_until("faults_met", 0);
    kit_set("fault", "off");
    EQUAL(kit_receive(&q, words, 50000), AEE_EEXPIRED); // hung for good
    watched_kill();
    watched_ended(&q, AEE_ENOSUCH);
}

// What a device's watchdog does, whoever hangs: the DSP restarts, and the other session with it. What only waits, and
// what is slow but comes on, goes on.
static void watchdog(void) {
    static const char *const hangs[] = {"dsp3:dspqueue_read@1=hang", "dsp3:dspqueue_write@1=hang",
                                        "dsp3:invoke@1=hang"};
    kit_set("watchdog", "400");
    for (unsigned i = 0; i < 3; i++) {
        struct kit_queue q = watched_open();
        remote_handle64 other = kit_open(1);
        struct probe_in idle = {.value = 600000};
        watched_statuses[FASTRPC_DSP_SSR] = 0;
        usleep(600000); // nothing in hand
        EQUAL(kit_call(q.handle, PROBE_CLOSES, NULL, NULL), 0);
        idle.flags = 1;
        EQUAL(kit_call(q.handle, PROBE_SLEEP, &idle, NULL), 0); // in steps
        kit_set("fault", hangs[i]);
        if (i < 2)
            EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
        else
            EQUAL(kit_call(q.handle, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
        EQUAL(watched_wait(&watched_statuses[FASTRPC_DSP_SSR], 2), 2);
        kit_set("fault", "off");
        EQUAL(kit_call(other, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
        kit_close(other);
        watched_ended(&q, AEE_ECONNRESET);
    }
    kit_set("watchdog", "0");
}

static atomic_int starving;

// Lets a process run a tenth of the time.
static void *starve(void *pid) {
    while (starving) {
        kill((pid_t)(intptr_t)pid, SIGCONT);
        usleep(4000);
        kill((pid_t)(intptr_t)pid, SIGSTOP);
        usleep(36000);
    }
    kill((pid_t)(intptr_t)pid, SIGCONT);
    return NULL;
}

// A process that the machine does not let run computes for seconds without a step, but does not hang: what counts is
// the time that it had. One that spends that much without a step does.
static void starved(void) {
    struct probe_in in = {.value = 200000};
    pthread_t thread;
    kit_set("watchdog", "400");
    struct kit_queue q = watched_open();
    starving = 1;
    pthread_create(&thread, NULL, starve, (void *)(intptr_t)watched_count("pid"));
    int result = kit_call(q.handle, PROBE_BUSY, &in, NULL);
    starving = 0;
    pthread_join(thread, NULL);
    EQUAL(result, 0);
    in.value = KIT_PATIENCE_US;
    EQUAL(kit_call(q.handle, PROBE_BUSY, &in, NULL), AEE_ECONNRESET);
    watched_ended(&q, AEE_ECONNRESET);
    kit_set("watchdog", "0");
}

// Not dead, not slow: stopped. The host's time-outs see it, and its end helps.
static void frozen(void) {
    struct kit_queue q = watched_open();
    uint32_t words[2];
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 1), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    int pid = (int)watched_count("pid");
    CHECK(!kill(pid, SIGSTOP));
    while (kit_state(pid) != 'T') usleep(1000);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 2), 0);
    EQUAL(kit_receive(&q, words, 50000), AEE_EEXPIRED);
    watched_kill();
    watched_ended(&q, AEE_ENOSUCH);
}

const struct row kit_rows_hang[] = {{"hang: at the n-th packet, and faults", faults_in_queue},
                                    {"hang: by the watchdog", watchdog},
                                    {"hang: a starved process does not hang", starved},
                                    {"hang: a frozen process", frozen},
                                    {0}};
