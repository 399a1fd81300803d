"""No call of the vendor's library holds npu for ever: each row of hexagon_symbols.def hangs at its first calls, in one process
and in those of two devices, until its process is ended, or for good, and npu ends by itself, either with the right bytes (a call
that only gives back, and comes back) or with one line and exit code 5.

  python tests/hexagon_hangs.py
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from npu_test import FULL, NPU, SOURCE, shared

MODEL = shared("refs/a/type-q4_0/model.gguf")
RUN = ["logits", "-m", str(MODEL), "--ids", "1,2", "--no-cache", "--npu-target", "hexagon", "--driver", "sim", "--timeout", "2"]
TWO = ["--emu", "sessions=2", "--npu-devices", "0:0,0:1"]
PROBE = ["devices", "--npu-target", "hexagon", "--driver", "sim"]
SECONDS = 100  # 20 for the call, as much again where closing meets a second one, and a busy machine
STUCK = "delay:4000000000"  # whatever becomes of its process
AT_ONCE = 16  # they sleep
UNUSED = {"rpcmem_alloc": "the emulated library has rpcmem_alloc2"}


def run(words, folder, name):
    out = folder / name
    words = [*words, "-o", str(out)] if words[0] == "logits" else words
    child = subprocess.Popen([NPU, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for left in reversed(range(SECONDS)):  # as npu counts: none in which all processes are stopped
        try:
            stdout, stderr = child.communicate(timeout=1)
            break
        except subprocess.TimeoutExpired:
            if not left:
                child.kill()
                raise
    return subprocess.CompletedProcess(words, child.returncode, stdout, stderr), out.read_bytes() if out.exists() else None


def hang(case, folder, want):
    """What is wrong, or None; and whether the call was met."""
    words, rule, action = case
    fault = f"fault={rule}={action}"
    name = re.sub(r"\W", "_", rule + action) + str(len(words))
    try:
        done, got = run([*words, "--emu", fault], folder, name)
    except subprocess.TimeoutExpired:
        return f"{fault}: does not end: {' '.join(words)}", True
    errors = [line for line in done.stderr.splitlines() if "npu: error:" in line]
    met = "nothing met" not in done.stderr
    if done.returncode == 0 and not errors and (words[0] != "logits" or got == want):
        return None, met
    whole = (None, want) if action == STUCK else (None,)  # the file may be written when closing is stuck
    if done.returncode == 5 and len(errors) == 1 and "[hexagon." in errors[0] and got in whole and met:
        return None, met
    return f"{fault}: exit code {done.returncode}: {' '.join(words)}: {done.stderr[-500:]}", met


def main():
    table = (SOURCE / "src/target/hexagon/hexagon_symbols.def").read_text()
    symbols = re.findall(r"^HEX_SYMBOL\([^,]+, (\w+),", table, re.M)
    assert len(symbols) == table.count("\nHEX_SYMBOL(") > 10
    numbers = range(1, 8 if FULL else 3)
    cases = [(RUN, f"{s}@{n}", "hang") for s in symbols for n in numbers]
    cases += [(words, f"{s}@1", action) for s in symbols for words, action in ((RUN + TWO, "hang"), (RUN, STUCK))]
    cases += [(PROBE, "remote_handle_control@1", action) for action in ("hang", STUCK)]
    cases += [(RUN, f"remote_session_control@{n}=delay:4000000000;dspqueue_write@2", "hang") for n in (2, 3, 4)]  # the end, too
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        folder = pathlib.Path(name)
        os.environ["XDG_CACHE_HOME"] = name
        _, want = run(RUN, folder, "want")
        assert want
        results = list(pool.map(lambda case: hang(case, folder, want), cases))
    wrong = [what for what, _ in results if what]
    met = {rule.split("@")[0] for (_, rule, _), (_, is_met) in zip(cases, results, strict=True) if is_met}
    wrong += [f"{s}: not met by any case" for s in symbols if s not in met and s not in UNUSED]
    print("\n".join(wrong), f"{len(cases)} hangs of {len(met)} calls, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
