/* Image files that are not what they should be: every bit of head and table, every length, every strange value with
 * hashes that fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache/cache_image.h"

enum { PIECES = 3, TABLE = sizeof(npu_cache_head), PAYLOAD = TABLE + PIECES * sizeof(npu_cache_entry) };

static const uint32_t sizes[PIECES] = {5, 300, 1};
static const npu_hash128 content = {7, 9};
static npu_pool *pool;

static int memory_file(const uint8_t *bytes, size_t n) {
    int fd = memfd_create("image", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    return fd;
}

static uint8_t *make_image(size_t *n) {
    uint8_t data[300 + PIECES];
    npu_cache_piece pieces[PIECES];
    npu_cache_head head = {.content = content, .layout = "test 1", .model = "model.gguf"};
    for (uint32_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7);
    for (uint32_t i = 0; i < PIECES; i++) /* given in the wrong order */
        pieces[i] = (npu_cache_piece){{.source_at = 1000 - i * 100, .source_bytes = 10, .bytes = sizes[i]},
                                      data + i,
                                      npu_cache_hash_packed(data + i, sizes[i], pool)};
    int fd = memory_file(NULL, 0);
    assert_int_equal(npu_cache_image_write(fd, &head, pieces, PIECES, pool, NULL, NULL), NPU_OK);
    *n = (size_t)npu_cache_image_bytes(pieces, PIECES);
    uint8_t *bytes = malloc(*n);
    assert_int_equal(pread(fd, bytes, *n, 0), *n);
    close(fd);
    return bytes;
}

/* Whether it opens and gives all that was put in. A refusal names the file. */
static bool is_taken(const uint8_t *bytes, size_t n) {
    npu_cache_image image;
    npu_error err = {0};
    uint8_t out[300];
    uint32_t good = 0;
    npu_status status = npu_cache_image_open_fd(memory_file(bytes, n), "FILE", &content, "test 1", &image, &err);
    if (status != NPU_OK) {
        assert_non_null(strstr(err.text, "FILE: "));
        assert_int_equal(image.fd, -1);
        return false;
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        npu_cache_key key = {.source_at = 1000 - i * 100, .source_bytes = 10, .bytes = sizes[i]};
        const npu_cache_entry *e = npu_cache_image_find(&image, &key);
        assert_non_null(e);
        if (npu_cache_image_read(&image, "FILE", e, pool, out, &err) != NPU_OK) continue;
        for (uint32_t k = 0; k < sizes[i]; k++) assert_int_equal(out[k], (uint8_t)((i + k) * 7));
        good++;
    }
    npu_cache_image_close(&image);
    npu_cache_image_close(&image);
    return good == PIECES;
}

static void whole_images_are_taken(void **state) {
    (void)state;
    size_t n;
    uint8_t *bytes = make_image(&n);
    npu_cache_image image;
    assert_true(is_taken(bytes, n));
    npu_hash128 other = {7, 8};
    assert_int_equal(npu_cache_image_open_fd(memory_file(bytes, n), "F", &other, NULL, &image, NULL), NPU_REFUSED);
    assert_int_equal(npu_cache_image_open_fd(memory_file(bytes, n), "F", NULL, "test 10", &image, NULL), NPU_REFUSED);
    assert_int_equal(npu_cache_image_open_fd(memory_file(bytes, n), "F", NULL, NULL, &image, NULL), NPU_OK);
    npu_cache_key none = {.source_at = 1000, .source_bytes = 11, .bytes = 5};
    assert_null(npu_cache_image_find(&image, &none));
    npu_cache_image_close(&image);
    assert_null(npu_cache_image_find(&image, &none));
    assert_int_equal(npu_cache_image_open("/proc/nonexistent/x", NULL, NULL, &image, NULL), NPU_NOT_FOUND);
    assert_int_equal(npu_cache_image_open("/tmp", NULL, NULL, &image, NULL), NPU_REFUSED);
    free(bytes);
}

