// Settings by key. The table is the only list of keys: npu_emu_describe prints it.
#include "emu_host.h"
#include "npu_emu.h"
#include "setting.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum kind { TEXT, NUMBER, SIZE, PAGES, DRIVER, ARCH, FAULT, SWITCH, STRICT }; // SIZE, PAGES: may end in K, M, G

#define EMU_PAGE    4096
#define FAULT_RULES "name[@n[+]]=code:N|delay:US|hang|die|exit|restart|short;…"

#define EMU_STRICT_LINE 128
#define STRICT_CHANCE   20

#define AT(field) offsetof(struct emu_settings, field), sizeof(((struct emu_settings *)0)->field)

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset, bytes;
    const char *values; // NULL: |least| to |most|
    const char *text;   // its default, and what it does
    uint64_t least, most;
} keys[] = {
    {"driver", DRIVER, AT(driver), "sim|qemu", "sim: native program or Hexagon ELF under qemu"},
    {"program", TEXT, AT(program), "directories",
     "where NPU programs are looked for, joined by ';', before DSP_LIBRARY_PATH"},
    {"loader", TEXT, AT(loader), "path", "npu-emu-dsp beside this library: loads native programs"},
    {"qemu", TEXT, AT(qemu), "path", "qemu-hexagon: looked up in PATH"},
    {"arch", ARCH, AT(arch), "v68..v81", "v73: what the device says it is", 68, 81},
    {"window", SIZE, AT(window_bytes), NULL, "3328M: bytes that can be mapped in a session; 48M, 2G", 1 << 20,
     3758096384u},
    {"window_by_free", SWITCH, AT(window_by_free), NULL,
     "0: with 1 address space comes back at rpcmem_free only, so a model must fit the window", 0, 1},
    {"slots", NUMBER, AT(slots), NULL, "64: mappings in a session", 1, 4096},
    {"max_buffer", SIZE, AT(max_buffer_bytes), NULL, "1024G: largest buffer that rpcmem gives; 6M", 1 << 20,
     1ull << 40},
    {"vtcm", PAGES, AT(vtcm_bytes), NULL, "4M for v68, else 8M; whole pages of 4K", 65536, 64 << 20},
    {"hvx", NUMBER, AT(hvx_contexts), NULL, "4 up to v75, 6 from v79: 128-byte vector contexts", 1, 16},
    {"hw_threads", NUMBER, AT(hw_threads), NULL, "6", 1, 16},
    {"sessions", NUMBER, AT(sessions), NULL, "4: sessions a domain, the default one included", 1, EMU_SESSIONS},
    {"cdsps", NUMBER, AT(cdsps), NULL, "1: compute DSPs", 1, 2},
    {"pcycles_mhz", NUMBER, AT(pcycles_mhz), NULL, "1000: rate of the cycle counter", 1, 100000},
    {"farf", NUMBER, AT(farf_mask), "mask", "0x1c: levels of the program's log that reach stderr", 0, UINT32_MAX},
    {"hmx_v2", SWITCH, AT(hmx_v2), NULL, "1: with 0 its power vote is refused", 0, 1},
    {"import_needs_callback", SWITCH, AT(import_needs_callback), NULL,
     "0: with 1 dspqueue_import without callback is refused", 0, 1},
    {"signed_only", SWITCH, AT(signed_only), NULL,
     "1: a session without DSPRPC_CONTROL_UNSIGNED_MODULE refuses programs, as these are unsigned", 0, 1},
    {"get_uri", SWITCH, AT(get_uri), NULL, "1: with 0 FASTRPC_GET_URI is unknown, as in old libraries", 0, 1},
    {"idle", SWITCH, AT(idle), NULL, "0: with 1 programs that know it answer without computing", 0, 1},
    {"quiet", SWITCH, AT(quiet), NULL, "0: with 1 why a program can't start is not printed, only told when asked", 0,
     1},
    {"watchdog", NUMBER, AT(watchdog_ms), NULL, "0: with more a process that hangs for so many ms restarts its DSP", 0,
     3600000},
    {"seed", NUMBER, AT(seed), "number", "0", 0, UINT64_MAX},
    {"fault", FAULT, AT(faults), "rules", "none: " FAULT_RULES},
    {"strict", STRICT, AT(strict), NULL, "0: sets cache, dma, vtcm_checks to it, evict and preempt to 20 or 0", 0, 1},
    {"cache", SWITCH, AT(strict.cache), NULL, "0: with 1 shared memory is seen through a cache that the program keeps",
     0, 1},
    {"dma", SWITCH, AT(strict.dma), NULL, "0: with 1 transfers end at seeded times, pushes and pops are checked", 0, 1},
    {"vtcm_checks", SWITCH, AT(strict.vtcm), NULL, "0: with 1 each access to VTCM is checked", 0, 1},
    {"line", NUMBER, AT(strict.line_bytes), "32|64|128", "128: bytes of a cache line", 32, 128},
    {"evict", NUMBER, AT(strict.evict), NULL, "0: chance in 1000 of an early write-back at a store", 0, 1000},
    {"preempt", NUMBER, AT(strict.preempt), NULL, "0: chance in 1000 of a pause at a step of synchronisation", 0, 1000},
    {"go_on", SWITCH, AT(strict.go_on), NULL, "0: with 1 a violation does not end the NPU process", 0, 1},
};

