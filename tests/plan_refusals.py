"""Plans from the command line: every refusal has its own code and names what is wrong, one row each; what --check and
--diff say.

  python tests/plan_refusals.py
"""
import copy
import hashlib
import json
import pathlib
import tempfile

from npu_test import SANITIZE, run_npu, shared

MODEL = shared("refs/a/type-q4_0") / "model.gguf"


def seal(plan):
    """The plan with the hash that its content has."""
    body = {key: value for key, value in plan.items() if key != "hash"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**body, "hash": hashlib.sha256(text.encode()).hexdigest()}


def at(plan, path):
    for key in path:
        plan = plan[key]
    return plan


def edited(plan, path, value):
    """A copy with one value changed (None: taken out), sealed."""
    plan = copy.deepcopy(plan)
    if value is None:
        del at(plan, path[:-1])[path[-1]]
    else:
        at(plan, path[:-1])[path[-1]] = value
    return seal(plan)


DESIGN = {"role": "o", "first": 0, "splits": [256], "K": 256, "N": 256, "real_k": 256, "real_n": 256, "hadamard": 0,
          "image": "int8", "layout": "x", "bytes": 65536, "decode_kernel": -1, "prefill_kernel": -1}

# code, where in the plan, new value (None: gone), what the message names
ROWS = [
    ("plan.version", ["npu_plan"], 1, "plan version 1, this build reads"),
    ("plan.version", ["npu_plan"], 4294967295, "4294967295"),
    ("plan.field", ["npu_plan"], "2", "npu_plan"),
    ("plan.field", ["settings", "mode"], "quick", "settings.mode is not default, exact or fast"),
    ("plan.field", ["settings", "kv"], "q9_9", "settings.kv"),
    ("plan.field", ["entries"], None, "plan.entries is missing"),
    ("plan.field", ["entries"], {}, "plan.entries"),
    ("plan.field", ["designs"], None, "plan.designs"),
    ("plan.field", ["kernels"], 7, "plan.kernels"),
    ("plan.field", ["entries", 3, "op"], "frob", "entries.op"),
    ("plan.field", ["entries", 3, "where"], "moon", "entries.where"),
    ("plan.field", ["entries", 3, "layer"], -2, "entries.layer"),
    ("plan.field", ["entries", 3, "tensors"], ["x" * 64], "entries.tensors"),
    ("plan.field", ["entries", 3, "splits"], [1, 2, 3], "entries.splits do not add up"),
    ("plan.field", ["entries", 3, "splits"], [0, 256, 256], "entries.splits"),
    ("plan.field", ["entries", 3, "designs"], [{"design": 0, "residency": ""}], "entries.designs do not make up"),
    ("plan.field", ["entries", 4, "type"], "npu", "entries[4].type is not what this build writes"),
    ("plan.field", ["entries", 3, "type"], "Q4_0", "entries[3].type is"),
    ("plan.field", ["entries", 3, "note"], "mine", "entries[3].note is not what this build writes"),
    ("plan.field", ["comment\n"], "by hand", "is not what"),
    ("plan.field", ["designs"], [{**DESIGN, "decode_kernel": 0}], "designs.decode_kernel is not an index"),
    ("plan.field", ["designs"], [{**DESIGN, "image": "i" * 24}], "designs.image is too long"),
    ("plan.field", ["target", "needs"], None, "target.needs"),
    ("plan.field", ["target", "caps", "graph"], 1, "target.caps.graph"),
    ("plan.role", ["entries", 3, "role"], "frob", 'role "frob"'),
    ("plan.role", ["designs"], [{**DESIGN, "role": ""}], "designs"),
    ("plan.dims", ["entries", 3, "K"], 0, "entries.K is 0"),
    ("plan.dims", ["entries", 3, "N"], 1 << 40, "entries.N is 1099511627776"),
    ("plan.dims", ["entries", 3, "real_k"], 1 << 24, "real size 16777216"),
    ("plan.dims", ["designs"], [{**DESIGN, "N": 0}], "designs.N is 0"),
    ("plan.dims", ["designs"], [{**DESIGN, "real_n": 300, "splits": [300]}], "real size 256 x 300"),
    ("plan.dims", ["kernels"], [{"role": "o", "M": 0}], "kernels.M is 0"),
    ("plan.layers", ["model", "layers"], 0, "0 layers"),
    ("plan.layers", ["model", "layers"], 1 << 20, "1048576 layers"),
    ("plan.layers", ["model", "layers"], 2, "the plan has 2 layers, the model 1"),
    ("plan.layers", ["entries", 3, "layer"], 1, "an entry of layer 1; the plan has 1 layers"),
    ("plan.model", ["model", "architecture"], "qwen3", "architecture qwen3"),
    ("plan.model", ["model", "facts", 2, "value"], "512", "n_embd = 512, the model 256 (llama.embedding_length)"),
    ("plan.model", ["entries", 3], None, "ops, the model"),
    ("plan.entry", ["entries", 3, "bytes"], 5, "layer 0, qkv"),
    ("plan.entry", ["entries", 3, "image"], "tiles", "another image kind"),
    ("plan.entry", ["entries", 3, "where"], "device", "which does not take it"),
    ("plan.entry", ["entries", 3, "tensors", 0], "blk.7.attn_q.weight", "other weights"),
    ("plan.target", ["target", "name"], "hexagon", "for target hexagon, asked for is host"),
    ("plan.generation", ["target", "needs", "generation"], "z80", "z80"),
    ("plan.caps", ["target", "needs", "max_rows"], 1 << 20, "needs max_rows 1048576"),
    ("plan.caps", ["target", "needs", "devices"], 9, "needs devices 9"),
    ("plan.caps", ["target", "needs", "lm_head"], True, "needs lm_head 1"),
    ("plan.caps", ["target", "needs", "window_bytes"], 1, "needs window_bytes 1"),
    ("plan.bytes", ["model", "state_bytes"], 1, "the plan has 1 bytes of state memory"),
    ("plan.bytes", ["model", "compute_bytes"], 1, "compute"),
    ("plan.bytes", ["model", "io_bytes"], 1, "i/o"),
    ("plan.field", ["model", "io_bytes"], 1 << 60, "model.io_bytes is out of range"),
    ("plan.settings", ["settings", "ctx"], 32, "--ctx 32"),
    ("plan.settings", ["settings", "kv"], "q8_0", "--kv"),
    ("plan.settings", ["settings", "mode"], "exact", "mode"),
]


