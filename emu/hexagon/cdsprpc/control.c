// Requests about a session, a handle, the device: remote_session_control, remote_handle_control, remote_system_request.
#include "emu_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Calls |apply| for the sessions that |domain| means: one, or all of them for -1. The last failure is the result.
static int for_sessions(int domain, int (*apply)(struct emu_session *, void *), void *data) {
    int result = 0, some = 0;
    for (int d = 0; d < EMU_DOMAINS; d++) {
        for (int s = 0; s < EMU_SESSIONS; s++) {
            struct emu_session *session;
            int one;
            emu_lock();
            session = emu_session_of(d + EMU_DOMAIN_STEP * s);
            emu_unlock();
            if (!session || (domain != -1 && session->effective_domain != domain)) continue;
            some = 1;
            one = apply(session, data);
            if (one) result = one;
        }
    }
    return some ? result : AEE_EINVALIDDOMAIN;
}

static int set_unsigned(struct emu_session *session, void *data) {
    int enable = *(int *)data != 0, result = 0;
    emu_lock();
    // A process that runs without a request before runs signed.
    if (session->state == EMU_SESSION_CLOSED) {
        session->unsigned_set = true;
        session->unsigned_module = enable;
    } else if (!session->unsigned_set ? enable : session->unsigned_module != enable) {
        result = AEE_EALREADYLOADED;
    }
    emu_unlock();
    return result;
}

static int set_thread_params(struct emu_session *session, void *data) {
    const struct remote_rpc_thread_params *params = data;
    if (params->prio != -1 && (params->prio < 1 || params->prio > 255)) return AEE_EBADPARM;
    if (params->stack_size != -1 && (params->stack_size < 16 << 10 || params->stack_size > 8 << 20))
        return AEE_EBADPARM;
    emu_lock();
    session->thread_priority = params->prio == -1 ? 0xC0 : params->prio;
    emu_unlock();
    return 0;
}

static int set_relative_priority(struct emu_session *session, void *data) {
    int priority = 0xC0 + *(int *)data;
    if (priority < 1 || priority > 255) return AEE_EBADPARM;
    emu_lock();
    session->thread_priority = priority;
    emu_unlock();
    return 0;
}

static int end_process(struct emu_session *session, void *data) {
    emu_session_kill(session, *(enum emu_exit_kind *)data);
    return 0;
}

static int end_session(struct emu_session *session, void *data) {
    emu_session_kill(session, *(enum emu_exit_kind *)data);
    emu_lock();
    if (session->state == EMU_SESSION_CLOSED) session->reserved = false;
    emu_unlock();
    return 0;
}

static int refuse_when_open(struct emu_session *session, void *data) {
    int open;
    (void)data;
    emu_lock();
    open = session->state != EMU_SESSION_CLOSED;
    emu_unlock();
    return open ? AEE_ERPC : 0;
}

static int get_type(struct remote_process_type *type) {
    struct emu_session *session;
    int result = 0;
    emu_lock();
    session = emu_session_of(emu_default_domain(type->domain));
    if (!session)
        result = AEE_EINVALIDDOMAIN;
    else
        type->process_type = session->unsigned_set && session->unsigned_module;
    emu_unlock();
    return result;
}

static int add_notifier(const remote_rpc_notif_register_t *notifier) {
    int result = 0;
    if (!notifier->notifier_fn) return AEE_EBADPARM;
    emu_lock();
    if (emu.notifier_count == EMU_NOTIFIERS) {
        result = AEE_ENOMORE;
    } else {
        emu.notifiers[emu.notifier_count].call = notifier->notifier_fn;
        emu.notifiers[emu.notifier_count].context = notifier->context;
        emu.notifiers[emu.notifier_count].domain = emu_default_domain(notifier->domain);
        emu.notifier_count++;
    }
    emu_unlock();
    return result;
}

static int reserve(remote_rpc_reserve_new_session_t *request) {
    int domain, result = AEE_ENOSESSION;
    if (!request->domain_name) return AEE_EBADPARM;
    domain = emu_domain_by_name(request->domain_name, strnlen(request->domain_name, request->domain_name_len));
    emu_lock();
    if (domain < 0 || !emu_session_of(domain)) {
        result = AEE_EINVALIDDOMAIN;
    } else {
        for (uint32_t s = 1; s < emu.settings.sessions; s++) {
            struct emu_session *session = &emu.sessions[domain][s];
            if (session->reserved || session->state != EMU_SESSION_CLOSED) continue;
            session->reserved = true;
            request->session_id = s;
            request->effective_domain_id = (uint32_t)session->effective_domain;
            result = 0;
            break;
        }
    }
    emu_unlock();
    return result;
}

