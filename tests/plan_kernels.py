"""Plans and kernels folders of XDNA: each way in which they do not belong together is refused by npu run, with its own code
and the kernel's name; fused or split products are the plan's choice from the manifest.

  python tests/plan_kernels.py
"""
import json
import os
import pathlib
import shutil
import tempfile

from npu_test import run_npu, shared
from plan_refusals import at, edited, seal

MODEL = shared("refs/a/type-q4_0") / "model.gguf"
DEVICE = ("--npu-target", "xdna", "--driver", "emu")


class Bench:
    """A plan, the kernels folder that it was made from, and a folder for changed ones."""

    def __init__(self, tmp):
        self.tmp, self.kernels = tmp, tmp / "kernels"
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp / "cache")}
        run_npu("plan", "-m", MODEL, "--ctx", "64", *DEVICE, "-o", tmp / "plan.json", env=env)
        (made,) = (tmp / "cache").glob("**/manifest.json")
        shutil.copytree(made.parent, self.kernels)
        run_npu("plan", "-m", MODEL, "--ctx", "64", *DEVICE, "--kernels", self.kernels, "-o", tmp / "again.json")
        self.plan = json.loads((tmp / "plan.json").read_text())
        assert json.loads((tmp / "again.json").read_text()) == self.plan
        self.manifest = json.loads((self.kernels / "manifest.json").read_text())

    def run(self, plan=None, kernels=None, *args):
        file = self.tmp / "given.json"
        file.write_text(json.dumps(plan or self.plan))
        return run_npu("run", "-m", MODEL, "--raw", "-p", "x", "-n", "2", "--ctx", "64", *DEVICE, "--plan", file, "--kernels",
                       kernels or self.kernels, *args, check=False, text=True)

    def folder(self, change=None):
        """A copy of the kernels folder; |change| edits its manifest."""
        copy = self.tmp / "changed"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.kernels, copy)
        if change:
            manifest = json.loads(json.dumps(self.manifest))
            change(manifest)
            (copy / "manifest.json").write_text(json.dumps(manifest))
        return copy


def refused(code, says, done):
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode == 3 and len(lines) == 1 and f"[{code}]" in lines[0] and says in lines[0], (code, says, done)


def by_manifest(b):
    """One row a refusal: what is changed in the folder, and what the plan then says."""
    first = b.manifest["kernels"][0]
    name = first["file"]

    def put(key, value):
        return lambda m: m["kernels"][0].__setitem__(key, value)

    def gone(m):
        del m["kernels"][0]

    for code, says, change in (
            ("plan.kernel_missing", f"kernel {name} (int8 for qkv, M 16, K 256, N 512) is not in the manifest", gone),
            ("plan.kernel_missing", name, put("file", "other.emu")),
            ("plan.kernel_hash", name, put("sha256", "0" * 64)),
            ("plan.kernel_shape", f"kernel {name}", put("role", "o")),
            ("plan.kernel_shape", f"kernel {name}", put("M", 128)),
            ("plan.kernel_shape", f"kernel {name}", put("K", 512)),
            ("plan.kernel_shape", f"kernel {name}", put("N", 1024)),
            ("plan.kernel_shape", f"kernel {name}", put("kind", "head")),
            ("plan.role", '"frob"', put("role", "frob")),
            ("plan.dims", "K is 0", put("K", 0)),
            ("plan.dims", "N is", put("N", 1 << 30)),
            ("plan.manifest", "version", lambda m: m.__setitem__("npu_xdna_kernels", 9)),
            ("plan.manifest", "file", put("file", "../secret"))):
        refused(code, says, b.run(None, b.folder(change)))
    copy = b.folder()
    (copy / name).unlink()
    refused("plan.kernel_missing", name, b.run(None, copy))
    (copy / name).write_bytes((b.kernels / name).read_bytes() + b" ")
    refused("plan.kernel_hash", name, b.run(None, copy))
    (copy / "manifest.json").write_text("{")
    refused("plan.manifest", "manifest.json", b.run(None, copy))
    (copy / "manifest.json").unlink()
    refused("plan.manifest", "manifest", b.run(None, copy))
    refused("plan.manifest", "/no/such/folder", b.run(None, "/no/such/folder"))
    refused("plan.manifest", "--kernels DIR", run_npu("plan", "-m", MODEL, "--npu-target", "xdna", "--arch", "xdna2",
                                                      check=False, text=True))


