// Starting an NPU process and watching for its end. The monitor thread spawns the process and lives as long as it does:
// the kernel kills the process when the thread that made it ends, so this must not be a thread of the application. No
// signal handlers: the end is seen by waitid.
#include "emu_host.h"
#include "child.h"
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_TIMEOUT_MS 20000

struct start {
    struct emu_session *session;
    int socket;
    int block;
    char loader[EMU_PATH_BYTES];
    char qemu[EMU_PATH_BYTES];
    bool answered;
    int error;
};

static void fill_block(const struct emu_session *session, struct emu_block *block) {
    const struct emu_settings *s = &emu.settings;
    block->magic = EMU_BLOCK_MAGIC;
    block->effective_domain = (uint32_t)session->effective_domain;
    block->arch = s->arch;
    block->hw_threads = s->hw_threads;
    block->hvx_contexts = emu_hvx_contexts(s);
    block->vtcm_bytes = emu_vtcm_bytes(s);
    block->slots = s->slots;
    block->window_bytes = s->window_bytes;
    block->idle = s->idle;
    block->watchdog_ms = s->watchdog_ms;
    if (session->driver == EMU_DRIVER_SIM) block->strict = s->strict;
    block->seed = s->seed;
    block->pcycles_mhz = s->pcycles_mhz;
    block->farf_mask = s->farf_mask;
    block->hmx_v2 = s->hmx_v2;
    block->window_by_free = s->window_by_free;
    block->import_needs_callback = s->import_needs_callback;
    block->thread_priority = session->thread_priority > 0 ? (uint32_t)session->thread_priority : 0xC0;
    block->host_pid = (uint32_t)getpid();
    memcpy(block->faults, s->faults, sizeof block->faults);
}

