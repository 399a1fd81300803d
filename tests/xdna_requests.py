"""Requests on the emulated XDNA in one context: what one leaves behind, and what a failing device does to those before
and after.

    xdna_requests.py XDNA_TOOL
"""
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from npu_test import run_npu
from tiny_model import Tiny

A, B = "run=" + ",".join(str(i * 7 % 97) for i in range(30)), "run=3,1,4,1,5"

# what the device does to the second request, and how that ends: OK means that it ends with the right bytes
FAULTS = [
    ("cmd@3=short:5", "ok"),                              # tried again
    ("cmd@3=short:0", "ok"),
    ("cmd@3=short:15", "ok"),                             # a row that only pads
    ("cmd=short:7", "failed device_short xdna.short_row"),
    ("cmd@2=hang", "failed timeout xdna.timeout"),
    ("cmd@1=code:8", "failed timeout xdna.timeout"),
    ("cmd@4=code:5", "failed device_lost xdna.command"),
    ("cmd@1=code:1", "failed device_lost xdna.command"),  # the wait succeeds, the command did not
    ("cmd@2=restart", "failed device_lost xdna.context_lost"),
    ("cmd@5=die", "failed device_lost xdna.context_lost"),
    ("exec_cmd@2=code:22", "failed device_lost xdna.context_lost"),
    ("wait@3=code:19", "failed device_lost xdna.context_lost"),
    ("cmd@2=delay:2000", "ok"),
]


class Tool:
    def __init__(self, program, model, cache):
        self.command = [program, model, cache]

    def __call__(self, *commands, check=True):
        done = subprocess.run([*self.command, *commands], capture_output=True, text=True, timeout=600)
        assert done.returncode >= 0 and (not check or done.returncode == 0), done.stdout + done.stderr
        self.log = done.stderr
        return done.stdout.splitlines()

    def counts(self, line):
        words = line.split()
        return {k: int(v) for k, v in zip(words[1::2], words[2::2], strict=True)}


def nothing_stays(tool):
    first, other, again, counts = tool(A, B, A, "counts")
    assert first == again and first.startswith("ok") and other.startswith("ok") and other != first
    counts = tool.counts(counts)
    assert counts == {"packed": 9, "tiles": 0, "sidecars": 0, "refused": 0, "short": 0, "reopened": 0}, counts
    # Syncs that do only what they are called, CPU writes that win over a command's, other drivers, shared virtual memory.
    for setting in ("direction=strict kernel=1.0", "evict=1", "kernel=6.14", "kernel=1.0", "iova=1", "order=seeded"):
        same, other_same, counts = tool(*["emu=" + s for s in setting.split()], A, B, "counts")
        assert (same, other_same) == (first, other) and tool.counts(counts)["short"] == 0, (setting, counts)


PROVEN = "-row kernel's sums"  # a line of the log for each design


def faults(tool):
    a, b = tool(A, B)
    designs = tool.log.count(PROVEN)
    assert designs > 3, tool.log
    for rules, want in FAULTS:
        limit = 3000 if "hang" in rules else 600000  # no time-out but where one is meant, however busy the machine
        lines = tool(f"emu=watchdog={limit}", A, "fault=" + rules, B, "fault=off", B, A, "counts")
        before, _, hit, _, same, after, counts = lines
        if not hit.startswith(b if want == "ok" else want) or (before, same, after) != (a, b, a):
            sys.exit(f"{rules}: " + "\n".join(lines))
        counts = tool.counts(counts)
        lost = "timeout" in want or "lost" in want
        assert counts["reopened"] == int(lost), (rules, counts)
        # What a lost device held comes by the callback, each weight once, the head from its source.
        assert counts["tiles"] == (8 if lost else 0) and counts["packed"] == (18 if lost else 9), (rules, counts)
        # What the small kernels were proven to do, they were on the device that is gone.
        assert tool.log.count(PROVEN) == designs * (1 + int(lost)), (rules, tool.log)
        assert ("layer 0, role " in hit + tool.log) == ("short" in rules), (hit, tool.log)
        print(f"{rules}: {hit.split(':')[0]}")


def lost_between_launches(tool):
    """A device may go while weights are brought to it again, or while it is opened: the request after that opens it anew."""
    b, at, during = tool(B)[0], 1, 0
    while True:
        lines = tool("run=1", "fault=cmd@1=code:5", B, f"fault=create_bo@{at}=code:19", B, "fault=off", B, B, "counts")
        assert lines[2].startswith("failed device_lost") and lines[6:8] == [b, b], (at, lines)
        if lines[4] == b:
            break
        assert lines[4].startswith("failed device_lost xdna.context_lost"), (at, lines)
        during += tool.counts(lines[8])["reopened"] == 2  # it was open, and lost before any launch
        at += 5
    assert during > 0, f"the device was lost in none of {at // 5} places behind its opening"


