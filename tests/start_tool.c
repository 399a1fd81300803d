/* What a start reads, for tests/weight_cache.py:
 *     start_tool MODEL CACHE_DIR [hashed]
 * Computes a first token twice. The first time leaves packed weights in CACHE_DIR; the second time no page of weights
 * may be read in the model's mapping, but for the table of embeddings, whose rows are used in place: SIGSEGV ends a
 * start that does; "hashed": it may, to know the model. Prints the bytes that the second read by system calls, and
 * those of packed weights: read, made. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/api.h"
#include "npu/npu.h"

/* By this process, through calls like read; -1: the system does not say. */
static long long bytes_read(void) {
    char line[64];
    long long bytes = -1;
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "rchar: ", 7)) bytes = strtoll(line + 7, NULL, 10);
    if (f) fclose(f);
    return bytes;
}

/* Whole pages of weights that are worth packing: smaller tensors are used as they are, or copied. */
static void protect(const npu_model *model, int how) {
    enum { LEAST = 64 << 10 };
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < npu_gguf_tensor_count(model->gguf); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(model->gguf, i);
        uintptr_t from = ((uintptr_t)t->data + page - 1) / page * page;
        uintptr_t end = ((uintptr_t)t->data + t->bytes) / page * page;
        bool is_table = t->ne[1] == model->h.n_vocab;
        if (t->bytes >= LEAST && !is_table && mprotect((void *)from, end - from, how) != 0) abort();
    }
}

static npu_status first_token(npu_model *model, const char *cache, npu_counters *out, npu_error *err) {
    npu_context *context;
    npu_context_params params = {.ctx = 64, .cache_dir = cache};
    npu_row row = {.token = 1, .logits = true};
    NPU_TRY(npu_context_open(model, &params, &context, err));
    npu_status status = npu_decode(context, &row, 1, err);
    npu_context_counters(context, out);
    npu_context_close(context);
    return status;
}

static npu_status start_twice(const char *path, const char *cache, bool hashed, npu_error *err) {
    npu_model *model;
    npu_counters counters;
    NPU_TRY(npu_model_open(path, NULL, &model, err));
    npu_status status = first_token(model, cache, &counters, err);
    long long before = bytes_read();
    if (!hashed) protect(model, PROT_NONE);
    if (status == NPU_OK) status = first_token(model, cache, &counters, err);
    protect(model, PROT_READ);
    if (status == NPU_OK)
        printf("%lld %llu %llu\n", before < 0 ? -1 : bytes_read() - before, (unsigned long long)counters.cached_bytes,
               (unsigned long long)counters.packed_bytes);
    npu_model_close(model);
    return status;
}

int main(int argc, char **argv) {
    npu_error err = {0};
    if (argc < 3) return 2;
    if (start_twice(argv[1], argv[2], argc > 3, &err) == NPU_OK) return 0;
    fprintf(stderr, "start_tool: %s\n", err.text);
    return 1;
}
