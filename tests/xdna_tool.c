/* Drives a model on the emulated XDNA in one process, for test scripts:
 *     xdna_tool MODEL CACHE [emu=KEY=VALUE | kernels=DIR | plan=FILE]… COMMAND…
 * Commands, in order, all in one context; each prints one line:
 *     run=1,2,3    a request of its own: these tokens, then four greedy ones; "ok HASH ids" of all logits, or
 *                  "failed STATUS CODE: text"
 *     fault=RULES  orders faults of the device from now on ("off": none)
 *     sums=FILE    every design's product of the first layer that has it, at 1, 16 and 128 rows: writes x, y and int32
 *                  sums, and prints where; and once with weights of its own: x, w and y
 *     counts       what the target did so far
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/random.h"
#include "emu/xdna/include/npu_emu_xdna.h"
#include "npu/npu.h"
#include "target/xdna/xdna_internal.h"

enum { GREEDY = 4, MOST_IDS = 512, MOST_EMU = 16 };

typedef struct tool {
    npu_model *model;
    npu_context *context;
    npu_context_params params;
    const char *emu[MOST_EMU + 1];
    unsigned n_emu;
} tool;

static int fail(const npu_error *err) {
    printf("failed %s %s: %s\n", npu_status_name(err->status), err->code, err->text);
    return 0;
}

static uint64_t hash_row(uint64_t hash, const float *logits, uint32_t n) {
    const unsigned char *p = (const unsigned char *)logits;
    for (size_t i = 0; i < n * sizeof *logits; i++) hash = (hash ^ p[i]) * 0x100000001B3ull;
    return hash;
}

typedef struct taken {
    uint64_t hash;
    int32_t best; /* after the last row */
} taken;

static npu_status take(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    taken *t = user;
    (void)row, (void)err;
    t->hash = hash_row(t->hash, logits, n_vocab);
    t->best = 0;
    for (uint32_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[t->best]) t->best = (int32_t)i;
    return NPU_OK;
}

static int run(tool *t, const char *text) {
    npu_row rows[MOST_IDS];
    npu_error err = {0};
    taken got = {.hash = 0xCBF29CE484222325ull};
    int32_t ids[GREEDY];
    uint32_t n = 0;
    for (char *end; *text && n < MOST_IDS; text = *end ? end + 1 : end)
        rows[n++] = (npu_row){.token = (int32_t)strtol(text, &end, 10), .logits = true};
    npu_status status = npu_context_reset(t->context, &err);
    if (status == NPU_OK) status = npu_decode_each(t->context, rows, n, take, &got, &err);
    for (int i = 0; i < GREEDY && status == NPU_OK; i++) {
        npu_row row = {.token = ids[i] = got.best, .logits = true};
        status = npu_decode_each(t->context, &row, 1, take, &got, &err);
    }
    if (status != NPU_OK) return fail(&err);
    printf("ok %016llx", (unsigned long long)got.hash);
    for (int i = 0; i < GREEDY; i++) printf("%c%d", i ? ',' : ' ', ids[i]);
    printf("\n");
    return 0;
}

static int fault(const char *rules) {
    void *library = NULL;
    npu_emu_xdna_configure_fn *configure = NULL;
    Dl_info info;
    char path[4200];
    if (!dladdr((void *)(uintptr_t)fault, &info)) return 1;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s../emu/libnpu-emu-xdna.so", slash ? (int)(slash + 1 - info.dli_fname) : 0,
             info.dli_fname);
    library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library) *(void **)(void *)&configure = dlsym(library, "npu_emu_xdna_configure");
    int bad = configure ? configure("fault", rules) : -1;
    printf("fault %s: %s\n", rules, bad ? "REFUSED" : "set");
    return bad;
}

