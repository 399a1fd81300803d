/* The weight cache: a model that changes or shrinks while a run uses it; what was packed of it then is not kept. */
#include "cache/cache_dir.h"
#include "support/cache_place.h"

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

/* What is packed in between is not what the model holds: its content at the end, which is right, must not vouch for it.
 * Also where the content was remembered and no file is held open. */
static void models_that_change_back_are_not_kept(void **state) {
    (void)state;
    for (int is_remembered = 0; is_remembered < 2; is_remembered++) {
        place *p = make_place("/tmp");
        if (is_remembered) {
            ASSERT_RUN(p, 0, ALL);
            ASSERT_RUN(p, ALL, 0);
        }
        run r = {.layout = "test 2", .before_pack = flip_model, .before_save = flip_model};
        go(p, &r);
        assert_int_equal(r.packed, ALL);
        assert_non_null(strstr(p->log, "changed while they were in use"));
        settle();
        run next = {.layout = "test 2"};
        go(p, &next);
        assert_int_equal(next.packed, ALL);
        drop_place(p);
    }
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

/* At every question that is asked while its content is read at the end, of a file system that is trusted and one that
 * is not: reading the mapping would be fatal. One thread, which asks before each chunk: of two the other may leave it
 * none, and the question is one of those before writing. */
static void models_that_shrink_while_they_are_hashed_are_not_kept(void **state) {
    (void)state;
    static const char *const folders[] = {"/tmp", "/dev/shm"};
    for (size_t i = 0; i < 2; i++) {
        if (access(folders[i], W_OK) != 0) continue;
        for (int cut = 1; cut <= 3; cut++) {
            place *p = make_place(folders[i]);
            run r = {.threads = 1, .cut = cut, .cut_path = p->model};
            go(p, &r);
            assert_true(r.asked >= cut);
            assert_int_equal(r.packed, ALL);
            assert_non_null(strstr(p->log, "changed while they were in use"));
            drop_place(p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_that_change_in_use_are_not_kept),
        cmocka_unit_test(models_that_change_back_are_not_kept),
        cmocka_unit_test(models_that_shrink_in_use_are_not_read),
        cmocka_unit_test(models_that_shrink_while_they_are_hashed_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
