// See child.h.
#include "child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

extern char **environ;

#define FIRST 3  // descriptor of a child
#define ABOVE 16 // all of them

int emu_child_file(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
}

int emu_child_start(const char *program, bool find, char *const argv[], const int *files, int n, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    int result;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    // A group of its own: Ctrl-C on a terminal is for the host, which decides what becomes of its device.
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < n; i++) posix_spawn_file_actions_adddup2(&actions, files[i], FIRST + i);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // What the host left open for its children is not meant for this one.
    posix_spawn_file_actions_addclosefrom_np(&actions, FIRST + n);
#endif
    result = find ? posix_spawnp(pid, program, &actions, &attr, argv, environ)
                  : posix_spawn(pid, program, &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

void emu_child_beside(const void *symbol, const char *name, char *path, size_t bytes) {
    Dl_info info;
    const char *slash = NULL;
    if (dladdr(symbol, &info) && info.dli_fname) slash = strrchr(info.dli_fname, '/');
    snprintf(path, bytes, "%.*s%s", slash ? (int)(slash - info.dli_fname + 1) : 0, slash ? info.dli_fname : "", name);
}

int emu_child_thread(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    int error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
