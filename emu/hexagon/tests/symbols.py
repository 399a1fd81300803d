"""The names libcdsprpc.so shows are those of the list, and each can be taken away: symbols.py LIBRARY LIST"""
import ctypes
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from without_symbol import without_symbol


def main():
    library, list_path = sys.argv[1:]
    with open(list_path) as file:
        expected = file.read().split()
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    shown = sorted(line.split()[-1] for line in lines.splitlines())
    shown = [name for name in shown if "asan" not in name]
    if shown != sorted(expected):
        raise SystemExit(f"more: {set(shown) - set(expected)}, missing: {set(expected) - set(shown)}")
    with open(library, "rb") as file:
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(expected):
            path = os.path.join(folder, f"lib{i}.so")
            with open(path, "wb") as file:
                file.write(without_symbol(data, name))
            copy = ctypes.CDLL(path)
            there = [other for other in expected if hasattr(copy, other)]
            if there != [other for other in expected if other != name]:
                raise SystemExit(f"without {name}: {set(expected) - set(there)} are missing")
    print(f"{len(expected)} names")


main()