static int make_block(struct emu_session *session) {
    int fd = memfd_create("npu-emu-session", MFD_CLOEXEC);
    void *memory;
    if (fd < 0) return -1;
    if (ftruncate(fd, sizeof(struct emu_block))) goto fail;
    memory = mmap(NULL, sizeof(struct emu_block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) goto fail;
    session->block = memory;
    session->block_fd = fd;
    fill_block(session, memory);
    return 0;
fail:
    close(fd);
    return -1;
}

static void loader_path(char *path, size_t bytes) {
    if (*emu.settings.loader)
        snprintf(path, bytes, "%s", emu.settings.loader);
    else
        emu_child_beside((void *)(uintptr_t)&emu_session_spawn, "npu-emu-dsp", path, bytes);
}

static int spawn(const struct start *start, pid_t *pid) {
    const struct emu_session *session = start->session;
    char *const native[] = {(char *)(uintptr_t)start->loader, NULL};
    char *const emulated[] = {(char *)(uintptr_t)start->qemu, "-cpu", "v73", (char *)(uintptr_t)session->program, NULL};
    const int files[] = {start->socket, start->block};
    _Static_assert(EMU_CONTROL_FD == 3 && EMU_BLOCK_FD == 4, "in the order of |files|");
    if (session->driver == EMU_DRIVER_QEMU) return emu_child_start(start->qemu, true, emulated, files, 2, pid);
    return emu_child_start(start->loader, false, native, files, 2, pid);
}

// A program that ends with a failure status ended by an exception too: sanitizers end so.
static remote_rpc_status_flags_t end_of(const struct emu_block *block, const siginfo_t *info) {
    switch (block->exit_kind) {
    case EMU_EXIT_RESTART:
    case EMU_EXIT_RESTARTED:
        return FASTRPC_DSP_SSR;
    case EMU_EXIT_KILLED:
        return FASTRPC_USER_PD_FORCE_KILL;
    case EMU_EXIT_ASKED:
        return FASTRPC_USER_PD_EXIT;
    default:
        return info->si_code == CLD_EXITED && !info->si_status ? FASTRPC_USER_PD_EXIT : FASTRPC_USER_PD_EXCEPTION;
    }
}

struct report {
    struct emu_session *session;
    uint32_t generation;
    remote_rpc_status_flags_t status;
};

static void notify(const struct emu_session *session, remote_rpc_status_flags_t status) {
    int domain = session->effective_domain % EMU_DOMAIN_STEP, number = session->effective_domain / EMU_DOMAIN_STEP;
    for (uint32_t i = 0;; i++) {
        fastrpc_notif_fn_t call = NULL;
        void *context = NULL;
        emu_lock();
        bool more = i < emu.notifier_count;
        if (more && (emu.notifiers[i].domain == domain || emu.notifiers[i].domain == session->effective_domain)) {
            call = emu.notifiers[i].call;
            context = emu.notifiers[i].context;
        }
        emu_unlock();
        if (!more) return;
        if (call) call(context, domain, number, status);
    }
}

static void *run_report(void *argument) {
    struct report report = *(struct report *)argument;
    free(argument);
    if (report.status != FASTRPC_USER_PD_UP)
        emu_queues_report(report.session, report.generation,
                          report.status == FASTRPC_DSP_SSR ? AEE_ECONNRESET : AEE_ENOSUCH);
    notify(report.session, report.status);
    return NULL;
}

// Callbacks of the application run on a thread of their own: they may close the session whose monitor reports.
static void start_report(struct emu_session *session, remote_rpc_status_flags_t status) {
    struct report *report = malloc(sizeof *report);
    pthread_t thread;
    if (!report) return;
    *report = (struct report){session, session->generation, status};
    if (pthread_create(&thread, NULL, run_report, report))
        free(report);
    else
        pthread_detach(thread);
}

// A restart of the DSP ends the processes of all its sessions: those that run now, not one that is opened after it.
// Under emu.lock.
static void restart_others(const struct emu_session *first) {
    for (int s = 0; s < EMU_SESSIONS; s++) {
        struct emu_session *other = &emu.sessions[first->effective_domain % EMU_DOMAIN_STEP][s];
        if (other->state != EMU_SESSION_LIVE || !other->pid) continue;
        other->block->exit_kind = EMU_EXIT_RESTARTED;
        kill(other->pid, SIGKILL);
    }
}

static void watch(struct emu_session *session, pid_t pid) {
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
    emu_lock();
    session->end = end_of(session->block, &info);
    session->pid = 0;
    if (atomic_load(&session->block->violation.state) == 2) {
        memcpy(session->violation_kind, session->block->violation.kind, sizeof session->violation_kind);
        memcpy(session->violation, session->block->violation.text, sizeof session->violation);
    }
    if (session->state == EMU_SESSION_LIVE) session->state = EMU_SESSION_DEAD;
    if (session->block->exit_kind == EMU_EXIT_RESTART) restart_others(session);
    emu_queues_break(session);
    start_report(session, session->end);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    pthread_cond_broadcast(&emu.changed);
    emu_unlock();
}

static void *run_monitor(void *argument) {
    struct start *start = argument;
    struct emu_session *session = start->session;
    pid_t pid = 0;
    int error = spawn(start, &pid);
    close(start->socket);
    emu_lock();
    session->pid = error ? 0 : pid;
    start->error = error;
    start->answered = true; // |start| belongs to the starting thread again
    pthread_cond_broadcast(&emu.changed);
    emu_unlock();
    if (!error) watch(session, pid);
    return NULL;
}

static int start_monitor(struct emu_session *session, struct start *start) {
    int error = emu_child_thread(&session->monitor, run_monitor, start);
    if (error) return error;
    emu_lock();
    while (!start->answered) pthread_cond_wait(&emu.changed, &emu.lock);
    emu_unlock();
    if (start->error) pthread_join(session->monitor, NULL);
    return start->error;
}

// The process answers once it is up; one that can't be run, or ends early, closes its socket.
static int wait_ready(struct emu_session *session) {
    struct emu_control message = {.kind = EMU_CONTROL_READY};
    struct pollfd poller = {.fd = session->control, .events = POLLIN};
    if (emu_message_send(session->control, &message, sizeof message, -1)) return -1;
    if (poll(&poller, 1, READY_TIMEOUT_MS) != 1) return -1;
    return emu_message_receive(session->control, &message, sizeof message, NULL);
}

static void stop_failed(struct emu_session *session) {
    emu_lock();
    if (session->pid) kill(session->pid, SIGKILL);
    emu_unlock();
    pthread_join(session->monitor, NULL);
}

int emu_session_spawn(struct emu_session *session) {
    struct start start = {.session = session, .socket = -1};
    int pair[2], error;
    if (session->driver == EMU_DRIVER_QEMU && !*session->program) {
        emu_tell("qemu starts a program that is named at the first open, and none was");
        return EMU_DSP_PROCESS_FAILED;
    }
    if (make_block(session)) return AEE_ENOMEMORY;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) goto fail_block;
    start.socket = emu_child_file(pair[1]);
    close(pair[1]);
    start.block = emu_child_file(session->block_fd);
    session->control = pair[0];
    snprintf(start.qemu, sizeof start.qemu, "%s", emu.settings.qemu);
    loader_path(start.loader, sizeof start.loader);
    session->generation++;
    error = start.socket < 0 || start.block < 0 ? EMFILE : start_monitor(session, &start);
    if (start.block >= 0) close(start.block);
    if (error) {
        emu_tell("%s: can't start %s", strerror(error), session->driver == EMU_DRIVER_QEMU ? start.qemu : start.loader);
    } else if (wait_ready(session) || emu_strict_start(session)) {
        stop_failed(session);
    } else {
        start_report(session, FASTRPC_USER_PD_UP);
        return 0;
    }
    close(session->control);
    session->control = -1;
fail_block:
    emu_lock();
    emu_faults_gather(session);
    emu_unlock();
    munmap(session->block, sizeof *session->block);
    close(session->block_fd);
    session->block = NULL;
    session->block_fd = -1;
    return EMU_DSP_PROCESS_FAILED;
}
