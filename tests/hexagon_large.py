"""Weights larger than a shared buffer of the device can be: cut by rows into several, and the host's bytes all the same,
with nothing left to the host.

  python tests/hexagon_large.py tiny|smollm2 DRIVER
"""
import json
import pathlib
import sys
import tempfile

from npu_test import model, run_npu
from tiny_model import Tiny

PROMPT = ",".join(str(i * 977 % 9000) for i in range(40)) + ",8999,0"
MODELS = [
    ("llama", dict(n_layers=2, n_embd=256, n_ff=512, n_vocab=9001, type="Q8_0", types={"output": "Q4_1", "ffn_up": "F16"})),
    ("gemma3", dict(n_layers=2, n_embd=256, n_ff=4160, n_vocab=9000, tied=True, type="Q8_0",
                    keys={"attention.sliding_window": 6, "rope.freq_base": 1e6})),
    ("qwen2", dict(n_layers=2, n_embd=160, n_ff=320, n_vocab=9000, bias=True, type="F16")),
]
SETS = ([], ["--npu-devices", "0:0,0:1", "--split", "layer"], ["--npu-devices", "[0:0,0:1,0:2]"],
        ["--npu-devices", "0:0,0:1", "--split", "tensor"])


def entries(path, *args):
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        text = run_npu("plan", "-m", str(path), *args, text=True).stdout
        run_npu("plan", "-m", str(path), "-o", str(plan), *args)
        return {(e["layer"], e["role"]): e for e in json.loads(plan.read_text())["entries"]
                if e["tensors"] or e["where"] != "device"}, text


def compare(path, tmp, device, common):
    """The host's logits on the device; by tensors, which adds sums up in another order, those without the limit."""
    out = tmp / "logits"
    whole = [a for i, a in enumerate(device) if "max_buffer=1M" not in device[i:i + 2]] if "tensor" in device else []
    want = run_npu(*common, *whole, "-o", str(out)).stdout, out.read_bytes()
    assert (run_npu(*common, *device, "-o", str(out)).stdout, out.read_bytes()) == want, device


def tiny(driver, tmp):
    for i, (arch, settings) in enumerate(MODELS[:1] if driver == "qemu" else MODELS):
        path = tmp / f"{arch}.gguf"
        Tiny(arch, **settings).save(path)
        device = ["--npu-target", "hexagon", "--driver", driver, "--emu", "max_buffer=1M", "--ctx", "64",
                  "--prefill-rows", "8"]
        rows, text = entries(path, *device)
        assert all(e["where"] == "device" for e in rows.values()), rows
        for role in ("embed", "head"):
            parts = rows[-1, role].get("parts", 1)
            assert parts > 1 and f"in {parts} parts" in text, (arch, role, rows[-1, role])
        parts = {role if layer < 0 else f"{role} {layer}": e["parts"] for (layer, role), e in rows.items() if "parts" in e}
        assert arch != "gemma3" or "gu 0" in parts, parts
        print(arch, parts)
        common = ["logits", "-m", str(path), "--ids", PROMPT, "--ctx", "64", "--prefill-rows", "8", "--greedy", "3"]
        for devices in SETS if driver != "qemu" and i == 0 else SETS[:1]:
            compare(path, tmp, [*device[:6], *devices], common)
        small = [*device[:4], "--emu", "window=6M", "--emu", "max_buffer=1M"]
        for devices in (SETS[0], SETS[2]) if driver != "qemu" else ():
            compare(path, tmp, [*small, *devices], common)
        cost = json.loads(run_npu("bench", "-m", str(path), "--host-cost", "--gen-tokens", "2", "--json", *device,
                                  text=True).stdout)
        assert cost["ops_host"] == cost["images"] == 0 < cost["ops_device"] and cost["messages"] > 1, cost
    refusals(path, device)


def refusals(path, device):
    """A row id that no part has, and what can't be parted."""
    bad = run_npu("logits", "-m", str(path), "--ids", "1,9001", *device, "-o", "/dev/null", check=False, text=True)
    assert bad.returncode and "9001" in bad.stderr, bad
    big = run_npu("plan", "-m", str(path), *device[:6], "--ctx", "40000", check=False, text=True)
    assert big.returncode == 3 and "[plan.buffer]" in big.stderr and "at most 1048576 in one buffer" in big.stderr, big


def smollm2(driver, tmp):
    path = model("smollm2")
    device = ["--npu-target", "hexagon", "--driver", driver, "--emu", "max_buffer=6M"]
    rows, _ = entries(path, "--ctx", "256", *device)
    assert rows[-1, "head"]["parts"] == rows[-1, "embed"]["parts"] == 5, rows[-1, "head"]
    common = ["logits", "-m", str(path), "--ids", "1,22,333,4444,5,49151,7,8,9,10,11,12", "--greedy", "4", "--ctx", "256"]
    compare(path, tmp, device, common)
    cost = json.loads(run_npu("bench", "-m", str(path), "--host-cost", "--gen-tokens", "4", "--ctx", "256", "--json",
                              *device, text=True).stdout)
    assert cost["ops_host"] == cost["images"] == cost["allocations"] == 0 and cost["messages"] == 9, cost


def main():
    with tempfile.TemporaryDirectory() as folder:
        {"tiny": tiny, "smollm2": smollm2}[sys.argv[1]](sys.argv[2], pathlib.Path(folder))


main()
