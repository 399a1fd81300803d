/* libFuzzer target of the schema compiler: the input is a schema. Texts that its grammar takes, followed at random,
 * must be JSON. */
#include <jansson.h>
#include <stdlib.h>

#include "base/random.h"
#include "grammar/machine.h"
#include "grammar/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 300 };

/* Writes a text: a random byte of those that may follow, until it may end or is long. */
static size_t write_text(npu__machine *m, char *text, uint64_t *random) {
    uint32_t s, next, near;
    npu_error err;
    if (npu__machine_start(m, &s, &err) != NPU_OK) return 0;
    for (size_t n = 0; n < TEXT_MAX; n++) {
        if (npu__machine_near(m, s, &near, &err) != NPU_OK) return 0;
        if (npu__machine_may_end(m, s)) return n;
        unsigned first = (unsigned)(npu_random_next(random) >> 40) % 256, i = 0;
        for (; i < 256; i++) {
            if (npu__machine_step(m, s, (uint8_t)(first + i), &next, &err) != NPU_OK) return 0;
            if (next != NPU__STATE_DEAD) break;
        }
        if (i == 256) __builtin_trap(); /* a state that nothing leads on from is the dead one */
        text[n] = (char)(first + i);
        s = next;
        if (npu__machine_full(m) && npu__machine_forget(m, &s, &err) != NPU_OK) return 0;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npu__program program;
    npu__machine *m;
    npu_error err;
    uint64_t random = size;
    char text[TEXT_MAX];
    if (npu__schema_compile((const char *)data, size, &program, &err) == NPU_OK &&
        npu__machine_create(&program, 8, &m, &err) == NPU_OK) {
        for (int i = 0; i < 4; i++) {
            size_t n = write_text(m, text, &random);
            if (!n) continue;
            json_t *json = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            if (!json) __builtin_trap();
            json_decref(json);
        }
        npu__machine_free(m);
    }
    npu__program_free(&program);
    return 0;
}
