"""Models on several emulated Hexagons: the bytes of one device, whatever the set; what is refused. What a failing
device costs: hexagon_devices_faults.py.

  python tests/hexagon_devices.py same [SPLIT…]     logits and greedy ids of models on sets of devices
  python tests/hexagon_devices.py tensor            the same by tensors, whose sums are in another order
  python tests/hexagon_devices.py barriers          how many a step has, split by rows
  python tests/hexagon_devices.py refused           sets and splits that can't be, plans for other sets
  python tests/hexagon_devices.py windows           windows that hold so little that a batch has more parts than can be under way
"""
import json
import pathlib
import re
import sys
import tempfile

import numpy as np
from npu_test import FULL, model, run_npu, shared
from refs_a import FLOATS, kld
from tiny_model import Tiny

PLACES = ["0:0", "0:1", "1:0", "1:1", "0:2", "0:3", "1:2", "1:3"]
HEXAGON = ["--npu-target", "hexagon", "--driver", "sim", "--emu", "cdsps=2"]

def device_set(n, split):
    return ["--npu-devices", ",".join(PLACES[:n]), "--split", split]

def logits(path, ids, greedy, out, *options):
    done = run_npu("logits", "-m", path, "--ids", ",".join(map(str, ids)), "--greedy", greedy, "-o", out, *options, timeout=900,
                   text=True)
    return done.stdout, out.read_bytes()

def hosts(name):
    plan = run_npu("plan", "-m", shared("refs/a/" + name) / "model.gguf", check=False, text=True)
    return not (plan.returncode and "is not a known architecture" in plan.stderr)

def same_case(name, path, ids, greedy, counts, splits, folder):
    want = logits(path, ids, greedy, folder / "one", *HEXAGON)
    for split in splits:
        for n in counts:
            got = logits(path, ids, greedy, folder / "set", *HEXAGON, *device_set(n, split))
            assert got[0] == want[0], f"{name}: other ids on {n} devices by {split}"
            assert got[1] == want[1], f"{name}: other logits on {n} devices by {split}"
    print(f"{name}: {len(ids)} ids and {greedy} more are the same by {', '.join(splits)} on {counts} devices", flush=True)

def same(splits, folder):
    """A prompt of several parts of rows, then decoding; the full tier takes all cases, the quick one a few."""
    cases = ["gemma3-w16-q4_k_m", "smollm3-q4_k_m", "llama-tied-q4_1", "gemma2-softcap-q8_0"]
    if FULL:
        cases = [p.name for p in sorted(shared("refs/a").iterdir()) if (p / "model.gguf").exists() and hosts(p.name)]
    for i, name in enumerate(cases):
        counts = [1, 2, 3, 4, 8] if FULL else [[2, 8], [3], [2], [4]][i]
        ids = [1 + k * 7 % 90 for k in range(70 if FULL or i < 2 else 20)]
        same_case(name, shared("refs/a/" + name) / "model.gguf", ids, 4, counts, splits, folder)
    if FULL:
        prompt = json.loads(sorted(shared("refs/real-a/smollm2-135m").glob("*.json"))[0].read_text())["prompt_ids"]
        same_case("smollm2", model("smollm2"), prompt, 8, [2, 3, 4, 8], splits, folder)

def tensor_case(name, counts, greedy, folder):
    """The ids of one device, the same bytes every time, and as near to the reference as the accuracy bar asks (refs_a.py). Returns
    whether any sum was in another order."""
    case = shared("refs/a/" + name)
    ref = json.loads((case / "ref.json").read_text())
    ids, rows = ref["prompt_ids"], len(ref["prompt_ids"])
    reference = np.fromfile(case / "logits.f32", np.float32).reshape(-1, ref["n_vocab"])
    common = [*HEXAGON, "--ctx", ref["n_ctx"]]
    one = logits(case / "model.gguf", ids, greedy, folder / "one", *common)
    ratios, other = [], False
    for n in counts:
        got = [logits(case / "model.gguf", ids, greedy, folder / "set", *common, *device_set(n, "tensor")) for _ in range(2)]
        assert got[0] == got[1], f"{name}: other bytes in the second run on {n} devices"
        assert got[0][0] == one[0], f"{name}: other ids on {n} devices by tensors"
        mine = np.frombuffer(got[0][1], np.float32).reshape(-1, ref["n_vocab"])[:rows]
        ratios.append(kld(reference, mine) / ref["llama_default"]["kld_mean"])
        other |= got[0][1] != one[1]
    limit = 1.0 if "_K" in ref["file_type"] else 2.0
    print(f"{name}: KLD ratios {[round(r, 3) for r in ratios]} on {counts} devices by tensors", flush=True)
    assert ref["file_type"] in FLOATS or max(ratios) <= limit, (name, ratios)
    return other

