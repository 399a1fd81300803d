/* Opens a GGUF file as a program would and prints what is in it, or the one line that says why not (exit code 3).
 * Touches every value and every tensor byte, so a bad pointer shows under the sanitizers. Used by tests/gguf_trials.py
 * and by hand; not installed.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mapfile.h"
#include "gguf/gguf.h"

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    char path[512];
    if (!npu_map_name_at(info->si_addr, path, sizeof path)) memcpy(path, "a mapped file", 14);
    static const char head[] = "error: ", tail[] = ": shrank while in use\n";
    ssize_t done = write(STDERR_FILENO, head, sizeof head - 1);
    done += write(STDERR_FILENO, path, strlen(path));
    done += write(STDERR_FILENO, tail, sizeof tail - 1);
    _exit(done > 0 ? 3 : 1);
}

static uint64_t sum_bytes(const uint8_t *p, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) sum = sum * 31 + p[i];
    return sum;
}

static uint64_t sum_strings(const npu_gguf *g, const npu_gguf_value *v) {
    npu_gguf_strings strings;
    uint64_t sum = 0;
    char key[256];
    if (v->key.size >= sizeof key || v->type != NPU_GGUF_ARRAY || v->elem_type != NPU_GGUF_STRING) return 0;
    memcpy(key, v->key.data, v->key.size);
    key[v->key.size] = 0;
    if (npu_gguf_strings_open(g, key, &strings, NULL) != NPU_OK) return 0;
    for (uint64_t i = 0; i < strings.count; i++) {
        npu_gguf_str s = npu_gguf_strings_at(&strings, i);
        sum += sum_bytes((const uint8_t *)s.data, s.size);
    }
    npu_gguf_strings_close(&strings);
    return sum;
}

static void print_model(const npu_gguf *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < npu_gguf_key_count(g); i++) {
        const npu_gguf_value *v = npu_gguf_key_at(g, i);
        sum += sum_bytes(v->data, v->bytes) + sum_strings(g, v);
    }
    for (size_t i = 0; i < npu_gguf_tensor_count(g); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(g, i);
        sum += sum_bytes(t->data, t->bytes);
    }
    printf("version %u, %zu keys, %zu tensors, %zu files, sum %016" PRIx64 "\n", npu_gguf_version(g),
           npu_gguf_key_count(g), npu_gguf_tensor_count(g), npu_gguf_file_count(g), sum);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    npu_gguf *g;
    npu_error err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: gguf_probe FILE\n");
        return 2;
    }
    if (npu_gguf_open(argv[1], NULL, &g, &err) != NPU_OK) {
        fprintf(stderr, "error: %s [%s]\n", err.text, err.code);
        return 3;
    }
    print_model(g);
    npu_gguf_close(g);
    return 0;
}
