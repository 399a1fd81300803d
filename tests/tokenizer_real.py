"""The tokenizers of the two real models: prompt ids as in the references, text given back, and the promised times.

    tokenizer_real.py TOOL      TOOL is tests/tokenizer_tool of the build
"""
import json
import random
import struct
import subprocess
import sys

from npu_test import SANITIZE, model, shared

TOOL = sys.argv[1]
MODELS = {"smollm2": "smollm2-135m", "gemma3": "gemma-3-270m"}


def run(path, strings, *flags):
    data = b"".join(struct.pack("<I", len(s)) + s for s in strings)
    done = subprocess.run([TOOL, path, *flags], input=data, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split("\n")[:-1]


def check_prompts(name, path):
    cases = [json.loads(f.read_text()) for f in sorted(shared("refs/real-a/" + MODELS[name]).glob("*.json"))]
    assert cases
    lines = run(path, [c["prompt"].encode() for c in cases], "special", "add")
    for case, line in zip(cases, lines, strict=True):
        assert line == ",".join(map(str, case["prompt_ids"])), case["prompt"][:60]
    texts = [c["greedy_text"].encode() for c in cases] + ["  two  spaces\n\n\t\u00e9\U0001F600 ".encode()]
    back = run(path, texts, "decode")
    assert back == [t.hex() for t in texts]
    print(f"{name}: {len(cases)} prompts, {len(texts)} texts given back")


def check_times(name, path):
    rng = random.Random(3)
    megabyte = bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in range(1 << 20))
    runs = [list(map(float, run(path, [megabyte, b"x"], "time")[0].split())) for _ in range(5)]
    create, encode = min(r[0] for r in runs), min(r[1] for r in runs)
    print(f"{name}: created in {create:.3f} s, one megabyte without a space in {encode:.3f} s")
    assert create < 0.1 and encode < 2.0


for NAME in MODELS:
    PATH = model(NAME)
    check_prompts(NAME, PATH)
    if not SANITIZE:
        check_times(NAME, PATH)