def tensor(folder):
    cases = [("llama-tied-q4_1", [2, 3, 8]), ("qwen2-bias-q5_k_m", [2, 4]), ("gemma3-w16-q4_k_m", [3])]
    if FULL:
        names = [p.name for p in sorted(shared("refs/a").iterdir()) if (p / "model.gguf").exists() and hosts(p.name)]
        cases = [(name, [2, 3, 4, 8]) for name in names]
    assert any([tensor_case(name, counts, 4, folder) for name, counts in cases]), "no sum was in another order"
    few_heads(folder)
    if FULL:
        real_prompt(folder)

def few_heads(folder):
    """More devices than key-value heads, and rows that are no whole lines, so that adds are not shared in a graph of few rows: what
    has nothing to do with heads does not end their copies, which a prompt has begun."""
    path, ids = folder / "m.gguf", [1 + k % 6 for k in range(24)]
    for values in (dict(n_layers=3, n_embd=200, n_heads=6, n_kv=2, head=64, n_ff=16, n_vocab=7, tied=True, type="F16"),
                   dict(n_layers=1, n_embd=256, n_heads=9, n_kv=3, head=64, n_ff=96, n_vocab=31, type="Q8_0")):
        Tiny("qwen3", **values).save(path)
        one = logits(path, ids, 3, folder / "one", *HEXAGON)
        for n in (4, 8):
            got = [logits(path, ids, 3, folder / "set", *HEXAGON, *device_set(n, "tensor")) for _ in range(2)]
            assert got[0] == got[1] and got[0][0] == one[0], (n, values, got[0][0], one[0])

def real_prompt(folder):
    """SmolLM2 by tensors: the same bytes every time, about as far from exact mode as one device, and its ids, up to where those were
    a near tie."""
    prompt = json.loads(sorted(shared("refs/real-a/smollm2-135m").glob("*.json"))[0].read_text())["prompt_ids"]
    path, rows = model("smollm2"), lambda raw: np.frombuffer(raw, np.float32).reshape(len(prompt), -1)
    exact = rows(logits(path, prompt, 0, folder / "exact", "--exact")[1])
    one = logits(path, prompt, 8, folder / "one", *HEXAGON)
    for n in (2, 3, 4, 8):
        got = [logits(path, prompt, 8, folder / "set", *HEXAGON, *device_set(n, "tensor")) for _ in range(2)]
        assert got[0] == got[1], f"other bytes in the second run on {n} devices"
        far = [kld(exact, rows(raw)) for raw in (one[1], got[0][1])]
        assert far[1] <= 1.5 * far[0], f"{n} devices: KLD from exact mode {far}"
        want, have = ([int(x) for x in ids.split(",")] for ids in (one[0], got[0][0]))
        same = next((i for i in range(8) if want[i] != have[i]), 8)
        print(f"smollm2: {same} of 8 ids are the same on {n} devices by tensors, KLD from exact mode {far[1]:.4f} ({far[0]:.4f})", flush=True)
        if same < 8:
            last = logits(path, prompt + want[:same], 0, folder / "tie", *HEXAGON)[1]
            last = np.frombuffer(last, np.float32).reshape(len(prompt) + same, -1)[-1]
            assert last[want[same]] - last[have[same]] < 0.1, f"{n} devices: no near tie at id {same}"

