"""What a GGUF states that changes numbers, applied as llama.cpp applies it: small random models of every architecture with
every such key that the peer reads, logits in exact mode against the peer's own (its default arithmetic: halves in the KV
cache, quantised activations only with quantised weights).

    model_peer.py
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from npu_test import NPU, SOURCE, not_available
from tiny_model import Tiny

YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 2.5}
LONG = {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 20, "rope.scaling.attn_factor": 1.1}
SCALES = {"embedding_scale": 3.0, "residual_scale": 0.5, "logit_scale": 4.0}
MISTRAL = {**YARN, "rope.scaling.yarn_beta_fast": 16.0, "rope.scaling.yarn_beta_slow": 2.0}
PATTERN = [True, False, True, True]
PLAIN = ("llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3", "granite", "minicpm", "mistral3", "smollm3")
NEEDS = {"granite": {"logit_scale": 1.0}}
LAYERS = {"smollm3": 8, "gemma3": 7}

# The keys that every architecture has, then each one's own. The peer's context is a multiple of 256 positions.
COMMON = [{}, {"rope.freq_base": 5e5}, LINEAR, {"rope.scaling.factor": 2.0, "rope.scaling.type": "none"},
          {"rope.scale_linear": 2.0}, YARN, {**YARN, "rope.scaling.attn_factor": 1.3}, {"rope.scaling.attn_factor": 1.3},
          {"attention.layer_norm_rms_epsilon": 0.1}]
OWN = [
    ("llama", dict(keys=YARN, rope_freqs=True)),
    ("llama", dict(keys=LONG, factors=True)),
    ("llama", dict(keys={**LONG, "rope.scaling.original_context_length": 300}, factors=True)),
    ("llama", dict(head=24, n_heads=3, n_kv=1)),
    ("llama", dict(tied=True)),
    ("qwen3", dict(head=40)),
    ("gemma2", dict(n_layers=4, head=20, keys={"attention.sliding_window": 7})),
    ("gemma2", dict(n_layers=4, keys={"attention.sliding_window": 7, "attention.sliding_window_pattern": 3})),
    ("gemma2", dict(n_layers=4, keys={"attention.sliding_window": 7, "attention.sliding_window_pattern": PATTERN})),
    ("gemma2", dict(n_layers=4, keys={"attention.sliding_window": 7, "rope.freq_base_swa": 500.0})),
    ("gemma2", dict(n_layers=4, keys={"attention.sliding_window": 7, **LINEAR})),
    ("gemma2", dict(keys={"attn_logit_softcapping": 3.0, "final_logit_softcapping": 2.0})),
    ("gemma2", dict(n_layers=46, n_embd=32, head=24, n_ff=32)),
    ("gemma3", dict(n_layers=7, keys={"attention.sliding_window": 6, "rope.freq_base": 1e6})),
    ("gemma3", dict(n_layers=4, keys={"attention.sliding_window": 6, "rope.scaling.factor": 8.0,
                                      "attention.sliding_window_pattern": PATTERN})),
    ("gemma3", dict(n_layers=4, keys={"attention.sliding_window": 9, "attention.sliding_window_pattern": 3,
                                      "rope.freq_base_swa": 5000.0, "final_logit_softcapping": 4.0})),
    ("gemma3", dict(n_layers=62, n_embd=32, head=24, n_ff=32, keys={"attention.sliding_window": 6})),
    ("phi3", dict(factors=True, keys={"rope.scaling.original_context_length": 20, "rope.scaling.attn_factor": 1.2})),
    ("phi3", dict(factors=True, keys={"rope.scaling.original_context_length": 300})),
    ("phi3", dict(factors=True, keys={**LONG, "rope.dimension_count": 8})),
    ("phi3", dict(keys={"rope.dimension_count": 8, "attention.sliding_window": 5})),
    ("granite", dict(keys={**SCALES, "attention.scale": 0.1})),
    ("granite", dict(keys={"logit_scale": 2.0, "embedding_scale": 0.0, "residual_scale": 0.0, "attention.scale": 0.0})),
    ("granite", dict(keys={"logit_scale": 2.0, "rope.scaling.finetuned": False})),
    ("minicpm", dict(keys=SCALES)),
    ("minicpm", dict(keys={"residual_scale": 0.7})),
    ("mistral3", dict(head=20, keys={**MISTRAL, "rope.scaling.yarn_log_multiplier": 1.0,
                                     "attention.temperature_scale": 0.2})),
    ("mistral3", dict(keys={**MISTRAL, "rope.scaling.yarn_log_multiplier": 0.7})),
    ("mistral3", dict(keys={"attention.temperature_scale": 0.2, "rope.scaling.original_context_length": 10})),
    ("smollm3", dict(n_layers=9, n_kv=1)),
]


def cases():
    for arch in PLAIN:
        for keys in COMMON:
            if arch == "gemma2" and keys.get("rope.scaling.type") == "none":
                continue  # the peer then still stretches the layers with a window, npu none
            yield arch, dict(n_layers=LAYERS.get(arch, 2), keys={**NEEDS.get(arch, {}), **keys})
    yield from OWN


def off(peer, folder, arch, settings, seed):
    """The root of the mean square of their difference, as a part of that of the logits; or a text."""
    as_is = dict(fused_qkv=arch == "phi3", bias=arch == "qwen2", tied=arch == "gemma2")
    model, path = Tiny(arch, seed=seed, **{**as_is, **settings}), folder / "m.gguf"
    model.save(path)
    ids = ",".join(str(i) for i in np.random.default_rng(seed).integers(0, model.s["n_vocab"], 40))
    both = []
    for command in ([peer, "logits", path, "1", "256", ids, folder / "peer"],
                    [NPU, "logits", "-m", path, "--exact", "--kv", "f16", "--ctx", "256", "--ids", ids, "-o", folder / "npu"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            return f"{Path(command[0]).name}: {done.stderr.strip()[-300:]}"
        both.append(np.fromfile(command[-1], np.float32))
    return float((both[0] - both[1]).std() / both[0].std())


def main():
    built = subprocess.run([SOURCE / "scripts/peer-llama", "--cached"], capture_output=True, text=True)
    if built.returncode:
        not_available("the peer (scripts/peer-llama)")
    failed = []
    with tempfile.TemporaryDirectory() as name:
        for seed, (arch, settings) in enumerate(cases()):
            far = off(f"{built.stdout.strip()}/bin/peer", Path(name), arch, settings, seed)
            text = f"{arch} {settings}, seed {seed}: {far}"
            print(text, flush=True)
            if isinstance(far, str) or far > 0.03:
                failed.append(text)
    print(f"{len(failed)} failed:", *failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
