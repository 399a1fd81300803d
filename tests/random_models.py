"""What random models (tests/support/random_model.py) are made of: the architectures and weight types are those that the program has,
and as many numbers in a row as it says have all of them, from any number on.

  python tests/random_models.py
"""
import pathlib
import re
import tempfile

import gguf
import numpy as np
from npu_test import SOURCE, run_npu
from random_model import ARCHITECTURES, KINDS, chosen
from tiny_model import BLOCKS, RANDOM_BLOCKS, Tiny


def known_architectures():
    """Those of the program, as it names them when it meets another."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.gguf"
        tiny = Tiny("llama")
        tiny.arch = "nonesuch"
        tiny.save(path)
        told = run_npu("plan", "-m", path, check=False, text=True).stderr
    return re.search(r"\(known: ([^)]*)\)", told)[1].split(", ")


def formats():
    rows = re.findall(r'^NPU_FORMAT\((\w+), +\d+, "\w+", +(\d+),', (SOURCE / "wire/npu_formats.def").read_text(), re.M)
    return {name: int(values) for name, values in rows}


def quantised(kind):
    try:
        gguf.quants.quantize(np.zeros((1, BLOCKS[kind]), np.float32), gguf.GGMLQuantizationType[kind])
    except NotImplementedError:
        return False
    return True


def same(what, here, program):
    assert here == program, f"{what}: only here {sorted(set(here) - set(program))}, only in the program {sorted(set(program) - set(here))}"


def main():
    same("ARCHITECTURES of random_model.py", sorted(ARCHITECTURES), sorted(known_architectures()))
    same("BLOCKS of tiny_model.py", dict(sorted(BLOCKS.items())), dict(sorted(formats().items())))
    same("RANDOM_BLOCKS of tiny_model.py", sorted(RANDOM_BLOCKS), sorted(k for k in BLOCKS if not quantised(k)))
    every = len(ARCHITECTURES) * len(KINDS)
    for start in range(4 * every):
        row = [chosen(start + i) for i in range(every)]
        assert len(set(row)) == every, (start, len(set(row)))
        assert {t for _, t in row[:31]} == set(KINDS), start
        assert {a for a, _ in row[:10]} == set(ARCHITECTURES), start
    print(f"{len(ARCHITECTURES)} architectures, {len(KINDS)} weight types")


main()
