// See kit.h.
#include "kit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

const struct npu_emu_xdna_calls *sys;
char kit_library[512];
static npu_emu_xdna_configure_fn *configure;
static npu_emu_xdna_query_fn *query;
static npu_emu_xdna_unmet_fn *unmet;
static npu_emu_xdna_refusal_fn *refusal;
static npu_emu_xdna_describe_fn *describe;
const npu_xdna_layout kit_small = {16, 64, 32, 8, 8, 8, 32, 16, true};

static void load(void) {
    void *library = dlopen(kit_library, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    npu_emu_xdna_calls_fn *calls;
    *(void **)&calls = dlsym(library, "npu_emu_xdna_calls");
    *(void **)&configure = dlsym(library, "npu_emu_xdna_configure");
    *(void **)&query = dlsym(library, "npu_emu_xdna_query");
    *(void **)&unmet = dlsym(library, "npu_emu_xdna_unmet");
    *(void **)&refusal = dlsym(library, "npu_emu_xdna_refusal");
    *(void **)&describe = dlsym(library, "npu_emu_xdna_describe");
    assert_true(calls && configure && query && unmet && refusal && describe);
    sys = calls();
}

void kit_set(const char *key, const char *value) {
    if (!sys) load();
    int error = configure(key, value);
    if (error) fail_msg("%s=%s: %s", key, value, strerror(error));
}

const char *kit_refusal(const char *key, const char *value) {
    if (!sys) load();
    assert_int_equal(configure(key, value), EINVAL);
    return refusal();
}

const char *kit_help(void) {
    if (!sys) load();
    return describe();
}

unsigned kit_unmet(char *text, unsigned bytes) {
    return unmet(text, bytes);
}

unsigned long long kit_get(const char *name) {
    unsigned long long value;
    assert_int_equal(query(name, &value), 0);
    return value;
}

void kit_defaults(void) {
    static const char *const settings[][2] = {{"generation", "xdna2"}, {"kernel", "7.0"},      {"contexts", "16"},
                                              {"memory", "1G"},        {"watchdog", "20000"},  {"node", "0"},
                                              {"order", "fifo"},       {"direction", "loose"}, {"iova", "0"},
                                              {"evict", "0"},          {"seed", "1"},          {"fault", "off"},
                                              {"lock", "0"},           {"firmware", "1.1.2.3"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) kit_set(settings[i][0], settings[i][1]);
}

int kit_ioctl(struct kit *k, unsigned long request, void *arg) {
    return sys->ioctl(k->fd, request, arg) ? errno : 0;
}

static void map_info(struct kit *k, struct kit_bo *bo) {
    struct amdxdna_get_bo_info info = {.handle = bo->handle};
    assert_int_equal(kit_ioctl(k, AMDXDNA_GET_BO_INFO, &info), 0);
    bo->address = info.xdna_addr;
    if (info.map_offset == AMDXDNA_INVALID_ADDRESS) { // in the heap
        bo->data = k->heap.data + (info.xdna_addr - AMDXDNA_DEVICE_BASE);
        return;
    }
    bo->data = sys->mmap(NULL, bo->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, (off_t)(int64_t)info.map_offset);
    assert_true(bo->data != MAP_FAILED);
    info = (struct amdxdna_get_bo_info){.handle = bo->handle};
    assert_int_equal(kit_ioctl(k, AMDXDNA_GET_BO_INFO, &info), 0);
    bo->address = info.xdna_addr == AMDXDNA_INVALID_ADDRESS ? (uint64_t)(uintptr_t)bo->data : info.xdna_addr;
}

int kit_try_buffer(struct kit *k, uint32_t type, uint64_t bytes, struct kit_bo *out) {
    struct amdxdna_create_bo create = {.size = bytes, .type = type};
    int error = kit_ioctl(k, AMDXDNA_CREATE_BO, &create);
    if (error) return error;
    *out = (struct kit_bo){.handle = create.handle, .bytes = bytes};
    map_info(k, out);
    return 0;
}

struct kit_bo kit_buffer(struct kit *k, uint32_t type, uint64_t bytes) {
    struct kit_bo bo;
    assert_int_equal(kit_try_buffer(k, type, bytes, &bo), 0);
    return bo;
}

void kit_free(struct kit *k, struct kit_bo *bo) {
    struct amdxdna_gem_close close = {.handle = bo->handle};
    bool in_heap = bo->data > k->heap.data && bo->data < k->heap.data + k->heap.bytes;
    if (!in_heap) assert_int_equal(sys->munmap(bo->data, bo->bytes), 0);
    assert_int_equal(kit_ioctl(k, AMDXDNA_DRM_GEM_CLOSE, &close), 0);
}

int kit_sync(struct kit *k, const struct kit_bo *bo, uint32_t direction, uint64_t offset, uint64_t bytes) {
    struct amdxdna_sync_bo sync = {bo->handle, direction, offset, bytes};
    return kit_ioctl(k, AMDXDNA_SYNC_BO, &sync);
}

void kit_flush(struct kit *k, const struct kit_bo *bo) {
    assert_int_equal(kit_sync(k, bo, AMDXDNA_TO_DEVICE, 0, bo->bytes), 0);
}

void kit_open(struct kit *k) {
    memset(k, 0, sizeof *k);
    k->fd = sys->open("/dev/accel/accel0", 0);
    if (k->fd < 0) fail_msg("open: %s", strerror(errno));
    struct amdxdna_aie_metadata metadata;
    struct amdxdna_get_info get = {AMDXDNA_INFO_AIE_METADATA, sizeof metadata, (uint64_t)(uintptr_t)&metadata};
    assert_int_equal(kit_ioctl(k, AMDXDNA_GET_INFO, &get), 0);
    k->rows = metadata.core.row_count;
    k->columns = metadata.cols;
    k->heap = kit_buffer(k, AMDXDNA_BO_DEV_HEAP, AMDXDNA_HEAP_CHUNK);
}

void kit_close(struct kit *k) {
    munmap(k->heap.data, k->heap.bytes);
    assert_int_equal(sys->close(k->fd), 0);
}

int kit_context(struct kit *k, uint32_t columns, uint32_t *handle, uint32_t *syncobj) {
    struct amdxdna_qos qos = {.user_start_col = 0xFF};
    struct amdxdna_create_hwctx create = {.qos = (uint64_t)(uintptr_t)&qos, .num_tiles = columns * k->rows};
    int error = kit_ioctl(k, AMDXDNA_CREATE_HWCTX, &create);
    *handle = create.handle;
    *syncobj = create.syncobj;
    return error;
}

static uint32_t stream(uint32_t *w, uint32_t generation) {
    memset(w, 0, 160);
    w[0] = 0x06000100u | (generation + 2) << 16;
    w[1] = 4 | 1 << 8;
    w[2] = 3;
    w[3] = 160;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *op = w + 4 + 12 * i;
        op[0] = 0x81, op[1] = 48, op[6] = 0x1D004 + 0x20 * i, op[8] = i;
    }
    return 160;
}

void kit_run_open(struct kit *k, const npu_xdna_layout *l, const char *more, struct kit_run *r) {
    char text[512];
    memset(r, 0, sizeof *r);
    r->kit = k;
    r->layout = *l;
    assert_int_equal(kit_context(k, 4, &r->context, &r->syncobj), 0);
    r->pdi = kit_buffer(k, AMDXDNA_BO_DEV, 4096);
    r->insts = kit_buffer(k, AMDXDNA_BO_DEV, 4096);
    int n = snprintf(text, sizeof text, "npu-emu-kernel 1\nkind int8\nshape %u %u %u\ncolumns 4\n%s", l->m, l->k, l->n,
                     more ? more : "");
    if (l->tiled)
        n += snprintf(text + n, sizeof text - (size_t)n, "layout tiles\nmicro %u %u %u\ncore %u %u\n", l->r, l->s, l->t,
                      l->kt, l->nt);
    else
        n += snprintf(text + n, sizeof text - (size_t)n, "layout rows\n");
    memcpy(r->pdi.data, text, (size_t)n + 1);
    stream((uint32_t *)(void *)r->insts.data, k->columns == 5 ? 1 : 2);
    kit_flush(k, &r->pdi);
    kit_flush(k, &r->insts);
    struct amdxdna_config_cu cu = {.count = 1, .cus = {{.bo = r->pdi.handle}}};
    struct amdxdna_config_hwctx config = {r->context, AMDXDNA_CONFIG_CU, (uint64_t)(uintptr_t)&cu, 16, 0};
    assert_int_equal(kit_ioctl(k, AMDXDNA_CONFIG_HWCTX, &config), 0);
    r->a = kit_buffer(k, AMDXDNA_BO_SHARE, npu_xdna_a_bytes(l));
    r->b = kit_buffer(k, AMDXDNA_BO_SHARE, npu_xdna_b_bytes(l));
    r->c = kit_buffer(k, AMDXDNA_BO_SHARE, npu_xdna_c_bytes(l));
    for (int i = 0; i < 4; i++) r->cmd[i] = kit_buffer(k, AMDXDNA_BO_CMD, 4096);
    kit_flush(k, &r->c);
    kit_fill(r, 1);
}

void kit_run_close(struct kit_run *r) {
    struct amdxdna_destroy_hwctx destroy = {r->context, 0};
    assert_int_equal(kit_ioctl(r->kit, AMDXDNA_DESTROY_HWCTX, &destroy), 0);
    struct kit_bo *all[] = {&r->pdi, &r->insts, &r->a, &r->b, &r->c, &r->cmd[0], &r->cmd[1], &r->cmd[2], &r->cmd[3]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kit_free(r->kit, all[i]);
}

static int8_t value_of(unsigned seed, uint64_t i) {
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + seed;
    x ^= x >> 29;
    return (int8_t)((x * 0xBF58476D1CE4E5B9u) >> 56);
}

void kit_fill(struct kit_run *r, unsigned seed) {
    for (uint64_t i = 0; i < r->a.bytes; i++) r->a.data[i] = (uint8_t)value_of(seed, i);
    for (uint64_t i = 0; i < r->b.bytes; i++) r->b.data[i] = (uint8_t)value_of(seed + 7, i);
    kit_flush(r->kit, &r->a);
    kit_flush(r->kit, &r->b);
}

static void put(uint32_t *words, uint64_t value) {
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> 32);
}

int kit_submit(struct kit_run *r, unsigned slot, uint64_t *seq) {
    uint32_t *w = (uint32_t *)(void *)r->cmd[slot].data;
    const struct kit_bo *args[] = {&r->a, &r->b, &r->c};
    uint32_t list[] = {r->a.handle, r->b.handle, r->c.handle, r->insts.handle};
    memset(w, 0, 17 * 4);
    w[0] = AMDXDNA_CMD_HEADER((uint32_t)AMDXDNA_STATE_NEW, 16u, (uint32_t)AMDXDNA_START_CU);
    w[1] = 1;
    put(w + 2, AMDXDNA_OPCODE_RUN);
    put(w + 4, r->insts.address);
    w[6] = 40;
    for (int i = 0; i < 3; i++) put(w + 7 + 2 * i, args[i]->address);
    struct amdxdna_exec_cmd exec = {.hwctx = r->context,
                                    .cmd_handles = r->cmd[slot].handle,
                                    .args = (uint64_t)(uintptr_t)list,
                                    .cmd_count = 1,
                                    .arg_count = 4};
    int error = kit_ioctl(r->kit, AMDXDNA_EXEC_CMD, &exec);
    *seq = exec.seq;
    return error;
}

int kit_wait(struct kit_run *r, uint64_t point, int ms) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct amdxdna_timeline_wait wait = {
        .handles = (uint64_t)(uintptr_t)&r->syncobj,
        .points = (uint64_t)(uintptr_t)&point,
        .timeout_ns = ms ? ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms) * 1000000 : 0,
        .count = 1,
        .flags = AMDXDNA_WAIT_FOR_SUBMIT};
    return kit_ioctl(r->kit, AMDXDNA_DRM_TIMELINE_WAIT, &wait);
}

