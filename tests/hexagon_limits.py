"""A model under limits of the NPU's mappings together: slots, window and buffer size, on one device and on sets. What a plan takes
gives the host's bytes; what it does not is refused by name, by `plan` and again before anything is loaded, and never later.

  python tests/hexagon_limits.py [SEED]
"""
import collections
import pathlib
import random
import re
import sys
import tempfile

from npu_test import FULL, run_npu
from tiny_model import Tiny

DEVICE = ["--npu-target", "hexagon", "--driver", "sim", "--emu", "cdsps=2"]
# As many devices as it takes for what passes between them to be larger than any of their own buffers.
SETS = [[], ["--npu-devices", "0:0,0:1,0:2,0:3,1:0,1:1,1:2,1:3", "--split", "layer"], ["--npu-devices", "0:0,1:0", "--split", "row"],
        ["--npu-devices", "0:0,0:1,1:0", "--split", "tensor"]]
LEAST = 1 << 20  # that the emulator takes for a window
SLOTS = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 64, 4096]
MODELS = [
    ("llama", dict(n_layers=5, n_embd=256, n_ff=512, n_vocab=600, type="Q4_0")),
    ("llama", dict(n_layers=40, n_embd=256, n_ff=512, n_vocab=600, type="Q8_0")),  # more parts than requests can be under way
    ("qwen2", dict(n_layers=9, n_embd=160, n_ff=320, n_vocab=501, bias=True, tied=True, type="Q8_0")),
]
COMMON = ["--ids", ",".join(str(i * 37 % 500) for i in range(40)), "--ctx", "64", "--greedy", "2"]


def limits(slots, window, most):
    return ["--emu", f"slots={slots}", "--emu", f"window={window}", "--emu", f"max_buffer={most}"]


def refusal(path, *options):
    """The code that `plan` refuses with, None when it takes the limits."""
    done = run_npu("plan", "-m", path, "--ctx", "64", *DEVICE, *options, check=False, text=True)
    if not done.returncode:
        return None
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode == 3 and len(errors) == 1, done
    return re.search(r"\[(plan\.\w+)\]$", errors[0])[1]


def run(path, out, *options):
    done = run_npu("logits", "-m", path, *COMMON, "-o", out, *options, check=False, text=True, timeout=600)
    return done, (done.stdout, out.read_bytes()) if not done.returncode else None


def one(path, out, want, devices, slots, window, most):
    """Which of both it was."""
    options = [*devices, *limits(slots, window, most)]
    code = refusal(path, *options)
    out.unlink(missing_ok=True)
    done, got = run(path, out, *DEVICE, *options)
    if code:
        assert done.returncode == 3 and f"[{code}]" in done.stderr and done.stderr.count("error:") == 1, (options, code, done)
        assert not out.exists(), options
        assert code != "plan.slots" or f"the NPU has {min(slots, 64)} slots" in done.stderr, (options, done)
        # not by anything that was found out while computing: the NPU got no buffer of weights
        first = 2 if devices else 1  # opening a set takes one for its fences
        early, _ = run(path, out, *DEVICE, *options, "--emu", f"fault=rpcmem_alloc2@{first}+=code:0")
        assert f"[{code}]" in early.stderr, (options, early)
    else:
        assert got == want, (options, done.stderr)
    return code or "taken"


def least(path, devices, limit):
    """The least value of a limit that is taken beside no others."""
    def taken(value):
        return not refusal(path, *devices, "--emu", f"{limit}={value}")
    low, high = LEAST - 4096, 64 << 20
    while high - low > 4096:
        middle = (low + high) // 2 // 4096 * 4096
        low, high = (low, middle) if taken(middle) else (middle, high)
    return high


def matrix(rng, path, out, wants):
    told = collections.Counter()
    for devices, want in zip(SETS, wants, strict=True):
        window, most = least(path, devices, "window"), least(path, devices, "max_buffer")
        windows = [max(window // 2, LEAST), window, window + rng.randrange(1 << 20), 4 * window, 3 << 30]
        buffers = [max(most - 4096, LEAST), most, most + rng.randrange(1 << 19), 1 << 30]
        rows = [(s, w, m) for s in SLOTS for w in windows for m in buffers]
        edges = [(s, 3 << 30, 1 << 30) for s in SLOTS] + [(64, w, m) for w, m in ((windows[0], 1 << 30), (window, 1 << 30), (window, most))]
        for row in edges + rng.sample(rows, 60 if FULL else 4):
            told[one(path, out, want, devices, *row)] += 1
    return told


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "m.gguf", pathlib.Path(folder) / "logits"
        for arch, settings in MODELS:
            Tiny(arch, **settings).save(path)
            host = run(path, out)[1]
            by_tensors = run(path, out, *DEVICE, *SETS[-1])[1]  # whose sums are in another order
            told = matrix(rng, path, out, [host, host, host, by_tensors])
            print(f"seed {seed}, {arch}: {dict(told)}", flush=True)
            assert told["taken"] > 15 and told["plan.slots"] > 10 and told["plan.window"], told


if __name__ == "__main__":
    main()
