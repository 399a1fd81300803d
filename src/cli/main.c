/* The npu command: finds the command, parses its flags, runs it, and fails when its output did not get out. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "target/target.h"

enum {
    PLAN_GROUPS = CLI_MODEL | CLI_CONTEXT | CLI_CPU | CLI_PLACE | CLI_DEVICE,
    CONTEXT_GROUPS = PLAN_GROUPS | CLI_SUBMIT | CLI_PROFILE | CLI_TRACE | CLI_CACHE,
};

static const cli_command commands[] = {
    {"run", "", "answer or continue a prompt; without one, on a terminal: talk (/new begins anew, Ctrl-D leaves)",
     CONTEXT_GROUPS | CLI_PROMPT | CLI_GEN | CLI_TOKENS | CLI_TEMPLATE | CLI_SCHEMA | CLI_SAMPLE | CLI_SEED | CLI_JSON,
     0, cli_run},
    {"bench", "", "measure prefill and decode speed", CONTEXT_GROUPS | CLI_BENCH | CLI_RUNS | CLI_SCHEMA | CLI_JSON, 0,
     cli_bench},
    {"logits", "", "write the logits after every given token", CONTEXT_GROUPS | CLI_IDS | CLI_OUTPUT | CLI_LOGITS, 0,
     cli_logits},
    {"tokenize", "", "text to token ids, or back", CLI_MODEL | CLI_PROMPT | CLI_IDS | CLI_TOKENIZE, 0, cli_tokenize},
    {"chat-template", "", "print the prompt that a chat template makes of messages",
     CLI_MODEL | CLI_TEMPLATE | CLI_MESSAGES | CLI_JSON, 0, cli_chat_template},
    {"eval", "", "perplexity of a text, and distance from the exact mode",
     CONTEXT_GROUPS | CLI_EVAL | CLI_AGAINST | CLI_JSON, 0, cli_eval},
    {"info", "FILE", "what a model file holds", CLI_JSON, 1, cli_info},
    {"plan", "", "print or write what runs where, and why; --diff A B: compare two plans",
     PLAN_GROUPS | CLI_SUBMIT | CLI_CACHE | CLI_PROFILE | CLI_ARCH | CLI_PLAN | CLI_OUTPUT, 0, cli_plan, 1},
    {"devices", "", "what this machine has; opens no session", CLI_DEVICE | CLI_ARCH | CLI_JSON, 0, cli_devices},
    {"conform", "", "compare every op of a target with the host reference",
     CLI_PLACE | CLI_DEVICE | CLI_SUBMIT | CLI_CPU | CLI_CONFORM | CLI_SEED | CLI_PROFILE, 0, cli_conform},
    {"gate", "record|check|compare [DIR [DIR]]", "prove that a change changed no text, number, plan or time",
     PLAN_GROUPS | CLI_SUBMIT | CLI_CACHE | CLI_OUTPUT | CLI_TOKENS | CLI_RUNS | CLI_AGAINST | CLI_JSON | CLI_PROFILE,
     1, cli_gate, 2},
    {"cache", "ls|clean [MODEL]",
     "list or remove packed weights that earlier runs left; MODEL is a model file or its name", CLI_JSON, 1, cli_cache,
     1},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const cli_command *find_command(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(name, commands[i].name)) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    return cli_usage("unknown command '%s' (npu --help lists the commands)", name);
}

static void print_overview(FILE *out) {
    fprintf(out, "npu %s: GGUF language models on NPUs and CPUs\n\n", npu_version());
    for (int i = 0; i < COMMAND_COUNT; i++) {
        char left[64];
        int must = (int)strcspn(commands[i].operands, " "); /* the rest is in the command's own help */
        snprintf(left, sizeof left, "%s %.*s", commands[i].name, must, commands[i].operands);
        fprintf(out, "  npu %-26s %s\n", left, commands[i].summary);
    }
    fprintf(out, "\nnpu COMMAND --help lists a command's flags. Exit codes:\n");
#define CLI_EXIT(NAME, value, text) fprintf(out, "  %d %s\n", value, text);
#include "cli/exit.def"
    fprintf(out, "npu gate: 16 + the gates that failed.\n");
}