static const char *values_of(const struct key *key, char range[EMU_RANGE_BYTES]) {
    if (key->values) return key->values;
    emu_setting_range(range, key->kind == SIZE || key->kind == PAGES, key->least, key->most);
    return key->least == 0 && key->most == 1 ? "0|1" : range;
}

EMU_API const char *npu_emu_describe(void) {
    static char text[sizeof keys / sizeof *keys * 160];
    emu_lock();
    size_t used = 0;
    for (const struct key *key = keys; key < keys + sizeof keys / sizeof *keys && used < sizeof text; key++) {
        char range[EMU_RANGE_BYTES];
        used += (size_t)snprintf(text + used, sizeof text - used, "%-22s %-14s %s\n", key->name, values_of(key, range),
                                 key->text);
    }
    emu_unlock();
    return text;
}

void emu_settings_default(struct emu_settings *s) {
    *s = (struct emu_settings){.qemu = "qemu-hexagon",
                               .arch = 73,
                               .hw_threads = 6,
                               .slots = 64,
                               .sessions = EMU_SESSIONS,
                               .cdsps = 1,
                               .pcycles_mhz = 1000,
                               .farf_mask = 0x1C,
                               .hmx_v2 = 1,
                               .signed_only = 1,
                               .get_uri = 1,
                               .strict = {.line_bytes = EMU_STRICT_LINE},
                               .window_bytes = 3489660928u,
                               .max_buffer_bytes = 1ull << 40};
}

// What a device of the architecture has, unless it was set. Six contexts were seen on one 8 Elite (v79), four on its
// predecessors; other counts are not known to us.
uint32_t emu_hvx_contexts(const struct emu_settings *s) {
    uint32_t contexts = s->hvx_contexts ? s->hvx_contexts : s->arch < 79 ? 4 : 6;
    return contexts < s->hw_threads ? contexts : s->hw_threads;
}

uint32_t emu_vtcm_bytes(const struct emu_settings *s) {
    return s->vtcm_bytes ? s->vtcm_bytes : s->arch < 69 ? 4u << 20 : 8u << 20;
}

static int set_number(const struct key *key, const char *value, char *field) {
    uint64_t number;
    if (key->kind == ARCH && (*value == 'v' || *value == 'V')) value++;
    bool units = key->kind == SIZE || key->kind == PAGES;
    if (!emu_setting_number(value, units, key->least, key->most, &number)) {
        emu_setting_refuse("%s", ""); // npu_emu_configure says it as the list of keys does
        return AEE_EBADPARM;
    }
    if (key->kind == PAGES && number % EMU_PAGE) {
        emu_setting_refuse("takes whole pages of %d bytes", EMU_PAGE);
        return AEE_EBADPARM;
    }
    if (key->offset == offsetof(struct emu_settings, strict.line_bytes) && (number & (number - 1))) return AEE_EBADPARM;
    if (key->bytes == sizeof(uint64_t))
        *(uint64_t *)(void *)field = number;
    else
        *(uint32_t *)(void *)field = (uint32_t)number;
    return 0;
}

