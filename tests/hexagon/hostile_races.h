/* For the programs that send hostile batches: which races ThreadSanitizer shall not report. Included once a program. */
#ifndef NPU_HOSTILE_RACES_H
#define NPU_HOSTILE_RACES_H

/* A hostile batch may name one cell twice or lay two tensors on each other; two workers then copy to the same bytes of
 * the sender's. What they hold is the sender's loss, that they stay inside is what is tested. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:npu_emu_dmlink\n";
}

#endif