static void no_bit_may_differ(void **state) {
    (void)state;
    size_t n;
    uint8_t *bytes = make_image(&n);
    bool is_gap[2048] = {false};
    const npu_cache_entry *table = (const npu_cache_entry *)(const void *)(bytes + TABLE);
    memset(is_gap + PAYLOAD, 1, n - PAYLOAD); /* what aligns payload is all that nobody reads */
    for (int i = 0; i < PIECES; i++) memset(is_gap + table[i].at, 0, table[i].key.bytes);
    for (size_t i = 0; i < n * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        if (is_taken(bytes, n) != is_gap[i / 8]) fail_msg("byte %zu, bit %zu", i / 8, i % 8);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    free(bytes);
}

static void no_other_length_is_taken(void **state) {
    (void)state;
    size_t n;
    uint8_t *bytes = make_image(&n), *more = calloc(1, n + 200);
    for (size_t i = 0; i < n; i++) assert_false(is_taken(bytes, i));
    memcpy(more, bytes, n);
    for (size_t i = n + 1; i < n + 200; i++) assert_false(is_taken(more, i));
    free(bytes);
    free(more);
}

static void fit_hashes(uint8_t *bytes, size_t n) {
    npu_cache_head h;
    memcpy(&h, bytes, sizeof h);
    uint64_t room = (n - TABLE) / sizeof(npu_cache_entry);
    h.table_hash = npu_cache_hash64(bytes + TABLE, (h.n_entries < room ? h.n_entries : room) * sizeof(npu_cache_entry));
    h.head_hash = npu_cache_hash64(&h, offsetof(npu_cache_head, head_hash));
    memcpy(bytes, &h, sizeof h);
}

/* An entry that reaches into the gap behind it lies in the file: what is wrong with it is its hash. */
static bool gives_all(npu_cache_image *image) {
    bool all = true;
    for (uint64_t i = 0; i < image->head.n_entries; i++) {
        uint8_t *out = malloc(image->entries[i].key.bytes);
        all &= npu_cache_image_read(image, "FILE", &image->entries[i], pool, out, NULL) == NPU_OK;
        free(out);
    }
    npu_cache_image_close(image);
    return all;
}

/* With hashes that fit, so that each value is judged for itself. */
static void strange_values_are_refused(void **state) {
    (void)state;
    static const uint64_t strange[] = {0, 1, 127, 128, 1u << 20, UINT32_MAX, 1ull << 56, INT64_MAX, UINT64_MAX};
    static const size_t fields[] = {
        offsetof(npu_cache_head, file_bytes),
        offsetof(npu_cache_head, n_entries),
        TABLE + offsetof(npu_cache_entry, at),
        TABLE + offsetof(npu_cache_entry, key.bytes),
        TABLE + sizeof(npu_cache_entry) + offsetof(npu_cache_entry, at),
        TABLE + sizeof(npu_cache_entry) + offsetof(npu_cache_entry, key.bytes),
        TABLE + 2 * sizeof(npu_cache_entry) + offsetof(npu_cache_entry, at),
        TABLE + 2 * sizeof(npu_cache_entry) + offsetof(npu_cache_entry, key.bytes),
    };
    size_t n;
    uint8_t *bytes = make_image(&n), *copy = malloc(n);
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
        for (size_t v = 0; v < sizeof strange / sizeof strange[0]; v++) {
            npu_cache_image image;
            memcpy(copy, bytes, n);
            if (!memcmp(copy + fields[f], &strange[v], 8)) continue;
            memcpy(copy + fields[f], &strange[v], 8);
            fit_hashes(copy, n);
            if (npu_cache_image_open_fd(memory_file(copy, n), "FILE", NULL, NULL, &image, NULL) == NPU_OK &&
                gives_all(&image))
                fail_msg("field at %zu: %llx is taken", fields[f], (unsigned long long)strange[v]);
        }
    memcpy(copy, bytes, n); /* two entries change places: not in order */
    memcpy(copy + TABLE, bytes + TABLE + sizeof(npu_cache_entry), sizeof(npu_cache_key));
    memcpy(copy + TABLE + sizeof(npu_cache_entry), bytes + TABLE, sizeof(npu_cache_key));
    fit_hashes(copy, n);
    assert_false(is_taken(copy, n));
    memcpy(copy, bytes, n); /* names without an end */
    memset(copy + offsetof(npu_cache_head, layout), 'x', 64);
    fit_hashes(copy, n);
    assert_false(is_taken(copy, n));
    free(bytes);
    free(copy);
}

static void sizes_do_not_overflow(void **state) {
    (void)state;
    npu_cache_piece huge[] = {{{.bytes = INT64_MAX}, NULL, 0}, {{.source_at = 1, .bytes = INT64_MAX}, NULL, 0}};
    npu_cache_head head = {.layout = "x"};
    int fd = memory_file(NULL, 0);
    assert_int_equal(npu_cache_image_bytes(huge, 2), UINT64_MAX);
    assert_int_equal(npu_cache_image_write(fd, &head, huge, 2, pool, NULL, NULL), NPU_RANGE);
    close(fd);
    uint8_t byte = 1;
    npu_cache_piece one = {{.bytes = 1}, &byte, 0};
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    npu_error err = {0};
    assert_int_equal(npu_cache_image_write(fd, &head, &one, 1, pool, NULL, &err), NPU_IO);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_images_are_taken),   cmocka_unit_test(no_bit_may_differ),
        cmocka_unit_test(no_other_length_is_taken), cmocka_unit_test(strange_values_are_refused),
        cmocka_unit_test(sizes_do_not_overflow),
    };
    if (npu_pool_create(1, &pool, NULL) != NPU_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    npu_pool_destroy(pool);
    return failed;
}
