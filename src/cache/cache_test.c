/* The weight cache: whatever happens to the model between runs, what a run gets is what packing its bytes as they are
 * now gives. Within a run: cache_in_use_test.c. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "cache/cache_dir.h"
#include "cache/cache_source.h"
#include "support/cache_place.h"

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

/* A test that is killed leaves its folder to the next one to remove; one that lives keeps it. */
static void killed_tests_leave_nothing(void **state) {
    (void)state;
    int told[2];
    char root[sizeof((place *)0)->root];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (!child) {
        place *p = make_place("/tmp");
        (void)!write(told[1], p->root, sizeof p->root);
        pause();
        _exit(0);
    }
    assert_int_equal(read(told[0], root, sizeof root), sizeof root);
    place *beside = make_place("/tmp");
    assert_int_equal(access(root, F_OK), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    place *after = make_place("/tmp");
    assert_int_equal(access(root, F_OK), -1);
    assert_int_equal(access(beside->root, F_OK), 0);
    drop_place(after);
    drop_place(beside);
    close(told[0]);
    close(told[1]);
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

/* Where the hash can't be remembered it is made once a run that has nothing to write, not twice. */
static void models_are_hashed_once(void **state) {
    (void)state;
    if (access("/dev/shm", W_OK) != 0) skip();
    place *p = make_place("/dev/shm");
    fresh(p);
    run r = fresh(p);
    assert_int_equal(r.read, ALL);
    assert_int_equal(r.asked, 0); /* which hashing at the end does */
    drop_place(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_run_reads),
        cmocka_unit_test(killed_tests_leave_nothing),
        cmocka_unit_test(changed_models_are_packed_anew),
        cmocka_unit_test(writes_through_a_mapping_are_seen),
        cmocka_unit_test(stray_writes_are_not_kept),
        cmocka_unit_test(cancelled_saves_leave_nothing),
        cmocka_unit_test(times_settle),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(models_are_hashed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
