/* The plan: everything that decides how a model will run, as a table: what runs where, in which layout, and why.
 *
 * Derived once from the model's graphs and a target's caps (npu_plan_derive), written and read as plan.json, compared
 * with what is there before anything is opened (npu_plan_check). After that the plan decides: targets read it and never
 * choose again. A plan is immutable once made; any thread may read it.
 */
#ifndef NPU_PLAN_H
#define NPU_PLAN_H

#include "graph/graph.h"
#include "target/target.h"

enum {
    NPU_PLAN_VERSION = 2,
    NPU_PLAN_HASH_LEN = 64,
    NPU_PLAN_MAX_TENSORS = 8,
    NPU_PLAN_MAX_SPLITS = NPU_OP_DSTS,
    NPU_PLAN_NO_KERNEL = 0xffff,
};

/* One fact about the model that changes how it runs, with the GGUF key it came from ("" when it follows from tensor
 * shapes). */
typedef struct npu_plan_fact {
    char name[32], key[96], value[96];
} npu_plan_fact;

/* A kernel as a kernels folder's manifest lists it: one shape, one file. */
typedef struct npu_plan_kernel {
    uint16_t role; /* the role that it was built for; NONE = any of its shape */
    uint32_t M, K, N;
    char kind[16];   /* "int8", "gemv_q4_1", "head", … */
    char layout[32]; /* of weights and activations: the micro-tiles */
    char file[96];   /* in the kernels folder */
    char sha256[NPU_PLAN_HASH_LEN + 1];
} npu_plan_kernel;

/* A product as a gemv-class target carries it out: some or all results of one op, side by side, from one weight image.
 * Layers of the same shape share a design; npu_gemv_args.role is its index. */
typedef struct npu_plan_design {
    uint16_t role;                          /* "qkv" when fused; "q", "k" and "v" when split */
    uint16_t first, n_splits;               /* which results of the op */
    uint32_t splits[NPU_PLAN_MAX_SPLITS];   /* how many columns each takes; real_n together */
    uint32_t K, N, real_k, real_n;          /* with and without padding */
    uint32_t hadamard;                      /* block of the rotation of x and W; 0 = none */
    char image[24], layout[32];             /* kind of weight image, and how it lies in memory */
    uint64_t bytes;                         /* of one image */
    uint16_t decode_kernel, prefill_kernel; /* in the plan's kernels; NPU_PLAN_NO_KERNEL = the other one does it */
} npu_plan_design;

/* One op of the graph: (layer, role), its tensors, shapes, and where it runs. */
typedef struct npu_plan_entry {
    uint16_t layer, role, code, n_tensors;
    uint32_t K, N, real_k, real_n; /* padded and real inner and outer size; equal unless the layout pads */
    uint64_t bytes;                /* of the weights in the layout they are used in; 0 without weights */
    uint32_t parts;                /* buffers that its largest weight lies in, cut by rows; 1 = whole */
    uint8_t type;                  /* GGUF type of the (first) weight */
    bool on_device;
    uint8_t device;                         /* which of settings.devices, of a model that is split by layers */
    char image[24];                         /* image kind: "gguf" = as in the file */
    char why[96];                           /* why it is not on the device; "" when it is */
    char tensors[NPU_PLAN_MAX_TENSORS][64]; /* GGUF names of the weights */
    uint16_t n_splits;                      /* results of a product, side by side in N: q, k and v; gate and up */
    uint16_t n_designs;                     /* 0 = the target runs the op as it is, or the host does */
    uint32_t splits[NPU_PLAN_MAX_SPLITS];
    uint16_t designs[NPU_PLAN_MAX_SPLITS]; /* in the plan's designs; together they make all results */
} npu_plan_entry;

typedef struct npu_plan_settings {
    npu_mode mode;
    uint32_t ctx, n_seq, decode_rows, prefill_rows;
    uint32_t out_rows; /* of a step that may ask for logits; 0 = as many as keep their memory bounded */
    uint8_t kv_type;   /* GGUF type number */
    char devices[64];  /* several devices of the target, by its own names; "" = one */
    char split[8];     /* how the model is split over them: "layer", "row", "tensor" */
} npu_plan_settings;

