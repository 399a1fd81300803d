"""Every behaviour of the vendor's stack that the emulated device copies has a test: behaviours.json names rows of rows_*.c for each, by
the first words that the list of behaviours (fastrpc-qurt-hap.md of the reference, section 20) has for it.

  python behaviours.py
"""
import json
import pathlib
import re

from npu_test import shared

HERE = pathlib.Path(__file__).resolve().parent


def clauses(text):
    """The behaviours of the list: its items, cut at full stops and semicolons outside of brackets, without remarks in square ones."""
    for item in re.findall(r"^- (.*)$", text.split("\n## 20.")[1].split("\n## ")[0], re.M):
        depth, begin, item = 0, 0, re.sub(r"\s*\[[^]]*\]", "", item) + " "
        for at, c in enumerate(item):
            depth += (c == "(") - (c == ")")
            if not depth and c in ".;" and item[at + 1] == " ":
                yield item[begin:at].strip()
                begin = at + 1
        if item[begin:].strip():
            yield item[begin:].strip()


def main():
    rows = {name for file in HERE.glob("rows_*.c") for name in re.findall(r'\{"([^"]+)", \w+\}', file.read_text())}
    table = json.loads((HERE / "behaviours.json").read_text())
    for words, *tests in table:
        assert tests and rows.issuperset(tests), f"{words}: no such row of rows_*.c: {sorted(set(tests) - rows)}"
    told = list(clauses((shared("reference/fastrpc-qurt-hap.md")).read_text()))
    without = [c for c in told if sum(c.startswith(words) for words, *_ in table) != 1]
    gone = [words for words, *_ in table if sum(c.startswith(words) for c in told) != 1]
    assert len(told) > 60 and not without and not gone, f"behaviours without a test: {without}; not in the list: {gone}"
    print(f"{len(told)} behaviours, each with a test among {len(rows)} rows")


main()
