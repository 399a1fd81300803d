#include "trace/perfetto.h"

#include <string.h>

/* A message takes an event whose texts are all new: the longest, as often as there may be notes. */
enum { NOTES = 6, TEXTS = 2 + 2 * NOTES, MESSAGE = (TEXTS + 1) * (NPU_INTERN_TEXT + 32), NESTING = 4 };
_Static_assert((int)MESSAGE <= (int)NPU_PACKETS_ROOM, "a packet is gathered whole");

/* Fields of the messages, by message. */
enum {
    TRACE_PACKET = 1,
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_DESCRIPTOR = 60,
    CLOCKS_CLOCK = 1,
    CLOCKS_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_IS_INCREMENTAL = 3,
    DEFAULTS_EVENT = 11,
    DEFAULTS_CLOCK = 58,
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_ORDERING = 11,
    DESCRIPTOR_ORDER = 12,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    INTERNED_CATEGORY = 1,
    INTERNED_EVENT_NAME = 2,
    INTERNED_NOTE_NAME = 3,
    INTERNED_NOTE_TEXT = 29,
    TEXT_NUMBER = 1, /* of all four */
    TEXT_TEXT = 2,
    EVENT_CATEGORY = 3,
    EVENT_NOTE = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11, /* of the defaults */
    NOTE_NAME = 1,
    NOTE_INT = 4,
    NOTE_TEXT = 17,
};
enum { VARINT = 0, BYTES = 2 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2, MONOTONIC = 3, INCREMENTAL = 64, ORDER_EXPLICIT = 3 };

/* A message under construction. */
typedef struct message {
    uint32_t used, starts[NESTING], depth;
    uint8_t bytes[MESSAGE];
} message;

static void put(message *m, const void *bytes, uint32_t n) {
    if (n > MESSAGE - m->used) return; /* texts are cut long before */
    memcpy(m->bytes + m->used, bytes, n);
    m->used += n;
}

static void put_varint(message *m, uint64_t v) {
    uint8_t b[10];
    put(m, b, npu_packets_varint(b, v));
}

static void number(message *m, uint32_t field, uint64_t v) {
    put_varint(m, field << 3 | VARINT);
    put_varint(m, v);
}

static void text(message *m, uint32_t field, const char *s) {
    uint32_t n = npu_intern_length(s);
    put_varint(m, field << 3 | BYTES);
    put_varint(m, n);
    put(m, s, n);
}

/* A nested one gets a byte for its length, and more when it is closed and longer. */
static void open_message(message *m, uint32_t field) {
    put_varint(m, field << 3 | BYTES);
    m->starts[m->depth++] = m->used++;
}

static void close_message(message *m) {
    uint8_t length[10];
    uint32_t start = m->starts[--m->depth], n = m->used - start - 1, more = npu_packets_varint(length, n) - 1;
    memmove(m->bytes + start + 1 + more, m->bytes + start + 1, n);
    memcpy(m->bytes + start, length, more + 1);
    m->used += more;
}

static void start_packet(message *m, uint64_t sequence, uint32_t flags) {
    m->used = m->depth = 0;
    open_message(m, TRACE_PACKET);
    number(m, PACKET_SEQUENCE, sequence);
    if (flags) number(m, PACKET_SEQUENCE_FLAGS, flags);
}

static void finish(message *m, npu_packets *out) {
    while (m->depth) close_message(m);
    npu_packets_add(out, m->bytes, m->used);
}

void npu_perfetto_group(npu_packets *out, uint64_t uuid, uint32_t pid, const char *name) {
    message m;
    start_packet(&m, uuid, 0);
    open_message(&m, PACKET_DESCRIPTOR);
    number(&m, DESCRIPTOR_UUID, uuid);
    number(&m, DESCRIPTOR_ORDERING, ORDER_EXPLICIT);
    open_message(&m, DESCRIPTOR_PROCESS);
    number(&m, PROCESS_PID, pid);
    text(&m, PROCESS_NAME, name);
    finish(&m, out);
}

