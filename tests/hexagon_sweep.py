"""Random models (tests/support/random_model.py) on the emulated Hexagon: the host's bytes, every op on the device.

  python tests/hexagon_sweep.py sim|sim-strict|qemu COUNT [SEED] [MODEL_TOOL]

Each model is run with a random cache type, prompt, rows of a step and device settings; the plan must leave nothing to the
host and the profile name nobody else. With MODEL_TOOL each model is also run with three sequences side by side. COUNT models
from SEED on; NPU_SEED sets it. A failure names the seed: COUNT 1 with it repeats it."""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from npu_test import need, run_npu
from random_model import ARCHITECTURES, KINDS, RandomModel

PROMPTS, ROWS = [1, 2, 5, 33, 129], [1, 2, 5, 33, 128]  # tokens of a prompt, and rows of a step
# One of these for each model; a window that is too small for it is doubled until its plan is taken.
DEVICES = [[], [], ["arch=v68"], ["arch=v79"], ["vtcm=1M"], ["vtcm=512K", "hvx=2"], ["hvx=1"], ["window=3M"], ["window=8M", "slots=12"],
           ["max_buffer=1M"], ["hvx=16", "hw_threads=16"], ["window_by_free=1"]]


class Run:
    def __init__(self, folder, driver, seed):
        self.rng, self.model = random.Random(seed), RandomModel(seed)
        self.path, self.out = folder / "m.gguf", folder / "o.f32"
        self.model.save(self.path)
        self.device = ["--npu-target", "hexagon", "--driver", driver]
        self.kv = self.rng.choice(self.model.kv)
        fits = [n for n in PROMPTS if n + 4 <= self.model.ctx]
        n = self.rng.choice(fits[:4] if driver == "qemu" else fits)
        self.ids = ",".join(str(self.rng.randrange(self.model.n_vocab)) for _ in range(n))
        self.rows = self.rng.choice(ROWS)
        self.words = ["-m", self.path, "--ctx", self.model.ctx, "--kv", self.kv, "--prefill-rows", self.rows]
        self.emu = list(self.rng.choice(DEVICES))
        if driver == "qemu" and self.emu == ["arch=v79"]:
            self.emu = ["arch=v69"]  # qemu runs programs up to v73
        self.text = f"{self.model.text}, ctx {self.model.ctx}, kv {self.kv}, {n} tokens by {self.rows}, {self.emu}"

    def settings(self):
        return self.device + [x for setting in self.emu for x in ("--emu", setting)]

    def logits(self, *options):
        done = run_npu("logits", *self.words, "--ids", self.ids, "--greedy", 3, "--profile", "-o", self.out, *options, text=True,
                       check=False)
        assert not done.returncode, done.stderr
        return (done.stdout, self.out.read_bytes()), set(re.findall("^(host|hexagon) ", done.stderr, re.M))

    def planned(self):
        """Every op is the device's, once the device is large enough for the model."""
        while True:
            done = run_npu("plan", *self.words, *self.settings(), check=False, text=True)
            tight = [s for s in self.emu if s.startswith(("window=", "max_buffer=", "vtcm=")) and int(s.split("=")[1][:-1]) < 1024]
            if done.returncode == 3 and "[plan." in done.stderr and tight:
                key, value = tight[0].split("=")
                self.emu[self.emu.index(tight[0])] = f"{key}={2 * int(value[:-1])}{value[-1]}"
                continue
            assert not done.returncode, (self.emu, done.stderr)
            return [line for line in done.stdout.splitlines() if " host " in line]

    def same(self):
        rows = self.planned()
        assert not rows, ("on the host:", rows)
        want, _ = self.logits()
        got, owners = self.logits(*self.settings())
        assert owners == {"hexagon"}, owners
        assert got == want, "other ids" if got[0] != want[0] else "other logits"
        return want

    def sequences(self, tool, want):
        """Three sequences with the same tokens, interleaved in a step: each has the logits that one alone has."""
        options = {"ids": self.ids, "ctx": self.model.ctx, "kv": self.kv, "rows": self.rows, "others": 2, "out": self.out,
                   "split": self.rng.choice([1, 3, 0]), "target": "hexagon", "driver": self.device[-1]}
        done = subprocess.run([tool, self.path, *(f"{k}={v}" for k, v in options.items())], capture_output=True, text=True, timeout=900)
        assert done.returncode == 0 and self.out.read_bytes() == want[1], ("three sequences", done.stderr)


def one(driver, seed, tool):
    """The run, and what went wrong."""
    with tempfile.TemporaryDirectory() as name:
        run = Run(pathlib.Path(name), driver, seed)
        try:
            want = run.same()
            if tool:
                run.sequences(tool, want)
        except AssertionError as wrong:
            return run, wrong
    return run, None


def main():
    driver, count, *more = sys.argv[1:]
    seed, tool = int(os.environ.get("NPU_SEED") or (more or ["1"])[0]), more[1] if len(more) > 1 else None
    if driver == "qemu":
        need("qemu-hexagon")
    count = int(count)
    types, architectures, pairs, failed = set(), set(), set(), 0
    for at in range(seed, seed + count):
        run, wrong = one(driver, at, tool)
        types |= set(run.model.types)
        architectures.add(run.model.tiny.arch)
        pairs |= {(run.model.tiny.arch, t) for t in run.model.types}
        print(f"WRONG: {wrong}" if wrong else "the same:", run.text, flush=True)
        failed += wrong is not None
    print(f"{count} models of {len(architectures)} architectures with {len(types)} weight types on {driver}: {failed} failed")
    assert count < 10 or len(architectures) == len(ARCHITECTURES), architectures
    assert count < 31 or len(types) == len(KINDS), types
    assert count < 160 or len(pairs) == len(ARCHITECTURES) * len(KINDS), pairs
    sys.exit(failed > 0)


main()
