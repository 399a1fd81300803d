"""`npu conform` on the emulated Hexagon: every op on random shapes and strides, byte for byte the host's reference.

  python tests/hexagon_conform.py sim|qemu CASES [SEED]

What the NPU refuses may only be weights that have no image yet; the count is printed. NPU_SEED sets the seed."""
import os
import re
import sys

from npu_test import need, run_npu

NO_IMAGE = re.compile(r"^skip (mul_mat|get_rows) .* (a (weight|table) of this type has no image|K is not a multiple of 32|"
                      r"the activation is not rows of f32)$")


def main():
    driver, cases, seed = sys.argv[1], sys.argv[2], os.environ.get("NPU_SEED") or (sys.argv + ["20270"])[3]
    if driver == "qemu":
        need("qemu-hexagon")
    text = run_npu("conform", "--npu-target", "hexagon", "--driver", driver, "--cases", cases, "--seed", seed, "-v",
                   check=False, timeout=3000, text=True).stdout
    lines = text.splitlines()
    print(lines[-1])
    failed = [line for line in lines if line.startswith("FAIL")]
    refused = [line for line in lines if line.startswith("skip") and not NO_IMAGE.match(line)]
    assert not failed, "\n".join(failed[:20])
    assert not refused, "refused without need:\n" + "\n".join(refused[:20])
    passed = {line.split()[1] for line in lines if line.startswith("pass")}
    assert len(passed) >= 30, f"only {sorted(passed)} were run"


main()
