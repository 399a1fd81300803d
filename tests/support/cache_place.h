/* A model and a folder for the weight cache, with a stand-in for packing: every run sees that what it gets is what
 * packing the model's bytes as they are now gives. */
#ifndef NPU_TESTS_CACHE_PLACE_H
#define NPU_TESTS_CACHE_PLACE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mapfile.h"
#include "cache/cache.h"

enum { PARTS = 3, PART_BYTES = 700001, MODEL_BYTES = 64 + PARTS * PART_BYTES, ALL = PARTS * PART_BYTES };

typedef struct place {
    char root[64], model[96], weights[96];
    const char *name; /* the model's path in the next runs; NULL: |model| */
    char log[2048];
    int lock; /* of |root|, held while the process and its children live */
} place;

/* What one run is told, and what came of it. */
typedef struct run {
    uint64_t limit, read, packed;
    const char *layout;
    uint32_t first, parts;                          /* of the model; 0 = all */
    void (*before_pack)(place *p, uint8_t *packed); /* once the model's files are known */
    void (*before_save)(place *p, uint8_t *packed);
    int cancel; /* the number of questions after which saving is cancelled; 0 = never */
    int asked;
    unsigned threads; /* 0 = 2 */
    int cut;          /* the number of the question before which the model's file is cut; 0 = never */
    const char *cut_path;
} run;

static inline void listen(void *context, npu_log_level level, const char *text) {
    place *p = context;
    size_t used = strlen(p->log);
    if (level <= NPU_LOG_WARN) snprintf(p->log + used, sizeof p->log - used, "%s\n", text);
}

static inline void settle(void) {
    usleep(150000);
}

static inline void write_model(const place *p, uint8_t seed) {
    uint8_t *bytes = malloc(MODEL_BYTES);
    for (uint32_t i = 0; i < MODEL_BYTES; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 24 ^ i ^ seed);
    FILE *f = fopen(p->model, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, MODEL_BYTES, f), MODEL_BYTES);
    assert_int_equal(fclose(f), 0);
    free(bytes);
    settle();
}

static inline int lock_folder(const char *path, int how) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | how) == 0) return fd;
    close(fd);
    return -1;
}

static inline void remove_folder(const char *path) {
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", path, path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

#define PLACE_NAME "npu-cache-place-"

/* What tests that were killed left: nobody holds its lock. Others' are passed over. */
static inline void remove_leftovers(const char *folder) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[64];
        struct stat st;
        if (strncmp(entry->d_name, PLACE_NAME, sizeof PLACE_NAME - 1) != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
        if (lstat(path, &st) != 0 || st.st_uid != geteuid()) continue;
        int fd = lock_folder(path, LOCK_NB);
        if (fd < 0) continue;
        remove_folder(path);
        close(fd);
    }
    if (dir) closedir(dir);
}

static inline place *make_place(const char *folder) {
    place *p = calloc(1, sizeof *p);
    struct stat st = {0};
    assert_non_null(p);
    remove_leftovers(folder);
    do { /* another test may have taken it for a leftover before it was locked */
        snprintf(p->root, sizeof p->root, "%s/" PLACE_NAME "XXXXXX", folder);
        assert_non_null(mkdtemp(p->root));
        p->lock = lock_folder(p->root, 0);
    } while (p->lock < 0 || fstat(p->lock, &st) != 0 || !st.st_nlink);
    snprintf(p->model, sizeof p->model, "%s/model", p->root);
    snprintf(p->weights, sizeof p->weights, "%s/weights", p->root);
    write_model(p, 1);
    return p;
}

static inline void drop_place(place *p) {
    remove_folder(p->root);
    close(p->lock);
    free(p);
}

static inline void pack(const uint8_t *from, uint8_t *to) {
    for (uint32_t i = 0; i < PART_BYTES; i++) to[i] = (uint8_t)(from[PART_BYTES - 1 - i] ^ 0x5A);
}

static inline void use(place *p, npu_cache *cache, npu_pool *pool, const npu_map *map, uint8_t *out, run *r) {
    const npu_weight_cache *seam = npu_cache_seam(cache);
    uint8_t *want = malloc(PART_BYTES);
    if (r->before_pack) r->before_pack(p, out);
    for (uint32_t i = r->first; i < r->first + (r->parts ? r->parts : PARTS); i++) {
        const uint8_t *from = map->data + 64 + i * PART_BYTES;
        npu_packed what = {.layout = r->layout ? r->layout : "test 1",
                           .source = from,
                           .source_bytes = PART_BYTES,
                           .row_bytes = PART_BYTES,
                           .ne = {PART_BYTES, 1, 1, 1},
                           .bytes = PART_BYTES};
        uint8_t *to = out + i * PART_BYTES;
        pack(from, want);
        if (!seam->take(seam->context, &what, pool, to)) {
            pack(from, to);
            seam->keep(seam->context, &what, pool, to);
        }
        assert_memory_equal(to, want, PART_BYTES);
    }
    free(want);
    npu_cache_count(cache, &r->read, &r->packed);
    if (r->before_save) r->before_save(p, out);
}

static inline bool cancelled(void *user) {
    run *r = user;
    if (++r->asked == r->cut) assert_int_equal(truncate(r->cut_path, 100), 0);
    return r->asked >= r->cancel && r->cancel;
}

/* A run from start to end. */
static inline void go(place *p, run *r) {
    npu_map map;
    npu_error err = {0};
    npu_cache *cache;
    npu_pool *pool;
    uint8_t *out = calloc(1, ALL);
    p->log[0] = 0;
    const char *path = p->name ? p->name : p->model;
    assert_int_equal(npu_map_open(path, &map, &err), NPU_OK);
    unsigned threads = r->threads ? r->threads : 2;
    assert_int_equal(npu_pool_create(threads, &pool, &err), NPU_OK);
    npu_cache_file file = {path, map.data, map.size, map.device, map.inode, map.mtime_ns, map.ctime_ns};
    npu_cache_params params = {.logger = {listen, p, NPU_LOG_DEBUG},
                               .dir = p->root,
                               .limit_bytes = r->limit ? r->limit : NPU_CACHE_DEFAULT_LIMIT,
                               .threads = threads,
                               .files = &file,
                               .n_files = 1,
                               .cancelled = cancelled,
                               .cancelled_user = r};
    assert_int_equal(npu_cache_open(&params, &cache, &err), NPU_OK);
    use(p, cache, pool, &map, out, r);
    npu_cache_save(cache);
    npu_cache_close(cache);
    npu_pool_destroy(pool);
    npu_map_close(&map);
    free(out);
}

static inline run fresh(place *p) {
    run r = {0};
    go(p, &r);
    return r;
}

#define ASSERT_RUN(p, read_bytes, packed_bytes)      \
    do {                                             \
        run run_ = fresh(p);                         \
        assert_int_equal(run_.read, read_bytes);     \
        assert_int_equal(run_.packed, packed_bytes); \
    } while (0)

/* The only image of the folder. */
static inline char *image_path(const place *p) {
    npu_cache_item *items;
    size_t n;
    char *path = malloc(256);
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 1);
    snprintf(path, 256, "%s/%s", p->weights, items[0].file);
    free(items);
    return path;
}

static inline size_t files_in(const place *p) {
    char command[160], line[32] = "";
    snprintf(command, sizeof command, "ls -A %s 2>/dev/null | wc -l", p->weights);
    FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    pclose(f);
    return strtoul(line, NULL, 10);
}

static inline void flip(const char *path, off_t at, uint8_t bits) {
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= bits;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

#endif
