"""Fast mode with AVX-512 BF16 and on AMX, over SIMDe: KLD from the foreign reference logits of the synthetic cases, all prompt
positions in one step, at most 1.5 times default mode's; not default mode's bits; and default mode's bits where there is neither,
which is said.

    simde_fast.py MODEL_TOOL [case…]        MODEL_TOOL: with all CPU levels (tests/simde.cmake)
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from npu_test import shared
from refs_a import kld

QUICK = ("type-q4_0", "type-q4_1", "type-q4_k_s", "type-q6_k", "type-q2_k", "type-q3_k_s", "type-q8_0")
LEVELS = ("avx512bf16", "amx")  # attention alone, and products too
LIMIT = 1.5
SAYS = "fast mode has no effect on this CPU"


def run(tool, case, ref, mode, level, out):
    """Logits of all prompt positions, and what was said."""
    command = [tool, case / "model.gguf", "ids=" + ",".join(map(str, ref["prompt_ids"])), f"ctx={ref['n_ctx']}",
               f"mode={mode}", f"cpu={level}", "warn=1", f"out={out}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{case.name}: {mode}: exit status {done.returncode}: {done.stderr.strip()}")
    return np.fromfile(out, np.float32).reshape(-1, ref["n_vocab"]), done.stderr


def check(tool, case, out):
    """The lines of what failed."""
    ref = json.loads((case / "ref.json").read_text())
    want = np.fromfile(case / "logits.f32", np.float32).reshape(-1, ref["n_vocab"])
    default, _ = run(tool, case, ref, "default", "amx", out)
    failed, ratios = [], []
    for level in LEVELS:
        fast, said = run(tool, case, ref, "fast", level, out)
        ratios.append(kld(want, fast) / kld(want, default))
        if not ratios[-1] <= LIMIT:
            failed.append(f"{level}: KLD is {ratios[-1]:.2f} times default mode's")
        if fast.tobytes() == default.tobytes():
            failed.append(f"{level}: fast mode did nothing")
        if SAYS in said:
            failed.append(f"{level}: said {said!r}")
    without, said = run(tool, case, ref, "fast", "avx512", out)
    if without.tobytes() != default.tobytes():
        failed.append("without BF16 the bits are not default mode's")
    if SAYS not in said:
        failed.append(f"without BF16 said {said!r}")
    print(f"{case.name}: {len(ref['prompt_ids'])} rows, KLD by level " + " and ".join(f"{r:.2f}" for r in ratios) +
          " times default mode's" + "".join(": FAILED: " + f for f in failed))
    return failed


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    if not names and os.environ.get("NPU_FULL") != "1":
        names = QUICK
    cases = sorted(p for p in shared("refs/a").iterdir() if p.name.startswith("type-") and (p / "ref.json").exists())
    cases = [c for c in cases if c.name in names] if names else [c for c in cases if not c.name.endswith(("f32", "bf16"))]
    with tempfile.TemporaryDirectory() as folder:
        failed = [f for case in cases for f in check(tool, case, Path(folder) / "logits.f32")]
    sys.exit(1 if failed or not cases else 0)


if __name__ == "__main__":
    main()
