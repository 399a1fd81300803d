// QuRT threads on POSIX threads: the device's ranges, names and join semantics. Priorities are kept, not enforced.
// Stacks the size of a device's are too small for a PC's libc: every thread gets a larger one of our own, and a thread
// that used more than it asked for is counted ("small_stacks").
#include "emu_dsp.h"
#include "qurt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_THREADS 512
#define STACK_EXTRA  (1u << 20) // sanitizers need most of it

enum state { FREE, RUNS, ENDED };

struct thread {
    enum state state;
    uint32_t generation;
    char name[QURT_THREAD_ATTR_NAME_MAXLEN];
    unsigned short priority;
    unsigned short detach_state;
    bool joining;
    unsigned int asked_stack;
    size_t stack_bytes;
    uint8_t *stack;
    pthread_t handle;
    bool foreign; // a thread of the runtime that called in: nobody joins it
    void (*entry)(void *);
    void *argument;
    int status;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct thread threads[MOST_THREADS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static __thread struct thread *self;

static qurt_thread_t id_of(const struct thread *t) {
    return (t->generation << 10 | (uint32_t)(t - all.threads)) + 1;
}

static struct thread *find(qurt_thread_t id) {
    struct thread *t = &all.threads[(id - 1) % 1024 % MOST_THREADS];
    return t->state != FREE && id_of(t) == id ? t : NULL;
}

static struct thread *take_slot(void) {
    for (int i = 0; i < MOST_THREADS; i++) {
        struct thread *t = &all.threads[i];
        uint32_t generation = t->generation + 1;
        if (t->state != FREE) continue;
        memset(t, 0, sizeof *t);
        t->generation = generation & 0xFFFFF;
        t->state = RUNS;
        return t;
    }
    return NULL;
}

static void free_slot(struct thread *t) {
    t->state = FREE;
    if (t->stack) munmap(t->stack, t->stack_bytes);
    t->stack = NULL;
}

static struct thread *current(void) {
    if (self) return self;
    pthread_mutex_lock(&all.lock);
    self = take_slot();
    if (self) {
        self->foreign = true;
        self->handle = pthread_self();
        self->priority = (unsigned short)emu_block->thread_priority;
        strcpy(self->name, "rpc");
    }
    pthread_mutex_unlock(&all.lock);
    return self;
}

// How deep the stack went: the lowest word that is not zero. Pages never touched read as zeros and stay shared.
static size_t stack_used(const struct thread *t) {
    const uint64_t *words = (const uint64_t *)(const void *)t->stack;
    size_t count = t->stack_bytes / sizeof *words, i = 0;
    while (i < count && !words[i]) i++;
    return (count - i) * sizeof *words;
}

// Runs on the ending thread. A joinable thread stays until it is joined; a legacy one that ended is gone for join.
static void end(struct thread *t) {
    if (t->asked_stack && stack_used(t) > t->asked_stack) emu_count(EMU_COUNT_SMALL_STACKS, 1);
    pthread_mutex_lock(&all.lock);
    t->state = ENDED;
    pthread_cond_broadcast(&all.ended);
    pthread_mutex_unlock(&all.lock);
}

static void *run(void *argument) {
    self = argument;
    self->entry(self->argument);
    end(self);
    return NULL;
}

// Slots of threads that ended and that nobody will join: their stacks are free once pthread_join returns.
static void sweep(void) {
    for (int i = 0; i < MOST_THREADS; i++) {
        struct thread *t = &all.threads[i];
        if (t->state != ENDED || t->foreign || t->joining || t->detach_state == QURT_THREAD_ATTR_CREATE_JOINABLE)
            continue;
        pthread_join(t->handle, NULL);
        free_slot(t);
    }
}

static int start(struct thread *t) {
    pthread_attr_t attr;
    int failed;
    t->stack_bytes = ((size_t)t->asked_stack + STACK_EXTRA + 4095) / 4096 * 4096;
    t->stack = mmap(NULL, t->stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (t->stack == MAP_FAILED) {
        t->stack = NULL;
        return QURT_EMEM;
    }
    pthread_attr_init(&attr);
    failed = pthread_attr_setstack(&attr, t->stack, t->stack_bytes);
    if (!failed) failed = pthread_create(&t->handle, &attr, run, t);
    pthread_attr_destroy(&attr);
    return failed ? QURT_EFAILED : QURT_EOK;
}

EMU_API int qurt_thread_create(qurt_thread_t *thread, qurt_thread_attr_t *attr, void (*entry)(void *), void *argument) {
    struct thread *t;
    int result = QURT_EFAILED, code;
    if (emu_dsp_meet("qurt_thread_create", &code)) return code;
    if (!thread || !attr || !entry || attr->priority < 1 || attr->priority > 254 || attr->stack_size < 1024 ||
        attr->stack_size > 64u << 20 || (uintptr_t)attr->stack_addr % 8 ||
        attr->detach_state > QURT_THREAD_ATTR_CREATE_DETACHED)
        return QURT_EINVALID;
    pthread_mutex_lock(&all.lock);
    sweep();
    t = take_slot();
    if (t) {
        memcpy(t->name, attr->name, sizeof t->name - 1);
        t->priority = attr->priority;
        t->detach_state = attr->detach_state;
        t->asked_stack = attr->stack_size;
        t->entry = entry;
        t->argument = argument;
        // Before the thread runs: it may hand its own id on.
        *thread = id_of(t);
        result = start(t);
        if (result) free_slot(t);
    }
    pthread_mutex_unlock(&all.lock);
    return result;
}

EMU_API void qurt_thread_exit(int status) {
    struct thread *t = current();
    if (t) {
        t->status = status;
        end(t);
    }
    pthread_exit(NULL);
}

EMU_API int qurt_thread_join(qurt_thread_t thread, int *status) {
    struct thread *t;
    int result = QURT_ENOTHREAD;
    pthread_mutex_lock(&all.lock);
    t = find(thread);
    if (t && !t->foreign && !t->joining && t->detach_state != QURT_THREAD_ATTR_CREATE_DETACHED &&
        !(t->state == ENDED && t->detach_state == QURT_THREAD_ATTR_CREATE_LEGACY)) {
        t->joining = true;
        while (t->state != ENDED) pthread_cond_wait(&all.ended, &all.lock);
        if (status) *status = t->status;
        pthread_join(t->handle, NULL);
        free_slot(t);
        result = QURT_EOK;
    }
    pthread_mutex_unlock(&all.lock);
    return result;
}

EMU_API int qurt_thread_detach(qurt_thread_t thread) {
    struct thread *t;
    pthread_mutex_lock(&all.lock);
    t = find(thread);
    if (t && !t->foreign) t->detach_state = QURT_THREAD_ATTR_CREATE_DETACHED;
    pthread_mutex_unlock(&all.lock);
    return t ? QURT_EOK : QURT_ENOTHREAD;
}

EMU_API qurt_thread_t qurt_thread_get_id(void) {
    struct thread *t = current();
    return t ? id_of(t) : 0;
}

EMU_API int qurt_thread_get_priority(qurt_thread_t thread) {
    struct thread *t;
    int priority;
    pthread_mutex_lock(&all.lock);
    t = find(thread);
    priority = t ? t->priority : -1;
    pthread_mutex_unlock(&all.lock);
    return priority;
}

EMU_API int qurt_thread_set_priority(qurt_thread_t thread, unsigned short priority) {
    struct thread *t;
    if (priority < 1 || priority > 254) return QURT_EINVALID;
    pthread_mutex_lock(&all.lock);
    t = find(thread);
    if (t) t->priority = priority;
    pthread_mutex_unlock(&all.lock);
    return t ? QURT_EOK : QURT_EINVALID;
}

EMU_API void qurt_thread_get_name(char *name, unsigned char bytes) {
    struct thread *t = current();
    size_t n;
    if (!bytes) return;
    n = t ? strnlen(t->name, bytes - 1u) : 0;
    if (n) memcpy(name, t->name, n);
    name[n] = 0;
}

EMU_API void qurt_sleep(unsigned long long microseconds) {
    usleep((useconds_t)microseconds);
}

// --- thread-local values ---

EMU_API int qurt_tls_create_key(int *key, void (*destructor)(void *)) {
    pthread_key_t made;
    if (pthread_key_create(&made, destructor)) return QURT_ETLSAVAIL;
    *key = (int)made;
    return QURT_EOK;
}

EMU_API int qurt_tls_set_specific(int key, const void *value) {
    return pthread_setspecific((pthread_key_t)key, value) ? QURT_EINVALID : QURT_EOK;
}

EMU_API void *qurt_tls_get_specific(int key) {
    return pthread_getspecific((pthread_key_t)key);
}

EMU_API int qurt_tls_delete_key(int key) {
    return pthread_key_delete((pthread_key_t)key) ? QURT_EINVALID : QURT_EOK;
}
