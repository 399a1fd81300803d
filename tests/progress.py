"""What takes minutes says how far it is also where stderr is no terminal; what is quick, or asked to be quiet, does not.

    progress.py CLOCK TARGET...    CLOCK: a library that makes the program's clock run fast (fast_clock.c)
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cli_expect import MODEL
from npu_test import NPU


def told(words, env):
    done = subprocess.run([NPU, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stderr.splitlines()


def main():
    fast = {**os.environ, "LD_PRELOAD": sys.argv[1]}
    with tempfile.TemporaryDirectory() as d:
        text = Path(d) / "text"
        text.write_text("some words " * 40)
        long = [("token", ["eval", "-m", MODEL, "--text", text, "--ctx", "64"]),
                ("run", ["bench", "-m", MODEL, "--prompt-tokens", "4", "--gen-tokens", "2", "-r", "4"])]
        if "hexagon" in sys.argv[2:]:
            long.append(("format", ["bench", "--repack", "-r", "1"]))
        for what, words in long:
            lines = told(words, fast)
            assert lines and all(re.fullmatch(rf"npu: {what} [0-9]+ of [0-9]+", line) for line in lines), lines
            assert told([*words, "--quiet"], fast) == told(words, os.environ) == [], words


if __name__ == "__main__":
    main()
