/* The folder of the weight cache: whatever is in it, runs go on; what is listed, removed and left. Of several
 * processes: cache_processes_test.c. */
#include <errno.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "cache/cache_image.h"
#include "support/cache_place.h"

enum { OTHER_USER = 65534 };

/* Whatever a file of that name is: said, ignored, and replaced where that can be done. */
static void ignored_and_replaced(place *p, const char *path, const char *why) {
    ASSERT_RUN(p, 0, ALL);
    assert_non_null(strstr(p->log, path));
    assert_non_null(strstr(p->log, why));
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
    ignored_and_replaced(p, path, "packed weights in it are damaged");
    flip(path, 9, 1); /* version */
    ignored_and_replaced(p, path, "of another version");
    snprintf(target, sizeof target, "%s/elsewhere", p->root);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0); /* even to a good one */
    ignored_and_replaced(p, path, "not a plain file");
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    ignored_and_replaced(p, path, "not a plain file");
    assert_int_equal(chmod(path, 0666), 0);
    ignored_and_replaced(p, path, "other users can write it");
    assert_int_equal(chmod(path, 0), 0);
    ignored_and_replaced(p, path, "Permission denied");
    free(path);
    drop_place(p);
}

/* No file can replace it: each run says so once, writes nothing and packs, until it is removed. */
static void folders_in_place_of_images_are_said_once(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    ASSERT_RUN(p, 0, ALL);
    char *path = image_path(p), inside[300];
    npu_cache_cleaned done;
    snprintf(inside, sizeof inside, "%s/x", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(inside, 0700), 0);
    for (int i = 0; i < 2; i++) {
        ASSERT_RUN(p, 0, ALL);
        char *said = strstr(p->log, path);
        assert_non_null(said);
        assert_null(strchr(said, '\n')[1] ? said : NULL);
    }
    assert_int_equal(npu_cache_clean(p->root, "model", &done, NULL), NPU_OK);
    assert_int_equal(done.removed, 0);
    assert_int_equal(done.n_left, 1);
    assert_int_equal(done.left[0].why, ENOTEMPTY);
    assert_non_null(strstr(path, done.left[0].file));
    free(done.left);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(npu_cache_clean(p->root, NULL, &done, NULL), NPU_OK);
    assert_int_equal(done.removed, 1);
    assert_int_equal(done.n_left, 0);
    ASSERT_RUN(p, 0, ALL);
    ASSERT_RUN(p, ALL, 0);
    free(path);
    drop_place(p);
}

/* Each with its own reason. Only root can give files away. */
static void images_of_others_are_refused(void **state) {
    (void)state;
    if (geteuid() != 0) skip();
    place *p = make_place("/tmp");
    ASSERT_RUN(p, 0, ALL);
    char *path = image_path(p);
    assert_int_equal(chmod(path, 0620), 0);
    ignored_and_replaced(p, path, "other users can write it");
    assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
    ignored_and_replaced(p, path, "it belongs to another user");
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
    assert_int_equal(unlink(p->weights), 0);
    assert_int_equal(mkdir(p->weights, 0500), 0);
    ASSERT_RUN(p, 0, ALL);
    assert_non_null(strstr(p->log, "are not kept"));
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

/* Also by a run that only reads, and of what it read itself. */
static void limits_are_kept_when_reading(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    run small = {.limit = ALL / 2}, other = {.layout = "test 2"}, one = {.limit = ALL + 4096};
    npu_cache_item *items;
    size_t n;
    fresh(p);
    settle();
    go(p, &other);
    settle();
    go(p, &one);
    assert_int_equal(one.read, ALL);
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 1);
    assert_string_equal(items[0].layout, "test 1");
    free(items);
    go(p, &small);
    assert_int_equal(small.read, ALL);
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 0);
    free(items);
    assert_string_equal(p->log, "");
    drop_place(p);
}

/* Root may do everything, so permissions mean something only without it. */
static void become_another_user(void) {
    if (geteuid() != 0) return;
    if (setgroups(0, NULL) != 0 || setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0) abort();
    (void)prctl(PR_SET_DUMPABLE, 1); /* for tools that look for leaks */
}

int main(void) {
    const struct CMUnitTest of_root[] = {
        cmocka_unit_test(images_of_others_are_refused),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strange_files_are_replaced),
        cmocka_unit_test(folders_in_place_of_images_are_said_once),
        cmocka_unit_test(unwritable_folders_are_said_once),
        cmocka_unit_test(file_limits_are_kept),
        cmocka_unit_test(least_used_goes_first),
        cmocka_unit_test(limits_are_kept_when_reading),
    };
    int failed = cmocka_run_group_tests_name("as root", of_root, NULL, NULL);
    become_another_user();
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
