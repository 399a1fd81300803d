/* The target interface: one vtable for everything that can run a model or a part of it (host, Hexagon, XDNA, null).
 *
 * Nothing above src/target knows which targets exist except the table in targets.c. A target is graph-class (submit is
 * not NULL: host, hexagon) or gemv-class (xdna). One that has only open, load_block and gemv is complete: the runtime
 * runs the rest on the host target, which is always open and works on the same buffers. src/target/null is the one to
 * copy.
 *
 * Thread rules: one target belongs to one context at a time; its functions are called from one thread. buffer data may
 * be touched by the host only between a sync to the host and the next submit that uses it.
 */
#ifndef NPU_TARGET_H
#define NPU_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/pool.h"
#include "npu/mode.h"
#include "base/status.h"
#include "target/weights.h"
#include "wire/op.h"
#include "wire/opplan.h"

typedef struct npu_target npu_target;
typedef struct npu_plan npu_plan; /* src/plan/plan.h */

/* How to open a target; {0} is a sensible default everywhere. Strings stay the caller's and must outlive the target. */
typedef struct npu_target_params {
    npu_logger logger;
    npu_mode mode;
    unsigned n_threads;     /* host threads, 0 = one per core that this process may use */
    const char *cpu_level;  /* NULL = best; else a name of base/cpu.h, refused when the machine lacks it */
    const char *driver;     /* NULL = "auto" (never an emulator) */
    const char *arch;       /* plan for a device that is not here, e.g. "v73" */
    const char *cache_dir;  /* where a target may keep kernels of emulated devices, beside |cache|; NULL = nowhere */
    double timeout_s;       /* wall clock for one submit to be answered; 0 = the driver's: 5, emulated ones more */
    const char *devices;    /* which of several devices, by the target's own syntax; NULL = its first one */
    const char *split;      /* how a model is split over them: "layer", "row", "tensor"; NULL = as the target likes */
    bool no_wait;           /* another process holds the device: fail at once instead of waiting */
    const char *const *emu; /* "key=value" settings of an emulated device, NULL-terminated; NULL = none */
    const npu_weight_cache *cache; /* NULL = none; else packed weights are there, and are left there */
    struct npu_trace *trace;       /* NULL = none; else what the device does goes there (trace/trace.h) */
} npu_target_params;

/* What a target can do; from a probe, or from --arch for a device that is not here. Stored in the plan and compared by
 * open. */
typedef struct npu_caps {
    char device[64];       /* human name: "Hexagon v73 (sim)", "AMD EPYC, AVX-512 VNNI" */
    char generation[16];   /* "v73", "xdna2", "x86-64" */
    uint32_t max_rows;     /* rows of the decode design */
    uint32_t prefill_rows; /* rows of the prefill design */
    uint32_t devices;
    bool graph, t2_expansion, gdn, attn, lm_head, int8_kv, bit_exact;
    npu_hw hw; /* for op plans; zero where they are not used */
} npu_caps;

typedef enum npu_buffer_use { NPU_BUFFER_WEIGHTS, NPU_BUFFER_STATE, NPU_BUFFER_COMPUTE, NPU_BUFFER_IO } npu_buffer_use;
typedef enum npu_sync_dir { NPU_SYNC_TO_DEVICE, NPU_SYNC_TO_HOST } npu_sync_dir;

/* A piece of memory that the host can address and |owner| can work on. Made by buffer_alloc, or for the host target
 * also by npu_host_buffer_wrap over memory that lives elsewhere (a model file's mapping). Zeroed when new. */
typedef struct npu_buffer {
    npu_target *owner;
    uint8_t *data; /* host address; read only for wrapped files */
    uint64_t bytes;
    npu_buffer_use use;
    void *impl;  /* the owner's */
    bool mapped; /* wrapped memory that npu_map_open made: npu_map_drop may be used on it */
} npu_buffer;

/* A submit: a slice of a graph. Ops refer to |tensors|, tensors to |buffers|. All pointers must stay unchanged until
 * wait. |image_id| is not 0 for a slice that will be submitted again unchanged but for |step| and the bytes of input
 * tensors: a target may keep a lowered image under that id and patch it. */
typedef struct npu_batch {
    uint64_t image_id;
    const npu_tensor *tensors;
    const npu_op *ops;
    npu_buffer *const *buffers;
    npu_step step;
    uint32_t n_tensors, n_ops, n_buffers;
    struct npu_weight_ref {
        uint16_t layer, role, part, reserved;
    } const *weights; /* [n_tensors]; meaningful for tensors with NPU_TENSOR_WEIGHT: which weight this is */
} npu_batch;

typedef struct npu_weight_ref npu_weight_ref;

/* An event names a submit; events of one target complete in order. */
typedef struct npu_event {
    uint64_t session, sequence;
} npu_event;

typedef npu_status npu_tiles_fn(void *user, unsigned layer, unsigned role, uint8_t *out, uint64_t out_bytes,
                                npu_error *err);

