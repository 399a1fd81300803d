"""Small random models: writes them as GGUF files, and computes their logits in NumPy (f64) from the same settings, as a
second opinion on the graphs, hyper-parameters and rotary tables of src/model.

    m = Tiny("llama", n_embd=64, n_heads=4, …); m.save(path); m.logits(ids, ctx)

A setting is a dimension or feature below, or a GGUF key of the architecture, given as keys={"rope.scaling.type": "yarn"}.
types: the type of matrices by a part of their names, or a function of name and row width that tells it. n_heads, n_kv and
n_ff may be lists, with a number for each layer.
"""
import math

import gguf
import numpy as np

NEOX = ("qwen2", "qwen3", "gemma2", "gemma3", "phi3")
GEMMA = ("gemma2", "gemma3")
DEFAULTS = dict(n_layers=2, n_embd=64, n_heads=4, n_kv=2, n_ff=96, n_vocab=97, n_ctx=256, head=None, head_v=None,
                tied=False, bias=False, fused_qkv=False, rope_freqs=False, factors=False, type="F32", types={}, keys={})
# Values of a block, by weight type.
BLOCKS = {"F32": 1, "F16": 1, "BF16": 1, "Q4_0": 32, "Q4_1": 32, "Q5_0": 32, "Q5_1": 32, "Q8_0": 32, "IQ4_NL": 32, "MXFP4": 32,
          "Q2_K": 256, "Q3_K": 256, "Q4_K": 256, "Q5_K": 256, "Q6_K": 256, "IQ4_XS": 256}
# Where a block has its f16 scale and that of its minima, and the scale's codes' mean, which the minima take away.
RANDOM_BLOCKS = {"Q2_K": (80, 82, 1.5), "Q3_K": (108, None, 0), "Q4_K": (0, 2, 7.5), "Q5_K": (0, 2, 15.5), "Q6_K": (208, None, 0),
                 "IQ4_NL": (0, None, 0), "IQ4_XS": (0, None, 0)}


