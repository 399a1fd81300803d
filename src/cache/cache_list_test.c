/* The weight cache for people: what is listed, and what a clean-up removes and names. */
#include <errno.h>

#include "cache/cache_dir.h"
#include "support/cache_place.h"

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

/* What killed processes left is listed and goes at once, what somebody is writing does not, however old it is. */
static void parts_without_a_writer_are_swept(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    char *part[2];
    int fd[2];
    size_t n;
    npu_error err;
    npu_cache_item *items;
    npu_cache_cleaned done;
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(npu_cache_dir_begin(p->weights, &part[i], &fd[i], &err), NPU_OK);
        assert_int_equal(write(fd[i], "123", 3), 3);
    }
    assert_int_equal(futimens(fd[1], old), 0);
    close(fd[0]);
    assert_int_equal(npu_cache_list(p->root, &items, &n, NULL), NPU_OK);
    assert_int_equal(n, 2);
    assert_int_equal(items[0].bytes, 3);
    assert_string_equal(items[0].problem, "its writer was ended");
    assert_string_equal(items[1].problem, "it is being written");
    free(items);
    fresh(p);
    assert_int_not_equal(access(part[0], F_OK), 0);
    assert_int_equal(access(part[1], F_OK), 0);
    assert_int_equal(npu_cache_clean(p->root, NULL, &done, NULL), NPU_OK);
    assert_int_equal(done.in_use, 1);
    assert_int_equal(done.removed, 1); /* the image of the run */
    free(part[0]);
    assert_int_equal(npu_cache_dir_end(part[1], fd[1], "/proc/nonexistent/x", NPU_OK, &err), NPU_IO);
    assert_int_equal(files_in(p), 0);
    drop_place(p);
}

/* What cannot be removed is named, and the rest goes all the same. */
static void clean_goes_on(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    npu_cache_cleaned done;
    char path[256];
    static const char *const stuck[] = {"a.weights", "part-b", "c.known"};
    fresh(p);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", p->weights, stuck[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%s/x", p->weights, stuck[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(npu_cache_clean(p->root, NULL, &done, NULL), NPU_OK);
    assert_int_equal(done.removed, 1);
    assert_int_equal(done.n_left, 3);
    for (size_t i = 0; i < 3; i++) {
        bool is_named = false;
        for (size_t k = 0; k < 3; k++) is_named |= !strcmp(done.left[k].file, stuck[i]);
        assert_true(is_named);
        assert_int_equal(done.left[i].why, ENOTEMPTY);
    }
    free(done.left);
    assert_int_equal(files_in(p), 3);
    drop_place(p);
}

/* By each name that it had, however long: its images and what is remembered of it, and nothing else's. */
static void clean_finds_a_model_by_name(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        place *p = make_place("/tmp");
        char first[96], name[200], second[300];
        npu_cache_cleaned done;
        snprintf(first, sizeof first, "%s", p->model);
        write_model(p, 7);
        fresh(p);
        if (files_in(p) != 2) { /* no file system here whose files are remembered */
            drop_place(p);
            skip();
        }
        /* another content, not to be touched */
        snprintf(p->model, sizeof p->model, "%s/other", p->root);
        write_model(p, 1);
        fresh(p);
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = 0;
        snprintf(second, sizeof second, "%s/%s", p->root, way == 2 ? "short" : name);
        assert_int_equal(link(p->model, second), 0);
        settle();
        p->name = second;
        ASSERT_RUN(p, ALL, 0);
        if (way == 1) assert_int_equal(unlink(second), 0);
        assert_int_equal(npu_cache_clean(p->root, way == 0 ? name : second, &done, NULL), NPU_OK);
        assert_int_equal(done.removed, 1);
        assert_int_equal(done.n_left, 0);
        assert_int_equal(files_in(p), 2); /* the image and the memory of the first */
        p->name = first;
        ASSERT_RUN(p, ALL, 0);
        drop_place(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_kept_apart),
        cmocka_unit_test(parts_without_a_writer_are_swept),
        cmocka_unit_test(clean_goes_on),
        cmocka_unit_test(clean_finds_a_model_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
