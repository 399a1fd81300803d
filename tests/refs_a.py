"""Every synthetic reference case of a known architecture: exact mode within 1e-3 and the same greedy ids; default mode
within the accuracy bar of the design (mean KLD from the reference, relative to the mainstream engine's).

    refs_a.py MODEL_TOOL [case…]
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from npu_test import shared

FOREIGN = ("deepseek2", "gptoss", "qwen35", "qwen3moe")  # architectures of later issues
FLOATS = ("F32", "F16", "BF16")


def run(tool, case, ref, mode, out, greedy=0):
    """Logits of all prompt positions, and the greedy ids that follow."""
    command = [tool, case / "model.gguf", "ids=" + ",".join(map(str, ref["prompt_ids"])), f"ctx={ref['n_ctx']}",
               f"mode={mode}", f"greedy={greedy}", f"out={out}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{case.name}: {mode}: exit status {done.returncode}: {done.stderr.strip()}")
    logits = np.fromfile(out, np.float32).reshape(len(ref["prompt_ids"]), ref["n_vocab"])
    return logits, [int(x) for x in done.stdout.split(",")] if greedy else []


def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def kld(reference, other):
    p, q = log_softmax(reference), log_softmax(other)
    return float((np.exp(p) * (p - q)).sum(-1).mean())


def check(tool, case, folder):
    """Returns the lines of what failed, and the KLD relative to the mainstream engine's."""
    ref = json.loads((case / "ref.json").read_text())
    want = np.fromfile(case / "logits.f32", np.float32).reshape(-1, ref["n_vocab"])
    failed = []
    exact, ids = run(tool, case, ref, "exact", folder / "exact.f32", len(ref["greedy_ids"]))
    off = float(np.abs(exact - want).max())
    if not off <= 1e-3:
        failed.append(f"exact logits differ by {off:.2e}")
    if ids != ref["greedy_ids"]:
        failed.append(f"greedy ids {ids} instead of {ref['greedy_ids']}")
    default, _ = run(tool, case, ref, "default", folder / "default.f32")
    ratio = kld(want, default) / ref["llama_default"]["kld_mean"]
    quantised = ref["file_type"] not in FLOATS
    limit = 1.0 if "_K" in ref["file_type"] else 2.0
    if quantised and not ratio <= limit:
        failed.append(f"default mode: KLD ratio {ratio:.2f} is above {limit}")
    print(f"{case.name}: exact {off:.1e}, default KLD ratio {ratio:.2f}" + "".join(": FAILED: " + f for f in failed))
    return failed, ratio if quantised else None


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    cases = sorted(p for p in shared("refs/a").iterdir() if (p / "ref.json").exists())
    cases = [c for c in cases if c.name in names] if names else [c for c in cases if not c.name.startswith(FOREIGN)]
    failed, ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            bad, ratio = check(tool, case, Path(folder))
            failed += bad
            if ratio:
                ratios.append(ratio)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0
    print(f"{len(cases)} cases, geometric mean of the KLD ratios {mean:.3f}")
    if not names and not mean <= 0.85:
        failed.append("geometric mean above 0.85")
    sys.exit(1 if failed or not cases else 0)


if __name__ == "__main__":
    main()
