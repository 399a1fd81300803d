/* What the files of npu bench share. */
#ifndef NPU_CLI_BENCH_H
#define NPU_CLI_BENCH_H

#include "cli/cli.h"

/* Token ids that are the same in every run and on every machine. */
void cli_bench_fill(npu_row *rows, uint32_t n, uint32_t n_vocab);
double cli_bench_median(double *values, int n); /* sorts them, the least first */

/* Measures decoding with --json-schema and without, after |prompt| tokens, one at least. Returns 0 or an exit code
 * after printing. */
int cli_bench_schema(const cli_options *o, cli_session *session, uint32_t prompt, uint32_t gen, int runs);

/* Measures what the machine can do at most: --roofline. */
int cli_bench_roofline(const cli_options *o);

/* Measures single ops of a gemv-class target, without a model: --ops. Others are refused, as they would be measured
 * without resident weights. */
int cli_bench_ops(const cli_options *o);

/* Prints what a cost model makes of the plan for 1 to 4 NPUs: --estimate. */
int cli_bench_estimate(const cli_options *o);

/* Measures how fast a target packs weights, without a model or a device: --repack. */
int cli_bench_repack(const cli_options *o);

#endif
