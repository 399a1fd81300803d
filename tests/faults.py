"""Faults by catalogue: each row of tests/faults/NAME.json is a failure that can be ordered, and what must come of it: an exit
code, a part of the one line that says so, no rule that nothing meets, no partial file, and a next request that gives the right
bytes (CONTRIBUTING.md).

  python tests/faults.py NAME [--tool PROGRAM] [--preload LIBRARY]... [--rows 3,17 | --kind KIND | --all] [--seed N]
                            [--targets host,xdna]

The quick tier runs ten rows that the seed chooses, the full tier (NPU_FULL=1) and --all every row.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time

from npu_test import FULL, NPU, SOURCE, model, shared

EXITS = {"ok": 0, "unsupported": 3, "refused": 3, "invalid": 3, "no_device": 4, "device_lost": 5, "device_short": 5,
         "timeout": 5, "cancelled": 6}
SECONDS = 120


class Wrong(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Wrong(" ".join(map(str, what)))


def check_end(row, code, err, out=None):
    """One line says why, and a file that is not whole is not there."""
    err = err.decode(errors="replace")
    lines = [line for line in err.splitlines() if "npu: error:" in line]
    check(code == row["exit"], f"exit code {code}, expected {row['exit']}:", err[-600:])
    check(len(lines) == (1 if code and not row.get("text") else 0), f"{len(lines)} lines of error:", err[-600:])
    check(row.get("says", "") in err, f"does not say {row.get('says')!r}:", err[-600:])
    if out and code:
        check(not out.exists() and not list(out.parent.glob("out.*")), "left a partial file")


class Place:
    """Files that rows name: $MODEL tiny, $BIG real, $COPY of the tiny one, $TEXT, $LONG, $HUGE, $MANY ids, $MESSAGES, $RECORDING of
    npu gate, $OUT not there."""

    def __init__(self, folder, preloads):
        self.folder, self.preloads = folder, {pathlib.Path(p).stem: p for p in preloads}
        self.names = {"MODEL": shared("refs/a/type-q4_0/model.gguf"), "COPY": folder / "copy.gguf", "OUT": folder / "out",
                      "TEXT": folder / "text", "LONG": folder / "long", "HUGE": folder / "huge", "MANY": folder / "many",
                      "MESSAGES": folder / "messages", "RECORDING": folder / "recording"}
        self.names["TEXT"].write_text("some words to read")
        self.names["LONG"].write_text("the quick brown fox jumps over the lazy dog, again and again\n" * 3000)
        self.names["MESSAGES"].write_text('[{"role": "user", "content": "x"}]')
        self.names["MANY"].write_text(",".join(str(3 + i % 200) for i in range(4000)))

    def command(self, row):
        self.clear()
        self.names["COPY"].write_bytes(self.names["MODEL"].read_bytes())
        if "$HUGE" in row["run"]:
            self.names["HUGE"].write_bytes(b"the quick brown fox " * 5_000_000)
        if "$BIG" in row["run"] or row.get("of") == "BIG":
            self.names["BIG"] = model("smollm2")
        if "$RECORDING" in row["run"]:
            subprocess.run([NPU, "gate", "record", "-m", self.names[row["of"]], "-o", self.names["RECORDING"], "-r", "1"],
                           check=True, timeout=SECONDS, capture_output=True)
        return [str(NPU), *(string.Template(word).substitute(self.names) for word in row["run"].split())]

    def clear(self):
        out = self.names["OUT"]
        if out.is_dir():
            shutil.rmtree(out)
        for path in (out, *out.parent.glob("out.*")):
            path.unlink(missing_ok=True)

    def out(self, row):
        return self.names["OUT"] if "$OUT" in row["run"] else None


def used(pid):
    """CPU seconds of a process and of what it started: a device computes while its process waits."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        children = [c for f in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for c in f.read_text().split()]
    except OSError:  # ended meanwhile
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(used, children))


