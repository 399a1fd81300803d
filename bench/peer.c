// The peer's side of `make versus` and of tests that compare with it: a small driver on llama.cpp's library, so that
// both sides do the same work with the same context and KV type. Not part of npu; scripts/peer-llama builds it.
//   peer bench  FILE THREADS CTX PROMPT GEN RUNS   prints one JSON line: median tok/s of prefill and of decode
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

// Prefill of |prompt| tokens, then |gen| single tokens after them, as `npu bench` does, |runs| times after one warm-up.
static int bench(struct llama_context *ctx, int vocab, int prompt, int gen, int runs) {
    llama_token *ids = malloc((size_t)prompt * sizeof *ids);
    double *pp = malloc((size_t)runs * sizeof *pp), *tg = malloc((size_t)runs * sizeof *tg);
    int bad = !ids || !pp || !tg;
    for (int run = -1; run < runs && !bad; run++) {
        for (int i = 0; i < prompt; i++) ids[i] = (i * 7919 + 1) % vocab;
        llama_memory_clear(llama_get_memory(ctx), true);
        double start = now();
        bad = decode(ctx, ids, prompt);
        double mid = now();
        for (int i = 0; i < gen && !bad; i++) bad = decode(ctx, ids + i % prompt, 1);
        double end = now();
        if (run >= 0) {
            pp[run] = prompt / (mid - start);
            tg[run] = gen / (end - mid);
        }
    }
    if (!bad) printf("{\"prefill_tok_s\": %.3f, \"decode_tok_s\": %.3f}\n", median(pp, runs), median(tg, runs));
    free(ids);
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
    int is_bench = argc == 8 && !strcmp(argv[1], "bench");
    if (argc == 4 && !strcmp(argv[1], "tokens")) {
        llama_log_set(quiet, NULL);
        llama_backend_init();
        return tokens(argv[2], atoi(argv[3]));
    }
    if (!is_bench && !(argc == 7 && !strcmp(argv[1], "logits"))) {
        fputs("usage: peer bench FILE THREADS CTX PROMPT GEN RUNS | peer logits FILE THREADS CTX IDS OUT.f32 | "
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
    params.n_ctx = (uint32_t)atoi(argv[4]);
    struct llama_context *ctx = llama_init_from_model(model, params);
    if (!ctx) return 1;
    int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    int bad = is_bench ? bench(ctx, vocab, atoi(argv[5]), atoi(argv[6]), atoi(argv[7]))
                       : logits(ctx, vocab, argv[5], argv[6]);
    llama_free(ctx);
    llama_model_free(model);
    return bad != 0;
}
