// The device's watchdog (setting "watchdog"). A process that has something in hand and comes no step further for so
// long takes its DSP with it, as a subsystem that is restarted does. In hand are an invocation, until it returns, and a
// packet that a thread has read, until that thread comes back to a queue. A step is one of these, an event of the
// program (npu_emu_event), a look at another device's line. Looks without a step are counted, not time: a process that
// a busy machine does not let run is not one that hangs.
#include "emu_dsp.h"

#include <pthread.h>
#include <unistd.h>

#define LOOKS 8

static _Atomic uint32_t in_hand, steps;
static __thread bool packet; // this thread has one in hand

void emu_watchdog_step(void) {
    atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
}

void emu_watchdog_packet(bool taken) {
    if (taken == packet) return;
    packet = taken;
    atomic_fetch_add(&in_hand, taken ? 1 : -1u);
    emu_watchdog_step();
}

void emu_watchdog_invocation(bool begins) {
    if (!begins) emu_watchdog_packet(false); // the thread does not come back to the queue by itself
    atomic_fetch_add(&in_hand, begins ? 1 : -1u);
    emu_watchdog_step();
}

static void *watch(void *argument) {
    (void)argument;
    uint32_t seen = 0;
    for (int looks = 0; looks < LOOKS; looks++) {
        usleep((useconds_t)((uint64_t)emu_block->watchdog_ms * 1000 / LOOKS));
        uint32_t now = atomic_load(&steps);
        if (now != seen || !atomic_load(&in_hand)) looks = -1;
        seen = now;
    }
    emu_loud("the watchdog restarts the DSP: no step of the program for %u ms", emu_block->watchdog_ms);
    emu_process_end(EMU_EXIT_RESTART);
    return NULL;
}

int emu_watchdog_start(void) {
    pthread_t thread;
    if (!emu_block->watchdog_ms) return 0;
    if (pthread_create(&thread, NULL, watch, NULL)) return -1;
    pthread_detach(thread);
    return 0;
}
