"""--npu-target with a name that this build does not have: every command that takes a target refuses it with exactly the
same words, before it opens the model, a device or any other file that it was given.

  python tests/no_such_target.py OPEN_TRACE.so NPU LIST [NPU LIST …]     (an npu program, and the targets compiled into it)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

# Files that a program opens before it knows what it is asked.
OF_THE_SYSTEM = ("/etc/ld.so.cache", "/lib", "/usr/lib", "/proc/self/", "/sys/devices/system/cpu", "/usr/share/locale")


def commands(folder):
    model, file = str(folder / "model.gguf"), str(folder / "given")
    return [
        ["run", "-m", model, "-p", "x"], ["run", "-m", model, "-f", file], ["run", "-m", model, "--plan", file, "-p", "x"],
        ["run", "-m", model, "-p", "x", "--template", file, "--json-schema", file],
        ["bench", "-m", model], ["bench", "-m", model, "--host-cost"], ["bench", "--repack"], ["bench", "-m", model, "--json-schema", file],
        ["logits", "-m", model, "--ids", "@" + file, "-o", str(folder / "out")],
        ["eval", "-m", model, "--text", file, "--against", "exact"],
        ["plan", "-m", model, "-o", str(folder / "out")], ["plan", "-m", model, "--plan", file, "--check"],
        ["plan", "-m", model, "--arch", "v73"], ["gate", "record", "-m", model, "-o", str(folder / "out")],
        ["gate", "check", str(folder)],
        ["conform"], ["devices"],
    ]


def opened(trace):
    return [p for p in trace.read_text().splitlines() if not p.startswith(OF_THE_SYSTEM)] if trace.exists() else []


def check(npu, listed, trace_library, folder):
    trace = folder / "trace"
    env = {**os.environ, "LD_PRELOAD": trace_library, "NPU_OPEN_TRACE": str(trace)}
    for name in ("nosuch", "host", "null", "", "Hexagon", "hexagon,xdna", *({"hexagon", "xdna"} - set(listed.split(", ")))):
        says = f"--npu-target {name}: this build has no such target (compiled: {listed})"
        for words in commands(folder):
            for more in ([], ["--kernels", str(folder)] if words[0] != "devices" else ["--driver", "sim"]):
                trace.unlink(missing_ok=True)
                done = subprocess.run([npu, *words, "--npu-target", name, *more], capture_output=True, text=True, timeout=60,
                                      env=env, stdin=subprocess.DEVNULL)
                assert done.returncode == 3 and done.stderr == f"npu: error: {says} [target.unknown]\n", (words, name, done)
                assert not done.stdout and not opened(trace), (words, name, opened(trace))
                assert not (folder / "out").exists(), words
    # The instrument itself: what is opened shows.
    trace.unlink(missing_ok=True)
    subprocess.run([npu, "info", folder / "model.gguf"], capture_output=True, timeout=60, env=env)
    assert any("model.gguf" in p for p in opened(trace)), opened(trace)


def main():
    library, pairs = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.gguf").write_bytes(b"GGUF")
        (folder / "given").write_text("1,2")
        for i in range(0, len(pairs), 2):
            check(pairs[i], pairs[i + 1], library, folder)
            print(f"{pathlib.Path(pairs[i]).name}: {pairs[i + 1]}")


main()
