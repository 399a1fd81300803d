// Tests of common/: rings whose shared memory a peer has filled with anything, fault rules and settings. No NPU
// process.
#include "faults.h"
#include "ring.h"
#include "setting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHECK(condition) ((condition) ? (void)0 : (printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static uint32_t seed = 20251129;

static uint32_t next(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    return seed ^= seed << 5;
}

// Memory with nothing behind it: a byte too far is a crash.
static uint8_t *guarded(size_t bytes) {
    size_t pages = (bytes + 4095) / 4096 * 4096;
    uint8_t *memory = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && !mprotect(memory + pages, 4096, PROT_NONE));
    return memory + pages - bytes;
}

static uint64_t touch(const uint8_t *bytes, uint32_t count) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += bytes[i];
    return sum;
}

// A peer that writes anything anywhere: packets found are inside the ring, and nothing else happens.
static void hostile_ring(void) {
    size_t bytes = emu_queue_bytes(1024, 2048);
    uint8_t *memory = guarded(bytes);
    struct emu_ring request, response;
    struct emu_packet packet;
    volatile uint64_t sum = 0; /* so that the reads stay */
    int found = 0;
    emu_queue_layout(memory, 1024, 2048);
    CHECK(!emu_queue_view(memory, bytes, &request, &response));
    for (int i = 0; i < 300000; i++) {
        uint8_t message[64];
        switch (next() % 4) {
        case 0:
            memory[256 + next() % (bytes - 256)] = (uint8_t)next();
            break;
        case 1:
            atomic_store(&request.write->position, next() % 3 ? next() % 1024 & ~7u : next());
            break;
        case 2:
            atomic_store(&request.read->position, next() % 3 ? next() % 1024 & ~7u : next());
            break;
        default:
            emu_ring_put(&request, 0, NULL, 0, 24, message, next() % sizeof message);
            break;
        }
        if (emu_ring_look(&request, 24, &packet)) continue;
        CHECK(packet.buffer_data >= request.data &&
              packet.message + packet.message_bytes <= request.data + request.length);
        sum += touch(packet.buffer_data, packet.buffers * 24) + touch(packet.message, packet.message_bytes);
        if (next() % 2) emu_ring_drop(&request, &packet);
        found++;
    }
    (void)sum;
    CHECK(found > 1000);
}

// A header with any words: either refused, or the views lie in the memory.
static void hostile_layout(void) {
    size_t bytes = emu_queue_bytes(1024, 2048);
    uint8_t *memory = guarded(bytes);
    struct emu_ring request, response;
    for (int i = 0; i < 200000; i++) {
        emu_queue_layout(memory, 1024, 2048);
        for (uint32_t n = next() % 3; n < 3; n++) {
            uint32_t word = next() % (sizeof(struct emu_queue_header) / 4), value = next() >> next() % 32;
            memcpy(memory + 4 * word, &value, 4);
        }
        if (emu_queue_view(memory, bytes, &request, &response)) continue;
        CHECK(request.data >= memory && request.data + request.length <= memory + bytes);
        CHECK(response.data >= memory && response.data + response.length <= memory + bytes);
        CHECK((uint8_t *)(response.write + 1) <= memory + bytes && (uint8_t *)(request.read + 1) <= memory + bytes);
    }
    CHECK(!emu_queue_bytes(8, 1024) && !emu_queue_bytes(1024, 17 << 20));
}

