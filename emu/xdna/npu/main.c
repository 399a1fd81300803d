// The device process: one thread hears what the driver says, one runs commands. In a context they run in their order;
// between contexts in the order of arrival or, with the setting order=seeded, in one drawn from the seed. When the
// driver's end of the socket is gone, the process is too.
#include "device.h"
#include "faults.h"
#include "message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STATE_ERROR = 5, CONTEXT_LOST = 16, QUEUED = 512 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct emu_xdna_message queue[QUEUED]; // in order of arrival
    unsigned count;
    uint32_t running; // context whose command runs; 0: none
    bool forget;      // that context was reset meanwhile
    uint8_t *memory;
    struct emu_xdna_message hello;
    uint64_t random;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static uint64_t draw(void) {
    device.random ^= device.random << 13;
    device.random ^= device.random >> 7;
    device.random ^= device.random << 17;
    return device.random;
}

static void take_out(unsigned at) {
    memmove(&device.queue[at], &device.queue[at + 1], (--device.count - at) * sizeof device.queue[0]);
}

static void forget_context(uint32_t context) {
    for (unsigned i = device.count; i-- > 0;)
        if (device.queue[i].context == context) take_out(i);
    if (device.running == context) device.forget = true;
    pthread_cond_broadcast(&device.changed);
}

static void sleep_us(uint64_t us) {
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
    nanosleep(&t, NULL);
}

// Which waiting command is next: the oldest, or the oldest of a context that the seed picks. Commands that hang are
// left where they are, and with them their context.
static int pick(void) {
    int heads[QUEUED], n = 0;
    for (unsigned i = 0; i < device.count; i++) {
        bool first = device.queue[i].exec.fault != EMU_FAULT_HANG;
        for (unsigned j = 0; j < i; j++) first = first && device.queue[j].context != device.queue[i].context;
        if (first) heads[n++] = (int)i;
    }
    if (!n) return -1;
    return device.hello.hello.shuffle ? heads[draw() % (unsigned)n] : heads[0];
}

static bool inside(struct emu_xdna_range r) {
    return r.offset <= device.hello.hello.memory_bytes && r.bytes <= device.hello.hello.memory_bytes - r.offset;
}

// What can't be run here, though a real device would only time out.
static bool fits_device(const struct emu_kernel *k, const struct emu_xdna_message *m) {
    return k->columns <= m->exec.columns && (!k->generation || k->generation == device.hello.hello.generation);
}

// Runs a command; its final state, 0 when it never ends by itself.
static uint32_t run(const struct emu_xdna_message *m, struct emu_xdna_range *wrote) {
    struct emu_kernel k;
    uint64_t need[3];
    if (m->exec.n_args < 3 || !inside(m->exec.pdi) || !inside(m->exec.insts)) return STATE_ERROR;
    if (!emu_kernel_read(device.memory + m->exec.pdi.offset, m->exec.pdi.bytes, &k)) return STATE_ERROR;
    if (!fits_device(&k, m)) return 0;
    switch (emu_stream_check(device.memory + m->exec.insts.offset, m->exec.insts.bytes, device.hello.hello.generation,
                             m->exec.n_args)) {
    case EMU_STREAM_OK:
        break;
    case EMU_STREAM_BAD:
        return STATE_ERROR;
    default:
        return 0;
    }
    emu_kernel_bytes(&k, need);
    for (int i = 0; i < 3; i++)
        if (!inside(m->exec.args[i]) || m->exec.args[i].bytes < need[i] || m->exec.args[i].offset % 4)
            return STATE_ERROR;
    struct emu_operands o = {device.memory + m->exec.args[0].offset, device.memory + m->exec.args[1].offset,
                             device.memory + m->exec.args[2].offset};
    uint32_t rows = k.layout.m;
    if (m->exec.fault == EMU_FAULT_SHORT && m->exec.value < rows)
        rows = m->exec.value < 0 ? 0 : (uint32_t)m->exec.value;
    if (k.kind == EMU_KERNEL_GEMV_Q4_1)
        emu_gemv_q4_1(&k.layout, &o, rows);
    else
        emu_matmul(&k.layout, &o, rows);
    *wrote = (struct emu_xdna_range){m->exec.args[2].offset, need[2]};
    return 4;
}

static uint32_t run_with_fault(const struct emu_xdna_message *m, struct emu_xdna_range *wrote) {
    switch ((enum emu_fault_action)m->exec.fault) {
    case EMU_FAULT_CODE:
        return (uint32_t)(m->exec.value & 15);
    case EMU_FAULT_RESTART:
        return CONTEXT_LOST;
    case EMU_FAULT_DIE:
    case EMU_FAULT_EXIT:
        _exit(1);
    case EMU_FAULT_DELAY:
        sleep_us((uint64_t)m->exec.value);
        return run(m, wrote);
    default:
        return run(m, wrote);
    }
}

static void run_next(void) {
    int at = pick();
    struct emu_xdna_message m = device.queue[at];
    take_out((unsigned)at);
    device.running = m.context;
    device.forget = false;
    pthread_mutex_unlock(&device.lock);
    struct emu_xdna_message done = {.kind = EMU_XDNA_DONE, .context = m.context, .sequence = m.sequence};
    uint32_t state = run_with_fault(&m, &done.done.wrote);
    done.done.state = state;
    pthread_mutex_lock(&device.lock);
    bool forget = device.forget;
    device.running = 0;
    if (forget) return;
    if (state || m.exec.fault == EMU_FAULT_CODE) {
        emu_message_send(EMU_XDNA_SOCKET, &done, sizeof done, -1);
        return;
    }
    // It hangs: back to the head of its context, for the watchdog to find.
    m.exec.fault = EMU_FAULT_HANG;
    memmove(&device.queue[1], &device.queue[0], device.count * sizeof device.queue[0]);
    device.queue[0] = m;
    device.count++;
}

static void *run_commands(void *unused) {
    (void)unused;
    pthread_mutex_lock(&device.lock);
    for (;;) {
        while (pick() < 0) pthread_cond_wait(&device.changed, &device.lock);
        if (device.hello.hello.shuffle) { // let others arrive, so that there is something to choose from
            pthread_mutex_unlock(&device.lock);
            sleep_us(500);
            pthread_mutex_lock(&device.lock);
            if (pick() < 0) continue;
        }
        run_next();
    }
    return NULL;
}

static void hear(const struct emu_xdna_message *m) {
    pthread_mutex_lock(&device.lock);
    if (m->kind == EMU_XDNA_RESET) forget_context(m->context);
    if (m->kind == EMU_XDNA_EXEC && device.count < QUEUED - 1) device.queue[device.count++] = *m;
    pthread_cond_broadcast(&device.changed);
    pthread_mutex_unlock(&device.lock);
}

static int begin(void) {
    int fd;
    if (emu_message_receive(EMU_XDNA_SOCKET, &device.hello, sizeof device.hello, &fd) || fd < 0) return -1;
    void *memory =
        mmap(NULL, device.hello.hello.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) return -1;
    device.memory = memory;
    device.random = device.hello.hello.seed * 2 + 1;
    return close(fd);
}

int main(void) {
    pthread_t thread;
    struct emu_xdna_message m;
    if (begin() || pthread_create(&thread, NULL, run_commands, NULL)) return 1;
    while (!emu_message_receive(EMU_XDNA_SOCKET, &m, sizeof m, NULL)) hear(&m);
    _exit(0); // commands that run write to memory that nobody reads any more
}
