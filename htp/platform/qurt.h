/* The QuRT names that the NPU program calls, by our own declarations: public facts (names, numbers, sizes), no vendor
 * text. The real system provides them on a device, emu/hexagon/rtos on a PC. */
#ifndef HTP_PLATFORM_QURT_H
#define HTP_PLATFORM_QURT_H

#include <stdint.h>

#define QURT_EOK 0

typedef unsigned int qurt_thread_t;

typedef struct qurt_thread_attr {
    char name[16];
    unsigned char tcb_partition;
    unsigned char stid;
    unsigned short priority; /* 1 highest .. 254 */
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
    *attr = (qurt_thread_attr_t){.priority = 254, .bus_priority = 255, .timetest_id = 0xFFFE};
}

int qurt_thread_create(qurt_thread_t *thread, qurt_thread_attr_t *attr, void (*entry)(void *), void *argument);
void qurt_thread_exit(int status);
int qurt_thread_join(qurt_thread_t thread, int *status);
qurt_thread_t qurt_thread_get_id(void);
int qurt_thread_get_priority(qurt_thread_t thread);
void qurt_sleep(unsigned long long microseconds);

typedef union {
    unsigned long long raw[2];
    unsigned int word[4];
} qurt_mutex_t;
typedef qurt_mutex_t qurt_cond_t;

void qurt_mutex_init(qurt_mutex_t *mutex);
void qurt_mutex_destroy(qurt_mutex_t *mutex);
void qurt_mutex_lock(qurt_mutex_t *mutex);
void qurt_mutex_unlock(qurt_mutex_t *mutex);
void qurt_cond_init(qurt_cond_t *cond);
void qurt_cond_destroy(qurt_cond_t *cond);
void qurt_cond_wait(qurt_cond_t *cond, qurt_mutex_t *mutex);
void qurt_cond_broadcast(qurt_cond_t *cond);

int qurt_futex_wait(void *lock, int value);
int qurt_futex_wake(void *lock, int threads);

typedef struct qurt_sysenv_max_hthreads {
    unsigned int max_hthreads;
} qurt_sysenv_max_hthreads_t;
int qurt_sysenv_get_max_hw_threads(qurt_sysenv_max_hthreads_t *threads);

/* Bits 15:8: contexts of 128-byte vectors. */
int qurt_hvx_get_units(void);

void *qurt_malloc(unsigned int bytes);
void qurt_free(void *memory);

#endif