def catches(pid, number):
    caught = re.search(r"^SigCgt:\s*(\w+)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return caught and int(caught[1], 16) >> (number - 1) & 1


def wait_for_work(child, seconds, caught=None):
    """Until the process has computed for a while, and catches the signal, however slow the machine is."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and child.poll() is None:
        if used(child.pid) >= seconds and (not caught or catches(child.pid, caught)):
            return
        time.sleep(0.02)
    check(False, "could not be disturbed: exit code", child.poll(), "after", used(child.pid), "s of work")


def start(command, **kw):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=kw.pop("stdout", subprocess.DEVNULL),
                            stderr=subprocess.PIPE, **kw)


def finish(row, child, place):
    try:
        _, err = child.communicate(timeout=SECONDS)
    finally:
        child.kill()
    check_end(row, child.returncode, err, place.out(row))


def plain(row, place, **kw):
    finish(row, start(place.command(row), **kw), place)


def shrunk(row, place):
    """The file shrinks to row["to"] bytes as soon as it is mapped: whatever reads it, on whatever thread, finds less."""
    command = place.command(row)
    shrink = {"LD_PRELOAD": str(place.preloads["shrink_mmap"]), "NPU_SHRINK_FILE": str(place.names["COPY"]),
              "NPU_SHRINK_TO": str(row["to"])}
    finish(row, start(command, env={**os.environ, **shrink}), place)


def shrinks(row, place):
    child = start(place.command(row))
    wait_for_work(child, 0.4)
    os.truncate(place.names["COPY"], 4096)
    finish(row, child, place)


def interrupt(row, place):
    child = start(place.command(row), start_new_session=True)
    wait_for_work(child, row.get("seconds", 1.0), signal.SIGINT)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: the emulated device is not meant
    begin = time.monotonic()
    finish(row, child, place)
    print(f"   {time.monotonic() - begin:.2f} s to end")  # at most SECONDS; whole, the work would end with another code


def content(path):
    return path.read_bytes() if path.exists() else None


def terminate(row, place):
    """What ends the process at once leaves no file of that name, or the one that was there."""
    out = place.out(row)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for before in (None, b"an older one"):
            command, end = place.command(row), time.monotonic() + SECONDS
            if before:
                out.write_bytes(before)
            child = start(command)
            while not list(out.parent.glob("out.*")) and content(out) == before and time.monotonic() < end:
                time.sleep(0.01)
            child.send_signal(number)
            child.communicate(timeout=SECONDS)
            check(child.returncode == -number, "exit code", child.returncode)
            check(content(out) == before, "left a partial file")
            for part in out.parent.glob("out.*"):
                part.unlink()


def address_space(row, place):
    limit = row["mib"] << 20
    plain(row, place, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def file_limit(row, place):
    plain(row, place, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))


def stdout(row, place):
    with open("/dev/full", "wb") as full:
        plain(row, place, stdout=full)
    plain(row, place, preexec_fn=lambda: os.close(1))


def closed_streams(row, place):
    """Numbers of closed streams are not given to files: what is printed would land in them."""
    def close():
        for fd in range(3):
            os.close(fd)
    child = start(place.command(row), preexec_fn=close)
    check(child.wait(timeout=SECONDS) == row["exit"], "exit code", child.returncode)
    check(place.names["OUT"].stat().st_size == row["bytes"], "size", place.names["OUT"].stat().st_size)


def reader_leaves(row, place):
    child = start(place.command(row), stdout=subprocess.PIPE)
    child.stdout.read(2)
    child.stdout.close()
    child.stdout = None
    finish(row, child, place)


def no_memory(row, place):
    """The n-th allocation fails, alone or with all later ones: an error of one line, or the same result as ever."""
    want = subprocess.run(place.command(row), capture_output=True, timeout=SECONDS)
    check(want.returncode == 0, want)
    rng, at, failed = random.Random(row["run"]), 1, 0
    while at < 200000:
        for on in "01":
            env = {**os.environ, "LD_PRELOAD": str(place.preloads["fail_malloc"]), "NPU_FAIL_AT": str(at), "NPU_FAIL_ON": on}
            done = subprocess.run(place.command(row), capture_output=True, timeout=SECONDS, env=env)
            case = f"allocation {at}{' and on' if on == '1' else ''}:"
            err = done.stderr.decode(errors="replace")
            check(done.returncode in (0, 1, 3), case, "exit code", done.returncode, err[-400:])
            check(done.returncode or done.stdout == want.stdout, case, "another result", done)
            check(not done.returncode or err.count("npu: error:") == 1, case, "no line of error", err[-400:])
            out = place.out(row)
            check(not out or out.exists() == (done.returncode == 0), case, "a partial file")
            failed += done.returncode != 0
        if on == "1" and done.returncode == 0:
            break
        at += 1 + int(at * rng.random() * (0.05 if FULL else 0.5))
    check(failed > 2, f"only {failed} allocations failed")
    print(f"   {failed} failures, up to allocation {at}")


KINDS = {f.__name__: f for f in (plain, shrunk, shrinks, interrupt, terminate, address_space, file_limit, stdout, closed_streams,
                                 reader_leaves, no_memory)}


def device_row(catalogue, row, place, tool):
    """The program, with the fault; then two requests in one process: the faulty one, and one after it."""
    tiny, timeout = str(place.names["MODEL"]), str(row.get("timeout", catalogue["timeout"]))
    base = [str(NPU), "logits", "-m", tiny, "--ids", "1,2,3,4,5,6", "--greedy", "9", "--ctx", "64"]
    device = ["--npu-target", catalogue["target"], "--driver", catalogue["driver"], "--timeout", timeout]
    emu = [word for setting in row["emu"] for word in ("--emu", setting)]
    os.environ["XDG_CACHE_HOME"] = str(place.folder)
    out, here = place.names["OUT"], place.folder / "here"
    out.unlink(missing_ok=True)
    same = ["--"] if catalogue.get("reference") == "device" else []  # whose numerics are not the CPU's
    reference = [*device, *(word for setting in catalogue["recover"] for word in ("--emu", setting))] if same else []
    want = subprocess.run([*base, *reference, "-o", here], capture_output=True, check=True, timeout=SECONDS).stdout
    done = subprocess.run([*base, *device, *emu, "-o", out], capture_output=True, timeout=SECONDS)
    check_end({"exit": EXITS.get(row["status"], 5), **row}, done.returncode, done.stderr, out)
    unmet = re.findall("nothing met (.*)", done.stderr.decode(errors="replace"))
    check(unmet == row.get("unmet", []), f"rules that nothing met: {unmet}")
    if row["status"] == "ok":
        check(done.stdout == want and out.read_bytes() == here.read_bytes(), "other bytes than without the fault")
    done = subprocess.run([tool, tiny, catalogue["target"], catalogue["driver"], timeout, row["status"], row.get("says", ""),
                           *row["emu"], "--", *catalogue["recover"], *same], capture_output=True, timeout=3 * SECONDS)
    check(done.returncode == 0, "in one process:", done.stderr.decode(errors="replace")[-600:])


def target(row):
    words = row.get("run", "").split()
    return words[words.index("--npu-target") + 1] if "--npu-target" in words else "host"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--tool")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--rows")
    parser.add_argument("--kind", help="all rows of this kind")
    parser.add_argument("--targets", help="those that the build has, joined by commas: rows of others are left out")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=20261130)
    args = parser.parse_args()
    catalogue = json.loads((SOURCE / f"tests/faults/{args.name}.json").read_text())
    rows = catalogue["rows"]
    here = [i for i, row in enumerate(rows) if not args.targets or target(row) in args.targets.split(",")]
    chosen = here if FULL or args.all else sorted(random.Random(args.seed).sample(here, min(10, len(here))))
    if args.kind:
        chosen = [i for i in here if rows[i].get("kind") == args.kind]
    if args.rows:
        chosen = [int(i) for i in args.rows.split(",")]
    failed = []
    print(f"seed {args.seed}: rows {','.join(map(str, chosen))} of {len(rows)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(pathlib.Path(folder), args.preload)
        for i in chosen:
            row, begin = rows[i], time.monotonic()
            try:
                if "target" in catalogue:
                    device_row(catalogue, row, place, args.tool)
                else:
                    KINDS[row["kind"]](row, place)
            except (Wrong, subprocess.SubprocessError) as wrong:
                failed.append(i)
                print(f"FAIL row {i} {json.dumps(row)}\n  {wrong}\n  repeat: tests/faults.py {args.name} --rows {i}", flush=True)
            else:
                print(f"ok   row {i} {row.get('kind', '')} {row.get('run', row.get('emu'))} {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{len(failed)} of {len(chosen)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
