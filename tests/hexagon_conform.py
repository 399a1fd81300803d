"""`npu conform` on the emulated Hexagon: every op on random shapes and strides, byte for byte the host's reference.

  python tests/hexagon_conform.py sim|qemu CASES [SEED [SETTING…]]

The NPU must refuse nothing, whatever its settings (--emu) are. NPU_SEED sets the seed."""
import os
import sys

from npu_test import need, run_npu


def main():
    driver, cases, seed = sys.argv[1], sys.argv[2], os.environ.get("NPU_SEED") or (sys.argv + ["20270"])[3]
    if driver == "qemu":
        need("qemu-hexagon")
    settings = [x for setting in sys.argv[4:] for x in ("--emu", setting)]
    text = run_npu("conform", *settings, "--npu-target", "hexagon", "--driver", driver, "--cases", cases, "--seed", seed, "-v",
                   check=False, timeout=3000, text=True).stdout
    lines = text.splitlines()
    print(lines[-1])
    failed = [line for line in lines if line.startswith("FAIL")]
    refused = [line for line in lines if line.startswith("skip")]
    assert not failed, "\n".join(failed[:20])
    assert not refused, "refused:\n" + "\n".join(refused[:20])
    passed = {line.split()[1] for line in lines if line.startswith("pass")}
    assert len(passed) >= 30, f"only {sorted(passed)} were run"


main()
