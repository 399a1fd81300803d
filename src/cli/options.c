/* Parsing by the flag table. Every error is one line that names the flag and its range. */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum kind { KIND_TEXT, KIND_WORD, KIND_COUNT, KIND_NUMBER, KIND_SWITCH, KIND_LIST } kind;

static const struct option {
    kind kind;
    size_t offset;
    const char *field;
    const char *name;
    char letter;
    const char *arg;
    uint32_t groups;
    double min, max;
    const char *help;
} options[] = {
#define CLI_OPTION(kind, field, name, letter, arg, groups, min, max, help)                                             \
    {KIND_##kind, offsetof(cli_options, field), #field, name, letter, arg, CLI_##groups, (double)(min), (double)(max), \
     help},
#include "cli/options.def"
};

bool cli_option_takes(int option, double value) {
    return value >= options[option].min && value <= options[option].max;
}

static const struct option *find(const char *arg, size_t len) {
    for (int i = 0; i < CLI_OPT_LIMIT; i++) {
        bool is_long = strlen(options[i].name) == len && !memcmp(options[i].name, arg, len);
        bool is_short = len == 2 && arg[0] == '-' && options[i].letter && arg[1] == options[i].letter;
        if (is_long || is_short) return &options[i];
    }
    return NULL;
}

/* Decimal, as the help says: the C library also takes blanks, a plus sign and hexadecimal. */
static bool is_plain(const char *value) {
    return !value[strspn(value, "0123456789-.eE+")] && *value != '+';
}

static int set_count(const struct option *o, const char *value, int64_t *out) {
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (end == value || *end || !is_plain(value) || errno || (double)n < o->min || (double)n > o->max) {
        /* as a double, INT64_MAX is one more than itself */
        long long max = o->max < (double)INT64_MAX ? (long long)o->max : INT64_MAX;
        return cli_usage("%s: '%s' is not a whole number from %.0f to %lld", o->name, value, o->min, max);
    }
    *out = n;
    return 0;
}

static int set_number(const struct option *o, const char *value, double *out) {
    char *end;
    errno = 0;
    double n = strtod(value, &end);
    if (end == value || *end || !is_plain(value) || !isfinite(n) || n < o->min || n > o->max)
        return cli_usage("%s: '%s' is not a number from %g to %g", o->name, value, o->min, o->max);
    *out = n;
    return 0;
}

/* |o->arg| lists the words: "a|b|c". */
static int set_word(const struct option *o, const char *value, const char **out) {
    size_t n = strlen(value);
    for (const char *at = o->arg;; at++) {
        size_t len = strcspn(at, "|");
        *out = value;
        if (len == n && !memcmp(at, value, n)) return 0;
        at += len;
        if (!*at && !strchr(o->arg, '|')) return cli_usage("%s: takes %s alone, not '%s'", o->name, o->arg, value);
        if (!*at) return cli_usage("%s: '%s' is none of %s", o->name, value, o->arg);
    }
}

/* What a script's unset variable must not turn into a message without a name. A text may well be empty; a target of
 * that name is refused like any other that isn't there. */
static bool is_name(const struct option *o) {
    static const char *const names[] = {"FILE", "DIR", "NAME", "A"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(o->arg, names[i])) return o->offset != offsetof(cli_options, npu_target);
    return false;
}

static int set(const struct option *o, const char *value, cli_options *out) {
    void *field = (char *)out + o->offset;
    bool single = o->kind != KIND_SWITCH && o->kind != KIND_LIST;
    if (single && out->given[o - options]) return cli_usage("%s: given more than once", o->name);
    out->given[o - options] = true;
    switch (o->kind) {
    case KIND_TEXT:
        if (!*value && is_name(o)) return cli_usage("%s: an empty value is no %s", o->name, o->arg);
        *(const char **)field = value;
        return 0;
    case KIND_WORD:
        return set_word(o, value, field);
    case KIND_SWITCH:
        *(bool *)field = true;
        return 0;
    case KIND_COUNT:
        return set_count(o, value, field);
    case KIND_NUMBER:
        return set_number(o, value, field);
    case KIND_LIST: {
        const char **list = field;
        int n = 0;
        while (list[n]) n++;
        if (n == CLI_LIST_MAX) return cli_usage("%s: given more than %d times", o->name, CLI_LIST_MAX);
        list[n] = value;
        return 0;
    }
    }
    return 0;
}

