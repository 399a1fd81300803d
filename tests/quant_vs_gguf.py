"""Dequantisation against the gguf Python package, bit for bit, and packing against numpy.

  python tests/quant_vs_gguf.py BUILD/tests/quant_tool [--blocks N] [--seed S]

Needs numpy and gguf 0.19.0. Blocks are random bytes; the half-precision scales are replaced in turn by special values
(zeros, subnormals, infinities, NaNs, the largest numbers). NaNs are compared as a class, everything else by its bits.
"""
import argparse
import subprocess
import sys

import numpy as np
import gguf
from gguf.quants import dequantize

TYPES = ["f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k",
         "iq4_nl", "iq4_xs", "mxfp4"]
# where the half-precision scales of a block lie
HALVES = {"q4_0": [0], "q4_1": [0, 2], "q5_0": [0], "q5_1": [0, 2], "q8_0": [0], "q2_k": [80, 82], "q3_k": [108],
          "q4_k": [0, 2], "q5_k": [0, 2], "q6_k": [208], "iq4_nl": [0], "iq4_xs": [0]}
SPECIAL = np.array([0, 0x8000, 1, 0x8001, 0x3FF, 0x83FF, 0x400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7C01,
                    0xFFFF, 0x3C00, 0xBC00], dtype="<u2")


def tool(path, verb, name, data):
    p = subprocess.run([path, verb, name], input=data, stdout=subprocess.PIPE, check=True)
    return p.stdout


def same(name, got, want):
    got, want = np.frombuffer(got, "<u4"), np.ascontiguousarray(want).view("<u4").ravel()
    if got.size != want.size:
        return "%s: %d values instead of %d" % (name, got.size, want.size)
    nan = lambda u: (u & 0x7FFFFFFF) > 0x7F800000
    wrong = np.nonzero((got != want) & ~(nan(got) & nan(want)))[0]
    if wrong.size:
        i = wrong[0]
        return "%s: %d of %d values differ; value %d is %08x instead of %08x" % (name, wrong.size, got.size, i, got[i], want[i])
    return None


def unpack_case(name, blocks, rng):
    qtype = gguf.GGMLQuantizationType[name.upper()]
    _, size = gguf.GGML_QUANT_SIZES[qtype]
    raw = rng.integers(0, 256, (blocks, size), dtype=np.uint8)
    for at in HALVES.get(name, []):
        pick = SPECIAL[rng.integers(0, SPECIAL.size, blocks)].view(np.uint8).reshape(blocks, 2)
        rows = rng.random(blocks) < 0.5
        raw[rows, at:at + 2] = pick[rows]
    if name == "mxfp4":
        raw[:, 0] = np.arange(blocks)      # every exponent
    if name in ("f16", "bf16"):            # every number there is
        raw = np.arange(65536, dtype="<u2").view(np.uint8).reshape(-1, 2)
    with np.errstate(all="ignore"):
        return raw.tobytes(), dequantize(raw.reshape(-1) if size <= 4 else raw, qtype).astype("<f4")


def pack_inputs(rng, n):
    x = rng.standard_normal(n).astype("<f4") * np.float32(10.0) ** rng.integers(-12, 9, n // 32).repeat(32).astype("<f4")
    x[:32] = 0
    x[32:64] = 1e-42
    x[64:96] = np.arange(32) * 0.5 - 8     # ties in Q8_0
    x[64] = 63.5
    return x


def pack_cases(rng):
    x = pack_inputs(rng, 64 * 1024)
    with np.errstate(all="ignore"):
        yield "f32", x, x.tobytes()
        y = rng.integers(0, 1 << 32, 1 << 18, dtype=np.uint32).view("<f4")
        y = np.where(np.isnan(y), np.float32(1), y)
        yield "f16", y, y.astype("<f2").tobytes()
        yield "bf16", y, gguf.quants.quantize(y, gguf.GGMLQuantizationType.BF16).tobytes()
        yield "q8_0", x, gguf.quants.quantize(x, gguf.GGMLQuantizationType.Q8_0).tobytes()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("tool")
    ap.add_argument("--blocks", type=int, default=4096)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    bad = []
    rng = np.random.default_rng(a.seed)
    for name in TYPES:
        raw, want = unpack_case(name, a.blocks, rng)
        bad += filter(None, [same(name, tool(a.tool, "unpack", name, raw), want)])
    for name, x, want in pack_cases(rng):
        got = tool(a.tool, "pack", name, x.tobytes())
        if got != want:
            at = next((i for i, (p, q) in enumerate(zip(got, want, strict=False)) if p != q), min(len(got), len(want)))
            bad.append("pack %s: byte %d differs" % (name, at))
    for text in bad:
        print("FAIL", text)
    print("%d types unpacked, 4 packed, %d blocks each, seed %d: %d differ" % (len(TYPES), a.blocks, a.seed, len(bad)))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