/* What no product may need: everything is resident. */
static npu_status no_tiles(void *user, unsigned layer, unsigned role, uint8_t *out, uint64_t out_bytes,
                           npu_error *err) {
    (void)user, (void)out, (void)out_bytes;
    return npu_fail(err, NPU_INTERNAL, "tool.tiles", "design %u of layer %u is not resident", role, layer);
}

static float value(uint64_t *seed) {
    float x = (float)(int32_t)(npu_random_next(seed) >> 40) / 8388608.0f - 1;
    return *seed >> 20 & 63 ? x : x * 30;
}

/* One product; the sums are those of the last launch, which for the head is its last columns. */
static int product(npu_xdna_target *t, const npu_plan_entry *e, unsigned design, uint32_t rows, FILE *f) {
    const npu_plan_design *d = &t->plan->designs[design];
    float *x = malloc(sizeof(float) * rows * d->real_k), *y = malloc(sizeof(float) * rows * d->real_n);
    uint64_t seed = design * 131 + rows;
    npu_error err = {0};
    if (!x || !y) return 1;
    for (uint64_t i = 0; i < (uint64_t)rows * d->real_k; i++) x[i] = value(&seed);
    npu_gemv_args args = {.role = design, .layer = e->layer, .M = rows, .K = d->real_k, .N = d->real_n, .x = x};
    args.wkey = npu_plan_residency(e, d);
    args.tiles = no_tiles;
    npu_status status = npu_xdna_gemv(&t->base, &args, y, &err);
    uint16_t small = d->decode_kernel, large = d->prefill_kernel;
    const npu_xdna_loaded *k = &t->kernels[rows <= 16 && t->proofs[design] == NPU_XDNA_EQUAL ? small : large];
    uint32_t first = (d->real_n - 1) / k->layout.n * k->layout.n, n = d->real_n - first;
    int32_t *sums = malloc(sizeof(int32_t) * k->layout.n);
    if (status == NPU_OK && sums) {
        printf("product %s layer %d rows %u first %u columns %u K %u N %u hadamard %u at %ld\n", npu_role_name(d->role),
               e->layer == NPU_NO_LAYER ? -1 : (int)e->layer, rows, first, n, d->real_k, d->real_n, d->hadamard,
               ftell(f));
        fwrite(x, sizeof *x, (size_t)rows * d->real_k, f);
        fwrite(y, sizeof *y, (size_t)rows * d->real_n, f);
        for (uint32_t m = 0; m < rows; m++) {
            npu_xdna_unpack_row(&k->layout, m, n, (const int32_t *)(const void *)k->c->data, sums);
            fwrite(sums, sizeof *sums, n, f);
        }
    }
    for (uint32_t m = rows; status == NPU_OK && m < k->layout.m; m++)
        for (uint32_t i = 0; i < k->layout.n; i++)
            if (((const int32_t *)(const void *)k->c->data)[npu_xdna_c_at(&k->layout, m, i)])
                status = npu_fail(&err, NPU_INTERNAL, "tool.rows", "row %u of %u only pads and is not 0", m, rows);
    free(x);
    free(y);
    free(sums);
    return status == NPU_OK ? 0 : fail(&err) + 1;
}

/* A product with weights of its own, which must not become resident. */
static int alone(npu_xdna_target *t, unsigned design, FILE *f) {
    const npu_plan_design *d = &t->plan->designs[design];
    uint64_t n = (uint64_t)d->real_k * d->real_n, seed = design + 77;
    uint32_t before = t->n_residents;
    float *x = malloc(sizeof *x * d->real_k), *w = malloc(sizeof *w * n), *y = malloc(sizeof *y * d->real_n);
    npu_error err = {0};
    if (!x || !w || !y) return 1;
    for (uint32_t i = 0; i < d->real_k; i++) x[i] = value(&seed);
    for (uint64_t i = 0; i < n; i++) w[i] = value(&seed);
    npu_gemv_args args = {.role = design, .layer = 900, .M = 1, .K = d->real_k, .N = d->real_n, .x = x};
    args.weights = w;
    args.wkey = -1;
    npu_status status = npu_xdna_gemv(&t->base, &args, y, &err);
    if (status == NPU_OK && t->n_residents != before)
        status = npu_fail(&err, NPU_INTERNAL, "tool.alone", "weights without a key are resident");
    printf("alone %s K %u N %u hadamard %u at %ld\n", npu_role_name(d->role), d->real_k, d->real_n, d->hadamard,
           ftell(f));
    fwrite(x, sizeof *x, d->real_k, f);
    fwrite(w, sizeof *w, n, f);
    fwrite(y, sizeof *y, d->real_n, f);
    free(x);
    free(w);
    free(y);
    return status == NPU_OK ? 0 : fail(&err) + 1;
}

