// An XDNA session on the emulated device, for tests of the device layer: one context, one int8 kernel, its operands.
// Functions return the first failure; the caller closes in any case. Include cmocka.h first.
#pragma once
#include <stdio.h>
#include <string.h>

#include "target/xdna/xdna_device.h"
#include "wire/xdna_layout.h"

static const npu_xdna_layout session_layout = {16, 64, 32, 8, 8, 8, 32, 16, true};
static const char session_kernel[] = "npu-emu-kernel 1\nkind int8\nshape 16 64 32\nlayout tiles\nmicro 8 8 8\n"
                                     "core 32 16\ncolumns 4\n";

typedef struct session {
    npu_xdna *dev;
    npu_xdna_context *context;
    npu_xdna_buffer *a, *b, *c;
} session;

// Settings of the emulator as if never set, then |more| (NULL-terminated, or NULL).
static inline npu_status session_open(session *s, const char *const *more, double timeout_s, npu_error *err) {
    const char *emu[32] = {"generation=xdna2", "kernel=7.0", "contexts=16", "memory=1G",
                           "watchdog=20000",   "node=0",     "order=fifo",  "direction=loose",
                           "iova=0",           "evict=0",    "lock=0",      "fault=off"};
    for (int n = 12; more && *more && n < 31;) emu[n++] = *more++;
    npu_xdna_params params = {.driver = "emu", .emu = emu, .timeout_s = timeout_s};
    *s = (session){0};
    return npu_xdna_open(&params, &s->dev, err);
}

static inline npu_status session_context(session *s, npu_error *err) {
    npu_xdna_kernel kernel = {"small", (const uint8_t *)session_kernel, sizeof session_kernel - 1, NULL, 0};
    NPU_TRY(npu_xdna_context_create(s->dev, &kernel, 1, &s->context, err));
    NPU_TRY(npu_xdna_buffer_alloc(s->dev, npu_xdna_a_bytes(&session_layout), &s->a, err));
    NPU_TRY(npu_xdna_buffer_alloc(s->dev, npu_xdna_b_bytes(&session_layout), &s->b, err));
    return npu_xdna_buffer_alloc(s->dev, npu_xdna_c_bytes(&session_layout), &s->c, err);
}

static inline int8_t session_value(unsigned seed, uint64_t i) {
    return (int8_t)((i * 2654435761u + seed * 40503u) >> 7);
}

static inline npu_status session_fill(session *s, unsigned seed, npu_error *err) {
    for (uint64_t i = 0; i < s->a->bytes; i++) s->a->data[i] = (uint8_t)session_value(seed, i);
    for (uint64_t i = 0; i < s->b->bytes; i++) s->b->data[i] = (uint8_t)session_value(seed + 1, i);
    memset(s->c->data, 0x5A, s->c->bytes);
    NPU_TRY(npu_xdna_buffer_sync(s->a, NPU_XDNA_TO_DEVICE, 0, s->a->bytes, err));
    NPU_TRY(npu_xdna_buffer_sync(s->b, NPU_XDNA_TO_DEVICE, 0, s->b->bytes, err));
    return npu_xdna_buffer_sync(s->c, NPU_XDNA_TO_DEVICE, 0, s->c->bytes, err);
}

static inline npu_status session_submit(session *s, npu_xdna_ticket *ticket, npu_error *err) {
    npu_xdna_arg args[3] = {{s->a, 0}, {s->b, 0}, {s->c, 0}};
    return npu_xdna_submit(s->context, 0, args, 3, ticket, err);
}

// Wrong values in rows 0 to |rows| of C.
static inline unsigned session_wrong(const session *s, uint32_t rows) {
    const npu_xdna_layout *l = &session_layout;
    unsigned wrong = 0;
    for (uint32_t m = 0; m < rows; m++) {
        for (uint32_t n = 0; n < l->n; n++) {
            int32_t sum = 0, got;
            for (uint32_t k = 0; k < l->k; k++)
                sum += (int8_t)s->a->data[npu_xdna_a_at(l, m, k)] * (int8_t)s->b->data[npu_xdna_b_at(l, k, n)];
            memcpy(&got, s->c->data + 4 * npu_xdna_c_at(l, m, n), 4);
            wrong += got != sum;
        }
    }
    return wrong;
}

// Everything from filling to the result.
static inline npu_status session_run(session *s, unsigned seed, npu_error *err) {
    npu_xdna_ticket ticket;
    NPU_TRY(session_fill(s, seed, err));
    NPU_TRY(session_submit(s, &ticket, err));
    NPU_TRY(npu_xdna_wait(s->context, ticket, err));
    return npu_xdna_buffer_sync(s->c, NPU_XDNA_FROM_DEVICE, 0, s->c->bytes, err);
}

static inline bool session_is_there(void) {
    npu_xdna_params params = {.driver = "emu"};
    npu_error err = {0};
    const char *text;
    return npu_xdna_describe_emu(&params, &text, &err) == NPU_OK;
}

// A call succeeds, or fails as it must; with an |err| of the caller's.
#define OK(call) assert_ok(call, &err, __LINE__)
static inline void assert_ok(npu_status status, const npu_error *err, int line) {
    if (status != NPU_OK) fail_msg("line %d: %s: %s", line, err->code, err->text);
}

#define REFUSED(call, want_status, want_code)                \
    do {                                                     \
        memset(&err, 0, sizeof err);                         \
        assert_int_equal(call, want_status);                 \
        assert_string_equal(err.code, want_code);            \
        assert_true(err.status == want_status && *err.text); \
    } while (0)
