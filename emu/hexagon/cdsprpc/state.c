// The library's one state, its first filling, and faults on request for host calls.
#include "emu_host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct emu_host emu = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void fill(void) {
    emu_settings_default(&emu.settings);
    emu.next_handle = 1;
    emu.next_queue = 1;
    for (int d = 0; d < EMU_DOMAINS; d++) {
        for (int s = 0; s < EMU_SESSIONS; s++) {
            struct emu_session *session = &emu.sessions[d][s];
            session->effective_domain = d + EMU_DOMAIN_STEP * s;
            session->control = -1;
            session->block_fd = -1;
            pthread_mutex_init(&session->control_lock, NULL);
        }
    }
    emu.ready = true;
}

void emu_lock(void) {
    pthread_mutex_lock(&emu.lock);
    if (!emu.ready) fill();
}

void emu_unlock(void) {
    pthread_mutex_unlock(&emu.lock);
}

static void end_all(enum emu_exit_kind kind) {
    for (int d = 0; d < EMU_DOMAINS; d++)
        for (int s = 0; s < EMU_SESSIONS; s++) emu_session_kill(&emu.sessions[d][s], kind);
}

// Until a process is to be ended: then the call goes on, and meets what is left of it.
static void hang(void) {
    emu_lock();
    for (uint64_t kills = emu.kills; kills == emu.kills;) pthread_cond_wait(&emu.changed, &emu.lock);
    emu_unlock();
}

bool emu_meet(const char *name, int *code) {
    enum emu_fault_action action;
    int64_t value = 0;
    emu_lock();
    action = emu.faults.count ? emu_faults_meet(&emu.faults, name, &value) : EMU_FAULT_NONE;
    emu_unlock();
    switch (action) {
    case EMU_FAULT_CODE:
        *code = (int)value;
        return true;
    case EMU_FAULT_DELAY:
        usleep((useconds_t)value);
        break;
    case EMU_FAULT_HANG:
        hang();
        break;
    case EMU_FAULT_DIE:
        end_all(EMU_EXIT_UNKNOWN);
        break;
    case EMU_FAULT_EXIT:
        end_all(EMU_EXIT_ASKED);
        break;
    case EMU_FAULT_RESTART:
        end_all(EMU_EXIT_RESTARTED);
        break;
    default:
        break;
    }
    return false;
}
