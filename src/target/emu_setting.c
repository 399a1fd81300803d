/* What it is: emu_setting.h. */
#include "target/emu_setting.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"

npu_status npu_emu_set(npu_emu_set_fn *set, npu_emu_why_fn *why, const char *setting, int no_such_key, const char *code,
                       npu_error *err) {
    char key[64];
    const char *equals = strchr(setting, '=');
    if (!equals || (size_t)(equals - setting) >= sizeof key)
        return npu_fail(err, NPU_REFUSED, code, "`emu` %s: not KEY=VALUE", setting);
    memcpy(key, setting, (size_t)(equals - setting));
    key[equals - setting] = 0;
    int result = set(key, equals + 1);
    if (!result) return NPU_OK;
    const char *more = result == no_such_key ? "no such key" : why();
    return npu_fail(err, NPU_REFUSED, code, "`emu` %s: %s", setting, *more ? more : "not a value of this key");
}
