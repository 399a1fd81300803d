/* The loopback's NPU side, see loopback.c: QuRT and HAP names on POSIX threads, and a DMA engine that is done at once.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "htp/platform/fastrpc.h"
#include "htp/platform/hap.h"
#include "htp/platform/machine.h"
#include "htp/platform/qurt.h"

enum { VTCM_BYTES = 8 << 20, THREADS = 3 };

size_t loopback_buffer_bytes(int fd);

/* Below 4 GiB, between guard pages: a step outside is a fault. */
#ifdef __hexagon__
enum { PAGE = 65536 };
#define MAP_32BIT 0
#else
enum { PAGE = 4096 };
#endif
static void *low_map(size_t bytes, int fd) {
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    uint8_t *p = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_32BIT | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    int kind = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    if (mmap(p + PAGE, bytes, PROT_READ | PROT_WRITE, kind, fd, 0) != MAP_FAILED) return p + PAGE;
    munmap(p, bytes + 2 * PAGE);
    return NULL;
}

static int low_unmap(void *memory, size_t bytes) {
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    return munmap((uint8_t *)memory - PAGE, bytes + 2 * PAGE);
}

/* By id; a slot is taken from creation to join, however many threads come and go beside a long-lived one. */
enum { MOST_THREADS = 1024 };
static pthread_t started[MOST_THREADS];
static int taken[MOST_THREADS];

int qurt_thread_create(qurt_thread_t *thread, qurt_thread_attr_t *attr, void (*entry)(void *), void *argument) {
    unsigned id = 0;
    (void)attr;
    while (id < MOST_THREADS && __atomic_exchange_n(&taken[id], 1, __ATOMIC_ACQUIRE)) id++;
    if (id == MOST_THREADS) return 12;
    *thread = id;
    if (!pthread_create(&started[id], NULL, (void *(*)(void *))(void *)entry, argument)) return 0;
    __atomic_store_n(&taken[id], 0, __ATOMIC_RELEASE);
    return 12;
}
void qurt_thread_exit(int status) {
    pthread_exit((void *)(intptr_t)status);
}
int qurt_thread_join(qurt_thread_t thread, int *status) {
    void *result;
    if (thread >= MOST_THREADS || pthread_join(started[thread], &result)) return 17;
    __atomic_store_n(&taken[thread], 0, __ATOMIC_RELEASE);
    *status = (int)(intptr_t)result;
    return 0;
}
qurt_thread_t qurt_thread_get_id(void) {
    return 1;
}
int qurt_thread_get_priority(qurt_thread_t thread) {
    (void)thread;
    return 100;
}
void qurt_sleep(unsigned long long microseconds) {
    usleep((useconds_t)microseconds);
}
void qurt_mutex_init(qurt_mutex_t *m) {
    m->raw[0] = 0;
    m->raw[1] = 0;
}
void qurt_mutex_destroy(qurt_mutex_t *m) {
    (void)m;
}
void qurt_mutex_lock(qurt_mutex_t *m) {
    while (__atomic_exchange_n(&m->word[0], 1, __ATOMIC_ACQUIRE)) sched_yield();
}
void qurt_mutex_unlock(qurt_mutex_t *m) {
    __atomic_store_n(&m->word[0], 0, __ATOMIC_RELEASE);
}
void qurt_cond_init(qurt_cond_t *c) {
    (void)c;
}
void qurt_cond_destroy(qurt_cond_t *c) {
    (void)c;
}
void qurt_cond_wait(qurt_cond_t *c, qurt_mutex_t *m) {
    (void)c;
    qurt_mutex_unlock(m);
    usleep(100);
    qurt_mutex_lock(m);
}
void qurt_cond_broadcast(qurt_cond_t *c) {
    (void)c;
}
int qurt_futex_wait(void *lock, int value) {
    return (int)syscall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
int qurt_futex_wake(void *lock, int threads) {
    return (int)syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}
int qurt_sysenv_get_max_hw_threads(qurt_sysenv_max_hthreads_t *threads) {
    threads->max_hthreads = THREADS;
    return 0;
}
int qurt_hvx_get_units(void) {
    return THREADS << 8;
}
void *HAP_mmap(void *addr, int len, int prot, int flags, int fd, long offset) {
    (void)addr, (void)prot, (void)flags, (void)offset;
    void *p = len > 0 && (size_t)len <= loopback_buffer_bytes(fd) ? low_map((size_t)len, fd) : NULL;
    return p ? p : (void *)-1;
}
void *HAP_mmap2(void *addr, size_t len, int prot, int flags, int fd, long offset) {
    return HAP_mmap(addr, (int)len, prot, flags, fd, offset);
}
int HAP_munmap(void *addr, int len) {
    return low_unmap(addr, (size_t)len);
}
int HAP_munmap2(void *addr, size_t len) {
    return low_unmap(addr, len);
}
int HAP_compute_res_attr_init(compute_res_attr_t *attr) {
    memset(attr, 0, sizeof *attr);
    return 0;
}
int HAP_compute_res_attr_set_serialize(compute_res_attr_t *attr, uint8_t serialize) {
    (void)attr, (void)serialize;
    return 0;
}
int HAP_compute_res_attr_set_cache_mode(compute_res_attr_t *attr, uint8_t cached) {
    (void)attr, (void)cached;
    return 0;
}
int HAP_compute_res_attr_set_vtcm_param_v2(compute_res_attr_t *attr, unsigned bytes, unsigned page, unsigned least) {
    (void)page, (void)least;
    attr->words[0] = bytes;
    return 0;
}
int HAP_compute_res_attr_set_release_callback(compute_res_attr_t *attr, int (*release)(unsigned, void *),
                                              void *context) {
    (void)attr, (void)release, (void)context;
    return 0;
}
int HAP_compute_res_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **vtcm, unsigned *bytes) {
    static void *memory;
    if (!memory) memory = low_map(VTCM_BYTES, -1);
    *vtcm = memory;
    *bytes = (unsigned)attr->words[0];
    return 0;
}
int HAP_compute_res_query_VTCM(unsigned id, unsigned *total, void *layout, unsigned *available, void *free_layout) {
    (void)id, (void)layout, (void)free_layout;
    *total = *available = VTCM_BYTES;
    return 0;
}
unsigned HAP_compute_res_acquire(compute_res_attr_t *attr, unsigned timeout) {
    (void)attr, (void)timeout;
    return 1;
}
int HAP_compute_res_release(unsigned id) {
    (void)id;
    return 0;
}
int HAP_compute_res_acquire_cached(unsigned id, unsigned timeout) {
    (void)id, (void)timeout;
    return 0;
}
int HAP_compute_res_release_cached(unsigned id) {
    (void)id;
    return 0;
}
uint64_t HAP_perf_get_time_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
uint64_t HAP_perf_get_pcycles(void) {
    return HAP_perf_get_time_us() * 1000;
}
uint64_t HAP_perf_get_qtimer_count(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) * 12 / 625;
}
int HAP_power_set(void *context, HAP_power_request_t *request) {
    (void)context, (void)request;
    return 0;
}
int dspqueue_import(uint64_t id, dspqueue_callback_t packet, dspqueue_callback_t error, void *context,
                    dspqueue_t *queue) {
    (void)id, (void)packet, (void)error, (void)context, (void)queue;
    return AEE_EUNSUPPORTED;
}
int dspqueue_close(dspqueue_t queue) {
    (void)queue;
    return 0;
}
int dspqueue_read(dspqueue_t queue, uint32_t *flags, uint32_t max, uint32_t *n, struct dspqueue_buffer *b,
                  uint32_t most, uint32_t *bytes, uint8_t *message, uint32_t timeout) {
    (void)queue, (void)flags, (void)max, (void)n, (void)b, (void)most, (void)bytes, (void)message, (void)timeout;
    return AEE_EUNSUPPORTED;
}
int dspqueue_write(dspqueue_t queue, uint32_t flags, uint32_t n, struct dspqueue_buffer *b, uint32_t bytes,
                   const uint8_t *message, uint32_t timeout) {
    (void)queue, (void)flags, (void)n, (void)b, (void)bytes, (void)message, (void)timeout;
    return AEE_EUNSUPPORTED;
}

