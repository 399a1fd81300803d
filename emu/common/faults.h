// Faults on request. A list of rules "name[@n[+]]=action", joined by ';': the n-th call of |name| (every call without
// @n, the n-th and all later ones with '+') meets the action:
//   code:NUMBER   the call does nothing and returns NUMBER (decimal or 0x…)
//   delay:US      the call waits first; 0 .. UINT32_MAX
//   hang          the call never returns
//   die           the NPU process is killed as by an exception
//   exit          the NPU process ends by itself
//   restart       the whole DSP restarts: every session of it ends
// Most host calls name no process: die, exit and restart at one end the sessions of every DSP.
//   short         (name dma) the engine stops with a bus error after half of the bytes, the done bit clear; code:N
//   there:
//                 before the first byte, with syndrome N. short:N (XDNA, name cmd): only N rows come
// "dsp:name" counts calls in the NPU process, "dspN:name" only in that of effective domain N; others are host calls.
// "dsp:event.name" counts those of an event whose name only the program knows: whether there is one is not checked. Any
// other rule that nothing can meet is refused: which actions a name has is in the device's table of names.
#ifndef EMU_COMMON_FAULTS_H
#define EMU_COMMON_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum emu_fault_action {
    EMU_FAULT_NONE,
    EMU_FAULT_CODE,
    EMU_FAULT_DELAY,
    EMU_FAULT_HANG,
    EMU_FAULT_DIE,
    EMU_FAULT_EXIT,
    EMU_FAULT_RESTART,
    EMU_FAULT_SHORT,
};

// Which of them a name can meet: a bit each.
#define EMU_FAULT_BIT(action) (1u << EMU_FAULT_##action)
#define EMU_FAULT_ENDS        (EMU_FAULT_BIT(DIE) | EMU_FAULT_BIT(EXIT) | EMU_FAULT_BIT(RESTART))
#define EMU_FAULT_EVENT       (EMU_FAULT_BIT(DELAY) | EMU_FAULT_BIT(HANG) | EMU_FAULT_ENDS)
#define EMU_FAULT_CALL        (EMU_FAULT_EVENT | EMU_FAULT_BIT(CODE))
#define EMU_FAULT_ALL         (EMU_FAULT_CALL | EMU_FAULT_BIT(SHORT))

#define EMU_FAULT_RULES      32
#define EMU_FAULT_HOST       (-1)
#define EMU_FAULT_NAME_BYTES 48

struct emu_fault_rule {
    char name[EMU_FAULT_NAME_BYTES];
    uint32_t at;
    uint32_t seen;
    int from_there_on;
    bool unchecked; // "event."
    uint8_t number; // in the text
    enum emu_fault_action action;
    int64_t value;
};

struct emu_faults {
    struct emu_fault_rule rules[EMU_FAULT_RULES];
    uint32_t count;
    uint32_t met; // rules that had their action: a bit for each by its number in the text
};

// Takes the rules for |side| (EMU_FAULT_HOST or an effective domain id) out of |text|; rules of the other side are only
// checked. 0, or -1 when a rule can't be read or there are more than EMU_FAULT_RULES in all (nothing is taken then).
int emu_faults_parse(struct emu_faults *faults, const char *text, int side);

// What can be named, and the actions that are met there.
struct emu_fault_name {
    const char *name;
    unsigned actions; // EMU_FAULT_BIT
};

// Calls of the host, and what counts in an NPU process; each list ends with a NULL name. Every effective domain below
// |domains_end| whose number is NPU + 8 * session with an NPU of |first_npu| .. |last_npu|.
struct emu_fault_names {
    const struct emu_fault_name *host, *dsp;
    int first_npu, last_npu, domains_end;
};

// Whether a rule of |text| would never be met: its name, its action at that name or its domain is not in |names|, or it
// is one too many. |why| says which.
bool emu_faults_refused(const char *text, const struct emu_fault_names *names, char *why, size_t bytes);
// Which rules of |text| are not among |met|, joined by ';'. Returns how many.
unsigned emu_faults_unmet(const char *text, uint32_t met, char *unmet, size_t bytes);
// Counts a call and returns the action for it. The caller locks.
enum emu_fault_action emu_faults_meet(struct emu_faults *faults, const char *name, int64_t *value);

#endif
