#include "target/hexagon/hexagon_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "target/emu_library.h"
#include "target/emu_setting.h"
#include "target/hexagon/hexagon_device.h"

/* |timeout_s| is for users who give no --timeout, which always wins: a device answers within 5 seconds, emulation takes
 * its time. */
static const struct {
    const char *name;
    bool emulated;
    double timeout_s;
    const char *settings[3]; /* of the emulator, "key=value" */
} drivers[] = {
    {"auto", false, 5, {NULL}},           {"fastrpc", false, 5, {NULL}},
    {"sim", true, 60, {"driver=sim"}},    {"sim-strict", true, 300, {"driver=sim", "strict=1"}},
    {"qemu", true, 900, {"driver=qemu"}},
};

static const struct {
    uint32_t code;
    const char *name;
    npu_status status;
} results[] = {
#define HEX_AEE(code, name, status) {code, "AEE_" #name, NPU_##status},
#include "target/hexagon/hexagon_aee.def"
};

/* Its row in |results|, or the number of rows. What the DSP raises reaches the host with the DSP's offset. */
static size_t find_result(int result) {
    uint32_t code = (uint32_t)result;
    size_t i = 0, n = sizeof results / sizeof results[0];
    if (code >> 16 == 0x8000) code -= DSP_AEE_EOFFSET;
    while (i < n && results[i].code != code) i++;
    return i;
}

const char *npu_hex_result_name(int result) {
    size_t i = find_result(result);
    return i < sizeof results / sizeof results[0] ? results[i].name : "unknown AEE code";
}

npu_status npu_hex_status(int result) {
    size_t i = find_result(result);
    return i < sizeof results / sizeof results[0] ? results[i].status : NPU_INTERNAL;
}

npu_status npu_hex_fail(npu_error *err, int result, const char *what) {
    return npu_fail(err, npu_hex_status(result), "hexagon.rpc", "%s: %s (0x%x)", what, npu_hex_result_name(result),
                    (unsigned)result);
}

bool npu_hex_violation(const npu_hex_driver *driver, int domain, npu_error *err) {
    char kind[32], code[48], text[440];
    if (!driver->violation || driver->violation(domain, kind, sizeof kind, text, sizeof text)) return false;
    snprintf(code, sizeof code, "hexagon.strict.%s", kind);
    npu_fail(err, NPU_DEVICE_LOST, code, "the emulated NPU ended the program: %s: %s", kind, text);
    return true;
}

static npu_status open_emulated(const char *name, npu_hex_driver *d, npu_error *err) {
    return npu_emu_open("libcdsprpc.so", name, "hexagon.no_library", &d->library, d->path, sizeof d->path, err);
}

static npu_status open_real(const char *name, npu_hex_driver *d, npu_error *err) {
    snprintf(d->path, sizeof d->path, "libcdsprpc.so");
    d->library = dlopen(d->path, RTLD_NOW | RTLD_LOCAL);
    if (d->library && !dlsym(d->library, "npu_emu_configure")) return NPU_OK;
    const char *why = d->library ? "it is an emulated device, which must be asked for by name" : dlerror();
    npu_fail(err, NPU_NO_DEVICE, "hexagon.no_library",
             "driver %s: no Hexagon device: looked for libcdsprpc.so (%s) and /dev/fastrpc-cdsp (%s); an emulated one: "
             "`npu_target` hexagon `driver` sim",
             name, why, access("/dev/fastrpc-cdsp", F_OK) ? "not there" : "there");
    npu_hex_driver_close(d);
    return NPU_NO_DEVICE;
}

