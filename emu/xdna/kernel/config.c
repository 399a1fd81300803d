// Settings by key, faults on request among them. The table is the only list of keys: npu_emu_xdna_describe prints it.
#include "emu_xdna.h"
#include "npu_emu_xdna.h"
#include "numbers.h"
#include "setting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_RULES "name[@n[+]]=action joined by ;"

enum kind { TEXT, NUMBER, NUMBER64, SWITCH, PROFILE, GENERATION, ORDER, DIRECTION, FIRMWARE, FAULT };

#define AT(field) offsetof(struct emu_settings, field)

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *values; // NULL: |least| to |most|
    const char *text;   // its default, and what it does
    uint64_t least, most;
} keys[] = {
    {"generation", GENERATION, 0, "xdna1|xdna2", "xdna2"},
    {"kernel", PROFILE, 0, "6.14|7.0|0.16|1.0|2.0",
     "7.0: whose driver it behaves like; 2.0: a version that nobody knows"},
    {"firmware", FIRMWARE, 0, "a.b.c.d", "1.1.0.0"},
    {"contexts", NUMBER, AT(contexts), NULL, "6 on xdna1, 16 on xdna2: hardware contexts in all", 1, EMU_CONTEXTS},
    {"memory", NUMBER64, AT(memory), NULL, "16G: of all buffers together; 512M, 2G", 1 << 20, 64ull << 30},
    {"watchdog", NUMBER, AT(watchdog_ms), NULL,
     "60000 or 2000, by kernel: milliseconds after which a command that hangs is ended; 0 never", 0, 3600000},
    {"node", NUMBER, AT(node), NULL, "0: N of /dev/accel/accelN; those below belong to another driver", 0, 7},
    {"order", ORDER, 0, "fifo|seeded", "fifo: order in which commands of different contexts end"},
    {"direction", DIRECTION, 0, "loose|strict",
     "loose: a sync works both ways, as the drivers' do; strict: only its own way"},
    {"iova", SWITCH, AT(iova), NULL, "0: device addresses of buffers are the mapped ones", 0, 1},
    {"evict", SWITCH, AT(evict), NULL, "0: with 1 unsynced CPU writes overwrite what a command wrote", 0, 1},
    {"lock", SWITCH, AT(lock), NULL, "0: with 1 processes share the device, as a real one", 0, 1},
    {"seed", NUMBER64, AT(seed), "number", "1", 0, UINT64_MAX},
    {"device", TEXT, AT(device), "path", "npu-emu-xdna-device beside this library"},
    {"fault", FAULT, 0, "rules", "none: " FAULT_RULES "; off clears them"},
};

static const char fault_help[] =
    "  names      open version create_hwctx destroy_hwctx config_hwctx create_bo get_bo_info sync_bo exec_cmd\n"
    "             wait wait_cmd get_info gem_close mmap, and cmd: the n-th command that the device gets\n"
    "  actions    code:ERRNO (0: does nothing and succeeds), for cmd code:STATE without running it; delay:US; die;\n"
    "             for cmd also hang, restart (its context is lost), short:ROWS (writes only so many rows)\n";

static const char *values_of(const struct key *key, char range[EMU_RANGE_BYTES]) {
    if (key->values) return key->values;
    emu_setting_range(range, key->kind == NUMBER64, key->least, key->most);
    return key->kind == SWITCH ? "0|1" : range;
}

EMU_API const char *npu_emu_xdna_describe(void) {
    static char text[sizeof keys / sizeof *keys * 160 + sizeof fault_help];
    size_t used = 0;
    emu_lock();
    for (const struct key *key = keys; key < keys + sizeof keys / sizeof *keys && used < sizeof text; key++) {
        char range[EMU_RANGE_BYTES];
        used += (size_t)snprintf(text + used, sizeof text - used, "%-12s %-21s %s\n", key->name, values_of(key, range),
                                 key->text);
    }
    if (used < sizeof text) snprintf(text + used, sizeof text - used, "%s", fault_help);
    emu_unlock();
    return text;
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
    if (strlen(value) >= sizeof emu.rules || emu_faults_parse(&faults, value, EMU_FAULT_HOST)) {
        emu_setting_refuse("takes %s", FAULT_RULES);
        return EINVAL;
    }
    if (!strcmp(emu.rules, value)) faults.met = emu.faults.met; // counted anew by a device that is opened again
    emu.faults = faults;
    strcpy(emu.rules, value);
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
    for (const struct key *k = keys; k < keys + sizeof keys / sizeof *keys; k++) {
        char range[EMU_RANGE_BYTES];
        if (strcmp(k->name, key)) continue;
        result = set(k, value);
        if (result && k->kind != FAULT) emu_setting_refuse("takes %s", values_of(k, range));
    }
    emu_unlock();
    return result;
}

EMU_API unsigned npu_emu_xdna_unmet(char *text, unsigned bytes) {
    emu_lock();
    unsigned n = emu_faults_unmet(emu.rules, emu.faults.met, text, bytes);
    emu_unlock();
    return n;
}

EMU_API const char *npu_emu_xdna_refusal(void) {
    return emu_setting_refusal();
}
