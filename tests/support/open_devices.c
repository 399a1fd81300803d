/* Used by tests/install_test.sh: opens a model on emulated devices through the installed library.
 *
 *   open_devices MODEL CACHE [TARGET DRIVER]... */
#include <stdio.h>

#include <npu/npu.h>

int main(int argc, char **argv) {
    npu_model *model;
    npu_error err = {0};
    int failed = argc < 3 || npu_model_open(argv[1], NULL, &model, &err) != NPU_OK;
    for (int i = 3; !failed && i + 1 < argc; i += 2) {
        npu_context_params params = {.npu_target = argv[i], .driver = argv[i + 1], .cache_dir = argv[2], .ctx = 16};
        npu_context *context;
        failed = npu_context_open(model, &params, &context, &err) != NPU_OK;
        if (!failed) npu_context_close(context);
    }
    if (failed) fprintf(stderr, "%s\n", err.text);
    return failed;
}
