#include "cli/gate_times.h"

#include <string.h>

#include "cli/cli.h"

void cli_gate_times_begin(gate_times *t) {
    memset(t, 0xff, sizeof *t);
    for (int i = 0; i < CLI_PROFILE_ROWS; i++) t->rows[i].retries = 0;
}

static void add_time(gate_fastest *f, uint64_t ns) {
    if (ns < f->first) {
        f->second = f->first;
        f->first = ns;
    } else if (ns < f->second) {
        f->second = ns;
    }
}

void cli_gate_times_calibrate(gate_times *t) {
    double start = cli_now();
    volatile uint64_t sink;
    uint64_t x = 1;
    for (int i = 0; i < 1 << 22; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
    (void)sink;
    add_time(&t->cpu, (uint64_t)((cli_now() - start) * 1e9));
}

static void add_row(gate_row_times *t, const cli_profile_row *r) {
    add_time(&t->time, r->ns);
    t->retries += r->retries;
    for (int k = 0; k < CLI_PHASES; k++)
        if (r->phase_ns[k] < t->phases[k]) t->phases[k] = r->phase_ns[k];
}

static json_t *row_json(const cli_profile_row *r, const gate_row_times *t) {
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "owner", r->owner, "role", r->role, "op", r->op,
                  "calls", (json_int_t)r->calls, "rows", (json_int_t)r->rows, "fallbacks", (json_int_t)r->fallbacks,
                  "retries", (json_int_t)t->retries, "ns", (json_int_t)t->time.first, "second_ns",
                  (json_int_t)(t->time.second == UINT64_MAX ? 0 : t->time.second));
    for (int k = 0; k < CLI_PHASES; k++)
        json_object_set_new(row, cli_phase_name((cli_phase)k), json_integer((json_int_t)t->phases[k]));
    return row;
}

void cli_gate_times_add(gate_times *t, const cli_profile *run) {
    for (unsigned i = 0; i < run->n; i++) add_row(&t->rows[i], &run->rows[i]);
}

json_t *cli_gate_times_json(const gate_times *t, const cli_profile *last, int runs) {
    json_t *rows = json_array();
    for (unsigned i = 0; i < last->n; i++) json_array_append_new(rows, row_json(&last->rows[i], &t->rows[i]));
    return json_pack("{s:i, s:I, s:I, s:o}", "runs", runs, "cpu_ns", (json_int_t)t->cpu.first, "cpu_second_ns",
                     (json_int_t)t->cpu.second, "rows", rows);
}
