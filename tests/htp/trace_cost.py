"""What tracing costs when it is off: packets of a batch, counted by qemu-hexagon, of the NPU program as it is and of one
compiled without the places that could trace. Under 0.5 %. Where the stack lies varies with the environment and with it
the count, by as much: each program runs with stacks that begin at every 16 bytes of 128, and the median counts."""
import glob
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile

from npu_test import SOURCE, need, not_available

FLAGS = ["-target", "hexagon-linux-musl", "-mcpu=hexagonv73+hvx+hvx_length128b+hvxv73", "-std=gnu11", "-O2", "-D_GNU_SOURCE",
         "-DHTP_BUILD_QEMU", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}"]
LIMIT = 0.005
STACKS = range(0, 128, 16)


def main():
    qemu = need("qemu-hexagon")
    try:
        import ziglang  # noqa: F401
    except ImportError:
        not_available("the ziglang package")
    cc = [sys.executable, "-m", "ziglang", "cc", *FLAGS]
    files = [f for line in (SOURCE / "htp/sources.txt").read_text().split() for f in glob.glob(str(SOURCE / line))]
    files = sorted(f for f in files if not f.endswith("_test.c"))
    traced = [f for f in files if "HTP_TRACED" in pathlib.Path(f).read_text()]
    assert len(traced) >= 4, traced
    same = [f for f in files if f not in traced] + [str(SOURCE / "tests/hexagon/loopback_npu.c")]
    programs = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def objects(sources, kind, *flags):
            out = []
            for f in sources:
                out.append(str(folder / f"{kind}{len(out)}.o"))
                subprocess.run([*cc, *flags, "-c", f, "-o", out[-1]], check=True)
            return out

        common = objects([*same, str(SOURCE / "tests/htp/trace_cost_run.c")], "same")
        for kind, flags in (("with", []), ("without", ["-DHTP_NO_TRACE"])):
            programs[kind] = folder / kind
            subprocess.run([*cc, "-static", *common, *objects(traced, kind, *flags), "-o", programs[kind]], check=True)
        counts = {kind: [] for kind in programs}
        for kind, bytes_more in itertools.product(programs, STACKS):
            done = subprocess.run([qemu, "-cpu", "v73", programs[kind]], capture_output=True, text=True,
                                  env={"MORE": "x" * bytes_more})
            assert done.returncode == 0, done
            counts[kind].append(int(done.stdout))
    print(counts)
    traced, plain = (statistics.median(counts[kind]) for kind in ("with", "without"))
    more = traced / plain - 1
    print(f"{traced} packets with the places that could trace, {plain} without: {100 * more:+.3f} %")
    assert more < LIMIT


main()
