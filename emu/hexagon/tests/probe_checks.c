// Checks that run in the NPU process: QuRT, compute resources, power. Their numbers are those of the rows in
// rows_dsp.c.
#include "probe_program.h"

#include <stdatomic.h>
#include <string.h>

static void set_flag(void *flag) {
    atomic_store((atomic_int *)flag, 1);
}

static int make_thread(qurt_thread_t *thread, unsigned short detach, void (*entry)(void *), void *argument) {
    qurt_thread_attr_t attr;
    qurt_thread_attr_init(&attr);
    qurt_thread_attr_set_name(&attr, "a name of more than 16 bytes");
    qurt_thread_attr_set_stack_size(&attr, 4096);
    qurt_thread_attr_set_priority(&attr, 120);
    qurt_thread_attr_set_detachstate(&attr, detach);
    return qurt_thread_create(thread, &attr, entry, argument);
}

static void exit_with_5(void *argument) {
    (void)argument;
    qurt_thread_exit(5);
}

static int check_threads(void) {
    qurt_thread_attr_t attr;
    qurt_thread_t thread;
    atomic_int flag = 0;
    int status = 0;
    qurt_thread_attr_init(&attr);
    qurt_thread_attr_set_name(&attr, "a name of more than 16 bytes");
    CHECK(!strcmp(attr.name, "a name of more "));
    qurt_thread_attr_set_stack_size(&attr, 4096);
    qurt_thread_attr_set_priority(&attr, 0);
    CHECK(qurt_thread_create(&thread, &attr, set_flag, &flag) != QURT_EOK);
    qurt_thread_attr_set_priority(&attr, 255);
    CHECK(qurt_thread_create(&thread, &attr, set_flag, &flag) != QURT_EOK);
    qurt_thread_attr_set_priority(&attr, 100);
    qurt_thread_attr_set_stack_size(&attr, 16);
    CHECK(qurt_thread_create(&thread, &attr, set_flag, &flag) != QURT_EOK);
    CHECK(!make_thread(&thread, QURT_THREAD_ATTR_CREATE_JOINABLE, exit_with_5, NULL));
    CHECK(qurt_thread_join(thread, &status) == QURT_EOK && status == 5);
    CHECK(qurt_thread_join(thread, &status) == QURT_ENOTHREAD);
    // A legacy thread is gone once it has ended; how soon after its last word that is nobody knows.
    for (int trial = 0, gone = 0; !gone; trial++) {
        CHECK(trial < 20);
        flag = 0;
        CHECK(!make_thread(&thread, QURT_THREAD_ATTR_CREATE_LEGACY, set_flag, &flag));
        while (!flag) qurt_sleep(1000);
        qurt_sleep(20000ull << (trial < 5 ? trial : 5));
        gone = qurt_thread_join(thread, &status) == QURT_ENOTHREAD;
    }
    CHECK(qurt_thread_get_priority(qurt_thread_get_id()) == 0xC0);
    CHECK(qurt_thread_get_priority(0x7FFFFFF) == -1);
    return 0;
}

static struct {
    qurt_mutex_t lock;
    qurt_cond_t turn;
    qurt_barrier_t barrier;
    qurt_signal_t signal;
    qurt_sem_t sem;
    int count, serial;
    uint32_t futex;
} s;

static void locker(void *argument) {
    (void)argument;
    for (int i = 0; i < 2000; i++) {
        qurt_mutex_lock(&s.lock);
        s.count++;
        qurt_mutex_unlock(&s.lock);
    }
    if (qurt_barrier_wait(&s.barrier) == QURT_BARRIER_SERIAL_THREAD) {
        qurt_mutex_lock(&s.lock);
        s.serial++;
        qurt_mutex_unlock(&s.lock);
    }
    qurt_sem_up(&s.sem);
    qurt_signal_set(&s.signal, 4);
}

