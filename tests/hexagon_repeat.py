"""What `npu conform` prints to repeat a failure does repeat it, on the same device; what a device has not the room for is told
apart from failures.

  python tests/hexagon_repeat.py
"""
import pathlib
import shlex
import subprocess
import tempfile

from npu_test import NPU

SIM = ["--npu-target", "hexagon", "--driver", "sim"]


def conform(*words):
    done = subprocess.run([NPU, "conform", *words], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.splitlines()


def main():
    # Of a device that needs every one of these options: with any of them left out the case passes or another fails.
    code, lines = conform(*SIM, "--op", "mul_mat", "--cases", "1", "--seed", "5", "-t", "1", "--timeout", "20.5",
                          "--emu", "arch=v75", "--emu", "fault=dsp:op@2=die")
    assert code == 1 and lines[0].startswith("FAIL mul_mat "), lines
    repeat = shlex.split(lines[1].removeprefix("  repeat: "))
    assert repeat[:2] == ["npu", "conform"], lines
    assert repeat.count("--emu") == 2 and "fault=dsp:op@2=die" in repeat and "arch=v75" in repeat, repeat
    assert repeat[repeat.index("--timeout") + 1] == "20.5" and "1" == repeat[repeat.index("--threads") + 1], repeat
    again, same = conform(*repeat[2:])
    assert again == 1 and same[0] == lines[0], (lines, same)

    # A word that a terminal would obey is written by numbers, as a shell reads them.
    with tempfile.TemporaryDirectory() as folder:
        strange = pathlib.Path(folder) / "a\x1b[1m'\\ \n\u009b"
        strange.symlink_to(pathlib.Path(NPU).parent / "emu")
        code, lines = conform(*SIM, "--op", "mul_mat", "--cases", "1", "--seed", "5", "--emu", "fault=dsp:op@2=die",
                              "--emu", f"program={strange}")
        assert code == 1 and lines[1].startswith("  repeat: npu ") and lines[1].isascii() and "\x1b" not in lines[1], lines
        words = subprocess.run(["bash", "-c", r"printf '%s\0' " + lines[1].removeprefix("  repeat: npu ")], capture_output=True, check=True)
        assert f"program={strange}" in words.stdout.decode().split("\0"), (lines, words)

    code, lines = conform(*SIM, "--cases", "12", "--emu", "slots=3")
    refused = [line for line in lines if line.startswith("refused ")]
    assert code == 3 and refused and all("hexagon.slots" in line for line in refused), lines
    assert lines[-1].endswith(f", 0 failed, 0 skipped, {len(refused)} refused"), lines[-1]


main()