static int effective_domain(remote_rpc_effective_domain_id_t *request) {
    int domain, result = 0;
    if (!request->domain_name) return AEE_EBADPARM;
    domain = emu_domain_by_name(request->domain_name, strnlen(request->domain_name, request->domain_name_len));
    emu_lock();
    if (domain < 0 || request->session_id >= EMU_SESSIONS ||
        !emu_session_of(domain + EMU_DOMAIN_STEP * (int)request->session_id))
        result = AEE_EINVALIDDOMAIN;
    else
        request->effective_domain_id = (uint32_t)domain + EMU_DOMAIN_STEP * request->session_id;
    emu_unlock();
    return result;
}

static int get_uri(const remote_rpc_get_uri_t *request) {
    int length, enabled;
    emu_lock();
    enabled = (int)emu.settings.get_uri;
    emu_unlock();
    if (!enabled) return AEE_EUNSUPPORTED;
    if (!request->domain_name || !request->module_uri || !request->uri || request->session_id >= EMU_SESSIONS)
        return AEE_EBADPARM;
    length = snprintf(request->uri, request->uri_len, "%s&_dom=%.*s&_session=%u", request->module_uri,
                      (int)request->domain_name_len, request->domain_name, request->session_id);
    return length < 0 || (uint32_t)length >= request->uri_len ? AEE_EBADSIZE : 0;
}

static int session_request(uint32_t request, void *data) {
    enum emu_exit_kind killed = EMU_EXIT_KILLED, exception = EMU_EXIT_UNKNOWN;
    int *words = data;
    switch (request) {
    case FASTRPC_THREAD_PARAMS:
        return for_sessions(words[0], set_thread_params, data);
    case DSPRPC_CONTROL_UNSIGNED_MODULE:
        return for_sessions(words[0], set_unsigned, &words[1]);
    case FASTRPC_RELATIVE_THREAD_PRIORITY:
        return for_sessions(words[0], set_relative_priority, &words[1]);
    case FASTRPC_REMOTE_PROCESS_KILL:
        return for_sessions(words[0], end_process, &killed);
    case FASTRPC_SESSION_CLOSE:
        return for_sessions(words[0], end_session, &killed);
    case FASTRPC_REMOTE_PROCESS_EXCEPTION:
        return for_sessions(words[0], end_process, &exception);
    case FASTRPC_CONTROL_PD_DUMP:
        return for_sessions(words[0], refuse_when_open, NULL);
    case FASTRPC_PD_INITMEM_SIZE:
        return words[1] < 3 << 20 || words[1] > 200 << 20 ? AEE_EBADPARM : 0;
    case FASTRPC_REMOTE_PROCESS_TYPE:
        return get_type(data);
    case FASTRPC_REGISTER_STATUS_NOTIFICATIONS:
        return add_notifier(data);
    case FASTRPC_RESERVE_NEW_SESSION:
        return reserve(data);
    case FASTRPC_GET_EFFECTIVE_DOMAIN_ID:
        return effective_domain(data);
    default:
        return get_uri(data);
    }
}

EMU_API int remote_session_control(uint32_t request, void *data, uint32_t data_bytes) {
    static const uint32_t sizes[] = {
        [FASTRPC_THREAD_PARAMS] = sizeof(struct remote_rpc_thread_params),
        [DSPRPC_CONTROL_UNSIGNED_MODULE] = sizeof(struct remote_rpc_control_unsigned_module),
        [FASTRPC_RELATIVE_THREAD_PRIORITY] = sizeof(struct remote_rpc_relative_thread_priority),
        [FASTRPC_REMOTE_PROCESS_KILL] = sizeof(struct remote_rpc_process_clean_params),
        [FASTRPC_SESSION_CLOSE] = sizeof(struct remote_rpc_session_close),
        [FASTRPC_CONTROL_PD_DUMP] = sizeof(struct remote_rpc_control_pd_dump),
        [FASTRPC_REMOTE_PROCESS_EXCEPTION] = sizeof(remote_rpc_process_exception),
        [FASTRPC_REMOTE_PROCESS_TYPE] = sizeof(struct remote_process_type),
        [FASTRPC_REGISTER_STATUS_NOTIFICATIONS] = sizeof(remote_rpc_notif_register_t),
        [FASTRPC_PD_INITMEM_SIZE] = sizeof(struct remote_rpc_pd_initmem_size),
        [FASTRPC_RESERVE_NEW_SESSION] = sizeof(remote_rpc_reserve_new_session_t),
        [FASTRPC_GET_EFFECTIVE_DOMAIN_ID] = sizeof(remote_rpc_effective_domain_id_t),
        [FASTRPC_GET_URI] = sizeof(remote_rpc_get_uri_t),
    };
    int code;
    if (emu_meet("remote_session_control", &code)) return code;
    if (request >= sizeof sizes / sizeof *sizes || !sizes[request]) return AEE_EUNSUPPORTED;
    if (!data || data_bytes != sizes[request]) return AEE_EBADPARM;
    return session_request(request, data);
}