/* One projection, the op every target has: out[M][N] = x[M][K] * W[K][N]. */
typedef struct npu_gemv_args {
    unsigned role; /* index into the plan's design table: plan->designs */
    unsigned layer;
    uint32_t M, K, N;
    const float *x;       /* M x K, row-major, contiguous */
    const float *weights; /* f32 [K][N]; only with wkey -1, never cached */
    int64_t wkey;         /* residency key (npu_plan_residency); -1 = not cacheable */
    const char *tag;      /* sidecar image name or NULL */
    npu_tiles_fn *tiles;  /* called only on a residency miss, with |layer| and |role| as given here */
    void *tiles_user;
} npu_gemv_args;

typedef struct npu_attn_args {
    unsigned layer;
    uint32_t M;
    const float *q, *k, *v;
    const int32_t *positions, *sequences, *cells;
    float *out;
} npu_attn_args;

/* What a target did since it was opened. */
typedef struct npu_target_counters {
    uint64_t submits, message_bytes; /* messages to the device, and their bytes */
    uint64_t images, image_bytes;    /* descriptors built, and their bytes */
    uint64_t allocations;            /* of device memory */
    uint64_t mapped_bytes;           /* of buffers that the device mapped, again or for the first time */
    uint64_t dma_bytes;              /* that the device moved between its local and other memory */
    uint64_t cache_bytes;            /* that it cleaned and dropped from its cache */
    uint64_t barriers, fences;       /* of several devices: barriers of all of them, other waits and signals */
} npu_target_counters;

/* Phases of a call on a device, in the order of a profile's columns; nanoseconds of the calling thread. */
typedef struct npu_target_phases {
    uint64_t pack_ns;     /* weights to images, after a residency miss */
    uint64_t quant_ns;    /* activations: rotate and quantise */
    uint64_t launch_ns;   /* sync to the device and submit */
    uint64_t wait_ns;     /* for the device */
    uint64_t readback_ns; /* sync from the device, check */
    uint64_t dequant_ns;
    uint64_t retries; /* launches that were repeated */
} npu_target_phases;