static int parse_one(const cli_command *command, int argc, char **argv, int *i, cli_options *out) {
    const char *arg = argv[*i];
    const char *equals = !strncmp(arg, "--", 2) ? strchr(arg, '=') : NULL;
    const struct option *o = find(arg, equals ? (size_t)(equals - arg) : strlen(arg));
    if (!o) return cli_usage("unknown flag %s (npu %s --help lists the flags)", arg, command->name);
    if (!(o->groups & (command->groups | CLI_COMMON)))
        return cli_usage("npu %s has no flag %s (npu %s --help lists the flags)", command->name, o->name,
                         command->name);
    if (o->kind == KIND_SWITCH) {
        if (equals) return cli_usage("%s takes no value", o->name);
        return set(o, NULL, out);
    }
    if (equals) return set(o, equals + 1, out);
    if (++*i >= argc) return cli_usage("%s needs a value: %s", o->name, o->arg);
    return set(o, argv[*i], out);
}

int cli_parse(const cli_command *command, int argc, char **argv, cli_options *out) {
    bool only_operands = false;
    *out = (cli_options){0};
    for (int i = 0; i < argc; i++) {
        if (!only_operands && !strcmp(argv[i], "--")) {
            only_operands = true;
        } else if (only_operands || argv[i][0] != '-' || !argv[i][1]) {
            if (out->n_positional == command->positional + command->optional)
                return cli_usage("npu %s: '%s' is one operand too many%s", command->name, argv[i],
                                 command->groups & CLI_MODEL && !out->model ? " (a model is given with --model FILE)"
                                                                            : "");
            if (!*argv[i]) return cli_usage("npu %s: operand %d is empty", command->name, out->n_positional + 1);
            out->positional[out->n_positional++] = argv[i];
        } else {
            int bad = parse_one(command, argc, argv, &i, out);
            if (bad) return bad;
        }
    }
    if (out->n_positional < command->positional) return cli_usage("npu %s needs %s", command->name, command->operands);
    return cli_check_options(out);
}

const char *cli_option_name(int option) {
    return options[option].name;
}

const char *cli_option_of(const char *field, size_t n) {
    for (int i = 0; i < CLI_OPT_LIMIT; i++)
        if (strlen(options[i].field) == n && !memcmp(options[i].field, field, n)) return options[i].name;
    return NULL;
}

static bool is_printable(char c) {
    return c >= ' ' && c <= '~';
}

/* In single quotes where a shell would make something of it, and by number where a terminal would. */
static void print_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    bool coded = false;
    if (*word && !word[strspn(word, plain)]) {
        printf(" %s", word);
        return;
    }
    for (const char *at = word; *at; at++) coded |= !is_printable(*at);
    fputs(coded ? " $'" : " '", stdout);
    for (; *word; word++) {
        if (coded && (*word == '\'' || *word == '\\' || !is_printable(*word))) {
            printf("\\%03o", (unsigned)(unsigned char)*word);
        } else {
            fputs(*word == '\'' ? "'\\''" : (char[]){*word, 0}, stdout);
        }
    }
    putchar('\'');
}

static void print_given(const struct option *o, const void *field) {
    const char *const *list = field;
    switch (o->kind) {
    case KIND_TEXT:
    case KIND_WORD:
        printf(" %s", o->name);
        print_word(*list);
        break;
    case KIND_SWITCH:
        printf(" %s", o->name);
        break;
    case KIND_COUNT:
        printf(" %s %lld", o->name, (long long)*(const int64_t *)field);
        break;
    case KIND_NUMBER:
        printf(" %s %.17g", o->name, *(const double *)field);
        break;
    case KIND_LIST:
        for (; *list; list++) {
            printf(" %s", o->name);
            print_word(*list);
        }
    }
}

void cli_print_given(const cli_options *given, const int *without, size_t n) {
    for (int i = 0; i < CLI_OPT_LIMIT; i++) {
        bool left_out = !given->given[i];
        for (size_t k = 0; k < n; k++) left_out = left_out || without[k] == i;
        if (!left_out) print_given(&options[i], (const char *)given + options[i].offset);
    }
}

/* Of what has one in practice; in the words of the error. */
static void print_range(const struct option *o) {
    if (o->kind == KIND_COUNT && o->max < INT32_MAX) printf("; %.0f to %.0f", o->min, o->max);
    if (o->kind == KIND_NUMBER) printf("; %g to %g", o->min, o->max);
    putchar('\n');
}

void cli_print_help(const cli_command *command) {
    printf("npu %s%s%s [flags]: %s\n\n", command->name, *command->operands ? " " : "", command->operands,
           command->summary);
    for (int i = 0; i < CLI_OPT_LIMIT; i++) {
        const struct option *o = &options[i];
        if (!(o->groups & (command->groups | CLI_COMMON))) continue;
        char left[64];
        snprintf(left, sizeof left, "%c%c%s %s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                 o->letter ? "," : " ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        printf("  %-28s %s", left, o->help);
        print_range(o);
    }
}
