/* Bring-up and end of a session: its place, the handle, what the NPU program says of its hardware. The packet queue:
 * hexagon_transport.c; buffers: hexagon_buffer.c; requests: hexagon_submit.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/hexagon/hexagon_program.h"
#include "target/hexagon/hexagon_session_internal.h"

const npu_hw *npu_hex_session_hw(const npu_hex_session *s) {
    return &s->hw;
}

bool npu_hex_session_has_queue(const npu_hex_session *s) {
    return s->queue != NULL;
}

const char *npu_hex_session_no_queue(const npu_hex_session *s, npu_status *status) {
    *status = s->no_queue_status;
    return s->no_queue;
}

npu_target_counters *npu_hex_session_counters(npu_hex_session *s) {
    return &s->counters;
}

uint64_t npu_hex_session_window(const npu_hex_session *s) {
    return s->hw.window_bytes - (s->ring ? s->ring->bytes : 0);
}

const npu_hex_buffer *npu_hex_session_ring(const npu_hex_session *s) {
    return s->ring;
}

uint64_t npu_hex_session_answered(const npu_hex_session *s) {
    return s->answered;
}

void npu_hex_session_times(const npu_hex_session *s, uint64_t sequence, uint64_t *sent, uint64_t *answered) {
    *sent = s->requests[sequence % NPU_HEX_DEPTH].sent_ns;
    *answered = s->requests[sequence % NPU_HEX_DEPTH].answered_ns;
}

static npu_status fail_open(const npu_hex_session *s, const char *uri, int result, npu_error *err) {
    char why[256];
    if (*s->driver->programs && npu_hex_program_fault(s->driver->programs, s->hw.arch, why, sizeof why))
        return npu_fail(err, NPU_REFUSED, "hexagon.program", "%s (%s)", why, npu_hex_result_name(result));
    npu_status status = npu_hex_status(result);
    const char *reason = s->driver->refusal ? s->driver->refusal() : "";
    if (!*reason && *s->driver->programs && !s->driver->emulated)
        reason = "FastRPC looks for it along DSP_LIBRARY_PATH only, where the folder of `kernels_dir` has to be";
    /* A process that can't be made or is gone already: the program is what it does first. */
    if (!*reason && *s->driver->programs && status == NPU_DEVICE_LOST)
        reason = "the NPU process ended while it loaded it";
    return npu_fail(err, status, "hexagon.open", "opening the NPU program (%s): %s (0x%x)%s%s", uri,
                    npu_hex_result_name(result), (unsigned)result, *reason ? ": " : "", reason);
}

const char *npu_hex_session_name(const npu_hex_session *s) {
    return s->name;
}

uint64_t npu_hex_session_timeout_us(const npu_hex_session *s) {
    return s->timeout_us;
}

uint64_t npu_hex_session_clock_us(const npu_hex_session *s) {
    return npu_hex_watch_clock_us(s->watch);
}

npu_status npu_hex_session_lost(const npu_hex_session *s) {
    return s->lost;
}

/* The effective domain of an NPU's session. Session 0 is there for everybody; of the others the library gives away what
 * is free, so that the number that was asked for only tells them apart. */
static npu_status find_domain(npu_hex_session *s, npu_error *err) {
    char domain[] = "cdsp1", session[] = "npu";
    uint32_t length = s->place.npu ? 5 : 4;
    if (!s->place.npu && !s->place.session) return NPU_OK;
    domain[length] = 0;
    int result;
    if (s->place.session) {
        remote_rpc_reserve_new_session_t ask = {.domain_name = domain,
                                                .domain_name_len = length,
                                                .session_name = session,
                                                .session_name_len = sizeof session - 1};
        result = s->driver->remote_session_control(FASTRPC_RESERVE_NEW_SESSION, &ask, sizeof ask);
        s->reserved = !result;
        s->domain = (int)ask.effective_domain_id;
        s->session_id = ask.session_id;
    } else {
        remote_rpc_effective_domain_id_t ask = {.domain_name = domain, .domain_name_len = length};
        result = s->driver->remote_session_control(FASTRPC_GET_EFFECTIVE_DOMAIN_ID, &ask, sizeof ask);
        s->domain = (int)ask.effective_domain_id;
    }
    if (!result) return NPU_OK;
    return npu_fail(err, NPU_NO_DEVICE, "hexagon.place", "%s (domain %s) is not there: %s (0x%x)%s", s->name, domain,
                    npu_hex_result_name(result), (unsigned)result,
                    s->driver->emulated ? " (emulated: `emu` cdsps=2, sessions=4)" : "");
}

