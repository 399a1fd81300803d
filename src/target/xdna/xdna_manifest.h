/* A kernels folder: manifest.json, which lists kernels, and the files that it names. Reads and checks; opens no device
 * and chooses nothing. Used by planning (xdna_design.c) and by opening (xdna_target.c). docs/xdna.md, "Kernels
 * folder", is the format.
 */
#ifndef NPU_XDNA_MANIFEST_H
#define NPU_XDNA_MANIFEST_H

#include "base/mapfile.h"
#include "plan/plan.h"
#include "target/xdna/xdna_device.h"
#include "wire/xdna_layout.h"

#define NPU_XDNA_MANIFEST "manifest.json"

/* What a plan does not need to know of a kernel: the instructions of a real one. Empty strings when there are none. */
typedef struct npu_xdna_insts {
    char file[96], sha256[NPU_PLAN_HASH_LEN + 1];
} npu_xdna_insts;

typedef struct npu_xdna_manifest {
    char *dir;
    char generation[16]; /* "" = any */
    uint32_t hadamard;   /* block of the rotation that goes with these kernels; 0 = none */
    npu_plan_kernel *kernels;
    npu_xdna_insts *insts; /* of each kernel */
    uint32_t n;
} npu_xdna_manifest;

/* Reads |dir|/manifest.json. REFUSED: plan.manifest (missing, unreadable, not as the format says; file and field are
 * named), plan.role, plan.dims. On failure |out| is {0}. */
npu_status npu_xdna_manifest_read(const char *dir, npu_xdna_manifest *out, npu_error *err);
void npu_xdna_manifest_free(npu_xdna_manifest *m); /* {0} is fine */

/* The kinds of kernels, as one table; NULL from npu_xdna_kind_named when there is none of that name. */
typedef struct npu_xdna_kind {
    const char *name;
    const char *image; /* kind of the weight images that it reads; NULL: a plan never takes it */
} npu_xdna_kind;
const npu_xdna_kind *npu_xdna_kind_named(const char *name);

/* The layout that a kernel's text says ("tiles 8x8x8 64x64", "rows") at its shape. REFUSED: plan.kernel_shape. */
npu_status npu_xdna_kernel_layout(const npu_plan_kernel *kernel, npu_xdna_layout *out, npu_error *err);

/* Is |text|, a description for the emulated device, one of |kernel|? A real kernel can only be believed. |proven|: its
 * sums are compared with those of another kernel before they are used, so that its layout need not be asked for.
 * REFUSED: plan.kernel_shape, it has another kind, shape or layout; INVALID: xdna.bad_description, the emulated device
 * would not take it. */
npu_status npu_xdna_description_check(const npu_plan_kernel *kernel, const npu_map *text, bool proven, npu_error *err);

/* The files of one kernel, mapped; |kernel| refers to the maps. */
typedef struct npu_xdna_kernel_files {
    npu_map image, insts;
    npu_xdna_kernel kernel;
    uint32_t columns;
    bool emulated;
} npu_xdna_kernel_files;

/* Maps the files of kernel |i| and compares their SHA-256 and, where the file says it, their shape and layout with the
 * manifest: REFUSED plan.kernel_missing, plan.kernel_hash, plan.kernel_shape; INVALID as npu_xdna_kernel_check.
 * |proven|: as npu_xdna_description_check. On failure |out| is {0}. */
npu_status npu_xdna_kernel_open(const npu_xdna_manifest *m, uint32_t i, bool proven, npu_xdna_kernel_files *out,
                                npu_error *err);
void npu_xdna_kernel_close(npu_xdna_kernel_files *files);

/* Makes a folder of kernel descriptions for the emulated device: of |n| kernels only role, kind and shape are read. It
 * lies in |cache_dir|, named by its content; one that is there is used again. |*dir| is the caller's, to be freed. IO:
 * it can't be written. */
npu_status npu_xdna_emu_kernels(const char *cache_dir, const char *generation, const npu_plan_kernel *kernels,
                                uint32_t n, char **dir, npu_error *err);

/* What the generated kernels want K and N to be a multiple of. */
enum { NPU_XDNA_EMU_TILE = 64, NPU_XDNA_EMU_HEAD_COLUMNS = 4096 };

#endif
