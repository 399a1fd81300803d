/* Prints the packets that qemu-hexagon counts while the NPU program runs a batch of a decode step's ops, in the shapes
 * of a 135M model, untraced, on one thread (qemu counts a thread's packets). Compiled with and without the places that
 * could trace: trace_cost.py compares. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "htp/platform/fastrpc.h"
#include "wire/check.h"
#include "wire/format.h"
#include "wire/image.h"
#include "wire/rpc.h"

enum { ARENA = 8 << 20, IMAGE = 1 << 16, MOST = 64, K = 576, FF = 1536 };

int npu_htp_skel_handle_invoke(remote_handle64 handle, uint32_t scalars, remote_arg *args);
size_t loopback_buffer_bytes(int fd);

static int arena_fd, image_fd;
static uint8_t *image;
static npu_tensor tensors[MOST];
static npu_op ops[MOST];
static uint32_t n_tensors, n_ops;
static uint64_t used;
static npu_rpc_hwinfo info;

size_t loopback_buffer_bytes(int fd) {
    return fd == arena_fd ? ARENA : fd == image_fd ? IMAGE : 0;
}

static uint32_t packets(void) {
    register uint32_t count __asm__("r0");
    __asm__ volatile(".word 0x6a14c000" : "=r"(count)::"memory"); /* control register 20 */
    return count;
}

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

static uint16_t add(npu_tensor t, uint64_t bytes) {
    t.offset = used;
    used = (used + bytes + 127) & ~127ull;
    tensors[n_tensors] = t;
    return (uint16_t)n_tensors++;
}

static uint16_t row(uint32_t values) {
    uint64_t bytes = (uint64_t)values * 4;
    return add((npu_tensor){.ne = {values, 1, 1, 1}, .nb = {4, bytes, bytes, bytes}}, bytes);
}

static uint16_t weight(uint32_t k, uint32_t n) {
    npu_tensor t = {.ne = {k, n, 1, 1}, .type = NPU_TYPE_Q4_0, .layout = NPU_LAYOUT_TILES, .flags = NPU_TENSOR_WEIGHT};
    return add(t, npu_image_bytes(npu_image_format_of(NPU_TYPE_Q4_0), k, n));
}

static uint16_t op(uint16_t code, uint16_t a, uint16_t b, uint16_t dst) {
    npu_op *o = &ops[n_ops++];
    memset(o->src, 0xFF, sizeof o->src);
    memset(o->dst, 0xFF, sizeof o->dst);
    o->code = code, o->src[0] = a, o->src[1] = b, o->dst[0] = dst;
    if (code == NPU_OP_RMS_NORM) o->params.eps.eps = 1e-5f;
    return dst;
}

/* One layer without its attention. */
static void build(void) {
    uint16_t x = row(K), h = op(NPU_OP_RMS_NORM, x, row(K), row(K));
    uint16_t q = op(NPU_OP_MUL_MAT, h, weight(K, K), row(K)), o = op(NPU_OP_MUL_MAT, q, weight(K, K), row(K));
    x = op(NPU_OP_ADD, x, o, row(K));
    h = op(NPU_OP_RMS_NORM, x, row(K), row(K));
    uint16_t gate = op(NPU_OP_MUL_MAT, h, weight(K, FF), row(FF)), up = op(NPU_OP_MUL_MAT, h, weight(K, FF), row(FF));
    uint16_t act = op(NPU_OP_GLU, gate, up, row(FF));
    op(NPU_OP_ADD, x, op(NPU_OP_MUL_MAT, act, weight(FF, K), row(K)), row(K));
    need(used <= ARENA, "the arena");
    npu_hw hw = {.arch = info.arch,
                 .threads = 1,
                 .vtcm_bytes = info.vtcm_bytes,
                 .window_bytes = 1u << 30,
                 .max_buffer_bytes = 1u << 30,
                 .line_bytes = 128};
    for (uint32_t i = 0; i < n_ops; i++) need(!npu_opplan_make(&ops[i], tensors, &hw, ops[i].kernel), "an op's plan");
}

static uint32_t write_image(void) {
    npu_wire_buffer b = {arena_fd, NPU_WIRE_BUFFER_PINNED, ARENA};
    npu_wire_image head = {.magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .header_bytes = sizeof head};
    head.n_buffers = 1, head.n_tensors = n_tensors, head.n_ops = n_ops;
    head.buffer_bytes = sizeof b, head.tensor_bytes = sizeof *tensors, head.op_bytes = sizeof *ops;
    head.buffers_at = sizeof head, head.tensors_at = head.buffers_at + sizeof b;
    head.ops_at = head.tensors_at + n_tensors * head.tensor_bytes;
    head.total_bytes = head.ops_at + n_ops * head.op_bytes;
    need(head.total_bytes <= IMAGE, "the image");
    memcpy(image, &head, sizeof head);
    memcpy(image + head.buffers_at, &b, sizeof b);
    memcpy(image + head.tensors_at, tensors, n_tensors * sizeof *tensors);
    memcpy(image + head.ops_at, ops, n_ops * sizeof *ops);
    return head.total_bytes;
}

static int call(remote_handle64 handle, uint32_t method, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes) {
    remote_arg args[2] = {{.buf = {in, in_bytes}}, {.buf = {out, out_bytes}}};
    uint32_t scalars = method << 24 | (in ? 1u << 16 : 0) | (out ? 1u << 8 : 0);
    return npu_htp_skel_handle_invoke(handle, scalars, in ? args : args + 1);
}

static int shared(uint32_t bytes) {
    int fd = memfd_create("cost", 0);
    need(fd >= 0 && !ftruncate(fd, bytes), "shared memory");
    return fd;
}

int main(void) {
    char uri[] = "x";
    uint32_t length = sizeof uri;
    remote_arg open[3] = {{.buf = {&length, sizeof length}}, {.buf = {uri, sizeof uri}}};
    arena_fd = shared(ARENA), image_fd = shared(IMAGE);
    image = mmap(NULL, IMAGE, PROT_READ | PROT_WRITE, MAP_SHARED, image_fd, 0);
    need(image != MAP_FAILED && !npu_htp_skel_handle_invoke(0, 2u << 16 | 1, open), "opening");
    need(!call(open[2].h64, NPU_RPC_HWINFO, NULL, 0, &info, sizeof info), "hwinfo");
    build();
    npu_rpc_start start = {.magic = NPU_WIRE_MAGIC,
                           .version = NPU_WIRE_VERSION,
                           .window_bytes = 1u << 30,
                           .threads = 1,
                           .vtcm_bytes = info.vtcm_bytes,
                           .trace_fd = -1,
                           .arch = info.arch,
                           .max_buffer_bytes = 1u << 30};
    need(!call(open[2].h64, NPU_RPC_START, &start, sizeof start, NULL, 0), "starting");
    npu_wire_request r = {.magic = NPU_WIRE_MAGIC,
                          .version = NPU_WIRE_VERSION,
                          .kind = NPU_WIRE_BATCH,
                          .image_id = 1,
                          .image_fd = image_fd,
                          .image_bytes = write_image(),
                          .image_buffer_bytes = IMAGE};
    npu_wire_response a;
    uint32_t before = 0;
    for (int i = 0; i < 2; i++) { /* the first one reads the image and maps */
        before = packets();
        need(!call(open[2].h64, NPU_RPC_BATCH, &r, sizeof r, &a, sizeof a) && a.code == NPU_WIRE_OK, "the batch");
    }
    printf("%u\n", packets() - before);
    return 0;
}