static int check_locks(void) {
    qurt_thread_t threads[4];
    qurt_mutex_init(&s.lock);
    qurt_barrier_init(&s.barrier, 4);
    qurt_signal_init(&s.signal);
    qurt_sem_init_val(&s.sem, 0);
    s.count = s.serial = 0;
    for (int i = 0; i < 4; i++) CHECK(!make_thread(&threads[i], QURT_THREAD_ATTR_CREATE_JOINABLE, locker, NULL));
    for (int i = 0; i < 4; i++) qurt_sem_down(&s.sem);
    CHECK(qurt_sem_try_down(&s.sem) != QURT_EOK);
    for (int i = 0; i < 4; i++) CHECK(!qurt_thread_join(threads[i], NULL));
    CHECK(s.count == 8000 && s.serial == 1);
    CHECK(qurt_signal_wait_any(&s.signal, 6) == 4);
    CHECK(qurt_signal_get(&s.signal) == 4); // sticky
    qurt_signal_clear(&s.signal, 4);
    CHECK(qurt_signal_get(&s.signal) == 0);
    CHECK(qurt_mutex_try_lock(&s.lock) == QURT_EOK);
    CHECK(qurt_mutex_try_lock(&s.lock) != QURT_EOK);
    qurt_mutex_unlock(&s.lock);
    CHECK(qurt_futex_wait(&s.futex, 1) == QURT_EOK); // value differs: returns at once
    return 0;
}

static atomic_int released;
static qurt_thread_t releasing;

static int on_release(unsigned int id, void *context) {
    (void)id;
    releasing = qurt_thread_get_id();
    released = *(int *)context;
    return 0;
}

static int check_compute_res(void) {
    compute_res_attr_t a, b;
    unsigned total, available, first, second, bytes;
    int seven = 7;
    uint8_t *vtcm;
    void *again;
    CHECK(!HAP_compute_res_query_VTCM(0, &total, NULL, &available, NULL) && total && available == total);
    HAP_compute_res_attr_init(&a);
    HAP_compute_res_attr_set_cache_mode(&a, 1);
    HAP_compute_res_attr_set_hmx_param(&a, 1);
    CHECK(!HAP_compute_res_attr_set_vtcm_param_v2(&a, total, total, total));
    HAP_compute_res_attr_set_release_callback(&a, on_release, &seven);
    CHECK(HAP_compute_res_acquire(&a, 100) == 0); // shorter than 200
    first = HAP_compute_res_acquire(&a, 1000000);
    CHECK(first);
    CHECK(!HAP_compute_res_attr_get_vtcm_ptr_v2(&a, (void **)&vtcm, &bytes) && bytes == total);
    CHECK((uint64_t)(uintptr_t)vtcm + total <= 0xFFFFFFFFu && (uintptr_t)vtcm % 2048 == 0);
    CHECK(HAP_compute_res_hmx_lock(first)); // not owned yet
    CHECK(!HAP_compute_res_acquire_cached(first, 0));
    CHECK(!HAP_compute_res_hmx_lock(first) && !HAP_compute_res_hmx_unlock(first));
    memset(vtcm, 1, total);
    HAP_compute_res_update_priority(first, 200);
    // A second client of higher priority: none in time, the owner is asked; then it gives way.
    HAP_compute_res_attr_init(&b);
    HAP_compute_res_attr_set_vtcm_param(&b, total, 1);
    CHECK(HAP_compute_res_acquire(&b, 0) == 0 && !released);
    CHECK(HAP_compute_res_acquire(&b, 50000) == 0);
    for (int i = 0; i < 12000 && !released; i++) qurt_sleep(5000);
    CHECK(releasing != qurt_thread_get_id());
    CHECK(released == 7 && HAP_compute_res_check_release_request(first));
    CHECK(!HAP_compute_res_release_cached(first));
    second = HAP_compute_res_acquire(&b, 1000);
    CHECK(second);
    CHECK(HAP_compute_res_acquire_cached(first, 500)); // taken now
    CHECK(!HAP_compute_res_release(second));
    CHECK(vtcm[0] == 0 && vtcm[total - 1] == 0); // zeroed
    CHECK(!HAP_compute_res_acquire_cached(first, 500));
    CHECK(!HAP_compute_res_attr_get_vtcm_ptr_v2(&a, &again, &bytes) && again == vtcm);
    CHECK(!HAP_compute_res_release(first) && HAP_compute_res_release(first));
    released = 0;
    return 0;
}

