"""A vendor's library that lacks a name: for each name of hexagon_symbols.def, `npu logits` gives the host's bytes by
another way (OPTIONAL) or says which symbol is missing (REQUIRED, exit code 4). And no library at all."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from npu_test import BUILD, NPU, SOURCE, run_npu, shared

sys.path.insert(0, str(SOURCE / "emu/hexagon/tools"))
from without_symbol import without_symbol  # noqa: E402


def names():
    text = (SOURCE / "src/target/hexagon/hexagon_symbols.def").read_text()
    return re.findall(r"^HEX_SYMBOL\([^,]+, (\w+), \(.*\), (REQUIRED|OPTIONAL)\)", text, re.M)


def run(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True, timeout=300)


def main():
    case = shared("refs/a/type-q4_0")
    ids = ",".join(map(str, json.loads((case / "ref.json").read_text())["prompt_ids"][:6]))
    model = str(case / "model.gguf")
    listed = names()
    assert len(listed) >= 17, listed
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "emu").mkdir()
        program = folder / "npu"
        shutil.copy2(NPU, program)
        for file in (BUILD / "emu").iterdir():
            if file.is_file() and file.name != "libcdsprpc.so":
                (folder / "emu" / file.name).symlink_to(file.resolve())
        library = (BUILD / "emu/libcdsprpc.so").read_bytes()
        common = ["logits", "-m", model, "--ids", ids]
        run_npu(*common, "-o", folder / "host")
        device = ["--npu-target", "hexagon", "--driver", "sim", "-o", str(folder / "device")]
        for name, need in [(None, "OPTIONAL"), *listed]:
            (folder / "emu/libcdsprpc.so").write_bytes(without_symbol(library, name) if name else library)
            (folder / "device").unlink(missing_ok=True)
            done = run(program, *common, *device)
            if need == "REQUIRED":
                assert done.returncode == 4 and f"no symbol {name}" in done.stderr, (name, done)
                assert not (folder / "device").exists()
            else:
                assert done.returncode == 0, (name, done)
                assert (folder / "device").read_bytes() == (folder / "host").read_bytes(), f"without {name}"
        # A library that can't be configured is a vendor's. Its device is there, but no NPU program is.
        (folder / "emu/libcdsprpc.so").write_bytes(without_symbol(library, "npu_emu_configure"))
        env = {**os.environ, "LD_LIBRARY_PATH": str(folder / "emu")}
        there = subprocess.run([program, "devices"], capture_output=True, text=True, env=env, timeout=60)
        assert re.search(r"Hexagon v73 \(device\), .*, numbers near the CPU's, not the same bits$", there.stdout, re.M), there
        plan = [program, "plan", "-m", model, "--ctx", "64", "--npu-target", "hexagon"]
        for more in [], ["--arch", "v73"]:
            done = subprocess.run([*plan, *more, "-o", folder / "plan.json"], capture_output=True, text=True, env=env, timeout=60)
            assert not done.returncode and json.loads((folder / "plan.json").read_text())["target"]["caps"]["bit_exact"] is False
            done = subprocess.run([*plan, *more], capture_output=True, text=True, env=env, timeout=60)
            assert "numbers: near the CPU's, not the same bits" in done.stdout, done
        done = run_npu(*plan[1:], "--driver", "sim", text=True)
        assert "numbers:" not in done.stdout, done
        asked = [program, *common, "--device", "npu", "-o", str(folder / "asked")]
        done = subprocess.run(asked, capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode not in (0, 2) and "libnpu-htp-v73.so" in done.stderr, done
        # --kernels: the folder where FastRPC looks first.
        kernels, other = folder / "kernels", folder / "other"
        for place in (kernels, other):
            place.mkdir()
        for file in (BUILD / "emu").glob("libnpu-htp-v73*.so"):  # for each processor level; FastRPC takes the one for this
            (kernels / file.name).symlink_to(file.resolve())
        for before in ({}, {"ADSP_LIBRARY_PATH": str(other)}, {"DSP_LIBRARY_PATH": f"{other};{folder}"}):
            (folder / "asked").unlink(missing_ok=True)
            done = subprocess.run([*asked, "--kernels", kernels], capture_output=True, text=True, env={**env, **before}, timeout=60)
            assert done.returncode == 0, done
            assert (folder / "asked").read_bytes() == (folder / "host").read_bytes()
        done = subprocess.run([*asked, "--kernels", other], capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode not in (0, 2) and f"{other} has no NPU program libnpu-htp-v73." in done.stderr, done
        odd = folder / "a;b"
        odd.mkdir()
        done = subprocess.run([*asked, "--kernels", odd], capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 3 and "[hexagon.kernels]" in done.stderr, done
        asked[asked.index("npu", 1)] = "auto"
        done = subprocess.run(asked, capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0 and "hexagon is there but not usable" in done.stderr, done
        assert (folder / "asked").read_bytes() == (folder / "host").read_bytes()
    print(f"{len(listed)} names taken away one by one")

    done = run(NPU, "run", "-m", model, "--raw", "-p", "x", "-n", "1", "--npu-target", "hexagon")
    assert done.returncode == 4, done
    for looked_for in ("libcdsprpc.so", "/dev/fastrpc-cdsp"):
        assert looked_for in done.stderr, done
    print("without a driver:", done.stderr.strip())


main()
