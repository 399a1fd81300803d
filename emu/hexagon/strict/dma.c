// Transfers under strict mode: each thread's are kept, in order, from the link of their descriptor until the program
// saw their end. They move at a seeded time in between; until then the target is poison.
#include "strict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST     2048 // transfers of a thread that it has not seen the end of
#define POISON   0xFF // not a number in every float format
#define ORDER    0x40000000u
#define PATIENCE 6 // looks after which something moves for certain

struct transfer {
    uint32_t *descriptor;
    struct emu_move move;
    bool done;
};

struct queue {
    uint32_t first; // the oldest whose end was not seen
    _Atomic uint32_t count;
    uint32_t pushes, pops, looks;
    struct transfer transfers[MOST];
    struct queue *next;
};

static __thread struct queue *mine;
static struct {
    pthread_mutex_t lock;
    struct queue *queues; // of all threads that ever had one
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct queue *own(void) {
    if (!mine && (mine = calloc(1, sizeof *mine))) {
        pthread_mutex_lock(&all.lock);
        mine->next = all.queues;
        all.queues = mine;
        pthread_mutex_unlock(&all.lock);
    }
    return mine;
}

static struct transfer *at(struct queue *q, uint32_t i) {
    return &q->transfers[(q->first + i) % MOST];
}

void emu_strict_dma_row(uint64_t dst, uint64_t src, uint64_t bytes) {
    bool check = emu_strict_cache();
    const uint8_t *from = emu_strict_memory(src, bytes, EMU_READ, check);
    memmove(emu_strict_memory(dst, bytes, EMU_WRITE, check), from, (size_t)bytes);
}

static void fly(const struct emu_move *m, int by) {
    for (uint64_t row = 0; row < m->rows; row++) {
        emu_strict_vtcm_flight(m->src + row * m->src_stride, m->row_bytes, false, by);
        emu_strict_vtcm_flight(m->dst + row * m->dst_stride, m->row_bytes, true, by);
    }
}

static void poison(const struct emu_move *m) {
    for (uint64_t row = 0; row < m->rows; row++) {
        uint64_t to = m->dst + row * m->dst_stride;
        if (!(to >> 32)) memset(emu_strict_memory(to, m->row_bytes, EMU_WRITE, false), POISON, (size_t)m->row_bytes);
    }
}

static void check_rows(const struct emu_move *m) {
    for (uint64_t row = 0; emu_strict_vtcm() && row < m->rows; row++) {
        emu_strict_vtcm_check_row(m->src + row * m->src_stride, m->row_bytes, false);
        emu_strict_vtcm_check_row(m->dst + row * m->dst_stride, m->row_bytes, true);
    }
}

static void check_overlap(const struct emu_move *m) {
    for (uint64_t row = 0; row < m->rows; row++) {
        bool target = emu_strict_vtcm_busy(m->dst + row * m->dst_stride, m->row_bytes, true);
        if (!target && !emu_strict_vtcm_busy(m->src + row * m->src_stride, m->row_bytes, false)) continue;
        emu_strict_report("dma_overlap",
                          "a transfer is linked whose %s, address %#llx, an earlier one that was not "
                          "waited for still has; the engine orders only descriptors with the order bit",
                          target ? "target" : "source",
                          (unsigned long long)(target ? m->dst + row * m->dst_stride : m->src + row * m->src_stride));
        return;
    }
}

void emu_strict_dma_linked(uint32_t *descriptor, const struct emu_move *m) {
    struct queue *q = own();
    if (!q) return;
    emu_strict_step(EMU_STEP_DMA);
    for (uint32_t i = 0; i < q->count; i++)
        if (at(q, i)->descriptor == descriptor || q->count == MOST) {
            emu_strict_report("dma_depth",
                              "descriptor %p is linked anew before the program saw the end of its last "
                              "transfer: %u are under way",
                              (void *)descriptor, q->count);
            return;
        }
    if (!(descriptor[1] & ORDER)) check_overlap(m);
    check_rows(m);
    poison(m);
    fly(m, 1);
    *at(q, q->count) = (struct transfer){descriptor, *m, false};
    q->count++;
}

void emu_strict_dma_done(uint32_t *descriptor) {
    struct queue *q = own();
    for (uint32_t i = 0; q && i < q->count; i++)
        if (at(q, i)->descriptor == descriptor) at(q, i)->done = true;
}

static void drop_first(struct queue *q) {
    fly(&at(q, 0)->move, -1);
    q->first = (q->first + 1) % MOST;
    q->count--;
}

void emu_strict_dma_seen(const void *address) {
    struct queue *q = mine;
    uint32_t i = 0;
    if (!q || !q->count) return;
    while (i < q->count && &at(q, i)->descriptor[1] != address) i++;
    if (i == q->count || !at(q, i)->done) return;
    if (i)
        emu_strict_report("dma_order", "the end of transfer %u of %u under way is taken before the first's", i + 1,
                          q->count);
    for (; i != UINT32_MAX; i--) drop_first(q);
}

void emu_strict_dma_stopped(void) {
    while (mine && mine->count) drop_first(mine);
}

void emu_strict_dma_waited(void) {
    while (mine && mine->count && at(mine, 0)->done) drop_first(mine);
}

// How many of the waiting ones run at this look of the thread.
unsigned emu_strict_dma_quantum(void) {
    struct queue *q = own();
    emu_strict_step(EMU_STEP_DMA);
    if (!q || ++q->looks >= PATIENCE) {
        if (q) q->looks = 0;
        return 1 + emu_strict_random(3);
    }
    return emu_strict_random(4) ? emu_strict_random(3) : MOST;
}

void emu_strict_dma_pushed(uint32_t depth) {
    struct queue *q = own();
    if (q && ++q->pushes - q->pops > depth)
        emu_strict_report("dma_depth", "%u transfers pushed and not popped, the queue is %u deep", q->pushes - q->pops,
                          depth);
}

void emu_strict_dma_popped(void) {
    struct queue *q = own();
    if (q && q->pops++ == q->pushes) emu_strict_report("dma_pop", "a pop without a push");
}

void emu_strict_dma_drained(const char *when) {
    pthread_mutex_lock(&all.lock);
    for (struct queue *q = all.queues; q; q = q->next) {
        if (q->count)
            emu_strict_report("dma_left", "%s, %u transfers had been linked whose end the program did not see", when,
                              q->count);
        if (q->pushes != q->pops) emu_strict_report("dma_left", "%s, %u pushes had no pop", when, q->pushes - q->pops);
    }
    pthread_mutex_unlock(&all.lock);
}