struct npu_plan {
    uint32_t version;
    char hash[NPU_PLAN_HASH_LEN + 1]; /* SHA-256 over all the rest in canonical form */
    char architecture[32];
    char model_name[96];
    uint64_t weight_bytes, state_bytes, compute_bytes, io_bytes;
    uint32_t n_layers;
    char target[16];
    npu_caps caps;  /* of the device that it was made for */
    npu_caps needs; /* the part of them that it can't do without: a device with less is refused */
    npu_plan_settings settings;
    npu_plan_fact *facts;
    npu_plan_entry *entries; /* one per op of the graph, in its order */
    npu_plan_design *designs;
    npu_plan_kernel *kernels;
    uint32_t n_facts, n_entries, n_designs, n_kernels;
};

/* What a plan is derived from. The graphs are the same ops at two row counts; an op is planned on the device when the
 * target takes it at both. |target| NULL: all on the host. */
typedef struct npu_plan_request {
    const char *architecture;
    const char *model_name; /* |model_name_size| bytes as the file has them: any */
    size_t model_name_size;
    const npu_plan_fact *facts;
    uint32_t n_facts, n_layers;
    const npu_graph *decode, *prefill;
    const npu_weight_source *source;
    const npu_target_ops *target;
    const npu_target_params *target_params; /* for the target's design hook, which is not asked without them: that is
                                             * enough to hold another plan against this one */
    const char *kernels_dir;
    npu_caps caps;
    npu_plan_settings settings;
} npu_plan_request;

/* |*out| is the caller's, to be freed with npu_plan_free. NO_MEMORY, or INTERNAL when the two graphs differ. */
npu_status npu_plan_derive(const npu_plan_request *request, npu_plan **out, npu_error *err);
void npu_plan_free(npu_plan *plan); /* NULL is fine */

/* plan.json. Reading checks the version, every field and range, and the hash: plan.version, plan.field, plan.hash. */
npu_status npu_plan_write(const npu_plan *plan, const char *path, npu_error *err);
npu_status npu_plan_read(const char *path, npu_plan **out, npu_error *err);

/* The JSON text as a malloc'd string, NULL when out of memory. */
char *npu_plan_to_json(const npu_plan *plan);

/* Whether |given| (from a file) is the plan for this model, target and settings, of which |derived| was just made:
 * refuses with the first difference named: plan.model, plan.target, plan.caps, plan.settings, plan.entry. */
npu_status npu_plan_check(const npu_plan *given, const npu_plan *derived, npu_error *err);

/* The part of it that concerns the device: plan.target, plan.generation, plan.caps. */
npu_status npu_plan_check_caps(const npu_plan *plan, const char *target, const npu_caps *caps, npu_error *err);

/* Calls |line| with a text for each difference of two plans, what layers have in common once; |*n| says how many. */
typedef void npu_plan_line_fn(void *user, const char *text);
npu_status npu_plan_diff(const npu_plan *a, const npu_plan *b, npu_plan_line_fn *line, void *user, uint32_t *n,
                         npu_error *err);

/* Whether the manifest of a kernels folder, |n| kernels |have|, has what the plan says: else plan.kernel_missing,
 * plan.kernel_shape (another role, shape, kind or layout) or plan.kernel_hash, each with the kernel's name. For open.
 */
npu_status npu_plan_check_kernels(const npu_plan *plan, const npu_plan_kernel *have, uint32_t n, npu_error *err);

/* The residency key of an entry's design, for npu_gemv_args.wkey: (layer, design's role) in one number. A target keeps
 * its images under that key and the design's image kind. */
int64_t npu_plan_residency(const npu_plan_entry *entry, const npu_plan_design *design);

/* For a target's design hook, while a plan is being made. Equal kernels and designs are kept once; |*index| is the
 * place. A design is added to |entry|, whose bytes grow by its image. REFUSED (plan.designs): more than there is room
 * for. */
npu_status npu_plan_add_kernel(npu_plan *plan, const npu_plan_kernel *kernel, uint16_t *index, npu_error *err);
npu_status npu_plan_add_design(npu_plan *plan, npu_plan_entry *entry, const npu_plan_design *design, npu_error *err);
/* Leaves |entry| to the host, with the reason; before it got a design. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void npu_plan_leave_on_host(npu_plan_entry *entry, const char *format, ...);

/* Ops that would run on the host although a device target was asked for; 0 = none. |*first| may be NULL. */
uint32_t npu_plan_fallbacks(const npu_plan *plan, const npu_plan_entry **first);

#endif