void npu_perfetto_track(npu_packets *out, uint64_t uuid, uint64_t parent, uint32_t order, const char *name) {
    message m;
    start_packet(&m, uuid, 0);
    open_message(&m, PACKET_DESCRIPTOR);
    number(&m, DESCRIPTOR_UUID, uuid);
    number(&m, DESCRIPTOR_PARENT, parent);
    number(&m, DESCRIPTOR_ORDER, order);
    text(&m, DESCRIPTOR_NAME, name);
    finish(&m, out);
}

static void clock(message *m, uint32_t id, uint64_t time) {
    open_message(m, CLOCKS_CLOCK);
    number(m, CLOCK_ID, id);
    number(m, CLOCK_TIMESTAMP, time);
    if (id == INCREMENTAL) number(m, CLOCK_IS_INCREMENTAL, 1);
    close_message(m);
}

/* What later packets of the track leave out begins anew: its texts, and the time that theirs count from. */
static void start(npu_perfetto_sequence *s, uint64_t time, npu_packets *out) {
    message m;
    memset(&s->texts, 0, sizeof s->texts);
    s->started = true;
    s->last = time;
    start_packet(&m, s->track, STATE_CLEARED);
    open_message(&m, PACKET_CLOCKS);
    clock(&m, MONOTONIC, time);
    clock(&m, INCREMENTAL, time);
    number(&m, CLOCKS_PRIMARY, MONOTONIC);
    close_message(&m);
    open_message(&m, PACKET_DEFAULTS);
    number(&m, DEFAULTS_CLOCK, INCREMENTAL);
    open_message(&m, DEFAULTS_EVENT);
    number(&m, EVENT_TRACK, s->track);
    finish(&m, out);
}

/* Where texts get their numbers while an event is made; those of new ones go into the same packet, before the event. */
typedef struct event {
    npu_intern *texts;
    message packet, body;
} event;

static uint32_t number_of(event *e, uint32_t kind, const char *s) {
    bool is_new;
    uint32_t n = npu_intern_number(e->texts, kind, s, &is_new);
    if (!is_new) return n;
    message *m = &e->packet;
    if (m->depth == 1) open_message(m, PACKET_INTERNED);
    open_message(m, kind);
    number(m, TEXT_NUMBER, n);
    text(m, TEXT_TEXT, s);
    close_message(m);
    return n;
}

static void note(event *e, const npu_trace_note *n) {
    open_message(&e->body, EVENT_NOTE);
    number(&e->body, NOTE_NAME, number_of(e, INTERNED_NOTE_NAME, n->name));
    if (n->text)
        number(&e->body, NOTE_TEXT, number_of(e, INTERNED_NOTE_TEXT, n->text));
    else
        number(&e->body, NOTE_INT, (uint64_t)n->value);
    close_message(&e->body);
}

void npu_perfetto_event(npu_perfetto_sequence *s, npu_packets *out, npu_perfetto_type type, uint64_t time,
                        const npu_trace_span *span) {
    event e;
    e.texts = &s->texts;
    e.body.used = e.body.depth = 0;
    if (!s->started || time < s->last || !npu_intern_fits(&s->texts, TEXTS)) start(s, time, out);
    start_packet(&e.packet, s->track, STATE_NEEDED);
    number(&e.packet, PACKET_TIMESTAMP, time - s->last);
    s->last = time;
    number(&e.body, EVENT_TYPE, (uint64_t)type);
    if (span) {
        number(&e.body, EVENT_NAME, number_of(&e, INTERNED_EVENT_NAME, span->name));
        number(&e.body, EVENT_CATEGORY, number_of(&e, INTERNED_CATEGORY, span->category));
        for (uint32_t i = 0; i < span->n_notes && i < NOTES; i++) note(&e, &span->notes[i]);
    }
    if (e.packet.depth > 1) close_message(&e.packet);
    put_varint(&e.packet, PACKET_EVENT << 3 | BYTES);
    put_varint(&e.packet, e.body.used);
    put(&e.packet, e.body.bytes, e.body.used);
    finish(&e.packet, out);
}
