/* Why an NPU program could not be opened, beyond the code that FastRPC has for it: looks at the files of the folder it
 * should come from. Asked after a failure only. */
#include "target/hexagon/hexagon_program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { IDENT_BYTES = 16, HEADER_BYTES = 64, SEGMENT_BYTES = 56, MOST_SEGMENTS = 64 };

/* Where the numbers stand that say how long an ELF file is. */
static const struct layout {
    unsigned word, segments_at, sections_at, counts_at, offset_at, size_at;
} layouts[] = {{4, 28, 32, 42, 4, 16}, {8, 32, 40, 54, 8, 32}};

static uint64_t number(const uint8_t *p, unsigned bytes) {
    uint64_t n = 0;
    for (unsigned i = bytes; i-- > 0;) n = n << 8 | p[i];
    return n;
}

/* Bytes up to the end of what the headers name; 0 when it is no ELF file of 32 or 64 bits, little endian. */
static uint64_t told_bytes(FILE *f) {
    uint8_t h[HEADER_BYTES] = {0}, segment[SEGMENT_BYTES];
    if (fread(h, 1, sizeof h, f) < IDENT_BYTES ||
        memcmp(h,
               "\x7f"
               "ELF",
               4) ||
        h[4] < 1 || h[4] > 2 || h[5] != 1)
        return 0;
    const struct layout *l = &layouts[h[4] - 1];
    const uint8_t *counts = h + l->counts_at;
    uint64_t segments = number(h + l->segments_at, l->word), sections = number(h + l->sections_at, l->word);
    uint64_t each = number(counts, 2), n = number(counts + 2, 2), end = segments + each * n;
    uint64_t sections_end = sections + number(counts + 4, 2) * number(counts + 6, 2);
    if (sections_end > end) end = sections_end;
    for (uint64_t i = 0; i < n && i < MOST_SEGMENTS && each <= sizeof segment; i++) {
        if (fseek(f, (long)(segments + i * each), SEEK_SET) || fread(segment, 1, each, f) != each) break;
        uint64_t segment_end = number(segment + l->offset_at, l->word) + number(segment + l->size_at, l->word);
        if (segment_end > end) end = segment_end;
    }
    return end;
}

/* Fills |text| when something is wrong with the file. */
static bool check_file(const char *path, char *text, size_t size) {
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st)) {
        snprintf(text, size, "%s can't be read: %s", path, strerror(errno));
        if (f) fclose(f);
        return true;
    }
    uint64_t told = told_bytes(f), is = (uint64_t)st.st_size;
    fclose(f);
    if (!told) snprintf(text, size, "%s is no program (ELF file)", path);
    if (told > is)
        snprintf(text, size, "%s is cut off: it has %llu bytes, its headers say %llu", path, (unsigned long long)is,
                 (unsigned long long)told);
    return !told || told > is;
}

bool npu_hex_program_fault(const char *folder, unsigned arch, char *text, size_t size) {
    char name[32], path[1024];
    struct dirent *entry;
    bool found = false, wrong = false;
    int length = snprintf(name, sizeof name, "libnpu-htp-v%u.", arch);
    DIR *dir = opendir(folder);
    if (!dir) {
        snprintf(text, size, "the folder of the NPU programs, %s: %s", folder, strerror(errno));
        return true;
    }
    while (!wrong && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, name, (size_t)length)) continue;
        found = true;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        wrong = check_file(path, text, size);
    }
    closedir(dir);
    if (!found) snprintf(text, size, "%s has no NPU program %s*", folder, name);
    return wrong || !found;
}
