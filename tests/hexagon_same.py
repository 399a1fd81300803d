"""Models on the emulated Hexagon give the host's bytes: every logit, and the greedy ids.

  python tests/hexagon_same.py sim|qemu CASE…     CASE: a folder of refs/a, "all" of them, or smollm2 or gemma3

Also asserts from the plan that every op was the device's, and from the profile that nothing else computed. Of "all", cases of
architectures that the host does not run are left out."""
import json
import pathlib
import sys
import tempfile

from npu_test import FULL, model, need, run_npu, shared


REAL = {"smollm2": "smollm2-135m", "gemma3": "gemma-3-270m"}


def planned_on_host(device):
    plan = run_npu("plan", *device, text=True).stdout.splitlines()
    return [line for line in plan if " host " in line]


def compare(name, path, ids, greedy, driver, tmp):
    device = ["--npu-target", "hexagon", "--driver", driver]
    host_rows = planned_on_host(["-m", str(path), *device])
    assert not host_rows, f"{name}: planned on the host: {host_rows}"
    common = ["logits", "-m", str(path), "--ids", ",".join(map(str, ids)), "--greedy", str(greedy)]
    results = []
    for options in ([], device):
        out = tmp / ("device" if options else "host")
        done = run_npu(*common, *options, "--profile", "-o", str(out), timeout=1500, text=True)
        results.append((done.stdout, out.read_bytes()))
        owners = {line.split()[0] for line in done.stderr.splitlines() if line.startswith(("host ", "hexagon "))}
        assert not options or owners == {"hexagon"}, f"{name}: computed by {owners}"
    assert results[0][0] == results[1][0], f"{name}: other ids"
    assert results[0][1] == results[1][1], f"{name}: other logits"
    print(f"{name}: {len(results[0][1])} bytes of logits and {greedy} ids are the same on {driver}")


def same_case(name, driver, tmp):
    case = shared("refs/a/" + name)
    ids = json.loads((case / "ref.json").read_text())["prompt_ids"]
    compare(name, case / "model.gguf", ids, 8, driver, tmp)


def all_cases(driver, tmp):
    ran = 0
    for case in sorted(path.name for path in shared("refs/a").iterdir() if (path / "model.gguf").exists()):
        known = run_npu("plan", "-m", str(shared("refs/a/" + case) / "model.gguf"), check=False, text=True)
        if known.returncode and "is not a known architecture" in known.stderr:
            print(f"{case}: an architecture of later")
            continue
        same_case(case, driver, tmp)
        ran += 1
    assert ran >= 20, f"only {ran} cases"


def same_model(name, driver, tmp):
    """All prompts in the full tier, one in the quick one; few tokens under qemu."""
    prompts = sorted(shared("refs/real-a/" + REAL[name]).glob("*.json"))
    few = driver == "qemu"
    for prompt in prompts if FULL and not few else prompts[:1]:
        ids = json.loads(prompt.read_text())["prompt_ids"]
        compare(f"{name} {prompt.stem}", model(name), ids[:4] if few else ids, 4 if few else 48, driver, tmp)


def main():
    driver, names = sys.argv[1], sys.argv[2:]
    if driver == "qemu":
        need("qemu-hexagon")
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        for name in names:
            if name == "all":
                all_cases(driver, tmp)
                continue
            if name not in REAL:
                same_case(name, driver, tmp)
                continue
            same_model(name, driver, tmp)


main()
