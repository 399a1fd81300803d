// Starting the device process, hearing what it says, and its end. The monitor thread spawns the process, reads its
// answers and runs the watchdog. The process ends when its socket does, so also when this process is killed.
#include "emu_xdna.h"
#include "message.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void device_path(const struct emu_file *f, char *path, size_t bytes) {
    Dl_info info;
    const char *slash = NULL;
    if (*f->settings.device) {
        snprintf(path, bytes, "%s", f->settings.device);
        return;
    }
    if (dladdr((void *)(uintptr_t)&emu_process_start, &info) && info.dli_fname) slash = strrchr(info.dli_fname, '/');
    snprintf(path, bytes, "%.*snpu-emu-xdna-device", slash ? (int)(slash - info.dli_fname + 1) : 0,
             slash ? info.dli_fname : "");
}

static int spawn(struct emu_file *f, pid_t *pid) {
    char path[1024], *argv[] = {path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    device_path(f, path, sizeof path);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    // A group of its own: Ctrl-C on a terminal is for the host, which decides what becomes of its device.
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, f->child_socket, EMU_XDNA_SOCKET);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files, EMU_XDNA_SOCKET + 1);
#endif
    int result = posix_spawn(pid, path, &files, &attr, argv, environ);
    if (result) fprintf(stderr, "npu-emu: can't start %s: %s\n", path, strerror(result));
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return result;
}

// The device is gone: what it had to do ends, and every later call answers ENODEV.
static void lose(struct emu_file *f) {
    emu_lock();
    f->lost = true;
    for (struct emu_context *c = f->contexts; c < f->contexts + EMU_CONTEXTS; c++)
        if (c->handle) emu_exec_end(f, c, AMDXDNA_STATE_ABORT);
    pthread_cond_broadcast(&emu.changed);
    emu_unlock();
}

static int next_timeout(uint64_t next) {
    if (next == UINT64_MAX) return -1;
    uint64_t now = emu_now_ns(), ms = next > now ? (next - now) / 1000000u + 1 : 0;
    return ms > 1000000 ? 1000000 : (int)ms;
}

static void listen_to(struct emu_file *f) {
    for (;;) {
        struct emu_xdna_message m;
        emu_lock();
        uint64_t next = emu_exec_watch(f);
        emu_unlock();
        struct pollfd polls[2] = {{.fd = f->socket, .events = POLLIN}, {.fd = f->wake, .events = POLLIN}};
        if (poll(polls, 2, next_timeout(next)) < 0) continue;
        uint64_t count;
        if (polls[1].revents && read(f->wake, &count, sizeof count) < 0) continue;
        if (!polls[0].revents) continue;
        if (emu_message_receive(f->socket, &m, sizeof m, NULL)) return;
        emu_lock();
        if (m.kind == EMU_XDNA_DONE) emu_exec_done(f, &m);
        emu_unlock();
    }
}

static void *run_monitor(void *argument) {
    struct emu_file *f = argument;
    pid_t pid = 0;
    int error = spawn(f, &pid);
    close(f->child_socket);
    emu_lock();
    f->pid = emu.last_pid = pid;
    f->start_error = error;
    f->started = true;
    pthread_cond_broadcast(&emu.changed);
    emu_unlock();
    if (error) return NULL;
    listen_to(f);
    lose(f);
    emu_lock();
    f->pid = 0;
    emu_unlock();
    kill(pid, SIGKILL); // not reaped yet, so it is still ours
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    return NULL;
}

int emu_process_send(struct emu_file *f, const struct emu_xdna_message *m, int fd) {
    return emu_message_send(f->socket, m, sizeof *m, fd) ? EIO : 0;
}

// The first message waits in the socket until the process is up.
static int greet(struct emu_file *f) {
    const struct emu_settings *s = &f->settings;
    struct emu_xdna_message m = {.kind = EMU_XDNA_HELLO};
    m.hello.memory_bytes = s->memory;
    m.hello.seed = s->seed;
    m.hello.generation = s->generation->number;
    m.hello.columns = s->generation->columns;
    m.hello.shuffle = s->shuffle;
    return emu_process_send(f, &m, f->device_fd);
}

static int start_monitor(struct emu_file *f) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&f->monitor, NULL, run_monitor, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) return error;
    while (!f->started) emu_wait(UINT64_MAX / 2);
    return 0;
}

int emu_process_start(struct emu_file *f) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) return errno;
    // Above the descriptor that the child gets, or dup2 would leave close-on-exec set.
    f->child_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 16);
    close(pair[1]);
    f->socket = pair[0];
    f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->lost = f->started = false;
    int error = f->child_socket < 0 || f->wake < 0 ? EMFILE : greet(f);
    if (!error) error = start_monitor(f);
    if (!error && f->start_error) {
        emu_unlock();
        pthread_join(f->monitor, NULL);
        emu_lock();
        error = ENODEV;
    }
    if (!error) return 0;
    if (!f->started && f->child_socket >= 0) close(f->child_socket);
    close(f->socket);
    if (f->wake >= 0) close(f->wake);
    return error;
}

void emu_process_stop(struct emu_file *f) {
    f->closing = true;
    pthread_cond_broadcast(&emu.changed);
    shutdown(f->socket, SHUT_RDWR);
    emu_unlock();
    pthread_join(f->monitor, NULL);
    emu_lock();
    close(f->socket);
    close(f->wake);
}
