"""Language-model heads of 262 144 rows, the largest vocabulary in use: wholly on the emulated NPU, the host's bytes. The
table is tied, so that rows of it are read by number too.

  python tests/hexagon_head.py TYPE…
"""
import json
import pathlib
import sys
import tempfile

from npu_test import run_npu
from tiny_model import Tiny

ROWS = 262144
IDS = f"1,{ROWS - 1},77777,131072"


def check(kind, folder):
    path, out, plan = folder / "head.gguf", folder / "logits", folder / "plan.json"
    width = 256 if kind.endswith("_K") else 64
    Tiny("llama", n_layers=1, n_embd=width, n_vocab=ROWS, tied=True, types={"token_embd": kind}).save(path)
    device = ["--npu-target", "hexagon", "--driver", "sim", "--ctx", "64"]
    run_npu("plan", "-m", str(path), "-o", str(plan), *device)
    entries = json.loads(plan.read_text())["entries"]
    assert entries and all(e["where"] == "device" for e in entries), entries
    common = ["logits", "-m", str(path), "--ids", IDS, "--ctx", "64", "--greedy", "3", "-o", str(out)]
    want = run_npu(*common, "--device", "cpu").stdout, out.read_bytes()
    assert len(want[1]) >= 4 * ROWS, len(want[1])
    assert (run_npu(*common, *device[:4]).stdout, out.read_bytes()) == want, kind
    bench = ["bench", "-m", str(path), "--host-cost", "--gen-tokens", "2", "--json"]
    cost = json.loads(run_npu(*bench, *device, text=True).stdout)
    assert cost["ops_host"] == 0 < cost["ops_device"], cost
    print(kind, "head of", ROWS, "rows: the host's bytes, nothing on the host")


def main():
    for kind in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            check(kind, pathlib.Path(folder))


main()
