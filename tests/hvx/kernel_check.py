"""Runs kernel_run.c, convert_run.c and float_run.c, the scalar checks of htp/hvx, in the native builds and the qemu build of the NPU
program, and its real build on the model of HVX float."""
import glob
import os
import sys
import tempfile

import hvx_build as build


def check(program_source, qemu, folder):
    tree = lambda pattern: sorted(f for f in glob.glob(os.path.join(build.SOURCE, pattern)) if not f.endswith("_test.c"))
    sources = [os.path.join(build.HERE, program_source), *tree("htp/hvx/*.c"), *tree("src/quant/*.c")]
    sources += [*tree("wire/format.c"), *tree("wire/image.c"), *tree("src/target/hexagon/hexagon_repack.c")]
    sources += ["-I" + os.path.join(build.SOURCE, part) for part in ("", "src", "include")]
    program = os.path.join(folder, "hexagon")
    build.hexagon(["-O2", "-DHTP_BUILD_QEMU", *sources, "-lm"], program)
    print(f"{program_source}, qemu:", build.run(qemu + [program, "400"]).strip())
    for label, program in build.native(["-DHTP_BUILD_NATIVE", *sources], folder):
        print(f"{program_source}, {label}:", build.run(program + ["2000"]).strip())
    for arch in ("68", "73", "79") if build.FULL else ("73",):
        flags = ["-DHTP_BUILD_REAL", "-DNPU_NO_INLINE", "-D__HVX_ARCH__=" + arch]
        label, program = next(build.native(flags + sources, folder))
        print(f"{program_source}, real build of v{arch} on the model, {label}:", build.run(program + ["400"]).strip())


def main():
    qemu = build.qemu()
    for program_source in ("kernel_run.c", "convert_run.c", "float_run.c"):
        with tempfile.TemporaryDirectory() as folder:
            check(program_source, qemu, folder)


sys.exit(main())
