/* What the commands share: exit codes, messages, opening a model with flags, signals. */
#ifndef NPU_CLI_H
#define NPU_CLI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "cli/options.h"
#include "npu/npu.h"

enum { CLI_REMAPPED_LEAST = 256 << 10 }; /* bytes a token that are told; less may be first mappings of batches */
enum { CLI_MIB = 1 << 20 };              /* sizes of memory and files are printed in MiB, rates in powers of ten */

enum {
#define CLI_EXIT(NAME, value, text) CLI_EXIT_##NAME = (value),
#include "cli/exit.def"
};

/* Print a line, and a part of one. Names of files, and what files and devices say, go out through these: what is no
 * printable text in them (control characters, bytes that are not UTF-8) becomes '?', so that no file speaks to the
 * user's terminal. A text in |format| has no newline for that reason. */
__attribute__((format(printf, 2, 3))) void cli_line(FILE *out, const char *format, ...);
__attribute__((format(printf, 2, 3))) void cli_part(FILE *out, const char *format, ...);

/* Print "npu: error: TEXT" to stderr and return CLI_EXIT_USAGE or CLI_EXIT_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_error(const char *format, ...);

/* What the library says, where it says `ctx` of a parameter by its name, as users of this program know it: --ctx. */
enum { CLI_TEXT = 1024 }; /* of npu_log's lines, the longest; a flag is no longer than a name and its marks */
const char *cli_flags_in(const char *text, char out[CLI_TEXT]);

/* Prints the error as one line and returns the exit code of its status. */
int cli_fail(const npu_error *err);
/* The same of what a file holds: the line begins with its name ("-": standard input). */
int cli_fail_in(const char *path, const npu_error *err);

/* Prints a command's JSON result, takes it over, and returns 0. NULL, which is what jansson makes of text that is not
 * UTF-8 and of numbers that JSON has no word for, is an error, never an empty result. */
struct json_t;
int cli_print_json(struct json_t *root, size_t flags);

/* Add |value|, which is taken over, to an object or list. Without memory the whole becomes NULL, never less than asked.
 */
void cli_json_set(struct json_t **object, const char *key, struct json_t *value);
void cli_json_add(struct json_t **list, struct json_t *value);

/* Ctrl-C. Until a command says that it looks, and for the second one, the process ends at once, with one line and
 * CLI_EXIT_CANCELLED; the first one after that sets |cli_interrupted|. cli_go_on: CANCELLED then, for loops of work. */
extern atomic_int cli_interrupted;
void cli_catch_interrupt(void);
void cli_look_for_interrupt(void);
npu_status cli_go_on(npu_error *err);

/* Without --quiet, on stderr: "|what| |done| of |all|". On a terminal in its last line, which is empty again at the
 * end; elsewhere a line of its own, but only of work that takes long, one in half a minute. */
void cli_progress(const cli_options *o, const char *what, size_t done, size_t all);

/* Turns SIGBUS on a mapped file that shrank into one line and exit code 1. */
void cli_catch_shrunk_file(void);

/* A vendor's library that never comes back ends the process, with one line and its exit code. */
void cli_end_when_stuck(void);

/* Lets the vendors' libraries find the folder of --kernels, by the environment: only while there are no other threads.
 * 0, or the exit code. In main.c. */
int cli_show_kernels(const cli_options *o);

/* A model and a context opened as the flags say. */
typedef struct cli_session {
    npu_model *model;
    npu_context *context;
    struct cli_profile *profile; /* --profile: of |context|, printed to stderr when the session closes */
    const char *trace;           /* --trace: where |context| writes one; NULL = nowhere */
} cli_session;

/* Refuses an unknown --npu-target before any file or device is opened, then opens the model only. Returns 0 or an exit
 * code after printing. Close with cli_close even after failure. */
int cli_open_model(const cli_options *o, bool with_tokenizer, cli_session *out);
int cli_open_context(const cli_options *o, cli_session *session);
/* Ends what goes with the session: its profile is printed, its trace finished. Returns |bad|, or when that is 0 the
 * exit code of a trace that could not be written. */
int cli_close(cli_session *session, int bad);

/* A second context of the session's model, on the CPU, in the mode that --against says. Close it before the session. */
int cli_open_reference(const cli_options *o, const cli_session *session, npu_context **out);

/* The NPU target to use: the one that is named, or for --device npu and auto the first that finds its device; NULL is
 * the CPU. Returns 0 or an exit code after printing. */
int cli_choose_target(const cli_options *o, const char **name);

/* The hash of the plan that the open context obeys: part of every figure of npu bench. */
const char *cli_plan_hash(const cli_session *session);

/* The context parameters that the flags say. */
npu_context_params cli_context_params(const cli_options *o);
npu_logger cli_logger(const cli_options *o);

/* --npu-target names a target of this build, and what else is said of it can be meant: else refused, before anything is
 * opened. Returns 0 or an exit code after printing. */
int cli_check_target(const cli_options *o);

/* What --emu may set, for --npu-target or the first target that has emulated devices: one line a key. */
npu_status cli_emu_keys(const cli_options *o, const char **keys, npu_error *err);
/* If one of the --emu is "help": prints that, sets |*bad| and returns true. */
bool cli_emu_help(const cli_options *o, int *bad);

/* --ids: a list or @FILE. The caller frees |*ids|. Returns 0 or an exit code after printing. */
int cli_read_ids(const char *list, int32_t **ids, size_t *count);

/* The prompt from -p, -f or, when neither is given and it is not a terminal, standard input. The caller frees |*text|;
 * NULL when there is none. Returns 0 or an exit code after printing. */
int cli_read_prompt(const cli_options *o, char **text, size_t *size);

/* Removes a result that is not whole; devices and pipes are not ours to remove. */
void cli_discard(const char *path);

/* output.c: whether a result would be written over a file that is read (before any is), over another result, or over a
 * part of the open model. Return 0 or an exit code after printing. */
int cli_check_results(const cli_options *o);
int cli_check_parts(const cli_options *o, const npu_model *model);

/* A file that appears under its name when it is whole. Closing takes what went wrong so far, and removes what
 * is not whole; a zeroed one may be closed. Both return 0 or an exit code after printing. */
typedef struct cli_output {
    FILE *file;
    const char *path;
    char *part; /* the name until it is whole; NULL when that is |path| */
} cli_output;
int cli_output_open(const char *path, cli_output *out);
int cli_output_close(cli_output *out, int bad);
/* For handlers of signals that end the process: removes the file that is not whole, if there is one. */
void cli_output_abandon(void);

/* A whole file ("-" is standard input) into memory; the caller frees. */
int cli_read_file(const char *path, char **text, size_t *size);

/* The grammar that --json-schema or --json-mode ask for; NULL for none. Returns 0 or an exit code after printing. */
int cli_open_grammar(const npu_model *model, const char *schema_path, bool any_object, npu_grammar **out);

double cli_now(void);           /* monotonic seconds */
uint64_t cli_peak_memory(void); /* VmHWM in bytes, 0 = unknown */

int cli_run(const cli_options *o);
int cli_logits(const cli_options *o);
int cli_info(const cli_options *o);
int cli_tokenize(const cli_options *o);
int cli_chat_template(const cli_options *o);
int cli_plan(const cli_options *o);
int cli_devices(const cli_options *o);
int cli_bench(const cli_options *o);
int cli_eval(const cli_options *o);
int cli_conform(const cli_options *o);
int cli_gate(const cli_options *o);
int cli_cache(const cli_options *o);

#endif