static uint32_t capability_value(uint32_t attribute) {
    const uint32_t page = 256u << 10;
    const struct emu_settings *s = &emu.settings;
    switch (attribute) {
    case DOMAIN_SUPPORT:
    case UNSIGNED_PD_SUPPORT:
    case HMX_SUPPORT_DEPTH:
        return 1;
    case STATUS_NOTIFICATION_SUPPORT:
        return 1;
    case HVX_SUPPORT_128B:
        return emu_hvx_contexts(s);
    case VTCM_PAGE:
        return emu_vtcm_bytes(s) % page ? emu_vtcm_bytes(s) : page;
    case VTCM_COUNT:
        return emu_vtcm_bytes(s) % page ? 1 : emu_vtcm_bytes(s) / page;
    case ARCH_VER:
        return s->arch / 10 << 4 | s->arch % 10;
    case EXTENDED_MAP_SUPPORT:
        return s->arch > 79;
    default:
        return 0;
    }
}

static int dsp_info(struct remote_dsp_capability *capability) {
    struct emu_session *session;
    if (capability->attribute_ID >= 260) return AEE_EBADPARM;
    emu_lock();
    session = capability->domain < INT32_MAX ? emu_session_of((int)capability->domain) : NULL;
    // A domain that is not there supports nothing; only asking whether it is there is an answer.
    capability->capability = session ? capability_value(capability->attribute_ID) : 0;
    emu_unlock();
    return session || capability->attribute_ID == DOMAIN_SUPPORT ? 0 : AEE_EINVALIDDOMAIN;
}

static int handle_request(uint32_t request, void *data, uint32_t bytes) {
    switch (request) {
    case DSPRPC_CONTROL_LATENCY:
        return bytes == sizeof(struct remote_rpc_control_latency) ? 0 : AEE_EBADPARM;
    case DSPRPC_CONTROL_WAKELOCK:
        return bytes == sizeof(struct remote_rpc_control_wakelock) ? 0 : AEE_EBADPARM;
    case DSPRPC_GET_DSP_INFO:
        return bytes == sizeof(struct remote_dsp_capability) ? dsp_info(data) : AEE_EBADPARM;
    default:
        return AEE_EUNSUPPORTED;
    }
}

EMU_API int remote_handle_control(uint32_t request, void *data, uint32_t data_bytes) {
    int code;
    if (emu_meet("remote_handle_control", &code)) return code;
    return data ? handle_request(request, data, data_bytes) : AEE_EBADPARM;
}

EMU_API int remote_handle64_control(remote_handle64 id, uint32_t request, void *data, uint32_t data_bytes) {
    int domain = -1, code;
    if (emu_meet("remote_handle64_control", &code)) return code;
    emu_lock();
    for (struct emu_handle *h = emu.handles; h; h = h->next)
        if (h->id == id) domain = h->session->effective_domain % EMU_DOMAIN_STEP;
    emu_unlock();
    if (domain < 0) return AEE_EINVHANDLE;
    if (!data) return AEE_EBADPARM;
    if (request != DSPRPC_GET_DOMAIN) return handle_request(request, data, data_bytes);
    if (data_bytes != sizeof(remote_rpc_get_domain_t)) return AEE_EBADPARM;
    ((remote_rpc_get_domain_t *)data)->domain = domain;
    return 0;
}

static void fill_domain(fastrpc_domain *domain, int index) {
    memset(domain, 0, sizeof *domain);
    domain->id = CDSP_DOMAIN_ID + index;
    snprintf(domain->name, sizeof domain->name, "%s", emu_domain_name(domain->id));
    domain->type = FASTRPC_NSP;
    domain->status = 1;
}

EMU_API int remote_system_request(system_req_payload *request) {
    uint32_t type;
    int code, count;
    if (emu_meet("remote_system_request", &code)) return code;
    if (!request) return AEE_EBADPARM;
    if (request->id != FASTRPC_GET_DOMAINS) return AEE_EUNSUPPORTED;
    type = (uint32_t)request->sys.flags & 31u;
    emu_lock();
    count = type == FASTRPC_ALL_DOMAINS || type == FASTRPC_NSP ? (int)emu.settings.cdsps : 0;
    emu_unlock();
    request->sys.num_domains = count;
    for (int i = 0; request->sys.domains && i < count && i < request->sys.max_domains; i++)
        fill_domain(&request->sys.domains[i], i);
    return 0;
}
