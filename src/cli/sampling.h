/* The sampler that the flags ask for. */
#ifndef NPU_CLI_SAMPLING_H
#define NPU_CLI_SAMPLING_H

#include "cli/cli.h"

/* Checks the sampling flags against each other and makes the sampler. Returns 0 or an exit code after printing. */
int cli_check_sampling(const cli_options *o);
int cli_sampler_open(const cli_options *o, uint32_t n_vocab, npu_sampler **out);

#endif
