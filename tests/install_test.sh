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
case " $flags" in *" -D"*) echo "npu.pc passes on what is not ours: $flags" && exit 1 ;; esac
# shellcheck disable=SC2086 # a list of flags
cc -std=c11 -Wall -Wextra -Werror -pedantic "$NPU_SOURCE/examples/generate.c" -o "$prefix/generate" $flags

for header in "$prefix"/include/npu/*.h; do
    printf '#include <npu/%s>\nint npu_used;\n' "$(basename "$header")" >"$prefix/alone.c"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$prefix/include" "$prefix/alone.c"
    c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -x c++ "$prefix/alone.c"
done

# What the headers declare is what the shared library has, no more and no less.
declared=$(cat "$prefix"/include/npu/*.h | sed 's|/\*.*\*/||' | grep -v '^ \*\|typedef\|(\*' |
    grep -o '\bnpu_[a-z0-9_]*(' | tr -d '(' | sort -u)
defined=$(nm -D --defined-only "$libdir/libnpu.so" | awk '{ print $3 }' | sort -u)
[ "$declared" = "$defined" ] || {
    echo "declared, but not in libnpu.so, or the reverse:"
    printf '%s\n' "$declared" "$defined" | sort | uniq -u
    exit 1
}

strange=$(nm -D --defined-only "$libdir/libnpu.so" | awk '$3 !~ /^npu_/ { print $3 }')
[ -z "$strange" ] || { echo "libnpu.so shows: $strange" && exit 1; }

# The emulated devices and their programs come along; the installed program finds them, and so does a program that stands
# elsewhere and uses the installed library.
case=${NPU_SHARED:-$NPU_SOURCE/../shared}/refs/a/type-q4_0/model.gguf
[ -e "$case" ] || { echo "not available: $case" && exit 77; }
if [ -d "$NPU_BUILD/emu" ]; then
    for where in "--device cpu" "--npu-target hexagon --driver sim"; do
        # shellcheck disable=SC2086 # a list of flags
        (cd / && "$prefix/bin/npu" logits -m "$case" --ids 1,2,3 --greedy 8 $where)
    done >"$prefix/answers"
    [ "$(sort -u "$prefix/answers" | wc -l)" = 1 ] || { cat "$prefix/answers" && exit 1; }
    (cd / && "$prefix/bin/npu" logits -m "$case" --ids 1,2,3 --greedy 8 --npu-target xdna --driver emu >/dev/null)
    # shellcheck disable=SC2086 # a list of flags
    cc -std=c11 -Wall -Wextra -Werror "$NPU_SOURCE/tests/support/open_devices.c" -o "$prefix/devices" $flags
    mkdir "$prefix/cache"
    LD_LIBRARY_PATH="$libdir" "$prefix/devices" "$case" "$prefix/cache" hexagon sim xdna emu
    [ -z "$(find "$prefix/lib/npu" -type d -empty)" ] || { find "$prefix/lib/npu" && exit 1; }
fi

# The example says what is wrong, whatever it is; this model begins texts with no token.
# shellcheck disable=SC2086 # three words
for words in "$case::4" "$prefix:x:4" "$prefix/absent:x:4"; do
    (IFS=: && set -f && set -- $words && LD_LIBRARY_PATH="$libdir" "$prefix/generate" "$1" "$2" "$3") 2>"$prefix/said" && exit 1
    grep -q '^[^ ].* \[[a-z_.]*\]$' "$prefix/said" || { echo "example, $words: $(cat "$prefix/said")" && exit 1; }
done

# The example answers as the program does.
model=$("$NPU_SOURCE/scripts/models" --cached smollm2) || { echo "not available: model smollm2" && exit 77; }
prompt="The capital of France is"
example=$(LD_LIBRARY_PATH="$libdir" "$prefix/generate" "$model" "$prompt" 6)
program=$("$prefix/bin/npu" run -q -m "$model" -p "$prompt" -n 6 --device cpu --raw)
[ -n "$example" ] && [ "$example" = "$program" ] || { echo "example: $example; program: $program" && exit 1; }
