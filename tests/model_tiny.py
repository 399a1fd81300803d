"""Small random models of every architecture with other dimensions, types and settings than the reference cases have:
exact mode against NumPy (tests/support/tiny_model.py), default mode close to it. Then random models in exact mode, and models
that must be refused, and by which name.

    model_tiny.py MODEL_TOOL
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from npu_test import FULL
from random_model import RandomModel
from tiny_model import Tiny

YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}
LONG = {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 20, "rope.scaling.attn_factor": 1.1}
PATTERN = [True, False, True, True]
MIXED = {"attn_v": "Q8_0", "ffn_down": "F16", "attn_output": "BF16", "token_embd": "Q5_0"}
SCALES = {"embedding_scale": 3.0, "residual_scale": 0.5, "logit_scale": 4.0}

# arch, context, settings
GOOD = [
    ("llama", 64, dict()),
    ("llama", 64, dict(n_kv=4, n_vocab=61, tied=True)),
    ("llama", 64, dict(head=24, n_heads=3, n_kv=1, n_ff=40)),
    ("llama", 64, dict(head=32, head_v=16, n_embd=72)),
    ("llama", 64, dict(bias="all", fused_qkv=True)),
    ("llama", 64, dict(keys={"rope.dimension_count": 8})),
    ("llama", 64, dict(keys={"rope.scaling.type": "linear", "rope.scaling.factor": 2.5})),
    ("llama", 64, dict(keys={"rope.scaling.factor": 2.0, "rope.scaling.type": "none"})),
    ("llama", 64, dict(keys={"rope.scale_linear": 2.0, "rope.scaling.factor": 2.0})),
    ("llama", 64, dict(keys=YARN, rope_freqs=True)),
    ("llama", 64, dict(keys=LONG, factors=True)),
    ("llama", 16, dict(keys=LONG, factors=True)),
    ("llama", 64, dict(keys={"attention.scale": 0.3})),
    ("llama", 64, dict(n_embd=96, n_ff=160, type="Q8_0", types=MIXED)),
    ("qwen2", 64, dict(bias=True, keys=YARN)),
    ("qwen2", 64, dict(bias=True, n_kv=4, tied=True, keys={"rope.dimension_count": 12})),
    ("qwen3", 64, dict(head=40, keys={"rope.freq_base": 1e6})),
    ("gemma2", 64, dict(n_layers=4, head=20, tied=True, keys={"attention.sliding_window": 7})),
    ("gemma2", 64, dict(n_layers=3, tied=True, keys={"attention.sliding_window": 5, "attn_logit_softcapping": 3.0,
                                                   "final_logit_softcapping": 2.0})),
    ("gemma3", 64, dict(n_layers=7, tied=True, keys={"attention.sliding_window": 6, "rope.freq_base": 1e6})),
    ("gemma3", 64, dict(n_layers=4, tied=True, keys={"attention.sliding_window": 6, "rope.scaling.factor": 8.0,
                                                   "attention.sliding_window_pattern": PATTERN})),
    ("gemma3", 64, dict(n_layers=4, keys={"attention.sliding_window": 9, "attention.sliding_window_pattern": 3,
                                          "rope.freq_base_swa": 5000.0, "final_logit_softcapping": 4.0})),
    ("gemma3", 64, dict(n_layers=2, tied=True)),
    ("phi3", 64, dict(fused_qkv=True, factors=True, keys={"rope.scaling.original_context_length": 20,
                                                        "rope.scaling.attn_factor": 1.2})),
    ("phi3", 64, dict(n_kv=4, fused_qkv=True, keys={"rope.dimension_count": 8})),
    ("granite", 64, dict(keys={**SCALES, "attention.scale": 0.1})),
    ("granite", 64, dict(bias="all", keys={"logit_scale": 2.0, "rope.scaling.finetuned": False})),
    ("minicpm", 64, dict(keys=SCALES)),
    ("mistral3", 64, dict(head=20, keys={**YARN, "rope.scaling.yarn_log_multiplier": 1.0,
                                        "rope.scaling.yarn_beta_fast": 16.0, "rope.scaling.yarn_beta_slow": 2.0,
                                        "attention.temperature_scale": 0.2})),
    ("smollm3", 64, dict(n_layers=9, n_kv=1)),
]

# arch, settings, what the refusal must name
BAD = [
    ("llama", dict(keys={"expert_count": 8}), "llama.expert_count"),
    ("llama", dict(keys={"final_logit_softcapping": 30.0}), "llama.final_logit_softcapping"),
    ("llama", dict(keys={"attention.sliding_window": 32}), "llama.attention.sliding_window"),
    ("llama", dict(keys={"attention.clamp_kqv": 8.0}), "llama.attention.clamp_kqv"),
    ("llama", dict(keys={"attention.causal": False}), "llama.attention.causal"),
    ("llama", dict(keys={"rope.scaling.type": "dynamic"}), "llama.rope.scaling.type"),
    ("llama", dict(keys=LONG), "rope_factors_long.weight"),
    ("llama", dict(factors=True), "rope_factors_long.weight"),
    ("llama", dict(keys={"hidden_activation": "gelu"}), "llama.hidden_activation"),
    ("llama", dict(keys={"logit_scale": 2.0}), "llama.logit_scale"),
    ("llama", dict(keys={"attention.layer_norm_rms_epsilon": -1.0}), "llama.attention.layer_norm_rms_epsilon"),
    ("llama", dict(keys={"rope.dimension_count": 18}), "llama.rope.dimension_count"),
    ("llama", dict(keys={"attention.head_count_kv": 3}), "llama.attention.head_count_kv"),
    ("qwen2", dict(rope_freqs=True), "rope_freqs.weight"),
    ("qwen2", dict(keys=LONG), "qwen2.rope.scaling.type"),
    ("granite", dict(), "granite.logit_scale"),
    ("mistral4", dict(), "mistral4"),
]


def run(tool, path, *options):
    return subprocess.run([tool, path, *options], capture_output=True, text=True, timeout=120)


def check_good(tool, folder, model, ctx, what, limits):
    """|limits|: by mode, how far logits may be off, in their standard deviations."""
    path, out = folder / "m.gguf", folder / "o.f32"
    model.save(path)
    ids = [int(x) for x in np.random.default_rng(7).integers(0, model.s["n_vocab"], min(ctx, 40))]
    want, worst = model.logits(ids, ctx), {}
    for mode in limits:
        done = run(tool, path, "ids=" + ",".join(map(str, ids)), f"ctx={ctx}", f"mode={mode}", f"out={out}")
        if done.returncode:
            return f"{what}: {mode}: {done.stderr.strip()}"
        got = np.fromfile(out, np.float32).reshape(want.shape)
        worst[mode] = float(np.abs(got - want).max() / np.abs(want).std())
    text = f"{what}: off by " + ", ".join(f"{v:.1e} ({mode})" for mode, v in worst.items())
    print(text)
    return None if all(worst[mode] <= limit for mode, limit in limits.items()) else text


def main():
    tool, failed = sys.argv[1], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for arch, ctx, settings in GOOD:
            failed.append(check_good(tool, folder, Tiny(arch, **settings), ctx, f"{arch} ctx {ctx} {settings}", {"exact": 2e-4, "default": 0.5}))
        for seed in range(1, 161 if FULL else 11):
            case = RandomModel(seed)
            # Attention of random models may be so sharp that quantised activations choose another key: exact mode alone.
            failed.append(check_good(tool, folder, case.tiny, case.ctx, case.text, {"exact": 1e-3}))
        failed = [wrong for wrong in failed if wrong]
        for arch, settings, named in BAD:
            Tiny(arch, **settings).save(folder / "b.gguf")
            done = run(tool, folder / "b.gguf", "ids=1,2", "ctx=64")
            if done.returncode != 1 or named not in done.stderr:
                failed.append(f"{arch} {settings}: status {done.returncode}, {done.stderr.strip()!r} does not name {named}")
    print(*failed, sep="\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