uint32_t kit_state(const struct kit_run *r, unsigned slot) {
    return AMDXDNA_CMD_STATE(*(volatile uint32_t *)(void *)r->cmd[slot].data);
}

uint32_t kit_go(struct kit_run *r) {
    uint64_t seq;
    assert_int_equal(kit_submit(r, 0, &seq), 0);
    assert_int_equal(kit_wait(r, seq, 30000), 0);
    kit_flush(r->kit, &r->c);
    return kit_state(r, 0);
}

// Written out from the definition in docs/xdna.md, not by wire/xdna_layout.h.
static uint64_t nest(const uint32_t *sizes, const uint32_t *index, int n) {
    uint64_t at = 0;
    for (int i = 0; i < n; i++) at = at * sizes[i] + index[i];
    return at;
}

static int32_t expected(const struct kit_run *r, uint32_t m, uint32_t n) {
    const npu_xdna_layout *l = &r->layout;
    int64_t sum = 0;
    for (uint32_t k = 0; k < l->k; k++) {
        uint64_t a = (uint64_t)m * l->k + k, b = (uint64_t)k * l->n + n;
        if (l->tiled) {
            uint32_t asz[] = {l->m / l->r, l->k / l->s, l->r, l->s}, ai[] = {m / l->r, k / l->s, m % l->r, k % l->s};
            uint32_t bsz[] = {l->n / l->nt, l->k / l->kt, l->kt / l->s, l->nt / l->t, l->s, l->t};
            uint32_t bi[] = {n / l->nt, k / l->kt, k % l->kt / l->s, n % l->nt / l->t, k % l->s, n % l->t};
            a = nest(asz, ai, 4);
            b = nest(bsz, bi, 6);
        }
        sum += (int8_t)r->a.data[a] * (int8_t)r->b.data[b];
    }
    return (int32_t)sum;
}

unsigned kit_wrong(const struct kit_run *r, uint32_t first_row, uint32_t rows) {
    const npu_xdna_layout *l = &r->layout;
    const int32_t *c = (const int32_t *)(const void *)r->c.data;
    unsigned wrong = 0;
    for (uint32_t m = first_row; m < first_row + rows; m++) {
        for (uint32_t n = 0; n < l->n; n++) {
            uint32_t sizes[] = {l->m / (l->tiled ? l->r : 1), l->n / (l->tiled ? l->t : 1), l->tiled ? l->r : 1,
                                l->tiled ? l->t : 1};
            uint32_t index[] = {m / sizes[2], n / sizes[3], m % sizes[2], n % sizes[3]};
            if (c[nest(sizes, index, 4)] != expected(r, m, n)) wrong++;
        }
    }
    return wrong;
}
