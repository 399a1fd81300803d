/* A thread that ends an NPU process whose calls don't come back; hexagon_watch.h says when. */
#include "target/hexagon/hexagon_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/status.h"
#include "wire/guard.h"

struct npu_hex_watch {
    const npu_hex_driver *driver;
    atomic_int domain;
    uint64_t limit_us, tick_us;
    unsigned depth;            /* begins without an end: the session's own thread */
    _Atomic uint64_t until_us; /* of what was begun, by the watch's clock; 0 = nothing */
    atomic_bool has_ended;
    char name[16];
    atomic_bool is_killing;
    pthread_t thread, killer;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stop; /* under the mutex */
    pthread_mutex_t clock_mutex;
    uint64_t clock_us, looked_us; /* under it: the watch's clock and the machine's at the thread's last look */
};

/* How often the thread looks: a call is ended at most an eighth of its time late, and begin and end, which a batch has
 * several of, need wake nobody. */
enum { TICKS = 8, TICK_LEAST_US = 100000, TICK_MOST_US = 2000000, WITHIN_LEAST_US = 1000000 };

/* Of a time in which the thread does not look, this process does not run either: two ticks are counted. */
static uint64_t read_clock(npu_hex_watch *g, bool looks) {
    pthread_mutex_lock(&g->clock_mutex);
    uint64_t now = npu_clock_us(), passed = now - g->looked_us;
    if (passed > 2 * g->tick_us && NPU_GUARD(DRIVER_STOPPED)) passed = 2 * g->tick_us;
    uint64_t clock = g->clock_us + passed;
    if (looks) g->clock_us = clock, g->looked_us = now;
    pthread_mutex_unlock(&g->clock_mutex);
    return clock;
}

uint64_t npu_hex_watch_clock_us(npu_hex_watch *g) {
    return read_clock(g, false);
}

/* Under the mutex. |stops|: not once the watch is to stop. */
static void wait_for_tick(npu_hex_watch *g, bool stops) {
    uint64_t at = npu_clock_us() + g->tick_us;
    struct timespec until = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};
    while (!(stops && g->stop) && !pthread_cond_timedwait(&g->changed, &g->mutex, &until)) {
    }
}

static void *kill_process(void *arg) {
    npu_hex_watch *g = arg;
    struct remote_rpc_process_clean_params kill = {atomic_load(&g->domain)};
    g->driver->remote_session_control(FASTRPC_REMOTE_PROCESS_KILL, &kill, sizeof kill);
    atomic_store(&g->is_killing, false);
    return NULL;
}

/* Neither the call came back, nor perhaps the one that was to end its process. */
static void say_stuck(const npu_hex_watch *g) {
    npu_error err;
    npu_fail(&err, NPU_TIMEOUT, "hexagon.timeout",
             "%s: a call of the vendor's library did not come back, %d s after its process was to be ended", g->name,
             NPU_HEX_CALL_LEAST_S);
    npu_target_stuck(&err);
}

/* The call that ends a process may hang as well as any other: it has a thread of its own, and this one the time. */
static void *watch(void *arg) {
    npu_hex_watch *g = arg;
    uint64_t ended = 0, stuck_us = 0; /* the deadline of the call whose process was ended already; when it is stuck */
    bool has_killer = false;
    pthread_mutex_lock(&g->mutex);
    while (!g->stop || atomic_load(&g->is_killing)) {
        uint64_t until = atomic_load(&g->until_us), now = read_clock(g, true);
        bool is_killing = atomic_load(&g->is_killing);
        if (until && until != ended && now >= until && !is_killing) {
            ended = until;
            stuck_us = now + NPU_HEX_CALL_LEAST_S * 1000000ull;
            atomic_store(&g->has_ended, true);
            if (has_killer) pthread_join(g->killer, NULL);
            atomic_store(&g->is_killing, true);
            has_killer = !pthread_create(&g->killer, NULL, kill_process, g);
            if (!has_killer) kill_process(g);
        } else if (stuck_us && now >= stuck_us && (until == ended || is_killing)) {
            stuck_us = 0;
            say_stuck(g);
        }
        wait_for_tick(g, !is_killing);
    }
    pthread_mutex_unlock(&g->mutex);
    if (has_killer) pthread_join(g->killer, NULL);
    return NULL;
}

static void destroy(npu_hex_watch *g) {
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->mutex);
    pthread_mutex_destroy(&g->clock_mutex);
    free(g);
}

npu_hex_watch *npu_hex_watch_create(const npu_hex_driver *driver, const char *name, int domain, uint64_t timeout_us) {
    npu_hex_watch *g = calloc(1, sizeof *g);
    pthread_condattr_t clock;
    if (!g) return NULL;
    uint64_t least = NPU_HEX_CALL_LEAST_S * 1000000ull;
    g->driver = driver;
    snprintf(g->name, sizeof g->name, "%s", name);
    atomic_init(&g->domain, domain);
    g->limit_us = timeout_us > least ? timeout_us : least;
    g->tick_us = timeout_us / TICKS;
    if (g->tick_us < TICK_LEAST_US) g->tick_us = TICK_LEAST_US;
    if (g->tick_us > TICK_MOST_US) g->tick_us = TICK_MOST_US;
    g->clock_us = g->looked_us = npu_clock_us();
    pthread_mutex_init(&g->mutex, NULL);
    pthread_mutex_init(&g->clock_mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&g->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (!pthread_create(&g->thread, NULL, watch, g)) return g;
    destroy(g);
    return NULL;
}

void npu_hex_watch_set_domain(npu_hex_watch *g, int domain) {
    atomic_store(&g->domain, domain);
}

void npu_hex_watch_begin_within(npu_hex_watch *g, uint64_t us) {
    if (us < WITHIN_LEAST_US) us = WITHIN_LEAST_US;
    if (g && !g->depth++) atomic_store(&g->until_us, read_clock(g, false) + us);
}

void npu_hex_watch_begin(npu_hex_watch *g) {
    if (g) npu_hex_watch_begin_within(g, g->limit_us);
}

void npu_hex_watch_end(npu_hex_watch *g) {
    if (g && !--g->depth) atomic_store(&g->until_us, 0);
}

double npu_hex_watch_limit_s(const npu_hex_watch *g) {
    return (double)g->limit_us / 1e6;
}

bool npu_hex_watch_has_ended(const npu_hex_watch *g) {
    return g && atomic_load(&g->has_ended);
}

void npu_hex_watch_free(npu_hex_watch *g) {
    if (!g) return;
    pthread_mutex_lock(&g->mutex);
    g->stop = true;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
    pthread_join(g->thread, NULL);
    destroy(g);
}
