// See faults.h.
#include "faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENT "event."

static const struct {
    const char *name;
    enum emu_fault_action action;
    int has_value;
} actions[] = {
    {"code:", EMU_FAULT_CODE, 1},  {"delay:", EMU_FAULT_DELAY, 1}, {"hang", EMU_FAULT_HANG, 0},
    {"die", EMU_FAULT_DIE, 0},     {"exit", EMU_FAULT_EXIT, 0},    {"restart", EMU_FAULT_RESTART, 0},
    {"short", EMU_FAULT_SHORT, 0}, {"short:", EMU_FAULT_SHORT, 1},
};

static int read_number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 0);
    return end == text || *end || errno ? -1 : 0;
}

static int read_action(const char *text, struct emu_fault_rule *rule) {
    for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++) {
        size_t n = strlen(actions[i].name);
        if (actions[i].has_value ? strncmp(text, actions[i].name, n) : strcmp(text, actions[i].name)) continue;
        rule->action = actions[i].action;
        return actions[i].has_value ? read_number(text + n, &rule->value) : 0;
    }
    return -1;
}

static int read_place(char *name, struct emu_fault_rule *rule) {
    char *at = strchr(name, '@');
    if (at) {
        int64_t n;
        size_t length = strlen(at);
        *at++ = 0;
        if (length > 2 && at[length - 2] == '+') {
            rule->from_there_on = 1;
            at[length - 2] = 0;
        }
        if (read_number(at, &n) || n < 1 || n > UINT32_MAX) return -1;
        rule->at = (uint32_t)n;
    }
    if (!*name || strlen(name) >= sizeof rule->name) return -1;
    strcpy(rule->name, name);
    return 0;
}

// The side a rule is for: EMU_FAULT_HOST, an effective domain, or INT32_MAX for every NPU process. Moves *name on.
static int read_side(char **name, int64_t *side) {
    char *colon = strchr(*name, ':'), *digits = *name + 3;
    *side = EMU_FAULT_HOST;
    if (!colon) return 0;
    if (strncmp(*name, "dsp", 3)) return -1;
    *colon = 0;
    *name = colon + 1;
    *side = INT32_MAX;
    return *digits ? read_number(digits, side) : 0;
}

static int read_any(char *text, struct emu_fault_rule *rule, int64_t *side) {
    char *equals = strchr(text, '=');
    *rule = (struct emu_fault_rule){.at = 0};
    if (!equals) return -1;
    *equals = 0;
    if (read_action(equals + 1, rule) || read_side(&text, side)) return -1;
    rule->unchecked = *side != EMU_FAULT_HOST && !strncmp(text, EVENT, strlen(EVENT));
    return read_place(text + (rule->unchecked ? strlen(EVENT) : 0), rule);
}

static int read_rule(char *text, int side, struct emu_faults *faults) {
    struct emu_fault_rule rule;
    int64_t for_side;
    if (read_any(text, &rule, &for_side)) return -1;
    if (for_side == INT32_MAX ? side == EMU_FAULT_HOST : for_side != side) return 0;
    if (faults->count == EMU_FAULT_RULES) return -1;
    faults->rules[faults->count++] = rule;
    return 0;
}

int emu_faults_parse(struct emu_faults *faults, const char *text, int side) {
    struct emu_faults read = {.count = 0};
    char *copy = strdup(text), *rest = copy, *rule;
    int result = copy ? 0 : -1;
    while (!result && (rule = strtok_r(rest, ";", &rest))) result = read_rule(rule, side, &read);
    free(copy);
    if (!result) *faults = read;
    return result;
}

static bool has_name(const char *const *list, const char *name) {
    while (*list && strcmp(*list, name)) list++;
    return *list;
}

bool emu_faults_unknown(const char *text, const struct emu_fault_names *names, char unknown[EMU_FAULT_NAME_BYTES]) {
    char *copy = strdup(text), *rest = copy, *next;
    bool found = false;
    while (copy && !found && (next = strtok_r(rest, ";", &rest))) {
        struct emu_fault_rule rule;
        int64_t side;
        if (read_any(next, &rule, &side) || rule.unchecked) continue;
        found = !has_name(side == EMU_FAULT_HOST ? names->host : names->dsp, rule.name);
        memcpy(unknown, rule.name, sizeof rule.name);
    }
    free(copy);
    return found;
}

enum emu_fault_action emu_faults_meet(struct emu_faults *faults, const char *name, int64_t *value) {
    for (uint32_t i = 0; i < faults->count; i++) {
        struct emu_fault_rule *rule = &faults->rules[i];
        if (strcmp(rule->name, name)) continue;
        rule->seen++;
        if (rule->at && (rule->from_there_on ? rule->seen < rule->at : rule->seen != rule->at)) continue;
        *value = rule->value;
        return rule->action;
    }
    return EMU_FAULT_NONE;
}
