"""Models on the emulated Hexagon give the host's bytes: every logit, and the greedy ids.

  python tests/hexagon_same.py sim|qemu CASE…     CASE: a folder of refs/a, or smollm2

Also asserts from the plan that every op was the device's."""
import json
import pathlib
import sys
import tempfile

from npu_test import model, need, run_npu, shared


def on_device(device):
    plan = run_npu("plan", *device, text=True).stdout.splitlines()
    return [line for line in plan if " host " in line]


def compare(name, path, ids, greedy, driver, tmp):
    device = ["--npu-target", "hexagon", "--driver", driver]
    host_rows = on_device(["-m", str(path), *device])
    assert not host_rows, f"{name}: planned on the host: {host_rows}"
    common = ["logits", "-m", str(path), "--ids", ",".join(map(str, ids)), "--greedy", str(greedy)]
    results = []
    for options in ([], device):
        out = tmp / ("device" if options else "host")
        text = run_npu(*common, *options, "-o", str(out), timeout=1500, text=True).stdout
        results.append((text, out.read_bytes()))
    assert results[0][0] == results[1][0], f"{name}: other ids"
    assert results[0][1] == results[1][1], f"{name}: other logits"
    print(f"{name}: {len(results[0][1])} bytes of logits and {greedy} ids are the same on {driver}")


def main():
    driver, names = sys.argv[1], sys.argv[2:]
    if driver == "qemu":
        need("qemu-hexagon")
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        for name in names:
            if name != "smollm2":
                case = shared("refs/a/" + name)
                ids = json.loads((case / "ref.json").read_text())["prompt_ids"]
                compare(name, case / "model.gguf", ids, 8, driver, tmp)
                continue
            for prompt in sorted(shared("refs/real-a/smollm2-135m").glob("*.json")):
                ids = json.loads(prompt.read_text())["prompt_ids"]
                if driver == "qemu":
                    compare("smollm2 " + prompt.stem, model(name), ids[:4], 4, driver, tmp)
                    break
                compare("smollm2 " + prompt.stem, model(name), ids, 48, driver, tmp)


main()
