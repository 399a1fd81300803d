/* What was gathered comes out in its order, whole packets in each piece, whether it can be compressed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "base/random.h"
#include "trace/packets.h"

enum { ALL = 4 << 20, PACKET = 1 << 3 | 2, COMPRESSED = 50 << 3 | 2 };

/* A field's kind and number, or a length. */
static uint64_t varint(const uint8_t **at, const uint8_t *end) {
    uint64_t v = 0;
    uint8_t byte;
    uint32_t shift = 0;
    do {
        assert_true(*at < end && shift < 64);
        byte = *(*at)++;
        v |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    return v;
}

/* Steps over the packets of |bytes|, which end where one does; how many. */
static uint32_t count(const uint8_t *bytes, size_t n) {
    const uint8_t *at = bytes, *end = bytes + n;
    uint32_t packets = 0;
    for (; at < end; packets++) {
        assert_int_equal(varint(&at, end), PACKET);
        uint64_t length = varint(&at, end);
        assert_true(length <= (uint64_t)(end - at));
        at += length;
    }
    return packets;
}

/* The file's packets without compression; |*pieces|: compressed ones. */
static size_t unpack(const uint8_t *file, size_t n, uint8_t *out, uint32_t *pieces) {
    const uint8_t *at = file, *end = file + n;
    size_t used = 0;
    for (*pieces = 0; at < end;) {
        const uint8_t *packet = at, *inner;
        assert_int_equal(varint(&at, end), PACKET);
        uint64_t length = varint(&at, end);
        assert_true(length <= (uint64_t)(end - at));
        inner = at;
        at += length;
        uLongf bytes = (uLongf)(ALL - used);
        if (varint(&inner, at) == COMPRESSED) {
            uint64_t packed = varint(&inner, at);
            assert_true(packed == (uint64_t)(at - inner));
            assert_int_equal(uncompress(out + used, &bytes, inner, packed), Z_OK);
            assert_true(count(out + used, bytes) > 0);
            ++*pieces;
        } else {
            bytes = (uLongf)(at - packet);
            memcpy(out + used, packet, bytes);
        }
        used += bytes;
    }
    return used;
}

/* |noise|: of 256, how often a byte is any. */
static void gathered(uint32_t noise, uint32_t most, bool packs) {
    char *file = NULL;
    size_t size = 0, want = 0;
    uint8_t *all = malloc(ALL), *got = malloc(ALL), packet[4096 + 12];
    npu_packets *p = calloc(1, sizeof *p);
    uint64_t state = noise * 1000 + most;
    uint32_t pieces, packets = 0;
    assert_true(all && got && p && (p->file = open_memstream(&file, &size)) != NULL);
    for (; want < ALL / 2; packets++) {
        uint32_t n = npu_random_below(&state, most), head = npu_packets_varint(packet, PACKET);
        uint8_t body[4096];
        for (uint32_t i = 0; i < n; i++)
            body[i] = (uint8_t)(npu_random_below(&state, 256) < noise ? npu_random_below(&state, 256) : i % 7);
        if (n) body[0] = 8; /* no field that is compressed */
        head += npu_packets_varint(packet + head, n);
        memcpy(packet + head, body, n);
        npu_packets_add(p, packet, head + n);
        memcpy(all + want, packet, head + n);
        want += head + n;
    }
    npu_packets_flush(p);
    npu_packets_flush(p); /* nothing more */
    assert_int_equal(fclose(p->file), 0);
    assert_int_equal(unpack((const uint8_t *)file, size, got, &pieces), want);
    assert_memory_equal(got, all, want);
    assert_int_equal(count(got, want), packets);
    assert_true(packs ? pieces > want / NPU_PACKETS_ROOM / 2 && size < want / 2 : !pieces && size == want);
    free(file);
    free(all);
    free(got);
    free(p);
}

static void all_comes_out(void **state) {
    (void)state;
    gathered(20, 60, true);
    gathered(0, 4096, true);
    gathered(256, 4096, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_comes_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
