"""A model in windows of the NPU that do not hold it: the host's bytes in every window that a plan takes, and a refusal with
what is needed and what is there, before anything is loaded, in every other one.

  python tests/hexagon_window.py [SEED]
"""
import json
import pathlib
import random
import re
import sys
import tempfile

from npu_test import FULL, model, run_npu
from tiny_model import Tiny

DEVICE = ["--npu-target", "hexagon", "--driver", "sim"]
PROMPT = ",".join(str(i * 37 % 500) for i in range(40))
MIXED = dict(type="Q8_0", types={"ffn_down": "F16", "attn_v": "Q5_0", "output": "Q4_0"})
MODELS = [
    ("llama", dict(n_layers=10, n_embd=256, n_ff=512, n_vocab=600, **MIXED)),
    ("gemma3", dict(n_layers=7, n_embd=256, n_ff=608, n_vocab=1111, tied=True, type="Q4_1",
                    keys={"attention.sliding_window": 6, "rope.freq_base": 1e6})),
    ("qwen2", dict(n_layers=40, n_embd=160, n_ff=320, n_vocab=501, bias=True, type="F16")),
]


def window(size):
    return [*DEVICE, "--emu", f"window={size}"]


def refusal(path, size, command=("plan",)):
    """What the refusal says is needed; None when the plan is taken."""
    done = run_npu(*command, "-m", str(path), "--ctx", "64", *window(size), check=False, text=True)
    if not done.returncode:
        return None
    told = re.search(r"error: \w+( of [\w.]+)? \(.*role \w+\) needs (\d+) bytes in the NPU's window at once, which has (\d+): "
                     r".*\[plan.window\]", done.stderr)
    assert done.returncode == 3 and told, done
    assert int(told[3]) == size < int(told[2]), done.stderr
    return int(told[2])


def least_window(path):
    low, high = 1 << 20, 64 << 20
    assert refusal(path, low) and not refusal(path, high)
    while high - low > 4096:
        middle = (low + high) // 2
        if refusal(path, middle):
            low = middle
        else:
            high = middle
    return high


def mapped(path, size, ctx="64"):
    cost = json.loads(run_npu("bench", "-m", str(path), "--host-cost", "--gen-tokens", "4", "--ctx", ctx, "--json",
                              *window(size), text=True).stdout)
    assert cost["images"] == 0 and cost["ops_host"] == 0, cost
    return cost["mapped_bytes"]


ADVICE = re.compile(r"--(ctx|prefill-rows) (\d+) or less( with --prefill-rows (\d+) or less)?")


def follow(path, command, rows, settings):
    """What a refusal advises is taken; where it advises nothing, no smaller context or step would have been."""
    emu = [x for setting in settings for x in ("--emu", setting)]
    done = run_npu(*command, "-m", str(path), *DEVICE, *emu, *rows, check=False, text=True)
    if not done.returncode:
        return "taken"
    code = re.search(r"\[(plan\.\w+)\]$", done.stderr)[1]
    assert done.returncode == 3 and code in ("plan.window", "plan.buffer"), done
    advice, taken = ADVICE.findall(done.stderr), lambda *words: run_npu("plan", "-m", str(path), *DEVICE, *emu, *words, check=False)
    for key, most, _, other in advice:
        asked = dict(zip(rows[::2], rows[1::2], strict=True)) | {f"--{key}": most} | ({"--prefill-rows": other} if other else {})
        again = taken(*(x for pair in asked.items() for x in pair))
        assert not again.returncode, (settings, rows, done.stderr, again.stderr)
    assert advice or taken("--ctx", "16", "--prefill-rows", "1").returncode == 3, (settings, rows, done.stderr)
    return f"{code} {' and '.join(key + ' with rows' * bool(other) for key, _, _, other in advice)}"


def advice(rng, tmp):
    told = {}
    wide = ("llama", dict(n_layers=1, n_embd=64, n_ff=8192, n_vocab=100, type="Q4_0"))  # a step's rows take most
    for arch, settings in (MODELS[0], MODELS[1], wide):
        path = tmp / "m.gguf"
        Tiny(arch, n_ctx=1 << 20, **settings).save(path)
        for _ in range(200 if FULL else 24):
            limit = rng.choice(["window", "window", "max_buffer"])
            size = int(2 ** rng.uniform(20.1, 24.5))
            rows = ["--ctx", str(int(2 ** rng.uniform(4, 14))), "--prefill-rows", str(rng.randint(1, 128))]
            kind = follow(path, ("plan",), rows, [f"{limit}={size}"])
            told[kind] = told.get(kind, 0) + 1
    print("advice:", told)
    assert {"plan.window ctx", "plan.buffer ctx"} <= set(told) and any("prefill-rows" in kind for kind in told), told


