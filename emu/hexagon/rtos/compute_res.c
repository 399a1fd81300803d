// VTCM and HMX reservations within this process. A context is a range of VTCM; a cached one keeps its range and owns it
// only between acquire_cached and release_cached, others own it from acquire to release. A wait for a range whose owner
// has a lower priority raises the owner's release callback, once, on a thread of its own.
//
// Not copied from a device: sessions do not compete with each other, each has VTCM of its own.
#include "emu_dsp.h"
#include "compute_res.h"
#include "compute_res_attr.h"
#include "qurt.h"
#include "../strict/strict.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define MOST_CONTEXTS 32
#define LEAST_WAIT_US 200
#define ALIGN         4096u
#define POISON        0xA5

struct context {
    bool used, owns, cached, hmx, asked;
    uint32_t turn;
    uint32_t first, bytes;
    uint32_t priority;
    uint32_t hmx_owner; // thread
    emu_release_fn *release;
    void *release_context;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct context contexts[MOST_CONTEXTS];
} r = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static uint32_t id_of(const struct context *c) {
    return c->turn << 8 | (uint32_t)(c - r.contexts + 1);
}

static struct context *context_of(uint32_t id) {
    uint32_t index = (id & 0xFF) - 1;
    if (index >= MOST_CONTEXTS || !r.contexts[index].used || id_of(&r.contexts[index]) != id) return NULL;
    return &r.contexts[index];
}

// --- attributes that answer ---

EMU_API int compute_resource_attr_get_vtcm_ptr_v2(compute_res_attr_t *attr, void **vtcm, unsigned int *bytes) {
    struct emu_res_attr *a = emu_res_attr(attr);
    const struct context *c;
    int result = AEE_EFAILED;
    if (!a || !vtcm || !bytes) return AEE_EBADPARM;
    pthread_mutex_lock(&r.lock);
    c = context_of(a->context_id);
    if (c && c->bytes) {
        *vtcm = emu_vtcm() + c->first;
        *bytes = c->bytes;
        result = AEE_SUCCESS;
    }
    pthread_mutex_unlock(&r.lock);
    return result;
}

EMU_API void *compute_resource_attr_get_vtcm_ptr(compute_res_attr_t *attr) {
    void *vtcm = NULL;
    unsigned int bytes;
    return compute_resource_attr_get_vtcm_ptr_v2(attr, &vtcm, &bytes) ? NULL : vtcm;
}

// --- ownership ---

static bool overlap(const struct context *a, uint32_t first, uint32_t bytes) {
    return a->first < first + bytes && first < a->first + a->bytes;
}

// The owner that stands in the way of |c| having [first, +bytes), or NULL.
static struct context *obstacle(const struct context *c, uint32_t first, uint32_t bytes) {
    for (int i = 0; i < MOST_CONTEXTS; i++) {
        struct context *other = &r.contexts[i];
        if (other == c || !other->used || !other->owns) continue;
        if (overlap(other, first, bytes) || (other->hmx && c->hmx)) return other;
    }
    return NULL;
}

// Where |bytes| are free now: behind one of the owners, or at the start. With none, the obstacle at the start.
static struct context *find_place(const struct context *c, uint32_t bytes, uint32_t *first) {
    struct context *blocks = obstacle(c, 0, bytes);
    *first = 0;
    for (int i = 0; blocks && i < MOST_CONTEXTS; i++) {
        const struct context *other = &r.contexts[i];
        uint32_t behind = (other->first + other->bytes + ALIGN - 1) / ALIGN * ALIGN;
        if (!other->used || !other->owns || bytes > emu_block->vtcm_bytes || behind > emu_block->vtcm_bytes - bytes)
            continue;
        if (obstacle(c, behind, bytes)) continue;
        *first = behind;
        return NULL;
    }
    return blocks;
}

static void *run_release(void *argument) {
    uint32_t id = (uint32_t)(uintptr_t)argument;
    struct context *c;
    emu_release_fn *release = NULL;
    void *context = NULL;
    pthread_mutex_lock(&r.lock);
    c = context_of(id);
    if (c) release = c->release, context = c->release_context;
    pthread_mutex_unlock(&r.lock);
    if (release) release(id, context);
    return NULL;
}

