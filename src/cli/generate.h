/* One answer: prompt tokens in, text out as it comes, until something ends it. Used by npu run, once or again and
 * again. */
#ifndef NPU_CLI_GENERATE_H
#define NPU_CLI_GENERATE_H

#include <stdio.h>

#include "cli/cli.h"
#include "npu/sampler.h"
#include "sample/stop.h"
#include "tokenizer/detokenizer.h"

typedef enum cli_end {
    CLI_END_OF_TEXT,
    CLI_END_TOKENS,
    CLI_END_CONTEXT,
    CLI_END_STOP,
    CLI_END_TIME,
    CLI_END_INTERRUPT,
    CLI_END_LOST, /* the text could not be written */
} cli_end;

typedef struct cli_generator {
    const cli_options *options;
    npu_context *context;
    npu_sampler *sampler;
    npu_detokenizer *detokenizer;
    npu_stop *stop;
    npu_grammar *grammar;  /* NULL: any text */
    FILE *out;             /* where text goes as it comes; NULL = nowhere */
    npu_text text;         /* the whole answer */
    npu_token_list tokens; /* of sequence 0, then perhaps the last one, which is not computed yet */
    int32_t last;          /* the token that was sampled last in this answer; -1 = none */
    double limit;          /* seconds; -1 = none */
    int64_t most;          /* tokens of an answer; -1 = no limit */
    npu_status status;     /* of keeping the text */
    bool lost;             /* |out| takes no more */
} cli_generator;

typedef struct cli_figures {
    cli_end end;
    uint32_t prompt_tokens, tokens;
    uint32_t steps;  /* of decoding: the first token of an answer takes none, its logits are the prompt's */
    uint32_t reused; /* of the prompt: what was in the context already */
    bool cut;        /* the grammar's text is not whole, or could have gone on */
    double prefill_s, decode_s;
    double remapped_bytes; /* that the NPU mapped a decoding step: what the prompt's steps mapped had gone again */
} cli_figures;

/* Made for one context from the flags. |continues|: an answer goes on after the prompt's text, so a first space stays.
 * Returns 0 or an exit code after printing. */
int cli_generator_open(const cli_options *o, const cli_session *session, bool continues, cli_generator *out);
void cli_generator_close(cli_generator *g);

/* Makes sequence 0 the prompt, computing only what does not stand there already, and generates. A prompt that does not
 * fit is refused with both numbers before any of it is computed; CANCELLED when interrupted while the prompt is
 * computed. */
npu_status cli_generate(cli_generator *g, const int32_t *prompt, size_t n, cli_figures *out, npu_error *err);

/* As it was when it was opened: sequence 0 is empty, the sampler has seen nothing. */
npu_status cli_generator_restart(cli_generator *g, npu_error *err);

/* "end of text", "--max-tokens reached", … */
const char *cli_end_text(cli_end end);

#endif
