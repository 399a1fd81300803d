// Buffers. Both memories of an open file, what the CPU sees and what the device sees, are memory files of one size; a
// buffer is the same range of both, taken first fit. DEV buffers are ranges of the heap's range.
#include "emu_xdna.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POISON 0xA5 // what the device sees in new memory until the CPU's bytes are synced

static void *map_file(const char *name, uint64_t bytes, int *fd) {
    *fd = memfd_create(name, MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes)) return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t line_bytes(const struct emu_file *f) {
    return f->settings.memory / EMU_LINE * sizeof *f->lines;
}

int emu_memory_open(struct emu_file *f) {
    f->settings.memory &= ~(uint64_t)(EMU_PAGE - 1);
    f->host = map_file("npu-emu-xdna-host", f->settings.memory, &f->host_fd);
    f->device = map_file("npu-emu-xdna-device", f->settings.memory, &f->device_fd);
    void *lines = mmap(NULL, line_bytes(f), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    f->lines = lines == MAP_FAILED ? NULL : lines;
    if (f->host && f->device && f->lines) return 0;
    emu_memory_close(f);
    return ENOMEM;
}

void emu_memory_close(struct emu_file *f) {
    while (f->bos) {
        struct emu_bo *next = f->bos->next;
        free(f->bos);
        f->bos = next;
    }
    if (f->host) munmap(f->host, f->settings.memory);
    if (f->device) munmap(f->device, f->settings.memory);
    if (f->lines) munmap(f->lines, line_bytes(f));
    if (f->host_fd >= 0) close(f->host_fd);
    if (f->device_fd >= 0) close(f->device_fd);
    f->host = f->device = NULL;
    f->lines = NULL;
    f->host_fd = f->device_fd = -1;
    f->used = 0;
}

struct emu_bo *emu_bo_of(struct emu_file *f, uint32_t handle) {
    for (struct emu_bo *bo = f->bos; bo; bo = bo->next)
        if (bo->handle == handle && !bo->closed) return bo;
    return NULL;
}

struct emu_bo *emu_heap_of(struct emu_file *f) {
    for (struct emu_bo *bo = f->bos; bo; bo = bo->next)
        if (bo->type == AMDXDNA_BO_DEV_HEAP && !bo->closed) return bo;
    return NULL;
}

int emu_heap_check(struct emu_file *f) {
    const struct emu_bo *heap = emu_heap_of(f);
    if (!heap) return ENOENT;
    return heap->user ? 0 : f->settings.profile->unmapped_heap_errno;
}

// The end of what lies at |at| in the heap, 0 when nothing does.
static uint64_t heap_taken(const struct emu_file *f, uint64_t at, uint64_t bytes) {
    for (const struct emu_bo *bo = f->bos; bo; bo = bo->next)
        if (bo->type == AMDXDNA_BO_DEV && at < bo->offset + bo->bytes && bo->offset < at + bytes)
            return bo->offset + bo->bytes;
    for (const struct emu_context *c = f->contexts; c < f->contexts + EMU_CONTEXTS; c++)
        for (int i = 0; c->handle && i < 4; i++)
            if (at < c->hidden[i] + EMU_PAGE && c->hidden[i] < at + bytes) return c->hidden[i] + EMU_PAGE;
    return 0;
}

int emu_heap_take(struct emu_file *f, uint64_t bytes, uint64_t *offset) {
    const struct emu_bo *heap = emu_heap_of(f);
    uint64_t at = heap->offset, end;
    if (bytes > heap->bytes) return ENOSPC;
    while ((end = heap_taken(f, at, bytes)) != 0)
        at = heap->offset + (end - heap->offset + AMDXDNA_DEV_STEP - 1) / AMDXDNA_DEV_STEP * AMDXDNA_DEV_STEP;
    if (at + bytes > heap->offset + heap->bytes) return ENOSPC;
    *offset = at;
    return 0;
}

// First gap of |bytes| in both memories.
static int take_memory(struct emu_file *f, uint64_t bytes, uint64_t *offset) {
    uint64_t at = 0;
    for (const struct emu_bo *bo = f->bos; bo; bo = bo->next) {
        if (bo->type == AMDXDNA_BO_DEV) continue;
        if (bo->offset >= at + bytes) break;
        at = bo->offset + bo->bytes;
    }
    if (at + bytes > f->settings.memory) return ENOMEM;
    *offset = at;
    return 0;
}

static void insert(struct emu_file *f, struct emu_bo *bo) {
    struct emu_bo **at = &f->bos;
    while (*at && (*at)->offset <= bo->offset) at = &(*at)->next;
    bo->next = *at;
    *at = bo;
}

static int check_heap_size(const struct emu_file *f, uint64_t size) {
    if (f->settings.profile->heap_any_size) return size <= AMDXDNA_HEAP_CHUNK ? 0 : EINVAL;
    return size == AMDXDNA_HEAP_CHUNK ? 0 : EINVAL;
}

static int place(struct emu_file *f, struct emu_bo *bo) {
    int error;
    switch (bo->type) {
    case AMDXDNA_BO_DEV_HEAP:
        if (emu_heap_of(f)) return f->settings.profile->second_heap_errno;
        error = check_heap_size(f, bo->size);
        bo->address = AMDXDNA_DEVICE_BASE;
        return error ? error : take_memory(f, bo->bytes, &bo->offset);
    case AMDXDNA_BO_DEV:
        error = emu_heap_check(f);
        if (!error) error = emu_heap_take(f, bo->bytes, &bo->offset);
        if (!error) bo->address = AMDXDNA_DEVICE_BASE + (bo->offset - emu_heap_of(f)->offset);
        return error;
    case AMDXDNA_BO_SHARE:
    case AMDXDNA_BO_CMD:
        return take_memory(f, bo->bytes, &bo->offset);
    default:
        return EINVAL;
    }
}

int emu_bo_create(struct emu_file *f, struct amdxdna_create_bo *c) {
    if (c->flags || c->vaddr || !c->size) return EINVAL;
    if (c->size > f->settings.memory) return ENOMEM;
    struct emu_bo *bo = calloc(1, sizeof *bo);
    if (!bo) return ENOMEM;
    *bo = (struct emu_bo){
        .type = c->type, .size = c->size, .bytes = (c->size + EMU_PAGE - 1) & ~(uint64_t)(EMU_PAGE - 1)};
    int error = place(f, bo);
    if (error) {
        free(bo);
        return error;
    }
    bo->handle = ++f->next_handle;
    insert(f, bo);
    if (bo->type != AMDXDNA_BO_DEV) f->used += bo->bytes;
    if (bo->type == AMDXDNA_BO_SHARE || bo->type == AMDXDNA_BO_DEV) memset(f->device + bo->offset, POISON, bo->bytes);
    c->handle = bo->handle;
    return 0;
}

uint64_t emu_bo_address(const struct emu_file *f, const struct emu_bo *bo) {
    if (bo->address) return bo->address;
    if (bo->user && f->settings.iova) return EMU_IOVA_BASE + bo->offset;
    return bo->user ? (uint64_t)(uintptr_t)bo->user : AMDXDNA_INVALID_ADDRESS;
}

int emu_bo_info(struct emu_file *f, struct amdxdna_get_bo_info *g) {
    const struct emu_bo *bo = emu_bo_of(f, g->handle);
    if (g->ext || g->ext_flags || g->pad) return EINVAL;
    if (!bo) return ENOENT;
    bool dev = bo->type == AMDXDNA_BO_DEV;
    g->map_offset = dev ? AMDXDNA_INVALID_ADDRESS : EMU_MAP_BASE + bo->offset;
    g->vaddr = bo->user ? (uint64_t)(uintptr_t)bo->user : AMDXDNA_INVALID_ADDRESS;
    g->xdna_addr = emu_bo_address(f, bo);
    if (!bo->address && f->settings.profile->address_hidden && !f->settings.iova)
        g->xdna_addr = AMDXDNA_INVALID_ADDRESS;
    return 0;
}

static void release(struct emu_file *f, struct emu_bo *bo) {
    struct emu_bo **at = &f->bos;
    uint64_t lines = bo->offset / EMU_LINE, count = bo->bytes / EMU_LINE;
    while (*at != bo) at = &(*at)->next;
    *at = bo->next;
    memset(f->lines + lines, 0, count * sizeof *f->lines);
    if (bo->type == AMDXDNA_BO_DEV) {
        memset(f->host + bo->offset, 0, bo->bytes);
    } else {
        f->used -= bo->bytes;
        fallocate(f->host_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)bo->offset, (off_t)bo->bytes);
        fallocate(f->device_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)bo->offset, (off_t)bo->bytes);
    }
    free(bo);
}

int emu_bo_close(struct emu_file *f, const struct amdxdna_gem_close *c) {
    struct emu_bo *bo = emu_bo_of(f, c->handle);
    if (!bo) return EINVAL;
    bo->closed = true;
    if (!bo->running) release(f, bo);
    return 0;
}

void emu_bo_put(struct emu_file *f, struct emu_bo *bo) {
    if (!--bo->running && bo->closed) release(f, bo);
}
