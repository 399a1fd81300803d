// The host library's part of strict mode: memory for the clocks that all NPU processes share, records of lines behind
// each shared buffer, and what was found.
#include "emu_host.h"
#include "npu_emu.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOST 0

bool emu_strict(void) {
    const struct emu_strictness *s = &emu.settings.strict;
    return s->cache || s->dma || s->vtcm;
}

static int make_clocks(void) {
    int fd = memfd_create("npu-emu-clocks", MFD_CLOEXEC);
    void *memory;
    if (fd < 0) return -1;
    memory = ftruncate(fd, sizeof *emu.clocks)
                 ? MAP_FAILED
                 : mmap(NULL, sizeof *emu.clocks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        close(fd);
        return -1;
    }
    emu.clocks = memory;
    emu.clocks_fd = fd;
    return 0;
}

int emu_strict_start(struct emu_session *session) {
    struct emu_control message = {.kind = EMU_CONTROL_CLOCKS};
    bool wanted, failed;
    emu_lock();
    session->violation_kind[0] = session->violation[0] = 0;
    wanted = emu_strict() && session->driver == EMU_DRIVER_SIM;
    failed = wanted && !emu.clocks && make_clocks();
    emu_unlock();
    if (failed) return AEE_ENOMEMORY;
    return wanted ? emu_session_ask(session, &message, emu.clocks_fd) : 0;
}

static void raise_to(_Atomic uint32_t *known, uint32_t epoch) {
    uint32_t now = atomic_load(known);
    while ((int32_t)(epoch - now) > 0 && !atomic_compare_exchange_weak(known, &now, epoch)) continue;
}

void emu_strict_answered(const struct emu_session *session) {
    uint32_t agent = (uint32_t)session->effective_domain % EMU_AGENTS;
    struct emu_clocks *c = emu.clocks;
    if (!c || session->driver != EMU_DRIVER_SIM) return;
    // What the device writes after its answer has the epoch it is in now. That first: what it knows of others may be
    // newer, never older.
    raise_to(&c->known[HOST][agent], atomic_load(&c->known[agent][agent]) - 1);
    for (uint32_t i = 0; i < EMU_AGENTS; i++)
        if (i != agent) raise_to(&c->known[HOST][i], atomic_load(&c->known[agent][i]));
}

static size_t lines_of(size_t bytes) {
    uint32_t line = emu.settings.strict.line_bytes;
    return (bytes + line - 1) / line;
}

static size_t page_round(size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
}

size_t emu_strict_tail_bytes(size_t bytes) {
    if (!emu.settings.strict.cache) return 0;
    return page_round(lines_of(bytes) * sizeof(struct emu_line) + sizeof(struct emu_buffer_tail));
}

int emu_strict_tail_write(int fd, size_t bytes) {
    struct emu_buffer_tail tail = {EMU_TAIL_MAGIC, emu.settings.strict.line_bytes, bytes, bytes, lines_of(bytes)};
    size_t tail_bytes = emu_strict_tail_bytes(bytes);
    if (!tail_bytes) return 0;
    return pwrite(fd, &tail, sizeof tail, (off_t)(bytes + tail_bytes - sizeof tail)) == sizeof tail ? 0 : -1;
}

EMU_API int npu_emu_violation(int domain, char *kind, unsigned kind_bytes, char *text, unsigned text_bytes) {
    struct emu_session *session;
    int result = AEE_EBADPARM;
    if (!kind || !text || !kind_bytes || !text_bytes) return AEE_EBADPARM;
    emu_lock();
    session = emu_session_of(domain);
    if (session && session->block && atomic_load(&session->block->violation.state) == 2) {
        snprintf(session->violation_kind, sizeof session->violation_kind, "%s", session->block->violation.kind);
        snprintf(session->violation, sizeof session->violation, "%s", session->block->violation.text);
    }
    if (session && session->violation_kind[0]) {
        snprintf(kind, kind_bytes, "%s", session->violation_kind);
        snprintf(text, text_bytes, "%s", session->violation);
        result = 0;
    }
    emu_unlock();
    return result;
}
