// Violations: what was found first, for the host, with the op at work; then the process ends as by an exception.
#include "strict.h"
#include "qurt.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    _Atomic int index;
    _Atomic(const char *) name;
} op = {-1, NULL};

void emu_strict_op(int index, const char *name) {
    if (index >= 0) emu_strict_dma_drained("when the next op began");
    atomic_store(&op.index, index);
    atomic_store(&op.name, name);
}

void emu_strict_answer(void) {
    if (emu_strict_dma()) emu_strict_dma_drained("when an answer was sent");
    emu_strict_op(-1, NULL);
    if (!emu_strict_cache()) return;
    emu_strict_fence();
    emu_strict_send();
}

static int place(char *out, size_t size) {
    char thread[QURT_THREAD_ATTR_NAME_MAXLEN + 1] = "";
    const char *name = atomic_load(&op.name);
    int index = atomic_load(&op.index);
    qurt_thread_get_name(thread, sizeof thread);
    if (index < 0) return snprintf(out, size, "outside of ops, thread %s %u: ", thread, qurt_thread_get_id());
    return snprintf(out, size, "op %d (%s), thread %s %u: ", index, name ? name : "?", thread, qurt_thread_get_id());
}

void emu_strict_report(const char *kind, const char *format, ...) {
    struct emu_violation *v = &emu_block->violation;
    char text[EMU_VIOLATION_BYTES];
    uint32_t none = 0;
    bool first = atomic_compare_exchange_strong(&v->state, &none, 1);
    int used = place(text, sizeof text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    emu_strict_code(text + strlen(text), sizeof text - strlen(text), first);
    emu_count(EMU_COUNT_VIOLATIONS, 1);
    emu_loud("%s: %s", kind, text);
    if (first) {
        snprintf(v->kind, sizeof v->kind, "%s", kind);
        memcpy(v->text, text, sizeof v->text);
        atomic_store(&v->state, 2);
    }
    if (emu_block->strict.go_on) return;
    // Another thread may be at writing the text that the host is to read.
    while (atomic_load(&emu_block->violation.state) == 1) usleep(100);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}