static npu_status open_handle(npu_hex_session *s, npu_error *err) {
    const npu_hex_driver *d = s->driver;
    struct remote_rpc_control_unsigned_module unsigned_module = {s->domain, 1};
    int result = d->remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &unsigned_module, sizeof unsigned_module);
    if (result) return npu_hex_fail(err, result, "asking for an unsigned NPU process");
    char module[128], uri[256] = "";
    char domain[] = "cdsp1";
    if (!s->place.npu) domain[4] = 0;
    snprintf(module, sizeof module, "file:///libnpu-htp-v%u.so?" NPU_RPC_INTERFACE "_skel_handle_invoke&_modver=1.0",
             s->hw.arch);
    remote_rpc_get_uri_t ask = {
        domain, (uint32_t)strlen(domain), s->session_id, module, (uint32_t)strlen(module) + 1, uri, sizeof uri};
    if (d->remote_session_control(FASTRPC_GET_URI, &ask, sizeof ask)) { /* older libraries: the suffix by hand */
        int n = snprintf(uri, sizeof uri, "%s&_dom=%s", module, domain);
        if (s->session_id) snprintf(uri + n, sizeof uri - (size_t)n, "&_session=%u", s->session_id);
    }
    result = d->remote_handle64_open(uri, &s->handle);
    if (result) return fail_open(s, uri, result, err);
    s->open = true;
    struct remote_rpc_control_latency latency = {RPC_PM_QOS, 100};
    if (d->remote_handle64_control &&
        d->remote_handle64_control(s->handle, DSPRPC_CONTROL_LATENCY, &latency, sizeof latency))
        npu_log(&s->logger, NPU_LOG_DEBUG, "hexagon: no latency vote");
    return NPU_OK;
}

static npu_status read_hwinfo(npu_hex_session *s, npu_error *err) {
    npu_rpc_hwinfo info = {0};
    int result = npu_hex_rpc(s->driver, s->handle, NPU_RPC_HWINFO, NULL, 0, &info, sizeof info);
    if (result) return npu_hex_fail(err, result, "asking the NPU program for its hardware");
    if (info.magic != NPU_WIRE_MAGIC || info.version != NPU_WIRE_VERSION)
        return npu_fail(err, NPU_REFUSED, "hexagon.version", "the NPU program speaks version %u, this build %d",
                        info.version, NPU_WIRE_VERSION);
    if (info.arch != s->hw.arch)
        return npu_fail(err, NPU_REFUSED, "hexagon.arch", "the NPU program is for v%u, the device is v%u", info.arch,
                        s->hw.arch);
    if (!info.threads || info.threads > NPU_MAX_THREADS || info.vtcm_bytes < NPU_HEX_VTCM_LEAST ||
        info.vtcm_bytes > NPU_HEX_VTCM_MOST)
        return npu_fail(
            err, NPU_REFUSED, "hexagon.hwinfo",
            "the NPU says %u threads and %u bytes of local memory: it takes 1 to %d threads and %u to %u bytes",
            info.threads, info.vtcm_bytes, NPU_MAX_THREADS, (unsigned)NPU_HEX_VTCM_LEAST, (unsigned)NPU_HEX_VTCM_MOST);
    s->hw.threads = info.threads;
    s->hw.vtcm_bytes = info.vtcm_bytes;
    s->hw.hmx = info.hmx;
    if (info.window_bytes && info.window_bytes < s->hw.window_bytes) s->hw.window_bytes = info.window_bytes;
    return NPU_OK;
}

/* Up to the first packet. */
static npu_status bring_up(npu_hex_session *s, bool traced, npu_error *err) {
    const npu_hex_arch *arch;
    NPU_TRY(find_domain(s, err));
    npu_hex_watch_set_domain(s->watch, s->domain);
    NPU_TRY(npu_hex_device_arch(s->driver, (uint32_t)(NPU_HEX_DOMAIN + s->place.npu), &arch, err));
    s->hw = npu_hex_hw_of(arch);
    npu_hex_limit_buffers(s->driver, &s->hw);
    NPU_TRY(open_handle(s, err));
    NPU_TRY(read_hwinfo(s, err));
    if (traced) NPU_TRY(npu_hex_buffer_alloc(s, npu_hex_ring_bytes(&s->hw), true, &s->ring, err));
    return npu__hex_transport_begin(s, err);
}

static npu_status create(const npu_hex_driver *driver, const npu_target_params *params, npu_hex_place place,
                         npu_hex_session **out, npu_error *err) {
    npu_hex_session *s = *out = calloc(1, sizeof *s);
    if (!s) return npu_fail(err, NPU_NO_MEMORY, "hexagon.session", "out of memory");
    s->driver = driver;
    s->place = place;
    s->logger = params->logger;
    s->timeout_us = (uint64_t)((params->timeout_s > 0 ? params->timeout_s : driver->timeout_s) * 1e6);
    s->domain = (int)(NPU_HEX_DOMAIN + place.npu);
    snprintf(s->name, sizeof s->name, "NPU %u:%u", place.npu & 7u, place.session & 7u);
    s->watch = npu_hex_watch_create(driver, s->name, s->domain, s->timeout_us);
    return s->watch ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "hexagon.session", "no thread to watch its calls");
}

