// The peer's side of `make versus` and of tests that compare with it: a small driver on llama.cpp's library, so that
// both sides do the same work with the same context and KV type. Not part of npu; scripts/peer-llama builds it.
//   peer bench  FILE THREADS CTX PROMPT GEN RUNS PARALLEL   prints one JSON line: median tok/s of prefill and of
//   decode;
//                              PARALLEL sequences of PROMPT tokens each, one row of each a step
//   peer logits FILE THREADS CTX ID,ID,… OUT.f32   writes the logits after every given token, [n][vocab] float32
//   peer tokens FILE SPECIAL   strings on standard input, each a little-endian 32-bit length and bytes: the ids of each
//   on
//                              a line; SPECIAL 1: names of special tokens count; FILE may hold a vocabulary alone
#include <llama.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void quiet(enum ggml_log_level level, const char *text, void *user) {
    (void)user;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static int decode(struct llama_context *ctx, llama_token *ids, int n) {
    if (llama_decode(ctx, llama_batch_get_one(ids, n))) {
        fprintf(stderr, "peer: decoding %d tokens failed\n", n);
        return -1;
    }
    llama_synchronize(ctx);
    return 0;
}

typedef struct task {
    int vocab, prompt, gen, parallel;
} task;

// One step of |batch|: rows from .. to - 1 of the prompt of sequence |first|, or one row of every sequence.
static int step(struct llama_context *ctx, struct llama_batch *batch, const task *t, int first, int n_seq, int from,
                int to) {
    batch->n_tokens = 0;
    for (int seq = first; seq < first + n_seq; seq++) {
        for (int i = from; i < to; i++) {
            int k = batch->n_tokens++;
            batch->token[k] = (i * 7919 + seq + 1) % t->vocab;
            batch->pos[k] = i;
            batch->n_seq_id[k] = 1;
            batch->seq_id[k][0] = seq;
            batch->logits[k] = i + 1 == to;
        }
    }
    if (llama_decode(ctx, *batch)) {
        fprintf(stderr, "peer: decoding %d tokens failed\n", batch->n_tokens);
        return -1;
    }
    llama_synchronize(ctx);
    return 0;
}

// Prefill of each sequence, then |gen| steps of a token of each; seconds of both.
static int run(struct llama_context *ctx, struct llama_batch *batch, const task *t, double *pp, double *tg) {
    int bad = 0;
    llama_memory_clear(llama_get_memory(ctx), true);
    double start = now();
    for (int seq = 0; seq < t->parallel && !bad; seq++) bad = step(ctx, batch, t, seq, 1, 0, t->prompt);
    double mid = now();
    for (int i = 0; i < t->gen && !bad; i++)
        bad = step(ctx, batch, t, 0, t->parallel, t->prompt + i, t->prompt + i + 1);
    *pp = mid - start;
    *tg = now() - mid;
    return bad;
}

// As `npu bench` does: |runs| times after a short one that is not counted.
static int bench(struct llama_context *ctx, const task *t, int runs) {
    double *pp = malloc((size_t)runs * sizeof *pp), *tg = malloc((size_t)runs * sizeof *tg), none;
    struct llama_batch batch = llama_batch_init(t->prompt > t->parallel ? t->prompt : t->parallel, 0, 1);
    task warm = *t;
    if (warm.prompt > 512) warm.prompt = 512;
    if (warm.gen > 8) warm.gen = 8;
    int bad = !pp || !tg || !batch.token || run(ctx, &batch, &warm, &none, &none);
    for (int i = 0; i < runs && !bad; i++) {
        bad = run(ctx, &batch, t, &pp[i], &tg[i]);
        pp[i] = t->prompt * t->parallel / pp[i];
        tg[i] = t->gen * t->parallel / tg[i];
    }
    if (!bad) printf("{\"prefill_tok_s\": %.3f, \"decode_tok_s\": %.3f}\n", median(pp, runs), median(tg, runs));
    llama_batch_free(batch);
    free(pp);
    free(tg);
    return bad;
}

// One token a step, so that every position's logits can be written whatever the vocabulary's size.
static int logits(struct llama_context *ctx, int vocab, char *list, const char *path) {
    FILE *out = fopen(path, "wb");
    int bad = !out;
    for (char *p = strtok(list, ","); p && !bad; p = strtok(NULL, ",")) {
        llama_token id = atoi(p);
        bad = decode(ctx, &id, 1) ||
              fwrite(llama_get_logits_ith(ctx, -1), sizeof(float), (size_t)vocab, out) != (size_t)vocab;
    }
    if (out && fclose(out)) bad = 1;
    if (bad) fprintf(stderr, "peer: writing %s failed\n", path);
    return bad;
}

static int tokens(const char *file, int special) {
    struct llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    struct llama_model *model = llama_model_load_from_file(file, params);
    uint32_t n;
    int bad = !model;
    while (!bad && fread(&n, sizeof n, 1, stdin) == 1) {
        char *text = malloc((size_t)n + 1);
        int most = 2 * (int)n + 16;
        llama_token *ids = malloc((size_t)most * sizeof *ids);
        bad = !text || !ids || fread(text, 1, n, stdin) != n;
        int count = bad ? 0 : llama_tokenize(llama_model_get_vocab(model), text, (int32_t)n, ids, most, false, special);
        if (count < 0) bad = 1;
        for (int i = 0; i < count; i++) printf("%s%d", i ? "," : "", (int)ids[i]);
        putchar('\n');
        free(ids);
        free(text);
    }
    llama_model_free(model);
    return bad;
}

int main(int argc, char **argv) {
    int is_bench = argc == 9 && !strcmp(argv[1], "bench");
    if (argc == 4 && !strcmp(argv[1], "tokens")) {
        llama_log_set(quiet, NULL);
        llama_backend_init();
        return tokens(argv[2], atoi(argv[3]));
    }
    if (!is_bench && !(argc == 7 && !strcmp(argv[1], "logits"))) {
        fputs(
            "usage: peer bench FILE THREADS CTX PROMPT GEN RUNS PARALLEL | peer logits FILE THREADS CTX IDS OUT.f32 | "
            "peer tokens FILE SPECIAL\n",
            stderr);
        return 2;
    }
    llama_log_set(quiet, NULL);
    llama_backend_init();
    struct llama_model *model = llama_model_load_from_file(argv[2], llama_model_default_params());
    if (!model) return 1;
    struct llama_context_params params = llama_context_default_params();
    params.n_threads = params.n_threads_batch = atoi(argv[3]);
    params.n_ctx = (uint32_t)atoi(argv[4]); // of all sequences together
    if (is_bench) {
        params.n_batch = (uint32_t)atoi(argv[5]) < 2048 ? 2048 : (uint32_t)atoi(argv[5]);
        params.n_seq_max = (uint32_t)atoi(argv[8]);
    }
    struct llama_context *ctx = llama_init_from_model(model, params);
    if (!ctx) return 1;
    int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    task t = {.vocab = vocab};
    if (is_bench) {
        t.prompt = atoi(argv[5]);
        t.gen = atoi(argv[6]);
        t.parallel = atoi(argv[8]);
    }
    int bad = is_bench ? bench(ctx, &t, atoi(argv[7])) : logits(ctx, vocab, argv[5], argv[6]);
    llama_free(ctx);
    llama_model_free(model);
    return bad != 0;
}
