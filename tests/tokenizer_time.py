"""One megabyte of what is hard to cut or to merge takes less than two seconds, with every tokenizer and pre-tokenizer.

    tokenizer_time.py TOOL [NAME…]      TOOL is tests/tokenizer_tool of the build; NAME as in tokenizer_random.py

The full tier takes all vocabulary files of the peer, and every known pre-tokenizer with another's vocabulary; the quick one
each kind of tokenizer once and a few pre-tokenizers, with an eighth of the text and of the time. Times are those of the processor.
"""
import concurrent.futures
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

from npu_test import FULL
from tokenizer_random import all_others, peer_models, vocabulary

LIMIT, BYTES = (2.0, 1 << 20) if FULL else (0.25, 1 << 17)
QUICK = ["llama-spm", "gemma-4", "bert-bge", "nomic-bert-moe", "gpt-2", "llama-bpe", "qwen2@tekken", "qwen2@kimi-k2", "qwen2@spark2_5",
         "qwen2@jais-2"]
REPEATED = {"space": " ", "newline": "\n", "CRLF": "\r\n", "digit": "7", "apostrophe": "'", "combining mark": "\u0301", "letter": "a",
            "capital": "A", "ideograph": "\u4f60", "emoji": "\U0001F600", "full stop": ".", "it's": "'s", "space and letter": " a",
            "letter and digit": "a1", "half a special token": "<|im_start|", "no-break space": "\u00a0", "the escaped space": "\u2581"}


def texts():
    rng = random.Random(3)
    out = {name: (what.encode() * BYTES)[:BYTES] for name, what in REPEATED.items()}
    out["byte that is not UTF-8"] = b"\xff" * BYTES
    out["random letters"] = bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in range(BYTES))
    out["random bytes without a space"] = rng.randbytes(BYTES).replace(b" ", b"x").translate(None, bytes(range(0xF0, 0x100)))
    return out


def main(tool, names):
    models, given = peer_models(), texts()
    data = b"".join(struct.pack("<I", len(t)) + t for t in given.values())
    if not names and FULL:
        names = [p.stem.removeprefix("ggml-vocab-") for p in sorted(models.glob("ggml-vocab-*.gguf"))]
        names += [f"{base}@{pre}" for base, pres in all_others().items() for pre in pres]

    def one(name):
        with tempfile.TemporaryDirectory() as folder:
            path = vocabulary(pathlib.Path(folder), models, name)
            run = subprocess.run([tool, path, "special", "time"], input=data, capture_output=True, timeout=900)
        assert run.returncode == 0, (name, run.stderr.decode(errors="replace"))
        return name, dict(zip(given, map(float, run.stdout.split()[1:]), strict=True))

    slow, worst = 0, (0, "", "")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, times in pool.map(one, names or QUICK):
            worst = max(worst, *((seconds, name, text) for text, seconds in times.items()))
            for text, seconds in times.items():
                if seconds >= LIMIT:
                    slow += 1
                    print(f"{name}: {text}: {seconds:.2f} s", flush=True)
    print(f"{len(names or QUICK)} tokenizers, {len(given)} texts of {BYTES} bytes; the slowest: {worst[1]}, {worst[2]}: {worst[0]:.2f} s")
    return slow != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
