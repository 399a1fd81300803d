/* What commands read: files, prompts and lists of token ids; and what they leave behind when they fail. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 30 };

static int read_stream(FILE *f, const char *path, char **text, size_t *size) {
    size_t cap = 4096, used = 0, n;
    char *buffer = malloc(cap + 1);
    while (buffer && !feof(f) && !ferror(f)) {
        n = fread(buffer + used, 1, cap - used, f);
        used += n;
        if (used < cap) continue;
        if (cap >= FILE_MAX) {
            free(buffer);
            return cli_usage("%s: larger than 1 GiB", path);
        }
        char *more = realloc(buffer, cap * 2 + 1);
        if (!more) free(buffer);
        buffer = more;
        cap *= 2;
    }
    if (!buffer) {
        return cli_error("%s: out of memory", path);
    }
    if (ferror(f)) {
        free(buffer);
        return cli_error("%s: %s", path, strerror(errno));
    }
    buffer[used] = 0;
    *text = buffer;
    *size = used;
    return 0;
}

int cli_read_file(const char *path, char **text, size_t *size) {
    *text = NULL;
    *size = 0;
    if (!strcmp(path, "-")) return read_stream(stdin, "standard input", text, size);
    FILE *f = fopen(path, "rb");
    if (!f) {
        return cli_error("%s: %s", path, strerror(errno));
    }
    int bad = read_stream(f, path, text, size);
    fclose(f);
    return bad;
}

void cli_discard(const char *path) {
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) unlink(path);
}

int cli_read_prompt(const cli_options *o, char **text, size_t *size) {
    *text = NULL;
    *size = 0;
    if (o->file) return cli_read_file(o->file, text, size);
    if (o->prompt) {
        *size = strlen(o->prompt);
        *text = strdup(o->prompt);
        if (*text) return 0;
        return cli_error("out of memory");
    }
    return isatty(STDIN_FILENO) ? 0 : cli_read_file("-", text, size);
}

/* One id ends at a comma, white space or the end of the text. Two commas are a lost id, and not passed over. */
static int parse_ids(const char *text, int32_t *ids, size_t *count) {
    static const char blank[] = " \t\r\n";
    const char *p = text + strspn(text, blank);
    *count = 0;
    while (*p) {
        char *end;
        errno = 0;
        long id = strtol(p, &end, 10);
        if (end == p || errno || id < 0 || id > INT32_MAX || (*end && !strchr(", \t\r\n", *end)))
            return cli_usage("--ids: '%.20s' is not a token id", p);
        ids[(*count)++] = (int32_t)id;
        p = end + strspn(end, blank);
        if (*p != ',') continue;
        p += 1 + strspn(p + 1, blank);
        if (!*p || *p == ',') return cli_usage("--ids: no token id after comma %zu", *count);
    }
    return 0;
}

int cli_read_ids(const char *list, int32_t **ids, size_t *count) {
    char *text = NULL;
    size_t size;
    *ids = NULL;
    *count = 0;
    if (!list) return cli_usage("no token ids: give them with --ids LIST or --ids @FILE");
    if (list[0] == '@') {
        int bad = cli_read_file(list + 1, &text, &size);
        if (bad) return bad;
        if (text && memchr(text, 0, size)) {
            free(text);
            return cli_usage("--ids: %s holds a zero byte", list + 1);
        }
        list = text;
    }
    *ids = list ? malloc((strlen(list) / 2 + 1) * sizeof **ids) : NULL;
    int bad = *ids ? parse_ids(list, *ids, count) : cli_error("out of memory");
    free(text);
    return bad;
}