static int set_faults(const char *value) {
    struct emu_faults faults;
    char why[128];
    if (emu_faults_refused(value, &emu_fault_calls, why, sizeof why)) {
        emu_setting_refuse("%s", why);
        return AEE_EBADPARM;
    }
    if (strlen(value) >= EMU_FAULT_BYTES || emu_faults_parse(&faults, value, EMU_FAULT_HOST)) {
        emu_setting_refuse("takes %s", FAULT_RULES);
        return AEE_EBADPARM;
    }
    emu.faults = faults;
    strcpy(emu.settings.faults, value);
    for (int d = 0; d < EMU_DOMAINS; d++)
        for (int s = 0; s < EMU_SESSIONS; s++) emu_faults_publish(&emu.sessions[d][s]);
    return 0;
}

static int set_strict(const char *value) {
    struct emu_strictness *s = &emu.settings.strict;
    if (strcmp(value, "0") && strcmp(value, "1")) return AEE_EBADPARM;
    s->cache = s->dma = s->vtcm = *value == '1';
    s->evict = s->preempt = *value == '1' ? STRICT_CHANCE : 0;
    return 0;
}

static int set(const struct key *key, const char *value) {
    char *field = (char *)&emu.settings + key->offset;
    switch (key->kind) {
    case TEXT:
        if (!*value || strlen(value) >= key->bytes) return AEE_EBADPARM;
        strcpy(field, value);
        return 0;
    case DRIVER:
        if (strcmp(value, "sim") && strcmp(value, "qemu")) return AEE_EBADPARM;
        emu.settings.driver = *value == 's' ? EMU_DRIVER_SIM : EMU_DRIVER_QEMU;
        return 0;
    case STRICT:
        return set_strict(value);
    case FAULT:
        return set_faults(strcmp(value, "off") ? value : "");
    default:
        return set_number(key, value, field);
    }
}

// What is compiled in to see every access is in native programs only, and qemu's newest Hexagon is a v73.
static const char *contradiction(const struct emu_settings *s) {
    if (s->driver != EMU_DRIVER_QEMU) return NULL;
    if (s->arch > EMU_QEMU_ARCH) return "qemu runs programs up to v73; driver sim runs all";
    return emu_strict() || s->strict.evict || s->strict.preempt ? "qemu is not strict; driver sim can be" : NULL;
}

// Takes back what contradicts the settings before it.
static int set_consistent(const struct key *key, const char *value) {
    static struct emu_settings before; // under the lock
    before = emu.settings;
    int result = set(key, value);
    const char *why = result ? NULL : contradiction(&emu.settings);
    if (!why) return result;
    emu.settings = before;
    emu_setting_refuse("%s", why);
    return AEE_EBADPARM;
}

EMU_API int npu_emu_configure(const char *key, const char *value) {
    int result = AEE_EUNSUPPORTED;
    emu_setting_refuse("%s", "");
    if (!key || !value) return AEE_EBADPARM;
    emu_lock();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char range[EMU_RANGE_BYTES];
        if (strcmp(keys[i].name, key)) continue;
        result = set_consistent(&keys[i], value);
        if (result && !*emu_setting_refusal()) emu_setting_refuse("takes %s", values_of(&keys[i], range));
    }
    emu_unlock();
    return result;
}

void emu_tell(const char *format, ...) {
    char text[EMU_REFUSAL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    emu_setting_refuse("%s", text);
    if (!emu.settings.quiet) fprintf(stderr, "npu-emu: %s\n", text);
}

EMU_API unsigned npu_emu_unmet(char *text, unsigned bytes) {
    emu_lock();
    for (int d = 0; d < EMU_DOMAINS; d++)
        for (int s = 0; s < EMU_SESSIONS; s++) emu_faults_gather(&emu.sessions[d][s]);
    unsigned n = emu_faults_unmet(emu.settings.faults, emu.faults.met, text, bytes);
    emu_unlock();
    return n;
}

EMU_API const char *npu_emu_refusal(void) {
    return emu_setting_refusal();
}
