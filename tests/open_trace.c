/* Loaded in front of the C library by a test: writes the name of every file that the program opens or loads to the file
 * that NPU_OPEN_TRACE names, one a line. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static int (*next_open(const char *name))(const char *, int, ...) {
    int (*f)(const char *, int, ...);
    void *p = next(name);
    memcpy(&f, &p, sizeof f);
    return f;
}

static void note(const char *path) {
    const char *trace = getenv("NPU_OPEN_TRACE");
    int fd = trace ? next_open("open")(trace, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0) return;
    char line[4096];
    int n = snprintf(line, sizeof line, "%s\n", path ? path : "(self)");
    if (n > 0 && write(fd, line, (size_t)n) < 0) abort();
    close(fd);
}

static mode_t mode_of(int flags, va_list args) {
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(args, int) : 0;
}

#define TRACED_OPEN(name)                               \
    EXPORT int name(const char *path, int flags, ...);  \
    EXPORT int name(const char *path, int flags, ...) { \
        va_list args;                                   \
        va_start(args, flags);                          \
        mode_t mode = mode_of(flags, args);             \
        va_end(args);                                   \
        note(path);                                     \
        return next_open(#name)(path, flags, mode);     \
    }

#define TRACED_OPENAT(name)                                      \
    EXPORT int name(int dir, const char *path, int flags, ...);  \
    EXPORT int name(int dir, const char *path, int flags, ...) { \
        int (*f)(int, const char *, int, ...);                   \
        void *p = next(#name);                                   \
        va_list args;                                            \
        va_start(args, flags);                                   \
        mode_t mode = mode_of(flags, args);                      \
        va_end(args);                                            \
        memcpy(&f, &p, sizeof f);                                \
        note(path);                                              \
        return f(dir, path, flags, mode);                        \
    }

#define TRACED_FOPEN(name)                                  \
    EXPORT FILE *name(const char *path, const char *mode);  \
    EXPORT FILE *name(const char *path, const char *mode) { \
        FILE *(*f)(const char *, const char *);             \
        void *p = next(#name);                              \
        memcpy(&f, &p, sizeof f);                           \
        note(path);                                         \
        return f(path, mode);                               \
    }

#undef open
#undef open64
#undef openat
#undef openat64
#undef fopen
#undef fopen64
TRACED_OPEN(open)
TRACED_OPEN(open64)
TRACED_OPENAT(openat)
TRACED_OPENAT(openat64)
TRACED_FOPEN(fopen)
TRACED_FOPEN(fopen64)

EXPORT void *dlopen(const char *path, int flags);
EXPORT void *dlopen(const char *path, int flags) {
    void *(*f)(const char *, int);
    void *p = next("dlopen");
    memcpy(&f, &p, sizeof f);
    note(path);
    return f(path, flags);
}
