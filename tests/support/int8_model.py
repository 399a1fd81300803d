"""Model files in NumPy: the graphs of tiny_model.py on the tensors of a GGUF file, in f64 or with every product in the
int8 contract of the XDNA target (docs/numerics.md, section 9), written from that page alone.

    m = FileModel(path); m.logits(ids, ctx)          the exact one
    m = FileModel(path, int8=True, hadamard=0); …    products in int8, keys and values in f16
"""
import gguf
import numpy as np
from tiny_model import DEFAULTS, Tiny


def round_half_away(x):
    return np.trunc(x + np.copysign(np.float32(0.5) - np.float32(2.0 ** -25), x))


def rotate(v, block):
    """Blocks of each row times the Sylvester-Hadamard matrix over sqrt(block), in f32."""
    if block < 2:
        return v
    v = v.reshape(len(v), -1, block).astype(np.float32)
    h = 1
    while h < block:
        pairs = v.reshape(*v.shape[:2], block // (2 * h), 2, h)
        v = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
        v = v.reshape(*v.shape[:2], block)
        h *= 2
    return (v * np.float32(1 / np.sqrt(np.float32(block)))).reshape(len(v), -1)


def quantise(v, block=0, multiple=64):
    """Codes (as f64 integers) and scales of rows, padded to a multiple."""
    v = np.asarray(v, np.float32)
    v = np.pad(v, ((0, 0), (0, -v.shape[1] % multiple)))
    v = rotate(v, block)
    most = np.abs(v).max(-1, keepdims=True)
    small, bad = most < np.float32(2.0 ** -100), ~np.isfinite(most)
    scale = np.where(small | bad, np.float32(1), most / np.float32(127)).astype(np.float32)
    codes = np.clip(round_half_away(v * (np.float32(1) / scale)), -127, 127)
    codes = np.where(small | bad, 0, codes).astype(np.float64)
    return codes, np.where(bad, np.float32(np.nan), np.where(small, np.float32(0), scale))[:, 0]


def int8_product(x, codes, scales, block=0):
    """The f32 results of rows by quantised columns, and the int32 sums."""
    qx, sx = quantise(x, block)
    sums = qx @ codes.T  # exact: integers below 2^53
    return sums.astype(np.float32) * (sx[:, None] * scales[None, :]), sums.astype(np.int64)


class FileModel(Tiny):
    def __init__(self, path, int8=False, hadamard=0):
        reader = gguf.GGUFReader(str(path))
        fields = {name: field.contents() for name, field in reader.fields.items()
                  if not name.startswith(("tokenizer.", "GGUF."))}
        self.arch = fields["general.architecture"]
        keys = {k.split(".", 1)[1]: v for k, v in fields.items() if k.startswith(self.arch + ".")}
        self.tensors = {}
        for t in reader.tensors:
            values = gguf.quants.dequantize(t.data, t.tensor_type)
            self.tensors[t.name] = (None, t.tensor_type, values)
        heads, kv = keys["attention.head_count"], keys.get("attention.head_count_kv", keys["attention.head_count"])
        first = lambda v: v[0] if isinstance(v, list) else v
        self.s = {**DEFAULTS, "n_layers": keys["block_count"], "n_embd": keys["embedding_length"],
                  "n_heads": first(heads), "n_kv": first(kv), "n_ctx": keys["context_length"],
                  "tied": "output.weight" not in self.tensors, "fused_qkv": "blk.0.attn_qkv.weight" in self.tensors,
                  "rope_freqs": "rope_freqs.weight" in self.tensors,
                  "factors": "rope_factors_long.weight" in self.tensors, "keys": keys}
        self.head = keys.get("attention.key_length", self.s["n_embd"] // self.s["n_heads"])
        self.head_v = keys.get("attention.value_length", self.head)
        self.rot = keys.get("rope.dimension_count", self.head)
        self.eps = keys["attention.layer_norm_rms_epsilon"]
        self.int8, self.hadamard, self.codes = int8, hadamard, {}

    def cache(self, x):
        return x.astype(np.float32).astype(np.float16).astype(np.float64) if self.int8 else x

    def product(self, x, name):
        if not self.int8:
            return x @ self.w(name).T.astype(np.float64)
        if name not in self.codes:
            self.codes[name] = quantise(self.w(name), self.hadamard)
        return int8_product(x, *self.codes[name], self.hadamard)[0].astype(np.float64)
