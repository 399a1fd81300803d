// Starting the device process, hearing what it says, and its end. The monitor thread spawns the process, reads its
// answers and runs the watchdog. The process ends when its socket does, so also when this process is killed.
#include "emu_xdna.h"
#include "child.h"
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(struct emu_file *f, pid_t *pid) {
    char path[1024], *argv[] = {path, NULL};
    if (*f->settings.device)
        snprintf(path, sizeof path, "%s", f->settings.device);
    else
        emu_child_beside((void *)(uintptr_t)&emu_process_start, "npu-emu-xdna-device", path, sizeof path);
    _Static_assert(EMU_XDNA_SOCKET == 3, "the first of a child");
    int result = emu_child_start(path, false, argv, &f->child_socket, 1, pid);
    if (result) fprintf(stderr, "npu-emu: can't start %s: %s\n", path, strerror(result));
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
    int error = emu_child_thread(&f->monitor, run_monitor, f);
    if (error) return error;
    while (!f->started) emu_wait(UINT64_MAX / 2);
    return 0;
}

int emu_process_start(struct emu_file *f) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) return errno;
    f->child_socket = emu_child_file(pair[1]);
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