def small_kernel_is_proven(tool, folder):
    """A 16-row kernel that computes something else is found out and not used; the bytes stay the same."""
    good = tool(A, B)
    lines = tool("emu=fault=cmd=short:3", A, check=False)  # a launch of the proof
    assert lines[0].startswith("failed device_short xdna.short_row"), lines
    kernels = next(folder.glob("xdna-emu/*/manifest.json"))
    target = folder / "other"
    shutil.copytree(kernels.parent, target)
    manifest = json.loads(kernels.read_text())
    liar = next(k for k in manifest["kernels"] if k["role"] == "gu" and k["M"] == 16)
    wrong = (target / liar["file"]).read_text().replace("core 64 64", "core 64 32")  # reads the weights in another order
    (target / liar["file"]).write_text(wrong)
    liar["sha256"] = hashlib.sha256(wrong.encode()).hexdigest()
    (target / "manifest.json").write_text(json.dumps(manifest))
    assert tool(f"kernels={target}", A, B) == good
    assert "role gu, K 64, N 192: the 16-row kernel gives other sums" in tool.log and tool.log.count("other sums") == 1
    device = ["-m", tool.command[1], "--npu-target", "xdna", "--driver", "emu", "--kernels", target]
    run_npu("plan", *device, "-o", folder / "liar.json")
    check = run_npu("plan", *device, "--plan", folder / "liar.json", "--check", text=True).stdout
    assert "gu     K 64, N 192: 16-row kernel, its int32 sums are OTHERS" in check, check
    assert "qkv    K 64, N 128: 16-row kernel, proven" in check, check
    shutil.copy(kernels.parent / liar["file"], target)
    manifest = json.loads(kernels.read_text())
    manifest["kernels"] = [k for k in manifest["kernels"] if k["M"] == 128]  # without small kernels
    (target / "manifest.json").write_text(json.dumps(manifest))
    assert tool(f"kernels={target}", A, B) == good
    manifest = json.loads(kernels.read_text())
    manifest["kernels"] = [k for k in manifest["kernels"] if k["M"] == 16]  # and without large ones
    (target / "manifest.json").write_text(json.dumps(manifest))
    assert tool(f"kernels={target}", A, B) == good


def split_or_fused(tool, folder):
    """The manifest decides whether q, k and v are one product; the bytes are the same."""
    good = tool(A, B)
    kernels = next(folder.glob("xdna-emu/*/manifest.json"))
    target = folder / "split"
    shutil.copytree(kernels.parent, target)
    manifest = json.loads(kernels.read_text())
    one = {"any": [k for k in manifest["kernels"] if k["role"] == "o"]}["any"]
    rest = [k for k in manifest["kernels"] if k["role"] not in ("qkv", "o")]
    manifest["kernels"] = rest + [{**k, "role": "none"} for k in one]
    (target / "manifest.json").write_text(json.dumps(manifest))
    assert tool(f"kernels={target}", A, B) == good
    plan = run_npu("plan", "-m", tool.command[1], "--npu-target", "xdna", "--driver", "emu", "--kernels", target,
                   "-o", folder / "split.json") and json.loads((folder / "split.json").read_text())
    assert {d["role"] for d in plan["designs"]} == {"q", "k", "v", "o", "gu", "d", "head"}, plan["designs"]


def sidecars(tool, folder):
    kernels = next(folder.glob("xdna-emu/*/manifest.json")).parent
    target = folder / "with-images"
    shutil.copytree(kernels, target)
    (target / "images").mkdir()
    option = f"kernels={target}"
    good, counts = tool(option, A, "counts")
    assert tool.counts(counts)["packed"] == 9, counts
    again, counts = tool(option, A, "counts")
    assert again == good and tool.counts(counts) | {"packed": 0, "sidecars": 9} == tool.counts(counts), counts
    broken = target / "images" / "1-qkv-xdna_int8.img"
    raw = bytearray(broken.read_bytes())
    for at, what in ((0, "magic"), (8, "version"), (16, "kind"), (40, "layout"), (72, "layer or role"), (80, "K"),
                     (84, "N"), (88, "real dims"), (96, "Hadamard block"), (104, "source hash"),
                     (len(raw) - 5, "payload hash")):
        changed = bytearray(raw)
        changed[at] ^= 1
        broken.write_bytes(changed)
        again, counts = tool(option, A, "counts")
        assert again == good and tool.counts(counts)["packed"] == 1, (what, counts)
        assert f"{broken}: not the image that is needed: {what}; packing it" in tool.log, (what, tool.log)
    # Another model of the same shape: none of them fits.
    other = folder / "other.gguf"
    Tiny("llama", seed=9).save(other)
    lines = Tool(tool.command[0], other, folder)(option, A, "counts")
    assert tool.counts(lines[1]) | {"sidecars": 0, "refused": 9} == tool.counts(lines[1]), lines


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        path = folder / "tiny.gguf"
        Tiny("llama").save(path)
        tool = Tool(sys.argv[1], path, folder)
        nothing_stays(tool)
        small_kernel_is_proven(tool, folder)
        split_or_fused(tool, folder)
        sidecars(tool, folder)
        faults(tool)
        lost_between_launches(tool)


if __name__ == "__main__":
    main()
