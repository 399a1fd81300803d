/* A thread that ends an NPU process whose calls don't come back; hexagon_guard.h says when. */
#include "target/hexagon/hexagon_guard.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct npu_hex_guard {
    const npu_hex_driver *driver;
    int domain;
    uint64_t limit_us;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned depth;        /* begins without an end; under the mutex, as all below */
    struct timespec until; /* while depth is not 0; CLOCK_MONOTONIC */
    bool has_ended, stop;
};

/* Waits for what was begun; false when it took too long. Under the mutex. */
static bool watch(npu_hex_guard *g) {
    while (g->depth && !g->stop)
        if (pthread_cond_timedwait(&g->changed, &g->mutex, &g->until)) return !g->depth;
    return true;
}

static void *guard(void *arg) {
    npu_hex_guard *g = arg;
    pthread_mutex_lock(&g->mutex);
    while (!g->stop) {
        if (!g->depth) {
            pthread_cond_wait(&g->changed, &g->mutex);
            continue;
        }
        if (watch(g)) continue;
        struct remote_rpc_process_clean_params kill = {g->domain};
        g->has_ended = true;
        pthread_mutex_unlock(&g->mutex);
        g->driver->remote_session_control(FASTRPC_REMOTE_PROCESS_KILL, &kill, sizeof kill);
        pthread_mutex_lock(&g->mutex);
        while (g->depth && !g->stop) pthread_cond_wait(&g->changed, &g->mutex);
    }
    pthread_mutex_unlock(&g->mutex);
    return NULL;
}

npu_hex_guard *npu_hex_guard_create(const npu_hex_driver *driver, int domain, uint64_t timeout_us) {
    npu_hex_guard *g = calloc(1, sizeof *g);
    pthread_condattr_t clock;
    if (!g) return NULL;
    uint64_t least = NPU_HEX_CALL_LEAST_S * 1000000ull;
    *g = (npu_hex_guard){.driver = driver, .domain = domain, .limit_us = timeout_us > least ? timeout_us : least};
    pthread_mutex_init(&g->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&g->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (!pthread_create(&g->thread, NULL, guard, g)) return g;
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->mutex);
    free(g);
    return NULL;
}

void npu_hex_guard_begin(npu_hex_guard *g) {
    if (!g) return;
    pthread_mutex_lock(&g->mutex);
    if (!g->depth++) {
        clock_gettime(CLOCK_MONOTONIC, &g->until);
        g->until.tv_sec += (time_t)(g->limit_us / 1000000);
        pthread_cond_signal(&g->changed);
    }
    pthread_mutex_unlock(&g->mutex);
}

void npu_hex_guard_end(npu_hex_guard *g) {
    if (!g) return;
    pthread_mutex_lock(&g->mutex);
    if (!--g->depth) pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

double npu_hex_guard_limit_s(const npu_hex_guard *g) {
    return (double)g->limit_us / 1e6;
}

bool npu_hex_guard_has_ended(npu_hex_guard *g) {
    if (!g) return false;
    pthread_mutex_lock(&g->mutex);
    bool ended = g->has_ended;
    pthread_mutex_unlock(&g->mutex);
    return ended;
}

void npu_hex_guard_free(npu_hex_guard *g) {
    if (!g) return;
    pthread_mutex_lock(&g->mutex);
    g->stop = true;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
    pthread_join(g->thread, NULL);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->mutex);
    free(g);
}