/* |status| of what was done since npu_hex_watch_begin, unless that took so long that the process was ended. */
static npu_status watched(npu_hex_session *s, npu_status status, npu_error *err) {
    npu_hex_watch_end(s->watch);
    if (!npu_hex_watch_has_ended(s->watch)) return status;
    return npu_fail(err, NPU_TIMEOUT, "hexagon.timeout",
                    "%s did not get ready within %g s (`timeout_s`, but %d s at least) and was ended", s->name,
                    npu_hex_watch_limit_s(s->watch), NPU_HEX_CALL_LEAST_S);
}

/* What is said of opening a session does not name it. */
static void name_session(const npu_hex_session *s, npu_error *err) {
    char text[sizeof err->text];
    if (!s || !s->name[0] || strstr(err->text, s->name)) return;
    memcpy(text, err->text, sizeof text);
    snprintf(err->text, sizeof err->text, "%s: %.*s", s->name, (int)(sizeof text - sizeof s->name - 2), text);
}

npu_status npu_hex_sessions_open(const npu_hex_driver *driver, const npu_target_params *params,
                                 const npu_hex_place *places, uint32_t n, npu_hex_session **out, npu_error *err) {
    npu_status status = NPU_OK;
    uint32_t at = 0;
    memset(out, 0, n * sizeof *out);
    for (uint32_t i = 0; i < n && status == NPU_OK; i++) {
        at = i;
        status = create(driver, params, places[i], &out[i], err);
        if (status != NPU_OK) break;
        npu_hex_watch_begin(out[i]->watch);
        status = watched(out[i], bring_up(out[i], params->trace != NULL, err), err);
    }
    for (uint32_t i = 0; i < n && status == NPU_OK; i++) { /* all packets are under way by now */
        at = i;
        npu_hex_watch_begin(out[i]->watch);
        status = watched(out[i], npu__hex_transport_choose(out[i], err), err);
    }
    if (status == NPU_OK) return NPU_OK;
    if (err) name_session(out[at], err);
    npu_hex_sessions_close(out, n);
    memset(out, 0, n * sizeof *out);
    return status;
}

npu_status npu_hex_session_open(const npu_hex_driver *driver, const npu_target_params *params, npu_hex_session **out,
                                npu_error *err) {
    const npu_hex_place first = {0, 0};
    return npu_hex_sessions_open(driver, params, &first, 1, out, err);
}

void npu__hex_lose(npu_hex_session *s, npu_status status) {
    struct remote_rpc_process_clean_params kill = {s->domain};
    s->lost = status;
    /* Where the kernel can't do this, closing the handle has to be enough. A process that the watch has ended is ended
     * once more, which does nothing. */
    if (!s->open) return;
    npu_hex_watch_begin(s->watch);
    s->driver->remote_session_control(FASTRPC_REMOTE_PROCESS_KILL, &kill, sizeof kill);
    npu_hex_watch_end(s->watch);
}

/* Gives up the process, which has ended by then when the session is lost; its buffers stay. */
static void end_process(npu_hex_session *s) {
    npu_hex_watch_begin(s->watch);
    if (s->open) s->driver->remote_handle64_close(s->handle);
    if (s->queue) s->driver->dspqueue_close(s->queue); /* lost: only now can nobody have it any more */
    if (s->reserved) {
        struct remote_rpc_session_close close = {s->domain};
        s->driver->remote_session_control(FASTRPC_SESSION_CLOSE, &close, sizeof close);
    }
    npu_hex_watch_end(s->watch);
    s->open = s->reserved = false;
    s->queue = NULL;
}

void npu_hex_sessions_close(npu_hex_session *const *sessions, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!sessions[i] || sessions[i]->lost) continue;
        npu_hex_watch_begin(sessions[i]->watch);
        npu__hex_transport_end(sessions[i]); /* unmaps its buffers */
        npu_hex_watch_end(sessions[i]->watch);
    }
    for (uint32_t i = 0; i < n; i++)
        if (sessions[i] && sessions[i]->lost) end_process(sessions[i]);
    /* The lost processes have ended and the others have let go: nobody can write to these any more. */
    for (uint32_t i = 0; i < n; i++)
        if (sessions[i]) npu_hex_watch_begin(sessions[i]->watch);
    for (uint32_t i = 0; i < n; i++)
        if (sessions[i]) npu__hex_release_buffers(sessions[i]);
    for (uint32_t i = 0; i < n; i++)
        if (sessions[i]) end_process(sessions[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (!sessions[i]) continue;
        npu_hex_watch_end(sessions[i]->watch);
        npu_hex_watch_free(sessions[i]->watch);
        free(sessions[i]);
    }
}

void npu_hex_session_close(npu_hex_session *s) {
    npu_hex_sessions_close(&s, 1);
}
