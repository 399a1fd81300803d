"""npu gate: a recording is checked and compared; each of the four gates fails by a change made for it, and says so in the
exit status (16 + 1 text, 2 logits, 4 profile, 8 plan). How times are judged is tried on made-up tables: what is measured
here is recorded with one run, of which no time can be told, so that no check depends on how busy the machine is.

  python tests/gate.py
"""
import json
import pathlib
import re
import shutil
import tempfile

from npu_test import SANITIZE, SOURCE, run_npu, shared

MODEL = shared("refs/a/type-q4_0") / "model.gguf"
TEXT, LOGITS, PROFILE, PLAN = 1, 2, 4, 8
GATES = ("text", "logits", "profile", "plan")


def gate(failed, *args, says=()):
    """Runs a check or a comparison: exactly these gates fail, in the exit status, the lines and the JSON."""
    done = run_npu("gate", *args, check=False, text=True)
    assert done.returncode == (16 + failed if failed else 0) and not done.stderr, (failed, args, done)
    lines = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if not line.startswith(" ")}
    assert lines == {name: "FAIL" if failed & 1 << i else "pass" for i, name in enumerate(GATES)}, (args, done)
    for text in says:
        assert text in done.stdout, (text, done.stdout)
    return done.stdout


def judged(failed, *args):
    done = run_npu("gate", *args, "--json", check=False, text=True)
    result = json.loads(done.stdout)
    assert done.returncode == (16 + failed if failed else 0) and result["passed"] == (not failed), (failed, done)
    assert [result[name]["passed"] for name in GATES] == [not failed & 1 << i for i in range(4)], result
    return result


def other(here, name, change):
    """A copy of a recording with a change of its document."""
    copy = here.parent / name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(here, copy)
    doc = json.loads((copy / "gate.json").read_text())
    change(doc)
    (copy / "gate.json").write_text(json.dumps(doc))
    return copy


def put(*path_and_value):
    *path, key, value = path_and_value

    def change(doc):
        for step in path:
            doc = doc[step]
        if value is None:
            del doc[key]
        else:
            doc[key] = value
    return change


