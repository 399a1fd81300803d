/* What it is: emu_library.h. */
#include "target/emu_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

enum { FOLDER = 400 };

/* Up to the last slash; "" when there is none. */
static void keep_folder(char *path) {
    char *slash = strrchr(path, '/');
    path[slash ? slash - path + 1 : 0] = 0;
}

static void program_folder(char out[FOLDER]) {
    ssize_t n = readlink("/proc/self/exe", out, FOLDER - 1);
    out[n > 0 ? n : 0] = 0;
    keep_folder(out);
}

static void library_folder(char out[FOLDER]) {
    Dl_info info;
    bool known = dladdr((const void *)(size_t)npu_emu_open, &info) && info.dli_fname;
    snprintf(out, FOLDER, "%s", known ? info.dli_fname : "");
    keep_folder(out);
}

/* Not in the folder that the user happens to be in: a name without a folder is one that is not known. */
static bool find(const char *folder, const char *const places[4], const char *file, char *path, size_t size) {
    for (int i = 0; i < 4 && places[i] && *folder; i++) {
        snprintf(path, size, "%s%s%s", folder, places[i], file);
        if (!access(path, R_OK)) return true;
    }
    return false;
}

npu_status npu_emu_open(const char *file, const char *driver, const char *code, void **library, char *path, size_t size,
                        npu_error *err) {
    static const char *const of_programs[4] = {"emu/", "../emu/", "../lib/npu/emu/"};
    static const char *const of_libraries[4] = {"npu/emu/", "../npu/emu/"}; /* the latter from lib/ARCHITECTURE */
    char program[FOLDER], shared[FOLDER];
    program_folder(program);
    library_folder(shared);
    if (!find(program, of_programs, file, path, size) && !find(shared, of_libraries, file, path, size))
        return npu_fail(err, NPU_NO_DEVICE, code,
                        "driver %s: no emulated %s in emu/, ../emu/ or ../lib/npu/emu/ beside %s", driver, file,
                        program);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*library) return NPU_OK;
    return npu_fail(err, NPU_NO_DEVICE, code, "driver %s: %s can't be loaded: %s", driver, path, dlerror());
}
