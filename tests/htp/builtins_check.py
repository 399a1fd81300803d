"""Runs builtins_run.c, the check of htp/builtins as the real build compiles them, under qemu-hexagon."""
import os
import subprocess
import sys
import tempfile

from npu_test import BUILD, SOURCE, need, not_available


def main():
    qemu = need("qemu-hexagon")
    try:
        import ziglang  # noqa: F401
    except ImportError:
        not_available("the ziglang package")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "builtins")
        subprocess.run([sys.executable, SOURCE / "scripts/htp-build", "--arch", "73", "--out", BUILD / "htp"], check=True)
        subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", "hexagon-linux-musl", "-O2", "-fno-builtin",
                        "-mcpu=hexagonv73+hvx+hvx_length128b+hvxv73", "-Wall", "-Wextra", "-Werror",
                        "-static", SOURCE / "tests/htp/builtins_run.c", *(BUILD / "htp/v73").glob("htp.builtins.*.s"),
                        "-o", program], check=True)
        return subprocess.run([qemu, "-cpu", "v73", program]).returncode


sys.exit(main())
