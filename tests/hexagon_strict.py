"""The NPU program under strict emulation (docs/strict.md): conform and small models, byte for byte, with no violation.

  python tests/hexagon_strict.py conform|tiny|devices|overhead N [SEED…]
  python tests/hexagon_strict.py switches N
  python tests/hexagon_strict.py mutants HEXAGON_OPS_STRICT

conform: N random ops a seed, tiny: every N-th small model; each seed with the next row of a matrix of device settings.
devices: models split by layers, rows and tensors over 2 to N devices, and models whose rows are not whole lines.
switches: each switch of strict mode alone on, and each alone off: N random ops and a few small models.
mutants: a few safeguards of the NPU program are left out (wire/npu_safeguards.def); HEXAGON_OPS_STRICT must fail, by the
right violation. All of them: `make mutants`.
overhead: strict mode takes at most 30 times the CPU time of the plain emulator, for one conversation of N tokens; the
medians of three turns of both. NPU_SEED sets the seed."""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

from npu_test import model, run_npu, shared

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
    ["arch=v81", "window_by_free=1", "slots=4096"],
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


PLACES = ["0:0", "0:1", "1:0", "1:1", "0:2", "0:3", "1:2", "1:3"]


# Rows of the residual, of a cell of keys, or of one head that are no whole lines, where devices could meet in one.
NO_LINES = [dict(n_heads=6, n_kv=3, head=32, n_embd=192), dict(n_embd=72, n_heads=4, n_kv=4, head=16, n_ff=200),
            dict(n_embd=96, n_heads=6, n_kv=6, head=24, n_ff=160, n_vocab=61)]


def same_on_set(path, folder, n, split, ids, strict, what):
    """By layers and by rows the host's bytes; by tensors, whose sums are in another order, those of the plain emulator."""
    out = folder / "o.f32"
    words = ["logits", "-m", str(path), "--ids", ids, "--greedy", "4", "-o", str(out)]
    chosen = ["--npu-devices", ",".join(PLACES[:n]), "--split", split, "--emu", "cdsps=2"]
    plain = ["--npu-target", "hexagon", "--driver", "sim", *chosen] if split == "tensor" else []
    want = run_npu(*words, *plain, text=True).stdout, out.read_bytes()
    got = run_npu(*words, *STRICT, *chosen, *strict, text=True, timeout=1200).stdout, out.read_bytes()
    assert got == want, (what, n, split, strict)
    print(f"{' '.join(strict[1::2])}: {what} on {n} devices by {split}", flush=True)


def devices(most, seeds):
    from tiny_model import Tiny
    cases = ["llama-tied-q4_1", "gemma3-w16-q4_k_m", "qwen2-bias-q5_k_m"]
    ids = ",".join(str(1 + k * 7 % 60) for k in range(40))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for row, seed in enumerate(seeds):
            case, split = cases[(row + row // 3) % 3], ("layer", "row", "tensor")[row % 3]
            same_on_set(shared("refs/a/" + case) / "model.gguf", folder, 2 + int(seed) % (most - 1), split, ids,
                        settings(seed, 2 * row), case)
        for row, values in enumerate(NO_LINES):
            Tiny("llama", **values).save(folder / "m.gguf")
            for split in ("layer", "row", "tensor"):
                same_on_set(folder / "m.gguf", folder, 2 + (row + int(seeds[0])) % 2, split, ids, settings(seeds[0], 0), values)


ALONE_ON = ["cache=1", "dma=1", "vtcm_checks=1", "evict=1000", "preempt=100", "line=32", "go_on=1"]
ALONE_OFF = ["cache=0", "dma=0", "vtcm_checks=0", "evict=0", "preempt=0"]


def switches(cases):
    """Whatever is on, bytes are those of a sound program and nothing is reported."""
    from model_tiny import GOOD
    from tiny_model import Tiny
    rows = [("sim", s) for s in ALONE_ON] + [("sim-strict", s) for s in ALONE_OFF]
    rows += [("sim", f"{a} {b}") for a, b in (("cache=1", "evict=1000"), ("cache=1", "vtcm_checks=1"), ("dma=1", "vtcm_checks=1"))]
    for row, (driver, alone) in enumerate(rows):
        options = ["--npu-target", "hexagon", "--driver", driver, *(x for s in alone.split() for x in ("--emu", s))]
        done = run_npu("conform", *options, "--cases", cases, "--seed", 50 + row, check=False, text=True, timeout=900)
        assert done.returncode == 0 and "npu-emu" not in done.stderr, (alone, done.stdout[-3000:], done.stderr[-3000:])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for arch, ctx, values in GOOD[row :: len(rows)][:2]:
                Tiny(arch, **values).save(folder / "m.gguf")
                assert logits(folder, ctx, *options) == logits(folder, ctx), (driver, alone, arch, values)
        print(f"{driver}, {alone}: {done.stdout.splitlines()[-1]}", flush=True)


def overhead(tokens):
    used, text = {"sim": [], "sim-strict": []}, []
    for driver in [*used] * 3:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text.append(run_npu("run", "-m", str(model("smollm2")), "--npu-target", "hexagon", "--driver", driver, "-p", "Hello",
                            "-n", tokens, "--temp", "0", "--threads", "1", text=True, timeout=3000).stdout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used[driver].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert len(set(text)) == 1, text
    plain, strict = map(statistics.median, used.values())
    print(f"sim {plain:.2f} s, sim-strict {strict:.2f} s of CPU: {strict / plain:.1f} times")
    assert strict <= 30 * plain


def mutants(program):
    for name, kind in [("REFRESH_ROW_IDS", "stale_read"), ("REFRESH_FENCE", "stale_read"), ("DMA_POP_WAIT", "dma_"),
                       ("PIPE_LOADS_POPPED", "dma_"), ("PIPE_DRAINED", "dma_left")]:
        done = subprocess.run([program], env=dict(os.environ, NPU_HEX_DRIVER="sim-strict", NPU_MUTANT=name), text=True,
                              capture_output=True, timeout=300)
        assert done.returncode and kind in done.stdout + done.stderr, (name, done.returncode, done.stderr[-2000:])
        print(f"{name}: missed")


def main():
    what, n, seeds = sys.argv[1], sys.argv[2], [os.environ.get("NPU_SEED")] if "NPU_SEED" in os.environ else sys.argv[3:]
    if what == "mutants":
        mutants(n)
    elif what == "conform":
        conform(n, seeds)
    elif what == "switches":
        switches(n)
    elif what in ("tiny", "devices"):
        (tiny if what == "tiny" else devices)(int(n), seeds)
    else:
        overhead(n)


main()