static void ask_release(struct context *owner, uint32_t priority) {
    pthread_t thread;
    if (owner->asked || priority >= owner->priority) return;
    owner->asked = true;
    if (owner->release && !pthread_create(&thread, NULL, run_release, (void *)(uintptr_t)id_of(owner)))
        pthread_detach(thread);
}

static struct timespec deadline(uint32_t timeout_us) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += timeout_us / 1000000;
    t.tv_nsec += (long)(timeout_us % 1000000) * 1000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

// Waits until |c| can own its range (cached) or some range of its size, and makes it the owner. 0 or a code.
static int own(struct context *c, uint32_t timeout_us, bool fixed) {
    struct timespec until = deadline(timeout_us);
    for (;;) {
        uint32_t first = c->first;
        struct context *blocks = fixed ? obstacle(c, first, c->bytes) : find_place(c, c->bytes, &first);
        if (!blocks) {
            c->first = first;
            c->owns = true;
            c->asked = false;
            if (emu_strict_vtcm()) emu_strict_vtcm_reserve(first, c->bytes, true);
            return AEE_SUCCESS;
        }
        if (!timeout_us) return AEE_EITEMBUSY;
        ask_release(blocks, c->priority);
        if (pthread_cond_timedwait(&r.changed, &r.lock, &until) == ETIMEDOUT) return AEE_EEXPIRED;
    }
}

static void disown(struct context *c) {
    if (c->owns && emu_strict_vtcm()) emu_strict_vtcm_reserve(c->first, c->bytes, false);
    c->owns = c->asked = false;
    pthread_cond_broadcast(&r.changed);
}

static struct context *make(const struct emu_res_attr *a) {
    for (int i = 0; i < MOST_CONTEXTS; i++) {
        struct context *c = &r.contexts[i];
        uint32_t turn = (c->turn + 1) & 0xFFFFF;
        if (c->used) continue;
        *c = (struct context){.used = true, .turn = turn, .bytes = a->bytes, .cached = a->cached, .hmx = a->hmx};
        if (c->bytes > emu_block->vtcm_bytes) c->bytes = a->min_bytes;
        c->priority = (uint32_t)qurt_thread_get_priority(qurt_thread_get_id());
        c->release = (emu_release_fn *)(uintptr_t)a->release;
        c->release_context = (void *)(uintptr_t)a->release_context;
        return c;
    }
    return NULL;
}

EMU_API unsigned int compute_resource_acquire(compute_res_attr_t *attr, unsigned int timeout_us) {
    struct emu_res_attr *a = emu_res_attr(attr);
    struct context *c;
    uint32_t id = 0;
    int code;
    if (emu_dsp_meet("HAP_compute_res_acquire", &code)) return 0;
    if (!a || (timeout_us && timeout_us < LEAST_WAIT_US)) return 0;
    pthread_mutex_lock(&r.lock);
    c = make(a);
    if (c && (c->bytes > emu_block->vtcm_bytes || (!c->cached && own(c, timeout_us, false)))) {
        c->used = false;
        c = NULL;
    }
    if (c) {
        id = id_of(c);
        a->context_id = id;
    }
    pthread_mutex_unlock(&r.lock);
    return id;
}

EMU_API int compute_resource_release(unsigned int context_id) {
    struct context *c;
    int code;
    if (emu_dsp_meet("HAP_compute_res_release", &code)) return code;
    pthread_mutex_lock(&r.lock);
    c = context_of(context_id);
    if (c) {
        if (!obstacle(c, c->first, c->bytes)) memset(emu_vtcm() + c->first, 0, c->bytes);
        disown(c);
        c->used = false;
    }
    pthread_mutex_unlock(&r.lock);
    return c ? AEE_SUCCESS : AEE_EBADPARM;
}

EMU_API int compute_resource_acquire_cached(unsigned int context_id, unsigned int timeout_us) {
    struct context *c;
    int result = AEE_EBADPARM, code;
    if (emu_dsp_meet("HAP_compute_res_acquire_cached", &code)) return code;
    if (timeout_us && timeout_us < LEAST_WAIT_US) return AEE_EBADPARM;
    pthread_mutex_lock(&r.lock);
    c = context_of(context_id);
    if (c && c->cached) result = c->owns ? AEE_SUCCESS : own(c, timeout_us, true);
    pthread_mutex_unlock(&r.lock);
    return result;
}

