// The library's one state, settings by key, faults on request. The table is the only list of keys.
#include "emu_xdna.h"
#include "npu_emu_xdna.h"
#include "numbers.h"
#include "setting.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

enum kind { TEXT, NUMBER, NUMBER64, SWITCH, PROFILE, GENERATION, ORDER, DIRECTION, FIRMWARE, FAULT };

#define AT(field) offsetof(struct emu_settings, field)

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    uint64_t least, most;
} keys[] = {
    {"generation", GENERATION, 0, 0, 0},
    {"kernel", PROFILE, 0, 0, 0},
    {"firmware", FIRMWARE, 0, 0, 0},
    {"contexts", NUMBER, AT(contexts), 1, EMU_CONTEXTS},
    {"memory", NUMBER64, AT(memory), 1 << 20, 64ull << 30},
    {"watchdog", NUMBER, AT(watchdog_ms), 0, 3600000},
    {"node", NUMBER, AT(node), 0, 7},
    {"order", ORDER, 0, 0, 0},
    {"direction", DIRECTION, 0, 0, 0},
    {"iova", SWITCH, AT(iova), 0, 1},
    {"evict", SWITCH, AT(evict), 0, 1},
    {"lock", SWITCH, AT(lock), 0, 1},
    {"seed", NUMBER64, AT(seed), 0, UINT64_MAX},
    {"device", TEXT, AT(device), 0, 0},
    {"fault", FAULT, 0, 0, 0},
};

EMU_API const char *npu_emu_xdna_describe(void) {
    return "generation   xdna1|xdna2         xdna2\n"
           "kernel       6.14|7.0|0.16|1.0   7.0: whose driver it behaves like; 2.0: a version that nobody knows\n"
           "firmware     a.b.c.d             1.1.0.0\n"
           "contexts     1..64               6 on xdna1, 16 on xdna2: hardware contexts in all\n"
           "memory       bytes               16G: of all buffers together; 512M, 2G\n"
           "watchdog     milliseconds        60000 or 2000, by kernel: when a command that hangs is ended; 0 never\n"
           "node         0..7                0: N of /dev/accel/accelN; those below belong to another driver\n"
           "order        fifo|seeded         fifo: order in which commands of different contexts end\n"
           "direction    loose|strict        loose: a sync works both ways, as the drivers' do; strict: only its own "
           "way\n"
           "iova         0|1                 0: device addresses of buffers are the mapped ones\n"
           "evict        0|1                 0: with 1 unsynced CPU writes overwrite what a command wrote\n"
           "lock         0|1                 0: with 1 processes share the device, as a real one\n"
           "seed         number              1\n"
           "device       path                npu-emu-xdna-device beside this library\n"
           "fault        rules               none: name[@n[+]]=action joined by ';', off clears them\n"
           "  names      open version create_hwctx destroy_hwctx config_hwctx create_bo get_bo_info sync_bo exec_cmd\n"
           "             wait wait_cmd get_info gem_close mmap, and cmd: the n-th command that the device gets\n"
           "  actions    code:ERRNO (0: does nothing and succeeds), for cmd code:STATE without running it; delay:US; "
           "die;\n"
           "             for cmd also hang, restart (its context is lost), short:ROWS (writes only so many rows)\n";
}

static int set_number(const struct key *key, const char *value, char *field) {
    uint64_t number;
    if (!emu_setting_number(value, key->kind == NUMBER64, key->least, key->most, &number)) return EINVAL;
    if (key->kind == NUMBER64)
        *(uint64_t *)(void *)field = number;
    else if (key->kind == SWITCH)
        *(bool *)(void *)field = number;
    else
        *(uint32_t *)(void *)field = (uint32_t)number;
    return 0;
}

static int set_firmware(const char *value) {
    uint32_t v[4];
    if (!emu_numbers(value, '.', v, 4)) return EINVAL;
    emu.settings.firmware = (struct amdxdna_firmware){v[0], v[1], v[2], v[3]};
    return 0;
}

// A call to the driver fails or waits, or the NPU dies with it; what a command does is the NPU's to meet.
#define DRIVER_CALL (EMU_FAULT_BIT(CODE) | EMU_FAULT_BIT(DELAY) | EMU_FAULT_BIT(DIE))

static const struct emu_fault_name host_calls[] = {
    {"open", DRIVER_CALL},         {"version", DRIVER_CALL},
    {"create_hwctx", DRIVER_CALL}, {"destroy_hwctx", DRIVER_CALL},
    {"config_hwctx", DRIVER_CALL}, {"create_bo", DRIVER_CALL},
    {"get_bo_info", DRIVER_CALL},  {"sync_bo", DRIVER_CALL},
    {"exec_cmd", DRIVER_CALL},     {"wait", DRIVER_CALL},
    {"wait_cmd", DRIVER_CALL},     {"get_info", DRIVER_CALL},
    {"gem_close", DRIVER_CALL},    {"mmap", DRIVER_CALL},
    {"cmd", EMU_FAULT_ALL},        {NULL, 0},
};
static const struct emu_fault_names fault_names = {.host = host_calls};

static int set_fault(const char *value) {
    struct emu_faults faults = {.count = 0};
    char why[128];
    if (!strcmp(value, "off")) value = "";
    if (emu_faults_refused(value, &fault_names, why, sizeof why)) {
        emu_setting_refuse("%s", why);
        return EINVAL;
    }
    if (emu_faults_parse(&faults, value, EMU_FAULT_HOST)) return EINVAL;
    emu.faults = faults;
    return 0;
}

static int set_word(const char *value, const char *no, const char *yes, bool *field) {
    if (strcmp(value, no) && strcmp(value, yes)) return EINVAL;
    *field = !strcmp(value, yes);
    return 0;
}

static int set(const struct key *key, const char *value) {
    struct emu_settings *s = &emu.settings;
    const struct emu_profile *profile = emu_profile_named(value);
    const struct emu_generation *generation = emu_generation_named(value);
    switch (key->kind) {
    case TEXT:
        if (!*value || strlen(value) >= sizeof s->device) return EINVAL;
        strcpy((char *)s + key->offset, value);
        return 0;
    case PROFILE:
        if (profile) s->profile = profile;
        return profile ? 0 : EINVAL;
    case GENERATION:
        if (generation) s->generation = generation;
        return generation ? 0 : EINVAL;
    case ORDER:
        return set_word(value, "fifo", "seeded", &s->shuffle);
    case DIRECTION:
        return set_word(value, "loose", "strict", &s->strict_direction);
    case FIRMWARE:
        return set_firmware(value);
    case FAULT:
        return set_fault(value);
    default:
        return set_number(key, value, (char *)s + key->offset);
    }
}

EMU_API int npu_emu_xdna_configure(const char *key, const char *value) {
    int result = ENOENT;
    emu_setting_refuse("%s", "");
    if (!key || !value) return EINVAL;
    emu_lock();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i].name, key)) result = set(&keys[i], value);
    emu_unlock();
    return result;
}

EMU_API const char *npu_emu_xdna_refusal(void) {
    return emu_setting_refusal();
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
