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
    return done.stderr


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
    refused("hexagon.emu_setting", *common, *DEVICE, "--emu", "no_such=1", "-o", str(tmp / "x"))
    for wrong in ("fault=dsp:opp@1=die", "fault=nonsense", "vtcm=300001"):
        refused("hexagon.emu_setting", *common, *DEVICE, "--emu", wrong, "-o", str(tmp / "x"))


def keys():
    """Each key's values are in the help, and in the message that refuses others."""
    text = run_npu("devices", "--emu", "help", text=True).stdout
    rows = {line.split()[0]: line.split()[1] for line in text.splitlines()}
    assert len(rows) > 25 and rows["window"] == "1M..3584M" and rows["vtcm"] == "64K..64M" and rows["idle"] == "0|1", rows
    for key, values in rows.items():
        if key == "idle":  # refused before it is read
            continue
        wrongs = ["", "-1", "x", "4X", "1MB", "18446744073709551615K", "1e3"]
        if ".." in values:
            wrongs += [str(int(n.translate(str.maketrans("", "", "vKMG"))) + by) + n.translate(str.maketrans("", "", "v0123456789"))
                       for n, by in zip(values.split(".."), (-1, 1), strict=True)]
        if key in ("program", "loader", "qemu", "fault"):
            wrongs = [""] if key != "fault" else ["x"]
        said = "name[@n[+]]=" if key == "fault" else values
        for wrong in wrongs:
            done = refused("hexagon.emu_setting", "devices", *DEVICE, "--emu", f"{key}={wrong}")
            assert f": takes {said}" in done, (key, wrong, done)
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
        for driver in ("sim", "qemu") if arch < "v75" else ("sim",):  # which have IEEE numbers; qemu ends at v73
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
    done = run_npu("logits", "-m", str(path), "--ids", "1", *DEVICE, *second, "-o", str(tmp / "x"), text=True)
    assert done.stderr == "npu: warning: --emu fault: nothing met remote_handle64_open@2+=code:0x80000406\n", done


def unmet(path, tmp):
    """Rules of a run that nothing met are said at its end, in their order; those that were met on either side are not."""
    common = ["logits", "-m", path, "--ids", "1,2", "-o", tmp / "x", *DEVICE]
    met, never = ["fastrpc_mmap@1=delay:1", "dsp:op@3=delay:1", "dsp3:HAP_mmap@1=delay:1"], ["dsp:op@100000=die", "dsp11:op=die"]
    for rules in (met, never, [met[0], never[0], met[1], never[1], met[2]]):
        done = run_npu(*common, "--emu", "fault=" + ";".join(rules), text=True)
        left = ";".join(rule for rule in rules if rule in never)
        assert done.stderr == (f"npu: warning: --emu fault: nothing met {left}\n" if left else ""), (rules, done)
    # a process that died has met its rule; so has one that is lost while it is opened
    for rule in ("dsp:op@2=die", "dsp:invoke@1=die"):
        done = run_npu(*common, "--emu", f"fault={rule}", text=True, check=False)
        assert done.returncode == 5 and "nothing met" not in done.stderr, done


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
    for given in ([], ["--kernels", BUILD / "emu"]):
        done = run_npu(*common, "--driver", "sim", *given, "-v", text=True)
        assert f"info: hexagon: {BUILD}/emu/libcdsprpc.so, NPU programs in {BUILD}/emu\n" in done.stderr, done
    done = run_npu(*common, "--driver", "qemu", "--emu", "arch=v75", check=False, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and ": qemu runs programs up to v73; driver sim" in done.stderr, done
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
        unmet(case, tmp)
        plans(case, tmp)
        programs(case, tmp)
        host_cost(case)
        smollm2 = model("smollm2")
        host_cost(smollm2)


main()
