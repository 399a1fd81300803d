// Rows about the death of the NPU process and recovery from it.
#include "kit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int errors, error_code, statuses[8];
static pthread_t error_thread;

static void on_error(dspqueue_t queue, AEEResult error, void *context) {
    (void)queue, (void)context;
    error_thread = pthread_self();
    error_code = error;
    errors++;
}

static int on_status(void *context, int domain, int session, remote_rpc_status_flags_t status) {
    (void)context, (void)domain, (void)session;
    if (status < 8) statuses[status]++;
    return 0;
}

static int wait_for(atomic_int *value, int expected) {
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && *value != expected; i++) usleep(5000);
    return *value;
}

static struct kit_queue open_watched(void) {
    struct kit_queue q = {.handle = kit_open(0)};
    struct probe_in in = {0};
    errors = error_code = 0;
    EQUAL(lib.dspqueue_create(CDSP, 0, 0, 0, NULL, on_error, NULL, &q.queue), 0);
    lib.dspqueue_export(q.queue, &in.value);
    EQUAL(kit_call(q.handle, PROBE_QUEUE, &in, NULL), 0);
    return q;
}

// What every end of a process looks like afterwards; then the same session works again.
static void after_death(struct kit_queue *q, int code) {
    uint32_t words[2];
    remote_handle64 other;
    EQUAL(kit_receive(q, words, KIT_PATIENCE_US), AEE_EINTERRUPTED);
    EQUAL(wait_for(&errors, 1), 1);
    EQUAL(error_code, code);
    CHECK(!pthread_equal(error_thread, pthread_self())); // a thread of the library's own
    EQUAL(kit_call(q->handle, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
    EQUAL(kit_send(q, PROBE_PACKET_ECHO, 1), AEE_EINTERRUPTED);
    EQUAL(lib.dspqueue_write_noblock(q->queue, 0, 0, NULL, 8, (uint8_t *)words), 0); // does not check for death
    EQUAL(kit_try_open(0, &other), AEE_ECONNREFUSED); // no restart while handles are open
    EQUAL(lib.dspqueue_close(q->queue), 0);
    kit_close(q->handle);
    *q = kit_queue_open(0, 0, false);
    EQUAL(kit_send(q, PROBE_PACKET_ECHO, 42), 0);
    EQUAL(kit_receive(q, words, KIT_PATIENCE_US), 0);
    EQUAL(words[1], 42);
    kit_queue_close(q);
}

static void exception_in_queue(void) {
    struct kit_queue q = open_watched();
    remote_rpc_notif_register_t r = {NULL, CDSP, on_status};
    static int registered;
    if (!registered++) EQUAL(lib.remote_session_control(FASTRPC_REGISTER_STATUS_NOTIFICATIONS, &r, sizeof r), 0);
    statuses[FASTRPC_USER_PD_EXCEPTION] = 0;
    EQUAL(kit_send(&q, PROBE_PACKET_CRASH, 0), 0);
    after_death(&q, AEE_ENOSUCH);
    EQUAL(wait_for(&statuses[FASTRPC_USER_PD_EXCEPTION], 1), 1);
}

static atomic_int begun, ended;

static void on_error_slowly(dspqueue_t queue, AEEResult error, void *context) {
    (void)queue, (void)error, (void)context;
    begun = 1;
    usleep(100000);
    ended = 1;
}

static void on_error_close(dspqueue_t queue, AEEResult error, void *context) {
    (void)error, (void)context;
    ended = 1 + lib.dspqueue_close(queue);
}

// A queue that is closed while its error callback runs goes when that is over; the callback may close it itself.
static void close_in_callback(void) {
    const dspqueue_callback_t callbacks[] = {on_error_slowly, on_error_close};
    for (int i = 0; i < 2; i++) {
        remote_handle64 h = kit_open(0);
        dspqueue_t queue;
        begun = ended = 0;
        EQUAL(lib.dspqueue_create(CDSP, 0, 0, 0, NULL, callbacks[i], NULL, &queue), 0);
        EQUAL(kit_call(h, PROBE_CRASH, NULL, NULL), (int)0x8000040Du);
        if (!i) {
            EQUAL(wait_for(&begun, 1), 1);
            EQUAL(lib.dspqueue_close(queue), 0);
            EQUAL(ended, 1);
        }
        EQUAL(wait_for(&ended, 1), 1);
        kit_close(h);
    }
}

static void exception_in_invoke(void) {
    struct kit_queue q = open_watched();
    EQUAL(kit_call(q.handle, PROBE_CRASH, NULL, NULL), (int)0x8000040Du);
    after_death(&q, AEE_ENOSUCH);
}

static void exit_in_invoke(void) {
    struct kit_queue q = open_watched();
    statuses[FASTRPC_USER_PD_EXIT] = 0;
    EQUAL(kit_call(q.handle, PROBE_EXIT, NULL, NULL), (int)0x8000040Du);
    EQUAL(wait_for(&statuses[FASTRPC_USER_PD_EXIT], 1), 1);
    after_death(&q, AEE_ENOSUCH);
}

static unsigned long long count(const char *name) {
    unsigned long long value = 0;
    lib.npu_emu_query(CDSP, name, &value);
    return value;
}

static void until(const char *name, unsigned long long more_than) {
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && count(name) <= more_than; i++) usleep(5000);
    CHECK(count(name) > more_than);
}

// Once there were more than |data| invocations, when that is given; what waits has had some time to begin.
static void *kill_soon(void *data) {
    struct remote_rpc_process_clean_params p = {CDSP};
    for (unsigned i = 0; data && i < KIT_PATIENCE_US / 5000 && count("invokes") <= *(unsigned long long *)data; i++)
        usleep(5000);
    usleep(100000);
    lib.remote_session_control(FASTRPC_REMOTE_PROCESS_KILL, &p, sizeof p);
    return NULL;
}

static void killed_while_blocked(void) {
    struct kit_queue q = open_watched();
    pthread_t thread;
    uint32_t words[2];
    statuses[FASTRPC_USER_PD_FORCE_KILL] = 0;
    pthread_create(&thread, NULL, kill_soon, NULL);
    EQUAL(kit_receive(&q, words, DSPQUEUE_TIMEOUT_NONE), AEE_EINTERRUPTED);
    pthread_join(thread, NULL);
    EQUAL(wait_for(&statuses[FASTRPC_USER_PD_FORCE_KILL], 1), 1);
    after_death(&q, AEE_ENOSUCH);
}

// A write that waits for room in the queue of a process that no longer reads ends with the process.
static void killed_while_writing(void) {
    struct kit_queue q = open_watched();
    uint32_t words[2] = {PROBE_PACKET_ECHO, 0};
    pthread_t thread;
    int full = 0;
    kit_set("fault", "dsp:dspqueue_write@1=hang");
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    until("faults_met", 0); // it reads no other
    for (int i = 0; i < 100000 && !full; i++)
        full = lib.dspqueue_write_noblock(q.queue, 0, 0, NULL, sizeof words, (uint8_t *)words);
    EQUAL(full, AEE_EWOULDBLOCK);
    pthread_create(&thread, NULL, kill_soon, NULL);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), AEE_EINTERRUPTED);
    pthread_join(thread, NULL);
    kit_set("fault", "off");
    EQUAL(wait_for(&errors, 1), 1);
    EQUAL(lib.dspqueue_close(q.queue), 0);
    kit_close(q.handle);
    q = kit_queue_open(0, 0, false);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 7), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    EQUAL(words[1], 7);
    kit_queue_close(&q);
}