EMU_API int compute_resource_release_cached(unsigned int context_id) {
    struct context *c;
    int result = AEE_EBADPARM;
    pthread_mutex_lock(&r.lock);
    c = context_of(context_id);
    if (c && c->cached && c->owns) {
        // Others may use the range now: with a seed, what a program wrongly expects to find again is gone at once.
        if (emu_block->seed || emu_strict_vtcm()) memset(emu_vtcm() + c->first, POISON, c->bytes);
        disown(c);
        result = AEE_SUCCESS;
    }
    pthread_mutex_unlock(&r.lock);
    return result;
}

// Not 0 when somebody of higher priority waits.
EMU_API int compute_resource_check_release_request(unsigned int context_id) {
    const struct context *c;
    int asked;
    pthread_mutex_lock(&r.lock);
    c = context_of(context_id);
    asked = c && c->asked;
    pthread_mutex_unlock(&r.lock);
    return asked;
}

EMU_API int compute_resource_update_priority(unsigned int context_id, unsigned int priority) {
    struct context *c;
    if (priority > 255) return AEE_EBADPARM;
    if (!priority) priority = (unsigned int)qurt_thread_get_priority(qurt_thread_get_id());
    pthread_mutex_lock(&r.lock);
    c = context_of(context_id);
    if (c) c->priority = priority;
    pthread_cond_broadcast(&r.changed);
    pthread_mutex_unlock(&r.lock);
    return c ? AEE_SUCCESS : AEE_EBADPARM;
}

EMU_API int compute_resource_query_VTCM(unsigned int application_id, unsigned int *total_bytes,
                                        compute_res_vtcm_page_t *total_layout, unsigned int *available_bytes,
                                        compute_res_vtcm_page_t *available_layout) {
    uint32_t owned = 0, total = emu_block->vtcm_bytes;
    const compute_res_vtcm_page_t one = {sizeof one, 1, {{total, 1}}};
    (void)application_id;
    pthread_mutex_lock(&r.lock);
    for (int i = 0; i < MOST_CONTEXTS; i++)
        if (r.contexts[i].used && r.contexts[i].owns) owned += r.contexts[i].bytes;
    pthread_mutex_unlock(&r.lock);
    if (total_bytes) *total_bytes = total;
    if (available_bytes) *available_bytes = owned < total ? total - owned : 0;
    if (total_layout) *total_layout = one;
    if (available_layout) *available_layout = one;
    return AEE_SUCCESS;
}

// --- HMX: the thread that executes it must hold the lock itself ---

EMU_API int compute_resource_hmx_lock(unsigned int context_id) {
    struct context *c;
    int result = AEE_EBADPARM;
    uint32_t self = qurt_thread_get_id();
    pthread_mutex_lock(&r.lock);
    while ((c = context_of(context_id)) && c->hmx && c->hmx_owner && c->hmx_owner != self)
        pthread_cond_wait(&r.changed, &r.lock);
    if (c && c->hmx && c->owns) {
        c->hmx_owner = self;
        result = AEE_SUCCESS;
    }
    pthread_mutex_unlock(&r.lock);
    return result;
}

EMU_API int compute_resource_hmx_unlock(unsigned int context_id) {
    struct context *c;
    int result = AEE_EBADPARM;
    uint32_t self = qurt_thread_get_id();
    pthread_mutex_lock(&r.lock);
    c = context_of(context_id);
    if (c && c->hmx_owner == self) {
        c->hmx_owner = 0;
        pthread_cond_broadcast(&r.changed);
        result = AEE_SUCCESS;
    }
    pthread_mutex_unlock(&r.lock);
    return result;
}

EMU_API int compute_resource_hmx_lock2(unsigned int context_id, unsigned int type) {
    return type > 1 ? AEE_EBADPARM : compute_resource_hmx_lock(context_id);
}

EMU_API int compute_resource_hmx_unlock2(unsigned int context_id, unsigned int type) {
    return type > 1 ? AEE_EBADPARM : compute_resource_hmx_unlock(context_id);
}
