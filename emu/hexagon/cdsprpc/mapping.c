// fastrpc_mmap and fastrpc_munmap: which buffers a session's process knows. The descriptor's number is the key on both
// sides; the process gets a duplicate of the descriptor beside it.
#include "emu_host.h"

#include <stdlib.h>
#include <sys/stat.h>

struct emu_mapping *emu_mapping_find(struct emu_session *session, int fd) {
    for (struct emu_mapping *m = session->mappings; m; m = m->next)
        if (m->fd == fd) return m;
    return NULL;
}

static void remove_mapping(struct emu_session *session, int fd) {
    for (struct emu_mapping **at = &session->mappings; *at; at = &(*at)->next) {
        struct emu_mapping *found = *at;
        if (found->fd != fd) continue;
        *at = found->next;
        free(found);
        return;
    }
}

void emu_mappings_clear(struct emu_session *session) {
    while (session->mappings) remove_mapping(session, session->mappings->fd);
}

static int ask_map(struct emu_session *session, int fd, size_t bytes, uint32_t flags) {
    struct emu_control message = {.kind = EMU_CONTROL_MAP, .fd = fd, .value = bytes, .flags = flags};
    return emu_session_ask(session, &message, fd);
}

static uint32_t process_flags(enum fastrpc_map_flags flags) {
    switch (flags) {
    case FASTRPC_MAP_STATIC:
        return EMU_MAP_NOW | EMU_MAP_STATIC;
    case FASTRPC_MAP_FD:
        return EMU_MAP_NOW;
    case FASTRPC_MAP_FD_EXTENDED:
    case FASTRPC_MAP_FD_DELAYED_EXTENDED:
        return EMU_MAP_EXTENDED;
    default:
        return 0;
    }
}

// Adds the record first, so that a second call for the same descriptor is refused while the first is at work.
static int add(struct emu_session *session, int fd, void *memory, size_t bytes, enum fastrpc_map_flags flags,
               bool implicit) {
    struct emu_mapping *mapping = calloc(1, sizeof *mapping);
    struct emu_mapping *old;
    struct emu_buffer *buffer;
    int result;
    if (!mapping) return AEE_ENOMEMORY;
    emu_lock();
    buffer = emu_buffer_by_fd(fd);
    if (!memory && buffer && flags != FASTRPC_MAP_FD_NOMAP) memory = buffer->memory;
    old = emu_mapping_find(session, fd);
    if (old) {
        bool promote = old->implicit && !implicit;
        if (promote) old->implicit = false;
        emu_unlock();
        free(mapping);
        return implicit || promote ? 0 : AEE_EALREADY;
    }
    *mapping = (struct emu_mapping){
        .fd = fd, .bytes = bytes, .memory = memory, .flags = flags, .implicit = implicit, .next = session->mappings};
    session->mappings = mapping;
    emu_unlock();
    result = ask_map(session, fd, bytes, process_flags(flags));
    if (!result) return 0;
    emu_lock();
    remove_mapping(session, fd);
    emu_unlock();
    return result == AEE_ECONNRESET ? result : AEE_EFAILED;
}

int emu_mapping_implicit(struct emu_session *session, int fd) {
    struct emu_buffer *buffer;
    size_t bytes = 0;
    emu_lock();
    buffer = emu_buffer_by_fd(fd);
    if (buffer) bytes = buffer->bytes;
    emu_unlock();
    return bytes ? add(session, fd, NULL, bytes, FASTRPC_MAP_STATIC, true) : AEE_EBADPARM;
}

static bool known_flags(enum fastrpc_map_flags flags) {
    switch (flags) {
    case FASTRPC_MAP_STATIC:
    case FASTRPC_MAP_FD:
    case FASTRPC_MAP_FD_DELAYED:
    case FASTRPC_MAP_FD_NOMAP:
    case FASTRPC_MAP_FD_EXTENDED:
    case FASTRPC_MAP_FD_DELAYED_EXTENDED:
        return true;
    default:
        return false;
    }
}

static struct emu_session *session_for(int domain) {
    struct emu_session *session;
    emu_lock();
    session = emu_session_of(emu_default_domain(domain));
    emu_unlock();
    return session;
}

EMU_API int fastrpc_mmap(int domain, int fd, void *addr, int offset, size_t length, enum fastrpc_map_flags flags) {
    struct emu_session *session;
    struct stat file;
    int result, code;
    if (emu_meet("fastrpc_mmap", &code)) return code;
    if (fd < 0 || offset || !known_flags(flags)) return AEE_EBADPARM;
    session = session_for(domain);
    if (!session) return AEE_EINVALIDDOMAIN;
    if (!length || fstat(fd, &file) || (uint64_t)file.st_size < length) return AEE_EFAILED;
    result = emu_session_hold(session);
    if (result) return result;
    result = add(session, fd, addr, length, flags, false);
    emu_session_leave(session);
    return result;
}

EMU_API int fastrpc_munmap(int domain, int fd, void *addr, size_t length) {
    struct emu_control message = {.kind = EMU_CONTROL_UNMAP, .fd = fd};
    struct emu_session *session = session_for(domain);
    struct emu_mapping *mapping;
    int result = 0, code;
    (void)addr, (void)length;
    if (emu_meet("fastrpc_munmap", &code)) return code;
    if (!session) return AEE_EINVALIDDOMAIN;
    emu_lock();
    mapping = emu_mapping_find(session, fd);
    if (!mapping || mapping->implicit)
        result = AEE_ENOSUCHMAP;
    else if (mapping->references)
        result = AEE_EBADPARM;
    else
        remove_mapping(session, fd);
    emu_unlock();
    if (result) return result;
    result = emu_session_hold(session);
    // A dead process has no mappings left: the record was all there was.
    if (result) return 0;
    result = emu_session_ask(session, &message, -1);
    emu_session_leave(session);
    return result == AEE_ECONNRESET ? 0 : result;
}

void emu_buffer_forgotten(int fd) {
    for (int d = 0; d < EMU_DOMAINS; d++) {
        for (int s = 0; s < EMU_SESSIONS; s++) {
            struct emu_session *session = &emu.sessions[d][s];
            struct emu_control message = {.kind = EMU_CONTROL_FORGET, .fd = fd};
            struct emu_mapping *mapping;
            bool explicit_one;
            emu_lock();
            mapping = emu_mapping_find(session, fd);
            explicit_one = mapping && !mapping->implicit;
            if (mapping && mapping->implicit) remove_mapping(session, fd);
            if (explicit_one) mapping->memory = NULL;
            emu_unlock();
            if (explicit_one || emu_session_hold(session)) continue;
            emu_session_tell(session, &message);
            emu_session_leave(session);
        }
    }
}
