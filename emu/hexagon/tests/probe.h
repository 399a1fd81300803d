// The methods of the probe, a small NPU program for the emulator's tests: what host test and skel both know.
#ifndef EMU_TESTS_PROBE_H
#define EMU_TESTS_PROBE_H

#include <stdint.h>

enum probe_method {
    PROBE_OPEN,
    PROBE_CLOSE,
    PROBE_ECHO,       // in bytes -> out bytes (same length)
    PROBE_SUM_FD,     // HAP_mmap |fd|, add |bytes| bytes, unmap
    PROBE_SUM_GET,    // the same through HAP_mmap_get
    PROBE_MAP,        // HAP_mmap |fd| and keep it: value is the address
    PROBE_UNMAP,      // HAP_munmap |value|
    PROBE_SLEEP,      // |value| microseconds; with |flags| with an event every millisecond
    PROBE_BUSY,       // computes for |value| microseconds of CPU time, without a step
    PROBE_MEET,       // waits for |value| invocations of it to be at work at once
    PROBE_RELEASE,    // lets the answers of held packets go
    PROBE_CRASH,      // writes to address 0
    PROBE_EXIT,       // exit(|value|)
    PROBE_FAIL,       // returns |value| and fills its out buffer
    PROBE_QUEUE,      // imports queue |value|; a thread answers its packets
    PROBE_QUEUE_STOP, // ends it
    PROBE_IMPORT,     // imports queue |value| and closes it at once
    PROBE_STORE,      // writes |value| to the first byte of the kept mapping
    PROBE_CHECK,      // runs check number |value| of the list in probe_checks.c; out value is 0 or the line that failed
    PROBE_CLOSES,     // how often close was called
    PROBE_METHODS
};

// Words of a packet's message: the first says what the queue thread does, the answer repeats them.
enum probe_packet {
    PROBE_PACKET_ECHO,
    PROBE_PACKET_SUM,  // adds the buffer's bytes; the answer's second word
    PROBE_PACKET_HOLD, // the answer waits for PROBE_RELEASE
    PROBE_PACKET_MUTE, // no answer
    PROBE_PACKET_CRASH,
};

struct probe_in {
    uint32_t fd;
    uint32_t flags;
    uint64_t bytes;
    uint64_t value;
};

struct probe_out {
    uint64_t value;
    uint64_t more;
};

#endif
