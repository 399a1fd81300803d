#include "trace/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "trace/perfetto.h"

enum { DEPTH = 16 };

struct npu_trace {
    npu_packets out; /* its file is memory until it is started; NULL after its end */
    char *kept;      /* that memory */
    size_t kept_bytes;
    bool started;
    char *path;
    npu_perfetto_sequence **sequences; /* by the number of their track, NULL of groups */
    uint32_t numbers;                  /* of groups and tracks */
    uint64_t spans, dropped;
    int why; /* errno of the first write that failed */
};

/* After every write: later, errno is somebody else's. */
static void keep_failure(npu_trace *t) {
    if (!t->why && ferror(t->out.file)) t->why = errno ? errno : EIO;
}

/* For want of memory a track has none. */
static npu_perfetto_sequence *sequence_of(const npu_trace *t, uint32_t track) {
    return track && track <= t->numbers ? t->sequences[track - 1] : NULL;
}

static void write_event(npu_trace *t, npu_perfetto_type type, uint64_t ns, uint32_t track, const npu_trace_span *span) {
    npu_perfetto_sequence *s = sequence_of(t, track);
    if (!s) return;
    npu_perfetto_event(s, &t->out, type, ns, span);
    keep_failure(t);
}

npu_status npu_trace_create(const char *path, npu_trace **out, npu_error *err) {
    npu_trace *t = calloc(1, sizeof *t);
    if (t) t->path = strdup(path);
    if (t && t->path) t->out.file = open_memstream(&t->kept, &t->kept_bytes);
    *out = t;
    if (t && t->out.file) return NPU_OK;
    npu_trace_free(t);
    *out = NULL;
    return npu_fail(err, NPU_NO_MEMORY, "trace.memory", "no memory for a trace");
}

/* Gives the memory back. */
static void close_kept(npu_trace *t) {
    if (!t->started && t->out.file) fclose(t->out.file);
    if (!t->started) t->out.file = NULL;
    free(t->kept);
    t->kept = NULL;
}

npu_status npu_trace_start(npu_trace *t, npu_error *err) {
    if (t->started || !t->out.file) return NPU_OK;
    FILE *file = fopen(t->path, "wb");
    if (!file && errno == EINTR) /* a pipe without a reader */
        return npu_fail(err, NPU_CANCELLED, "trace.open", "cancelled while %s was opened", t->path);
    if (!file) return npu_fail(err, NPU_IO, "trace.open", "%s can't be written: %s", t->path, strerror(errno));
    if (fflush(t->out.file) != 0) {
        fclose(file);
        return npu_fail(err, NPU_NO_MEMORY, "trace.memory", "no memory for a trace");
    }
    (void)fwrite(t->kept, 1, t->kept_bytes, file);
    close_kept(t);
    t->out.file = file;
    t->started = true;
    keep_failure(t);
    return NPU_OK;
}

npu_status npu_trace_end_file(npu_trace *t, uint64_t *spans, uint64_t *dropped, npu_error *err) {
    *spans = t->spans;
    *dropped = t->dropped;
    if (!t->out.file || !t->started) return NPU_OK;
    npu_packets_flush(&t->out);
    keep_failure(t);
    if (fclose(t->out.file) != 0 && !t->why) t->why = errno;
    t->out.file = NULL;
    if (!t->why) return NPU_OK;
    struct stat st;
    if (lstat(t->path, &st) == 0 && S_ISREG(st.st_mode)) unlink(t->path);
    return npu_fail(err, NPU_IO, "trace.write", "%s could not be written whole: %s", t->path, strerror(t->why));
}

void npu_trace_free(npu_trace *t) {
    if (!t) return;
    close_kept(t);
    if (t->out.file) {
        npu_packets_flush(&t->out);
        fclose(t->out.file);
    }
    for (uint32_t i = 0; i < t->numbers && t->sequences; i++) free(t->sequences[i]);
    free(t->sequences);
    free(t->path);
    free(t);
}

/* The next number, with a sequence or without. */
static uint32_t next_number(npu_trace *t, bool is_track) {
    npu_perfetto_sequence **more = realloc(t->sequences, (t->numbers + 1) * sizeof *more);
    if (!more) {
        t->why = ENOMEM;
        return 0;
    }
    t->sequences = more;
    npu_perfetto_sequence *s = is_track ? calloc(1, sizeof *s) : NULL;
    if (s) s->track = t->numbers + 1, s->last = npu_clock_ns();
    if (is_track && !s) t->why = ENOMEM;
    t->sequences[t->numbers++] = s;
    return t->numbers;
}

uint32_t npu_trace_group(npu_trace *t, const char *name) {
    uint32_t number = next_number(t, false);
    if (!t->out.file || !number) return number;
    npu_perfetto_group(&t->out, number, number, name);
    keep_failure(t);
    return number;
}

uint32_t npu_trace_track(npu_trace *t, uint32_t group, const char *name) {
    uint32_t number = next_number(t, true);
    if (!t->out.file || !number) return number;
    npu_perfetto_track(&t->out, number, group, number, name);
    keep_failure(t);
    return number;
}

void npu_trace_begin(npu_trace *t, uint32_t track, const char *name, const char *category, const npu_trace_note *notes,
                     uint32_t n_notes) {
    npu_trace_span span = {.name = name, .category = category, .notes = notes, .n_notes = n_notes};
    if (!t->out.file) return;
    t->spans++;
    write_event(t, NPU_PERFETTO_BEGIN, npu_clock_ns(), track, &span);
}

void npu_trace_end(npu_trace *t, uint32_t track) {
    if (t->out.file) write_event(t, NPU_PERFETTO_END, npu_clock_ns(), track, NULL);
}

/* Parents before their children. */
static int by_begin(const void *a, const void *b) {
    const npu_trace_interval *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end);
}

void npu_trace_spans(npu_trace *t, uint32_t track, npu_trace_interval *list, uint32_t n,
                     npu_trace_describe_fn *describe, void *user) {
    uint64_t open[DEPTH]; /* ends of the spans around the next one */
    uint32_t depth = 0;
    if (!t->out.file) return;
    qsort(list, n, sizeof *list, by_begin);
    for (uint32_t i = 0; i < n; i++) {
        npu_trace_interval *s = &list[i];
        while (depth && open[depth - 1] <= s->begin) write_event(t, NPU_PERFETTO_END, open[--depth], track, NULL);
        if (depth == DEPTH) {
            npu_trace_drop(t, track, 1);
            continue;
        }
        if (s->end < s->begin) s->end = s->begin;
        if (depth && s->end > open[depth - 1]) s->end = open[depth - 1];
        npu_trace_span span = {.name = "", .category = ""};
        describe(user, s->id, &span);
        write_event(t, NPU_PERFETTO_BEGIN, s->begin, track, &span);
        open[depth++] = s->end;
        t->spans++;
    }
    while (depth) write_event(t, NPU_PERFETTO_END, open[--depth], track, NULL);
}

/* At the time of the track's last event, behind which they are missing: spans that come next are older than now. */
void npu_trace_drop(npu_trace *t, uint32_t track, uint64_t n) {
    const npu_perfetto_sequence *s = sequence_of(t, track);
    if (!n || !t->out.file) return;
    t->dropped += n;
    npu_trace_note note = {.name = "spans", .value = (int64_t)n};
    npu_trace_span span = {.name = "dropped", .category = "dropped", .notes = &note, .n_notes = 1};
    write_event(t, NPU_PERFETTO_INSTANT, s ? s->last : 0, track, &span);
}
