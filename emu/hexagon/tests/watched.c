// See watched.h.
#include "watched.h"

#include <pthread.h>
#include <unistd.h>

atomic_int watched_errors, watched_statuses[8];
static atomic_int error_code;
static pthread_t error_thread;

static void on_error(dspqueue_t queue, AEEResult error, void *context) {
    (void)queue, (void)context;
    error_thread = pthread_self();
    error_code = error;
    watched_errors++;
}

static int on_status(void *context, int domain, int session, remote_rpc_status_flags_t status) {
    (void)context, (void)domain, (void)session;
    if (status < 8) watched_statuses[status]++;
    return 0;
}

int watched_wait(atomic_int *value, int expected) {
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && *value != expected; i++) usleep(5000);
    return *value;
}

struct kit_queue watched_open(void) {
    struct kit_queue q = {.handle = kit_open(0)};
    struct probe_in in = {0};
    remote_rpc_notif_register_t r = {NULL, CDSP, on_status};
    static int registered;
    if (!registered++) EQUAL(lib.remote_session_control(FASTRPC_REGISTER_STATUS_NOTIFICATIONS, &r, sizeof r), 0);
    watched_errors = error_code = 0;
    EQUAL(lib.dspqueue_create(CDSP, 0, 0, 0, NULL, on_error, NULL, &q.queue), 0);
    lib.dspqueue_export(q.queue, &in.value);
    EQUAL(kit_call(q.handle, PROBE_QUEUE, &in, NULL), 0);
    return q;
}

void watched_ended(struct kit_queue *q, int code) {
    uint32_t words[2];
    remote_handle64 other;
    EQUAL(kit_receive(q, words, KIT_PATIENCE_US), AEE_EINTERRUPTED);
    EQUAL(watched_wait(&watched_errors, 1), 1);
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

unsigned long long watched_count(const char *name) {
    unsigned long long value = 0;
    lib.npu_emu_query(CDSP, name, &value);
    return value;
}

void watched_until(const char *name, unsigned long long more_than) {
    for (unsigned i = 0; i < KIT_PATIENCE_US / 5000 && watched_count(name) <= more_than; i++) usleep(5000);
    CHECK(watched_count(name) > more_than);
}

void watched_kill(void) {
    struct remote_rpc_process_clean_params p = {CDSP};
    usleep(100000);
    lib.remote_session_control(FASTRPC_REMOTE_PROCESS_KILL, &p, sizeof p);
}

void *watched_killer(void *data) {
    for (unsigned i = 0; data && i < KIT_PATIENCE_US / 5000 && watched_count("invokes") <= *(unsigned long long *)data;
         i++)
        usleep(5000);
    watched_kill();
    return NULL;
}
