"""Compares every intrinsic of emu/hexagon/hvx, compiled for this PC in several ways, with the real instruction executed
by qemu-hexagon, bit for bit, on all edge inputs and random ones; and checks that the NPU program uses no intrinsic that is
not in the table. An input is three vectors, so 3000 of them are at least 96 000 lanes. The full tier takes 10 000 inputs and every
compiler it finds.
usage: hvx_check.py [--count N] [--dir FOLDER]"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import hvx_table

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
HEADERS = os.path.join(SOURCE, "emu", "hexagon", "hvx")
CPU = "hexagonv73+hvx+hvx_length128b+hvxv73"
WARN = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
AVX2 = "-mavx2 -mfma -mf16c"
AVX512 = AVX2 + " -mavx512f -mavx512bw -mavx512vl -mavx512dq"
# name, flags, what /proc/cpuinfo must say; sanitizers see that no definition overflows or reads outside.
LEVELS = [
    ("baseline", "-O2", []),
    ("avx2", "-O3 " + AVX2, ["avx2", "fma", "f16c"]),
    ("avx512", "-O3 " + AVX512 + " -mavx512vnni", ["avx512bw", "avx512_vnni"]),
    ("sanitized", "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all", []),
]


def skip(why):
    print("not available:", why)
    sys.exit(77)


def used_in_program():
    """Every Q6_ name in htp/."""
    used = {}
    for folder, _, files in os.walk(os.path.join(SOURCE, "htp")):
        for file in files:
            if file.endswith((".c", ".h", ".def")):
                for name in re.findall(r"\bQ6_\w+", open(os.path.join(folder, file)).read()):
                    used.setdefault(name, os.path.join(folder, file))
    return used


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(" ".join(command), "\n", done.stdout, done.stderr)
        sys.exit(1)
    return done.stdout


def explain(name, count, real, ours):
    """The first input where the two programs disagree, and the first byte of the result that differs."""
    for a, b in zip(run(real + [count, name]).splitlines(), run(ours + [count, name]).splitlines()):
        if a != b:
            (head, a), (_, b) = a.split(" out "), b.split(" out ")
            at = next(i for i in range(0, len(a), 2) if a[i : i + 2] != b[i : i + 2]) // 2
            print(f"{name}: input {head}: first difference in byte {at}\n  real {a}\n  ours {b}")
            return


def compare(real, ours, label, count):
    a = dict(line.split() for line in run(real + [count]).splitlines())
    b = dict(line.split() for line in run(ours + [count]).splitlines())
    bad = [name for name in a if a[name] != b.get(name)]
    for name in bad[:8]:
        explain(name, count, real, ours)
    print(f"{label}: {len(a) - len(bad)} of {len(a)} equal on {count} inputs each")
    return not bad and a.keys() == b.keys()


def main():
    args = argparse.ArgumentParser()
    full = os.environ.get("NPU_FULL") == "1"
    args.add_argument("--count", default="10000" if full else "3000")
    args.add_argument("--dir")
    args = args.parse_args()
    table = hvx_table.names(HEADERS)
    unknown = {n: f for n, f in used_in_program().items() if n not in table}
    for name, file in unknown.items():
        print(f"{file}: {name} is not in emu/hexagon/hvx")

    qemu = shutil.which("qemu-hexagon") or skip("qemu-hexagon")
    try:
        import ziglang
    except ImportError:
        skip("the ziglang package")
    include = os.path.join(os.path.dirname(ziglang.__file__), "lib", "include")
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        text, total = hvx_table.program(HEADERS, include)
        with open(os.path.join(folder, "hvx_table.inc"), "w") as file:
            file.write(text)
        main_c = os.path.join(HERE, "hvx_run.c")
        real = os.path.join(folder, "real")
        zig = [sys.executable, "-m", "ziglang", "cc"]
        run(zig + ["-target", "hexagon-linux-musl", "-mcpu=" + CPU, "-O1", "-static", "-I" + folder, main_c, "-o", real])
        good = not unknown
        have = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
        for compiler in ("gcc", "clang-14", "clang") if full else (os.environ.get("CC", "gcc"),):
            if not shutil.which(compiler):
                continue
            for level, flags, needs in LEVELS:
                if any(not re.search(rf"\b{n}\b", have) for n in needs):
                    continue
                ours = os.path.join(folder, level)
                warn = WARN + ([] if "clang" in compiler else ["-Wno-psabi"])
                run([compiler, *warn, *flags.split(), "-I" + HEADERS, "-I" + folder, main_c, "-o", ours])
                count = "600" if level == "sanitized" else args.count
                good &= compare([qemu, "-cpu", "v73", real], [ours], f"{compiler} {level}", count)
    return 0 if good else 1


sys.exit(main())