def random_windows(rng, arch, settings, tmp):
    path, out = tmp / "m.gguf", tmp / "logits"
    Tiny(arch, **settings).save(path)
    least, weights = least_window(path), path.stat().st_size
    told = refusal(path, least - 4096)
    assert not refusal(path, told * 112 // 100), told  # the rest is what shares a buffer, which grows with the window
    common = ["logits", "-m", str(path), "--ids", PROMPT, "--ctx", "64", "--greedy", "2", "-o", str(out)]
    want = run_npu(*common).stdout, out.read_bytes()
    assert refusal(path, rng.randrange(1 << 20, least - 4096), ("logits", "--ids", "1", "-o", str(out)))
    sizes = [least] + [rng.randrange(least, least + weights) for _ in range(12 if FULL else 1)]
    for size in sizes:
        assert (run_npu(*common, *window(size)).stdout, out.read_bytes()) == want, (arch, size)
    slides = [mapped(path, size) for size in (least, least + 2 * weights)]
    print(f"{arch}: {weights} bytes of model in windows of {sorted(sizes)}; mapped a step {slides}")
    assert 0 < slides[0] < 2 * weights and slides[1] == 0, slides


def nothing_comes_back(tmp):
    """A device whose address space returns only when a buffer is freed: the host's bytes where all fits together, else the
    device's failure by its name and with what helps, and that helps."""
    arch, settings = MODELS[0]
    path, out = tmp / "m.gguf", tmp / "logits"
    Tiny(arch, **settings).save(path)
    common = ["logits", "-m", path, "--ids", PROMPT, "--ctx", "64", "--greedy", "2", "-o", out]
    want = run_npu(*common).stdout, out.read_bytes()
    least, keeps = least_window(path), ["--emu", "window_by_free=1"]
    for words in (window(least), [*window(least + 2 * path.stat().st_size), *keeps]):
        assert (run_npu(*common, *words).stdout, out.read_bytes()) == want, words
    done = run_npu(*common, *window(least), *keeps, check=False, text=True)
    assert done.returncode == 5 and "[htp.map_kept]" in done.stderr and "take a smaller model, a shorter --ctx" in done.stderr, done


def nothing_slides(path):
    """Where everything fits nothing is said to be mapped anew: the first mapping of a batch's image is not that."""
    done = run_npu("run", "-m", str(path), "-p", "Hi", "-n", "3", "--ctx", "64", "--npu-target", "hexagon", "--driver", "sim",
                   "--npu-devices", "0:0,0:1", text=True)
    assert "; answer 3 tokens" in done.stderr and "mapped anew" not in done.stderr, done


def smollm2(path, tmp):
    """Text, logits and figures of a real model in a window that holds a third of it."""
    common = ["logits", "-m", str(path), "--ids", "1,22,333,4444,5,6,7,8,9,10,11,12", "--greedy", "3", "--ctx", "256"]
    here = run_npu(*common, "-o", str(tmp / "host"), text=True).stdout
    there = run_npu(*common, *window("48M"), "-o", str(tmp / "device"), text=True).stdout
    assert here == there and (tmp / "host").read_bytes() == (tmp / "device").read_bytes()
    common = ["run", "-m", str(path), "--ctx", "256", "-p", "The capital of France is", "-n", "3", "--temp", "0", "--json"]
    part = run_npu(*common, *window("48M"), "--profile", text=True)
    assert "MiB a token mapped anew" in part.stderr and "MiB mapped" in part.stderr, part.stderr
    whole, part = json.loads(run_npu(*common, "--device", "cpu", text=True).stdout), json.loads(part.stdout)
    print("window of 48 MiB:", part)
    assert whole["text"] == part["text"] and whole["tokens"] == 3 and part["ops_host"] == 0, (whole, part)
    assert whole["remapped_bytes_per_token"] == 0 < part["remapped_bytes_per_token"] < 100e6, (whole, part)
    assert mapped(path, 48 << 20, "256") < 66 << 20  # of 92 MiB of weights beside 10 of other buffers
    for command in (["run", "-p", "x"], ["plan"], ["bench", "--prompt-tokens", "64"]):
        done = run_npu(*command, "-m", str(path), "--ctx", "256", *window("32M"), check=False, text=True)
        assert done.returncode == 3 and "get_rows of token_embd.weight" in done.stderr, done
        assert f"which has {32 << 20}:" in done.stderr, done


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    print("seed", seed)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        advice(rng, pathlib.Path(folder))
        nothing_slides(model("smollm2"))
        nothing_comes_back(pathlib.Path(folder))
        for arch, settings in MODELS:
            random_windows(rng, arch, settings, pathlib.Path(folder))
        smollm2(model("smollm2"), pathlib.Path(folder))


main()
