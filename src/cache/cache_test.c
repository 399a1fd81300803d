/* The weight cache with a stand-in for packing: whatever happens to model and folder, what a run gets is what packing
 * the model's bytes as they are now gives. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mapfile.h"
#include "cache/cache.h"
#include "cache/cache_dir.h"
#include "cache/cache_image.h"
#include "cache/cache_source.h"

enum { PARTS = 3, PART_BYTES = 700001, MODEL_BYTES = 64 + PARTS * PART_BYTES, ALL = PARTS * PART_BYTES };

typedef struct place {
    char root[64], model[96], weights[96];
    char log[2048];
} place;

/* What one run is told, and what came of it. */
typedef struct run {
    uint64_t limit, read, packed;
    const char *layout;
    uint32_t first, parts; /* of the model; 0 = all */
    void (*before_save)(place *p, uint8_t *packed);
    int cancel; /* the number of questions after which saving is cancelled; 0 = never */
    int asked;
} run;

static void listen(void *context, npu_log_level level, const char *text) {
    place *p = context;
    size_t used = strlen(p->log);
    if (level <= NPU_LOG_WARN) snprintf(p->log + used, sizeof p->log - used, "%s\n", text);
}

static void settle(void) {
    usleep(150000);
}

static void write_model(const place *p, uint8_t seed) {
    uint8_t *bytes = malloc(MODEL_BYTES);
    for (uint32_t i = 0; i < MODEL_BYTES; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 24 ^ i ^ seed);
    FILE *f = fopen(p->model, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, MODEL_BYTES, f), MODEL_BYTES);
    assert_int_equal(fclose(f), 0);
    free(bytes);
    settle();
}

static place *make_place(const char *folder) {
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    snprintf(p->root, sizeof p->root, "%s/npu-cache-test-XXXXXX", folder);
    assert_non_null(mkdtemp(p->root));
    snprintf(p->model, sizeof p->model, "%s/model", p->root);
    snprintf(p->weights, sizeof p->weights, "%s/weights", p->root);
    write_model(p, 1);
    return p;
}

static void drop_place(place *p) {
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", p->root, p->root);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    free(p);
}

static void pack(const uint8_t *from, uint8_t *to) {
    for (uint32_t i = 0; i < PART_BYTES; i++) to[i] = (uint8_t)(from[PART_BYTES - 1 - i] ^ 0x5A);
}

