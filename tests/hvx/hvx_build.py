"""What the tests of the HVX intrinsics share: the ways a program is compiled for this PC, and the Hexagon build."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
HEADERS = os.path.join(SOURCE, "emu", "hexagon", "hvx")
CPU = "hexagonv73+hvx+hvx_length128b+hvxv73"
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-ffp-contract=off", "-fno-math-errno"]
FULL = os.environ.get("NPU_FULL") == "1"
AVX2 = "-mavx2 -mfma -mf16c"
AVX512 = AVX2 + " -mavx512f -mavx512bw -mavx512vl -mavx512dq"
# name, flags, what /proc/cpuinfo must say; sanitizers see that no definition overflows or reads outside.
LEVELS = [
    ("baseline", "-O2", []),
    ("avx2", "-O3 " + AVX2, ["avx2", "fma", "f16c"]),
    ("avx512", "-O3 " + AVX512 + " -mavx512vnni", ["avx512bw", "avx512_vnni"]),
    ("sanitized", "-O1 -DNPU_NO_INLINE -fsanitize=address,undefined -fno-sanitize-recover=all", []),
]


def skip(why):
    print("not available:", why)
    sys.exit(77)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(" ".join(command), "\n", done.stdout, done.stderr)
        sys.exit(1)
    return done.stdout


def qemu():
    return [shutil.which("qemu-hexagon") or skip("qemu-hexagon"), "-cpu", "v73"]


def include():
    """The Hexagon compiler's folder of headers."""
    try:
        import ziglang
    except ImportError:
        skip("the ziglang package")
    return os.path.join(os.path.dirname(ziglang.__file__), "lib", "include")


def hexagon_compiler():
    """The command that compiles for Hexagon Linux."""
    include()
    return [sys.executable, "-m", "ziglang", "cc", "-target", "hexagon-linux-musl", "-mcpu=" + CPU, "-ffp-contract=off",
            "-fno-math-errno", "-static"]


def hexagon(args, out):
    run([*hexagon_compiler(), *args, "-o", out])


def has(features):
    """Whether this PC's processor has them all, by the names of /proc/cpuinfo."""
    have = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    return all(re.search(rf"\b{name}\b", have) for name in features)


def native_compilers():
    """Every way of compiling that this PC can run: a label and the command."""
    for compiler in ("gcc", "clang-14", "clang") if FULL else (os.environ.get("CC", "gcc"),):
        if not shutil.which(compiler):
            continue
        for level, flags, needs in LEVELS:
            if not has(needs):
                continue
            quiet = [] if "clang" in compiler else ["-Wno-psabi"]
            yield f"{compiler} {level}", [compiler, *FLAGS, *quiet, *flags.split(), "-I" + HEADERS]


def native(args, folder):
    """Compiles in every such way; yields a label and the program."""
    out = os.path.join(folder, "native")
    for label, compiler in native_compilers():
        run([*compiler, *args, "-o", out, "-lm"])
        yield label, [out]
