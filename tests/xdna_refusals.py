"""What the XDNA target refuses, each from the command line, by its own code and with the names in the text; none of it
opens the device.

    xdna_refusals.py
"""
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from npu_test import run_npu
from plan_refusals import edited, seal
from tiny_model import Tiny

DEVICE = ["--npu-target", "xdna", "--driver", "emu"]

# code, what is replaced in a kernel's description, by what, what the message names
LIES = [
    ("plan.kernel_shape", r"(shape 128 \d+) \d+", r"\1 640", '640" in the file'),
    ("plan.kernel_shape", "core 64 64", "core 64 32", '"64 32" in the file, "64 64" by the manifest'),
    ("plan.kernel_shape", "layout tiles", "layout rows", '"rows" in the file'),
    ("plan.kernel_shape", "layout tiles\nmicro .*\ncore .*\n", "layout rows\n", '"rows" in the file'),
    ("plan.kernel_shape", "micro 8 8 8", "micro 4 8 8", '"4 8 8"'),
    ("plan.kernel_shape", "kind int8", "kind head", '"head"'),
    ("plan.kernel_shape", "micro 8 8 8\n", "", 'micro is ""'),
    ("xdna.bad_description", "core", "cores", '"cores 64 64"'),
    ("xdna.bad_description", "kind int8\n", "kind int8\nkind int8\n", '"kind int8"'),
    ("xdna.bad_description", "columns 8", "columns 8 8", 'columns "8 8"'),
    ("xdna.bad_description", "generation xdna2", "generation xdna3", 'generation "xdna3"'),
    ("xdna.bad_description", "columns 8", "columns ", "columns must be 1 to 8"),
]


def refused(code, *words, command=("plan",), opens=False):
    """Runs a command that must be refused with |code| and every one of |words|."""
    def run(*args):
        done = run_npu(*command, *args, "-v", check=False, text=True)
        lines = [l for l in done.stderr.splitlines() if l.startswith("npu: error:")]
        assert done.returncode in ((2,) if "emu_setting" in code else (3, 4)) and len(lines) == 1, (code, done.returncode, done.stderr)
        assert f"[{code}]" in lines[0] and all(w in lines[0] for w in words), (code, words, lines[0])
        assert opens or "/dev/accel" not in done.stderr, f"{code}: the device was opened: {done.stderr}"
        print(f"{code}: {lines[0][12:]}")
    return run


def manifests(base, made, folder):
    """Folders that can't be planned with, or opened by a plan that was made with the good one."""
    plan = folder / "good.json"
    run_npu("plan", *base, "--kernels", made, "-o", plan)
    check = [*base, "--plan", plan, "--kernels"]
    bad = folder / "bad"
    text = (made / "manifest.json").read_text()

    def other(change, file=None, content=""):
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(made, bad)
        manifest = json.loads(text)
        change(manifest)
        (bad / "manifest.json").write_text(json.dumps(manifest))
        if file and content is None:
            (bad / file).unlink()
        elif file:
            (bad / file).write_text(content)
        return bad

    first = json.loads(text)["kernels"][0]
    name = first["file"]
    nothing = lambda m: None
    refused("plan.manifest", "/nowhere/manifest.json")(*base, "--kernels", "/nowhere")
    run = ("plan", "--check")
    refused("plan.manifest", "/nowhere/manifest.json", command=run)(*check, "/nowhere")
    refused("plan.generation", "xdna1", "xdna2")(*base, "--kernels", other(lambda m: m.update(generation="xdna1")))
    refused("plan.role", '"frob"', command=run)(*check, other(lambda m: m["kernels"][0].update(role="frob")))
    refused("plan.dims", "K is 0", command=run)(*check, other(lambda m: m["kernels"][0].update(K=0)))
    refused("plan.kernel_missing", name, command=run)(*check, other(lambda m: m["kernels"].pop(0)))
    refused("plan.kernel_missing", name, command=run)(*check, other(nothing, name, None))
    refused("plan.kernel_hash", name, command=run)(*check, other(nothing, name, "npu-emu-kernel 1\n"))
    wrong = other(lambda m: m["kernels"][0].update(sha256="0" * 64))
    refused("plan.kernel_hash", name, command=run)(*check, wrong)
    refused("plan.kernel_shape", name, "N 64", command=run)(*check, other(lambda m: m["kernels"][0].update(N=64)))
    refused("plan.kernel_shape", name, "head", command=run)(*check, other(lambda m: m["kernels"][0].update(kind="head")))
    # The manifest and the plan say the same, the file itself says something else: of a kernel that no other one proves.
    at = next(i for i, k in enumerate(json.loads(text)["kernels"]) if k["M"] == 128 and k["role"] == "qkv")
    name = json.loads(text)["kernels"][at]["file"]
    for code, old, new, word in LIES:
        lie = re.sub(old, new, (made / name).read_text())
        told = {"sha256": hashlib.sha256(lie.encode()).hexdigest()}
        folder_of_lies = other(lambda m, told=told: m["kernels"][at].update(told), name, lie)
        run_npu("plan", *base, "--kernels", folder_of_lies, "-o", folder / "lies.json")
        refused(code, name, word, command=run)(*base, "--plan", folder / "lies.json", "--kernels", folder_of_lies)
    # A 16-row kernel that the plan has no larger one for: that the folder has one, of rows that no plan takes, proves nothing.
    small = next(i for i, k in enumerate(json.loads(text)["kernels"]) if k["M"] == 16 and k["role"] == "qkv")
    name = json.loads(text)["kernels"][small]["file"]
    lie = (made / name).read_text().replace("core 64 64", "core 64 32")
    sha = hashlib.sha256(lie.encode()).hexdigest()
    alone = other(lambda m: (m["kernels"][at].update(M=64), m["kernels"][small].update(sha256=sha)), name, lie)
    run_npu("plan", *base, "--kernels", alone, "-o", folder / "lies.json")
    refused("plan.kernel_shape", name, '"64 32" in the file', command=run)(*base, "--plan", folder / "lies.json", "--kernels", alone)
    return json.loads(plan.read_text())


