#!/bin/sh
# Installs into a temporary folder and uses what is there as a stranger would: pkg-config, compile, link, run. Also: every
# public header compiles alone, as C11 and as C++, and the shared library shows nothing but names that begin with npu_.
set -eu
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$NPU_BUILD" --prefix "$prefix" >/dev/null

# The installed npu.pc names the prefix that was configured: pkg-config is told the one used here.
pc=$(find "$prefix" -name npu.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig"
flags=$(pkg-config --define-variable=prefix="$prefix" --define-variable=libdir="$libdir" \
    --define-variable=includedir="$prefix/include" --cflags --libs npu)
cat >"$prefix/user.c" <<'END'
#include <npu/status.h>
#include <string.h>
int main(void) {
    return strcmp(npu_status_name(NPU_DEVICE_LOST), "device_lost");
}
END
# shellcheck disable=SC2086 # a list of flags
cc -std=c11 -Wall -Wextra -Werror -pedantic "$prefix/user.c" -o "$prefix/user" $flags
LD_LIBRARY_PATH="$libdir" "$prefix/user"

for header in "$prefix"/include/npu/*.h; do
    printf '#include <npu/%s>\nint npu_used;\n' "$(basename "$header")" >"$prefix/alone.c"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$prefix/include" "$prefix/alone.c"
    c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -x c++ "$prefix/alone.c"
done

strange=$(nm -D --defined-only "$libdir/libnpu.so" | awk '$3 !~ /^npu_/ { print $3 }')
[ -z "$strange" ] || { echo "libnpu.so shows: $strange" && exit 1; }
