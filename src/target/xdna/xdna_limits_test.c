/* The device layer on the emulated device: what it refuses, what there is only so much of, and that all comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/need.h"
#include "support/xdna_session.h"
#include "target/xdna/xdna_sys.h"

static void refused_kernels(void **state) {
    static const char wide[] = "npu-emu-kernel 1\nkind int8\ncolumns 8\n",
                      other[] = "npu-emu-kernel 1\nkind int8\ncolumns 4\ngeneration xdna2\n";
    static const char *const emu[] = {"generation=xdna1", NULL};
    npu_error err = {0};
    session s;
    npu_xdna_context *context;
    (void)state;
    OK(session_open(&s, emu, 0, &err));
    npu_xdna_kernel k = {"wide", (const uint8_t *)wide, sizeof wide - 1, NULL, 0};
    REFUSED(npu_xdna_context_create(s.dev, &k, 1, &context, &err), NPU_REFUSED, "xdna.kernel_device");
    assert_non_null(strstr(err.text, "kernel wide takes 8 columns"));
    k = (npu_xdna_kernel){"other", (const uint8_t *)other, sizeof other - 1, NULL, 0};
    REFUSED(npu_xdna_context_create(s.dev, &k, 1, &context, &err), NPU_REFUSED, "xdna.kernel_device");
    k = (npu_xdna_kernel){"noise", (const uint8_t *)"no kernel", 9, NULL, 0};
    REFUSED(npu_xdna_context_create(s.dev, &k, 1, &context, &err), NPU_INVALID, "xdna.bad_xclbin");
    REFUSED(npu_xdna_context_create(s.dev, &k, 0, &context, &err), NPU_RANGE, "xdna.kernels");
    REFUSED(npu_xdna_context_create(s.dev, &k, 33, &context, &err), NPU_RANGE, "xdna.kernels");
    s.dev->info.emulated = false; /* as a real device would see it */
    k = (npu_xdna_kernel){"small", (const uint8_t *)session_kernel, sizeof session_kernel - 1, NULL, 0};
    REFUSED(npu_xdna_context_create(s.dev, &k, 1, &context, &err), NPU_REFUSED, "xdna.kernel_emulated");
    assert_null(context);
    npu_xdna_close(s.dev);
}

static void limits(void **state) {
    static const char *const emu[] = {"generation=xdna1", "contexts=2", "memory=80M", NULL};
    npu_error err = {0};
    session s;
    npu_xdna_context *context[3];
    npu_xdna_buffer *b;
    (void)state;
    npu_xdna_kernel k = {"small", (const uint8_t *)session_kernel, sizeof session_kernel - 1, NULL, 0};
    OK(session_open(&s, emu, 0, &err));
    OK(npu_xdna_context_create(s.dev, &k, 1, &context[0], &err));
    OK(npu_xdna_context_create(s.dev, &k, 1, &context[1], &err));
    REFUSED(npu_xdna_context_create(s.dev, &k, 1, &context[2], &err), NPU_NO_DEVICE, "xdna.no_context");
    assert_false(npu_xdna_lost(s.dev));
    npu_xdna_context_destroy(context[0]);
    OK(npu_xdna_context_create(s.dev, &k, 1, &context[2], &err));
    REFUSED(npu_xdna_buffer_alloc(s.dev, 17 << 20, &b, &err), NPU_NO_MEMORY, "xdna.no_memory");
    REFUSED(npu_xdna_buffer_alloc(s.dev, 0, &b, &err), NPU_RANGE, "xdna.bytes");
    REFUSED(npu_xdna_buffer_alloc(s.dev, UINT64_MAX, &b, &err), NPU_RANGE, "xdna.bytes");
    OK(npu_xdna_buffer_alloc(s.dev, 100, &b, &err));
    for (int i = 0; i < 100; i++) assert_int_equal(b->data[i], 0);
    assert_int_equal((uintptr_t)b->data % 4096, 0);
    REFUSED(npu_xdna_buffer_sync(b, NPU_XDNA_TO_DEVICE, 50, 51, &err), NPU_RANGE, "xdna.range");
    REFUSED(npu_xdna_buffer_sync(b, NPU_XDNA_TO_DEVICE, UINT64_MAX, 2, &err), NPU_RANGE, "xdna.range");
    OK(npu_xdna_buffer_sync(b, NPU_XDNA_TO_DEVICE, 100, 0, &err));
    npu_xdna_close(s.dev);
    npu_xdna_close(NULL);
    npu_xdna_buffer_free(NULL);
    npu_xdna_context_destroy(NULL);
}

/* Heap and buffers come back: many more contexts, one after the other, than the heap could hold together. */
static void nothing_leaks(void **state) {
    static const char *const emu[] = {"memory=80M", NULL};
    npu_error err = {0};
    session s;
    npu_xdna_buffer *b;
    (void)state;
    char big[4000];
    int n = snprintf(big, sizeof big, "%s", session_kernel);
    memset(big + n, '#', sizeof big - (size_t)n);
    npu_xdna_kernel k[NPU_XDNA_KERNELS];
    for (int i = 0; i < NPU_XDNA_KERNELS; i++)
        k[i] = (npu_xdna_kernel){"big", (const uint8_t *)big, sizeof big, NULL, 0};
    OK(session_open(&s, emu, 0, &err));
    for (int i = 0; i < 60; i++) { /* 64 pieces of 32 KiB each time */
        OK(npu_xdna_context_create(s.dev, k, NPU_XDNA_KERNELS, &s.context, &err));
        OK(npu_xdna_buffer_alloc(s.dev, 10 << 20, &b, &err));
        npu_xdna_buffer_free(b);
        npu_xdna_context_destroy(s.context);
    }
    npu_xdna_close(s.dev);
}

static void one_process_at_a_time(void **state) {
    static const char *const emu[] = {"lock=1", NULL};
    npu_xdna_params params = {.driver = "emu", .emu = emu, .no_wait = true};
    npu_error err = {0};
    npu_xdna *dev;
    int ready[2], end[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe(ready) + pipe(end), 0);
    pid_t child = fork();
    if (!child) {
        npu_status status = npu_xdna_open(&params, &dev, &err);
        close(end[1]);
        if (write(ready[1], status == NPU_OK ? "y" : "n", 1) != 1 || read(end[0], &byte, 1) < 0) _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    REFUSED(npu_xdna_open(&params, &dev, &err), NPU_REFUSED, "xdna.busy");
    assert_null(dev);
    close(end[0]);
    close(end[1]);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    params.no_wait = false;
    OK(npu_xdna_open(&params, &dev, &err));
    npu_xdna_close(dev);
}

int main(void) {
    if (!session_is_there()) return npu_not_available("libnpu-emu-xdna.so");
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused_kernels), cmocka_unit_test(limits),
                                       cmocka_unit_test(nothing_leaks), cmocka_unit_test(one_process_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