def plans(base, made, folder, plan):
    """Plan files that say something else than the target can do."""
    path = folder / "edited.json"
    design = next(i for i, d in enumerate(plan["designs"]) if d["role"] == "d")
    kernel = plan["designs"][design]["prefill_kernel"]

    def row(code, words, changed):
        path.write_text(json.dumps(changed))
        refused(code, *words, command=("logits", "--ids", "1", "-o", "/dev/null"))(*base, "--plan", path, "--kernels", made)

    row("plan.kernel_shape", ["design qkv", "xdna_int4"], seal(json.loads(json.dumps(plan).replace("xdna_int8", "xdna_int4"))))
    row("plan.kernel_shape", ["design d"], edited(plan, ["designs", design, "layout"], "rows"))
    row("plan.dims", ["design d", "blocks of 24"], edited(plan, ["designs", design, "hadamard"], 24))
    row("plan.kernel_hash", ["m128"], edited(plan, ["kernels", kernel, "sha256"], "1" * 64))
    row("plan.kernel_missing", ["gone.emu"], edited(plan, ["kernels", kernel, "file"], "gone.emu"))
    row("plan.generation", ["xdna9", "xdna2"], edited(plan, ["target", "needs", "generation"], "xdna9"))
    row("plan.caps", ["max_rows 64", "16"], edited(plan, ["target", "needs", "max_rows"], 64))
    row("plan.target", ["hexagon", "xdna"], edited(plan, ["target", "name"], "hexagon"))
    broken = seal(plan)
    broken["kernels"][0]["N"] += 64
    row("plan.hash", [], broken)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        os.environ["XDG_CACHE_HOME"] = tmp
        model = folder / "tiny.gguf"
        Tiny("llama").save(model)
        base = ["-m", model, *DEVICE]
        run_npu("plan", *base)
        made = next(folder.glob("npu/xdna-emu/*"))
        plan = manifests(base, made, folder)
        plans(base, made, folder, plan)
        for given in ([], ["--kernels", made]):  # which kernels they are is told before the device is opened
            done = run_npu("logits", *base, "--ids", "1", "-o", folder / "x", *given, "-v", text=True).stderr
            assert done.index(f"info: xdna: kernels in {made}\n") < done.index("info: /dev/accel"), done
        refused("plan.manifest", "--kernels DIR")("-m", model, "--npu-target", "xdna", "--arch", "xdna2")
        refused("xdna.arch", "xdna7", "xdna1, xdna2")("-m", model, "--npu-target", "xdna", "--arch", "xdna7")
        refused("conform.target", "xdna", "bench --ops gemv", command=("conform",))(*DEVICE)
        refused("xdna.no_device", "an emulated one: --npu-target xdna --driver emu", opens=True)("-m", model, "--npu-target", "xdna")
        refused("xdna.unknown_driver", "sim", "auto, accel, emu")("-m", model, "--npu-target", "xdna", "--driver", "sim")
        for driver_of_other in (["--emu", "frob=1"], ["--emu", "generation=xdna7"]):
            refused("xdna.emu_setting")(*base, *driver_of_other)
        for rules, left in (("cmd@1=delay:1;cmd@9999=die;open@1=delay:1", "cmd@9999=die"), ("cmd@1=delay:1", "")):
            done = run_npu("logits", *base, "--ids", "1", "-o", folder / "x", "--emu", f"fault={rules}", text=True)
            assert done.stderr == (f"npu: warning: --emu fault: nothing met {left}\n" if left else ""), (rules, done)
        refused("xdna.emu_setting", "takes xdna1|xdna2")(*base, "--emu", "generation=xdna7")
        refused("xdna.emu_setting", "there is no call or event sink_bo")(*base, "--emu", "fault=cmd@9=die;sink_bo@2=code:22")


if __name__ == "__main__":
    main()
