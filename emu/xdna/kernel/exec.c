// Commands: what a submit checks, how the device's answer ends a command, waits, the watchdog.
#include "emu_xdna.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_AT = 5 }; // payload: opcode (2 words), address of the instructions (2), their number, then the arguments

static uint32_t *words_of(const struct emu_file *f, const struct emu_bo *cmd) {
    return (uint32_t *)(void *)(f->host + cmd->offset);
}

// The place of |address| in memory, when a buffer that the command names or the heap holds it.
static bool resolve(const struct emu_file *f, const struct emu_job *job, uint64_t address, struct emu_xdna_range *out) {
    for (uint32_t i = 0; i <= job->n_args; i++) {
        const struct emu_bo *bo = i < job->n_args ? job->args[i] : emu_heap_of((struct emu_file *)(uintptr_t)f);
        if (!bo) continue;
        uint64_t begin = emu_bo_address(f, bo);
        if (begin == AMDXDNA_INVALID_ADDRESS || address < begin || address - begin >= bo->size) continue;
        *out = (struct emu_xdna_range){bo->offset + (address - begin), bo->size - (address - begin)};
        return true;
    }
    fprintf(stderr, "npu-emu: command %llu: address 0x%llx is in no buffer that it lists\n",
            (unsigned long long)job->sequence, (unsigned long long)address);
    return false;
}

static uint64_t pair(const uint32_t *words) {
    return (uint64_t)words[1] << 32 | words[0];
}

static int lowest_bit(const uint32_t *masks, uint32_t n) {
    for (uint32_t i = 0; i < 32 * n; i++)
        if (masks[i / 32] >> i % 32 & 1) return (int)i;
    return -1;
}

// The packet as the driver and the firmware read it. A malformed one is never run and keeps its state; one with a wrong
// address hangs, as it does behind an IOMMU.
static void read_packet(struct emu_file *f, const struct emu_context *c, const struct emu_job *job,
                        struct emu_xdna_message *m) {
    const uint32_t *words = words_of(f, job->cmd), header = words[0];
    uint32_t masks = 1 + AMDXDNA_CMD_EXTRA_MASKS(header), count = AMDXDNA_CMD_COUNT(header);
    m->exec.fault = EMU_FAULT_CODE;
    m->exec.value = AMDXDNA_STATE_NEW;
    if (AMDXDNA_CMD_OPCODE(header) != AMDXDNA_START_CU || count <= masks || 4 + 4 * (uint64_t)count > job->cmd->size)
        return;
    int cu = lowest_bit(words + 1, masks);
    if (cu < 0 || (uint32_t)cu >= c->n_cus) return;
    const uint32_t *payload = words + 1 + masks, n = count - masks;
    if (n < ARGS_AT || pair(payload) != AMDXDNA_OPCODE_RUN) return;
    const struct emu_bo *pdi = emu_bo_of(f, c->cus[cu].bo);
    m->exec.fault = EMU_FAULT_HANG;
    if (!pdi) return;
    m->exec.pdi = (struct emu_xdna_range){pdi->offset, pdi->size};
    if (!resolve(f, job, pair(payload + 2), &m->exec.insts)) return;
    for (uint32_t at = ARGS_AT; at + 2 <= n && m->exec.n_args < EMU_XDNA_ARGS && pair(payload + at); at += 2)
        if (!resolve(f, job, pair(payload + at), &m->exec.args[m->exec.n_args++])) return;
    m->exec.fault = EMU_FAULT_NONE;
}

static void send_command(struct emu_file *f, struct emu_context *c, struct emu_job *job) {
    struct emu_xdna_message m = {.kind = EMU_XDNA_EXEC, .context = c->handle, .sequence = job->sequence};
    m.exec.columns = c->columns;
    read_packet(f, c, job, &m);
    int64_t value = 0;
    enum emu_fault_action action = emu_faults_meet(&emu.faults, "cmd", &value);
    if (action != EMU_FAULT_NONE) {
        m.exec.fault = action;
        m.exec.value = value;
    }
    emu.counters[EMU_COMMANDS]++;
    emu_process_send(f, &m, -1); // when it is gone, the monitor ends the command
}

