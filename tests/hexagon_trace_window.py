"""--trace where the window and the mapping slots hold little: the ring is part of the window, batches are cut into parts, buffers
are mapped all the time. The bytes are those without a trace, each op is there once and in order over its batch's parts, and what
was mapped is on the track.

  python tests/hexagon_trace_window.py
"""
import pathlib
import tempfile

from hexagon_limits import least
from hexagon_trace import named, read, walk
from npu_test import model, run_npu
from tiny_model import Tiny

DEVICE = ["--npu-target", "hexagon", "--driver", "sim"]
GREEDY = 3


def traced(tmp, path, *limits):
    """Batches, their parts, bytes mapped, spans that found no room in the ring."""
    common = ["logits", "-m", path, "--ids", "1,22,333,44,5", "--greedy", GREEDY, "--ctx", "64", *DEVICE, *limits]
    plain = run_npu(*common, "-o", tmp / "plain", text=True)
    done = run_npu(*common, "-o", tmp / "traced", "--trace", tmp / "trace", "--profile", text=True)
    assert plain.stdout == done.stdout and (tmp / "plain").read_bytes() == (tmp / "traced").read_bytes(), limits
    assert "MiB mapped" in done.stderr, done.stderr
    top, dropped = read(tmp / "trace")
    (group,) = {g for g, _ in top} - {"npu"}
    parts = left = top[group, "main"]
    batches = [b for s in top["npu", "host"] for b in named(s.children, "batch")]
    for batch in batches:
        inside = [p for p in left if batch.begin <= p.begin and p.end <= batch.end]
        ops = [s.notes["op"] for p in inside for s in p.children if s.category == "op"]
        assert dropped or ops == list(range(batch.notes["ops"])), (limits, ops)
        assert ops == sorted(set(ops)), (limits, ops)
        left = [p for p in left if p not in inside]
    assert not left, f"{limits}: outside of every batch: {left}"
    missing = sum(dropped.values())
    assert bool(missing) == ("missing" in done.stderr), (limits, dropped, done.stderr)
    return len(batches), len(parts), sum(s.notes["bytes"] for s in walk(parts) if s.name == "map"), missing


def emu(*limits):
    return [word for limit in limits for word in ("--emu", limit)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        path = tmp / "m.gguf"
        Tiny("llama", n_layers=10, n_embd=256, n_ff=512, n_vocab=600, type="Q8_0").save(path)
        window = least(path, [], "window")
        slots = next(n for n in range(1, 64) if not run_npu("plan", "-m", path, "--ctx", "64", *DEVICE, *emu(f"slots={n}"),
                                                            check=False).returncode)
        whole, few, narrow, both = (traced(tmp, path, *emu(*limits)) for limits in (
            [], [f"slots={slots}"], [f"window={window}"], [f"window={window}", f"slots={slots}"]))
        print(f"{slots} slots, window of {window}: batches, parts, bytes mapped, spans missing {[whole, few, narrow, both]}")
        assert whole[0] == whole[1] and not whole[3] and not few[3]
        assert few[1] > 2 * few[0] and few[2] > whole[2] + GREEDY * 100_000  # again with every step
        for told in narrow, both:  # a ring of so small a window has no room for such parts: that is counted, all else holds
            assert told[0] == whole[0] and told[1] > 2 * told[0] or told[3], told
        real = model("smollm2"), "window=96M"
        told = traced(tmp, real[0], *emu(real[1]))
        print(f"smollm2, {real[1]}: {told}")
        assert told[1] > 2 * told[0] and told[2] > 115e6 and not told[3], told


main()
