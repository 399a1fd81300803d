/* Which calls to make: libc's, or those of the emulated device, a library beside the program. And the table of driver
 * versions. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/xdna/include/npu_emu_xdna.h"
#include "target/emu_library.h"
#include "target/emu_setting.h"
#include "target/xdna/xdna_sys.h"

/* Versions 0.x since 0.1 answer EINVAL to FROM_DEVICE after they did the work, for it is also a request about a debug
 * buffer; TO_DEVICE flushes and invalidates the lines just as well there. */
static const npu_xdna_version versions[] = {
    {0, 0, 0, AMDXDNA_FROM_DEVICE},
    {0, 1, INT32_MAX, AMDXDNA_TO_DEVICE},
    {1, 0, INT32_MAX, AMDXDNA_FROM_DEVICE},
};

const npu_xdna_version *npu__xdna_version(int32_t major, int32_t minor) {
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (versions[i].major == major && minor >= versions[i].first_minor && minor <= versions[i].last_minor)
            return &versions[i];
    return NULL;
}

static int real_open(const char *path, int flags) {
    return open(path, flags);
}

static int real_ioctl(int fd, unsigned long request, void *arg) {
    return ioctl(fd, request, arg);
}

static npu_status open_library(void **library, npu_error *err) {
    char path[512];
    return npu_emu_open("libnpu-emu-xdna.so", "emu", "xdna.no_device", library, path, sizeof path, err);
}

static npu_status symbol(void *library, const char *name, void **out, npu_error *err) {
    *out = dlsym(library, name);
    if (*out) return NPU_OK;
    return npu_fail(err, NPU_NO_DEVICE, "xdna.no_device", "driver emu: libnpu-emu-xdna.so has no symbol %s", name);
}

static npu_status emulated(const npu_xdna_params *params, npu_xdna_driver *out, npu_error *err) {
    void *library;
    npu_emu_xdna_calls_fn *calls;
    npu_emu_xdna_configure_fn *set;
    npu_emu_xdna_refusal_fn *why;
    npu_emu_xdna_query_fn *query;
    unsigned long long locked = 0;
    NPU_TRY(open_library(&library, err));
    NPU_TRY(symbol(library, "npu_emu_xdna_calls", (void **)&calls, err));
    NPU_TRY(symbol(library, "npu_emu_xdna_configure", (void **)&set, err));
    NPU_TRY(symbol(library, "npu_emu_xdna_refusal", (void **)&why, err));
    NPU_TRY(symbol(library, "npu_emu_xdna_query", (void **)&query, err));
    for (const char *const *s = params->emu; s && *s; s++)
        NPU_TRY(npu_emu_set(set, why, *s, ENOENT, "xdna.emu_setting", err));
    const struct npu_emu_xdna_calls *c = calls();
    out->sys = (npu_xdna_sys){c->open, c->close, c->ioctl, c->mmap, c->munmap};
    out->shared = !query("lock", &locked) && locked;
    return NPU_OK;
}

static npu_status find_driver(const char *name, npu_xdna_driver *out, npu_error *err) {
    static const npu_xdna_driver drivers[] = {
        {.name = "auto", .shared = true, .timeout_s = 5},
        {.name = "accel", .shared = true, .timeout_s = 5},
        {.name = "emu", .emulated = true, .timeout_s = 60},
    };
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        *out = drivers[i];
        if (!strcmp(out->name, name ? name : "auto")) return NPU_OK;
    }
    return npu_fail(err, NPU_REFUSED, "xdna.unknown_driver", "`driver` %s: xdna has no such driver (auto, accel, emu)",
                    name);
}

npu_status npu__xdna_driver(const npu_xdna_params *params, npu_xdna_driver *out, npu_error *err) {
    NPU_TRY(find_driver(params->driver, out, err));
    if (out->emulated) return emulated(params, out, err);
    if (params->emu && *params->emu)
        return npu_fail(err, NPU_REFUSED, "xdna.emu_setting", "`emu` is for the emulated driver, not %s", out->name);
    out->sys = (npu_xdna_sys){real_open, close, real_ioctl, mmap, munmap};
    return NPU_OK;
}

npu_status npu_xdna_check_params(const npu_xdna_params *params, npu_error *err) {
    npu_xdna_driver driver;
    return npu__xdna_driver(params, &driver, err);
}

void npu_xdna_tell_unmet(const npu_xdna_params *params) {
    npu_xdna_driver driver;
    npu_emu_xdna_unmet_fn *unmet;
    void *library;
    char rules[400];
    if (find_driver(params->driver, &driver, NULL) != NPU_OK || !driver.emulated) return;
    if (open_library(&library, NULL) != NPU_OK) return;
    if (symbol(library, "npu_emu_xdna_unmet", (void **)&unmet, NULL) != NPU_OK || !unmet(rules, sizeof rules)) return;
    npu_log(&params->logger, NPU_LOG_WARN, "`emu` fault: nothing met %s", rules);
}

npu_status npu_xdna_describe_emu(const npu_xdna_params *params, const char **text, npu_error *err) {
    npu_xdna_driver driver;
    npu_emu_xdna_describe_fn *describe;
    void *library;
    *text = NULL;
    NPU_TRY(find_driver(params->driver ? params->driver : "emu", &driver, err));
    if (!driver.emulated)
        return npu_fail(err, NPU_REFUSED, "xdna.emu_setting", "`emu` is for the emulated driver, not %s", driver.name);
    NPU_TRY(open_library(&library, err));
    NPU_TRY(symbol(library, "npu_emu_xdna_describe", (void **)&describe, err));
    *text = describe();
    return NPU_OK;
}