static int sums(const tool *on, const char *path) {
    npu_xdna_target *t = (npu_xdna_target *)(void *)on->context->device;
    static const uint32_t rows[] = {1, 16, 128};
    bool *done = calloc(t->plan->n_designs + (size_t)1, sizeof *done);
    FILE *f = fopen(path, "wb");
    int bad = !f || !done;
    for (uint32_t i = 0; i < t->plan->n_entries && !bad; i++)
        for (unsigned k = 0; k < t->plan->entries[i].n_designs && !bad; k++) {
            unsigned design = t->plan->entries[i].designs[k];
            for (int r = 0; r < 3 && !bad && !done[design]; r++)
                bad = product(t, &t->plan->entries[i], design, rows[r], f);
            if (!bad && !done[design]) bad = alone(t, design, f);
            done[design] = true;
        }
    if (f) fclose(f);
    free(done);
    if (!bad) printf("end\n");
    return bad;
}

static int counts(const tool *on) {
    const npu_xdna_counts *c = npu_xdna_counts_of(on->context->device);
    printf("counts packed %llu tiles %llu sidecars %llu refused %llu short %llu reopened %llu\n",
           (unsigned long long)c->packed, (unsigned long long)c->tiles, (unsigned long long)c->sidecars,
           (unsigned long long)c->refused, (unsigned long long)c->short_rows, (unsigned long long)c->reopened);
    return 0;
}

static int command(tool *t, const char *arg) {
    npu_error err = {0};
    if (!strncmp(arg, "emu=", 4) && t->n_emu < MOST_EMU) {
        t->emu[t->n_emu++] = arg + 4;
        t->params.emu = t->emu;
        return 0;
    }
    if (!strncmp(arg, "kernels=", 8)) return t->params.kernels_dir = arg + 8, 0;
    if (!strncmp(arg, "plan=", 5)) return t->params.plan_path = arg + 5, 0;
    if (!t->context && npu_context_open(t->model, &t->params, &t->context, &err) != NPU_OK) return fail(&err) + 1;
    if (!strncmp(arg, "run=", 4)) return run(t, arg + 4);
    if (!strncmp(arg, "fault=", 6)) return fault(arg + 6);
    if (!strncmp(arg, "sums=", 5)) return sums(t, arg + 5);
    if (!strcmp(arg, "counts")) return counts(t);
    return 1;
}

static void log_line(void *user, npu_log_level level, const char *text) {
    (void)user, (void)level;
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv) {
    npu_error err = {0};
    npu_model_params no_words = {.no_tokenizer = true};
    tool t = {.params = {.npu_target = "xdna", .driver = "emu", .ctx = 256, .threads = 2}};
    if (argc < 3) return 2;
    t.params.cache_dir = argv[2];
    t.params.logger = (npu_logger){.callback = log_line, .level = NPU_LOG_DEBUG};
    if (npu_model_open(argv[1], &no_words, &t.model, &err) != NPU_OK) return fail(&err) + 1;
    int bad = 0;
    for (int i = 3; i < argc && !bad; i++) {
        bad = command(&t, argv[i]);
        fflush(stdout);
    }
    npu_context_close(t.context);
    npu_model_close(t.model);
    return bad;
}