static int collect_args(struct emu_file *f, const struct amdxdna_exec_cmd *e, struct emu_bo ***args) {
    const uint32_t *handles = (const uint32_t *)(uintptr_t)e->args;
    if (e->arg_count && !handles) return EFAULT;
    *args = calloc(e->arg_count + 1, sizeof **args);
    if (!*args) return ENOMEM;
    int error = 0;
    for (uint32_t i = 0; i < e->arg_count && !error; i++) {
        (*args)[i] = emu_bo_of(f, handles[i]);
        if (!(*args)[i])
            error = ENOENT;
        else if ((*args)[i]->type == AMDXDNA_BO_CMD)
            error = f->settings.profile->cmd_arg_errno;
    }
    if (error) free(*args);
    return error;
}

static int check_submit(struct emu_file *f, const struct amdxdna_exec_cmd *e) {
    const struct emu_profile *p = f->settings.profile;
    const struct emu_context *c = emu_hwctx_of(f, e->hwctx);
    const struct emu_bo *cmd = emu_bo_of(f, (uint32_t)e->cmd_handles);
    if (e->ext || e->ext_flags || e->type != AMDXDNA_EXEC_BUF || e->cmd_count != 1 || e->arg_count > EMU_MAX_ARGS)
        return EINVAL;
    if (p->args_needed && !e->arg_count) return EINVAL;
    if (!c || c->dead || (p->needs_cu && !c->n_cus)) return EINVAL;
    return !cmd || cmd->type != AMDXDNA_BO_CMD || cmd->size < 4 ? EINVAL : 0;
}

int emu_exec(struct emu_file *f, struct amdxdna_exec_cmd *e) {
    struct emu_bo **args;
    for (;;) {
        int error = check_submit(f, e);
        if (error) return error;
        const struct emu_context *c = emu_hwctx_of(f, e->hwctx);
        if (c->submitted - c->completed < EMU_QUEUE) break;
        emu_wait(UINT64_MAX / 2);
        if (f->lost || f->closing) return ENODEV;
    }
    int error = collect_args(f, e, &args);
    if (error) return error;
    struct emu_context *c = emu_hwctx_of(f, e->hwctx);
    struct emu_job *job = &c->jobs[c->submitted % EMU_QUEUE];
    *job = (struct emu_job){c->submitted, emu_bo_of(f, (uint32_t)e->cmd_handles), args, e->arg_count};
    job->cmd->running++;
    for (uint32_t i = 0; i < job->n_args; i++) args[i]->running++;
    uint32_t *words = words_of(f, job->cmd);
    *words = (*words & ~15u) | AMDXDNA_STATE_NEW;
    if (c->submitted == c->completed) c->head_since_ns = emu_now_ns();
    e->seq = c->submitted++;
    send_command(f, c, job);
    uint64_t one = 1;
    if (write(f->wake, &one, sizeof one) < 0) return 0; // full: it is awake
    return 0;
}

// Ends the oldest command of |c| with |state| (0: as it is).
static void finish(struct emu_file *f, struct emu_context *c, uint32_t state) {
    struct emu_job *job = &c->jobs[c->completed % EMU_QUEUE];
    uint32_t *words = words_of(f, job->cmd);
    bool failed = state == AMDXDNA_STATE_ERROR || state == AMDXDNA_STATE_ABORT || state == AMDXDNA_STATE_TIMEOUT;
    if (failed && f->settings.profile->spoils) {
        uint64_t count = AMDXDNA_CMD_COUNT(*words), room = job->cmd->size / 4 - 1;
        if (count > room) count = room;
        memset(words + 1, 0xFF, count * 4);
    }
    if (state) *words = (*words & ~15u) | (state & 15u);
    for (uint32_t i = 0; i < job->n_args; i++) emu_bo_put(f, job->args[i]);
    emu_bo_put(f, job->cmd);
    free(job->args);
    *job = (struct emu_job){0};
    c->completed++;
    c->head_since_ns = emu_now_ns();
    pthread_cond_broadcast(&emu.changed);
}