class Tiny:
    def __init__(self, arch, seed=1, **settings):
        self.arch, self.s = arch, {**DEFAULTS, **settings}
        self.rng = np.random.default_rng(seed)
        s = self.s
        self.head = s["head"] or s["n_embd"] // self.of("n_heads", 0)
        self.head_v = s["head_v"] or self.head
        self.tensors = {}
        self.eps = s["keys"].get("attention.layer_norm_rms_epsilon", 1e-5)
        self.rot = s["keys"].get("rope.dimension_count", self.head)
        self._global()
        for i in range(s["n_layers"]):
            self._layer(f"blk.{i}.", *(self.of(n, i) for n in ("n_heads", "n_kv", "n_ff")))

    def of(self, name, layer):
        value = self.s[name]
        return value[layer] if isinstance(value, list) else value

    def key(self, name, default=None):
        return self.s["keys"].get(name, default)

    def _matrix(self, name, n_in, n_out):
        """Stored in the case's type; kept as what that type holds."""
        w = (self.rng.standard_normal((n_out, n_in)) * 1.5 / math.sqrt(n_in)).astype(np.float32)
        types = self.s["types"]
        name_of = types(name, n_in) if callable(types) else next((t for p, t in types.items() if p in name), self.s["type"])
        kind = gguf.GGMLQuantizationType[name_of]
        raw = self._random_blocks(kind, n_out, n_in) if name_of in RANDOM_BLOCKS else gguf.quants.quantize(w, kind)
        self.tensors[name] = (raw, kind, gguf.quants.dequantize(raw, kind).astype(np.float64))

    def _random_blocks(self, kind, n_out, n_in):
        """The package has no quantiser of these: random codes, and one scale that gives weights their usual size."""
        values, size = gguf.GGML_QUANT_SIZES[kind]
        at, min_at, mean = RANDOM_BLOCKS[kind.name]
        raw = self.rng.integers(0, 256, (n_out, n_in // values, size), np.uint8)

        def put(d):
            for where, v in [(at, d)] + ([] if min_at is None else [(min_at, d * mean)]):
                raw[:, :, where : where + 2] = np.frombuffer(np.float16(v).tobytes(), np.uint8)
            return raw.reshape(n_out, -1)

        return put(1.5 / math.sqrt(n_in) / gguf.quants.dequantize(put(1.0), kind).std())

    def _vector(self, name, n, mean=0.0, spread=0.2):
        v = (mean + spread * self.rng.standard_normal(n)).astype(np.float32)
        self.tensors[name] = (v, gguf.GGMLQuantizationType.F32, v.astype(np.float64))

    def _global(self):
        s = self.s
        self._matrix("token_embd.weight", s["n_embd"], s["n_vocab"])
        self._vector("output_norm.weight", s["n_embd"], 1)
        if not s["tied"]:
            self._matrix("output.weight", s["n_embd"], s["n_vocab"])
        if s["bias"] == "all":
            self._vector("output.bias", s["n_vocab"])
        names = ["rope_freqs"] if s["rope_freqs"] else []
        names += ["rope_factors_long", "rope_factors_short"] if s["factors"] else []
        for name in names:
            v = (1 + 3 * self.rng.random(self.rot // 2)).astype(np.float32)
            self.tensors[name + ".weight"] = (v, gguf.GGMLQuantizationType.F32, v.astype(np.float64))

    def _layer(self, p, n_heads, n_kv, n_ff):
        s = self.s
        q, k, v = n_heads * self.head, n_kv * self.head, n_kv * self.head_v
        self._vector(p + "attn_norm.weight", s["n_embd"], 1)
        parts = [("attn_qkv", q + k + v)] if s["fused_qkv"] else [("attn_q", q), ("attn_k", k), ("attn_v", v)]
        for name, n in parts:
            self._matrix(f"{p}{name}.weight", s["n_embd"], n)
            if s["bias"]:
                self._vector(f"{p}{name}.bias", n)
        self._matrix(p + "attn_output.weight", n_heads * self.head_v, s["n_embd"])
        if self.arch in ("qwen3", "gemma3"):
            self._vector(p + "attn_q_norm.weight", self.head, 1)
            self._vector(p + "attn_k_norm.weight", self.head, 1)
        self._vector(p + "ffn_norm.weight", s["n_embd"], 1)
        if self.arch in GEMMA:
            self._vector(p + "post_attention_norm.weight", s["n_embd"], 1)
            self._vector(p + "post_ffw_norm.weight", s["n_embd"], 1)
        wide = [("ffn_up", 2 * n_ff)] if self.arch == "phi3" else [("ffn_gate", n_ff), ("ffn_up", n_ff)]
        for name, n in wide + [("ffn_down", s["n_embd"])]:
            self._matrix(f"{p}{name}.weight", n_ff if name == "ffn_down" else s["n_embd"], n)
            if s["bias"] == "all":
                self._vector(f"{p}{name}.bias", n)

    def save(self, path):
        s, w = self.s, gguf.GGUFWriter(path, self.arch)
        keys = {"block_count": s["n_layers"], "context_length": s["n_ctx"], "embedding_length": s["n_embd"],
                "feed_forward_length": s["n_ff"], "attention.head_count": s["n_heads"],
                "attention.head_count_kv": s["n_kv"], "attention.layer_norm_rms_epsilon": 1e-5,
                "vocab_size": s["n_vocab"]}  # llama.cpp needs the last one when there is no tokenizer
        if s["head"] or s["head_v"]:
            keys.update({"attention.key_length": self.head, "attention.value_length": self.head_v})
        for name, value in {**keys, **s["keys"]}.items():
            full = f"{self.arch}.{name}"
            if isinstance(value, bool):
                w.add_bool(full, value)
            elif isinstance(value, (int, np.integer)):
                w.add_uint32(full, value)
            elif isinstance(value, float):
                w.add_float32(full, value)
            elif isinstance(value, str):
                w.add_string(full, value)
            else:
                w.add_array(full, value)
        w.add_tokenizer_model("none")
        w.add_token_list([f"t{i}" for i in range(s["n_vocab"])])
        for name, (raw, kind, _) in self.tensors.items():
            w.add_tensor(name, raw, raw_dtype=kind)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()

    # ----- the second opinion -----
    def w(self, name):
        return self.tensors[name][2]

    def product(self, x, name):
        return x @ self.w(name).T

    def linear(self, x, name):
        y = self.product(x, name + ".weight")
        return y + self.w(name + ".bias") if name + ".bias" in self.tensors else y

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float64(np.float32(self.eps))) * self.w(name + ".weight")

    def windows(self, layer):
        """The window of a layer, 0 for none."""
        if self.arch not in GEMMA:
            return 0
        window = self.key("attention.sliding_window", 4096 if self.arch == "gemma2" else 0)
        pattern = self.key("attention.sliding_window_pattern", 2 if self.arch == "gemma2" else 6)
        local = pattern[layer] if isinstance(pattern, list) else layer % pattern < pattern - 1
        return window if local else 0

    def rotary(self, local, ctx):
        """Frequencies and the scale of the pairs."""
        n, kind = self.rot, self.key("rope.scaling.type", "linear")
        base, factor = self.key("rope.freq_base", 10000.0), self.key("rope.scaling.factor", 1.0)
        if local and self.arch == "gemma3":
            base, factor = self.key("rope.freq_base_swa", 10000.0), 1.0
        freqs = base ** (-np.arange(0, n, 2) / n)
        original = self.key("rope.scaling.original_context_length", self.s["n_ctx"])
        if self.s["rope_freqs"]:
            freqs = freqs / self.w("rope_freqs.weight")
        if self.s["factors"]:
            freqs = freqs / self.w(f"rope_factors_{'long' if ctx > original else 'short'}.weight")
        attn = self.key("rope.scaling.attn_factor", 1.0)
        if kind == "none":
            return freqs, attn
        if kind != "yarn":
            return freqs / factor, attn
        dim = lambda turns: n * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
        low = max(0, math.floor(dim(self.key("rope.scaling.yarn_beta_fast", 32.0))))
        high = min(n - 1, math.ceil(dim(self.key("rope.scaling.yarn_beta_slow", 1.0))))
        keep = 1 - np.clip((np.arange(n // 2) - low) / max(0.001, high - low), 0, 1)
        whole = 1 + 0.1 * math.log(factor)
        mul = self.key("rope.scaling.yarn_log_multiplier", 0.0)
        return freqs * (keep + (1 - keep) / factor), attn * whole / (1 + 0.1 * mul * math.log(factor) if mul else 1)

    def rotate(self, x, local, ctx):
        """x [rows, heads, head]."""
        freqs, scale = self.rotary(local, ctx)
        angle = np.arange(len(x))[:, None, None] * freqs
        c, s, n = np.cos(angle) * scale, np.sin(angle) * scale, self.rot
        y = x.copy()
        a, b = (slice(0, n // 2), slice(n // 2, n)) if self.arch in NEOX else (slice(0, n, 2), slice(1, n, 2))
        y[..., a], y[..., b] = x[..., a] * c - x[..., b] * s, x[..., a] * s + x[..., b] * c
        return y

    def projected(self, x, i, ctx):
        """q, k, v of layer |i|, normed and rotated, and its window."""
        p, rows, n_heads, n_kv = f"blk.{i}.", len(x), self.of("n_heads", i), self.of("n_kv", i)
        nq, nk = n_heads * self.head, n_kv * self.head
        if self.s["fused_qkv"]:
            q, k, v = np.split(self.linear(x, p + "attn_qkv"), [nq, nq + nk], axis=-1)
        else:
            q, k, v = (self.linear(x, p + "attn_" + c) for c in "qkv")
        q, k = q.reshape(rows, n_heads, self.head), k.reshape(rows, n_kv, self.head)
        v = v.reshape(rows, n_kv, self.head_v)
        if self.arch in ("qwen3", "gemma3"):
            q, k = self.norm(q, p + "attn_q_norm"), self.norm(k, p + "attn_k_norm")
        window = self.windows(i)
        if not (self.arch == "smollm3" and (i + 1) % 4 == 0) and self.key("rope.scaling.finetuned", True):
            q, k = self.rotate(q, window > 0, ctx), self.rotate(k, window > 0, ctx)
        return q, k, v, window

    def attention(self, x, i, ctx):
        s, p, rows = self.s, f"blk.{i}.", len(x)
        q, k, v, window = self.projected(x, i, ctx)
        temperature = self.key("attention.temperature_scale", 0.0)
        original = self.key("rope.scaling.original_context_length", s["n_ctx"])
        q = q * (1 + temperature * np.log(1 + np.arange(rows) // original))[:, None, None]
        k, v = (np.repeat(t, self.of("n_heads", i) // self.of("n_kv", i), axis=1) for t in (k, v))
        score = np.einsum("qhd,khd->hqk", q, k) * self.key("attention.scale", 1 / math.sqrt(self.head))
        cap = self.key("attn_logit_softcapping", 50.0 if self.arch == "gemma2" else 0.0)
        score = cap * np.tanh(score / cap) if cap else score
        back = np.arange(rows)[:, None] - np.arange(rows)[None, :]
        score[:, (back < 0) | ((back >= window) & (window > 0))] = -np.inf
        prob = np.exp(score - score.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", prob / prob.sum(-1, keepdims=True), v)
        return self.linear(y.reshape(rows, -1), p + "attn_output")

    def gate_and_up(self, x, i):
        p = f"blk.{i}."
        if self.arch == "phi3":
            gate, up = np.split(self.linear(x, p + "ffn_up"), 2, axis=-1)
        else:
            gate, up = self.linear(x, p + "ffn_gate"), self.linear(x, p + "ffn_up")
        return gate, up

    def ffn(self, x, i):
        gate, up = self.gate_and_up(x, i)
        if self.arch in GEMMA:
            gate = 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return self.linear(gate * up, f"blk.{i}.ffn_down")

    def logits(self, ids, ctx):
        s, gemma = self.s, self.arch in GEMMA
        x = self.w("token_embd.weight")[ids] * self.key("embedding_scale", math.sqrt(s["n_embd"]) if gemma else 1.0)
        for i in range(s["n_layers"]):
            p = f"blk.{i}."
            y = self.attention(self.norm(x, p + "attn_norm"), i, ctx)
            x = x + (self.norm(y, p + "post_attention_norm") if gemma else y) * self.key("residual_scale", 1.0)
            y = self.ffn(self.norm(x, p + "ffn_norm"), i)
            x = x + (self.norm(y, p + "post_ffw_norm") if gemma else y) * self.key("residual_scale", 1.0)
        x = self.product(self.norm(x, "output_norm"), "token_embd.weight" if s["tied"] else "output.weight")
        x = x + self.w("output.bias") if "output.bias" in self.tensors else x
        x = x / self.key("logit_scale", 1.0)
        cap = self.key("final_logit_softcapping", 30.0 if self.arch == "gemma2" else 0.0)
        return cap * np.tanh(x / cap) if cap else x
