/* The system under the NPU program's map of buffers, for htp_map_test.c: it sees each mapping come and go, and says
 * what is wrong with it. */
#ifndef HTP_MAP_SYSTEM_H
#define HTP_MAP_SYSTEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "htp/platform/hap.h"
#include "htp/platform/qurt.h"
#include "wire/message.h"

enum { BUFFERS = 150, PAGE = 4096, LONG = 4096 }; /* |LONG|: batches, as the map has it */

typedef struct buffer {
    uint64_t bytes, last_use;
    uintptr_t address; /* 0 = not mapped */
    bool pinned;
    atomic_bool used; /* by the batch under way */
} buffer;

static struct {
    buffer all[BUFFERS];
    uint64_t live_bytes, window, mapped; /* mapped: ever */
    uint64_t now;
    uint64_t wanted; /* largest of the batch that is not there */
    uintptr_t next;
    unsigned live, slots;
    bool refused, racing; /* refused: the last mapping */
    bool keeps;           /* what is unmapped gives no room back */
    atomic_uint wrong;
    const char *what;
} s;

static void expect(bool fine, const char *what) {
    if (fine) return;
    s.what = what;
    atomic_fetch_add(&s.wrong, 1);
}

void *HAP_mmap2(void *addr, size_t bytes, int prot, int flags, int fd, long offset) {
    buffer *b = &s.all[fd];
    (void)addr, (void)prot, (void)flags, (void)offset;
    expect(!b->address, "mapped twice");
    s.refused = s.live == s.slots || (s.keeps && s.mapped + bytes > s.window);
    if (s.refused) return (void *)-1;
    s.live++;
    s.live_bytes += bytes;
    s.mapped += bytes;
    expect(s.live_bytes <= s.window, "more than the window");
    b->bytes = bytes;
    return (void *)(b->address = s.next += PAGE);
}

void *HAP_mmap(void *addr, int bytes, int prot, int flags, int fd, long offset) {
    return HAP_mmap2(addr, (size_t)bytes, prot, flags, fd, offset);
}

/* Whether |a| should go before |b|, of the same kind. */
static bool later(const buffer *a, const buffer *b) {
    bool old = s.now - a->last_use > LONG || s.now - b->last_use > LONG;
    return old ? a->last_use < b->last_use : a->last_use > b->last_use;
}

int HAP_munmap2(void *address, size_t bytes) {
    buffer *victim = NULL;
    for (buffer *b = s.all; b < s.all + BUFFERS; b++)
        if (b->address && b->address == (uintptr_t)address) victim = b;
    expect(victim && victim->bytes == bytes, "unmapped what was not mapped");
    if (!victim) return 1;
    expect(!victim->used, "unmapped what a batch uses");
    for (buffer *b = s.all; b < s.all + BUFFERS && !s.racing; b++) {
        if (!b->address || b->used || b == victim) continue;
        bool sooner = b->pinned != victim->pinned ? !b->pinned : later(b, victim);
        expect(!sooner, "another one is not needed for longer");
    }
    expect(s.racing || s.refused || s.live_bytes + s.wanted > s.window || s.live == 2 * NPU_WIRE_MAX_BUFFERS,
           "unmapped without need");
    s.live--;
    s.live_bytes -= bytes;
    victim->address = 0;
    return 0;
}

int HAP_munmap(void *address, int bytes) {
    return HAP_munmap2(address, (size_t)bytes);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
void qurt_mutex_init(qurt_mutex_t *m) {
    m->raw[0] = 0;
}
void qurt_mutex_destroy(qurt_mutex_t *m) {
    m->raw[0] = 0;
}
void qurt_mutex_lock(qurt_mutex_t *m) {
    (void)m;
    pthread_mutex_lock(&lock);
}
void qurt_mutex_unlock(qurt_mutex_t *m) {
    (void)m;
    pthread_mutex_unlock(&lock);
}
void qurt_cond_init(qurt_cond_t *c) {
    c->raw[0] = 0;
}
void qurt_cond_destroy(qurt_cond_t *c) {
    c->raw[0] = 0;
}
void qurt_cond_wait(qurt_cond_t *c, qurt_mutex_t *m) {
    (void)c, (void)m;
    pthread_cond_wait(&cond, &lock);
}
void qurt_cond_broadcast(qurt_cond_t *c) {
    (void)c;
    pthread_cond_broadcast(&cond);
}

#endif
