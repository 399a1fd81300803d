"""The NPU program under strict emulation (docs/strict.md): conform and small models, byte for byte, with no violation.

  python tests/hexagon_strict.py conform|tiny|overhead N [SEED…]

conform: N random ops a seed, tiny: every N-th small model; each seed with the next row of a matrix of device settings.
overhead: strict mode takes at most 30 times the CPU time of the plain emulator, for one conversation of N tokens. NPU_SEED
sets the seed."""
import os
import pathlib
import resource
import sys
import tempfile

from npu_test import model, run_npu

STRICT = ["--npu-target", "hexagon", "--driver", "sim-strict"]
# The first row is the plain device; chances of eviction and of a pause grow.
MATRIX = [
    [],
    ["evict=300", "preempt=100"],
    ["hvx=2", "evict=0", "preempt=0"],
    ["line=64", "hvx=3"],
    ["arch=v79", "evict=100"],
    ["vtcm=1048576", "hvx=3"],
    ["window=48M", "slots=16", "line=32"],
    ["arch=v68", "vtcm=2097152", "preempt=50"],
    ["hvx=4", "hw_threads=3", "evict=1000"],
    ["arch=v81", "window_by_free=1"],
]


def settings(seed, row):
    return [x for setting in [f"seed={seed}", *MATRIX[row % len(MATRIX)]] for x in ("--emu", setting)]


def conform(cases, seeds):
    for row, seed in enumerate(seeds):
        done = run_npu("conform", *STRICT, *settings(seed, row), "--cases", cases, "--seed", seed, check=False, text=True,
                       timeout=3000)
        print(f"seed {seed}, {MATRIX[row % len(MATRIX)]}: {done.stdout.splitlines()[-1]}", flush=True)
        assert done.returncode == 0 and "strict" not in done.stderr, done.stdout[-3000:] + done.stderr[-3000:]


def logits(folder, ctx, *options):
    ids, out = ",".join(str(i * 7 % 50) for i in range(min(ctx, 17))), folder / "o.f32"
    run_npu("logits", "-m", str(folder / "m.gguf"), "--ids", ids, "--ctx", str(ctx), "-o", str(out), *options)
    return out.read_bytes()


def tiny(every, seeds):
    from model_tiny import GOOD
    from tiny_model import Tiny
    for row, seed in enumerate(seeds):
        chosen = GOOD[int(seed) % every :: every]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for arch, ctx, values in chosen:
                Tiny(arch, **values).save(folder / "m.gguf")
                host = logits(folder, ctx)
                assert logits(folder, ctx, *STRICT, *settings(seed, row)) == host, (arch, values, seed)
        print(f"seed {seed}, {MATRIX[row % len(MATRIX)]}: {len(chosen)} models", flush=True)


def overhead(tokens):
    used, text = [], []
    for driver in ("sim", "sim-strict"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text.append(run_npu("run", "-m", str(model("smollm2")), "--npu-target", "hexagon", "--driver", driver, "-p", "Hello",
                            "-n", tokens, "--temp", "0", "--threads", "1", text=True, timeout=3000).stdout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert text[0] == text[1], text
    print(f"sim {used[0]:.2f} s, sim-strict {used[1]:.2f} s of CPU: {used[1] / used[0]:.1f} times")
    assert used[1] <= 30 * used[0]


def main():
    what, n, seeds = sys.argv[1], sys.argv[2], [os.environ.get("NPU_SEED")] if "NPU_SEED" in os.environ else sys.argv[3:]
    if what == "conform":
        conform(n, seeds)
    elif what == "tiny":
        tiny(int(n), seeds)
    else:
        overhead(n)


main()
