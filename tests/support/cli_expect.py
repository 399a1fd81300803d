"""What the tests of the command line share: npu run once, and held against an exit code and a message.

    from cli_expect import MODEL, expect, finish
"""
import re
import subprocess
import sys

from npu_test import NPU, shared

CASE = shared("refs/a/type-q4_0")
MODEL = str(CASE / "model.gguf")
FAILED = 0


def expect(code, *args, says="", out=None, stdin=b""):
    """Runs npu; the exit code and a part of the one line on stderr must be as given."""
    global FAILED
    args = [a if isinstance(a, bytes) else str(a) for a in args]
    done = subprocess.run([NPU, *args], capture_output=True, timeout=60, input=stdin)
    err = done.stderr.decode(errors="replace")
    lines = [line for line in err.splitlines() if "error:" in line]
    problem = None
    if done.returncode != code:
        problem = f"exit code {done.returncode}, expected {code}"
    elif code != 0 and len(lines) != 1:
        problem = f"{len(lines)} error lines, expected 1"
    elif re.search("`[a-z_]+`", err):
        problem = "names a parameter of the library, not a flag"
    elif says and says not in (lines[0] if code else err):
        problem = f"does not say {says!r}"
    elif code != 0 and done.stdout:
        problem = "printed something on stdout although it failed"
    elif out is not None and out not in done.stdout.decode(errors="replace"):
        problem = f"stdout does not hold {out!r}"
    if problem:
        FAILED += 1
        print(f"FAIL npu {' '.join(map(str, args))}: {problem}\n  {err.strip()}")
    return done.stdout


def finish():
    print(f"{FAILED} failed")
    sys.exit(1 if FAILED else 0)
