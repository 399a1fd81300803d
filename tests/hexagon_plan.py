"""Plans and the device they meet: caps, generation, image kind and window are compared and refused by name; what the
host spends a decode step."""
import json
import pathlib
import tempfile

from npu_test import BUILD, model, run_npu, shared

DEVICE = ["--npu-target", "hexagon", "--driver", "sim"]


def refused(code, *args):
    done = run_npu(*args, check=False, text=True)
    assert done.returncode == (2 if "emu_setting" in code else 3) and f"[{code}]" in done.stderr, (code, args, done)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("npu: error: "), (args, done)  # the emulator is quiet


def plans(path, tmp):
    plan = tmp / "plan.json"
    common = ["logits", "-m", str(path), "--ids", "1,2,3"]
    run_npu("plan", "-m", str(path), *DEVICE, "-o", str(plan))
    assert any(e["image"] == "tiles" for e in json.loads(plan.read_text())["entries"])
    run_npu(*common, *DEVICE, "--plan", str(plan), "-o", str(tmp / "planned"))
    run_npu(*common, *DEVICE, "-o", str(tmp / "free"))
    run_npu(*common, "-o", str(tmp / "host"))
    assert (tmp / "planned").read_bytes() == (tmp / "free").read_bytes() == (tmp / "host").read_bytes()
    by_plan = [*common, *DEVICE, "--plan", str(plan), "-o", str(tmp / "x")]
    refused("plan.generation", *by_plan, "--emu", "arch=v75")
    refused("plan.caps", *by_plan, "--emu", "vtcm=4194304")
    refused("plan.caps", *by_plan, "--emu", "hvx=2")
    refused("plan.caps", *by_plan, "--emu", "window=1G")
    refused("plan.target", *common, "--plan", str(plan), "-o", str(tmp / "x"))
    refused("plan.settings", *by_plan, "--ctx", "64")
    text = plan.read_text()
    (tmp / "edited.json").write_text(text.replace('"tiles"', '"other"', 1))
    refused("plan.hash", *common, *DEVICE, "--plan", str(tmp / "edited.json"), "-o", str(tmp / "x"))
    refused("plan.window", *common, *DEVICE, "--emu", "window=1M", "-o", str(tmp / "x"))
    refused("plan.window", "plan", "-m", str(path), *DEVICE, "--emu", "window=1M")
    refused("hexagon.emu_setting", *common, *DEVICE, "--emu", "window=48Q", "-o", str(tmp / "x"))
    for wrong in ("no_such=1", "vtcm=4X", "vtcm=1MB", "vtcm=4G", "vtcm=18446744073709551615K", "hvx=1K", "seed=1M", "fault=dsp:opp@1=die"):
        refused("hexagon.emu_setting", *common, *DEVICE, "--emu", wrong, "-o", str(tmp / "x"))


def keys():
    text = run_npu("devices", "--emu", "help", text=True).stdout
    for key in ("window", "fault", "idle"):
        assert f"\n{key} " in text, text
    assert run_npu("devices", *DEVICE, "--emu", "help", text=True).stdout == text
    refused("hexagon.emu_setting", "devices", "--npu-target", "hexagon", "--driver", "fastrpc", "--emu", "help")


def devices():
    """For a device that is not here the table is believed, and an emulated one of the same architecture has the same."""
    def rows(*args):
        row, = json.loads(run_npu("devices", "--npu-target", "hexagon", "--json", *args, text=True).stdout)
        return {k: v for k, v in row.items() if k != "device"}
    for arch in ("v68", "v69", "v73", "v75", "v79", "v81"):
        planned = rows("--arch", arch)
        assert planned["generation"] == arch and planned["hvx_contexts"] > 1 and not planned["bit_exact"], planned
        for driver in ("sim", "qemu"): # which have IEEE numbers
            assert rows("--arch", arch, "--driver", driver) == {**planned, "bit_exact": True}, (arch, driver, planned)
    assert rows("--driver", "sim", "--emu", "hvx=2", "--emu", "vtcm=1M", "--emu", "window=64M") == {
        "target": "hexagon", "usable": True, "generation": "v73", "hvx_contexts": 2, "vtcm_bytes": 1 << 20,
        "window_bytes": 64 << 20, "bit_exact": True}


def one_session(path, tmp):
    """Asking which device is there opens nothing; running opens one session."""
    opens = ["--emu", "fault=remote_handle64_open@1+=code:0x80000406"]
    run_npu("devices", *DEVICE, *opens)
    run_npu("plan", "-m", str(path), *DEVICE, *opens)
    second = ["--emu", "fault=remote_handle64_open@2+=code:0x80000406"]
    run_npu("logits", "-m", str(path), "--ids", "1", *DEVICE, *second, "-o", str(tmp / "x"))


def programs(path, tmp):
    """A folder of NPU programs that is missing, empty, or holds half of one, is refused with the reason."""
    common = ["logits", "-m", str(path), "--ids", "1", "-o", str(tmp / "x"), "--npu-target", "hexagon"]
    folder = tmp / "programs"
    refused("hexagon.kernels", *common, "--driver", "sim", "--kernels", str(folder))
    folder.mkdir()
    refused("hexagon.program", *common, "--driver", "sim", "--kernels", str(folder))
    for driver, kind in (("sim", "so"), ("qemu", "elf")):
        for program in (BUILD / "emu").glob(f"libnpu-htp-v73.*{kind}"):
            whole = program.read_bytes()
            for part in (whole[:len(whole) // 2], whole[:-1], whole[:40], b"", b"x" * 5000):
                (folder / program.name).write_bytes(part)
                done = run_npu(*common, "--driver", driver, "--kernels", str(folder), check=False, text=True)
                if done.returncode:  # but for the last byte the loader did not need the rest
                    assert done.returncode == 3 and f"{folder}/{program.name} is " in done.stderr, done
                else:
                    assert part == whole[:-1], done
            (folder / program.name).unlink()
    done = run_npu(*common, "--driver", "qemu", "--emu", "arch=v75", check=False, text=True)
    assert done.returncode and done.stderr.count("\n") == 1 and ": qemu runs programs up to v73" in done.stderr, done
    done = run_npu(*common, check=False, text=True)
    assert done.returncode == 0 or "--driver sim" in done.stderr, done


def host_cost(path):
    common = ["bench", "-m", str(path), "--host-cost", "--gen-tokens", "32", "--json"]
    cost = json.loads(run_npu(*common, *DEVICE, text=True).stdout)
    print("device:", cost)
    assert cost["allocations"] in (0, None), cost
    assert cost["images"] == 0 and cost["mapped_bytes"] == 0 and cost["ops_host"] == 0, cost
    assert cost["batches"] == cost["messages"] == 1, cost
    assert 0 < cost["message_bytes"] + cost["bytes_to_device"] < 4096, cost
    cost = json.loads(run_npu(*common, "--device", "cpu", text=True).stdout)
    print("cpu:", cost)
    assert cost["allocations"] in (0, None) and cost["ops_device"] == 0 and cost["barrier_us"] > 0, cost


def main():
    case = shared("refs/a/type-q4_0") / "model.gguf"
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        keys()
        devices()
        one_session(case, tmp)
        plans(case, tmp)
        programs(case, tmp)
        host_cost(case)
        smollm2 = model("smollm2")
        host_cost(smollm2)


main()
