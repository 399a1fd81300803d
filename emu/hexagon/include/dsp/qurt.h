// QuRT names an NPU program may call under the emulator. Lock objects have the sizes of the device's; what is inside
// them belongs to the runtime. A program that declares these types itself must use the same sizes, and for
// qurt_thread_attr_t, whose setters are inline, the same layout.
#ifndef NPU_EMU_DSP_QURT_H
#define NPU_EMU_DSP_QURT_H

#include <stdint.h>
#include <string.h>

#define QURT_EOK         0
#define QURT_EVAL        1
#define QURT_EMEM        2
#define QURT_EINVALID    4
#define QURT_EFAILED     12
#define QURT_ENOTALLOWED 13
#define QURT_ETLSAVAIL   23
#define QURT_ENOTHREAD   30
#define QURT_EALIGN      32
#define QURT_EPRIVILEGE  36
#define QURT_ECANCEL     37
#define QURT_EFATAL      (-1)

// --- threads ---

typedef unsigned int qurt_thread_t;

#define QURT_THREAD_ATTR_NAME_MAXLEN      16
#define QURT_THREAD_ATTR_PRIORITY_DEFAULT 254
#define QURT_THREAD_ATTR_CREATE_LEGACY    0
#define QURT_THREAD_ATTR_CREATE_JOINABLE  1
#define QURT_THREAD_ATTR_CREATE_DETACHED  2
#define QURT_MAX_HTHREAD_LIMIT            6

typedef struct qurt_thread_attr {
    char name[QURT_THREAD_ATTR_NAME_MAXLEN];
    unsigned char tcb_partition;
    unsigned char stid;
    unsigned short priority;
    unsigned char autostack : 1;
    unsigned char group_id : 6;
    unsigned char reserved : 1;
    unsigned char bus_priority;
    unsigned short timetest_id;
    unsigned int stack_size;
    void *stack_addr;
    unsigned short detach_state;
} qurt_thread_attr_t;

static inline void qurt_thread_attr_init(qurt_thread_attr_t *attr) {
    memset(attr, 0, sizeof *attr);
    attr->priority = QURT_THREAD_ATTR_PRIORITY_DEFAULT;
    attr->bus_priority = 255;
    attr->timetest_id = 0xFFFE;
}

static inline void qurt_thread_attr_set_name(qurt_thread_attr_t *attr, const char *name) {
    size_t n = 0;
    for (; n < sizeof attr->name - 1 && name[n]; n++) attr->name[n] = name[n];
    attr->name[n] = 0;
}

static inline void qurt_thread_attr_set_stack_size(qurt_thread_attr_t *attr, unsigned int bytes) {
    attr->stack_size = bytes;
}

static inline void qurt_thread_attr_set_stack_addr(qurt_thread_attr_t *attr, void *memory) {
    attr->stack_addr = memory;
}

static inline void qurt_thread_attr_set_priority(qurt_thread_attr_t *attr, unsigned short priority) {
    attr->priority = priority;
}

static inline void qurt_thread_attr_set_detachstate(qurt_thread_attr_t *attr, unsigned short state) {
    attr->detach_state = state;
}

int qurt_thread_create(qurt_thread_t *thread, qurt_thread_attr_t *attr, void (*entry)(void *), void *argument);
void qurt_thread_exit(int status);
int qurt_thread_join(qurt_thread_t thread, int *status);
int qurt_thread_detach(qurt_thread_t thread);
qurt_thread_t qurt_thread_get_id(void);
int qurt_thread_get_priority(qurt_thread_t thread);
int qurt_thread_set_priority(qurt_thread_t thread, unsigned short priority);
void qurt_thread_get_name(char *name, unsigned char bytes);
void qurt_sleep(unsigned long long microseconds);

// --- locks: the runtime owns the words ---

typedef union {
    unsigned long long raw[2];
    unsigned int word[4];
} qurt_mutex_t;
typedef qurt_mutex_t qurt_rmutex_t;
typedef qurt_mutex_t qurt_cond_t;
typedef qurt_mutex_t qurt_barrier_t;
typedef qurt_mutex_t qurt_signal_t;
typedef qurt_mutex_t qurt_anysignal_t;
typedef union {
    unsigned int raw[2];
    unsigned int word[2];
} qurt_sem_t;

void qurt_mutex_init(qurt_mutex_t *mutex);
void qurt_mutex_destroy(qurt_mutex_t *mutex);
void qurt_mutex_lock(qurt_mutex_t *mutex);
void qurt_mutex_unlock(qurt_mutex_t *mutex);
int qurt_mutex_try_lock(qurt_mutex_t *mutex);

void qurt_rmutex_init(qurt_rmutex_t *mutex);
void qurt_rmutex_destroy(qurt_rmutex_t *mutex);
void qurt_rmutex_lock(qurt_rmutex_t *mutex);
void qurt_rmutex_unlock(qurt_rmutex_t *mutex);
int qurt_rmutex_try_lock(qurt_rmutex_t *mutex);