def by_plan(b):
    """One row a refusal: what is changed in the plan."""
    qkv = next(i for i, e in enumerate(b.plan["entries"]) if e["role"] == "qkv")
    for code, says, path, value in (
            ("plan.generation", "xdna1", ["target", "needs", "generation"], "xdna1"),
            ("plan.caps", "max_rows 17", ["target", "needs", "max_rows"], 17),
            ("plan.caps", "gdn 1", ["target", "needs", "gdn"], True),
            ("plan.layers", "3 layers", ["model", "layers"], 3),
            ("plan.role", "frob", ["designs", 0, "role"], "frob"),
            ("plan.dims", "designs.K is 0", ["designs", 0, "K"], 0),
            ("plan.dims", "rotation", ["designs", 0, "hadamard"], 3),
            ("plan.dims", "3 results in 5 bytes", ["designs", 0, "bytes"], 5),
            ("plan.kernel_shape", "design qkv", ["designs", 0, "decode_kernel"], len(b.plan["kernels"]) - 1),
            ("plan.kernel_shape", "design qkv", ["designs", 0, "layout"], "rows"),
            ("plan.kernel_missing", "frob.emu", ["kernels", 0, "file"], "frob.emu"),
            ("plan.kernel_hash", b.plan["kernels"][0]["file"], ["kernels", 0, "sha256"], "f" * 64),
            ("plan.field", "make up", ["entries", qkv, "designs"], [{"design": 1, "residency": "0/o/xdna_int8"}]),
            ("plan.field", "kernels", ["designs", 0, "prefill_kernel"], 99),
            ("plan.entry", "does not take it", ["entries", qkv + 1, "where"], "device")):
        refused(code, says, b.run(edited(b.plan, path, value)))
    image = json.loads(json.dumps(b.plan).replace("qkv/xdna_int8", "qkv/tiles"))  # the residency key names it too
    refused("plan.kernel_shape", "design qkv", b.run(edited(image, ["designs", 0, "image"], "tiles")))
    empty = json.loads(json.dumps(b.plan))  # a design without results beside the one that has them all
    empty["designs"].append({**empty["designs"][0], "splits": []})
    empty["entries"][qkv]["designs"].insert(0, {**empty["entries"][qkv]["designs"][0], "design": len(empty["designs"]) - 1})
    refused("plan.dims", "0 results", b.run(seal(empty)))
    few, many = (b.plan["designs"][0][name] for name in ("decode_kernel", "prefill_kernel"))
    turned = {**b.plan["designs"][0], "decode_kernel": many, "prefill_kernel": few}
    refused("plan.kernel_shape", "no pair", b.run(edited(b.plan, ["designs", 0], turned)))
    refused("plan.hash", "hash", b.run({**b.plan, "hash": "0" * 64}))
    refused("plan.generation", "the device is xdna1", b.run(None, None, "--emu", "generation=xdna1"))
    host = json.loads(json.dumps(b.plan))  # a plan may leave to the host what the device would take
    run_npu("plan", "-m", MODEL, "--ctx", "64", "--device", "cpu", "-o", b.tmp / "cpu.json")
    host["entries"] = [{**e, "why": "by hand"} for e in json.loads((b.tmp / "cpu.json").read_text())["entries"]]
    done = b.run(seal(host))
    assert done.returncode == 0, done
    assert at(b.plan, ["entries", qkv, "designs", 0, "residency"]) == "0/qkv/xdna_int8"


