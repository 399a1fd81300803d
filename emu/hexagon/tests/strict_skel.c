// The strict probe: an NPU program that does one wrong thing when it is told to (strict_probe.h). Compiled with the
// hooks of strict mode; only public names.
#include "AEEStdErr.h"
#include "HAP_compute_res.h"
#include "HAP_mem.h"
#include "npu_emu_dsp.h"
#include "remote.h"
#include "strict_probe.h"

#include <string.h>

typedef uint32_t vector __attribute__((vector_size(128), aligned(128)));

#define DONE  0x80000000u
#define ORDER 0x40000000u
#define LINES 32    // of the buffer, 128 bytes each
#define OWN   65536 // bytes of VTCM

__attribute__((visibility("default"))) int strict_skel_handle_invoke(remote_handle64 handle, uint32_t scalars,
                                                                     remote_arg *args);

static uint8_t *shared; // the mapped buffer
static uint32_t shared_bytes;
static uint8_t *vtcm;
static uint32_t (*ring)[8];
static compute_res_attr_t reservation;
static unsigned int context;

static uint32_t low(const void *p) {
    return (uint32_t)(uintptr_t)p;
}

static int open_all(void) {
    unsigned int bytes = 0;
    void *at = NULL;
    if (ring) return 0;
    ring = npu_emu_low_alloc(4096, 64);
    HAP_compute_res_attr_init(&reservation);
    HAP_compute_res_attr_set_vtcm_param_v2(&reservation, OWN, 0, OWN);
    HAP_compute_res_attr_set_cache_mode(&reservation, 1);
    context = HAP_compute_res_acquire(&reservation, 100000);
    HAP_compute_res_attr_get_vtcm_ptr_v2(&reservation, &at, &bytes);
    vtcm = at;
    return ring && context && vtcm && !HAP_compute_res_acquire_cached(context, 100000) ? 0 : AEE_EFAILED;
}

// Descriptor |i|: |bytes| in one row, or |rows| of them.
static void push(unsigned i, void *to, const void *from, uint32_t bytes, uint32_t rows, uint32_t stride,
                 uint32_t flags) {
    memset(ring[i], 0, sizeof ring[i]);
    ring[i][1] = rows ? 1u << 24 | flags : bytes | flags;
    ring[i][2] = low(from);
    ring[i][3] = low(to);
    ring[i][5] = bytes | rows << 16;
    ring[i][6] = stride << 16 | bytes;
    npu_emu_dmlink(ring[i ? i - 1 : 63], ring[i]);
}

static int is_done(unsigned i) {
    return (__atomic_load_n(&ring[i][1], __ATOMIC_ACQUIRE) & DONE) != 0;
}

static void wait(unsigned i) {
    while (!is_done(i)) npu_emu_dmpoll();
}

static uint32_t load(const uint8_t *at) {
    return *(const volatile uint32_t *)(const void *)at;
}

static void store(uint8_t *at, uint32_t value) {
    *(volatile uint32_t *)(void *)at = value;
}

static uint8_t *line(uint32_t number) {
    return shared + number % LINES * 128;
}

