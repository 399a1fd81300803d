/* Drives models through the public interface for test scripts.
 *     model_tool MODEL [key=value…]
 * ids=1,2,3 are decoded in batches of split=N (0: all at once), their logits go to out=FILE as f32; then greedy=N
 * further ids are chosen and printed on one line. repeat=N does all of it N times in one context and fails when bytes
 * differ. mode=default|exact|fast, ctx=N, kv=TYPE, rows=N (of a prefill step), threads=N, cpu=LEVEL, target=NAME,
 * driver=NAME. warn=1: warnings go to standard error. others=N: N further sequences get the same ids interleaved with
 * the first one, and must give the same logits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "npu/npu.h"

typedef struct options {
    npu_context_params context;
    int32_t *ids;
    uint32_t n_ids, split, greedy, repeat, others;
    const char *out;
    npu_model_params model;
} options;

typedef struct result {
    float *logits; /* [n_ids][n_vocab] */
    int32_t *greedy;
} result;

static int fail(const npu_error *err) {
    fprintf(stderr, "%s: %s\n", err->code, err->text);
    return 1;
}

static void warn(void *context, npu_log_level level, const char *text) {
    (void)context, (void)level;
    fprintf(stderr, "%s\n", text);
}

static void parse_ids(options *o, const char *text) {
    o->ids = malloc((strlen(text) / 2 + 1) * sizeof *o->ids);
    for (char *end; o->ids && *text; text = *end ? end + 1 : end) o->ids[o->n_ids++] = (int32_t)strtol(text, &end, 10);
}

static int parse(options *o, const char *arg) {
    const char *value = strchr(arg, '=');
    if (!value++) return 0;
    size_t n = (size_t)(value - arg) - 1;
    uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    static const char *const modes[] = {"default", "exact", "fast"};
    if (!strncmp(arg, "ids", n)) {
        parse_ids(o, value);
    } else if (!strncmp(arg, "split", n)) {
        o->split = number;
    } else if (!strncmp(arg, "greedy", n)) {
        o->greedy = number;
    } else if (!strncmp(arg, "repeat", n)) {
        o->repeat = number;
    } else if (!strncmp(arg, "others", n)) {
        o->others = number;
    } else if (!strncmp(arg, "out", n)) {
        o->out = value;
    } else if (!strncmp(arg, "ctx", n)) {
        o->context.ctx = number;
    } else if (!strncmp(arg, "warn", n)) {
        if (number) o->context.logger = (npu_logger){warn, NULL, NPU_LOG_WARN};
    } else if (!strncmp(arg, "rows", n)) {
        o->context.prefill_rows = number;
    } else if (!strncmp(arg, "threads", n)) {
        o->context.threads = number;
    } else if (!strncmp(arg, "kv", n)) {
        o->context.kv = value;
    } else if (!strncmp(arg, "cpu", n)) {
        o->context.cpu_level = value;
    } else if (!strncmp(arg, "target", n)) {
        o->context.npu_target = value;
    } else if (!strncmp(arg, "driver", n)) {
        o->context.driver = value;
    } else if (!strncmp(arg, "vocab", n)) {
        o->model.no_tokenizer = !number;
    } else if (!strncmp(arg, "mode", n)) {
        for (int i = 0; i < 3; i++)
            if (!strcmp(modes[i], value)) o->context.mode = (npu_mode)i;
    } else {
        return 0;
    }
    return 1;
}

typedef struct collector {
    const options *o;
    float *logits;
    uint32_t first, differ;
} collector;

/* Row r of a batch is position r / (others + 1) of sequence r % (others + 1). */
static npu_status collect(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    collector *c = user;
    uint32_t seqs = c->o->others + 1;
    float *to = c->logits + (size_t)(c->first + row / seqs) * n_vocab;
    (void)err;
    if (row % seqs == 0) {
        memcpy(to, logits, n_vocab * sizeof *to);
    } else if (memcmp(to, logits, n_vocab * sizeof *to)) {
        c->differ++;
    }
    return NPU_OK;
}

