// Rows about the packet queue.
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void round_trips(void) {
    struct kit_queue q = kit_queue_open(0, 0, false);
    uint32_t words[2];
    for (uint32_t i = 0; i < 300; i++) EQUAL(kit_send(&q, PROBE_PACKET_ECHO, i), 0);
    for (uint32_t i = 0; i < 300; i++) {
        EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
        EQUAL(words[1], i); // order kept
    }
    kit_queue_close(&q);
}

static void buffers(void) {
    struct kit_queue q = kit_queue_open(0, 0, false);
    struct dspqueue_buffer b[2] = {{0}}, got[64];
    uint32_t words[2] = {PROBE_PACKET_SUM, 0}, flags, count, length;
    int fd;
    uint8_t *memory = kit_buffer(CDSP, 8192, FASTRPC_MAP_FD, &fd);
    memset(memory, 1, 8192);
    b[0] = (struct dspqueue_buffer){.fd = (uint32_t)fd, .offset = 100, .size = 50, .flags = DSPQUEUE_BUFFER_FLAG_REF};
    EQUAL(lib.dspqueue_write(q.queue, 0, 1, b, sizeof words, (uint8_t *)words, KIT_PATIENCE_US), 0);
    EQUAL(lib.dspqueue_peek(q.queue, &flags, &count, &length, KIT_PATIENCE_US), 0);
    EQUAL(flags & 3, 3);
    EQUAL(count, 1);
    EQUAL(length, sizeof words);
    // Too little room: the packet stays.
    EQUAL(lib.dspqueue_read(q.queue, &flags, 0, &count, got, sizeof words, &length, (uint8_t *)words, 1000),
          AEE_EBADPARM);
    EQUAL(lib.dspqueue_read(q.queue, &flags, 1, &count, got, 4, &length, (uint8_t *)words, 1000), AEE_EBADPARM);
    // Still referenced.
    EQUAL(lib.fastrpc_munmap(CDSP, fd, memory, 8192), AEE_EBADPARM);
    EQUAL(lib.dspqueue_read(q.queue, &flags, 64, &count, got, sizeof words, &length, (uint8_t *)words, 1000), 0);
    EQUAL(words[1], 50);
    CHECK(got[0].ptr == memory + 100); // the receiver's own address
    // Size 0 means the rest of the mapping.
    b[0] = (struct dspqueue_buffer){.fd = (uint32_t)fd};
    words[0] = PROBE_PACKET_SUM;
    EQUAL(lib.dspqueue_write(q.queue, 0, 1, b, sizeof words, (uint8_t *)words, KIT_PATIENCE_US), 0);
    EQUAL(lib.dspqueue_read(q.queue, &flags, 64, &count, got, sizeof words, &length, (uint8_t *)words, KIT_PATIENCE_US),
          0);
    EQUAL(words[1], 8192);
    EQUAL(got[0].size, 8192);
    b[0] = (struct dspqueue_buffer){.fd = (uint32_t)fd + 1000};
    EQUAL(lib.dspqueue_write(q.queue, 0, 1, b, 8, (uint8_t *)words, 0), AEE_ENOSUCHMAP);
    b[0] = (struct dspqueue_buffer){.fd = (uint32_t)fd, .offset = 8000, .size = 193};
    EQUAL(lib.dspqueue_write(q.queue, 0, 1, b, 8, (uint8_t *)words, 0), AEE_EBADPARM);
    b[0] = (struct dspqueue_buffer){.fd = (uint32_t)fd, .flags = DSPQUEUE_BUFFER_FLAG_REF | DSPQUEUE_BUFFER_FLAG_DEREF};
    EQUAL(lib.dspqueue_write(q.queue, 0, 1, b, 8, (uint8_t *)words, 0), AEE_EBADPARM);
    b[0].flags = DSPQUEUE_BUFFER_FLAG_DEREF; // without a REF
    EQUAL(lib.dspqueue_write(q.queue, 0, 1, b, 8, (uint8_t *)words, 0), AEE_EBADPARM);
    kit_buffer_free(CDSP, memory);
    kit_queue_close(&q);
}