def run_by(path, *args):
    return run_npu("run", "-m", MODEL, "--raw", "-p", "x", "-n", "1", "--ctx", "64", "--plan", path, *args, check=False, text=True)


def refused(done, code, says, exit=3):
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode == exit and len(lines) == 1 and f"[{code}]" in lines[0] and says in lines[0], (code, says, done)


def refusals(plan, tmp):
    file = tmp / "edited.json"
    for code, path, value, says in ROWS:
        file.write_text(json.dumps(edited(plan, path, value)))
        refused(run_by(file), code, says)
        refused(run_npu("plan", "-m", MODEL, "--ctx", "64", "--plan", file, "--check", check=False, text=True), code, says)
    changed = {**edited(plan, ["settings", "ctx"], 32), "hash": plan["hash"]}
    file.write_text(json.dumps(changed))
    refused(run_by(file), "plan.hash", plan["hash"][:16])
    for text in ("", "{", "[]", "null", '{"npu_plan": 2, "npu_plan": 2}', "\0"):
        file.write_text(text)
        done = run_by(file)
        assert done.returncode == 3 and ("[plan.json]" in done.stderr or "[plan.field]" in done.stderr), (text, done)
    for path in (tmp / "missing.json", "/proc/self/mem", file / "x"):  # no such file, no reading, no such folder
        for done in (run_by(path), run_npu("plan", "--diff", path, path, check=False, text=True)):
            refused(done, "plan.open", f"{path} can't be ", exit=1)
    refused(run_by(tmp), "plan.directory", str(tmp))
    file.write_text(json.dumps(seal(plan)))
    assert run_by(file).returncode == 0
    print(f"{len(ROWS) + 5} refusals")