static npu_status feed(const options *o, npu_context *c, result *r, npu_error *err) {
    uint32_t split = o->split ? o->split : o->n_ids, seqs = o->others + 1;
    npu_row *rows = calloc((size_t)split * seqs, sizeof *rows);
    collector sink = {.o = o, .logits = r->logits};
    npu_status status = rows ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "tool.memory", "no memory");
    for (uint32_t i = 0; i < o->n_ids && status == NPU_OK; i += split) {
        uint32_t n = o->n_ids - i < split ? o->n_ids - i : split;
        for (uint32_t k = 0; k < n * seqs; k++) rows[k] = (npu_row){o->ids[i + k / seqs], k % seqs, true};
        sink.first = i;
        status = npu_decode_each(c, rows, n * seqs, collect, &sink, err);
    }
    free(rows);
    if (status == NPU_OK && sink.differ)
        status = npu_fail(err, NPU_INTERNAL, "tool.differ", "%u rows differ between sequences", sink.differ);
    return status;
}

static int32_t best(const float *logits, uint32_t n) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < n; i++)
        if (logits[i] > logits[at]) at = i;
    return (int32_t)at;
}

static npu_status once(const options *o, npu_context *c, uint32_t n_vocab, result *r, npu_error *err) {
    NPU_TRY(npu_context_reset(c, err));
    NPU_TRY(feed(o, c, r, err));
    const float *last = r->logits + (size_t)(o->n_ids - 1) * n_vocab;
    for (uint32_t i = 0; i < o->greedy; i++) {
        r->greedy[i] = best(last, n_vocab);
        npu_row row = {r->greedy[i], 0, true};
        NPU_TRY(npu_decode(c, &row, 1, err));
        last = npu_logits(c, 0);
    }
    return NPU_OK;
}

static npu_status run(const options *o, npu_context *c, uint32_t n_vocab, result *r, npu_error *err) {
    size_t bytes = (size_t)o->n_ids * n_vocab * sizeof(float);
    float *first = malloc(bytes ? bytes : 1);
    r->logits = malloc(bytes ? bytes : 1);
    r->greedy = calloc(o->greedy + 1, sizeof *r->greedy);
    npu_status status =
        first && r->logits && r->greedy ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "tool.memory", "no memory");
    for (uint32_t i = 0; i < o->repeat + 1 && status == NPU_OK; i++) {
        status = once(o, c, n_vocab, r, err);
        if (!i && first) memcpy(first, r->logits, bytes);
        if (status == NPU_OK && memcmp(first, r->logits, bytes))
            status = npu_fail(err, NPU_INTERNAL, "tool.repeat", "run %u gives other bytes than the first", i);
    }
    free(first);
    return status;
}

static npu_status write_out(const options *o, const result *r, uint32_t n_vocab, npu_error *err) {
    FILE *f = o->out ? fopen(o->out, "wb") : NULL;
    if (o->out && (!f || fwrite(r->logits, sizeof(float) * n_vocab, o->n_ids, f) != o->n_ids))
        return npu_fail(err, NPU_IO, "tool.out", "can't write %s", o->out);
    if (f) fclose(f);
    for (uint32_t i = 0; i < o->greedy; i++) printf("%s%d", i ? "," : "", (int)r->greedy[i]);
    putchar('\n');
    return NPU_OK;
}

int main(int argc, char **argv) {
    options o = {.model.no_tokenizer = true};
    for (int i = 2; i < argc; i++)
        if (!parse(&o, argv[i])) return 2;
    if (argc < 2) return 2;
    o.context.n_seq = o.others + 1;
    npu_model *model = NULL;
    npu_context *context = NULL;
    npu_model_info info;
    npu_error err = {0};
    result r = {0};
    npu_status status = npu_model_open(argv[1], &o.model, &model, &err);
    if (status == NPU_OK) status = npu_context_open(model, &o.context, &context, &err);
    if (status == NPU_OK) {
        npu_model_get_info(model, &info);
        status = run(&o, context, info.n_vocab, &r, &err);
    }
    if (status == NPU_OK) status = write_out(&o, &r, info.n_vocab, &err);
    npu_context_close(context);
    npu_model_close(model);
    free(o.ids);
    free(r.logits);
    free(r.greedy);
    return status == NPU_OK ? 0 : fail(&err);
}
