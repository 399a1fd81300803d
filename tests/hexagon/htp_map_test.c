/* The NPU program's map of host buffers under random batches: what a batch uses never goes, what goes was used last
 * or not for very long (weights before pinned ones) and had to, counters are exact; a buffer that is taken away waits
 * for its batch. The system below is this file's own: it sees each mapping come and go. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "htp/map.c"
#include "hexagon/htp_map_system.h"

enum { ROUNDS = 20000, RACES = 1000 };

static uint32_t random_below(uint32_t n) {
    static uint64_t state = 20261130;
    return npu_random_below(&state, n);
}

/* |n| different buffers of odd sizes. */
static void choose(npu_wire_buffer *out, uint32_t n) {
    uint8_t taken[BUFFERS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t fd;
        do fd = random_below(BUFFERS);
        while (taken[fd]);
        taken[fd] = 1;
        buffer *b = &s.all[fd];
        if (!b->bytes) b->bytes = 1 + random_below(200000);
        out[i] = (npu_wire_buffer){(int32_t)fd, b->pinned ? NPU_WIRE_BUFFER_PINNED : 0, b->bytes};
    }
}

/* One batch: either all its buffers are there, or they can't be. */
static void run_batch(htp_map *map, uint64_t now) {
    npu_wire_buffer list[NPU_WIRE_MAX_BUFFERS];
    uint8_t *addresses[NPU_WIRE_MAX_BUFFERS];
    uint32_t n = 1 + random_below(random_below(8) ? 12 : NPU_WIRE_MAX_BUFFERS), index = 0;
    uint64_t together = 0, before = s.mapped, ever = map->ever_mapped_bytes, had[BUFFERS];
    choose(list, n);
    s.now = now;
    s.wanted = 0;
    for (uint32_t i = 0; i < n; i++) {
        buffer *b = &s.all[list[i].fd];
        b->used = true;
        had[list[i].fd] = b->last_use;
        b->last_use = now;
        together += b->bytes;
        if (!b->address && b->bytes > s.wanted) s.wanted = b->bytes;
    }
    uint32_t code = htp_map_take(map, list, n, addresses, &index);
    expect((code == NPU_WIRE_OK) == (together <= s.window && n <= s.slots), "a batch's fate");
    expect(map->ever_mapped_bytes - ever == s.mapped - before && map->mapped_bytes == s.live_bytes, "counters");
    for (uint32_t i = 0; i < n; i++) {
        buffer *b = &s.all[list[i].fd];
        if (code == NPU_WIRE_OK) expect(b->address && (uintptr_t)addresses[i] == b->address, "an address");
        if (code != NPU_WIRE_OK && i >= index) b->last_use = had[list[i].fd]; /* not reached */
        b->used = false;
    }
    if (code == NPU_WIRE_OK) htp_map_release(map);
}

static void make(htp_map *map, uint64_t window, unsigned slots, bool racing) {
    memset(s.all, 0, sizeof s.all);
    s.window = window, s.slots = slots, s.racing = racing;
    s.live = 0, s.live_bytes = s.mapped = 0, s.refused = s.keeps = false;
    for (int i = 0; i < 3; i++) s.all[i].pinned = true;
    htp_map_init(map, window, 79);
}

static void done(htp_map *map) {
    s.racing = true; /* closing unmaps in any order */
    htp_map_close(map);
    if (s.wrong) print_error("%u times, last: %s\n", s.wrong, s.what);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.live, 0);
    assert_int_equal(s.live_bytes, 0);
}

static void what_goes(void **state) {
    static const struct {
        uint64_t window;
        unsigned slots;
    } rows[] = {{1 << 20, 1000}, {999983, 1000}, {1 << 20, 7}, {7 << 20, 64}, {3500001, 1000}, {64 << 20, 1000}};
    (void)state;
    for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        htp_map map;
        make(&map, rows[r].window, rows[r].slots, false);
        for (uint64_t i = 1; i <= ROUNDS / 6; i++) run_batch(&map, i);
        assert_true(s.mapped > s.live_bytes); /* something slid */
        done(&map);
    }
}

/* Steps that use the same buffers in the same order map again what does not fit, and no more than a batch besides; what
 * was left behind, as by another model, is in the way only for a while. */
static void around_and_around(void **state) {
    enum { EACH = 1 << 20, BATCH = 3, STEPS = 20 };
    (void)state;
    for (uint32_t room = 2 * BATCH; room <= 60; room += 7)
        for (uint32_t model = room - BATCH; model <= 90; model += 13) {
            htp_map map;
            uint64_t before = 0;
            make(&map, (uint64_t)room * EACH, 1000, true);
            for (uint32_t step = 0; step < STEPS; step++) {
                before = map.ever_mapped_bytes;
                for (uint32_t i = 0; i < model; i += BATCH) {
                    npu_wire_buffer list[BATCH];
                    uint8_t *addresses[BATCH];
                    uint32_t index, n = model - i < BATCH ? model - i : BATCH;
                    for (uint32_t k = 0; k < n; k++) list[k] = (npu_wire_buffer){(int32_t)(10 + i + k), 0, EACH};
                    assert_int_equal(htp_map_take(&map, list, n, addresses, &index), NPU_WIRE_OK);
                    htp_map_release(&map);
                }
            }
            uint64_t most = model > room ? (uint64_t)(model - room + BATCH) * EACH : 0;
            assert_true(map.ever_mapped_bytes - before <= most);
            done(&map);
        }
}

