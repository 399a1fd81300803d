/* The command line as data: commands, flags, and the struct that parsing fills. Only main.c reads argv and the
 * environment. */
#ifndef NPU_CLI_OPTIONS_H
#define NPU_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/context.h"
#include "npu/sampler.h"

/* Which commands know a flag. */
enum {
    CLI_COMMON = 1 << 0,
    CLI_MODEL = 1 << 1,
    CLI_PROMPT = 1 << 2,
    CLI_GEN = 1 << 3,
    CLI_SAMPLE = 1 << 4,
    CLI_SEED = 1 << 5,
    CLI_CONTEXT = 1 << 6,
    CLI_DEVICE = 1 << 7,
    CLI_JSON = 1 << 8,
    CLI_IDS = 1 << 9,
    CLI_OUTPUT = 1 << 10,
    CLI_LOGITS = 1 << 11,
    CLI_TOKENIZE = 1 << 12,
    CLI_BENCH = 1 << 13,
    CLI_EVAL = 1 << 14,
    CLI_PLAN = 1 << 15,
    CLI_CONFORM = 1 << 16,
    CLI_TEMPLATE = 1 << 17,
    CLI_MESSAGES = 1 << 18,
    CLI_ARCH = 1 << 19,
    CLI_SCHEMA = 1 << 20,
    CLI_PLACE = 1 << 21,  /* NPU or CPU */
    CLI_SUBMIT = 1 << 22, /* of those that open a session with an NPU */
    CLI_CPU = 1 << 23,
    CLI_PROFILE = 1 << 24,
    CLI_TOKENS = 1 << 25,
    CLI_RUNS = 1 << 26,
    CLI_AGAINST = 1 << 27,
    CLI_TRACE = 1 << 28,
    CLI_CACHE = 1 << 29, /* of those that pack weights */
};

enum { CLI_LIST_MAX = 32, CLI_POSITIONAL_MAX = 3 };

typedef const char *cli_TEXT;
typedef const char *cli_WORD;
typedef int64_t cli_COUNT;
typedef double cli_NUMBER;
typedef bool cli_SWITCH;
typedef const char *cli_LIST[CLI_LIST_MAX + 1]; /* NULL-terminated */

/* One bit per flag in |given|, in table order. */
enum {
#define CLI_OPTION(kind, field, name, letter, arg, groups, min, max, help) CLI_OPT_##field,
#include "cli/options.def"
    CLI_OPT_LIMIT
};

typedef struct cli_options {
    bool given[CLI_OPT_LIMIT];
#define CLI_OPTION(kind, field, name, letter, arg, groups, min, max, help) cli_##kind field;
#include "cli/options.def"
    const char *positional[CLI_POSITIONAL_MAX];
    int n_positional;
    char cache[4096];          /* the user's cache folder of this program, from the environment; "" = none */
    const char *cache_problem; /* why there is none */
} cli_options;

typedef struct cli_command {
    const char *name;
    const char *operands; /* "FILE" or "" */
    const char *summary;
    uint32_t groups;
    int positional;                         /* how many operands it needs */
    int (*run)(const cli_options *options); /* returns the exit code */
    int optional;                           /* how many more it may have */
} cli_command;

/* Parses argv after the command's name into |out|. Returns 0, or prints one line to stderr and returns CLI_EXIT_USAGE.
 */
int cli_parse(const cli_command *command, int argc, char **argv, cli_options *out);

/* Flags that can't be meant together, and values that the table can't check. Called by cli_parse; same result. */
int cli_check_options(const cli_options *options);

/* The name of a flag, CLI_OPT_FIELD. */
const char *cli_option_name(int option);
const char *cli_option_of(const char *field, size_t n); /* of the flag with that field; NULL: none */
bool cli_option_takes(int option, double value);        /* whether a number is in the option's range */

/* The flags that were given, but the |n| of |without|, as a shell takes them, each after a blank. */
void cli_print_given(const cli_options *options, const int *without, size_t n);

void cli_print_help(const cli_command *command);

#endif
