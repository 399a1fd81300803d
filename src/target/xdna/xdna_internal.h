/* The XDNA target's own record: an open device, loaded kernels, resident weight images. Private to this folder.
 *
 *   xdna_target.c   the vtable; opening and reopening
 *   xdna_design.c   planning: which kernels carry an op out
 *   xdna_weights.c  weight images and their residency
 *   xdna_run.c      one kernel launch on codes: operands, canaries, retry
 *   xdna_gemv.c     products: quantise, launch, dequantise; the proof of the 16-row kernels
 */
#ifndef NPU_XDNA_INTERNAL_H
#define NPU_XDNA_INTERNAL_H

#include "base/pool.h"
#include "plan/plan.h"
#include "target/xdna/xdna_device.h"
#include "target/xdna/xdna_manifest.h"
#include "target/xdna/xdna_numerics.h"
#include "target/xdna/xdna_pack.h"

#define NPU_XDNA_MAX_PARTS NPU_PLAN_MAX_SPLITS

extern const npu_target_ops npu_target_xdna;

/* Whether the 16-row kernel of a design may be used: only after its sums were those of the 128-row kernel. */
typedef enum npu_xdna_proof { NPU_XDNA_UNPROVEN, NPU_XDNA_EQUAL, NPU_XDNA_DIFFERENT } npu_xdna_proof;

/* A kernel of the plan, ready on the device. */
typedef struct npu_xdna_loaded {
    npu_xdna_layout layout;
    uint32_t columns; /* of the array */
    uint32_t context; /* index of its context, and its place there */
    uint32_t in_context;
    npu_xdna_buffer *a, *c;
} npu_xdna_loaded;

/* A weight image on the device: what the launches of one product read. */
typedef struct npu_xdna_resident {
    uint16_t layer, role;
    char kind[24];
    uint32_t K, N, real_k, real_n, hadamard;
    npu_xdna_buffer *b;
    float *scales; /* [N], on the host */
} npu_xdna_resident;

/* What happened, for tests and the log. */
typedef struct npu_xdna_counts {
    uint64_t packed;   /* images made from weights */
    uint64_t tiles;    /* of these, by the tiles callback: residency misses at run time */
    uint64_t sidecars; /* images that came from a file */
    uint64_t refused;  /* files that did not fit */
    uint64_t short_rows, reopened;
} npu_xdna_counts;

typedef struct npu_xdna_target {
    npu_target base; /* first: an npu_target* of this target is an npu_xdna_target* */
    npu_xdna_params params;
    const npu_plan *plan;
    npu_xdna_manifest manifest;
    const npu_xdna_math *math;
    npu_pool *pool;           /* for packing */
    npu_weight_source source; /* of load_block; get NULL before */

    npu_xdna *device; /* NULL after it was lost: the next call opens it again */
    npu_xdna_context **contexts;
    npu_xdna_loaded *kernels; /* one per kernel of the plan */
    npu_xdna_resident *residents;
    uint32_t n_contexts, n_residents, room_residents;
    npu_xdna_proof *proofs; /* one per design */

    float *rotated; /* scratch: a row of the longest K */
    int8_t *codes;  /* scratch: rows of codes of one launch */
    float *scales;  /* of these rows */
    int32_t *sums;  /* scratch: a row of the longest N of a kernel */
    npu_target_phases phases;
    npu_target_counters counters;
    npu_xdna_counts counts;
} npu_xdna_target;

/* --- xdna_design.c --- */
bool npu_xdna_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                       const char **why_not);
npu_status npu_xdna_design(const npu_target_params *params, const npu_caps *caps, const char *kernels_dir,
                           npu_plan *plan, npu_error *err);
npu_status npu_xdna_check_plan(const npu_caps *caps, const npu_plan *plan, npu_error *err);

/* REFUSED: without a kernels folder this can't run; only the emulated device gets one made. */
npu_status npu_xdna_no_kernels(const npu_target_params *params, npu_error *err);

/* The role of the weight that makes the |part|-th result of a product; NONE when this build does not know. */
uint16_t npu_xdna_part_role(const npu_plan_entry *e, unsigned part);

/* --- xdna_weights.c --- */

/* Makes the images of a block's products resident, from a file beside the kernels where one fits. */
npu_status npu_xdna_load(npu_xdna_target *t, unsigned first_layer, unsigned n_layers, npu_error *err);

/* The image of (layer, design), NULL in |*out| when it is not resident. INTERNAL when what is there has another shape.
 */
npu_status npu_xdna_find(const npu_xdna_target *t, unsigned layer, const npu_plan_design *d,
                         const npu_xdna_resident **out, npu_error *err);

/* Packs f32 weights [K][N] of real size into a new image: resident, or |alone| for one call. */
npu_status npu_xdna_pack_f32(npu_xdna_target *t, unsigned layer, const npu_plan_design *d, const float *weights,
                             npu_xdna_resident *alone, const npu_xdna_resident **out, npu_error *err);

/* The head's image from the weight source, when it is not resident. */
npu_status npu_xdna_load_head(npu_xdna_target *t, npu_error *err);
void npu_xdna_resident_free(npu_xdna_resident *r); /* not its buffer */
void npu_xdna_residents_free(npu_xdna_target *t);  /* their buffers end with the device */

/* --- xdna_run.c --- */

/* One launch: rows of codes (|rows| x K, one after the other) by columns |first| … of an image; zero rows follow. After
 * OK the sums lie in kernel->c and every row was written. DEVICE_SHORT (xdna.short_row) after one more try; TIMEOUT and
 * DEVICE_LOST close the device. */
npu_status npu_xdna_launch(npu_xdna_target *t, npu_xdna_loaded *kernel, const npu_xdna_resident *r, uint32_t first,
                           const int8_t *codes, uint32_t rows, bool new_rows, npu_error *err);

/* --- xdna_gemv.c --- */
npu_status npu_xdna_gemv(npu_target *target, const npu_gemv_args *args, float *out, npu_error *err);
npu_status npu_xdna_lm_head(npu_target *target, uint32_t M, const float *h, float *logits, npu_error *err);

/* Compares the sums of the two kernels of design |index| on its weights |r| and notes the result. */
npu_status npu_xdna_prove(npu_xdna_target *t, unsigned index, const npu_xdna_resident *r, npu_error *err);

/* --- xdna_ready.c --- */

/* Opens the device and makes everything on it but weight images, which come by load_block or, after the device was
 * lost, when they are asked for. On failure nothing is left of it. */
npu_status npu_xdna_set_up(npu_xdna_target *t, npu_error *err);

/* First thing of a call: opens the device again when it was lost, in a launch or anywhere else. */
npu_status npu_xdna_ready(npu_xdna_target *t, npu_error *err);

/* The device is gone: everything on it ends. The next call opens it again. */
void npu_xdna_drop(npu_xdna_target *t);

/* --- xdna_target.c --- */

void npu_xdna_caps(npu_caps *caps, const char *device, const char *generation);

/* Of an open target, for tests. */
const npu_xdna_counts *npu_xdna_counts_of(const npu_target *target);

#endif
