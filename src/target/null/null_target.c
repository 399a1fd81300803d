/* The null target: refuses everything politely. Copy this folder to start a new target; a target that has only open,
 * load_block and gemv is complete. Not an NPU target: it can't be asked for by name, and tests use it as the smallest
 * member of the table. */
#include "target/target.h"

static npu_status null_probe(const npu_target_params *params, npu_caps *caps, npu_error *err) {
    (void)params;
    *caps = (npu_caps){0};
    return npu_fail(err, NPU_NO_DEVICE, "null.no_device", "the null target has no device");
}

static npu_status null_open(const npu_target_params *params, const npu_plan *plan, const char *kernels_dir,
                            npu_target **out, npu_error *err) {
    (void)params, (void)plan, (void)kernels_dir;
    *out = NULL;
    return npu_fail(err, NPU_NO_DEVICE, "null.no_device", "the null target has no device");
}

static npu_status null_load_block(npu_target *target, unsigned first_layer, unsigned n_layers,
                                  const npu_weight_source *source, npu_error *err) {
    (void)target, (void)source;
    return npu_fail(err, NPU_UNSUPPORTED, "null.load_block", "the null target can't hold layers %u..%u", first_layer,
                    first_layer + n_layers);
}

static npu_status null_gemv(npu_target *target, const npu_gemv_args *args, float *out, npu_error *err) {
    (void)target, (void)out;
    return npu_fail(err, NPU_UNSUPPORTED, "null.gemv", "the null target can't multiply (%u x %u x %u)", args->M,
                    args->K, args->N);
}

static bool null_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                          const char **why_not) {
    (void)caps, (void)mode, (void)op, (void)tensors;
    *why_not = "the null target runs nothing";
    return false;
}

static void null_close(npu_target *target) {
    (void)target;
}

const npu_target_ops npu_target_null = {
    .name = "null",
    .probe = null_probe,
    .open = null_open,
    .load_block = null_load_block,
    .gemv = null_gemv,
    .supports = null_supports,
    .close = null_close,
};
