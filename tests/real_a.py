"""The two real models against foreign references (refs/real-a): token ids, logits, greedy ids and text.

  python tests/real_a.py exact|default MODEL [PROMPT…]

exact: last-position logits within 1e-3, 48 greedy ids equal, prompt ids equal, text equal.
default: KL divergence at the last position against the peer's own (tests/data/real_a_peer_kld.json): geometric mean of the ratios
over the prompts at most 1.25, none above 5.
"""
import json
import math
import pathlib
import sys
import tempfile

import numpy as np

from npu_test import SOURCE, model, run_npu, shared

NAMES = {"smollm2-135m": "smollm2", "gemma-3-270m": "gemma3"}
PROMPTS = ["oneword", "chat", "code", "long"]


def log_softmax(x):
    x = x.astype(np.float64) - x.max()
    return x - math.log(np.exp(x).sum())


def last_row(path, n_vocab):
    with open(path, "rb") as f:
        f.seek(-4 * n_vocab, 2)
        return np.frombuffer(f.read(), "<f4")


def run_case(folder, prompt, mode, d):
    """The last position's logits, the greedy line, and the reference's record."""
    ref = json.loads((folder / f"{prompt}.json").read_text())
    want = np.fromfile(folder / f"{prompt}.last.f32", "<f4")
    ids, out = pathlib.Path(d) / "ids", pathlib.Path(d) / "logits"
    ids.write_text(",".join(map(str, ref["prompt_ids"])))
    flags = ["--exact"] if mode == "exact" else []
    done = run_npu("logits", "-m", MODEL, "--ids", f"@{ids}", "-o", out, "--greedy", 48, "--ctx", 1024, "--device", "cpu", *flags)
    got = last_row(out, len(want))
    out.unlink()
    return ref, want, got, [int(x) for x in done.stdout.decode().split(",")]


def check_text(ref, greedy, problems):
    done = run_npu("tokenize", "-m", MODEL, "--detokenize", "--ids", ",".join(map(str, greedy)))
    if done.stdout.rstrip(b"\n") != bytes.fromhex(ref["greedy_text_hex"]).rstrip(b"\n"):
        problems.append(f"text {done.stdout!r}")
    done = run_npu("tokenize", "-m", MODEL, input=ref["prompt"].encode())
    if [int(x) for x in done.stdout.decode().split(",")] != ref["prompt_ids"]:
        problems.append("prompt ids differ")


def check_exact(folder, prompts, d):
    bad = 0
    for prompt in prompts:
        ref, want, got, greedy = run_case(folder, prompt, "exact", d)
        problems, off = [], float(np.abs(got - want).max())
        if not off <= 1e-3:
            problems.append(f"logits off by {off:.2e}")
        if greedy != ref["greedy_ids"]:
            problems.append("greedy ids differ")
        check_text(ref, greedy, problems)
        print(f"{folder.name} {prompt}: max abs {off:.2e} {'; '.join(problems) or 'ok'}", flush=True)
        bad += bool(problems)
    return bad


def check_default(folder, prompts, d):
    peer = json.loads((SOURCE / "tests/data/real_a_peer_kld.json").read_text())["kld"]
    ratios = []
    for prompt in prompts:
        _, want, got, _ = run_case(folder, prompt, "default", d)
        a, b = log_softmax(want), log_softmax(got)
        kld = float((np.exp(a) * (a - b)).sum())
        ratios.append(kld / peer[f"{folder.name}/{prompt}"])
        print(f"{folder.name} {prompt}: KLD {kld:.3e}, ratio to the peer's {ratios[-1]:.3f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.3f} (at most 1.25), largest {max(ratios):.3f} (at most 5)")
    return not (mean <= 1.25 and max(ratios) <= 5)


mode, name = sys.argv[1:3]
MODEL = model(NAMES[name])
with tempfile.TemporaryDirectory() as tmp:
    check = check_exact if mode == "exact" else check_default
    sys.exit(1 if check(shared(f"refs/real-a/{name}"), sys.argv[3:] or PROMPTS, tmp) else 0)
