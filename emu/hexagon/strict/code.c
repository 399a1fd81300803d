// Where in the program a report comes from: the innermost frame of the stack that is the program's. As function, file
// and line where binutils' addr2line is (the program being compiled with -g1), else as the offset in its file.
#include "strict.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES 64

extern char **environ;

static Dl_info program;

void emu_strict_program(const void *function) {
    dladdr(function, &program);
}

// Of the call's last byte, as the place it returns to may be another line; 0 when no frame is the program's.
static uintptr_t find_offset(void) {
    void *frames[FRAMES];
    int n = backtrace(frames, FRAMES);
    for (int i = 0; i < n && program.dli_fbase; i++) {
        const char *at = (const char *)frames[i] - 1;
        Dl_info info;
        if (dladdr(at, &info) && info.dli_fbase == program.dli_fbase)
            return (uintptr_t)at - (uintptr_t)program.dli_fbase;
    }
    return 0;
}

// What addr2line prints, or less of it; "" when it can't be started.
static void ask(uintptr_t offset, char *out, size_t size) {
    char address[24], *argv[] = {"addr2line", "-fips", "-e", (char *)(uintptr_t)program.dli_fname, address, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    size_t used = 0;
    pid_t child;
    *out = 0;
    snprintf(address, sizeof address, "%#llx", (unsigned long long)offset);
    if (pipe2(ends, O_CLOEXEC)) return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (!failed && used < size - 1) {
        ssize_t got = read(ends[0], out + used, size - 1 - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    out[used] = 0;
    close(ends[0]);
    if (!failed) waitpid(child, NULL, 0);
}

// Puts |by| in place of |bytes| at |at|, which are not fewer.
static void replace(char *at, size_t bytes, const char *by) {
    memmove(at + strlen(by), at + bytes, strlen(at + bytes) + 1);
    memcpy(at, by, strlen(by));
}

// "a at x.c:1 (discriminator 2)\n (inlined by) b at y.c:2\n" as "a at x.c:1 in b at y.c:2".
static void join(char *text) {
    static const char part[] = " (discriminator ", by[] = "\n (inlined by) ";
    for (char *at; (at = strstr(text, part));) {
        size_t end = strcspn(at, ")");
        replace(at, end + (at[end] != 0), "");
    }
    for (char *at; (at = strstr(text, by));) replace(at, sizeof by - 1, " in ");
    text[strcspn(text, "\n")] = 0;
}

void emu_strict_code(char *out, size_t size, bool exactly) {
    char text[200] = "";
    uintptr_t offset = find_offset();
    const char *slash = program.dli_fname ? strrchr(program.dli_fname, '/') : NULL;
    *out = 0;
    if (!offset) return;
    if (exactly) ask(offset, text, sizeof text);
    join(text);
    if (*text && *text != '?')
        snprintf(out, size, " (%s)", text);
    else
        snprintf(out, size, " (%s+%#llx)", slash ? slash + 1 : program.dli_fname, (unsigned long long)offset);
}