def fused_or_split(b):
    """Kernels that are too narrow for the fused products split them; the numbers stay."""
    def only_narrow(m):
        m["kernels"] = [{**k, "role": "none"} for k in m["kernels"] if k["role"] == "o"] + [
            k for k in m["kernels"] if k["role"] == "head"]

    want = b.run().stdout
    narrow = b.folder(only_narrow)
    run_npu("plan", "-m", MODEL, "--ctx", "64", *DEVICE, "--kernels", narrow, "-o", b.tmp / "split.json")
    split = json.loads((b.tmp / "split.json").read_text())
    assert [d["role"] for d in split["designs"]] == ["q", "k", "v", "o", "g", "u", "d", "head"], split["designs"]
    assert [d["role"] for d in b.plan["designs"]] == ["qkv", "o", "gu", "d", "head"]
    done = b.run(split, narrow)
    assert done.returncode == 0 and done.stdout == want, done
    refused("plan.kernel_shape", "", b.run(split))  # the other folder has those kernels for another role
    done = run_npu("plan", "--diff", b.tmp / "plan.json", b.tmp / "split.json", check=False, text=True)
    assert done.returncode == 1 and "designs qkv/xdna_int8 -> q/xdna_int8+k/xdna_int8+v/xdna_int8" in done.stdout, done
    floats = b.folder(lambda m: m["kernels"].insert(0, {**m["kernels"][0], "M": 1, "kind": "gemv_q4_1", "layout": "rows"}))
    run_npu("plan", "-m", MODEL, "--ctx", "64", *DEVICE, "--kernels", floats, "-o", b.tmp / "floats.json")
    assert json.loads((b.tmp / "floats.json").read_text()) == b.plan  # a product in floats is none of the int8 contract
    none = b.folder(lambda m: m.__setitem__("kernels", [k for k in m["kernels"] if k["role"] == "head"]))
    text = run_npu("plan", "-m", MODEL, "--ctx", "64", *DEVICE, "--kernels", none, text=True).stdout
    assert "on the NPU: 1 of" in text and any("qkv" in line and "kernel" in line for line in text.splitlines()), text


def launches(here):
    """How many commands a check sends at least: products of each step of the answers, the logits and the profiled runs."""
    doc = json.loads((here / "gate.json").read_text())
    runs = sum(r["calls"] for r in doc["profile"]["rows"] if r["owner"] == "xdna") * (doc["profile"]["runs"] + 1)
    return runs + 5 * (sum(len(t["ids"]) for t in doc["texts"]) + len(doc["logits"]))


def gates(b):
    """The gates of a gemv-class device: roles by phase, every launch once. One run, of which no time is judged."""
    here = b.tmp / "gate"
    run_npu("gate", "record", "-m", MODEL, "--ctx", "128", *DEVICE, "--kernels", b.kernels, "-o", here, "-q", "-r", "1")
    run_npu("gate", "check", here)
    rows = json.loads((here / "gate.json").read_text())["profile"]["rows"]
    device = [r for r in rows if r["owner"] == "xdna"]
    assert {r["role"] for r in device} == {"qkv", "o", "gu", "d", "head"} and all(r["wait"] for r in device), rows
    assert all(r["fallbacks"] == r["calls"] for r in rows if r["owner"] == "host"), rows
    run_npu("gate", "check", here, "--emu", "fault=cmd@3=short:1")  # retried, and the numbers stay
    late = run_npu("gate", "check", here, "--emu", f"fault=cmd@{launches(here) - 20}=short:1", check=False, text=True)
    assert late.returncode == 20 and "0 retries, now 1" in late.stdout, late  # in a profiled run
    done = run_npu("plan", "-m", MODEL, "--ctx", "64", *DEVICE, "--kernels", b.kernels, "--plan", b.tmp / "plan.json", "--check",
                   text=True)
    assert "fits" in done.stdout and "qkv" in done.stdout, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(pathlib.Path(folder))
        assert b.run().returncode == 0
        by_manifest(b)
        by_plan(b)
        fused_or_split(b)
        gates(b)


if __name__ == "__main__":
    main()
