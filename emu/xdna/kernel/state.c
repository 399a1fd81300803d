// The library's one state: its lock, its clock, faults that calls meet, and the numbers that a test may ask for.
#include "emu_xdna.h"
#include "npu_emu_xdna.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct emu_xdna emu = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fill(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&emu.changed, &attr);
    pthread_condattr_destroy(&attr);
    emu.settings = (struct emu_settings){.profile = emu_profile_named("7.0"),
                                         .generation = emu_generation_named("xdna2"),
                                         .firmware = {1, 1, 0, 0},
                                         .memory = 16ull << 30,
                                         .watchdog_ms = EMU_BY_KERNEL,
                                         .seed = 1};
    for (int i = 0; i < EMU_FILES; i++) emu.files[i].fd = -1;
    emu.ready = true;
}

void emu_lock(void) {
    pthread_mutex_lock(&emu.lock);
    if (!emu.ready) fill();
}

void emu_unlock(void) {
    pthread_mutex_unlock(&emu.lock);
}

uint64_t emu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool emu_wait(uint64_t deadline_ns) {
    struct timespec t = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    return pthread_cond_timedwait(&emu.changed, &emu.lock, &t) == 0;
}

bool emu_fault(const char *name, int *error) {
    int64_t value = 0;
    if (!emu.faults.count) return false;
    switch (emu_faults_meet(&emu.faults, name, &value)) {
    case EMU_FAULT_CODE:
        *error = (int)value;
        return true;
    case EMU_FAULT_DELAY:
        usleep((useconds_t)value);
        break;
    case EMU_FAULT_DIE:
        for (int i = 0; i < EMU_FILES; i++)
            if (emu.files[i].fd >= 0 && emu.files[i].pid > 0) kill(emu.files[i].pid, SIGKILL);
        break;
    default:
        break;
    }
    return false;
}

static const char *const counters[EMU_COUNTERS] = {[EMU_COMMANDS] = "commands",
                                                   [EMU_SYNCS] = "syncs",
                                                   [EMU_LINES_TO_DEVICE] = "lines_to_device",
                                                   [EMU_LINES_TO_HOST] = "lines_to_host",
                                                   [EMU_DIRTY] = "dirty_over_output"};

static unsigned long long sum_of_files(const char *name) {
    unsigned long long sum = 0;
    for (int i = 0; i < EMU_FILES; i++) {
        const struct emu_file *f = &emu.files[i];
        if (f->fd < 0) continue;
        if (!strcmp(name, "contexts")) sum += f->n_contexts;
        if (!strcmp(name, "memory")) sum += f->used;
        if (!strcmp(name, "buffers"))
            for (const struct emu_bo *bo = f->bos; bo; bo = bo->next) sum++;
    }
    return sum;
}

EMU_API int npu_emu_xdna_query(const char *name, unsigned long long *value) {
    static const char *const sums[] = {"contexts", "memory", "buffers"};
    int result = ENOENT;
    if (!name || !value) return ENOENT;
    emu_lock();
    if (!strcmp(name, "pid")) *value = (unsigned long long)emu.last_pid, result = 0;
    if (!strcmp(name, "lock")) *value = emu.settings.lock, result = 0;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (!strcmp(sums[i], name)) *value = sum_of_files(name), result = 0;
    for (int i = 0; i < EMU_COUNTERS; i++)
        if (!strcmp(counters[i], name)) *value = emu.counters[i], result = 0;
    emu_unlock();
    return result;
}
