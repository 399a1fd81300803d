"""The peer's tokenizer test files: every ggml-vocab-*.gguf that comes with .inp and .out gives the ids in .out.

    tokenizer_peer.py TOOL      TOOL is tests/tokenizer_tool of the build

The files are in the sdist that scripts/peer-llama --source unpacks into the cache folder.
"""
import os
import pathlib
import struct
import subprocess
import sys

from npu_test import not_available

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "npu"
FOLDERS = sorted(CACHE.glob("peer-llama-*/llama_cpp_python-*/vendor/llama.cpp/models"))
if not FOLDERS:
    not_available("the peer's vocabulary files (scripts/peer-llama --source)")
SEPARATOR = b"\n__ggml_vocab_test__\n"
failed = done = 0
for INPUT in sorted(FOLDERS[-1].glob("ggml-vocab-*.gguf.inp")):
    VOCAB = INPUT.with_suffix("")
    strings = INPUT.read_bytes().removesuffix(SEPARATOR).split(SEPARATOR)
    wanted = [",".join(line.split()) for line in VOCAB.with_name(VOCAB.name + ".out").read_text().split("\n")[:-1]]
    data = b"".join(struct.pack("<I", len(s)) + s for s in strings)
    run = subprocess.run([sys.argv[1], VOCAB], input=data, capture_output=True, timeout=120)
    lines = run.stdout.decode().split("\n")[:-1]
    bad = [s for s, line, want in zip(strings, lines, wanted, strict=True) if line != want]
    done += 1
    if run.returncode or len(lines) != len(strings) or bad:
        failed += 1
        print(f"{VOCAB.name}: {len(bad)} of {len(strings)} differ, the first: {bad[:1]!r} {run.stderr.decode()}")
print(f"{done - failed} of {done} files pass")
sys.exit(failed != 0 or done != 15)
