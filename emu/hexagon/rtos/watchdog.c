// The device's watchdog (setting "watchdog"). A process that has something in hand and comes no step further for so
// long takes its DSP with it, as a subsystem that is restarted does. In hand are an invocation, until it returns, and a
// packet that a thread has read, until that thread comes back to a queue. A step is one of these, an event of the
// program (npu_emu_event), a look at another device's line. A process that a busy machine does not let run is not one
// that hangs: while one of its threads could run or waits for a disk, the CPU time that the process got is counted, not
// the time that went by; while all of them sleep, looks of the watchdog are.
#include "emu_dsp.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
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

static uint64_t cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// Whether the thread of that number runs, could run, or waits for a disk.
static bool awake(const char *thread) {
    char path[64], text[256], *name_end;
    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", thread);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    name_end = strrchr(text, ')');
    return name_end && name_end[1] && (name_end[2] == 'R' || name_end[2] == 'D');
}

// Of the other threads; the one that looks is awake itself.
static bool others_awake(void) {
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *t; threads && count < 2 && (t = readdir(threads));)
        if (*t->d_name != '.') count += awake(t->d_name);
    if (threads) closedir(threads);
    return count > 1;
}

static void *watch(void *argument) {
    (void)argument;
    const uint64_t most = (uint64_t)emu_block->watchdog_ms * 1000, period = most / LOOKS;
    uint32_t seen = 0;
    for (uint64_t stuck = 0, used = cpu_us(); stuck < most;) {
        usleep((useconds_t)period);
        uint32_t now = atomic_load(&steps);
        uint64_t cpu = cpu_us() - used;
        used += cpu;
        stuck += !others_awake() ? period : cpu < period ? cpu : period;
        if (now != seen || !atomic_load(&in_hand)) stuck = 0;
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
