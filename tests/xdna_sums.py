"""Every product of small models on the emulated XDNA: int32 sums and f32 results equal NumPy's bit for bit, at 1, 16 and
128 rows, with sizes that are and are not whole tiles.

    xdna_sums.py XDNA_TOOL
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from int8_model import FileModel, int8_product, quantise
from tiny_model import Tiny

PARTS = {"qkv": ["attn_q", "attn_k", "attn_v"], "o": ["attn_output"], "gu": ["ffn_gate", "ffn_up"], "d": ["ffn_down"],
         "q": ["attn_q"], "k": ["attn_k"], "v": ["attn_v"], "g": ["ffn_gate"], "u": ["ffn_up"]}


def weights(model, role, layer):
    if role == "head":
        return model.tensors["token_embd.weight" if model.s["tied"] else "output.weight"][2]
    names = PARTS[role]
    if role == "qkv" and model.s["fused_qkv"]:
        names = ["attn_qkv"]
    if role == "gu" and model.arch == "phi3":
        names = ["ffn_up"]
    return np.concatenate([model.tensors[f"blk.{layer}.{name}.weight"][2] for name in names])


def check(tool, folder, name, tiny, *options):
    path, out = folder / f"{name}.gguf", folder / "sums"
    tiny.save(path)
    done = subprocess.run([tool, path, folder, *options, f"sums={out}"], capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[-1] == "end", done.stdout + done.stderr
    model, raw, roles = FileModel(path), out.read_bytes(), set()
    for line in lines[:-1]:
        w = line.split()
        f32 = lambda start, count: np.frombuffer(raw, np.float32, count, start)
        if w[0] == "alone":
            k, n, hadamard, at = (int(w[i]) for i in range(3, 10, 2))
            x, own, y = f32(at, k), f32(at + 4 * k, k * n).reshape(k, n), f32(at + 4 * (k + k * n), n)
            want, _ = int8_product(x[None], *quantise(own.T, hadamard), hadamard)
            assert np.array_equal(want[0], y), f"{name}: {line}: other results"
            continue
        role, layer, rows, first, columns, k, n, hadamard, at = [w[1]] + [int(w[i]) for i in range(3, 18, 2)]
        x, y = f32(at, rows * k).reshape(rows, k), f32(at + 4 * rows * k, rows * n).reshape(rows, n)
        sums = np.frombuffer(raw, np.int32, rows * columns, at + 4 * rows * (k + n)).reshape(rows, columns)
        want, integers = int8_product(x, *quantise(weights(model, role, layer), hadamard), hadamard)
        assert np.array_equal(integers[:, first:first + columns], sums), f"{name}: {line}: other sums"
        assert np.array_equal(want, y), f"{name}: {line}: other results"
        roles.add(role)
    print(f"{name}: {len(lines) - 1} products the same, roles {', '.join(sorted(roles))}")
    return roles


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder, tool = Path(tmp), sys.argv[1]
        roles = check(tool, folder, "odd", Tiny("llama", n_embd=96, n_heads=3, n_kv=1, n_ff=160, n_vocab=131))
        check(tool, folder, "xdna1", Tiny("qwen2", n_embd=64, bias=True, type="Q8_0"), "emu=generation=xdna1")
        check(tool, folder, "fused", Tiny("phi3", n_embd=64, fused_qkv=True, n_ff=128))
        check(tool, folder, "wide", Tiny("llama", n_embd=64, n_layers=1, n_vocab=9001, tied=True))
        assert roles == {"qkv", "o", "gu", "d", "head"}, roles


if __name__ == "__main__":
    main()
