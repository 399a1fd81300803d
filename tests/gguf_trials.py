"""The public trial files that are about the container, through the reader alone (tests/gguf_probe.c).

  python tests/gguf_trials.py BUILD/tests/gguf_probe

"error" files must be refused by name, "ok" files read; nothing may crash. Files whose fault lies in what keys and tensors
mean (model, vocabulary, weights) only have to be read or refused here; the engine's own run over all files judges them.
"""
import pathlib
import sys
import tempfile

from npu_test import shared

TRIALS = shared("trials/public")
sys.path.insert(0, str(TRIALS))
import gguf_cases  # noqa: E402

CONTAINER = {"header", "path", "kv", "align", "tensor", "cut", "fuzz"}
# container kinds, but a matter of meaning: no weights, a tensor that the model needs absent or of the wrong shape
MEANING = {"h-t-zero", "t-miss-embd", "t-miss-norm", "t-shape-q", "t-shape-1d", "t-embd-short"}


def main(probe):
    bad = strict = 0
    with tempfile.TemporaryDirectory() as d:
        for c in gguf_cases.CASES:
            path = gguf_cases.build(c, pathlib.Path(d))
            c["path"] = str(path)
            hook = c["hook"] if callable(c["hook"]) else None
            r = gguf_cases.run_cmd([probe, str(path)], 30, 1 << 20, hook=hook, path=str(path))
            safe, clear, remark = gguf_cases.judge(c, r, None, 1 << 20)
            if c["kind"] in CONTAINER and c["id"] not in MEANING:
                strict += 1
            elif remark == "accepted":
                safe = clear = True
            if not (safe and clear):
                bad += 1
                print("FAIL %s (%s): %s" % (c["id"], c["expect"], remark))
    print("%d files, %d of them judged in full: %d failed" % (len(gguf_cases.CASES), strict, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