/* A DMA engine that is done at once. */
void npu_emu_dmlink(void *tail, void *next) {
    uint32_t *d = next;
    (void)tail;
    uint8_t *from = (uint8_t *)(uintptr_t)d[2], *to = (uint8_t *)(uintptr_t)d[3];
    if (!(d[1] >> 24 & 3)) {
        memmove(to, from, d[1] & 0xFFFFFF);
    } else {
        uint32_t wide = (d[4] & 0xFF) == 9, row = wide ? d[5] & 0xFFFFFF : d[5] & 0xFFFF;
        uint32_t rows = wide ? d[5] >> 24 | (d[6] & 0xFF) << 8 : d[5] >> 16;
        uint32_t from_stride = wide ? d[6] >> 8 : d[6] & 0xFFFF, to_stride = wide ? d[1] & 0xFFFFFF : d[6] >> 16;
        for (uint32_t r = 0; r < rows; r++) memmove(to + (size_t)r * to_stride, from + (size_t)r * from_stride, row);
    }
    __atomic_or_fetch(&d[1], 1u << 31, __ATOMIC_RELEASE);
}
uint32_t npu_emu_dmpoll(void) {
    return 0;
}
void npu_emu_event(const char *name) {
    (void)name;
}
void npu_emu_line_wait(const void *word, uint32_t value, uint32_t timeout_us) {
    (void)word, (void)value;
    usleep(timeout_us < 100 ? timeout_us : 100);
}
void npu_emu_line_wake(const void *word) {
    (void)word;
}
void npu_emu_dccleaninva(const void *address) {
    (void)address;
}
uint32_t npu_emu_arch(void) {
    return getenv("LOOPBACK_V79") ? 79 : 73;
}
uint64_t npu_emu_window(void) {
    return 0;
}
int npu_emu_idle(void) {
    return 0;
}
uint32_t npu_emu_line(void) {
    return 128;
}
void npu_emu_op(uint32_t index, const char *name) {
    (void)index, (void)name;
}
void npu_emu_dma_pushed(uint32_t depth) {
    (void)depth;
}
void npu_emu_dma_popped(void) {}
void *npu_emu_low_alloc(uint32_t bytes, uint32_t align) {
    (void)align;
    uint8_t *p = low_map((size_t)bytes + 4096, -1);
    if (!p) return NULL;
    *(uint32_t *)(void *)p = bytes;
    return p + 4096;
}
void npu_emu_low_free(void *memory) {
    uint8_t *p = (uint8_t *)memory - 4096;
    low_unmap(p, (size_t) * (uint32_t *)(void *)p + 4096);
}