def changes(here):
    """Each gate by itself, from a changed recording."""
    doc = json.loads((here / "gate.json").read_text())
    text, row = doc["texts"][1]["text"], doc["profile"]["rows"][3]
    for failed, change, says in (
            (TEXT, put("texts", 1, "text", text[:3] + "#" + text[4:]), ["prompt 2: after", "2 of 3"]),
            (TEXT, put("texts", 0, "ids", 0, 5), ["the same text of other tokens"]),
            (TEXT, put("texts", 2, "prompt", "Another one"), ["prompt 3 has other tokens"]),
            (LOGITS, put("logits", 4, "ids", 0, 5), ["prompt 5 has other tokens"]),
            (LOGITS, put("logits", 5, "sha256", "0" * 64), ["prompt 6: other bytes; mean KLD of its last rows 0", "7 of 8"]),
            (PROFILE, put("profile", "rows", 3, "calls", row["calls"] + 1), [f"{row['calls'] + 1} calls, now {row['calls']}"]),
            (PROFILE, put("profile", "rows", 3, "rows", 0), ["0 rows, now"]),
            (PROFILE, put("profile", "rows", 3, "fallbacks", 1), ["1 fallbacks, now 0"]),
            (PROFILE, put("profile", "rows", 3, None), ["a new row"]),
            (PROFILE, put("profile", "rows", 3, "role", "frob"), ["frob", "the row is gone", "a new row"]),
            (PLAN, put("plan", "0" * 64), ["recorded with 0000000000000000"])):
        changed = other(here, "changed", change)
        gate(failed, "check", changed, says=says)
        judged(failed, "check", changed)
    changed = other(here, "changed", lambda doc: None)
    whole = (changed / "logits.f32").read_bytes()
    for at, bit in ((3, 0x40), (0, 1), (len(whole) // 2 & ~3, 1), (len(whole) - 4, 1)):  # the smallest change of a number too
        logits = bytearray(whole)
        logits[at] ^= bit
        (changed / "logits.f32").write_bytes(logits)
        for pair in ((changed, here), (here, changed)):
            gate(LOGITS, "compare", *pair, says=["logits.f32 does not belong to its recording"])
    (changed / "plan.json").write_text("{}")
    put("plan", "0" * 64)(doc)
    (changed / "gate.json").write_text(json.dumps(doc))
    gate(LOGITS | PLAN, "check", changed, says=["plan.json can't be read"])


def plans(here):
    """plan.json is read and held against its hash though the recorded hashes agree, on both sides."""
    text = (here / "plan.json").read_text()
    another = here.parent / "another.json"
    run_npu("plan", "-m", MODEL, "--ctx", "64", "-o", another)
    for write, says in (
            (pathlib.Path.unlink, "can't be read"),
            (lambda file: file.write_text(""), "can't be read"),
            (lambda file: file.write_text(text[:len(text) // 2]), "can't be read"),
            (lambda file: file.write_text(text.replace('"ctx": 128', '"ctx": 127')), "edited by hand?"),
            (lambda file: shutil.copy(another, file), "plan.json does not belong to its recording"),
            (lambda file: (file.unlink(), file.mkdir()), "is a directory, not a plan")):
        changed = other(here, "changed", lambda doc: None)
        write(changed / "plan.json")
        for args in (("check", changed), ("compare", changed, here), ("compare", here, changed)):
            gate(PLAN, *args, says=[says])


def settings(here):
    """The same from a change of how it runs: another KV type changes numbers, other row counts only the plan."""
    gate(PLAN, "check", here, "--prefill-rows", "96", says=["prefill_rows 128 -> 96"])
    gate(TEXT | LOGITS | PLAN, "check", here, "--kv", "q8_0", says=["settings: kv f16 -> q8_0"])
    found = judged(TEXT | LOGITS | PLAN, "check", here, "--kv", "q8_0", "--against", "exact")
    assert found["logits"]["kld_mean"] > 0 and found["logits"]["against"]["kld_mean"] > 0, found
    exact = here.parent / "exact"
    run_npu("gate", "record", "-m", MODEL, "-o", exact, "--ctx", "128", "--exact", "--against", "exact", "-q", "-r", "1", "-t",
            "1")
    found = judged(0, "check", exact)
    assert found["logits"]["recorded_against"]["kld_max"] == 0, found


def times(here):
    """Times are judged only where they can be: long, steady, on a machine as fast as before."""
    def timed(name, ns, second=None, cpu=5e6, cpu_second=None):
        second = ns if second is None else second

        def change(doc):
            doc["profile"].update(cpu_ns=int(cpu), cpu_second_ns=int(cpu_second or cpu))
            for row in doc["profile"]["rows"]:
                row.update(ns=int(ns), second_ns=int(second))
        return other(here, name, change)

    base, rows = timed("base", 1e8), len(json.loads((here / "gate.json").read_text())["profile"]["rows"])
    for failed, told, args in ((0, rows, [1.019e8]), (PROFILE, rows, [1.021e8]), (PROFILE, rows, [0.979e8]), (0, rows, [0.981e8]),
                               (0, 0, [1e7]), (0, 0, [2e8, 2.1e8]), (0, 0, [2e8, 0]), (0, 0, [2e8, 2e8, 5.2e6]), (0, 0, [2e8, 2e8, 5e6, 5.2e6])):
        found = judged(failed, "compare", base, timed("now", *args))
        assert found["profile"]["times_told"] == told and found["profile"]["rows"] == rows, (args, found)
    gate(PROFILE, "compare", base, timed("now", 1.2e8), says=["100.00 ms, now 120.00 ms (+20.0 %)"])
    gate(0, "compare", base, timed("now", 1e7), says=["can be told of 0, the others are too short"])
    gate(0, "compare", base, timed("now", 2e8, 2e8, 6e6), says=["(limit 2 %) can be told of 0: the machine is busy, or not as fast as it was"])


def refused(code, where, *args):
    done = run_npu("gate", *args, check=False, text=True)
    assert done.returncode == code and done.stderr.count("error:") == 1 and where in done.stderr, (code, args, done)


def broken(here, tmp):
    """What is no recording is refused, and nothing of somebody else's is overwritten."""
    def change(*path_and_value):
        return "check", other(here, "broken", put(*path_and_value))

    refused(1, "/no/such", "check", "/no/such")
    refused(3, "gate.version", *change("npu_gate", 2))
    for path in (["texts"], ["logits"], ["profile"], ["plan"], ["n_vocab"], ["texts", 0, "prompt"], ["logits", 0, "kept"],
                 ["logits", 0, "sha256"], ["texts", 0, "text"], ["profile", "rows"]):
        refused(3, "gate.field", *change(*path, None))
        refused(3, "gate.field", *change(*path, 5 if path[-1] == "rows" else [5]))
    for path in (["texts", 1, "prompt_ids"], ["texts", 2, "ids"], ["logits", 3, "ids"], ["logits", 3, "prompt"],
                 *(["profile", "rows", 2, field] for field in
                   ("owner", "role", "op", "calls", "rows", "fallbacks", "retries", "ns", "second_ns", "pack", "quant",
                    "launch", "wait", "readback", "dequant")),
                 ["profile", "runs"], ["profile", "cpu_ns"], ["profile", "cpu_second_ns"]):
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
        for value in (None, {}, ["5"], 1.5, True, -1):
            refused(3, f": {where} is missing or of a wrong type [gate.field]", *change(*path, value))
    refused(3, "against.kld_max is missing", *change("against", {"what": "cpu", "kld_mean": 0.5}))
    for option, values in (("--max-tokens", ([], "5", 1.5, 8.0, -1, True, None, {})), ("--runs", (0, 1001, 5.0)),
                           ("--ctx", ("8", 0)), ("--timeout", ("5", -1, [])), ("--exact", (1, "yes")), ("--model", (5, [])),
                           ("--model", ("a\0b",)), ("--kv", (5,)), ("--seed", (5,)), ("--frob", ("x",)),
                           ("--emu", (None, "seed=1", ["seed=1", 5, "x=2"], [None], ["x"] * 33))):
        for value in values:
            def set_option(doc, option=option, value=value):
                doc["options"][option] = value
            refused(3, f"options.{option}: ", "check", other(here, "broken", set_option))
    for value in (None, 5, [], "x"):
        refused(3, "options", *change("options", value))
    for value in (0, -1, 1 << 30):
        refused(3, "gate.field", *change("n_vocab", value))
    refused(3, "gate.field", *change("logits", 0, "kept", 5))
    refused(3, "gate.logits", *change("logits", 0, "kept", 1))
    refused(1, "/no/such/model", *change("options", "--model", "/no/such/model"))
    refused(3, "nosuch: this build has no such target", *change("options", "--npu-target", "nosuch"))
    cut = other(here, "broken", lambda doc: None)
    (cut / "logits.f32").write_bytes(b"1234")
    refused(3, "gate.logits", "check", cut)
    (cut / "gate.json").write_text("{")
    refused(3, "gate.json", "check", cut)
    mine = tmp / "mine"
    mine.mkdir()
    run_npu("gate", "record", "-m", MODEL, "-o", mine, "--ctx", "128", "-q", "-t", "1")  # an empty folder is fine
    assert sorted(p.name for p in mine.iterdir()) == ["gate.json", "logits.f32", "plan.json"]
    measured = {name: json.loads((path / "gate.json").read_text())["profile"] for name, path in (("once", here), ("mine", mine))}
    assert all(row["second_ns"] == 0 for row in measured["once"]["rows"])
    assert all(row["second_ns"] >= row["ns"] > 0 for row in measured["mine"]["rows"]), measured["mine"]
    (mine / "gate.json").unlink()
    refused(2, "is no recording", "record", "-m", MODEL, "-o", mine)
    for args in (["record", "-m", MODEL], ["check"], ["check", here, here], ["compare", here], ["frob"], [],
                 ["check", here, "-o", tmp / "x"], ["check", here, "--against", "frob"]):
        refused(2, "", *args)


def options():
    """Whatever says what is computed, and where, is part of a recording."""
    table = (SOURCE / "src/cli/options.def").read_text()
    groups = "MODEL|TOKENS|PLACE|DEVICE|CONTEXT|CPU|RUNS"
    deciding = set(re.findall(rf"^CLI_OPTION\(\w+, *(\w+), .*?, +(?:{groups}), ", table, re.M))
    kept = set(re.findall(r"^ *KEPT\((\w+), ", (SOURCE / "src/cli/gate_file.c").read_text(), re.M)) | {"emu"}
    assert len(deciding) > 15 and deciding <= kept, deciding - kept


def devices(tmp):
    """A device's own recording, the same numbers from another driver of it, and a recording of a set of devices."""
    there = tmp / "device"
    run_npu("gate", "record", "-m", MODEL, "-o", there, "--ctx", "128", "--npu-target", "hexagon", "--driver", "sim", "-q",
            "-r", "1")
    gate(0, "check", there)
    found = judged(0, "check", there, "--against", "cpu")
    assert found["logits"]["against"]["kld_max"] == 0, found
    found = json.loads(run_npu("gate", "check", there, "--driver", "qemu", "--json", check=False, text=True).stdout)
    assert found["text"]["passed"] and found["logits"]["passed"], found
    both = tmp / "set"
    run_npu("gate", "record", "-m", MODEL, "-o", both, "--ctx", "128", "--npu-target", "hexagon", "--driver", "sim", "--npu-devices",
            "0:0,0:1", "--split", "row", "-q", "-r", "1")
    gate(0, "check", both)
    gate(PLAN, "compare", there, both, says=["settings: devices nothing -> 0:0,0:1"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        here = tmp / "recording"
        shown = run_npu("gate", "record", "-m", MODEL, "-o", here, "--ctx", "128", "-t", "1", "-r", "1", "--profile", text=True)
        rows = json.loads((here / "gate.json").read_text())["profile"]["rows"]
        table = [line.split()[:5] for line in shown.stderr.splitlines()[1:]]
        assert table == [[r["owner"], r["role"], r["op"], str(r["calls"]), str(r["rows"])] for r in rows], shown
        gate(0, "check", here, says=["3 of 3", "8 of 8", "KLD mean 0, max 0"])
        assert judged(0, "check", here)["profile"]["times_told"] == 0
        gate(0, "compare", here, here)
        changes(here)
        plans(here)
        settings(here)
        times(here)
        broken(here, tmp)
        options()
        if not SANITIZE:
            devices(tmp)


main()
