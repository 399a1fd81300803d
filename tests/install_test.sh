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
# shellcheck disable=SC2086 # a list of flags
cc -std=c11 -Wall -Wextra -Werror -pedantic "$NPU_SOURCE/examples/generate.c" -o "$prefix/generate" $flags

for header in "$prefix"/include/npu/*.h; do
    printf '#include <npu/%s>\nint npu_used;\n' "$(basename "$header")" >"$prefix/alone.c"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$prefix/include" "$prefix/alone.c"
    c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -x c++ "$prefix/alone.c"
done

strange=$(nm -D --defined-only "$libdir/libnpu.so" | awk '$3 !~ /^npu_/ { print $3 }')
[ -z "$strange" ] || { echo "libnpu.so shows: $strange" && exit 1; }

# The example answers as the program does.
model=$("$NPU_SOURCE/scripts/models" --cached smollm2) || { echo "not available: model smollm2" && exit 77; }
prompt="The capital of France is"
example=$(LD_LIBRARY_PATH="$libdir" "$prefix/generate" "$model" "$prompt" 6)
program=$("$prefix/bin/npu" run -q -m "$model" -p "$prompt" -n 6 --device cpu --raw)
[ -n "$example" ] && [ "$example" = "$program" ] || { echo "example: $example; program: $program" && exit 1; }