static npu_status resolve(npu_hex_driver *d, npu_error *err) {
    enum { OPTIONAL, REQUIRED };
#define HEX_SYMBOL(result, name, arguments, need)  \
    *(void **)&d->name = dlsym(d->library, #name); \
    if (need == REQUIRED && !d->name)              \
        return npu_fail(err, NPU_NO_DEVICE, "hexagon.no_symbol", "%s has no symbol %s", d->path, #name);
#include "target/hexagon/hexagon_symbols.def"
    return NPU_OK;
}

static npu_status configure(npu_hex_driver *d, const char *setting, npu_error *err) {
    npu_emu_configure_fn *set;
    *(void **)&set = dlsym(d->library, "npu_emu_configure");
    *(void **)&d->refusal = dlsym(d->library, "npu_emu_refusal");
    if (!set || !d->refusal)
        return npu_fail(err, NPU_NO_DEVICE, "hexagon.no_symbol", "%s has no symbol npu_emu_%s", d->path,
                        set ? "refusal" : "configure");
    return npu_emu_set(set, d->refusal, setting, AEE_EUNSUPPORTED, "hexagon.emu_setting", err);
}

/* The value of a setting "key=value" when that is its |key|, else NULL. */
static const char *value_of(const char *setting, const char *key) {
    size_t n = strlen(key);
    return !strncmp(setting, key, n) && setting[n] == '=' ? setting + n + 1 : NULL;
}

/* What other flags say must not be said a second time, otherwise. */
static npu_status check_setting(const char *setting, const npu_target_params *params, const char *kernels_dir,
                                npu_error *err) {
    const char *arch = value_of(setting, "arch"), *driver = value_of(setting, "driver"), *flag = NULL, *said = NULL;
    if (driver && strcmp(driver, params->driver) != 0) flag = "`driver`", said = params->driver;
    if (value_of(setting, "program") && kernels_dir) flag = "`kernels_dir`", said = kernels_dir;
    if (arch && params->arch && strcmp(arch, params->arch) != 0) flag = "`arch`", said = params->arch;
    if (!flag) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "hexagon.emu_setting", "`emu` %s and %s %s contradict each other: leave one out",
                    setting, flag, said);
}

static npu_status configure_arch(npu_hex_driver *d, const char *name, const npu_target_params *params, npu_error *err) {
    char setting[64];
    const npu_hex_arch *arch;
    NPU_TRY(npu_hex_arch_named(params->arch, &arch, err));
    snprintf(setting, sizeof setting, "arch=v%u", arch->arch);
    if (configure(d, setting, err) == NPU_OK) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "hexagon.emu_setting", "`arch` %s and `driver` %s contradict each other: %s",
                    params->arch, name, d->refusal());
}

/* The emulator's own defaults, then where NPU programs are, then the driver's and the user's settings. */
static npu_status configure_all(npu_hex_driver *d, size_t driver, const char *kernels_dir,
                                const npu_target_params *params, npu_error *err) {
    char program[600];
    if (!kernels_dir)
        snprintf(d->programs, sizeof d->programs, "%.*s", (int)(strrchr(d->path, '/') - d->path), d->path);
    snprintf(program, sizeof program, "program=%s", d->programs);
    NPU_TRY(configure(d, program, err));
    NPU_TRY(configure(d, "quiet=1", err)); /* its reason goes into our own line */
    const char *const *settings = drivers[driver].settings;
    for (unsigned i = 0; settings[i]; i++) NPU_TRY(configure(d, settings[i], err));
    if (params->arch) NPU_TRY(configure_arch(d, drivers[driver].name, params, err));
    for (const char *const *s = params->emu; s && *s; s++) {
        NPU_TRY(configure(d, *s, err));
        NPU_TRY(check_setting(*s, params, kernels_dir, err));
        const char *programs = value_of(*s, "program");
        if (programs) snprintf(d->programs, sizeof d->programs, "%s", programs);
    }
    npu_emu_query_fn *query;
    unsigned long long value;
    *(void **)&d->violation = dlsym(d->library, "npu_emu_violation");
    *(void **)&d->unmet = dlsym(d->library, "npu_emu_unmet");
    *(void **)&query = dlsym(d->library, "npu_emu_query");
    if (query && !query(CDSP_DOMAIN_ID, "window", &value)) d->window_bytes = value;
    if (query && !query(CDSP_DOMAIN_ID, "max_buffer", &value)) d->max_buffer_bytes = value;
    if (query && !query(CDSP_DOMAIN_ID, "slots", &value)) d->slots = (uint32_t)value;
    return NPU_OK;
}

static npu_status find_driver(const char *name, size_t *i, npu_error *err) {
    for (*i = 0; *i < sizeof drivers / sizeof drivers[0]; ++*i)
        if (!strcmp(drivers[*i].name, name)) return NPU_OK;
    char known[64];
    size_t used = 0;
    for (size_t k = 0; k < sizeof drivers / sizeof drivers[0]; k++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "", drivers[k].name);
    return npu_fail(err, NPU_REFUSED, "hexagon.unknown_driver", "`driver` %s: hexagon has no such driver (%s)", name,
                    known);
}

