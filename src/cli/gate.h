/* Gates: a recording of what a model says, computes and costs on a device, and its comparison with another one. A
 * change that is to change nothing is proved by them. Recorded, checked and compared by npu gate (cmd_gate.c); the
 * folder's format is in docs/gates.md.
 */
#ifndef NPU_CLI_GATE_H
#define NPU_CLI_GATE_H

#include <jansson.h>

#include "cli/cli.h"
#include "plan/plan.h"

enum { GATE_VERSION = 1, GATE_TOKENS = 24, GATE_RUNS = 5, GATE_KEPT_ROWS = 4 };

/* One bit for each gate, in the exit status GATE_EXIT + the gates that failed. */
enum { GATE_TEXT = 1, GATE_LOGITS = 2, GATE_PROFILE = 4, GATE_PLAN = 8, GATE_COUNT = 4, GATE_EXIT = 16 };

typedef struct gate_recording {
    json_t *doc; /* gate.json */
    float *kept; /* the last rows of every logits prompt, kept_rows x n_vocab in all */
    uint64_t kept_rows;
    uint32_t n_vocab;
    npu_plan *plan;       /* of a recording that was read; NULL when it can't be */
    npu_error plan_error; /* why it can't */
} gate_recording;

void cli_gate_free(gate_recording *r);

/* gate_measure.c: runs everything on the session's context: the prompts of |was|, or the built-in ones when NULL. With
 * --against also the distance from that. Returns 0 or an exit code after printing. */
int cli_gate_measure(const cli_options *o, const cli_session *session, const gate_recording *was, gate_recording *out);

/* gate_file.c: gate.json, logits.f32 and plan.json in a folder. The options that a recording was made with are part of
 * it; reading back, those that |o| does not give come from there, as strings that |r| owns. */
int cli_gate_write(const char *dir, const cli_options *o, const cli_session *session, gate_recording *r);
int cli_gate_read(const char *dir, gate_recording *r);
void cli_gate_options(const gate_recording *r, cli_options *o);

/* gate_schema.c: whether r->doc, read from |path|, has all fields but its options; sets kept_rows and n_vocab. */
int cli_gate_check(const char *path, gate_recording *r);

/* gate_compare.c: what is different, printed as lines or JSON. Returns the bits of the gates that failed. */
unsigned cli_gate_compare(const cli_options *o, const gate_recording *was, const gate_recording *now,
                          const npu_plan *plan_now);

#endif