// The operation and its end.
static void cache_op(void (*op)(const void *), const void *at) {
    op(at);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// --- the cache ---

static uint32_t cache_wrong(uint32_t what) {
    uint8_t *at = line(1);
    switch (what) {
    case STRICT_READ_FRESH:
        cache_op(npu_emu_dccleaninva, at);
        return load(at);
    case STRICT_READ_STALE:
        return load(at);
    case STRICT_READ_NO_FENCE:
        npu_emu_dccleaninva(at);
        return load(at);
    case STRICT_READ_STALE_ATOMIC:
        return __atomic_load_n((uint32_t *)(void *)at, __ATOMIC_ACQUIRE);
    case STRICT_WRITE_STALE:
        store(at, 1);
        break;
    case STRICT_WRITE_CLEAN:
        cache_op(npu_emu_dccleaninva, at);
        store(at + 4, 77);
        cache_op(npu_emu_dccleana, at);
        return load(at + 4);
    case STRICT_INVALIDATE_DIRTY:
        cache_op(npu_emu_dccleaninva, at);
        store(at, 1);
        cache_op(npu_emu_dcinva, at);
        break;
    case STRICT_UNMAP_DIRTY:
        cache_op(npu_emu_dccleaninva, at);
        store(at, 1);
        HAP_munmap2(shared, shared_bytes);
        break;
    case STRICT_READ_OUTSIDE:
        return load((uint8_t *)(uintptr_t)0x60000000);
    }
    return 0;
}

// --- DMA ---

static uint32_t dma_wrong(uint32_t what) {
    uint8_t *at = line(4);
    vector *v = (vector *)(void *)vtcm, x;
    cache_op(npu_emu_dccleaninva, at);
    switch (what) {
    case STRICT_DMA_GOOD:
        push(0, vtcm, at, 128, 0, 0, 0);
        push(1, at + 128, vtcm + 128, 64, 2, 256, 0);
        wait(0);
        x = v[0];
        wait(1);
        return x[0];
    case STRICT_DMA_READ_STALE:
        v[0] = (vector){0x5A5A5A5A};
        push(0, at, vtcm, 128, 0, 0, 0);
        wait(0);
        return load(at);
    case STRICT_DMA_OF_DIRTY:
        store(at, 1);
        push(0, vtcm, at, 128, 0, 0, 0);
        wait(0);
        break;
    case STRICT_DMA_OVER_DIRTY:
        store(at, 1);
        push(0, at, vtcm, 64, 0, 0, 0);
        wait(0);
        break;
    case STRICT_DMA_NOT_WAITED:
        push(0, vtcm, at, 256, 0, 0, 0);
        x = v[1];
        wait(0);
        return x[0];
    case STRICT_DMA_SOURCE_WRITTEN:
        push(0, at, vtcm, 128, 0, 0, 0);
        v[0] = (vector){1};
        wait(0);
        break;
    case STRICT_DMA_OVERLAP:
    case STRICT_DMA_ORDERED:
        push(0, at, vtcm, 128, 0, 0, 0);
        push(1, vtcm + 64, at + 256, 128, 0, 0, what == STRICT_DMA_ORDERED ? ORDER : 0);
        wait(0);
        wait(1);
        break;
    case STRICT_DMA_OUT_OF_ORDER:
        push(0, vtcm, at, 128, 0, 0, 0);
        push(1, vtcm + 128, at, 128, 0, 0, 0);
        wait(1);
        break;
    case STRICT_DMA_LEFT:
        push(0, vtcm, at, 128, 0, 0, 0);
        npu_emu_op(7, "next");
        break;
    case STRICT_DMA_TO_BEHIND:
        push(0, vtcm + OWN - 64, at, 128, 0, 0, 0);
        wait(0);
        break;
    case STRICT_DMA_FROM_BEHIND:
        push(0, at, vtcm + OWN, 128, 0, 0, 0);
        wait(0);
        break;
    case STRICT_DMA_AGAIN:
        push(0, vtcm, at, 128, 0, 0, 0);
        push(0, vtcm + 128, at, 128, 0, 0, 0);
        break;
    }
    return 0;
}

static uint32_t engine_wrong(uint32_t what) {
    switch (what) {
    case STRICT_DMA_PUSH_LEFT:
        npu_emu_dma_pushed(4);
        npu_emu_op(8, "next");
        break;
    case STRICT_DMA_POP:
        npu_emu_dma_popped();
        break;
    case STRICT_DMA_TOO_DEEP:
        for (int i = 0; i < 5; i++) npu_emu_dma_pushed(4);
        break;
    case STRICT_DMA_ALIGNMENT:
        npu_emu_dmstart((uint8_t *)ring + 8);
        break;
    case STRICT_DMA_STRIDE:
        push(0, vtcm, shared, 64, 2, 32, 0);
        break;
    case STRICT_DMA_OUTSIDE:
        push(0, vtcm, shared + shared_bytes - 64, 128, 0, 0, 0);
        break;
    case STRICT_DMA_TYPE:
        push(0, vtcm, shared, 64, 0, 0, 3u << 24);
        break;
    }
    npu_emu_dmwait();
    return 0;
}

static uint32_t vtcm_wrong(uint32_t what) {
    volatile vector *v = (volatile vector *)(void *)vtcm;
    vector x = {0};
    switch (what) {
    case STRICT_VTCM_OUTSIDE:
        x = *(volatile vector *)(void *)(vtcm - 4096);
        break;
    case STRICT_VTCM_NOT_OWNED:
        HAP_compute_res_release_cached(context);
        x = v[0];
        break;
    case STRICT_VTCM_LAST:
    case STRICT_VTCM_BEHIND:
        x = v[OWN / sizeof *v - (what == STRICT_VTCM_LAST)];
        break;
    case STRICT_VTCM_MISALIGNED:
        x = *(volatile vector *)(void *)(vtcm + 64);
        break;
    case STRICT_VTCM_SCALAR:
        x = v[3];
        return x[0] * 0 + (load(vtcm) != 0) * 0;
    }
    return x[0];
}

// --- lines that several devices share ---

static uint32_t share(uint32_t what, uint8_t *at, uint32_t new_value) {
    volatile vector *v = (volatile vector *)(void *)vtcm;
    uint32_t value = 0;
    switch (what) {
    case STRICT_STORE:
    case STRICT_STORE_DIRTY:
        cache_op(npu_emu_dccleaninva, at);
        store(at, new_value);
        if (what == STRICT_STORE) cache_op(npu_emu_dccleana, at);
        break;
    case STRICT_CLEAN:
        cache_op(npu_emu_dccleana, at);
        break;
    case STRICT_WAIT:
        do {
            cache_op(npu_emu_dccleaninva, at);
            value = __atomic_load_n((uint32_t *)(void *)at, __ATOMIC_ACQUIRE);
        } while (value != new_value);
        break;
    case STRICT_DMA_STORE:
        v[0] = (vector){new_value};
        push(0, at, vtcm, 64, 0, 0, 0);
        wait(0);
        break;
    case STRICT_DMA_LOAD:
        push(0, vtcm, at, 128, 0, 0, 0);
        wait(0);
        value = v[0][0];
        break;
    }
    return value;
}

static uint32_t step(uint32_t what, uint32_t number, uint32_t value) {
    static uint32_t (*const wrongs[])(uint32_t) = {
#define STRICT_WRONG(name, function, kind) [STRICT_##name] = function##_wrong,
        STRICT_WRONGS
#undef STRICT_WRONG
    };
    return what < STRICT_WRONGS_END ? wrongs[what](what) : share(what, line(number), value);
}

static int map(const struct strict_in *in) {
    shared = HAP_mmap2(NULL, in->bytes, HAP_PROT_READ | HAP_PROT_WRITE, 0, (int)in->fd, 0);
    shared_bytes = in->bytes;
    return shared == (void *)-1 ? AEE_EMMAP : AEE_SUCCESS;
}

int strict_skel_handle_invoke(remote_handle64 handle, uint32_t scalars, remote_arg *args) {
    const struct strict_in *in = args[0].buf.pv;
    struct strict_out *out = args[1].buf.pv;
    (void)handle;
    switch (REMOTE_SCALARS_METHOD(scalars)) {
    case STRICT_OPEN:
        args[2].h64 = 1;
        return open_all();
    case STRICT_MAP:
        return map(in);
    case STRICT_RUN:
        for (int i = 0; i < 3; i++)
            if (in->steps[i].what) out->value = step(in->steps[i].what, in->steps[i].line, in->steps[i].value);
        return AEE_SUCCESS;
    default:
        return AEE_SUCCESS;
    }
}
