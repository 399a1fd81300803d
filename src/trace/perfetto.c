#include "trace/perfetto.h"

#include <string.h>

enum { MESSAGE = 2048, TEXT = 200, NESTING = 4 };

/* Fields of the messages, by message. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_CLOCK = 58,
    PACKET_DESCRIPTOR = 60,
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_ORDERING = 11,
    DESCRIPTOR_ORDER = 12,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    EVENT_NOTE = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    NOTE_INT = 4,
    NOTE_STRING = 6,
    NOTE_NAME = 10,
};
enum { VARINT = 0, BYTES = 2 };
enum { SEQUENCE = 1, INCREMENTAL_STATE_CLEARED = 1, CLOCK_MONOTONIC_ID = 3, ORDER_EXPLICIT = 3 };

/* A message under construction. Nested ones get two bytes for their length, which all of ours fit into. */
typedef struct message {
    uint8_t bytes[MESSAGE];
    uint32_t used, starts[NESTING], depth;
} message;

static void put(message *m, const void *bytes, uint32_t n) {
    if (n > MESSAGE - m->used) return; /* texts are cut long before */
    memcpy(m->bytes + m->used, bytes, n);
    m->used += n;
}

static void put_varint(message *m, uint64_t v) {
    uint8_t b[10];
    uint32_t n = 0;
    do {
        b[n] = (uint8_t)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
        v >>= 7;
    } while (b[n++] & 0x80);
    put(m, b, n);
}

static void number(message *m, uint32_t field, uint64_t v) {
    put_varint(m, field << 3 | VARINT);
    put_varint(m, v);
}

static void text(message *m, uint32_t field, const char *s) {
    uint32_t n = (uint32_t)strnlen(s, TEXT);
    while (n && ((uint8_t)s[n] & 0xC0) == 0x80) n--; /* not inside a character */
    put_varint(m, field << 3 | BYTES);
    put_varint(m, n);
    put(m, s, n);
}

static void open_message(message *m, uint32_t field) {
    put_varint(m, field << 3 | BYTES);
    m->starts[m->depth++] = m->used;
    m->used += 2;
}

static void close_message(message *m) {
    uint32_t start = m->starts[--m->depth], n = m->used - start - 2;
    m->bytes[start] = (uint8_t)(n | 0x80);
    m->bytes[start + 1] = (uint8_t)(n >> 7);
}

static message packet(void) {
    message m = {.used = 0};
    open_message(&m, TRACE_PACKET);
    number(&m, PACKET_SEQUENCE, SEQUENCE);
    return m;
}

static void finish(message *m, FILE *out) {
    while (m->depth) close_message(m);
    (void)fwrite(m->bytes, 1, m->used, out); /* a failure stays in the file: ferror tells npu_trace_end_file */
}

void npu_perfetto_start(FILE *out) {
    message m = packet();
    number(&m, PACKET_SEQUENCE_FLAGS, INCREMENTAL_STATE_CLEARED);
    finish(&m, out);
}

void npu_perfetto_group(FILE *out, uint64_t uuid, uint32_t pid, const char *name) {
    message m = packet();
    open_message(&m, PACKET_DESCRIPTOR);
    number(&m, DESCRIPTOR_UUID, uuid);
    number(&m, DESCRIPTOR_ORDERING, ORDER_EXPLICIT);
    open_message(&m, DESCRIPTOR_PROCESS);
    number(&m, PROCESS_PID, pid);
    text(&m, PROCESS_NAME, name);
    finish(&m, out);
}

void npu_perfetto_track(FILE *out, uint64_t uuid, uint64_t parent, uint32_t order, const char *name) {
    message m = packet();
    open_message(&m, PACKET_DESCRIPTOR);
    number(&m, DESCRIPTOR_UUID, uuid);
    number(&m, DESCRIPTOR_PARENT, parent);
    number(&m, DESCRIPTOR_ORDER, order);
    text(&m, DESCRIPTOR_NAME, name);
    finish(&m, out);
}

static void note(message *m, const npu_trace_note *n) {
    open_message(m, EVENT_NOTE);
    text(m, NOTE_NAME, n->name);
    if (n->text)
        text(m, NOTE_STRING, n->text);
    else
        number(m, NOTE_INT, (uint64_t)n->value);
    close_message(m);
}

void npu_perfetto_event(FILE *out, npu_perfetto_type type, uint64_t time, uint64_t track, const npu_trace_span *span) {
    message m = packet();
    number(&m, PACKET_TIMESTAMP, time);
    number(&m, PACKET_CLOCK, CLOCK_MONOTONIC_ID);
    open_message(&m, PACKET_EVENT);
    number(&m, EVENT_TYPE, (uint64_t)type);
    number(&m, EVENT_TRACK, track);
    if (span) {
        text(&m, EVENT_NAME, span->name);
        text(&m, EVENT_CATEGORY, span->category);
        for (uint32_t i = 0; i < span->n_notes && m.used < MESSAGE - 3 * TEXT; i++) note(&m, &span->notes[i]);
    }
    finish(&m, out);
}
