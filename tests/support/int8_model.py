"""Model files in NumPy.

    FileModel(path).logits(ids, ctx)             the graphs of tiny_model.py on the tensors of a GGUF file, in f64
    Int8Model(path, hadamard).logits(ids, ctx)   what an XDNA target computes, to the bit: products in the int8 contract,
                                                 everything else in default mode

Written from docs/numerics.md alone (and the coefficients of wire/math_coef.h), a second opinion on the C.
"""
import re

import gguf
import numpy as np
from npu_test import SOURCE
from tiny_model import DEFAULTS, GEMMA, NEOX, Tiny

F = np.float32


# ----- the int8 contract, section 9 -----
def round_half_away(x):
    return np.trunc(x + np.copysign(F(0.5) - F(2.0 ** -25), x))


def hadamard_rotate(v, block):
    """Blocks of each row times the Sylvester-Hadamard matrix over sqrt(block)."""
    if block < 2:
        return v
    v, h = v.reshape(len(v), -1, block).astype(F), 1
    while h < block:
        pairs = v.reshape(*v.shape[:2], block // (2 * h), 2, h)
        v = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
        v = v.reshape(*v.shape[:2], block)
        h *= 2
    return (v * (F(1) / np.sqrt(F(block)))).reshape(len(v), -1)


def quantise(v, block=0, multiple=64):
    """Codes (as f64 integers) and scales of rows, padded to a multiple."""
    v = np.asarray(v, F)
    v = hadamard_rotate(np.pad(v, ((0, 0), (0, -v.shape[1] % multiple))), block)
    most = np.abs(v).max(-1, keepdims=True)
    small, bad = most < F(2.0 ** -100), ~np.isfinite(most)
    scale = np.where(small | bad, F(1), most / F(127)).astype(F)
    codes = np.clip(round_half_away(v * (F(1) / scale)), -127, 127)
    codes = np.where(small | bad, 0, codes).astype(np.float64)
    return codes, np.where(bad, F(np.nan), np.where(small, F(0), scale))[:, 0]


def int8_product(x, codes, scales, block=0):
    """The f32 results of rows by quantised columns, and the integer sums."""
    qx, sx = quantise(x, block)
    sums = qx @ codes.T  # exact: integers below 2^53
    return sums.astype(F) * (sx[:, None] * scales[None, :]), sums.astype(np.int64)


# ----- default mode: sections 2, 3, 6, 7 -----
COEF = {name: F(float.fromhex(value)) for name, value in
        re.findall(r"NPU_(\w+) (-?0x[\d.a-fp+-]+)f", (SOURCE / "wire/math_coef.h").read_text())}


def fma(a, b, c):
    """One rounding: the product of two f32 is exact in f64; what a second rounding changes is beyond any test."""
    return (np.float64(a) * b + c).astype(F)


def series(name, n, x):
    p = fma(COEF[f"{name}_C{n}"], x, COEF[f"{name}_C{n - 1}"])
    for i in range(n - 2, -1, -1):
        p = fma(p, x, COEF[f"{name}_C{i}"])
    return p


def hexed(text):
    return F(float.fromhex(text))


def exp(x):
    low, high, magic = hexed("-0x1.5d589ep6"), hexed("0x1.62e42ep6"), hexed("0x1.8p23")
    t = np.clip(x, low, high).astype(F)
    n = fma(t, hexed("0x1.715476p0"), magic) - magic
    r = fma(n, -hexed("0x1.7f7d1cp-20"), fma(n, -hexed("0x1.62e400p-1"), t))
    y = np.ldexp(fma(series("EXP", 4, r), r * r, r) + F(1), n.astype(np.int32)).astype(F)
    return np.where(x < low, F(0), np.where(x > high, F(np.inf), y)).astype(F)


def sin_cos(a):
    magic = hexed("0x1.8p23")
    n = fma(a, hexed("0x1.45f306p-1"), magic) - magic
    r = fma(n, -hexed("0x1.921fb6p0"), a)
    r = fma(n, -hexed("-0x1.ee59dap-50"), fma(n, -hexed("-0x1.777a5cp-25"), r))
    z = r * r
    s = fma(series("SIN", 3, z), z * r, r)
    c = fma(series("COS", 2, z), z * z, fma(z, F(-0.5), F(1)))
    quarter = n.astype(np.int64)
    sine, cosine = np.where(quarter & 1, c, s), np.where(quarter & 1, s, c)
    return np.where(quarter & 2, -sine, sine), np.where((quarter + 1) & 2, -cosine, cosine)


def tanh(x):
    t, z = np.abs(x), x * x
    small = fma(series("TANH", 4, z), z * t, t)
    large = F(1) - F(2) / (exp(t + t) + F(1))
    return np.copysign(np.where(t < F(0.625), small, large), x).astype(F)


def fold(lanes):
    h = 16
    while h:
        lanes, h = lanes[..., :h] + lanes[..., h:2 * h], h // 2
    return lanes[..., 0]


def dot32(a, b):
    """Along the last axis."""
    pad = [(0, 0)] * (a.ndim - 1) + [(0, -a.shape[-1] % 32)]
    a, b = (np.pad(v, pad).reshape(*v.shape[:-1], -1, 32) for v in (a, b))
    lanes = np.zeros(a.shape[:-2] + (32,), F)
    for i in range(a.shape[-2]):
        lanes = fma(a[..., i, :], b[..., i, :], lanes)
    return fold(lanes)


class FileModel(Tiny):
    def __init__(self, path):
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

    def w(self, name):
        return self.tensors[name][2].astype(np.float64)


class Int8Model(FileModel):
    def __init__(self, path, hadamard=0):
        super().__init__(path)
        self.hadamard, self.codes = hadamard, {}

    def w(self, name):
        return self.tensors[name][2].astype(F)

    def product(self, x, name):
        if name not in self.codes:
            self.codes[name] = quantise(self.w(name), self.hadamard)
        return int8_product(x, *self.codes[name], self.hadamard)[0]

    def norm(self, x, name):
        r = F(1) / np.sqrt(dot32(x, x) / F(x.shape[-1]) + F(self.eps))
        return x * r[..., None] * self.w(name + ".weight")

    def rotate(self, x, local, ctx):
        freqs, scale = self.rotary(local, ctx)
        s, c = sin_cos(np.arange(len(x), dtype=F)[:, None, None] * freqs.astype(F))
        s, c, n = s * F(scale), c * F(scale), self.rot
        y = x.copy()
        a, b = (slice(0, n // 2), slice(n // 2, n)) if self.arch in NEOX else (slice(0, n, 2), slice(1, n, 2))
        y[..., a], y[..., b] = fma(x[..., a], c, -(x[..., b] * s)), fma(x[..., a], s, x[..., b] * c)
        return y

    def scores(self, q, k, window):
        """[heads, queries, keys], -Inf where a query does not see a key."""
        s = np.zeros((q.shape[1], len(q), len(k)), F)
        for i in range(q.shape[2]):
            s = fma(q[:, :, i].T[:, :, None], k[:, :, i].T[:, None, :], s)
        s = s * F(self.key("attention.scale") or F(1) / np.sqrt(F(self.head)))
        cap = F(self.key("attn_logit_softcapping", 50.0 if self.arch == "gemma2" else 0.0))
        s = cap * tanh(s / cap) if cap else s
        back = np.arange(len(q))[:, None] - np.arange(len(k))[None, :]
        return np.where((back < 0) | ((back >= window) & (window > 0)), F(-np.inf), s)

    def weigh(self, s, v):
        """Keys in blocks of 32; up to 1024 of them, one chunk."""
        assert s.shape[2] <= 1024
        m = np.full(s.shape[:2], F(-np.inf))
        l, acc = np.zeros(s.shape[:2], F), np.zeros((*s.shape[:2], v.shape[2]), F)
        for block in range(0, s.shape[2], 32):
            part = s[:, :, block:block + 32]
            top = np.maximum(m, part.max(-1))
            seen = np.isfinite(part.max(-1))
            base = np.where(np.isfinite(top), top, F(0))
            keep = np.where(np.isfinite(m), exp((m - base).astype(F)), F(0))
            p = np.where(np.isfinite(part), exp((part - base[:, :, None]).astype(F)), F(0))
            new_l = fma(l, keep, fold(np.pad(p, ((0, 0), (0, 0), (0, 32 - p.shape[2])))))
            new = acc * keep[:, :, None]
            for j in range(p.shape[2]):
                grown = fma(p[:, :, j, None], v[block + j][:, None, :], new)
                new = np.where(np.isfinite(part[:, :, j, None]), grown, new)
            m, l, acc = np.where(seen, top, m), np.where(seen, new_l, l), np.where(seen[:, :, None], new, acc)
        return acc * (F(1) / l)[:, :, None]

    def attention(self, x, i, ctx):
        s, p, rows = self.s, f"blk.{i}.", len(x)
        q, k, v, window = self.projected(x, i, ctx)
        if self.key("attention.temperature_scale"):
            times = 1 + np.arange(rows) // self.key("rope.scaling.original_context_length", s["n_ctx"])
            q = q * (np.log(times) * F(self.key("attention.temperature_scale")) + 1).astype(F)[:, None, None]
        k, v = (np.repeat(t.astype(np.float16).astype(F), s["n_heads"] // s["n_kv"], axis=1) for t in (k, v))
        y = self.weigh(self.scores(q, k, window), v)
        return self.linear(y.transpose(1, 0, 2).reshape(rows, -1), p + "attn_output")

    def ffn(self, x, i):
        gate, up = self.gate_and_up(x, i)
        if self.arch in GEMMA:
            u = fma(F(0.044715) * (gate * gate), gate, gate) * F(0.79788456)
            gate = (F(0.5) * gate) * (F(1) + tanh(u))
        else:
            gate = gate / (F(1) + exp(-gate))
        return self.linear(gate * up, f"blk.{i}.ffn_down")

    def logits(self, ids, ctx):
        s, gemma = self.s, self.arch in GEMMA
        x = self.w("token_embd.weight")[ids]
        x = x * F(self.key("embedding_scale") or (np.sqrt(F(s["n_embd"])) if gemma else 1))
        residual = F(self.key("residual_scale") or 1)
        for i in range(s["n_layers"]):
            p = f"blk.{i}."
            y = self.attention(self.norm(x, p + "attn_norm"), i, ctx)
            x = (self.norm(y, p + "post_attention_norm") if gemma else y) * residual + x
            y = self.ffn(self.norm(x, p + "ffn_norm"), i)
            x = (self.norm(y, p + "post_ffw_norm") if gemma else y) * residual + x
        x = self.product(self.norm(x, "output_norm"), "token_embd.weight" if s["tied"] else "output.weight")
        x = x + self.w("output.bias") if "output.bias" in self.tensors else x
        x = x * (F(1) / F(self.key("logit_scale", 1.0)))
        cap = F(self.key("final_logit_softcapping", 30.0 if self.arch == "gemma2" else 0.0))
        return cap * tanh(x / cap) if cap else x