def barriers(folder):
    """At most four a layer, with those of the head, of a model of llama's kind; every byte moved once, by one device or another."""
    for path, layers in ((shared("refs/a/llama-tied-q4_1") / "model.gguf", 2), (model("smollm2"), 30)):
        told = []
        for options in ([], device_set(2, "row")):
            done = run_npu("logits", "-m", path, "--ids", "1", "--greedy", 5, "--profile", "-o", folder / "out", *HEXAGON, *options,
                           text=True, timeout=900)
            told.append([float(x) for x in re.search(r"a step: ([\d.]+) barriers.* a row: ([\d.]+) KiB by DMA", done.stderr).groups()])
        (none, one_moves), (count, two_move) = told
        assert none == 0 and 0 < count <= 4 * layers, told
        assert two_move < one_moves * 1.15, f"devices read the same weights: {told}"
        done = run_npu("bench", "-m", path, "--estimate", *HEXAGON, "--json", text=True)
        speed = json.loads(done.stdout)
        decode = speed["decode"]
        assert speed["is_estimate"] and [row["npus"] for row in decode] == [1, 2, 3, 4], speed
        assert decode[0]["row_tokens_per_s"] == decode[0]["layer_tokens_per_s"] > decode[3]["layer_tokens_per_s"] > 0, speed
        assert decode[0]["tensor_tokens_per_s"] == decode[0]["row_tokens_per_s"], speed
        saved = [1e6 / row["row_tokens_per_s"] - 1e6 / row["tensor_tokens_per_s"] for row in decode]  # us a token
        assert all(4 * layers < us < 6 * layers for us in saved[1:]), saved  # two barriers of 3 us a layer, less the sums read
        done = run_npu("logits", "-m", path, "--ids", "1", "--greedy", 5, "--profile", "-o", folder / "out", *HEXAGON, *device_set(2, "tensor"),
                       text=True, timeout=900)
        by_tensors = float(re.search(r"a step: ([\d.]+) barriers", done.stderr)[1])
        assert 0 < by_tensors <= 2 * layers + 2, by_tensors
        print(f"{path.name}: {count} barriers a step of {layers} layers; {one_moves} KiB a row by DMA, {two_move} on two devices, {by_tensors} barriers by tensors")


