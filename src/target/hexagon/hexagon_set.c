#include "target/hexagon/hexagon_set.h"

#include <stdbool.h>
#include <string.h>

enum { NPUS = 2, SESSIONS = 4 };

static const char *const split_names[] = {"none", "layer", "row", "tensor"};

const char *npu_hex_split_name(npu_hex_split split) {
    return split_names[split];
}

void npu_hex_set_write(const npu_hex_set *set, char out[64]) {
    char *at = out;
    for (uint32_t i = 0; i < set->n; i++) {
        if (i) *at++ = ',';
        *at++ = (char)('0' + set->at[i].npu);
        *at++ = ':';
        *at++ = (char)('0' + set->at[i].session);
    }
    *at = 0;
}

static npu_status bad(const char *devices, const char *what, npu_error *err) {
    return npu_fail(err, NPU_INVALID, "hexagon.devices", "`npu_devices` \"%s\": %s", devices, what);
}

/* One digit below |limit|, at most two characters looked at. */
static bool digit(const char **text, unsigned limit, uint16_t *out) {
    char c = **text;
    if (c < '0' || c > '9' || (unsigned)(c - '0') >= limit) return false;
    *out = (uint16_t)(c - '0');
    ++*text;
    return !(**text >= '0' && **text <= '9');
}

static npu_status read_place(const char *devices, const char **at, npu_hex_set *out, npu_error *err) {
    npu_hex_place p = {0, 0};
    if (out->n == NPU_HEX_DEVICES) return bad(devices, "more than 8 devices", err);
    if (!digit(at, NPUS, &p.npu)) return bad(devices, "an item is NPU:SESSION, with NPU 0 or 1", err);
    if (**at == ':') {
        ++*at;
        if (!digit(at, SESSIONS, &p.session)) return bad(devices, "an item is NPU:SESSION, with SESSION 0 to 3", err);
    }
    for (uint32_t i = 0; i < out->n; i++)
        if (out->at[i].npu == p.npu && out->at[i].session == p.session)
            return bad(devices, "the same device twice", err);
    out->at[out->n++] = p;
    return NPU_OK;
}

static npu_status read_list(const char *devices, bool *group, npu_hex_set *out, npu_error *err) {
    const char *at = devices;
    *group = *at == '[';
    at += *group;
    for (;;) {
        NPU_TRY(read_place(devices, &at, out, err));
        if (*at != ',') break;
        at++;
    }
    if (*group && *at++ != ']') return bad(devices, "a group ends with ]", err);
    if (*group && *at == ',')
        return bad(devices, "one group, or a list of devices: a list of groups can't be split", err);
    return *at ? bad(devices, "items are separated by commas", err) : NPU_OK;
}

npu_status npu_hex_set_read(const char *devices, const char *split, npu_hex_set *out, npu_error *err) {
    bool group = false;
    *out = (npu_hex_set){.n = 0};
    if (!devices && split)
        return npu_fail(err, NPU_INVALID, "hexagon.split",
                        "`split` %s: without `npu_devices` there is nothing to split", split);
    if (!devices) {
        out->n = 1;
        return NPU_OK;
    }
    NPU_TRY(read_list(devices, &group, out, err));
    out->split = group ? NPU_HEX_ROW : NPU_HEX_LAYER;
    if (split) {
        unsigned s = NPU_HEX_LAYER;
        while (s <= NPU_HEX_TENSOR && strcmp(split_names[s], split) != 0) s++;
        if (s > NPU_HEX_TENSOR)
            return npu_fail(err, NPU_INVALID, "hexagon.split", "`split` %s: not one of layer, row, tensor", split);
        if (group && s != NPU_HEX_ROW)
            return npu_fail(err, NPU_INVALID, "hexagon.split", "`split` %s: a group in brackets is split by rows",
                            split);
        out->split = (npu_hex_split)s;
    }
    if (out->n == 1) out->split = NPU_HEX_WHOLE;
    return NPU_OK;
}
