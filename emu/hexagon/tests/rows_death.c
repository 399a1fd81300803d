// Rows about the death of the NPU process and recovery from it.
#include "watched.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static void exception_in_queue(void) {
    struct kit_queue q = watched_open();
    watched_statuses[FASTRPC_USER_PD_EXCEPTION] = 0;
    EQUAL(kit_send(&q, PROBE_PACKET_CRASH, 0), 0);
    watched_ended(&q, AEE_ENOSUCH);
    EQUAL(watched_wait(&watched_statuses[FASTRPC_USER_PD_EXCEPTION], 1), 1);
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
            EQUAL(watched_wait(&begun, 1), 1);
            EQUAL(lib.dspqueue_close(queue), 0);
            EQUAL(ended, 1);
        }
        EQUAL(watched_wait(&ended, 1), 1);
        kit_close(h);
    }
}

static void exception_in_invoke(void) {
    struct kit_queue q = watched_open();
    EQUAL(kit_call(q.handle, PROBE_CRASH, NULL, NULL), (int)0x8000040Du);
    watched_ended(&q, AEE_ENOSUCH);
}

static void exit_in_invoke(void) {
    struct kit_queue q = watched_open();
    watched_statuses[FASTRPC_USER_PD_EXIT] = 0;
    EQUAL(kit_call(q.handle, PROBE_EXIT, NULL, NULL), (int)0x8000040Du);
    EQUAL(watched_wait(&watched_statuses[FASTRPC_USER_PD_EXIT], 1), 1);
    watched_ended(&q, AEE_ENOSUCH);
}

static void killed_while_blocked(void) {
    struct kit_queue q = watched_open();
    pthread_t thread;
    uint32_t words[2];
    watched_statuses[FASTRPC_USER_PD_FORCE_KILL] = 0;
    pthread_create(&thread, NULL, watched_killer, NULL);
    EQUAL(kit_receive(&q, words, DSPQUEUE_TIMEOUT_NONE), AEE_EINTERRUPTED);
    pthread_join(thread, NULL);
    EQUAL(watched_wait(&watched_statuses[FASTRPC_USER_PD_FORCE_KILL], 1), 1);
    watched_ended(&q, AEE_ENOSUCH);
}

// A write that waits for room in the queue of a process that no longer reads ends with the process.
static void killed_while_writing(void) {
    struct kit_queue q = watched_open();
    uint32_t words[2] = {PROBE_PACKET_ECHO, 0};
    pthread_t thread;
    int full = 0;
    kit_set("fault", "dsp:dspqueue_write@1=hang");
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    watched_until("faults_met", 0); // it reads no other
    for (int i = 0; i < 100000 && !full; i++)
        full = lib.dspqueue_write_noblock(q.queue, 0, 0, NULL, sizeof words, (uint8_t *)words);
    EQUAL(full, AEE_EWOULDBLOCK);
    pthread_create(&thread, NULL, watched_killer, NULL);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), AEE_EINTERRUPTED);
    pthread_join(thread, NULL);
    kit_set("fault", "off");
    EQUAL(watched_wait(&watched_errors, 1), 1);
    EQUAL(lib.dspqueue_close(q.queue), 0);
    kit_close(q.handle);
    q = kit_queue_open(0, 0, false);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 7), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    EQUAL(words[1], 7);
    kit_queue_close(&q);
}

static void killed_in_invoke(void) {
    struct kit_queue q = watched_open();
    pthread_t thread;
    struct probe_in in = {.value = KIT_PATIENCE_US};
    unsigned long long before = watched_count("invokes");
    pthread_create(&thread, NULL, watched_killer, &before);
    EQUAL(kit_call(q.handle, PROBE_SLEEP, &in, NULL), (int)0x8000040Du);
    pthread_join(thread, NULL);
    watched_ended(&q, AEE_ENOSUCH);
}

static void restart(void) {
    struct kit_queue q = watched_open();
    remote_handle64 other = kit_open(1);
    watched_statuses[FASTRPC_DSP_SSR] = 0;
    kit_set("fault", "dsp3:invoke@1=restart");
    EQUAL(kit_call(q.handle, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET);
    kit_set("fault", "off");
    EQUAL(watched_wait(&watched_statuses[FASTRPC_DSP_SSR], 2), 2); // of both sessions
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && kit_call(other, PROBE_CLOSES, NULL, NULL) != AEE_ECONNRESET; i++)
        usleep(5000);
    EQUAL(kit_call(other, PROBE_CLOSES, NULL, NULL), AEE_ECONNRESET); // the whole DSP
    kit_close(other);
    watched_ended(&q, AEE_ECONNRESET);
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
                                     {"death: mapping failures", mapping_fails},
                                     {"death: mappings go with their process", mappings_after_death},
                                     {0}};
