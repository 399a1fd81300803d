"""Reference cases on the emulated XDNA against a NumPy model of the same contract: every logit of the prompt to the bit,
24 greedy ids, and mean KLD from exact mode within 1.05 times NumPy's; with and without rotation.

    xdna_numpy.py [case… | smollm2]
"""
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from int8_model import Int8Model
from npu_test import FULL, model, run_npu, shared
from refs_a import FOREIGN, kld

GREEDY = 24


def npu(path, ids, ctx, out, *options, **kw):
    text = run_npu("logits", "-m", path, "--ids", ",".join(map(str, ids)), "--ctx", ctx, "-o", out, *options,
                   timeout=900, text=True, **kw).stdout.strip()
    return np.fromfile(out, np.float32), [int(i) for i in text.split(",")] if text else []


def with_rotation(folder, block):
    """The generated kernels folder again, with a rotation in its manifest."""
    made = next(Path(folder).glob("npu/xdna-emu/*/manifest.json"))
    target = Path(folder) / "rotated"
    target.mkdir(exist_ok=True)
    for file in made.parent.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    (target / made.name).write_text(json.dumps({**json.loads(made.read_text()), "hadamard": block}))
    return target


def compare(name, path, ids, ctx, hadamard=0):
    with tempfile.TemporaryDirectory() as folder:
        env, out = {**os.environ, "XDG_CACHE_HOME": folder}, Path(folder) / "logits"
        device = ["--npu-target", "xdna", "--driver", "emu"]
        if hadamard:
            run_npu("plan", "-m", path, "--ctx", ctx, *device, env=env)
            device += ["--kernels", with_rotation(folder, hadamard)]
        got, greedy = npu(path, ids, ctx, out, *device, "--greedy", GREEDY, env=env)
        exact, _ = npu(path, ids, ctx, out, "--exact")
    got, exact = got.reshape(len(ids), -1), exact.reshape(len(ids), -1)
    want = Int8Model(path, hadamard).logits(np.array(ids + greedy[:-1]), ctx)
    prompt, chosen = want[:len(ids)], want[len(ids) - 1:].argmax(-1).tolist()
    ratio = kld(exact, got) / kld(exact, prompt)
    same = np.array_equal(got, prompt)
    print(f"{name}, rotation {hadamard}: {got.size} logits {'the same' if same else 'DIFFERENT'}, {len(greedy)} ids "
          f"{'the same' if greedy == chosen else 'DIFFERENT'}, KLD {kld(exact, got):.5f}, {ratio:.3f} of NumPy's",
          flush=True)
    return same and greedy == chosen and len(greedy) == GREEDY and ratio <= 1.05


def main():
    names, good = sys.argv[1:], True
    if names == ["smollm2"]:
        for prompt in ("chat", "oneword", "code") if FULL else ("chat",):
            ref = json.loads((shared("refs/real-a/smollm2-135m") / f"{prompt}.json").read_text())
            good &= compare("smollm2 " + prompt, model("smollm2"), ref["prompt_ids"], 256)
        sys.exit(not good)
    cases = sorted(p for p in shared("refs/a").iterdir() if (p / "ref.json").exists())
    cases = [c for c in cases if (c.name in names if names else not c.name.startswith(FOREIGN))]
    for case in cases:
        ref = json.loads((case / "ref.json").read_text())
        for hadamard in (0, 32) if case.name.endswith("q4_0") else (0,):
            good &= compare(case.name, case / "model.gguf", ref["prompt_ids"], ref["n_ctx"], hadamard)
    sys.exit(not good or not cases)


if __name__ == "__main__":
    main()
