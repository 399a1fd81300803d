/* Runs every intrinsic of a generated table (hvx_table.inc, made by hvx_table.py) over the same inputs wherever it is
 * compiled, and prints one hash an intrinsic. hvx_check.py compiles it for the PC and for Hexagon and compares.
 * usage: hvx_run COUNT [NAME]     with NAME, prints each result of that intrinsic instead of the hash. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hexagon_types.h>
#include <hexagon_protos.h>
#include <hvx_hexagon_protos.h>

struct input {
    HVX_Vector v[4];
    HVX_VectorPair w[3];
    HVX_Vector q[2];
    int64_t rr[2];
    int32_t r[4];
};

struct output {
    union {
        HVX_Vector v[2];
        HVX_VectorPair w;
        int32_t r;
        int64_t rr;
        unsigned char bytes[256];
    };
};

struct test {
    const char *name;
    void (*run)(const struct input *, struct output *);
};

#include "hvx_table.inc"

enum { TESTS = sizeof tests / sizeof tests[0] };

/* Edge values; each is also found at the neighbouring widths because vectors are filled lane by lane in one width. */
static const uint32_t edges32[] = {0,          1,          2,          31,         32,         0x7fff,     0x8000,
                                   0xffff,     0x10000,    0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
                                   0xffff8000, 0xffff7fff, 0x7fff8000, 0x80007fff, 0x3fffffff, 0xc0000000};
static const uint16_t edges16[] = {0,    1,     2,      7,      8,      15,     16,     0x7f,   0x80,
                                   0xff, 0x100, 0x7fff, 0x8000, 0x8001, 0xff80, 0xff7f, 0xfffe, 0xffff};
static const uint8_t edges8[] = {0, 1, 2, 15, 16, 31, 32, 127, 128, 129, 254, 255};
static const uint32_t scalars[] = {0,          1,          2,          3,          4,          5,          6,
                                   7,          8,          15,         16,         17,         30,         31,
                                   32,         33,         63,         64,         65,         126,        127,
                                   128,        129,        255,        256,        0xffffffff, 0xfffffffe, 0xffffff80,
                                   0x7fffffff, 0x80000000, 0x7fff8000, 0x80008000, 0x80808080, 0x7f7f7f7f, 0x01020304};
enum { N32 = 20, N16 = 18, N8 = 12, SCALARS = sizeof scalars / sizeof scalars[0] };

static uint64_t rng_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static void fill_random(void *to, size_t bytes, uint64_t *rng) {
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t x = rng_next(rng) * 0x9e3779b97f4a7c15u;
        memcpy((char *)to + i, &x, 8);
    }
}

/* All pairs of edge values of one width: lane |k| counted over the steps gives pair k of (first, second); the third
 * operand and pairs' second halves run through the values at another stride. */
static void fill_edges(struct input *in, int width, unsigned step) {
    unsigned char *operand[] = {(void *)&in->v[0], (void *)&in->v[1], (void *)&in->v[2], (void *)&in->v[3],
                                (void *)&in->w[0], (void *)&in->w[1], (void *)&in->w[2], (void *)&in->q[0]};
    size_t bytes[] = {128, 128, 128, 128, 256, 256, 256, 256};
    for (unsigned o = 0; o < 8; o++) {
        for (unsigned i = 0; i < bytes[o] / (unsigned)width; i++) {
            unsigned n = width == 4 ? N32 : width == 2 ? N16 : N8, k = i + step * (128 / (unsigned)width);
            unsigned pick = (o & 3) == 0 ? k % n : (o & 3) == 1 ? k / n % n : (k / (n * n) + k * 7 + o) % n;
            if (width == 4)
                memcpy(operand[o] + 4 * i, &edges32[pick], 4);
            else if (width == 2)
                memcpy(operand[o] + 2 * i, &edges16[pick], 2);
            else
                operand[o][i] = edges8[pick];
        }
    }
}

/* Input |step|: the first ones are edges with every edge scalar, the rest random with a few edge scalars. */
static void fill(struct input *in, unsigned step, uint64_t *rng) {
    enum { EDGE_STEPS = 14 };
    fill_random(in->v, sizeof in->v, rng);
    fill_random(in->w, sizeof in->w, rng);
    fill_random(in->q, sizeof in->q, rng);
    fill_random(in->rr, sizeof in->rr, rng);
    fill_random(in->r, sizeof in->r, rng);
    for (int k = 0; k < 4; k++)
        if (step < 3 * EDGE_STEPS * SCALARS)
            in->r[k] = (int32_t)scalars[(step + (unsigned)k * (step / SCALARS + 1)) % SCALARS];
        else if ((rng_next(rng) >> 60) == 0)
            in->r[k] = (int32_t)scalars[(rng_next(rng) >> 20) % SCALARS];
    if (step < 3 * EDGE_STEPS * SCALARS) {
        static const int widths[] = {1, 2, 4};
        fill_edges(in, widths[step / (EDGE_STEPS * SCALARS)], step / SCALARS % EDGE_STEPS);
        in->rr[0] = (int64_t)((uint64_t)scalars[step % SCALARS] << 32 | scalars[(step + step / SCALARS) % SCALARS]);
        if (step & 1) in->rr[0] = (int32_t)in->rr[0];
    }
}

static void hash_bytes(uint64_t *hash, const unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        uint64_t x;
        memcpy(&x, bytes + i, 8);
        *hash = (*hash ^ x) * 0x9ddfea08eb382d69u;
        *hash ^= *hash >> 29;
    }
}

static void print_step(unsigned step, const struct input *in, const struct output *out) {
    printf("%u r %08x %08x out ", step, (unsigned)in->r[0], (unsigned)in->r[1]);
    for (unsigned i = 0; i < 256; i++) printf("%02x", out->bytes[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    static struct input in;
    static struct output out;
    static uint64_t hash[TESTS];
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    const char *only = argc > 2 ? argv[2] : NULL;
    uint64_t rng = 0x5eed0f4a5eed0f4a;

    for (unsigned step = 0; step < count; step++) {
        fill(&in, step, &rng);
        for (unsigned t = 0; t < TESTS; t++) {
            if (only && strcmp(only, tests[t].name) != 0) continue;
            memset(&out, 0, sizeof out);
            tests[t].run(&in, &out);
            if (only)
                print_step(step, &in, &out);
            else
                hash_bytes(&hash[t], out.bytes, sizeof out.bytes);
        }
    }
    if (!only)
        for (unsigned t = 0; t < TESTS; t++) printf("%s %016llx\n", tests[t].name, (unsigned long long)hash[t]);
    return 0;
}