static int check_power(void) {
    HAP_power_request_t request = {.type = HAP_power_set_DCVS_v3};
    CHECK(!HAP_power_set(&request, &request));
    request.type = HAP_power_set_HVX;
    CHECK(!HAP_power_set(&request, &request));
    request.type = (HAP_Power_request_type)99;
    CHECK(HAP_power_set(&request, &request));
    CHECK(!qurt_hvx_unlock()); // without a lock
    CHECK(!qurt_hvx_lock(QURT_HVX_MODE_128B) && !qurt_hvx_unlock());
    return 0;
}

static int check_hmx_v2_refused(void) {
    HAP_power_request_t request = {.type = HAP_power_set_HMX_v2};
    CHECK(HAP_power_set(&request, &request) == AEE_EUNSUPPORTED);
    return 0;
}

static int check_time(void) {
    // Each reading of the tick counter lies between two of the time.
    uint64_t begin[2], end[2], ticks[2];
    qurt_sysenv_max_hthreads_t threads;
    for (int i = 0; i < 2; i++) {
        begin[i] = HAP_perf_get_time_us();
        ticks[i] = HAP_perf_get_qtimer_count();
        end[i] = HAP_perf_get_time_us();
        if (!i) qurt_sleep(20000);
    }
    ticks[1] = HAP_perf_qtimer_count_to_us(ticks[1] - ticks[0]);
    CHECK(begin[1] - end[0] >= 19990 && ticks[1] + 2 >= begin[1] - end[0] && ticks[1] <= end[1] - begin[0] + 2);
    CHECK(!qurt_sysenv_get_max_hw_threads(&threads) && threads.max_hthreads == 6);
    CHECK(!qurt_mem_cache_clean(0, 0, QURT_MEM_CACHE_FLUSH_INVALIDATE_ALL, QURT_MEM_DCACHE));
    CHECK(qurt_mem_cache_clean(0, 0, QURT_MEM_CACHE_FLUSH, QURT_MEM_DCACHE) == QURT_EVAL);
    return 0;
}

static void use_stack(void *done) {
    volatile uint8_t room[20000];
    for (unsigned i = 0; i < sizeof room; i++) room[i] = 1;
    *(volatile int *)done = room[5];
}

// Asks for 4 KiB, uses 20: works, and is counted (the host looks).
static int check_small_stack(void) {
    qurt_thread_t thread;
    volatile int done = 0;
    CHECK(!make_thread(&thread, QURT_THREAD_ATTR_CREATE_JOINABLE, use_stack, (void *)&done));
    CHECK(!qurt_thread_join(thread, NULL) && done == 1);
    return 0;
}

// Objects compiled with the vendor's headers look these up, weakly.
extern unsigned int compute_resource_acquire(compute_res_attr_t *attr, unsigned int timeout_us) __attribute__((weak));
extern int compute_resource_release(unsigned int context_id) __attribute__((weak));
extern int compute_resource_attr_init(compute_res_attr_t *attr) __attribute__((weak));
extern int compute_resource_attr_set_vtcm_param(compute_res_attr_t *attr, unsigned int bytes, uint8_t single_page)
    __attribute__((weak));

static int check_weak_names(void) {
    compute_res_attr_t attr;
    unsigned id;
    CHECK(compute_resource_attr_init && compute_resource_acquire && compute_resource_release);
    CHECK(!compute_resource_attr_init(&attr) && !compute_resource_attr_set_vtcm_param(&attr, 65536, 1));
    id = compute_resource_acquire(&attr, 0);
    CHECK(id && !compute_resource_release(id));
    return 0;
}

int probe_check(uint32_t number, uint32_t fd) {
    static int (*const checks[])(void) = {
        check_threads,        check_locks,          check_compute_res,   check_power,
        check_hmx_v2_refused, probe_check_dma_good, probe_check_dma_bad, probe_check_dma_type_9,
        check_time,           check_small_stack,    check_weak_names};
    const uint32_t count = sizeof checks / sizeof *checks;
    return number < count ? checks[number]() : number == count ? probe_check_extended(fd) : -1;
}