static void killed_in_invoke(void) {
    struct kit_queue q = open_watched();
    pthread_t thread;
    struct probe_in in = {.value = KIT_PATIENCE_US};
    unsigned long long before = count("invokes");
    pthread_create(&thread, NULL, kill_soon, &before);
    EQUAL(kit_call(q.handle, PROBE_SLEEP, &in, NULL), (int)0x8000040Du);
    pthread_join(thread, NULL);
    after_death(&q, AEE_ENOSUCH);
}

static void restart(void) {
    struct kit_queue q = open_watched();
    remote_handle64 other = kit_open(1);
    statuses[FASTRPC_DSP_SSR] = 0;
    kit_set("fault", "dsp3:invoke@1=restart");
    EQUAL(kit_call(q.handle, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
    kit_set("fault", "off");
    EQUAL(wait_for(&statuses[FASTRPC_DSP_SSR], 2), 2); // of both sessions
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && kit_call(other, PROBE_CLOSES, NULL, NULL) != AEE_ECONNRESET; i++)
        usleep(5000);
    EQUAL(kit_call(other, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET); // the whole DSP
    kit_close(other);
    after_death(&q, AEE_ECONNRESET);
}

// Death at the n-th queue read, a hang, and a mute program: what a host's time-outs must deal with.
static void faults_in_queue(void) {
    struct kit_queue q = open_watched();
    uint32_t words[2];
    kit_set("fault", "dsp:dspqueue_read@3=die");
    for (int i = 0; i < 2; i++) {
        EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
        EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    }
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), AEE_EINTERRUPTED);
    kit_set("fault", "off");
    after_death(&q, AEE_ENOSUCH);
    q = open_watched();
    kit_set("fault", "dsp:dspqueue_write@1=hang");
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    EQUAL(kit_receive(&q, words, 50000), AEE_EEXPIRED);
    until("faults_met", 0);
    kit_set("fault", "off");
    EQUAL(kit_receive(&q, words, 50000), AEE_EEXPIRED); // hung for good
    kill_soon(NULL);
    after_death(&q, AEE_ENOSUCH);
}