void qurt_cond_init(qurt_cond_t *cond);
void qurt_cond_destroy(qurt_cond_t *cond);
void qurt_cond_wait(qurt_cond_t *cond, qurt_mutex_t *mutex);
void qurt_cond_signal(qurt_cond_t *cond);
void qurt_cond_broadcast(qurt_cond_t *cond);

int qurt_sem_init(qurt_sem_t *sem);
void qurt_sem_init_val(qurt_sem_t *sem, unsigned short value);
int qurt_sem_destroy(qurt_sem_t *sem);
int qurt_sem_up(qurt_sem_t *sem);
int qurt_sem_down(qurt_sem_t *sem);
int qurt_sem_try_down(qurt_sem_t *sem);
int qurt_sem_add(qurt_sem_t *sem, unsigned int count);
unsigned short qurt_sem_get_val(qurt_sem_t *sem);

#define QURT_BARRIER_OTHER         0
#define QURT_BARRIER_SERIAL_THREAD 1
int qurt_barrier_init(qurt_barrier_t *barrier, unsigned int threads);
int qurt_barrier_destroy(qurt_barrier_t *barrier);
int qurt_barrier_wait(qurt_barrier_t *barrier);

#define QURT_SIGNAL_ATTR_WAIT_ANY 0
#define QURT_SIGNAL_ATTR_WAIT_ALL 1
void qurt_signal_init(qurt_signal_t *signal);
void qurt_signal_destroy(qurt_signal_t *signal);
void qurt_signal_set(qurt_signal_t *signal, unsigned int mask);
void qurt_signal_clear(qurt_signal_t *signal, unsigned int mask);
unsigned int qurt_signal_get(qurt_signal_t *signal);
unsigned int qurt_signal_wait(qurt_signal_t *signal, unsigned int mask, unsigned int attribute);
unsigned int qurt_signal_wait_any(qurt_signal_t *signal, unsigned int mask);
unsigned int qurt_signal_wait_all(qurt_signal_t *signal, unsigned int mask);

void qurt_anysignal_init(qurt_anysignal_t *signal);
void qurt_anysignal_destroy(qurt_anysignal_t *signal);
unsigned int qurt_anysignal_set(qurt_anysignal_t *signal, unsigned int mask);
unsigned int qurt_anysignal_get(qurt_anysignal_t *signal);
unsigned int qurt_anysignal_clear(qurt_anysignal_t *signal, unsigned int mask);
unsigned int qurt_anysignal_wait(qurt_anysignal_t *signal, unsigned int mask);

// Returns when woken or when *lock is not |value|; callers recheck in a loop.
int qurt_futex_wait(void *lock, int value);
int qurt_futex_wake(void *lock, int threads);

int qurt_tls_create_key(int *key, void (*destructor)(void *));
int qurt_tls_set_specific(int key, const void *value);
void *qurt_tls_get_specific(int key);
int qurt_tls_delete_key(int key);

// --- system ---

typedef struct qurt_sysenv_max_hthreads {
    unsigned int max_hthreads;
} qurt_sysenv_max_hthreads_t;

int qurt_sysenv_get_max_hw_threads(qurt_sysenv_max_hthreads_t *threads);
unsigned long long qurt_get_core_pcycles(void);
unsigned long long qurt_sysclock_get_hw_ticks(void);
void *qurt_malloc(unsigned int bytes);
void *qurt_calloc(unsigned int count, unsigned int bytes);
void qurt_free(void *memory);

typedef unsigned int qurt_addr_t;
typedef unsigned int qurt_size_t;
typedef enum {
    QURT_MEM_CACHE_FLUSH = 0,
    QURT_MEM_CACHE_INVALIDATE = 1,
    QURT_MEM_CACHE_FLUSH_INVALIDATE = 2,
    QURT_MEM_CACHE_FLUSH_ALL = 3,
    QURT_MEM_CACHE_FLUSH_INVALIDATE_ALL = 4,
    QURT_MEM_CACHE_TABLE_FLUSH_INVALIDATE = 5,
} qurt_mem_cache_op_t;
typedef enum {
    QURT_MEM_ICACHE = 0,
    QURT_MEM_DCACHE = 1,
} qurt_mem_cache_type_t;

int qurt_mem_cache_clean(qurt_addr_t address, qurt_size_t bytes, qurt_mem_cache_op_t op, qurt_mem_cache_type_t type);

typedef enum {
    QURT_HVX_MODE_64B = 0,
    QURT_HVX_MODE_128B = 1,
} qurt_hvx_mode_t;
int qurt_hvx_lock(qurt_hvx_mode_t mode);
int qurt_hvx_try_lock(qurt_hvx_mode_t mode);
int qurt_hvx_unlock(void);
int qurt_hvx_get_mode(void);
// Low byte: 64-byte units, bits 15:8: 128-byte contexts.
int qurt_hvx_get_units(void);
int qurt_hvx_reserve(int units);
int qurt_hvx_cancel_reserve(void);

// Counters are not emulated: set and enable do nothing, get answers 0.
void qurt_pmu_set(int id, unsigned int value);
unsigned int qurt_pmu_get(int id);
void qurt_pmu_enable(int on);

#endif
