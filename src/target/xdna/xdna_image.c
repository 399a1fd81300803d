/* See xdna_image.h. */
#include "target/xdna/xdna_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mapfile.h"

static const char magic[8] = "npuxdna";

enum { LANES = 8 };

/* Eight independent chains of multiplications, so that the hash is about as fast as reading. */
uint64_t npu_xdna_image_hash(uint64_t seed, const void *data, uint64_t bytes) {
    const uint64_t prime = 0x9E3779B97F4A7C15ull;
    const uint8_t *p = data;
    uint64_t lane[LANES], hash = seed ^ bytes, at = 0;
    for (int i = 0; i < LANES; i++) lane[i] = seed + (uint64_t)(i + 1) * prime;
    for (; at + LANES * 8 <= bytes; at += LANES * 8)
        for (int i = 0; i < LANES; i++) {
            uint64_t word;
            memcpy(&word, p + at + (uint64_t)i * 8, sizeof word);
            lane[i] = (lane[i] ^ word) * prime;
            lane[i] ^= lane[i] >> 29;
        }
    for (; at < bytes; at++) lane[0] = (lane[0] ^ p[at]) * prime;
    for (int i = 0; i < LANES; i++) {
        hash = (hash ^ lane[i]) * prime;
        hash ^= hash >> 32;
    }
    return hash;
}

/* What in the head is not as wanted; NULL when nothing is. */
static const char *difference(const npu_xdna_image_head *have, const npu_xdna_image_head *want) {
    if (memcmp(have->magic, magic, sizeof magic) != 0) return "magic";
    if (have->version != NPU_XDNA_IMAGE_VERSION || have->head_bytes != sizeof *have) return "version";
    if (memcmp(have->kind, want->kind, sizeof have->kind) != 0) return "kind";
    if (memcmp(have->layout, want->layout, sizeof have->layout) != 0) return "layout";
    if (have->layer != want->layer || have->role != want->role) return "layer or role";
    if (have->K != want->K) return "K";
    if (have->N != want->N) return "N";
    if (have->real_k != want->real_k || have->real_n != want->real_n) return "real dims";
    if (have->hadamard != want->hadamard) return "Hadamard block";
    if (have->reserved) return "reserved field";
    if (have->source_hash != want->source_hash) return "source hash";
    return NULL;
}

static npu_status take(const char *path, const npu_map *map, const npu_xdna_image_head *want, float *scales,
                       uint8_t *codes, npu_error *err) {
    npu_xdna_image_head head;
    uint64_t scale_bytes = (uint64_t)want->N * sizeof(float), code_bytes = (uint64_t)want->K * want->N;
    if (map->size < sizeof head) return npu_fail(err, NPU_REFUSED, "xdna.image", "%s: no image: too short", path);
    memcpy(&head, map->data, sizeof head);
    const char *what = difference(&head, want);
    if (!what && map->size != sizeof head + scale_bytes + code_bytes) what = "size of the file";
    const uint8_t *payload = map->data + sizeof head;
    if (!what && npu_xdna_image_hash(0, payload, scale_bytes + code_bytes) != head.payload_hash) what = "payload hash";
    if (what) return npu_fail(err, NPU_REFUSED, "xdna.image", "%s: not the image that is needed: %s", path, what);
    memcpy(scales, payload, scale_bytes);
    memcpy(codes, payload + scale_bytes, code_bytes);
    return NPU_OK;
}

npu_status npu_xdna_image_read(const char *path, const npu_xdna_image_head *want, float *scales, uint8_t *codes,
                               npu_error *err) {
    npu_map map;
    NPU_TRY(npu_map_open(path, &map, err));
    npu_status status = take(path, &map, want, scales, codes, err);
    npu_map_close(&map);
    return status;
}

npu_status npu_xdna_image_write(const char *path, const npu_xdna_image_head *head, const float *scales,
                                const uint8_t *codes, npu_error *err) {
    npu_xdna_image_head h = *head;
    uint64_t scale_bytes = (uint64_t)h.N * sizeof(float), code_bytes = (uint64_t)h.K * h.N;
    size_t size = strlen(path) + 32;
    char *part = malloc(size);
    uint8_t *payload = malloc(scale_bytes + code_bytes);
    FILE *f = NULL;
    if (part && payload) {
        memcpy(h.magic, magic, sizeof magic);
        h.version = NPU_XDNA_IMAGE_VERSION;
        h.head_bytes = sizeof h;
        memcpy(payload, scales, scale_bytes);
        memcpy(payload + scale_bytes, codes, code_bytes);
        h.payload_hash = npu_xdna_image_hash(0, payload, scale_bytes + code_bytes);
        snprintf(part, size, "%s.%ld", path, (long)getpid());
        f = fopen(part, "wbe");
    }
    bool good = f && fwrite(&h, sizeof h, 1, f) == 1 && fwrite(payload, scale_bytes + code_bytes, 1, f) == 1;
    if (f) good = !fclose(f) && good;
    good = good && !rename(part, path);
    int why = errno;
    if (!good && f) (void)unlink(part);
    free(part);
    free(payload);
    return good ? NPU_OK : npu_fail(err, NPU_IO, "xdna.image", "%s: can't be written: %s", path, strerror(why));
}
