"""Random models of every architecture: dimensions, weight types (mixed in one file), biases, windows, soft caps, rotary
scalings. A number gives the same model on every machine.

    case = RandomModel(seed); case.save(path); case.kv (types of key-value cache that its heads allow), case.ctx, case.text

From any number on, 160 in a row have every weight type in every architecture, 31 every type, 10 every architecture
(tests/random_models.py).
"""
import random

from tiny_model import BLOCKS, GEMMA, Tiny

ARCHITECTURES = ("llama", "mistral3", "granite", "minicpm", "qwen2", "qwen3", "gemma2", "gemma3", "phi3", "smollm3")
KINDS = sorted(BLOCKS)
LONGROPE = ("llama", "mistral3", "granite", "minicpm", "phi3")
ROPE_FREQS = ("llama", "mistral3", "granite", "minicpm")
HEADS = (32, 40, 48, 56, 64, 72, 80, 96, 100, 112, 120, 128, 160, 192, 256)
ODD_HEADS = (33, 35, 42, 57, 66, 90, 127, 129, 255)


def chosen(seed):
    """The architecture, and the embedding's type. In 80 numbers each architecture meets every other type; the next 80 have the
    types that are left."""
    return ARCHITECTURES[seed % len(ARCHITECTURES)], KINDS[(seed + seed // 80 % 2) % len(KINDS)]


class Types:
    """The type of each matrix: of those whose blocks its rows are made of. Some models have one or two types only. |first| is
    the embedding's, and that of half of the others that it fits."""

    def __init__(self, rng, first):
        self.rng, self.first, self.few = rng, first, rng.sample(KINDS, rng.choice([1, 2, len(KINDS), len(KINDS)]))
        self.used = set()

    def __call__(self, name, n_in):
        fit = [t for t in self.few if n_in % BLOCKS[t] == 0] or [t for t in KINDS if n_in % BLOCKS[t] == 0]
        kind = self.rng.choice(fit)
        if n_in % BLOCKS[self.first] == 0 and (name == "token_embd.weight" or self.rng.random() < 0.5):
            kind = self.first
        self.used.add(kind)
        return kind


def rotary(rng, arch, head, settings, keys):
    if head % 2 or rng.random() < 0.3:
        keys["rope.dimension_count"] = 2 * rng.randint(1, head // 2)
    kind = rng.choice(["none", "linear", "yarn", "longrope", "", ""])
    if rng.random() < 0.5:
        keys["rope.freq_base"] = rng.choice([500.0, 10000.0, 1e6])
    if kind == "longrope" and arch in LONGROPE or arch == "phi3" and rng.random() < 0.6:
        settings["factors"] = True
        keys["rope.scaling.original_context_length"] = rng.choice([12, 40, 4096])
        keys["rope.scaling.attn_factor"] = rng.choice([1.0, 1.19])
        if arch != "phi3":
            keys["rope.scaling.type"] = kind
    elif kind in ("linear", "yarn", "none"):
        keys.update({"rope.scaling.type": kind, "rope.scaling.factor": rng.choice([1.0, 2.5, 32.0])})
        if kind == "yarn":
            keys["rope.scaling.original_context_length"] = rng.choice([8, 64, 2048])
    if arch in ROPE_FREQS and not settings.get("factors") and rng.random() < 0.3:
        settings["rope_freqs"] = True


def gemma(rng, arch, n_layers, keys):
    if arch == "gemma2" or rng.random() < 0.8:
        keys["attention.sliding_window"] = rng.choice([1, 3, 16, 31, 33, 64])
    if rng.random() < 0.5:
        pattern = [rng.random() < 0.6 for _ in range(n_layers)]
        keys["attention.sliding_window_pattern"] = rng.choice([pattern, rng.randint(1, 4)])
    if rng.random() < 0.5:
        keys["final_logit_softcapping"] = rng.choice([2.0, 30.0])
    if arch == "gemma2" and rng.random() < 0.5:
        keys["attn_logit_softcapping"] = rng.choice([1.5, 50.0])
    if arch == "gemma3" and rng.random() < 0.5:
        keys["rope.freq_base_swa"] = 3000.0


def own_keys(rng, arch, n_layers, keys):
    if arch in GEMMA:
        gemma(rng, arch, n_layers, keys)
    elif arch in ("granite", "minicpm"):
        keys.update({"embedding_scale": rng.choice([1.0, 3.0, 12.0]), "residual_scale": rng.choice([1.0, 0.22]),
                     "logit_scale": rng.choice([1.0, 4.0])})
        if arch == "granite" and rng.random() < 0.2:
            keys["rope.scaling.finetuned"] = False
    elif arch == "mistral3" and rng.random() < 0.7:
        keys["attention.temperature_scale"] = 0.3
        keys.setdefault("rope.scaling.original_context_length", 10)
    if rng.random() < 0.2:
        keys["attention.scale"] = rng.choice([0.05, 0.3])


def dimensions(rng, head, block, n_layers):
    """Groups of 1 to 8 query heads; widths multiples of 32, or as odd as they come when |block| is 1; sometimes others in each
    layer."""
    n_kv, group = rng.randint(1, 4), rng.randint(1, 8)
    while head * n_kv * group > 2048:
        n_kv, group = max(1, n_kv - 1), max(1, group - 1)
    n_embd = rng.randint(17, 500) if block == 1 else rng.choice([256, 512, 768] + [32 * rng.randint(1, 20)] * (block == 32))
    n_ff = rng.choice([256, 1024, 32 * rng.randint(1, 40)]) if block > 1 else rng.randint(5, 900)
    n_heads = n_kv * group
    if rng.random() < 0.15:
        n_ff = [n_ff if rng.random() < 0.5 else n_ff // 2 + 16 for _ in range(n_layers)]
        n_heads = [n_kv * rng.randint(1, group) for _ in range(n_layers)]
    return dict(n_kv=n_kv, n_heads=n_heads, n_embd=n_embd, n_ff=n_ff,
                n_vocab=rng.choice([33, 97, 128, 511, 777, rng.randint(40, 1500)]))


class RandomModel:
    def __init__(self, seed):
        rng = random.Random(seed)
        arch, first = chosen(seed)
        block = BLOCKS[first] if BLOCKS[first] > 1 or rng.random() < 0.5 else 32
        head = rng.choice(HEADS + ODD_HEADS) if rng.random() < 0.4 else rng.choice(HEADS)
        keys, n_layers = {}, rng.choice([1, 2, 2, 3, 5])
        settings = dict(n_layers=n_layers, head=head, tied=rng.random() < 0.5, **dimensions(rng, head, block, n_layers))
        if rng.random() < 0.15:
            settings["head_v"] = rng.choice(HEADS[:8])
        if arch == "phi3" or rng.random() < 0.2:
            settings["fused_qkv"] = rng.random() < 0.8
        if arch == "qwen2" or rng.random() < 0.3:
            settings["bias"] = rng.choice([True, "all"])
        rotary(rng, arch, head, settings, keys)
        own_keys(rng, arch, n_layers, keys)
        types = Types(rng, first)
        self.ctx = rng.choice([48, 64, 200])
        self.tiny = Tiny(arch, seed=seed, types=types, keys=keys, **settings)
        values = {head, settings.get("head_v", head)}
        self.kv = ["f16", "f32"] + ["q8_0"] * all(v % 32 == 0 for v in values)
        assert first in types.used, (seed, first, types.used)
        self.types, self.n_vocab = sorted(types.used), settings["n_vocab"]
        self.text = f"seed {seed}: {arch} {settings} {keys} {' '.join(self.types)}"

    def save(self, path):
        self.tiny.save(path)
