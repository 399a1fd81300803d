/* The loopback's driver with a packet queue of the test's own in between: batches are invoked when they are written,
 * and their answers, honest or tampered with, wait in a list. It also notes what becomes of buffers and the process.
 * For hexagon_answers.c. */
#ifndef LOOPBACK_QUEUE_H
#define LOOPBACK_QUEUE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/hexagon/hexagon_rpc.h"
#include "target/hexagon/hexagon_session.h"
#include "wire/format.h"
#include "wire/opplan.h"

enum { ARENA = 1 << 16, VALUES = 64, QUEUE = 64, MOST = 256 };

static npu_hex_driver driver;
static uint64_t seed = 4711;

static uint32_t rnd(void) {
    return (uint32_t)(npu_random_next(&seed) >> 33);
}

/* --- the queue: batches are invoked when they are written; their answers wait in a list --- */

typedef struct packet {
    uint8_t bytes[MOST];
    uint32_t n, says; /* |says|: the length that the library tells */
} packet;

static packet queue[QUEUE];
static uint32_t queued;
static remote_handle64 handle;
static bool honest; /* answers pass as they are */
static npu_wire_response truth;

static void put(const void *bytes, uint32_t n) {
    assert_true(queued < QUEUE && n <= MOST);
    memcpy(queue[queued].bytes, bytes, n);
    queue[queued].n = queue[queued].says = n;
    queued++;
}

static AEEResult queue_create(int domain, uint32_t flags, uint32_t request_bytes, uint32_t response_bytes,
                              dspqueue_callback_t on_packet, dspqueue_callback_t on_error, void *context,
                              dspqueue_t *out) {
    (void)domain, (void)flags, (void)request_bytes, (void)response_bytes, (void)on_packet, (void)on_error,
        (void)context;
    *out = (dspqueue_t)(void *)queue;
    queued = 0;
    return 0;
}

static AEEResult queue_export(dspqueue_t q, uint64_t *id) {
    (void)q;
    *id = 77;
    return 0;
}

static AEEResult queue_close(dspqueue_t q) {
    (void)q;
    return 0;
}

/* What becomes of an answer on its way. */
static void tamper(npu_wire_response *a) {
    uint8_t bytes[MOST];
    memcpy(bytes, a, sizeof *a);
    static const uint32_t values[] = {0, 1, 2, 18, 19, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    uint32_t value = rnd() % 3 ? values[rnd() % 9] : rnd(), width = 1u << rnd() % 3;
    switch (rnd() % 8) {
    case 0: /* one word */
    case 1:
    case 2:
        memcpy(bytes + rnd() % (sizeof *a / width) * width, &value, width);
        put(bytes, sizeof *a);
        break;
    case 3: /* cut, or too long */
        for (uint32_t i = sizeof *a; i < MOST; i++) bytes[i] = (uint8_t)rnd();
        put(bytes, rnd() % MOST);
        break;
    case 4: /* twice */
        put(bytes, sizeof *a);
        put(bytes, sizeof *a);
        break;
    case 5: /* never */
        break;
    case 6: /* the length is a lie */
        put(bytes, sizeof *a);
        queue[queued - 1].says = rnd() % 2 ? rnd() : (uint32_t)sizeof *a + 1 + rnd() % 100;
        break;
    case 7:
        for (uint32_t i = 0; i < sizeof *a; i++) bytes[i] = (uint8_t)rnd();
        if (rnd() % 2) memcpy(bytes, a, 8 + rnd() % 5 * 4);
        put(bytes, sizeof *a);
        break;
    }
}

static AEEResult queue_write(dspqueue_t q, uint32_t flags, uint32_t n_buffers, struct dspqueue_buffer *buffers,
                             uint32_t bytes, const uint8_t *message, uint32_t timeout) {
    (void)q, (void)flags, (void)n_buffers, (void)buffers, (void)timeout;
    npu_wire_response a;
    remote_arg args[2] = {{.buf = {(void *)(uintptr_t)message, bytes}}, {.buf = {&a, sizeof a}}};
    int result = driver.remote_handle64_invoke(handle, REMOTE_SCALARS_MAKE(NPU_RPC_BATCH, 1, 1), args);
    if (result) return result;
    if (a.kind == NPU_WIRE_BATCH) truth = a;
    if (honest || a.kind == NPU_WIRE_ECHO)
        put(&a, sizeof a);
    else
        tamper(&a);
    return 0;
}

/* As the real one: more than |most| bytes are not delivered. */
static AEEResult queue_read(dspqueue_t q, uint32_t *flags, uint32_t max_buffers, uint32_t *n_buffers,
                            struct dspqueue_buffer *buffers, uint32_t most, uint32_t *bytes, uint8_t *message,
                            uint32_t timeout) {
    (void)q, (void)max_buffers, (void)buffers, (void)timeout;
    if (!queued) return AEE_EEXPIRED;
    packet p = queue[0];
    memmove(queue, queue + 1, --queued * sizeof queue[0]);
    *flags = *n_buffers = 0;
    *bytes = p.says;
    memcpy(message, p.bytes, p.n < most ? p.n : most);
    return p.n > most ? AEE_EBADPARM : 0;
}

/* What becomes of buffers and the process, in order: m the NPU program unmaps, u the library does, f memory goes, c the
 * process ends. */
static char deeds[64];
static uint32_t n_deeds;

static void note(char deed) {
    if (n_deeds < sizeof deeds - 1) deeds[n_deeds++] = deed;
    deeds[n_deeds] = 0;
}

static npu_hex_driver real;

static int munmap_noted(int domain, int fd, void *memory, size_t bytes) {
    note('u');
    return real.fastrpc_munmap(domain, fd, memory, bytes);
}

static void free_noted(void *memory) {
    note('f');
    real.rpcmem_free(memory);
}

static int close_noted(remote_handle64 h) {
    note('c');
    return real.remote_handle64_close(h);
}

/* START without a queue: the loopback has none. */
static int invoke(remote_handle64 h, uint32_t scalars, remote_arg *args) {
    handle = h;
    npu_rpc_start start;
    remote_arg copy = {.buf = {&start, sizeof start}};
    if (REMOTE_SCALARS_METHOD(scalars) == NPU_RPC_MUNMAP) note('m');
    if (REMOTE_SCALARS_METHOD(scalars) != NPU_RPC_START) return real.remote_handle64_invoke(h, scalars, args);
    memcpy(&start, args[0].buf.pv, sizeof start);
    start.queue_id = 0;
    return real.remote_handle64_invoke(h, scalars, &copy);
}

static int setup(void **state) {
    (void)state;
    npu_error err = {0};
    npu_target_params params = {.driver = "sim"};
    if (npu_hex_driver_open(&params, NULL, &driver, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    real = driver;
    driver.fastrpc_munmap = munmap_noted;
    driver.rpcmem_free = free_noted;
    driver.remote_handle64_close = close_noted;
    driver.remote_handle64_invoke = invoke;
    driver.dspqueue_create = queue_create;
    driver.dspqueue_export = queue_export;
    driver.dspqueue_close = queue_close;
    driver.dspqueue_write = queue_write;
    driver.dspqueue_read = queue_read;
    return 0;
}

#endif
