"""Runs the scalar checks of htp/hvx, the programs *_run.c below.

  kernel_check.py FOLDER…   those of native builds of the NPU program that run here; a folder's name is the level (tests/hvx.cmake)
  kernel_check.py           the qemu build, and the real one on the model of HVX float; the full tier also native builds by
                            every compiler. What they check is compiled once for each.
"""
import glob
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import hvx_build as build

PROGRAMS = ("math_run.c", "image_run.c", "quantise_run.c", "attn_run.c", "convert_run.c", "float_run.c")
CHECKED = ("htp/hvx/*.c", "src/quant/*.c", "wire/format.c", "wire/image.c", "src/target/hexagon/hexagon_repack.c")
NEEDS = {"base": [], "x86-64-v2": ["sse4_2", "ssse3"], "x86-64-v3": ["avx2", "fma", "f16c", "bmi2"],
         "x86-64-v4": ["avx512bw", "avx512vl", "avx512dq", "avx512cd"]}


def programs(compiler, folder):
    """Each program's name and file."""
    compiler = compiler + ["-I" + os.path.join(build.SOURCE, part) for part in ("", "src", "include")]
    sources = [f for pattern in CHECKED for f in sorted(glob.glob(os.path.join(build.SOURCE, pattern))) if not f.endswith("_test.c")]
    sources += [os.path.join(build.HERE, name) for name in PROGRAMS]
    objects = {f: os.path.join(folder, os.path.basename(f) + ".o") for f in sources}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda f: build.run([*compiler, "-c", f, "-o", objects[f]]), sources))
    of_all = [objects[f] for f in sources[:-len(PROGRAMS)]]
    for name, source in zip(PROGRAMS, sources[-len(PROGRAMS):], strict=True):
        out = os.path.join(folder, name + ".program")
        build.run([*compiler, objects[source], *of_all, "-o", out, "-lm"])
        yield name, out


def check(label, compiler, rounds, runner=()):
    with tempfile.TemporaryDirectory() as folder:
        for name, program in programs(compiler, folder):
            print(f"{name}, {label}:", build.run([*runner, program, rounds]).strip(), flush=True)


def built(folders):
    """At least one level runs on any machine that the emulator runs on."""
    run = [folder for folder in folders if build.has(NEEDS[os.path.basename(folder)])]
    assert run, folders
    for folder in run:
        for name in PROGRAMS:
            said = build.run([os.path.join(folder, name.removesuffix(".c")), "2000"]).strip()
            print(f"{name}, {os.path.basename(folder)}:", said, flush=True)


def compiled():
    check("qemu", build.hexagon_compiler() + ["-O2", "-DHTP_BUILD_QEMU"], "400", build.qemu())
    for label, compiler in build.native_compilers() if build.FULL else ():
        check(label, compiler + ["-DHTP_BUILD_NATIVE"], "2000")
    for arch in ("68", "73", "79") if build.FULL else ("73",):
        label, compiler = next(build.native_compilers())
        check(f"real build of v{arch} on the model, {label}",
              compiler + ["-DHTP_BUILD_REAL", "-DNPU_NO_INLINE", "-D__HVX_ARCH__=" + arch, "-O1"], "400")


if sys.argv[1:]:
    built(sys.argv[1:])
else:
    compiled()
