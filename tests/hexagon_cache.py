"""Packing weights for the NPU: npu bench --repack."""
import json

from npu_test import run_npu


def repack():
    out = json.loads(run_npu("bench", "--repack", "-r", "1", "--json", text=True).stdout)
    rows = {row["format"]: row for row in out["repack"]}
    assert out["target"] == "hexagon" and out["runs"] == 1 and out["threads"] >= 1, out
    assert {"f32", "f16", "bf16", "q4_0", "q4_k", "q6_k", "iq4_xs", "mxfp4"} <= set(rows) and len(rows) == 16, rows
    for row in rows.values():
        assert row["core_gb_s"] > 0 and row["all_gb_s"] > 0 and row["file_bytes"] > 2**24, row
        assert row["image"] == ("copy" if row["format"] in ("f32", "f16", "bf16") else "tiles"), row
    table = run_npu("bench", "--repack", "-r", "1", "--threads", "1", text=True).stdout
    assert len(table.splitlines()) == 18, table


repack()
