/* Several processes use one folder of the weight cache at once, and are killed in the middle: all get the right bytes,
 * and no half image stays. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cache/cache_dir.h"
#include "support/cache_place.h"

/* A child that ends with this process, at the latest. */
static pid_t forked(void) {
    pid_t child = fork();
    if (!child) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    assert_true(child >= 0);
    return child;
}

/* Several processes, which start with nothing: all get the right bytes, and one whole image is there in the end. */
static void processes_share_a_folder(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    for (int i = 0; i < 4; i++)
        if (!forked()) {
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
        pid_t child = forked();
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

/* A writer whose new file another process takes for a dead one's takes another. */
static void parts_are_their_writers(void **state) {
    (void)state;
    place *p = make_place("/tmp");
    pid_t child = forked();
    if (!child)
        for (;;) npu_cache_dir_sweep(p->weights);
    for (int i = 0; i < 3000; i++) {
        char *part, path[128];
        int fd;
        npu_error err;
        snprintf(path, sizeof path, "%s/whole", p->weights);
        assert_int_equal(npu_cache_dir_begin(p->weights, &part, &fd, &err), NPU_OK);
        assert_int_equal(npu_cache_dir_end(part, fd, path, NPU_OK, &err), NPU_OK);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    drop_place(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_a_folder),
        cmocka_unit_test(kills_leave_no_half_image),
        cmocka_unit_test(parts_are_their_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
