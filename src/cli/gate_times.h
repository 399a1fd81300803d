/* What the runs of one piece of work come to in a gate: the fastest and the second fastest time of each row of their
 * profiles. */
#ifndef NPU_CLI_GATE_TIMES_H
#define NPU_CLI_GATE_TIMES_H

#include <jansson.h>

#include "cli/profile.h"

/* The smallest and the second smallest of a row's times; UINT64_MAX when there were fewer runs. */
typedef struct gate_fastest {
    uint64_t first, second;
} gate_fastest;

/* What all runs of one row come to. */
typedef struct gate_row_times {
    gate_fastest time;
    uint64_t phases[CLI_PHASES]; /* the smallest of each */
    uint64_t retries;            /* of all runs */
} gate_row_times;

typedef struct gate_times {
    gate_row_times rows[CLI_PROFILE_ROWS];
    gate_fastest cpu; /* of a fixed piece of work for one core */
} gate_times;

void cli_gate_times_begin(gate_times *times);
/* Does that piece of work: how fast the machine is at the moment. */
void cli_gate_times_calibrate(gate_times *times);
/* One run; all have the same rows. */
void cli_gate_times_add(gate_times *times, const cli_profile *run);
/* The "profile" of a gate's recording; calls and rows are those of |last|, any of the |runs|. */
json_t *cli_gate_times_json(const gate_times *times, const cli_profile *last, int runs);

#endif
