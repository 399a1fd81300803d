// Names: domains, module URIs, and the search for the file that a module's library name means.
#include "emu_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const domains[EMU_DOMAINS] = {"adsp", "mdsp", "sdsp", "cdsp", "cdsp1"};

const char *emu_domain_name(int domain) {
    return domain >= 0 && domain < EMU_DOMAINS ? domains[domain] : NULL;
}

int emu_domain_by_name(const char *name, size_t bytes) {
    for (int i = 0; i < EMU_DOMAINS; i++)
        if (strlen(domains[i]) == bytes && !memcmp(domains[i], name, bytes)) return i;
    return -1;
}

static int copy_part(char *to, size_t size, const char *from, size_t bytes) {
    if (!bytes || bytes >= size) return -1;
    memcpy(to, from, bytes);
    to[bytes] = 0;
    return 0;
}

int emu_uri_read(const char *text, struct emu_uri *uri) {
    static const char scheme[] = "file:///";
    const char *name = text + sizeof scheme - 1, *question, *domain, *session;
    int id, number = 0;
    if (strncmp(text, scheme, sizeof scheme - 1)) return AEE_ESCHEMENOTSUPPORTED;
    question = strchr(name, '?');
    domain = strstr(name, "&_dom=");
    if (!question || !domain) return AEE_EBADPARM;
    if (copy_part(uri->library, sizeof uri->library, name, (size_t)(question - name)) ||
        copy_part(uri->symbol, sizeof uri->symbol, question + 1, strcspn(question + 1, "&")) ||
        strchr(uri->library, '/'))
        return AEE_EBADPARM;
    domain += strlen("&_dom=");
    id = emu_domain_by_name(domain, strcspn(domain, "&"));
    session = strstr(name, "&_session=");
    if (session) number = (int)strtol(session + strlen("&_session="), NULL, 10);
    if (id < 0 || number < 0 || number >= EMU_SESSIONS) return AEE_EINVALIDDOMAIN;
    uri->effective_domain = id + EMU_DOMAIN_STEP * number;
    return 0;
}

// Native programs may exist for several processor levels as NAME.LEVEL.so; the best that runs here is tried first.
static unsigned levels(const char *names[4]) {
    unsigned n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
            names[n++] = "x86-64-v4";
        names[n++] = "x86-64-v3";
    }
    if (__builtin_cpu_supports("sse4.2")) names[n++] = "x86-64-v2";
#endif
    (void)names;
    return n;
}

// Makes FOLDER/NAME.SUFFIX (no suffix when it is NULL) and says whether it is a file.
static int try_file(char *path, size_t bytes, const char *folder, int folder_length, const char *name, int name_length,
                    const char *suffix) {
    char made[EMU_PATH_BYTES];
    struct stat info;
    int n = snprintf(made, sizeof made, "%.*s/%.*s%s%s", folder_length, folder, name_length, name, suffix ? "." : "",
                     suffix ? suffix : "");
    if (n <= 0 || (size_t)n >= sizeof made || (size_t)n >= bytes || stat(made, &info) || !S_ISREG(info.st_mode))
        return 0;
    memcpy(path, made, (size_t)n + 1);
    return 1;
}

static int find_in(const char *folder, int length, const char *library, enum emu_driver driver, char *path,
                   size_t bytes) {
    const char *dot = strrchr(library, '.'), *names[4];
    int whole = (int)strlen(library), stem = dot ? (int)(dot - library) : whole;
    char suffix[32];
    if (driver == EMU_DRIVER_SIM && emu_strict())
        return try_file(path, bytes, folder, length, library, stem, "strict.so") ? 0 : -1;
    if (driver == EMU_DRIVER_QEMU) return try_file(path, bytes, folder, length, library, stem, "elf") ? 0 : -1;
    for (unsigned i = 0, n = levels(names); i < n; i++) {
        snprintf(suffix, sizeof suffix, "%s.so", names[i]);
        if (try_file(path, bytes, folder, length, library, stem, suffix)) return 0;
    }
    return try_file(path, bytes, folder, length, library, whole, NULL) ? 0 : -1;
}

static int find_along(const char *list, const char *library, enum emu_driver driver, const char *domain, char *path,
                      size_t bytes) {
    char below[EMU_PATH_BYTES];
    while (list && *list) {
        int length = (int)strcspn(list, ";");
        if (length && !find_in(list, length, library, driver, path, bytes)) return 0;
        snprintf(below, sizeof below, "%.*s/%s", length, list, domain);
        if (length && !find_in(below, (int)strlen(below), library, driver, path, bytes)) return 0;
        list += length + (list[length] == ';');
    }
    return -1;
}

int emu_program_find(const char *library, enum emu_driver driver, const char *domain, char *path, size_t bytes) {
    const char *environment = getenv("DSP_LIBRARY_PATH");
    if (!environment) environment = getenv("ADSP_LIBRARY_PATH");
    if (!find_along(emu.settings.program, library, driver, domain, path, bytes)) return 0;
    return find_along(environment, library, driver, domain, path, bytes);
}
