// Sessions: one NPU process each, counted by its users (handles, queues, calls at work). The process starts with the
// first user and ends with the last; one that died stays dead until all its users have left, as on a device, where the
// host must close its handles and open again.
#include "emu_host.h"
#include "../common/futex.h"
#include "message.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct emu_session *emu_session_of(int effective_domain) {
    int domain = effective_domain % EMU_DOMAIN_STEP, session = effective_domain / EMU_DOMAIN_STEP;
    if (effective_domain < 0 || session >= (int)emu.settings.sessions) return NULL;
    if (domain < CDSP_DOMAIN_ID || domain >= CDSP_DOMAIN_ID + (int)emu.settings.cdsps) return NULL;
    return &emu.sessions[domain][session];
}

int emu_default_domain(int domain) {
    return domain == -1 ? CDSP_DOMAIN_ID : domain;
}

static void wait_not_busy(struct emu_session *session) {
    while (session->state == EMU_SESSION_BUSY) pthread_cond_wait(&emu.changed, &emu.lock);
}

static void set_state(struct emu_session *session, enum emu_session_state state) {
    session->state = state;
    pthread_cond_broadcast(&emu.changed);
}

int emu_session_use(struct emu_session *session, const char *program) {
    int result = 0;
    emu_lock();
    wait_not_busy(session);
    if (session->state == EMU_SESSION_DEAD) {
        result = AEE_ECONNREFUSED;
    } else if (session->state == EMU_SESSION_CLOSED) {
        session->driver = emu.settings.driver;
        snprintf(session->program, sizeof session->program, "%s", program ? program : "");
        set_state(session, EMU_SESSION_BUSY);
        emu_unlock();
        result = emu_session_spawn(session);
        emu_lock();
        if (result)
            set_state(session, EMU_SESSION_CLOSED);
        else // it may have ended again already
            set_state(session, session->pid ? EMU_SESSION_LIVE : EMU_SESSION_DEAD);
    }
    if (!result) session->users++;
    emu_unlock();
    return result;
}

int emu_session_hold(struct emu_session *session) {
    int result = 0;
    emu_lock();
    wait_not_busy(session);
    if (session->state == EMU_SESSION_LIVE)
        session->users++;
    else
        result = session->state == EMU_SESSION_DEAD ? AEE_ECONNRESET : AEE_ENOTINITIALIZED;
    emu_unlock();
    return result;
}

// Waits for the monitor to see the end, killing the process when it does not end by itself. Under emu.lock.
static void wait_dead(struct emu_session *session, unsigned patience_ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += patience_ms / 1000;
    until.tv_nsec += (long)(patience_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    while (session->pid && pthread_cond_timedwait(&emu.changed, &emu.lock, &until) == 0) continue;
    // The monitor takes emu.lock before it reaps, so a pid that is still set is our child's.
    if (session->pid) kill(session->pid, SIGKILL);
    while (session->pid) pthread_cond_wait(&emu.changed, &emu.lock);
}

static void tear_down(struct emu_session *session) {
    struct emu_control message = {.kind = EMU_CONTROL_EXIT};
    bool alive = session->state == EMU_SESSION_LIVE;
    set_state(session, EMU_SESSION_BUSY);
    if (alive) {
        session->block->exit_kind = EMU_EXIT_ASKED;
        emu_message_send(session->control, &message, sizeof message, -1);
    }
    wait_dead(session, 500);
    emu_unlock();
    pthread_join(session->monitor, NULL);
    emu_lock();
    while (session->channel_count) close(session->channels[--session->channel_count]);
    close(session->control);
    close(session->block_fd);
    emu_faults_gather(session);
    munmap(session->block, sizeof *session->block);
    session->control = session->block_fd = -1;
    session->block = NULL;
    session->reserved = false;
    emu_mappings_clear(session);
    set_state(session, EMU_SESSION_CLOSED);
}

void emu_session_leave(struct emu_session *session) {
    emu_lock();
    if (--session->users == 0) tear_down(session);
    emu_unlock();
}

void emu_session_kill(struct emu_session *session, enum emu_exit_kind kind) {
    emu_lock();
    emu.kills++;
    pthread_cond_broadcast(&emu.changed);
    if (session->state == EMU_SESSION_LIVE && session->pid) {
        session->block->exit_kind = kind;
        kill(session->pid, SIGKILL);
        while (session->state == EMU_SESSION_LIVE) pthread_cond_wait(&emu.changed, &emu.lock);
    }
    emu_unlock();
}

int emu_session_ask(struct emu_session *session, struct emu_control *message, int fd) {
    int failed;
    pthread_mutex_lock(&session->control_lock);
    failed = emu_message_send(session->control, message, sizeof *message, fd) ||
             emu_message_receive(session->control, message, sizeof *message, NULL);
    pthread_mutex_unlock(&session->control_lock);
    return failed ? AEE_ECONNRESET : message->result;
}

void emu_session_tell(struct emu_session *session, struct emu_control *message) {
    enum { PATIENCE_MS = 20000 };
    struct pollfd answer = {session->control, POLLIN, 0};
    pthread_mutex_lock(&session->control_lock);
    bool failed = emu_message_send(session->control, message, sizeof *message, -1);
    bool late = !failed && poll(&answer, 1, PATIENCE_MS) == 0;
    if (!failed && !late) emu_message_receive(session->control, message, sizeof *message, NULL);
    pthread_mutex_unlock(&session->control_lock);
    if (late) emu_session_kill(session, EMU_EXIT_UNKNOWN);
}

int emu_session_end_code(struct emu_session *session) {
    int code;
    emu_lock();
    while (session->state == EMU_SESSION_LIVE) pthread_cond_wait(&emu.changed, &emu.lock);
    code = session->end == FASTRPC_DSP_SSR ? AEE_ECONNRESET : EMU_DSP_EXCEPTION;
    emu_unlock();
    return code;
}

void emu_faults_gather(const struct emu_session *session) {
    if (session->block) emu.faults.met |= atomic_load(&session->block->faults_met);
}

void emu_faults_publish(struct emu_session *session) {
    if (!session->block) return;
    atomic_fetch_add(&session->block->fault_turn, 1);
    atomic_store(&session->block->faults_met, 0);
    memcpy(session->block->faults, emu.settings.faults, sizeof session->block->faults);
    atomic_fetch_add(&session->block->fault_turn, 1);
}
