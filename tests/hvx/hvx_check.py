"""Compares every intrinsic of emu/hexagon/hvx, compiled for this PC in several ways, with the real instruction
executed by qemu-hexagon, bit for bit, on all edge inputs and random ones; and checks that the NPU program uses no
intrinsic that is not in the table. An input is three vectors of lanes: 10 000 random ones each beside the edges. The full
tier takes every compiler it finds.
usage: hvx_check.py [--count N]"""
import argparse
import functools
import os
import re
import sys
import tempfile

import hvx_build as build
import hvx_table

EDGE_INPUTS = 3 * 14 * 35  # hvx_run.c: widths, steps, scalars


def used_in_program():
    """Every Q6_ name in htp/."""
    used = {}
    for folder, _, files in os.walk(os.path.join(build.SOURCE, "htp")):
        for file in files:
            if file.endswith((".c", ".h", ".def")):
                for name in re.findall(r"\bQ6_\w+", open(os.path.join(folder, file)).read()):
                    used.setdefault(name, os.path.join(folder, file))
    return used


def explain(name, count, real, ours):
    """The first input where the two programs disagree, and the first byte of the result that differs."""
    lines = (build.run([*program, count, name]).splitlines() for program in (real, ours))
    for a, b in zip(*lines, strict=True):
        if a != b:
            (head, a), (_, b) = a.split(" out "), b.split(" out ")
            at = next(i for i in range(0, len(a), 2) if a[i : i + 2] != b[i : i + 2]) // 2
            print(f"{name}: input {head}: first difference in byte {at}\n  real {a}\n  ours {b}")
            return


@functools.cache
def hashes(count, *program):
    return dict(line.split() for line in build.run([*program, count]).splitlines())


def compare(real, ours, label, count):
    a = hashes(count, *real)
    b = hashes(count, *ours)
    bad = [name for name in a if a[name] != b.get(name)]
    for name in bad[:8]:
        explain(name, count, real, ours)
    print(f"{label}: {len(a) - len(bad)} of {len(a)} equal on {count} inputs each")
    return not bad and a.keys() == b.keys()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--count", default=str(EDGE_INPUTS + 10000))
    count = args.parse_args().count
    table = hvx_table.names(build.HEADERS)
    unknown = {n: f for n, f in used_in_program().items() if n not in table and not hvx_table.FLOAT.search(n)}
    for name, file in unknown.items():
        print(f"{file}: {name} is not in emu/hexagon/hvx")
    good = not unknown

    qemu = build.qemu()
    include = build.include()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "hvx_table.inc"), "w") as file:
            file.write(hvx_table.program(build.HEADERS, include))
        main_c = os.path.join(build.HERE, "hvx_run.c")
        real = os.path.join(folder, "real")
        build.hexagon(["-O1", "-I" + folder, main_c], real)
        for label, ours in build.native(["-I" + folder, main_c], folder):
            good &= compare(qemu + [real], ours, label, str(EDGE_INPUTS + 500) if "sanitized" in label else count)
    return 0 if good else 1


sys.exit(main())
