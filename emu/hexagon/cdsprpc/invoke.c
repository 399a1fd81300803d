// Invocations: each invoking host thread takes a channel to a thread of the NPU process, sends the arguments and waits.
// Buffers inside shared memory travel as (fd, offset), all others by value: in buffers before the call, out buffers
// after it and only when the result is 0.
#include "emu_host.h"
#include "message.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_ARGS (255 + 255 + 15 + 15)

struct sender {
    int socket;
    int failed;
    size_t used;
    char bytes[16384];
};

static void flush(struct sender *s) {
    if (s->used && !s->failed) s->failed = emu_stream_write(s->socket, s->bytes, s->used);
    s->used = 0;
}

static void put(struct sender *s, const void *data, size_t bytes) {
    if (bytes > sizeof s->bytes - s->used) flush(s);
    if (bytes > sizeof s->bytes) {
        if (!s->failed) s->failed = emu_stream_write(s->socket, data, bytes);
        return;
    }
    if (bytes) memcpy(s->bytes + s->used, data, bytes);
    s->used += bytes;
}

static int open_channel(struct emu_session *session) {
    struct emu_control message = {.kind = EMU_CONTROL_CHANNEL};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return -1;
    if (emu_session_ask(session, &message, pair[1])) {
        close(pair[0]);
        pair[0] = -1;
    }
    close(pair[1]);
    return pair[0];
}

static int take_channel(struct emu_session *session) {
    int channel = -1;
    emu_lock();
    if (session->channel_count) channel = session->channels[--session->channel_count];
    emu_unlock();
    return channel >= 0 ? channel : open_channel(session);
}

static void give_channel(struct emu_session *session, int channel) {
    emu_lock();
    if (session->channel_count < EMU_CHANNELS) {
        session->channels[session->channel_count++] = channel;
        channel = -1;
    }
    emu_unlock();
    if (channel >= 0) close(channel);
}

// Describes buffer |i|: by value, or where it lies in shared memory (made known to the process on the way).
static int describe(struct emu_session *session, const remote_buf *buf, struct emu_call_arg *arg) {
    struct emu_buffer *buffer;
    bool overlap;
    *arg = (struct emu_call_arg){.bytes = buf->nLen, .fd = -1};
    if (!buf->nLen) return 0;
    if (!buf->pv) return AEE_EBADPARM;
    emu_lock();
    buffer = emu_buffer_around(buf->pv, buf->nLen, &overlap);
    if (buffer) {
        arg->fd = buffer->fd;
        arg->offset = (uint64_t)((uint8_t *)buf->pv - buffer->memory);
    }
    emu_unlock();
    if (!buffer) return overlap ? AEE_EBADPARM : 0;
    return emu_mapping_implicit(session, arg->fd);
}

static int describe_all(struct emu_session *session, uint32_t scalars, const remote_arg *args,
                        struct emu_call_arg *list) {
    uint32_t buffers = REMOTE_SCALARS_INBUFS(scalars) + REMOTE_SCALARS_OUTBUFS(scalars);
    for (uint32_t i = 0; i < REMOTE_SCALARS_LENGTH(scalars); i++) {
        int result = 0;
        if (i < buffers)
            result = describe(session, &args[i].buf, &list[i]);
        else
            list[i] = (struct emu_call_arg){.bytes = 8, .fd = -1};
        if (result) return result;
    }
    return 0;
}

static int send_call(int channel, const struct emu_call *call, const remote_arg *args,
                     const struct emu_call_arg *list) {
    struct sender sender = {.socket = channel};
    uint32_t in = REMOTE_SCALARS_INBUFS(call->scalars), buffers = in + REMOTE_SCALARS_OUTBUFS(call->scalars);
    put(&sender, call, sizeof *call);
    put(&sender, list, call->args * sizeof *list);
    for (uint32_t i = 0; i < in && i < call->args; i++)
        if (list[i].fd < 0) put(&sender, args[i].buf.pv, args[i].buf.nLen);
    for (uint32_t i = buffers; i < buffers + REMOTE_SCALARS_INHANDLES(call->scalars); i++) put(&sender, &args[i], 8);
    flush(&sender);
    return sender.failed;
}

static int receive_answer(int channel, const struct emu_call *call, remote_arg *args, const struct emu_call_arg *list,
                          int *result) {
    uint32_t in = REMOTE_SCALARS_INBUFS(call->scalars), buffers = in + REMOTE_SCALARS_OUTBUFS(call->scalars);
    uint32_t handles = buffers + REMOTE_SCALARS_INHANDLES(call->scalars);
    struct emu_answer answer;
    if (emu_stream_read(channel, &answer, sizeof answer) || answer.magic != EMU_CALL_MAGIC) return -1;
    *result = answer.result;
    if (answer.result) return 0;
    for (uint32_t i = in; i < buffers && i < call->args; i++)
        if (list[i].fd < 0 && emu_stream_read(channel, args[i].buf.pv, args[i].buf.nLen)) return -1;
    for (uint32_t i = handles; i < call->args; i++)
        if (emu_stream_read(channel, &args[i], 8)) return -1;
    return 0;
}

int emu_invoke(struct emu_session *session, uint32_t module, uint64_t remote, uint32_t scalars, remote_arg *args) {
    struct emu_call call = {EMU_CALL_MAGIC, scalars, module, REMOTE_SCALARS_LENGTH(scalars), remote};
    struct emu_call_arg list[MAX_ARGS];
    int channel, result;
    if (call.args && !args) return AEE_EBADPARM;
    result = describe_all(session, scalars, args, list);
    if (result) return result;
    channel = take_channel(session);
    if (channel < 0) return emu_session_end_code(session);
    if (send_call(channel, &call, args, list) || receive_answer(channel, &call, args, list, &result)) {
        close(channel);
        return emu_session_end_code(session);
    }
    give_channel(session, channel);
    emu_strict_answered(session);
    return result;
}
