"""What must not change a single bit of a model's logits: how the prompt is cut (1 to 65 rows), the number of threads, the
rows of a prefill step, other sequences in the same steps, what ran before in the context.

    model_same.py MODEL_TOOL
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tiny_model import Tiny

N = 67
MODELS = {
    "llama": Tiny("llama", n_embd=96, n_heads=3, n_kv=1, head=32, n_ff=160, n_vocab=101, type="Q8_0",
                  types={"attn_v": "Q5_0", "ffn_down": "F16"}),
    "gemma3": Tiny("gemma3", n_layers=4, head=32, type="Q4_0", tied=True,
                   keys={"attention.sliding_window": 9, "attention.sliding_window_pattern": 2}),
    "mistral3": Tiny("mistral3", type="Q8_0", keys={"attention.temperature_scale": 0.3,
                                                    "rope.scaling.original_context_length": 8}),
}
MODES = (("exact", "f32"), ("default", "f16"), ("default", "q8_0"), ("default", "f32"))
CHANGES = [[f"split={n}"] for n in range(1, 66)] + [
    ["threads=1"], ["threads=3", "split=5"], ["rows=4"], ["rows=33"], ["repeat=2"], ["repeat=1", "split=17"], ["others=1"],
    ["others=2", "split=9"], ["others=2", "split=30", "threads=2"]]


def logits(tool, path, out, ids, *options):
    command = [tool, path, f"ids={ids}", "ctx=80", f"out={out}", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"{options}: status {done.returncode}: {done.stderr.strip()}")
    return out.read_bytes()


def main():
    tool, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as name:
        path, out = Path(name) / "m.gguf", Path(name) / "o.f32"
        for arch, model in MODELS.items():
            model.save(path)
            ids = ",".join(str(x) for x in np.random.default_rng(3).integers(0, model.s["n_vocab"], N))
            for mode, kv in MODES if arch == "llama" else MODES[:2]:
                setting = [f"mode={mode}", f"kv={kv}"]
                want = logits(tool, path, out, ids, "threads=2", *setting)
                for change in CHANGES:
                    if logits(tool, path, out, ids, *(change if "threads" in str(change) else ["threads=2", *change]),
                              *setting) != want:
                        print(f"{arch} {mode} {kv}: other bytes with {' '.join(change)}")
                        failed += 1
            print(f"{arch}: {len(CHANGES)} changes")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