// What a device's watchdog does, whoever hangs: the DSP restarts, and the other session with it. What only waits, and
// what is slow but comes on, goes on.
static void watchdog(void) {
    static const char *const hangs[] = {"dsp3:dspqueue_read@1=hang", "dsp3:dspqueue_write@1=hang",
                                        "dsp3:invoke@1=hang"};
    kit_set("watchdog", "400");
    for (unsigned i = 0; i < 3; i++) {
        struct kit_queue q = open_watched();
        remote_handle64 other = kit_open(1);
        struct probe_in idle = {.value = 600000};
        statuses[FASTRPC_DSP_SSR] = 0;
        usleep(600000); // nothing in hand
        EQUAL(kit_call(q.handle, PROBE_CLOSES, NULL, NULL), 0);
        idle.flags = 1;
        EQUAL(kit_call(q.handle, PROBE_SLEEP, &idle, NULL), 0); // in steps
        kit_set("fault", hangs[i]);
        if (i < 2)
            EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
        else
            EQUAL(kit_call(q.handle, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
        EQUAL(wait_for(&statuses[FASTRPC_DSP_SSR], 2), 2);
        kit_set("fault", "off");
        EQUAL(kit_call(other, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
        kit_close(other);
        after_death(&q, AEE_ECONNRESET);
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
    struct kit_queue q = open_watched();
    starving = 1;
    pthread_create(&thread, NULL, starve, (void *)(intptr_t)count("pid"));
    int result = kit_call(q.handle, PROBE_BUSY, &in, NULL);
    starving = 0;
    pthread_join(thread, NULL);
    EQUAL(result, 0);
    in.value = KIT_PATIENCE_US;
    EQUAL(kit_call(q.handle, PROBE_BUSY, &in, NULL), AEE_ECONNRESET);
    after_death(&q, AEE_ECONNRESET);
    kit_set("watchdog", "0");
}

// Not dead, not slow: stopped. The host's time-outs see it, and its end helps.
static void frozen(void) {
    struct kit_queue q = open_watched();
    uint32_t words[2];
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 1), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    int pid = (int)count("pid");
    CHECK(!kill(pid, SIGSTOP));
    while (kit_state(pid) != 'T') usleep(1000);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 2), 0);
    EQUAL(kit_receive(&q, words, 50000), AEE_EEXPIRED);
    kill_soon(NULL);
    after_death(&q, AEE_ENOSUCH);
}

static void mapping_fails(void) {
    remote_handle64 h = kit_open(0);
    struct probe_in in = {.bytes = 4096};
    int fd;
    void *memory = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD_DELAYED, &fd), *second;
    in.fd = (uint32_t)fd;
    kit_set("fault", "dsp:HAP_mmap@2=code:1;dsp:map=code:1");
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, NULL), 0);
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, NULL), (int)0x80000465u);
    EQUAL(kit_call(h, PROBE_SUM_FD, &in, NULL), 0);
    second = lib.rpcmem_alloc2(25, 1, 4096);
    EQUAL(lib.fastrpc_mmap(CDSP, lib.rpcmem_to_fd(second), second, 0, 4096, FASTRPC_MAP_FD), AEE_EFAILED);
    kit_set("fault", "off");
    EQUAL(lib.fastrpc_mmap(CDSP, lib.rpcmem_to_fd(second), second, 0, 4096, FASTRPC_MAP_FD), 0);
    kit_buffer_free(CDSP, second);
    kit_buffer_free(CDSP, memory);
    kit_close(h);
}

// Mappings go with their process: after a restart the same buffer is mapped anew.
static void mappings_after_death(void) {
    remote_handle64 h = kit_open(0);
    struct probe_out out;
    int fd;
    uint8_t *memory = kit_buffer(CDSP, 4096, FASTRPC_MAP_FD, &fd);
    EQUAL(kit_call(h, PROBE_CRASH, NULL, NULL), (int)0x8000040Du);
    kit_close(h);
    h = kit_open(0);
    EQUAL(lib.fastrpc_mmap(CDSP, fd, memory, 0, 4096, FASTRPC_MAP_FD), 0);
    memory[3] = 8;
    EQUAL(kit_call(h, PROBE_SUM_GET, &(struct probe_in){.fd = (uint32_t)fd, .bytes = 4096}, &out), 0);
    EQUAL(out.value, 8);
    kit_buffer_free(CDSP, memory);
    kit_close(h);
}

const struct row kit_rows_death[] = {{"death: exception while a queue read waits", exception_in_queue},
                                     {"death: exception in an invocation", exception_in_invoke},
                                     {"death: error callbacks and closing", close_in_callback},
                                     {"death: exit of the program", exit_in_invoke},
                                     {"death: killed while a read without time-out waits", killed_while_blocked},
                                     {"death: killed while a write waits for room", killed_while_writing},
                                     {"death: killed during an invocation", killed_in_invoke},
                                     {"death: restart of the whole DSP", restart},
                                     {"death: faults at the n-th packet, hang", faults_in_queue},
                                     {"death: by the watchdog", watchdog},
                                     {"death: a starved process does not hang", starved},
                                     {"death: a frozen process", frozen},
                                     {"death: mapping failures", mapping_fails},
                                     {"death: mappings go with their process", mappings_after_death},
                                     {0}};
