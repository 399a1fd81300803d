"""What Python tests share: where things are, and "not available" (cmake/testing.cmake).

    from npu_test import run_npu, shared, model, need
    case = shared("refs/a/type-q4_0")          # skips the test when the folder is not there
    out = run_npu("logits", "-m", str(model("smollm2")), …).stdout
"""
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("NPU_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("NPU_BUILD", SOURCE / "build"))
NPU = pathlib.Path(os.environ.get("NPU_BIN", BUILD / "npu"))
SHARED = pathlib.Path(os.environ.get("NPU_SHARED", SOURCE.parent / "shared"))
FULL = os.environ.get("NPU_FULL", "0") == "1"
SANITIZE = os.environ.get("NPU_SANITIZE", "")


def not_available(what):
    """Ends the whole test script as skipped; in CI ctest takes that for a failure."""
    print(f"not available: {what}", file=sys.stderr, flush=True)
    sys.exit(77)


def need(program):
    """The path of a program that must be on PATH, e.g. need("qemu-hexagon")."""
    path = shutil.which(program)
    return path if path else not_available(program)


def shared(relative):
    """A file or folder of the reference cases."""
    path = SHARED / relative
    return path if path.exists() else not_available(path)


def model(name):
    """The path of a real model (smollm2, gemma3) in the cache; tests download nothing."""
    found = subprocess.run([SOURCE / "scripts/models", "--cached", name], capture_output=True, text=True)
    return pathlib.Path(found.stdout.strip()) if found.returncode == 0 else not_available(f"model {name}")


def run_npu(*args, check=True, timeout=600, **kw):
    """Runs build/npu. A signal is always an error; with check=False other exit codes are the caller's to judge."""
    done = subprocess.run([NPU, *map(str, args)], capture_output=True, timeout=timeout, **kw)
    if done.returncode < 0 or (check and done.returncode != 0):
        sys.stderr.write(done.stderr.decode(errors="replace") if isinstance(done.stderr, bytes) else done.stderr)
        sys.exit(f"npu {' '.join(map(str, args))}: exit status {done.returncode}")
    return done