typedef struct npu_target_ops {
    const char *name;
    bool is_npu;      /* "host" and "null" are not NPU targets */
    bool has_devices; /* npu_target_params.devices and .split mean something */

    /* Optional: an environment variable with the folders, joined by semicolons, where the vendor's library looks for
     * kernels. It is the main program's to put kernels_dir in front of them, before it has threads: a target can't
     * change the environment under other threads' eyes. |search_before|: what the library reads when that is not set.
     */
    const char *search_variable, *search_before;

    /* Fills |caps| with what is there; needs no model, opens no session and leaves nothing open. NO_DEVICE says what
     * was looked for. */
    npu_status (*probe)(const npu_target_params *params, npu_caps *caps, npu_error *err);

    /* Makes |*out|. The plan is read, compared with what is there, and refused by name; after failure nothing is left
     * open and
     * |*out| is NULL. |plan| must outlive the target. */
    npu_status (*open)(const npu_target_params *params, const npu_plan *plan, const char *kernels_dir, npu_target **out,
                       npu_error *err);

    /* Weights of |n_layers| layers from |first_layer| (plus those outside the layers when first_layer is 0) become
     * usable. */
    npu_status (*load_block)(npu_target *target, unsigned first_layer, unsigned n_layers,
                             const npu_weight_source *source, npu_error *err);

    /* |*out| is the caller's until buffer_free. NO_MEMORY names the size. */
    npu_status (*buffer_alloc)(npu_target *target, uint64_t bytes, npu_buffer_use use, npu_buffer **out,
                               npu_error *err);
    void (*buffer_free)(npu_target *target, npu_buffer *buffer); /* NULL is fine */

    /* Makes bytes written by one side visible to the other. Called by the executor when ownership changes, never by
     * targets. */
    npu_status (*buffer_sync)(npu_target *target, npu_buffer *buffer, uint64_t offset, uint64_t bytes, npu_sync_dir dir,
                              npu_error *err);

    npu_status (*gemv)(npu_target *target, const npu_gemv_args *args, float *out, npu_error *err);

    /* Optional, coarse: NULL or UNSUPPORTED (only before any write) means the runtime runs the ops on the host. */
    npu_status (*gdn_step)(npu_target *target, unsigned layer, uint32_t M, const float *x, float *y, npu_error *err);
    npu_status (*attn_step)(npu_target *target, const npu_attn_args *args, npu_error *err);
    npu_status (*lm_head)(npu_target *target, uint32_t M, const float *h, float *logits, npu_error *err);

    /* Graph-class targets. submit returns at once with an event; wait blocks for it. Lengths and positions advance only
     * after wait said OK. After TIMEOUT or DEVICE_LOST the target's buffers are quarantined: close it and open a new
     * one. UNSUPPORTED here for an op that was planned on the device is an error, not a fallback. */
    npu_status (*submit)(npu_target *target, const npu_batch *batch, npu_event *event, npu_error *err);
    npu_status (*wait)(npu_target *target, npu_event event, npu_error *err);

    /* Asked while planning only, with caps from probe or --arch; |*why_not| gets a constant text. |target| may be NULL
     * then. */
    bool (*supports)(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                     const char **why_not);

    /* Optional: how a weight that lies as in the file is kept on the device, by a name for the plan, and its bytes. */
    void (*image)(const npu_tensor *weight, const char **kind, uint64_t *bytes);

    /* Optional, with |image|: in how many buffers such a weight lies on the device that the plan is for. Asked once all
     * else is in the plan. */
    uint32_t (*parts)(const npu_plan *plan, const npu_tensor *weight);

    /* Optional, with |image|: writes such bytes to |out|, on all threads of |pool|; no device is asked. For measuring.
     */
    npu_status (*pack)(const npu_target_params *params, npu_pool *pool, const npu_weight *weight, uint8_t *out,
                       npu_error *err);

    /* Optional, gemv-class: how the products that |supports| takes are carried out. Called once for a plan whose
     * entries are all there: gives each entry on the device its designs and their kernels from the manifest in
     * |kernels_dir| (npu_plan_add_kernel, npu_plan_add_design), or leaves it to the host with the reason
     * (npu_plan_leave_on_host); may raise plan->needs. Asked while planning only. REFUSED: the folder or its manifest
     * can't be used. */
    npu_status (*design)(const npu_target_params *params, const npu_caps *caps, const char *kernels_dir, npu_plan *plan,
                         npu_error *err);

    /* Optional: whether a device with |caps| can carry a plan out as a whole, beyond what |supports| says of its ops.
     * Asked when a plan is made or read, and by open. REFUSED names what is different or too small: plan.*. */
    npu_status (*check_plan)(const npu_caps *caps, const npu_plan *plan, npu_error *err);

    /* With has_devices: which device runs what, in a plan with settings.devices; that and .split are written as this
     * target writes them. INVALID: what the settings can't mean. */
    npu_status (*spread)(npu_plan *plan, npu_error *err);

    /* Optional: whether |params| and |kernels_dir| can be meant at all, as far as that shows without a device: an
     * emulator's library may be loaded and asked, nothing else is opened. REFUSED or INVALID says what contradicts what
     * or is not known, NO_DEVICE that this library is not there. probe and open refuse the same. */
    npu_status (*check_params)(const npu_target_params *params, const char *kernels_dir, npu_error *err);

    /* Optional: the settings that params->emu may have, one line each, for --emu help. */
    npu_status (*describe_emu)(const npu_target_params *params, const char **text, npu_error *err);

    /* Optional. */
    void (*count)(const npu_target *target, npu_target_counters *out);

    /* Optional: what opening and loading found out beyond that the plan fits, a line each, for npu plan --check. */
    void (*report)(const npu_target *target, void (*line)(void *user, const char *text), void *user);

    /* Optional: where the time of all calls since it was opened went. The executor takes differences, so that a target
     * only adds up and knows no roles. Without it the executor measures launch and wait itself. */
    void (*phases)(const npu_target *target, npu_target_phases *out);

    void (*close)(npu_target *target); /* NULL is fine */
} npu_target_ops;

/* The base every target starts with. */
struct npu_target {
    const npu_target_ops *ops;
    npu_logger logger;
    npu_mode mode;
    npu_caps caps;
};

/* The targets of this build. */
extern const npu_target_ops npu_target_host, npu_target_null;

/* What a program does when a vendor's library does not come back even after the device's process was ended: |fn| is
 * told once, on a thread of its own, while another hangs in the library; it may end the program, and must not use the
 * target. NULL, which it is at first: the call is waited for. Set before targets are opened. */
typedef void npu_target_stuck_fn(const npu_error *err);
void npu_target_on_stuck(npu_target_stuck_fn *fn);
void npu_target_stuck(const npu_error *err); /* for targets */

/* The |i|-th compiled target in table order, NULL past the end. */
const npu_target_ops *npu_target_at(unsigned i);

/* The NPU target called |name|. REFUSED with exactly
 *     --npu-target NAME: this build has no such target (compiled: LIST)
 * when there is none; LIST: the NPU targets in table order, joined by ", ", or "none". Opens nothing. */
npu_status npu_target_find(const char *name, const npu_target_ops **out, npu_error *err);

/* check_params of |target|, and of every target: REFUSED ("target.devices") when |params| names several devices of one
 * that has none. */
npu_status npu_target_check(const npu_target_ops *target, const npu_target_params *params, const char *kernels_dir,
                            npu_error *err);

/* A host buffer over memory that lives elsewhere and outlives it; free with npu_target_host.buffer_free. */
npu_status npu_host_buffer_wrap(const void *data, uint64_t bytes, npu_buffer_use use, npu_buffer **out, npu_error *err);

/* Whether none of |n| values is NaN or infinite. The host target's threads share them, from the caller's thread like
 * submit; |alone|: the calling thread looks at all, which is quicker where the others sleep. */
bool npu_host_finite(npu_target *host, bool alone, const float *values, uint64_t n);

#endif
