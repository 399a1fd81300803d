// Shared buffers: memory files, known by descriptor and by base address. Heap ids and most flags mean nothing here.
#include "emu_host.h"
#include "rpcmem.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

EMU_API void rpcmem_init(void) {}
EMU_API void rpcmem_deinit(void) {}

struct emu_buffer *emu_buffer_by_fd(int fd) {
    for (struct emu_buffer *b = emu.buffers; b; b = b->next)
        if (b->fd == fd) return b;
    return NULL;
}

struct emu_buffer *emu_buffer_around(const void *memory, size_t bytes, bool *overlap) {
    uintptr_t first = (uintptr_t)memory;
    *overlap = false;
    for (struct emu_buffer *b = emu.buffers; b; b = b->next) {
        uintptr_t base = (uintptr_t)b->memory;
        if (first >= base && first - base <= b->bytes && bytes <= b->bytes - (first - base) && first - base < b->bytes)
            return b;
        if (first < base + b->bytes && base < first + bytes) *overlap = true;
    }
    return NULL;
}

static size_t page_round(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return bytes > SIZE_MAX - page ? 0 : (bytes + page - 1) / page * page;
}

static void insert(struct emu_buffer *buffer) {
    emu_lock();
    buffer->next = emu.buffers;
    emu.buffers = buffer;
    emu_unlock();
}

static void *allocate(size_t size) {
    struct emu_buffer *buffer;
    size_t bytes = page_round(size), tail = bytes ? emu_strict_tail_bytes(bytes) : 0;
    void *memory;
    int fd;
    if (!size || !bytes || size > emu.settings.max_buffer_bytes) return NULL;
    buffer = calloc(1, sizeof *buffer);
    fd = memfd_create("rpcmem", MFD_CLOEXEC);
    if (!buffer || fd < 0 || ftruncate(fd, (off_t)(bytes + tail)) || emu_strict_tail_write(fd, bytes)) goto fail;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) goto fail;
    *buffer = (struct emu_buffer){.memory = memory, .bytes = bytes, .fd = fd, .owned = true};
    insert(buffer);
    return memory;
fail:
    if (fd >= 0) close(fd);
    free(buffer);
    return NULL;
}

EMU_API void *rpcmem_alloc2(int heap_id, uint32_t flags, size_t size) {
    int code;
    (void)heap_id, (void)flags;
    return emu_meet("rpcmem_alloc2", &code) ? NULL : allocate(size);
}

EMU_API void *rpcmem_alloc(int heap_id, uint32_t flags, int size) {
    int code;
    (void)heap_id, (void)flags;
    return emu_meet("rpcmem_alloc", &code) || size <= 0 ? NULL : allocate((size_t)size);
}

static struct emu_buffer *take(const void *memory, bool owned) {
    struct emu_buffer *found = NULL;
    emu_lock();
    for (struct emu_buffer **at = &emu.buffers; *at; at = &(*at)->next) {
        if ((*at)->memory != memory || (*at)->owned != owned) continue;
        found = *at;
        *at = found->next;
        break;
    }
    emu_unlock();
    return found;
}

EMU_API void rpcmem_free(void *memory) {
    int code;
    if (emu_meet("rpcmem_free", &code)) return;
    struct emu_buffer *buffer = memory ? take(memory, true) : NULL;
    if (!buffer) return;
    emu_buffer_forgotten(buffer->fd);
    munmap(buffer->memory, buffer->bytes);
    close(buffer->fd);
    free(buffer);
}

EMU_API int rpcmem_to_fd(void *memory) {
    int fd = -1, code;
    if (emu_meet("rpcmem_to_fd", &code)) return code;
    emu_lock();
    for (struct emu_buffer *b = emu.buffers; b; b = b->next)
        if (b->memory == memory && b->owned) fd = b->fd;
    emu_unlock();
    return fd;
}

// Foreign memory: fd -1 ends the registration. Another size than the registered one ends the process, as it does in the
// vendor's library.
EMU_API void remote_register_buf_attr2(void *memory, size_t size, int fd, int attr) {
    struct emu_buffer *buffer;
    (void)attr;
    if (fd < 0) {
        buffer = take(memory, false);
        if (buffer && size && buffer->bytes != size) abort();
        free(buffer);
        return;
    }
    buffer = calloc(1, sizeof *buffer);
    if (!buffer) return;
    *buffer = (struct emu_buffer){.memory = memory, .bytes = size, .fd = fd};
    insert(buffer);
}

EMU_API void remote_register_buf_attr(void *memory, int size, int fd, int attr) {
    remote_register_buf_attr2(memory, size < 0 ? 0 : (size_t)size, fd, attr);
}

EMU_API void remote_register_buf(void *memory, int size, int fd) {
    remote_register_buf_attr(memory, size, fd, 0);
}