// A ring never loses, doubles or reorders, whatever the sizes; a packet of the largest size always gets through.
static void honest_ring(void) {
    size_t bytes = emu_queue_bytes(512, 512);
    uint8_t *memory = guarded(bytes);
    struct emu_ring ring, other;
    struct emu_packet packet;
    uint32_t sent = 0, got = 0;
    emu_queue_layout(memory, 512, 512);
    CHECK(!emu_queue_view(memory, bytes, &ring, &other));
    for (int i = 0; i < 200000; i++) {
        uint32_t message[128] = {sent}, size = 4 + next() % (next() % 8 ? 100 : 493);
        if (next() % 2 && !emu_ring_put(&ring, 1, NULL, 0, 24, message, size)) sent++;
        if (next() % 2 && !emu_ring_look(&ring, 24, &packet)) {
            uint32_t first;
            memcpy(&first, packet.message, 4);
            CHECK(first == got++);
            emu_ring_drop(&ring, &packet);
        }
    }
    CHECK(sent > 10000);
    while (!emu_ring_look(&ring, 24, &packet)) emu_ring_drop(&ring, &packet);
    for (int i = 0; i < 64; i++) {
        uint32_t message[126] = {0};
        int failed = emu_ring_put(&ring, 1, NULL, 0, 24, message, 496);
        // The writer may ask the reader to start over, once.
        if (failed == EAGAIN && emu_ring_look(&ring, 24, &packet) == EAGAIN)
            failed = emu_ring_put(&ring, 1, NULL, 0, 24, message, 496);
        CHECK(!failed && !emu_ring_look(&ring, 24, &packet));
        emu_ring_drop(&ring, &packet);
        CHECK(!emu_ring_put(&ring, 1, NULL, 0, 24, message, 8) && !emu_ring_look(&ring, 24, &packet));
        emu_ring_drop(&ring, &packet);
    }
    CHECK(emu_ring_put(&ring, 1, NULL, 0, 24, memory, 497) == EMSGSIZE);
}

// A rule that nothing could meet is refused, by name.
static void fault_refusals(void) {
    static const struct emu_fault_name host[] = {{"call", EMU_FAULT_CALL}, {NULL, 0}};
    static const struct emu_fault_name dsp[] = {{"op", EMU_FAULT_EVENT}, {"dma", EMU_FAULT_ALL}, {NULL, 0}};
    static const struct emu_fault_names names = {host, dsp, 3, 4, 32};
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"call=die;call=code:1;dsp:op=die;dsp3:event.layer=hang;dsp28:dma=short;dsp:dma@2=code:7", NULL},
        {"dsp:layer=die", "no call or event layer"},
        {"event.call=die", "no call or event event.call"}, // the host has none
        {"dsp:op=short", "op does not meet the action short"},
        {"call=short", "call does not meet"},
        {"dsp:op=code:2", "op does not meet the action code"},
        {"dsp:event.layer=code:2", "layer does not meet"},
        {"dsp99:op=die", "no domain 99"},
        {"dsp2:op=die", "no domain 2"},
        {"dsp35:op=die", "no domain 35"},
        {"dsp-5:op=die", "no domain -5"},
    };
    char why[128], many[33 * 16] = "";
    struct emu_faults f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool refused = emu_faults_refused(rows[i].text, &names, why, sizeof why);
        CHECK(refused == (rows[i].why != NULL) && (!refused || strstr(why, rows[i].why)));
    }
    for (int i = 0; i < 32; i++) strcat(many, "dsp:op@1=die;");
    CHECK(!emu_faults_refused(many, &names, why, sizeof why) && !emu_faults_parse(&f, many, 3) && f.count == 32);
    strcat(many, "dsp:op@1=die");
    CHECK(emu_faults_refused(many, &names, why, sizeof why) && strstr(why, "more than 32 rules"));
    CHECK(emu_faults_parse(&f, many, EMU_FAULT_HOST)); // whosever they are
    CHECK(emu_faults_parse(&f, "x=delay:-1", 3) && emu_faults_parse(&f, "x=delay:4294967296", 3));
}

