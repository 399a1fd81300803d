// Who knows what of whom: vector clocks of all devices and the host, in memory that their processes share. A device's
// epoch grows when it hands something over: a line that it cleaned, a message. Reading such a line, or getting such a
// message, is to know all that was written before. So "two devices wrote one line" is found by order, not by luck.
//
// |known[a][b]| of a third party may be newer than what was really handed over: then less is found, never too much.
#include "strict.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define EPOCH 0xFFFFFFu
#define HOST  0u

static struct emu_clocks *clocks;

static uint32_t self(void) {
    return emu_block->effective_domain % EMU_AGENTS;
}

static bool later(uint32_t a, uint32_t b) {
    return ((a - b) & EPOCH) && ((a - b) & EPOCH) < EPOCH / 2;
}

static _Atomic uint32_t *known(uint32_t agent) {
    return &clocks->known[self()][agent];
}

static void raise(uint32_t agent, uint32_t epoch) {
    uint32_t now = atomic_load(known(agent));
    while (later(epoch, now) && !atomic_compare_exchange_weak(known(agent), &now, epoch & EPOCH)) continue;
}

// What |agent| knows of others; of itself only what it handed over, which is the caller's to say.
static void join(uint32_t agent) {
    for (uint32_t i = 0; i < EMU_AGENTS; i++)
        if (i != self() && i != agent) raise(i, atomic_load(&clocks->known[agent][i]));
}

int emu_strict_clocks(int fd) {
    void *memory = mmap(NULL, sizeof *clocks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) return -1;
    clocks = memory;
    emu_strict_release();
    join(HOST);
    return 0;
}

uint32_t emu_strict_now(void) {
    return self() << 24 | (atomic_load_explicit(known(self()), memory_order_relaxed) & EPOCH);
}

void emu_strict_release(void) {
    atomic_fetch_add(known(self()), 1);
}

void emu_strict_acquire(uint32_t moment) {
    uint32_t agent = moment >> 24;
    static __thread uint32_t last;
    if (agent == HOST || agent == self() || agent >= EMU_AGENTS || moment == last) return;
    raise(agent, moment); // may be known already, by way of the host, without what comes with it
    join(agent);
    last = moment;
}

bool emu_strict_unordered(uint32_t moment) {
    uint32_t agent = moment >> 24;
    if (agent == HOST || agent == self() || agent >= EMU_AGENTS) return false;
    return later(moment, atomic_load_explicit(known(agent), memory_order_relaxed));
}

// The host takes over what a device knows when it gets the answer (cdsprpc), and gives it with the next message.
void emu_strict_send(void) {
    if (clocks) emu_strict_release();
}

void emu_strict_receive(void) {
    if (clocks) join(HOST);
}

const char *emu_strict_agent(uint32_t moment, char out[32]) {
    uint32_t agent = moment >> 24;
    if (agent == HOST)
        snprintf(out, 32, "the host");
    else if (agent == self())
        snprintf(out, 32, "a transfer of this device");
    else
        snprintf(out, 32, "device %u:%u", agent % 8 - 3, agent / 8);
    return out;
}