def differ(a, b, *lines):
    """--diff prints exactly these lines; both ways it has the same number."""
    done = run_npu("plan", "--diff", a, b, check=False, text=True)
    assert done.returncode == bool(lines) and done.stdout.splitlines() == list(lines) and not done.stderr, (lines, done)
    back = run_npu("plan", "--diff", b, a, check=False, text=True)
    assert back.returncode == bool(lines) and len(back.stdout.splitlines()) == len(lines), (lines, back)


def diffs(plan, tmp):
    a, b = tmp / "a.json", tmp / "b.json"
    a.write_text(json.dumps(plan))

    def changed(path, value, *lines):
        b.write_text(json.dumps(edited(plan, path, value)))
        differ(a, b, *lines)

    changed(["npu_plan"], 2)
    changed(["settings", "ctx"], 32, "settings: ctx 64 -> 32")
    changed(["model", "facts", 2, "value"], "512", "fact n_embd: value 256 -> 512")
    changed(["model", "facts", 2, "name"], "width", "fact n_embd: gone", "fact width: new")
    changed(["target", "caps", "devices"], 2, "caps: devices 1 -> 2")
    changed(["target", "needs", "devices"], 2, "needs: devices 1 -> 2")
    changed(["entries", 3, "bytes"], 5, f"qkv mul_mat, layer 0: bytes {plan['entries'][3]['bytes']} -> 5")
    changed(["entries", 3], None, "qkv mul_mat, layer 0: gone")
    changed(["designs"], [DESIGN], "design o: new")
    changed(["entries", 3, "why"], "so", f"qkv mul_mat, layer 0: why {plan['entries'][3]['why']} -> so")
    kernel = {"role": "o", "M": 16, "K": 256, "N": 256, "kind": "int8", "layout": "x", "file": "o.bin", "sha256": "0"}
    changed(["kernels"], [kernel], "kernel o.bin: new")
    many = copy.deepcopy(plan)  # what layers have in common is said once
    many["model"]["layers"] = 9
    for layer in (2, 3, 4, 8):
        many["entries"] += [{**e, "layer": layer} for e in plan["entries"] if e["layer"] == 0]
    b.write_text(json.dumps(seal(many)))
    done = run_npu("plan", "--diff", a, b, check=False, text=True)
    assert "qkv mul_mat, layer 2-4,8: new" in done.stdout.splitlines(), done.stdout
    for args in (["--diff", a], ["--diff", a, b, b], [a], ["--diff", a, tmp / "missing.json"]):
        done = run_npu("plan", *args, check=False, text=True)
        assert done.returncode == (1 if "missing" in str(args[-1]) else 2) and done.stderr.count("error:") == 1, (args, done)


def checks(tmp):
    """--check opens what run would open."""
    plan = tmp / "device.json"
    device = ("--npu-target", "hexagon", "--driver", "sim")
    common = ("plan", "-m", MODEL, "--ctx", "64")
    run_npu(*common, *device, "-o", plan)
    done = run_npu(*common, *device, "--plan", plan, "--check", text=True)
    assert done.stdout.startswith(f"plan {json.loads(plan.read_text())['hash']} fits"), done
    assert not run_npu(*common, *device, "--plan", plan, "--check", "-q", text=True).stdout
    refused(run_npu(*common, *device, "--plan", plan, "--check", "--emu", "arch=v75", check=False, text=True),
            "plan.generation", "the device is v75")
    done = run_npu(*common, *device, "--plan", plan, "--check", "--kernels", "/no/such/dir", check=False, text=True)
    assert done.returncode == 3 and done.stderr.count("error:") == 1, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        run_npu("plan", "-m", MODEL, "--ctx", "64", "-o", tmp / "plan.json")
        plan = json.loads((tmp / "plan.json").read_text())
        assert seal(plan) == plan
        refusals(plan, tmp)
        diffs(plan, tmp)
        if not SANITIZE:
            checks(tmp)


if __name__ == "__main__":
    main()
