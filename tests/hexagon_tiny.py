"""Small random models of every architecture on the emulated Hexagon: the host's bytes, whatever part of a model the device
can't take. Head sizes that no kernel takes keep a layer's attention and its key-value writes together on the host.

  python tests/hexagon_tiny.py
"""
import pathlib
import tempfile

from model_tiny import GOOD
from npu_test import run_npu
from tiny_model import Tiny

HEADS = [("llama", 64, dict(head=head, n_heads=2, n_kv=1)) for head in (8, 26, 32, 36, 48, 64, 80, 96, 128)]
DEVICE = ["--npu-target", "hexagon", "--driver", "sim"]


def logits(folder, ctx, *options):
    out = folder / "o.f32"
    ids = ",".join(str(i * 7 % 50) for i in range(min(ctx, 17)))
    run_npu("logits", "-m", str(folder / "m.gguf"), "--ids", ids, "--ctx", str(ctx), "-o", str(out), *options)
    return out.read_bytes()


def not_finite(folder):
    """Logits that are no numbers: with a device, it may be the device's fault."""
    tiny = Tiny("llama")
    tiny.tensors["output_norm.weight"][0][0] = float("nan")
    tiny.save(folder / "m.gguf")
    for options in ([], DEVICE):
        done = run_npu("logits", "-m", str(folder / "m.gguf"), "--ids", "1,2", "-o", str(folder / "o"), *options, check=False, text=True)
        assert done.returncode == 3 and "a weight of the model is not a number" in done.stderr, done
        assert ("or the device failed" in done.stderr) == bool(options), done


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for arch, ctx, settings in GOOD + HEADS:
            Tiny(arch, **settings).save(folder / "m.gguf")
            for kv in ("f16", "f32"):
                assert logits(folder, ctx, "--kv", kv) == logits(folder, ctx, "--kv", kv, *DEVICE), (arch, settings, kv)
            plan = run_npu("plan", "-m", str(folder / "m.gguf"), *DEVICE, text=True).stdout.splitlines()
            places = {}
            for words in map(str.split, plan):
                if len(words) > 8 and words[1] in ("kv", "attn"):
                    places.setdefault(words[0], set()).add(words[7])
            assert places and all(len(place) == 1 for place in places.values()), (arch, settings, places)
        not_finite(folder)
    print(f"{len(GOOD + HEADS)} models are the same on the device")


main()
