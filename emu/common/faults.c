// See faults.h.
#include "faults.h"

#include <errno.h>
#include <stdio.h>
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
        if (actions[i].has_value && read_number(text + n, &rule->value)) return -1;
        return rule->action == EMU_FAULT_DELAY && (rule->value < 0 || rule->value > UINT32_MAX) ? -1 : 0;
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

static int read_rule(char *text, uint8_t number, int side, struct emu_faults *faults) {
    struct emu_fault_rule rule;
    int64_t for_side;
    if (read_any(text, &rule, &for_side)) return -1;
    if (for_side == INT32_MAX ? side == EMU_FAULT_HOST : for_side != side) return 0;
    rule.number = number;
    faults->rules[faults->count++] = rule;
    return 0;
}

int emu_faults_parse(struct emu_faults *faults, const char *text, int side) {
    struct emu_faults read = {.count = 0};
    char *copy = strdup(text), *rest = copy, *rule;
    int result = copy ? 0 : -1;
    for (uint8_t n = 0; !result && (rule = strtok_r(rest, ";", &rest)); n++)
        result = n == EMU_FAULT_RULES ? -1 : read_rule(rule, n, side, &read);
    free(copy);
    if (!result) *faults = read;
    return result;
}

static const struct emu_fault_name *find_name(const struct emu_fault_name *list, const char *name) {
    while (list && list->name && strcmp(list->name, name)) list++;
    return list && list->name ? list : NULL;
}

static bool has_domain(const struct emu_fault_names *names, int64_t side) {
    int64_t npu = side % 8;
    return side == EMU_FAULT_HOST || side == INT32_MAX ||
           (side >= 0 && side < names->domains_end && npu >= names->first_npu && npu <= names->last_npu);
}

static const char *name_of(enum emu_fault_action action) {
    for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++)
        if (actions[i].action == action) return actions[i].name;
    return "";
}

// Whether |rule| is met somewhere; else |why|.
static bool can_be_met(const struct emu_fault_rule *rule, int64_t side, const struct emu_fault_names *names, char *why,
                       size_t bytes) {
    static const struct emu_fault_name event = {"event", EMU_FAULT_EVENT};
    const struct emu_fault_name *found = &event;
    if (!rule->unchecked) found = find_name(side == EMU_FAULT_HOST ? names->host : names->dsp, rule->name);
    if (!found)
        snprintf(why, bytes, "there is no call or event %s", rule->name);
    else if (!has_domain(names, side))
        snprintf(why, bytes, "there is no domain %lld", (long long)side);
    else if (!(found->actions >> rule->action & 1))
        snprintf(why, bytes, "%s does not meet the action %s", rule->name, name_of(rule->action));
    else
        return true;
    return false;
}

bool emu_faults_refused(const char *text, const struct emu_fault_names *names, char *why, size_t bytes) {
    char *copy = strdup(text), *rest = copy, *next;
    bool refused = false;
    unsigned n = 0;
    while (copy && !refused && (next = strtok_r(rest, ";", &rest))) {
        struct emu_fault_rule rule;
        int64_t side;
        if (read_any(next, &rule, &side)) continue;
        refused = n++ == EMU_FAULT_RULES;
        if (refused)
            snprintf(why, bytes, "more than %d rules", EMU_FAULT_RULES);
        else
            refused = !can_be_met(&rule, side, names, why, bytes);
    }
    free(copy);
    return refused;
}

unsigned emu_faults_unmet(const char *text, uint32_t met, char *unmet, size_t bytes) {
    char *copy = strdup(text), *rest = copy, *rule;
    unsigned count = 0;
    size_t used = 0;
    *unmet = 0;
    for (unsigned n = 0; copy && n < EMU_FAULT_RULES && (rule = strtok_r(rest, ";", &rest)); n++) {
        if (met >> n & 1) continue;
        if (used < bytes) used += (size_t)snprintf(unmet + used, bytes - used, "%s%s", count ? ";" : "", rule);
        count++;
    }
    free(copy);
    return count;
}

enum emu_fault_action emu_faults_meet(struct emu_faults *faults, const char *name, int64_t *value) {
    for (uint32_t i = 0; i < faults->count; i++) {
        struct emu_fault_rule *rule = &faults->rules[i];
        if (strcmp(rule->name, name)) continue;
        rule->seen++;
        if (rule->at && (rule->from_there_on ? rule->seen < rule->at : rule->seen != rule->at)) continue;
        faults->met |= 1u << rule->number;
        *value = rule->value;
        return rule->action;
    }
    return EMU_FAULT_NONE;
}