// Which rules had their action, on whichever side they are; the numbers are those of the whole text.
static void unmet_rules(void) {
    static const char text[] = "x@2=code:1;dsp:op@3=hang;y=die;dsp:dma=short";
    struct emu_faults host, dsp;
    char left[64];
    int64_t value;
    CHECK(!emu_faults_parse(&host, text, EMU_FAULT_HOST) && !emu_faults_parse(&dsp, text, 3));
    CHECK(emu_faults_unmet(text, 0, left, sizeof left) == 4 && !strcmp(left, text));
    emu_faults_meet(&host, "x", &value);
    CHECK(host.met == 0); // not yet the second
    emu_faults_meet(&host, "x", &value);
    emu_faults_meet(&dsp, "dma", &value);
    CHECK(emu_faults_unmet(text, host.met | dsp.met, left, sizeof left) == 2 && !strcmp(left, "dsp:op@3=hang;y=die"));
    CHECK(emu_faults_unmet(text, 0, left, 8) == 4 && strlen(left) == 7); // cut
    CHECK(emu_faults_unmet(text, 15, left, sizeof left) == 0 && !*left);
    CHECK(emu_faults_unmet("", 0, left, sizeof left) == 0 && !*left);
}

static void ranges(void) {
    static const struct {
        uint64_t least, most;
        bool units;
        const char *text;
    } rows[] = {{0, 1, false, "0..1"},
                {1 << 16, 64 << 20, true, "64K..64M"},
                {1 << 20, 1ull << 40, true, "1M..1024G"},
                {1024, 3758096384u, false, "1024..3758096384"},
                {0, UINT64_MAX, true, "0..18446744073709551615"}};
    char range[EMU_RANGE_BYTES];
    uint64_t number;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        emu_setting_range(range, rows[i].units, rows[i].least, rows[i].most);
        CHECK(!strcmp(range, rows[i].text));
    }
    CHECK(emu_setting_number("64K", true, 1 << 16, 1 << 20, &number) && number == 1 << 16);
    static const char *const wrong[] = {"", "x", "63K", "1025K", "64Q", "64K ", "-1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        emu_setting_refuse("%s", "");
        CHECK(!emu_setting_number(wrong[i], true, 1 << 16, 1 << 20, &number));
        CHECK(!strcmp(emu_setting_refusal(), "takes 64K..1M"));
    }
}

static void fault_rules(void) {
    static const char *const bad[] = {"x",       "x=",     "=die",     "x=dye",     "x=code:",    "x=code:1z",
                                      "x@0=die", "x@=die", "x@1z=die", "gpu:x=die", "dspx:x=die", "a=die;b"};
    struct emu_faults f;
    int64_t value;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(emu_faults_parse(&f, bad[i], EMU_FAULT_HOST));
    CHECK(!emu_faults_parse(&f, "x@2=code:-1;y@2+=delay:7;dsp:z=die;dsp3:x=hang", EMU_FAULT_HOST) && f.count == 2);
    CHECK(emu_faults_meet(&f, "x", &value) == EMU_FAULT_NONE);
    CHECK(emu_faults_meet(&f, "x", &value) == EMU_FAULT_CODE && value == -1);
    CHECK(emu_faults_meet(&f, "x", &value) == EMU_FAULT_NONE);
    CHECK(emu_faults_meet(&f, "y", &value) == EMU_FAULT_NONE);
    for (int i = 0; i < 3; i++) CHECK(emu_faults_meet(&f, "y", &value) == EMU_FAULT_DELAY && value == 7);
    CHECK(!emu_faults_parse(&f, "dsp:z=die;dsp3:x=hang;dsp11:x=exit", 3) && f.count == 2);
    CHECK(emu_faults_meet(&f, "x", &value) == EMU_FAULT_HANG && emu_faults_meet(&f, "z", &value) == EMU_FAULT_DIE);
    CHECK(!emu_faults_parse(&f, "", 3) && f.count == 0);
    fault_refusals();
    CHECK(emu_faults_parse(&f, "dsp:event.=die", 3));
    CHECK(!emu_faults_parse(&f, "dsp:event.layer@2=die", 3) && emu_faults_meet(&f, "layer", &value) == EMU_FAULT_NONE);
    CHECK(emu_faults_meet(&f, "layer", &value) == EMU_FAULT_DIE);
}

int main(void) {
    hostile_ring();
    hostile_layout();
    honest_ring();
    fault_rules();
    unmet_rules();
    ranges();
    return 0;
}