static void times_out(void) {
    struct kit_queue q = kit_queue_open(0, 0, false);
    uint32_t words[2], flags, count, length;
    EQUAL(kit_receive(&q, words, 0), AEE_EEXPIRED);
    EQUAL(kit_receive(&q, words, 20000), AEE_EEXPIRED);
    EQUAL(lib.dspqueue_read_noblock(q.queue, &flags, 0, &count, NULL, 8, &length, (uint8_t *)words), AEE_EWOULDBLOCK);
    EQUAL(lib.dspqueue_peek_noblock(q.queue, &flags, &count, &length), AEE_EWOULDBLOCK);
    EQUAL(kit_send(&q, PROBE_PACKET_HOLD, 0), 0);
    EQUAL(kit_receive(&q, words, 20000), AEE_EEXPIRED); // slow, not lost
    EQUAL(kit_call(q.handle, PROBE_RELEASE, NULL, NULL), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    kit_queue_close(&q);
}

static void full(void) {
    remote_handle64 h = kit_open(0);
    dspqueue_t queue;
    uint8_t message[1024] = {0};
    uint64_t value;
    int n = 0, result;
    EQUAL(lib.dspqueue_create(CDSP, 0, 4096, 4096, NULL, NULL, NULL, &queue), 0);
    while (!(result = lib.dspqueue_write_noblock(queue, 0, 0, NULL, sizeof message, message))) n++;
    EQUAL(result, AEE_EWOULDBLOCK);
    EQUAL(n, 3);
    EQUAL(lib.dspqueue_write(queue, 0, 0, NULL, sizeof message, message, 10000), AEE_EEXPIRED);
    EQUAL(lib.dspqueue_get_stat(queue, DSPQUEUE_STAT_WRITE_QUEUE_PACKETS, &value), 0);
    EQUAL(value, 3);
    EQUAL(lib.dspqueue_close(queue), 0);
    kit_close(h);
}

static void *release_soon(void *handle) {
    usleep(50000);
    return (void *)(intptr_t)kit_call(*(remote_handle64 *)handle, PROBE_RELEASE, NULL, NULL);
}

// A blocked write goes on when the other side reads, not before.
static void waits_for_room(void) {
    struct kit_queue q = kit_queue_open(4096, 65536, false);
    pthread_t thread;
    void *released;
    uint32_t words[2] = {PROBE_PACKET_ECHO, 0}, n = 2;
    int result;
    EQUAL(kit_send(&q, PROBE_PACKET_HOLD, 0), 0);
    for (uint64_t left = 1; left;) { // until that is in hand
        usleep(1000);
        EQUAL(lib.dspqueue_get_stat(q.queue, DSPQUEUE_STAT_WRITE_QUEUE_PACKETS, &left), 0);
    }
    while (!(result = lib.dspqueue_write_noblock(q.queue, 0, 0, NULL, sizeof words, (uint8_t *)words))) n++;
    EQUAL(result, AEE_EWOULDBLOCK);
    EQUAL(lib.dspqueue_write(q.queue, 0, 0, NULL, sizeof words, (uint8_t *)words, 20000), AEE_EEXPIRED);
    pthread_create(&thread, NULL, release_soon, &q.handle);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    pthread_join(thread, &released);
    EQUAL((intptr_t)released, 0);
    for (uint32_t i = 0; i < n; i++) EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    EQUAL(kit_receive(&q, words, 0), AEE_EEXPIRED);
    kit_queue_close(&q);
}

// What fits into the one need not fit into the other: the program can't write such an answer, and goes on.
static void own_sizes(void) {
    static uint8_t message[3000], back[3000];
    uint32_t flags, count, length, words[2];
    for (int i = 0; i < 2; i++) {
        struct kit_queue q = kit_queue_open(i ? 2048 : 8192, i ? 8192 : 2048, false);
        EQUAL(lib.dspqueue_write(q.queue, 0, 0, NULL, 3000, message, KIT_PATIENCE_US), i ? AEE_EBADPARM : 0);
        EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 9), 0);
        EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
        EQUAL(words[1], 9); // nothing came before
        EQUAL(lib.dspqueue_read(q.queue, &flags, 0, &count, NULL, sizeof back, &length, back, 0), AEE_EEXPIRED);
        kit_queue_close(&q);
    }
}

// Limits of one packet, and every fill of a small ring: packets of all sizes through many turns.
static void sizes(void) {
    struct kit_queue q = kit_queue_open(4096, 4096, false);
    static uint8_t message[65537], back[65537];
    uint32_t flags, count, length;
    EQUAL(lib.dspqueue_write(q.queue, 0, 0, NULL, 4096, message, 0), AEE_EBADPARM);
    EQUAL(lib.dspqueue_write(q.queue, 0, 0, NULL, 65537, message, 0), AEE_EBADPARM);
    EQUAL(lib.dspqueue_write(q.queue, 0, 65, (struct dspqueue_buffer *)(void *)message, 8, message, 0), AEE_EBADPARM);
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t bytes = 8 + i * 37 % 4073;
        for (uint32_t j = 0; j < bytes; j++) message[j] = (uint8_t)(i + j);
        memset(message, 0, 8);
        EQUAL(lib.dspqueue_write(q.queue, 0, 0, NULL, bytes, message, KIT_PATIENCE_US), 0);
        EQUAL(lib.dspqueue_read(q.queue, &flags, 0, &count, NULL, sizeof back, &length, back, KIT_PATIENCE_US), 0);
        EQUAL(length, bytes);
        CHECK(!memcmp(message, back, bytes));
    }
    kit_queue_close(&q);
}