static void left_behind(void **state) {
    npu_wire_buffer old = {1, 0, 3 << 20}, now[2] = {{2, 0, 1 << 20}, {3, 0, 1 << 20}};
    uint8_t *address;
    uint32_t index;
    htp_map map;
    uint64_t before = 0;
    (void)state;
    make(&map, (4 << 20) + 1, 1000, true);
    assert_int_equal(htp_map_take(&map, &old, 1, &address, &index), NPU_WIRE_OK);
    htp_map_release(&map);
    for (int i = 0; i < 2 * LONG; i++) {
        if (i == LONG + 10) before = map.ever_mapped_bytes;
        assert_int_equal(htp_map_take(&map, &now[i % 2], 1, &address, &index), NPU_WIRE_OK);
        htp_map_release(&map);
    }
    assert_int_equal(map.ever_mapped_bytes, before);
    done(&map);
}

static uint32_t take(htp_map *map, int32_t first, uint32_t n, uint64_t bytes) {
    npu_wire_buffer list[8];
    uint8_t *addresses[8];
    uint32_t index;
    for (uint32_t i = 0; i < n; i++) list[i] = (npu_wire_buffer){first + (int32_t)i, 0, bytes};
    uint32_t code = htp_map_take(map, list, n, addresses, &index);
    if (code == NPU_WIRE_OK) htp_map_release(map);
    return code;
}

/* A device that keeps address space until a buffer is freed is told from one that has too little of it, or too few
 * mappings, whatever was there before. */
static void kept(void **state) {
    enum { EACH = 1 << 20 };
    htp_map map;
    (void)state;
    make(&map, 8 * EACH, 1000, true);
    s.keeps = true;
    assert_int_equal(take(&map, 0, 4, EACH), NPU_WIRE_OK);
    assert_int_equal(take(&map, 4, 4, EACH), NPU_WIRE_OK);
    assert_int_equal(take(&map, 0, 8, EACH), NPU_WIRE_OK); /* all of it fits: nothing slides */
    assert_int_equal(take(&map, 8, 4, EACH), NPU_WIRE_MAP_KEPT);
    assert_int_equal(take(&map, 20, 1, EACH / 2), NPU_WIRE_MAP_KEPT);
    assert_int_equal(take(&map, 30, 1, 9 * EACH), NPU_WIRE_MAP_FAILED); /* more than there ever was */
    done(&map);
    make(&map, 8 * EACH, 3, true);
    for (int first = 0; first < 12; first += 3) assert_int_equal(take(&map, first, 3, EACH), NPU_WIRE_OK);
    assert_int_equal(take(&map, 20, 4, EACH / 2), NPU_WIRE_MAP_FAILED); /* a mapping too many */
    assert_int_equal(take(&map, 30, 1, 9 * EACH), NPU_WIRE_MAP_FAILED);
    assert_int_equal(take(&map, 40, 3, EACH), NPU_WIRE_OK);
    done(&map);
}

/* Whose buffer the other thread takes away next, and whether it is about to, or has. */
static atomic_int target = -1, begun;

static void *dropper(void *map) {
    for (int fd; (fd = atomic_load(&target)) != BUFFERS;) {
        if (fd >= 0) {
            atomic_store(&begun, 1);
            htp_map_drop(map, fd);
            atomic_store(&target, -1);
        }
        sched_yield();
    }
    return NULL;
}

/* A buffer that the host takes away in the middle of a batch is unmapped after it. */
static void taken_away(void **state) {
    htp_map map;
    pthread_t thread;
    (void)state;
    make(&map, 1 << 20, 1000, true);
    assert_int_equal(pthread_create(&thread, NULL, dropper, &map), 0);
    for (int i = 0; i < RACES; i++) {
        npu_wire_buffer list[4];
        uint8_t *addresses[4];
        uint32_t index;
        choose(list, 4);
        if (htp_map_take(&map, list, 4, addresses, &index) != NPU_WIRE_OK) continue;
        for (int k = 0; k < 4; k++) s.all[list[k].fd].used = true;
        atomic_store(&begun, 0);
        atomic_store(&target, list[i % 4].fd);
        while (!atomic_load(&begun)) sched_yield();
        for (int k = 0; k < 10; k++) sched_yield();
        for (int k = 0; k < 4; k++) expect((uintptr_t)addresses[k] == s.all[list[k].fd].address, "gone in a batch");
        for (int k = 0; k < 4; k++) s.all[list[k].fd].used = false;
        htp_map_release(&map);
        while (atomic_load(&target) != -1) sched_yield();
        expect(!s.all[list[i % 4].fd].address, "still there");
    }
    atomic_store(&target, BUFFERS);
    pthread_join(thread, NULL);
    done(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_goes), cmocka_unit_test(around_and_around),
                                       cmocka_unit_test(left_behind), cmocka_unit_test(kept),
                                       cmocka_unit_test(taken_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