def refused(folder):
    path = shared("refs/a/llama-tied-q4_1") / "model.gguf"
    base = ["logits", "-m", path, "--ids", "1,2", "-o", folder / "out"]
    rows = [
        (2, "needs --npu-devices", [*HEXAGON, "--split", "layer"]),
        (2, "needs --npu-target", ["--npu-devices", "0:0,0:1"]),
        (2, "layer|row|tensor", [*HEXAGON, "--npu-devices", "0:0,0:1", "--split", "columns"]),
        (2, "twice", [*HEXAGON, "--npu-devices", "0:0,0:0"]),
        (2, "NPU:SESSION", [*HEXAGON, "--npu-devices", "0:0,,0:1"]),
        (2, "SESSION 0 to 3", [*HEXAGON, "--npu-devices", "0:0,0:7"]),
        (2, "brackets", [*HEXAGON, "--npu-devices", "[0:0,0:1]", "--split", "layer"]),
        (2, "split by rows", [*HEXAGON, "--npu-devices", "[0:0,0:1]", "--split", "tensor"]),
        (2, "list of groups", [*HEXAGON, "--npu-devices", "[0:0,0:1],[1:0,1:1]"]),

        (2, "takes no --npu-devices", ["--npu-target", "xdna", "--driver", "emu", "--npu-devices", "0:0,0:1"]),
        (4, "--emu cdsps=2", [*HEXAGON[:4], "--npu-devices", "1:0"]),
        (3, "262144 to ", [*HEXAGON, "--emu", "vtcm=64K"]),
        (4, "NPU 1:0 (domain cdsp1) is not there", [*HEXAGON[:4], "--npu-devices", "0:0,1:0"]),
        (4, "NPU 0:2 (domain cdsp) is not there", [*HEXAGON, "--emu", "sessions=2", "--npu-devices", "0:0,0:1,0:2"]),
    ]
    for code, says, options in rows:
        done = run_npu(*base, *options, check=False, text=True)
        assert done.returncode == code and says in done.stderr, (options, done.returncode, done.stderr)
        assert not (folder / "out").exists()
    plan = folder / "plan.json"
    two = ["--npu-devices", "0:0,0:1"]
    run_npu("plan", "-m", path, *HEXAGON, *two, "-o", plan)
    places = {(e["layer"], e["device"]) for e in json.loads(plan.read_text())["entries"] if e["layer"] >= 0}
    layers = json.loads(plan.read_text())["model"]["layers"]
    assert places == {(layer, layer * 2 // layers) for layer in range(layers)}, places
    run_npu(*base, *HEXAGON, *two, "--plan", plan)
    for options in ([], ["--npu-devices", "0:0,0:2"], [*two, "--split", "row"]):
        done = run_npu(*base, *HEXAGON, *options, "--plan", plan, check=False, text=True)
        assert done.returncode == 3 and "--npu-devices" in done.stderr, (options, done)
    print(f"{len(rows) + 4} refusals")

def transports(folder):
    """Devices that are invoked, because there is no packet queue: by layers they follow each other; what meets at barriers inside
    a batch is refused by name. And devices with one vector context, whose plan is theirs."""
    path = shared("refs/a/llama-tied-q4_1") / "model.gguf"
    ids, plain = [1 + k * 7 % 90 for k in range(40)], ["--emu", "fault=dspqueue_create=code:0x14"]
    want = logits(path, ids, 3, folder / "one", *HEXAGON)
    for options in (plain, ["--emu", "hvx=1"], ["--emu", "hvx=2"]):
        for n in (2, 3):
            assert logits(path, ids, 3, folder / "set", *HEXAGON, *options, *device_set(n, "layer")) == want, (options, n)
    assert logits(path, ids, 3, folder / "set", *HEXAGON, "--emu", "hvx=1", *device_set(2, "row")) == want
    failing = ("HAP_compute_res_acquire", "HAP_compute_res_acquire_cached", "qurt_thread_create", "dspqueue_import", "dspqueue_read",
               "dspqueue_write")
    for code, why, options in [(3, "AEE_EUNSUPPORTED", plain)] + [(5, "AEE_E", ["--emu", f"fault=dsp11:{call}@1=code:2"])
                                                                 for call in failing]:
        done = run_npu("logits", "-m", path, "--ids", "1", "-o", folder / "out", *HEXAGON, *options, "--npu-devices", "0:0,0:1",
                       "--split", "row", check=False, text=True)
        assert done.returncode == code and "hexagon.split_transport" in done.stderr and why in done.stderr, (options, done)
    print("invoked devices by layers, not by rows; devices with one context")

def least_window(path, *options):
    """The least window that a plan takes, in KiB, to 16."""
    def taken(kib):
        return not run_npu("plan", "-m", path, *HEXAGON, "--emu", f"window={kib}K", *options, check=False).returncode
    low, high = 0, 1 << 16
    assert taken(high), options
    while high - low > 16:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= 1024 and taken(middle) else (middle, high)
    return high

def windows(folder):
    """A batch in more parts than there are places for answers (32 a device): the bytes are those of a window that holds all, with a
    trace too, and a device that dies in the midst of it keeps nobody waiting."""
    path, ids = folder / "m.gguf", [1 + k * 7 % 90 for k in range(20)]
    Tiny("llama", n_layers=24, n_embd=128, n_ff=512, n_vocab=101, type="F16").save(path)
    one = logits(path, ids, 2, folder / "one", *HEXAGON, "--ctx", 32)
    for split in ("row", "layer", "tensor"):
        size = least_window(path, *device_set(2, split), "--ctx", 32)
        small = [*HEXAGON, "--emu", f"window={size}K", *device_set(2, split), "--ctx", 32]
        want = one if split != "tensor" else logits(path, ids, 2, folder / "set", *HEXAGON, *device_set(2, split), "--ctx", 32)
        assert logits(path, ids, 2, folder / "set", *small) == want, (split, size)
        assert logits(path, ids, 2, folder / "set", *small, "--trace", folder / "trace") == want, (split, size)
        steps = json.loads(run_npu("bench", "-m", path, "--host-cost", "--gen-tokens", 2, "--json", *small, text=True).stdout)
        assert split == "layer" or steps["messages"] > 2 * 32 + 2, steps["messages"]
        done = run_npu("logits", "-m", path, "--ids", "1,2", "-o", folder / "out", *small, "--timeout", 100, "--emu",
                       "fault=dsp11:op@150=die", check=False, text=True)
        assert done.returncode and "NPU 0:1" in done.stderr and "hexagon.lost" in done.stderr, done
        print(f"by {split} in {size} KiB: {steps['messages']} messages a step", flush=True)
    for name, n, most in (("llama-tied-q4_1", 2, 7100), ("llama-tied-q4_1", 8, 12000), ("smollm3-q4_k_m", 3, 3100)):
        path, told = shared("refs/a/" + name) / "model.gguf", []
        options = [*device_set(n, "tensor"), "--ctx", 128]
        size = least_window(path, *options)
        assert size <= most, (name, n, size)  # what is counted as needed by tensors is little more than what is used
        for window in ([], ["--emu", f"window={size}K"]):
            told.append(logits(path, ids, 3, folder / "set", *HEXAGON, *options, *window))
        assert told[0] == told[1], (name, n, size)

def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if sys.argv[1] == "same":
            same(sys.argv[2:] or ["layer", "row"], folder)
        elif sys.argv[1] == "tensor":
            tensor(folder)
        elif sys.argv[1] == "barriers":
            barriers(folder)
        elif sys.argv[1] == "windows":
            windows(folder)
        else:
            refused(folder)
            transports(folder)

if __name__ == "__main__":
    main()