static void use(place *p, npu_cache *cache, npu_pool *pool, const npu_map *map, uint8_t *out, run *r) {
    const npu_weight_cache *seam = npu_cache_seam(cache);
    uint8_t *want = malloc(PART_BYTES);
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

static bool cancelled(void *user) {
    run *r = user;
    return ++r->asked >= r->cancel && r->cancel;
}

/* A run from start to end. */
static void go(place *p, run *r) {
    npu_map map;
    npu_error err = {0};
    npu_cache *cache;
    npu_pool *pool;
    uint8_t *out = calloc(1, ALL);
    p->log[0] = 0;
    assert_int_equal(npu_map_open(p->model, &map, &err), NPU_OK);
    assert_int_equal(npu_pool_create(2, &pool, &err), NPU_OK);
    npu_cache_file file = {p->model, map.data, map.size, map.device, map.inode, map.mtime_ns, map.ctime_ns};
    npu_cache_params params = {.logger = {listen, p, NPU_LOG_DEBUG},
                               .dir = p->root,
                               .limit_bytes = r->limit ? r->limit : NPU_CACHE_DEFAULT_LIMIT,
                               .threads = 2,
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

static run fresh(place *p) {
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
static char *image_path(const place *p) {
    npu_cache_name *names;
    size_t n;
    char *path = malloc(256);
    assert_int_equal(npu_cache_dir_list(p->weights, &names, &n, NULL), NPU_OK);
    assert_int_equal(n, 1);
    snprintf(path, 256, "%s/%s", p->weights, names[0].file);
    free(names);
    return path;
}

static void second_run_reads(void **state) {
    (void)state;
    static const char *const folders[] = {"/tmp", "/dev/shm", "/var/tmp"}; /* trusted or not */
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (access(folders[i], W_OK) != 0) continue;
        place *p = make_place(folders[i]);
        ASSERT_RUN(p, 0, ALL);
        ASSERT_RUN(p, ALL, 0);
        ASSERT_RUN(p, ALL, 0);
        assert_string_equal(p->log, "");
        drop_place(p);
    }
}

static void flip(const char *path, off_t at, uint8_t bits) {
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= bits;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* With its old time of modification, so that only the time of status change tells. */
static void flip_secretly(const char *path, off_t at) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    flip(path, at, 1);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void changed_models_are_packed_anew(void **state) {
    (void)state;
    static const char *const folders[] = {"/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (access(folders[i], W_OK) != 0) continue;
        place *p = make_place(folders[i]);
        ASSERT_RUN(p, 0, ALL);
        flip_secretly(p->model, MODEL_BYTES - 5);
        ASSERT_RUN(p, 0, ALL); /* at once, and when the times have settled */
        settle();
        flip_secretly(p->model, 3); /* outside of all weights */
        settle();
        ASSERT_RUN(p, 0, ALL);
        write_model(p, 9);
        ASSERT_RUN(p, 0, ALL);
        ASSERT_RUN(p, ALL, 0);
        write_model(p, 1); /* the first content again, in another file */
        ASSERT_RUN(p, ALL, 0);
        drop_place(p);
    }
}

static uint8_t *map_to_write(const place *p) {
    int fd = open(p->model, O_RDWR | O_CLOEXEC);
    uint8_t *bytes = mmap(NULL, MODEL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    close(fd);
    return bytes;
}

static void writes_through_a_mapping_are_seen(void **state) {
    (void)state;
    static const char *const folders[] = {"/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (access(folders[i], W_OK) != 0) continue;
        place *p = make_place(folders[i]);
        uint8_t *bytes = map_to_write(p);
        bytes[5000] ^= 1; /* the page may be written from now on without the system's knowledge */
        settle();
        ASSERT_RUN(p, 0, ALL);
        for (int k = 0; k < 3; k++) {
            bytes[5000] ^= (uint8_t)(2 << k);
            ASSERT_RUN(p, 0, ALL);
        }
        munmap(bytes, MODEL_BYTES);
        settle();
        fresh(p);
        ASSERT_RUN(p, ALL, 0);
        bytes = map_to_write(p);                 /* one that comes after the content was remembered */
        (void)*(volatile uint8_t *)&bytes[9000]; /* tmpfs lets a page that was read be written without a word */
        for (int k = 0; k < 3; k++) {
            bytes[9000] ^= (uint8_t)(1 << k);
            ASSERT_RUN(p, 0, ALL);
        }
        munmap(bytes, MODEL_BYTES);
        drop_place(p);
    }
}

static void flip_model(place *p, uint8_t *packed) {
    (void)packed;
    flip(p->model, MODEL_BYTES - 9, 4);
}

static void models_that_change_in_use_are_not_kept(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    run r = {.before_save = flip_model};
    npu_cache_name *names;
    size_t n;
    go(p, &r);
    assert_non_null(strstr(p->log, "changed while they were in use"));
    assert_int_equal(npu_cache_dir_list(p->weights, &names, &n, NULL), NPU_OK);
    assert_int_equal(n, 0);
    free(names);
    settle();
    ASSERT_RUN(p, 0, ALL);
    ASSERT_RUN(p, ALL, 0);
    drop_place(p);
}

static void cut_model(place *p, uint8_t *packed) {
    (void)packed;
    assert_int_equal(truncate(p->model, 100), 0);
}

/* Whether its content was read, remembered, or is not to be trusted: reading the mapping would be fatal. */
static void models_that_shrink_in_use_are_not_read(void **state) {
    (void)state;
    static const char *const folders[] = {"/tmp", "/dev/shm"};
    for (size_t i = 0; i < 4; i++) {
        if (access(folders[i % 2], W_OK) != 0) continue;
        place *p = make_place(folders[i % 2]);
        if (i < 2) {
            ASSERT_RUN(p, 0, ALL);
            ASSERT_RUN(p, ALL, 0);
        }
        run r = {.layout = "test 2", .before_save = cut_model};
        go(p, &r);
        assert_int_equal(r.packed, ALL);
        assert_non_null(strstr(p->log, "changed while they were in use"));
        drop_place(p);
    }
}

static void write_astray(place *p, uint8_t *packed) {
    (void)p;
    packed[PART_BYTES + 777] ^= 8;
}

/* As a device may do that shares the memory: of what was packed, and of what was read and would be written anew. Each
 * start checks what it reads against packing. */
static void stray_writes_are_not_kept(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    npu_cache_name *names;
    size_t n;
    run r = {.before_save = write_astray}, first = {.parts = 2};
    go(p, &r);
    char *said = strstr(p->log, "changed in memory");
    assert_non_null(said);
    assert_null(strstr(said + 1, "not kept"));
    assert_int_equal(npu_cache_dir_list(p->weights, &names, &n, NULL), NPU_OK);
    assert_int_equal(n, 0);
    free(names);
    go(p, &first);
    assert_int_equal(first.packed, 2 * PART_BYTES);
    run more = {.before_save = write_astray};
    go(p, &more);
    assert_int_equal(more.read, 2 * PART_BYTES);
    assert_non_null(strstr(p->log, "changed in memory"));
    ASSERT_RUN(p, 2 * PART_BYTES, PART_BYTES);
    ASSERT_RUN(p, ALL, 0);
    drop_place(p);
}

static size_t files_in(const place *p) {
    char command[160], line[32] = "";
    snprintf(command, sizeof command, "ls -A %s 2>/dev/null | wc -l", p->weights);
    FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    pclose(f);
    return strtoul(line, NULL, 10);
}

/* At every question that is asked: no file is left, and no warning is given. */
static void cancelled_saves_leave_nothing(void **state) {
    (void)state;
    place *p = make_place("/dev/shm"); /* where the model is hashed too */
    int cancel = 1;
    for (bool done = false; !done; cancel++) {
        run r = {.cancel = cancel};
        go(p, &r);
        assert_int_equal(r.packed, ALL);
        assert_string_equal(p->log, "");
        done = r.asked < cancel;
        assert_int_equal(files_in(p), done);
        assert_true(done || r.asked <= cancel + 1); /* at once */
    }
    assert_true(cancel > 3);
    ASSERT_RUN(p, ALL, 0);
    drop_place(p);
}

static void times_settle(void **state) {
    (void)state;
    assert_false(npu_cache_has_settled(1000000000, 1000000000));
    assert_false(npu_cache_has_settled(1000000000, 1050000000));
    assert_true(npu_cache_has_settled(1000000000, 1100000000));
    assert_false(npu_cache_has_settled(1000000001, 1000000000)); /* a clock that was set back */
    assert_false(npu_cache_has_settled(INT64_MAX, 0));
}

static void layouts_are_kept_apart(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    npu_cache_item *items;
    size_t n;
    ASSERT_RUN(p, 0, ALL);
    run other = {.layout = "test 2"};
    go(p, &other);
    assert_int_equal(other.packed, ALL);
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 2);
    assert_string_equal(items[0].layout, "test 2"); /* latest use first */
    assert_string_equal(items[1].layout, "test 1");
    assert_string_equal(items[1].model, "model");
    free(items);
    drop_place(p);
}

/* What one run does not use stays for those that do. */
static void parts_add_up(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    run first = {.parts = 2}, last = {.first = 1, .parts = 2};
    go(p, &first);
    assert_int_equal(first.packed, 2 * PART_BYTES);
    go(p, &last);
    assert_int_equal(last.read, PART_BYTES);
    assert_int_equal(last.packed, PART_BYTES);
    ASSERT_RUN(p, ALL, 0);
    drop_place(p);
}

/* Whatever a file of that name is: said, ignored, and replaced where that can be done. */
static void ignored_and_replaced(place *p, const char *path) {
    ASSERT_RUN(p, 0, ALL);
    assert_non_null(strstr(p->log, path));
    ASSERT_RUN(p, ALL, 0);
    assert_string_equal(p->log, "");
}

static void strange_files_are_replaced(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    ASSERT_RUN(p, 0, ALL);
    char *path = image_path(p), target[128];
    struct stat st;
    flip(path, 600, 1); /* of the first weights */
    ignored_and_replaced(p, path);
    flip(path, 9, 1); /* version */
    ignored_and_replaced(p, path);
    snprintf(target, sizeof target, "%s/elsewhere", p->root);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0); /* even to a good one */
    ignored_and_replaced(p, path);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    ignored_and_replaced(p, path);
    assert_int_equal(chmod(path, 0666), 0);
    ignored_and_replaced(p, path);
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        ignored_and_replaced(p, path);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* can't be replaced: each run says so and packs */
    for (int i = 0; i < 2; i++) {
        ASSERT_RUN(p, 0, ALL);
        assert_non_null(strstr(p->log, path));
        assert_non_null(strstr(p->log, "are not kept"));
    }
    free(path);
    drop_place(p);
}

static void unwritable_folders_are_said_once(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    FILE *f = fopen(p->weights, "w"); /* a file where the folder should be stops root too */
    assert_non_null(f);
    fclose(f);
    ASSERT_RUN(p, 0, ALL);
    char *said = strstr(p->log, "are not kept");
    assert_non_null(said);
    assert_null(strstr(said + 1, "are not kept"));
    if (geteuid() != 0) {
        assert_int_equal(unlink(p->weights), 0);
        assert_int_equal(mkdir(p->weights, 0500), 0);
        ASSERT_RUN(p, 0, ALL);
        assert_non_null(strstr(p->log, "are not kept"));
    }
    drop_place(p);
}

/* The signal of that limit would end the process: it must not come. */
static void file_limits_are_kept(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){ALL / 2, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ASSERT_RUN(p, 0, ALL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(p->log, "File too large"));
    assert_int_equal(files_in(p), 0);
    ASSERT_RUN(p, 0, ALL);
    ASSERT_RUN(p, ALL, 0);
    drop_place(p);
}

static void least_used_goes_first(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    npu_cache_item *items;
    size_t n;
    uint64_t one = ALL + 4096, limit = 3 * one;
    for (char kind = 'a'; kind <= 'c'; kind++) {
        char layout[] = {'l', kind, 0};
        run r = {.limit = limit, .layout = layout};
        go(p, &r);
        settle(); /* times of use differ */
    }
    run again = {.limit = limit, .layout = "la"}, more = {.limit = limit, .layout = "ld"};
    go(p, &again);
    assert_int_equal(again.read, ALL);
    settle();
    go(p, &more); /* makes lb go */
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 3);
    assert_string_equal(items[0].layout, "ld");
    assert_string_equal(items[1].layout, "la");
    assert_string_equal(items[2].layout, "lc");
    /* In use, by a lock as a reader has it: lc stays, la goes instead. */
    char path[256];
    snprintf(path, sizeof path, "%s/%s", p->weights, items[2].file);
    free(items);
    npu_cache_image image;
    assert_int_equal(npu_cache_image_open(path, NULL, NULL, &image, NULL), NPU_OK);
    run next = {.limit = limit, .layout = "le"};
    go(p, &next);
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 3);
    assert_string_equal(items[0].layout, "le");
    assert_string_equal(items[1].layout, "ld");
    assert_string_equal(items[2].layout, "lc");
    free(items);
    /* Where one does not fit beside what is in use, nothing is removed in vain beyond that. */
    run large = {.limit = ALL / 2, .layout = "lf"};
    go(p, &large);
    assert_non_null(strstr(p->log, "more than the limit"));
    run tight = {.limit = one + 10, .layout = "lg"};
    go(p, &tight);
    assert_non_null(strstr(p->log, "in use"));
    npu_cache_cleaned done;
    assert_int_equal(npu_cache_clean(p->root, "model", &done, NULL), NPU_OK);
    assert_int_equal(done.in_use, 1);
    npu_cache_image_close(&image);
    assert_int_equal(npu_cache_clean(p->root, "other", &done, NULL), NPU_NOT_FOUND);
    assert_int_equal(npu_cache_clean(p->root, NULL, &done, NULL), NPU_OK);
    assert_int_equal(done.removed, 1);
    assert_int_equal(files_in(p), 0);
    drop_place(p);
}

/* Several processes, which start with nothing: all get the right bytes, and one whole image is there in the end. */
static void processes_share_a_folder(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    for (int i = 0; i < 4; i++)
        if (!fork()) {
            for (int k = 0; k < 5; k++) {
                if ((k + i) % 3 == 0) (void)npu_cache_clean(p->root, NULL, &(npu_cache_cleaned){0}, NULL);
                run r = fresh(p);
                if (r.read + r.packed != ALL || p->log[0]) _exit(1);
            }
            _exit(0);
        }
    for (int i = 0; i < 4; i++) {
        int status = -1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    fresh(p);
    ASSERT_RUN(p, ALL, 0);
    free(image_path(p));
    drop_place(p);
}

static void kills_leave_no_half_image(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (!child) {
            fresh(p);
            _exit(0);
        }
        usleep((useconds_t)(i * 700));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        run r = {0};
        go(p, &r);
        assert_string_equal(p->log, "");
        assert_int_equal(r.read + r.packed, ALL);
        (void)npu_cache_clean(p->root, NULL, &(npu_cache_cleaned){0}, NULL);
    }
    drop_place(p);
}

/* What killed processes left goes when it is old, unless somebody is writing it. */
static void old_parts_are_swept(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    char *part[2];
    int fd[2];
    npu_error err;
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(npu_cache_dir_begin(p->weights, &part[i], &fd[i], &err), NPU_OK);
        assert_int_equal(futimens(fd[i], old), 0);
    }
    close(fd[0]);
    npu_cache_dir_sweep(p->weights, false);
    assert_int_not_equal(access(part[0], F_OK), 0);
    assert_int_equal(access(part[1], F_OK), 0);
    free(part[0]);
    assert_int_equal(npu_cache_dir_end(part[1], fd[1], "/nonexistent/x", NPU_OK, &err), NPU_IO);
    assert_int_equal(files_in(p), 0);
    drop_place(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_run_reads),
        cmocka_unit_test(changed_models_are_packed_anew),
        cmocka_unit_test(writes_through_a_mapping_are_seen),
        cmocka_unit_test(models_that_change_in_use_are_not_kept),
        cmocka_unit_test(models_that_shrink_in_use_are_not_read),
        cmocka_unit_test(stray_writes_are_not_kept),
        cmocka_unit_test(cancelled_saves_leave_nothing),
        cmocka_unit_test(times_settle),
        cmocka_unit_test(layouts_are_kept_apart),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(strange_files_are_replaced),
        cmocka_unit_test(unwritable_folders_are_said_once),
        cmocka_unit_test(file_limits_are_kept),
        cmocka_unit_test(least_used_goes_first),
        cmocka_unit_test(processes_share_a_folder),
        cmocka_unit_test(kills_leave_no_half_image),
        cmocka_unit_test(old_parts_are_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