void emu_exec_end(struct emu_file *f, struct emu_context *c, uint32_t first) {
    bool any = c->completed < c->submitted;
    for (uint32_t state = first; c->completed < c->submitted; state = AMDXDNA_STATE_ABORT) finish(f, c, state);
    struct emu_xdna_message reset = {.kind = EMU_XDNA_RESET, .context = c->handle};
    if (any && !f->lost) emu_process_send(f, &reset, -1);
}

void emu_exec_done(struct emu_file *f, const struct emu_xdna_message *m) {
    struct emu_context *c = emu_hwctx_of(f, m->context);
    if (!c || m->sequence != c->completed || c->completed == c->submitted) return; // ended before its answer came
    if (m->done.state > 15) {
        c->dead = true;
        emu_exec_end(f, c, AMDXDNA_STATE_ABORT);
        return;
    }
    emu_sync_after(f, m->done.wrote);
    finish(f, c, m->done.state);
}

uint64_t emu_exec_watch(struct emu_file *f) {
    uint64_t next = UINT64_MAX, now = emu_now_ns(), limit_ms = f->settings.watchdog_ms;
    if (limit_ms == EMU_BY_KERNEL) limit_ms = f->settings.profile->watchdog_ms;
    if (!limit_ms) return next;
    for (struct emu_context *c = f->contexts; c < f->contexts + EMU_CONTEXTS; c++) {
        if (!c->handle || c->completed == c->submitted) continue;
        uint64_t at = c->head_since_ns + limit_ms * 1000000u;
        if (at > now)
            next = at < next ? at : next;
        else
            emu_exec_end(f, c, f->settings.profile->timeout_stays_new ? 0 : AMDXDNA_STATE_TIMEOUT);
    }
    return next;
}

// Waits until |count| commands of the context have ended; with |count| 0 for all that are submitted, one at least.
static int wait_for(struct emu_file *f, uint32_t handle, uint64_t count, uint64_t deadline_ns) {
    const struct emu_context *c = emu_hwctx_of(f, handle);
    if (!c) return ENOENT;
    if (!count && c->submitted) count = c->submitted;
    while (c->handle == handle && (count ? c->completed < count : !c->submitted)) {
        if (f->lost || f->closing) return 0;
        if (!emu_wait(deadline_ns) && (count ? c->completed < count : !c->submitted)) return ETIME;
    }
    return 0;
}

int emu_exec_wait(struct emu_file *f, const struct amdxdna_timeline_wait *w) {
    if (!w->count || w->pad) return EINVAL;
    if (w->count != 1 || !w->handles || !w->points) return EFAULT;
    uint32_t handle;
    uint64_t point;
    memcpy(&handle, (const void *)(uintptr_t)w->handles, sizeof handle);
    memcpy(&point, (const void *)(uintptr_t)w->points, sizeof point);
    if (handle <= 1000) return ENOENT;
    return wait_for(f, handle - 1000, point ? point + 1 : 0, w->timeout_ns > 0 ? (uint64_t)w->timeout_ns : 0);
}

int emu_exec_wait_cmd(struct emu_file *f, const struct amdxdna_wait_cmd *w) {
    const struct emu_context *c = emu_hwctx_of(f, w->hwctx);
    if (f->settings.profile->wait_cmd_errno) return f->settings.profile->wait_cmd_errno;
    if (!c || w->seq >= c->submitted) return EINVAL;
    uint64_t deadline = w->timeout_ms ? emu_now_ns() + w->timeout_ms * 1000000ull : UINT64_MAX / 2;
    return wait_for(f, w->hwctx, w->seq + 1, deadline);
}