/* FastRPC looks along DSP_LIBRARY_PATH and nowhere else (npu_target_ops.search_variable). */
static npu_status check_folder(const char *kernels_dir, bool emulated, npu_error *err) {
    struct stat st;
    const char *why = NULL;
    if (kernels_dir && stat(kernels_dir, &st))
        why = strerror(errno);
    else if (kernels_dir && !S_ISDIR(st.st_mode))
        why = "not a folder";
    else if (kernels_dir && strlen(kernels_dir) >= sizeof((npu_hex_driver *)0)->programs)
        why = "too long a name";
    else if (kernels_dir && !emulated && strchr(kernels_dir, ';'))
        why = "FastRPC takes no folder with a ; in its name";
    return why ? npu_fail(err, NPU_REFUSED, "hexagon.kernels", "`kernels_dir` %s: %s", kernels_dir, why) : NPU_OK;
}

static npu_status refuse_emu(const char *driver, npu_error *err) {
    return npu_fail(err, NPU_REFUSED, "hexagon.emu_setting", "`emu` is for emulated drivers, not %s", driver);
}

static npu_status check_emulated(const npu_target_params *params, const char *driver, bool emulated, npu_error *err) {
    return emulated || !params->emu || !*params->emu ? NPU_OK : refuse_emu(driver, err);
}

npu_status npu_hex_driver_check(const npu_target_params *params, const char *kernels_dir, npu_error *err) {
    const char *name = params->driver ? params->driver : "auto";
    npu_hex_driver d;
    size_t i;
    NPU_TRY(find_driver(name, &i, err));
    NPU_TRY(check_emulated(params, name, drivers[i].emulated, err));
    if (!drivers[i].emulated) return NPU_OK;
    NPU_TRY(npu_hex_driver_open(params, kernels_dir, &d, err));
    npu_hex_driver_close(&d);
    return NPU_OK;
}

npu_status npu_hex_driver_open(const npu_target_params *params, const char *kernels_dir, npu_hex_driver *d,
                               npu_error *err) {
    *d = (npu_hex_driver){0};
    const char *name = params->driver ? params->driver : "auto";
    size_t i;
    NPU_TRY(find_driver(name, &i, err));
    NPU_TRY(check_emulated(params, name, drivers[i].emulated, err));
    d->emulated = drivers[i].emulated;
    d->timeout_s = drivers[i].timeout_s;
    NPU_TRY(check_folder(kernels_dir, d->emulated, err));
    if (kernels_dir) snprintf(d->programs, sizeof d->programs, "%s", kernels_dir);
    npu_status status = d->emulated ? open_emulated(name, d, err) : open_real(name, d, err);
    if (status == NPU_OK) status = resolve(d, err);
    if (status == NPU_OK && d->emulated) status = configure_all(d, i, kernels_dir, params, err);
    if (status != NPU_OK) npu_hex_driver_close(d);
    return status;
}

void npu_hex_driver_close(npu_hex_driver *d) {
    /* The library stays loaded: FastRPC keeps threads of its own in it. */
    d->library = NULL;
}

void npu_hex_driver_tell_unmet(const npu_hex_driver *d, const npu_logger *logger) {
    char rules[400];
    if (d->unmet && d->unmet(rules, sizeof rules)) npu_log(logger, NPU_LOG_WARN, "`emu` fault: nothing met %s", rules);
}

npu_status npu_hex_describe_emu(const npu_target_params *params, const char **text, npu_error *err) {
    npu_hex_driver d = {0};
    npu_emu_describe_fn *describe;
    const char *name = params->driver ? params->driver : "sim";
    size_t i;
    *text = NULL;
    NPU_TRY(find_driver(name, &i, err));
    if (!drivers[i].emulated) return refuse_emu(name, err);
    NPU_TRY(open_emulated(name, &d, err));
    *(void **)&describe = dlsym(d.library, "npu_emu_describe");
    if (!describe)
        return npu_fail(err, NPU_NO_DEVICE, "hexagon.no_symbol", "%s has no symbol npu_emu_describe", d.path);
    *text = describe();
    return NPU_OK;
}