/* A standard stream that the caller closed must not become the number of a file that is opened later: then a result
 * printed to it would land in that file. What stands in for it can't be used either, and says so. */
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) return;
}

/* A result that could not be written (a full disk, a reader that left) is a failure, whatever the command thinks. */
static int finish(int code) {
    bool failed = ferror(stdout) != 0;
    int why = 0;
    if (fflush(stdout) != 0) {
        why = errno;
        failed = true;
    }
    if (!failed || code != CLI_EXIT_OK) return code;
    return cli_error("can't write to standard output: %s", why ? strerror(why) : "output was lost");
}

/* Where generated files are kept, as the XDG rules say; a name that is not absolute counts for nothing. NPU_NO_CACHE is
 * --no-cache for all commands: what is to see packing itself must not depend on earlier runs. */
static void find_cache(const cli_command *command, cli_options *o) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = xdg && xdg[0] == '/'     ? snprintf(o->cache, sizeof o->cache, "%s/npu", xdg)
            : home && home[0] == '/' ? snprintf(o->cache, sizeof o->cache, "%s/.cache/npu", home)
                                     : 0;
    const char *off = getenv("NPU_NO_CACHE");
    if (off && off[0]) o->no_cache = true;
    if (!n) o->cache_problem = "neither XDG_CACHE_HOME nor HOME is an absolute path";
    if (n < (int)sizeof o->cache) return;
    o->cache[0] = 0;
    o->cache_problem = "its path is longer than the system's limit";
    if (command->groups & CLI_CACHE && !o->no_cache)
        fprintf(stderr, "npu: warning: packed weights are not kept: there is no cache folder: %s\n", o->cache_problem);
}

/* The folder of --kernels before those where the vendor's library looks (npu_target_ops.search_variable). A folder that
 * is not there, or can't be in such a list, is the target's to refuse. */
static int show_kernels(const char *kernels, const npu_target_ops *target) {
    char whole[PATH_MAX];
    const char *before = getenv(target->search_variable);
    if (!before && target->search_before) before = getenv(target->search_before);
    if (!realpath(kernels, whole) || strchr(whole, ';')) return 0;
    size_t size = strlen(whole) + (before ? strlen(before) : 0) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s%s%s", whole, before && *before ? ";" : "", before ? before : "");
    int failed = !path || setenv(target->search_variable, path, 1) != 0;
    free(path);
    return failed ? cli_error("--kernels %s: no memory for %s", kernels, target->search_variable) : 0;
}

int cli_show_kernels(const cli_options *o) {
    int bad = 0;
    for (unsigned i = 0; o->kernels_dir && npu_target_at(i) && !bad; i++) {
        const npu_target_ops *t = npu_target_at(i);
        if (t->search_variable && (!o->npu_target || !strcmp(o->npu_target, t->name)))
            bad = show_kernels(o->kernels_dir, t);
    }
    return bad;
}

static int run(const cli_command *command, int argc, char **argv) {
    if (argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) {
        cli_print_help(command);
        return CLI_EXIT_OK;
    }
    cli_options options;
    int bad = cli_parse(command, argc, argv, &options);
    if (bad || cli_emu_help(&options, &bad)) return bad;
    find_cache(command, &options);
    bad = cli_show_kernels(&options);
    if (bad) return bad;
    cli_catch_shrunk_file();
    cli_catch_interrupt();
    cli_end_when_stuck();
    return command->run(&options);
}

int main(int argc, char **argv) {
    hold_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader that left and a limit of file sizes are failed writes, not deaths */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    bool is_version = !strcmp(argv[1], "--version");
    bool is_help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help");
    int most = is_version ? 2 : 3;
    if ((is_version || is_help) && argc > most) return cli_usage("'%s' is one operand too many", argv[most]);
    if (is_version) {
        printf("npu %s\n", npu_version());
        return finish(CLI_EXIT_OK);
    }
    if (is_help) {
        const cli_command *of = argc > 2 ? find_command(argv[2]) : NULL;
        if (argc > 2 && !of) return unknown_command(argv[2]);
        if (of)
            cli_print_help(of);
        else
            print_overview(stdout);
        return finish(CLI_EXIT_OK);
    }
    const cli_command *command = find_command(argv[1]);
    return command ? finish(run(command, argc - 2, argv + 2)) : unknown_command(argv[1]);
}
