// remote_handle64_open, invoke, close. A handle's number is wider than 32 bits on purpose: the interface gives it
// pointer size, and a caller that cuts it off must fail here too.
#include "emu_host.h"
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct emu_handle *find(remote_handle64 id) {
    for (struct emu_handle *h = emu.handles; h; h = h->next)
        if (h->id == id) return h;
    return NULL;
}

static int copy_handle(remote_handle64 id, struct emu_handle *copy) {
    struct emu_handle *found;
    emu_lock();
    found = find(id);
    if (found) *copy = *found;
    emu_unlock();
    return found ? 0 : AEE_EINVHANDLE;
}

static int add_handle(struct emu_session *session, uint32_t module, uint64_t remote, remote_handle64 *id) {
    struct emu_handle *handle = calloc(1, sizeof *handle);
    if (!handle) return AEE_ENOMEMORY;
    emu_lock();
    *handle = (struct emu_handle){.id = (uint64_t)1 << 36 | emu.next_handle++ << 4,
                                  .session = session,
                                  .generation = session->generation,
                                  .module = module,
                                  .remote = remote,
                                  .next = emu.handles};
    emu.handles = handle;
    emu_unlock();
    *id = handle->id;
    return 0;
}

static int load(struct emu_session *session, const struct emu_uri *uri, const char *path, uint32_t *module) {
    struct emu_control message = {.kind = EMU_CONTROL_LOAD};
    int result;
    snprintf(message.name, sizeof message.name, "%s", uri->symbol);
    snprintf(message.path, sizeof message.path, "%s", path);
    result = emu_session_ask(session, &message, -1);
    *module = (uint32_t)message.value;
    return result;
}

// Method 0 of the module: two in buffers (length, text), one out handle.
static int call_open(struct emu_session *session, uint32_t module, const char *text, uint64_t *remote) {
    uint32_t length = (uint32_t)strlen(text) + 1;
    remote_arg args[3] = {{.buf = {&length, sizeof length}}, {.buf = {(void *)(uintptr_t)text, length}}};
    int result = emu_invoke(session, module, 0, REMOTE_SCALARS_MAKEX(0, 0, 2, 0, 0, 1), args);
    *remote = args[2].h64;
    return result;
}

static int open_in(struct emu_session *session, const struct emu_uri *uri, const char *path, const char *text,
                   remote_handle64 *id) {
    uint32_t module;
    uint64_t remote;
    int result = load(session, uri, path, &module);
    if (!result) result = call_open(session, module, text, &remote);
    return result ? result : add_handle(session, module, remote, id);
}

EMU_API int remote_handle64_open(const char *text, remote_handle64 *id) {
    struct emu_uri uri;
    struct emu_session *session;
    char path[EMU_PATH_BYTES];
    int result, code, found, refused;
    emu_setting_refuse("%s", "");
    if (emu_meet("remote_handle64_open", &code)) return code;
    if (!text || !id) return AEE_EBADPARM;
    result = emu_uri_read(text, &uri);
    if (result) return result;
    emu_lock();
    session = emu_session_of(uri.effective_domain);
    found = !emu_program_find(uri.library, emu.settings.driver, emu_domain_name(uri.effective_domain % EMU_DOMAIN_STEP),
                              path, sizeof path);
    refused = session && emu.settings.signed_only && !(session->unsigned_set && session->unsigned_module);
    emu_unlock();
    if (!session) return AEE_ENOSUCHDEVICE;
    if (!found || refused) {
        emu_tell("%s: %s", uri.library,
                 found ? "an unsigned program in a signed session" : "not found in the search path");
        return EMU_DSP_NO_SKEL;
    }
    result = emu_session_use(session, path);
    if (result) return result;
    result = open_in(session, &uri, path, text, id);
    if (result) emu_session_leave(session);
    return result;
}

EMU_API int remote_handle64_invoke(remote_handle64 id, uint32_t scalars, remote_arg *args) {
    struct emu_handle handle;
    int result, code;
    if (emu_meet("remote_handle64_invoke", &code)) return code;
    if (copy_handle(id, &handle)) return AEE_EINVHANDLE;
    if (REMOTE_SCALARS_LENGTH(scalars) && !args) return AEE_EBADPARM;
    result = emu_session_hold(handle.session);
    if (result) return result;
    result = emu_invoke(handle.session, handle.module, handle.remote, scalars, args);
    emu_session_leave(handle.session);
    return result;
}

EMU_API int remote_handle64_close(remote_handle64 id) {
    struct emu_handle *found = NULL;
    bool last = false, live = false;
    int code;
    if (emu_meet("remote_handle64_close", &code)) return code;
    emu_lock();
    for (struct emu_handle **at = &emu.handles; *at; at = &(*at)->next) {
        if ((*at)->id != id) continue;
        found = *at;
        *at = found->next;
        last = found->session->users == 1;
        live = found->session->state == EMU_SESSION_LIVE;
        break;
    }
    emu_unlock();
    if (!found) return AEE_EINVHANDLE;
    if (live && !last) {
        remote_arg handle = {.h64 = found->remote};
        emu_invoke(found->session, found->module, found->remote, REMOTE_SCALARS_MAKEX(0, 1, 0, 0, 1, 0), &handle);
    }
    emu_session_leave(found->session);
    free(found);
    return 0;
}

// The older kind of handle: only the library's own helpers use it on a device.
EMU_API int remote_handle_open(const char *name, remote_handle *handle) {
    (void)name, (void)handle;
    return AEE_EUNSUPPORTED;
}

EMU_API int remote_handle_invoke(remote_handle handle, uint32_t scalars, remote_arg *args) {
    (void)handle, (void)scalars, (void)args;
    return AEE_EINVHANDLE;
}

EMU_API int remote_handle_close(remote_handle handle) {
    (void)handle;
    return AEE_EINVHANDLE;
}

EMU_API int remote_set_mode(uint32_t mode) {
    return mode > 1 ? AEE_EBADPARM : 0;
}
