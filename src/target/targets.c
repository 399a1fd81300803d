/* The one table that lists the targets of this build, and look-up by name. */
#include "target/target.h"

#include <stdio.h>
#include <string.h>

extern const npu_target_ops npu_target_hexagon, npu_target_xdna;

static const npu_target_ops *const targets[] = {
    &npu_target_host,
#ifdef NPU_TARGET_HEXAGON
    &npu_target_hexagon,
#endif
#ifdef NPU_TARGET_XDNA
    &npu_target_xdna,
#endif
    &npu_target_null,
};

static npu_target_stuck_fn *on_stuck;

void npu_target_on_stuck(npu_target_stuck_fn *fn) {
    on_stuck = fn;
}

void npu_target_stuck(const npu_error *err) {
    if (on_stuck) on_stuck(err);
}

const npu_target_ops *npu_target_at(unsigned i) {
    return i < sizeof targets / sizeof targets[0] ? targets[i] : NULL;
}

npu_status npu_target_find(const char *name, const npu_target_ops **out, npu_error *err) {
    char list[128] = "";
    size_t used = 0;
    for (unsigned i = 0; npu_target_at(i); i++) {
        const npu_target_ops *t = npu_target_at(i);
        if (!t->is_npu) continue;
        if (!strcmp(t->name, name)) {
            *out = t;
            return NPU_OK;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", t->name);
    }
    return npu_fail(err, NPU_REFUSED, "target.unknown", "`npu_target` %s: this build has no such target (compiled: %s)",
                    name, used ? list : "none");
}

npu_status npu_target_check(const npu_target_ops *target, const npu_target_params *params, const char *kernels_dir,
                            npu_error *err) {
    if ((params->devices || params->split) && !target->has_devices)
        return npu_fail(err, NPU_REFUSED, "target.devices", "target %s works on one device: it takes no %s",
                        target->name, params->devices ? "`npu_devices`" : "`split`");
    return target->check_params ? target->check_params(params, kernels_dir, err) : NPU_OK;
}

static const char *const roles[] = {
#define NPU_ROLE(NAME, value, name, text) [value] = name,
#include "target/npu_roles.def"
};

_Static_assert(sizeof roles / sizeof roles[0] == NPU_ROLE_COUNT, "role numbers have no gap");

const char *npu_role_name(unsigned role) {
    return role < NPU_ROLE_COUNT ? roles[role] : roles[NPU_ROLE_NONE];
}

int npu_role_named(const char *name) {
    for (int i = 0; i < NPU_ROLE_COUNT; i++)
        if (!strcmp(roles[i], name)) return i;
    return -1;
}
