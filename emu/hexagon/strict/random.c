// Seeded chance: a generator for each thread, from the setting "seed", the device and the thread's number.
#include "strict.h"

#include <sched.h>
#include <time.h>

#define MOST_PAUSE_NS 60000u

static __thread uint64_t state;
static _Atomic uint32_t threads;

static uint64_t next(void) {
    if (!state) {
        uint64_t thread = atomic_fetch_add(&threads, 1) + 1;
        state = (emu_block->seed + 1) * 0x9E3779B97F4A7C15u ^ thread << 40 ^ emu_block->effective_domain;
        if (!state) state = 1;
        for (int i = 0; i < 4; i++) next();
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

uint32_t emu_strict_random(uint32_t n) {
    return (uint32_t)((next() >> 32) * n >> 32);
}

bool emu_strict_wakes(void) {
    return emu_block->strict.preempt && !emu_strict_random(8);
}

// Atomics are many, of spinning loops above all: a tenth of the chance.
void emu_strict_step(enum emu_step step) {
    uint32_t chance = emu_block->strict.preempt;
    if (!chance || emu_strict_random(step == EMU_STEP_ATOMIC ? 10000 : 1000) >= chance) return;
    if (emu_strict_random(2)) {
        sched_yield();
    } else {
        struct timespec t = {0, (long)emu_strict_random(MOST_PAUSE_NS)};
        nanosleep(&t, NULL);
    }
}