static void create_errors(void) {
    remote_handle64 h = kit_open(0);
    dspqueue_t queue[65];
    int n = 0, result;
    EQUAL(lib.dspqueue_create(CDSP, 1, 0, 0, NULL, NULL, NULL, queue), AEE_EBADPARM);
    EQUAL(lib.dspqueue_create(CDSP, 0, (16 << 20) + 8, 0, NULL, NULL, NULL, queue), AEE_EBADPARM);
    EQUAL(lib.dspqueue_create(1, 0, 0, 0, NULL, NULL, NULL, queue), AEE_EUNSUPPORTED);
    while (n < 65 && !(result = lib.dspqueue_create(CDSP, 0, 1024, 1024, NULL, NULL, NULL, &queue[n]))) n++;
    EQUAL(n, 64);
    while (n) EQUAL(lib.dspqueue_close(queue[--n]), 0);
    kit_close(h);
}

static void import_rules(void) {
    struct kit_queue q = kit_queue_open(0, 0, false);
    struct probe_in in = {.value = q.id};
    EQUAL(kit_call(q.handle, PROBE_IMPORT, &in, NULL), (int)0x80000420u); // already imported
    in.value = 12345;
    EQUAL(kit_call(q.handle, PROBE_IMPORT, &in, NULL), (int)0x8000040Eu);
    EQUAL(lib.dspqueue_close(q.queue), AEE_EBADPARM); // the DSP must close first
    kit_queue_close(&q);
    // Newer DSP images refuse an import without a callback.
    kit_set("import_needs_callback", "1");
    q.handle = kit_open(0);
    EQUAL(lib.dspqueue_create(CDSP, 0, 0, 0, NULL, NULL, NULL, &q.queue), 0);
    lib.dspqueue_export(q.queue, &in.value);
    EQUAL(kit_call(q.handle, PROBE_IMPORT, &in, NULL), (int)0x8000040Eu);
    EQUAL(lib.dspqueue_close(q.queue), 0);
    kit_close(q.handle);
    q = kit_queue_open(0, 0, true);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 5), 0);
    uint32_t words[2];
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
    EQUAL(words[1], 5);
    kit_queue_close(&q);
    kit_set("import_needs_callback", "0");
}

static atomic_int called;
static _Atomic(dspqueue_t) called_queue;

static void on_packet(dspqueue_t queue, AEEResult error, void *context) {
    uint32_t words[2], flags, count, length;
    (void)context;
    if (error) return;
    called_queue = queue;
    while (!lib.dspqueue_read_noblock(queue, &flags, 0, &count, NULL, 8, &length, (uint8_t *)words)) called++;
}

static void packet_callback(void) {
    struct kit_queue q = {.handle = kit_open(0)};
    struct probe_in in = {0};
    uint32_t words[2];
    called = 0;
    EQUAL(lib.dspqueue_create(CDSP, 0, 0, 0, on_packet, NULL, NULL, &q.queue), 0);
    lib.dspqueue_export(q.queue, &in.value);
    EQUAL(kit_call(q.handle, PROBE_QUEUE, &in, NULL), 0);
    for (int i = 0; i < 50; i++) EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && called < 50; i++) usleep(5000);
    EQUAL(called, 50);
    CHECK(called_queue == q.queue);
    CHECK(kit_receive(&q, words, 1000)); // blocking reads are refused beside a callback
    kit_queue_close(&q);
}

static void early_wakeup(void) {
    struct kit_queue q = kit_queue_open(0, 0, false);
    uint32_t words[2];
    EQUAL(lib.dspqueue_write_early_wakeup_noblock(q.queue, 500, 0), 0);
    EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 3), 0);
    EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0); // only the real packet is answered
    EQUAL(words[1], 3);
    EQUAL(kit_receive(&q, words, 10000), AEE_EEXPIRED);
    kit_queue_close(&q);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void latency(void) {
    struct kit_queue q = kit_queue_open(0, 0, false);
    static double us[500];
    uint32_t words[2];
    for (int i = 0; i < 500; i++) {
        us[i] = now_us();
        EQUAL(kit_send(&q, PROBE_PACKET_ECHO, 0), 0);
        EQUAL(kit_receive(&q, words, KIT_PATIENCE_US), 0);
        us[i] = now_us() - us[i];
    }
    qsort(us, 500, sizeof *us, by_value);
    printf("  queue round trip: best %.1f us, median %.1f us, 90%% %.1f us\n", us[0], us[250], us[450]);
    CHECK(us[0] < 20000); // the best, as other tests may be running: a sleep in the path would show
    kit_queue_close(&q);
}

const struct row kit_rows_queue[] = {{"queue: order", round_trips},
                                     {"queue: buffers, addresses, references", buffers},
                                     {"queue: time-outs", times_out},
                                     {"queue: full", full},
                                     {"queue: a write waits for room", waits_for_room},
                                     {"queue: each direction has its own size", own_sizes},
                                     {"queue: sizes", sizes},
                                     {"queue: creation", create_errors},
                                     {"queue: import rules and close order", import_rules},
                                     {"queue: packet callback of the host", packet_callback},
                                     {"queue: early wake-up", early_wakeup},
                                     {"queue: latency", latency},
                                     {0}};
