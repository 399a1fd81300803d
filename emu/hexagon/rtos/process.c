// Life of the NPU process: takes the session block and the control socket it was started with, serves the host's
// control messages until the host goes away. The program's code runs on other threads.
#include "emu_dsp.h"
#include "message.h"
#include "../strict/strict.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct emu_block *emu_block;

static struct {
    pthread_mutex_t lock;
    uint32_t turn;
    struct emu_faults faults;
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = UINT32_MAX};

void emu_loud(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "npu-emu[dsp %u]: %s\n", emu_block ? emu_block->effective_domain : 0, text);
}

static enum emu_fault_action meet(const char *name, int64_t *value) {
    uint32_t turn = atomic_load(&emu_block->fault_turn);
    enum emu_fault_action action = EMU_FAULT_NONE;
    pthread_mutex_lock(&faults.lock);
    if (turn != faults.turn && !(turn & 1)) {
        char text[EMU_FAULT_BYTES];
        memcpy(text, emu_block->faults, sizeof text);
        text[sizeof text - 1] = 0;
        if (turn == atomic_load(&emu_block->fault_turn)) {
            emu_faults_parse(&faults.faults, text, (int)emu_block->effective_domain);
            faults.turn = turn;
        }
    }
    if (faults.faults.count) action = emu_faults_meet(&faults.faults, name, value);
    uint32_t met = faults.faults.met;
    pthread_mutex_unlock(&faults.lock);
    if (action != EMU_FAULT_NONE) atomic_fetch_or(&emu_block->faults_met, met);
    if (action != EMU_FAULT_NONE) emu_count(EMU_COUNT_FAULTS_MET, 1);
    return action;
}

void emu_process_end(enum emu_exit_kind kind) {
    emu_block->exit_kind = kind;
    if (kind == EMU_EXIT_ASKED) _exit(0);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

enum emu_fault_action emu_dsp_fault(const char *name, int64_t *value) {
    enum emu_fault_action action = meet(name, value);
    switch (action) {
    case EMU_FAULT_DELAY:
        usleep((useconds_t)*value);
        break;
    case EMU_FAULT_HANG:
        for (;;) pause();
    case EMU_FAULT_DIE:
        emu_process_end(EMU_EXIT_UNKNOWN);
        break;
    case EMU_FAULT_EXIT:
        emu_process_end(EMU_EXIT_ASKED);
        break;
    case EMU_FAULT_RESTART:
        emu_process_end(EMU_EXIT_RESTART);
        break;
    default:
        break;
    }
    return action;
}

bool emu_dsp_meet(const char *name, int *code) {
    int64_t value = 0;
    if (emu_dsp_fault(name, &value) != EMU_FAULT_CODE) return false;
    *code = (int)value;
    return true;
}

static int load(struct emu_control *message) {
    int code = 0;
    npu_emu_skel_fn *skel;
    message->name[sizeof message->name - 1] = message->path[sizeof message->path - 1] = 0;
    skel = emu_program_skel(message->path, message->name, &code);
    return skel ? emu_module_add(skel, &message->value) : code;
}

// Takes |fd| over: every branch keeps or closes it.
static int serve(struct emu_control *message, int fd) {
    switch (message->kind) {
    case EMU_CONTROL_READY:
        return 0;
    case EMU_CONTROL_LOAD:
        return load(message);
    case EMU_CONTROL_CHANNEL:
        return emu_channel_start(fd);
    case EMU_CONTROL_MAP:
        return emu_window_announce(message->fd, fd, message->value, message->flags);
    case EMU_CONTROL_UNMAP:
        return emu_window_withdraw(message->fd);
    case EMU_CONTROL_FORGET:
        emu_window_forget(message->fd);
        return 0;
    case EMU_CONTROL_QUEUE_CREATE:
        return emu_dsp_queue_create(message->value, fd);
    case EMU_CONTROL_QUEUE_DESTROY:
        return emu_dsp_queue_destroy(message->value);
    case EMU_CONTROL_CLOCKS:
        return emu_strict_clocks(fd) ? AEE_ENOMEMORY : 0;
    case EMU_CONTROL_EXIT:
        exit(0);
    default:
        return AEE_EUNSUPPORTED;
    }
}

static int attach_block(void) {
    void *memory = mmap(NULL, sizeof *emu_block, PROT_READ | PROT_WRITE, MAP_SHARED, EMU_BLOCK_FD, 0);
    if (memory == MAP_FAILED) return -1;
    emu_block = memory;
    return emu_block->magic == EMU_BLOCK_MAGIC ? 0 : -1;
}

int emu_process_run(void) {
    struct emu_control message;
    int fd;
    if (attach_block()) {
        fprintf(stderr, "npu-emu-dsp is started by libcdsprpc.so, not by hand\n");
        return 2;
    }
    // The host may have gone between its starting us and this call; the socket's end is the second net.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)emu_block->host_pid) return 0;
    if (emu_low_init() || emu_watchdog_start()) return 2;
    while (!emu_message_receive(EMU_CONTROL_FD, &message, sizeof message, &fd)) {
        message.result = serve(&message, fd);
        if (emu_message_send(EMU_CONTROL_FD, &message, sizeof message, -1)) break;
    }
    _exit(0);
}
