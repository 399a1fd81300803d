"""What fits into one packet, as the assembler says: the units on which docs/hexagon-kernels.md rests its floors."""
import os
import subprocess
import sys
import tempfile

try:
    import ziglang  # noqa: F401
except ImportError:
    print("not available: the ziglang package")
    sys.exit(77)

PRODUCT = "v{}.qf32 = vmpy(v1.sf, v2.sf)"
PRODUCT_QF32 = "v{}.qf32 = vmpy(v1.qf32, v2.qf32)"
WIDEN = "v{1}:{0}.qf32 = vmpy(v1.hf, v2.hf)"
SUM = "v{}.qf32 = vadd(v1.qf32, v2.qf32)"
TO_SF = "v{}.sf = v1.qf32"
SHIFT = "v{}.w = vasl(v1.w, r1)"
SPLAT = "v{} = vsplat(r2)"
PERMUTE = "v{}.h = vshuff(v1.h)"
LOAD = "v{} = vmem(r4+#0)"
SCALED = "v{}.qf32 = vmpy(v1.sf, r3.sf)"
PAIRS_OF_HALVES = "v{}.sf += vdmpy(v1.hf, v2.hf)"
BOTH = ("73", "79")
# architectures, whether it fits, instructions
PACKETS = [
    (BOTH, False, PRODUCT, PRODUCT),  # one product of floats a packet, of whatever kind
    (BOTH, False, PRODUCT_QF32, WIDEN),
    (BOTH, False, SUM, SUM),  # one of sums, conversions and shifts
    (BOTH, False, SUM, TO_SF),
    (BOTH, False, SUM, SHIFT),
    (BOTH, True, PRODUCT, SUM, PERMUTE),
    (BOTH, True, PRODUCT, TO_SF, LOAD),
    (BOTH, False, LOAD, LOAD),
    (BOTH, False, PRODUCT, SPLAT),  # a splat of a scalar takes a multiplier
    (BOTH, True, SPLAT, SPLAT),
    (("79",), True, SCALED, SUM, LOAD),  # which from v79 on is part of the product
    (("79",), False, SCALED, SCALED),
    (("79",), True, PAIRS_OF_HALVES, PAIRS_OF_HALVES, LOAD),  # 128 products of halves, as the open backend's
    (("79",), False, PAIRS_OF_HALVES, PAIRS_OF_HALVES, SPLAT),
]


def fits(arch, packet, folder):
    source = os.path.join(folder, "packet.s")
    lines = [text.format(8 * i + 8, 8 * i + 9) for i, text in enumerate(packet)]
    with open(source, "w") as f:
        f.write("{\n" + "\n".join(lines) + "\n}\n")
    cpu = f"hexagonv{arch}+hvx+hvx_length128b+hvxv{arch}+hvx_qfloat+hvx_ieee_fp"
    done = subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", "hexagon-linux-musl", "-mcpu=" + cpu, "-c", source, "-o",
                           os.path.join(folder, "packet.o")], capture_output=True, text=True)
    if done.returncode and "invalid instruction packet" not in done.stderr:
        sys.exit(f"v{arch}: {lines}: {done.stderr}")
    return done.returncode == 0


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for arches, expected, *packet in PACKETS:
            for arch in arches:
                got = fits(arch, packet, folder)
                print(f"v{arch}: {'fits' if got else 'does not fit'}: {'; '.join(text.format(8, 9) for text in packet)}")
                wrong += got != expected
    print(wrong, "differ from what the page says")
    return 1 if wrong else 0


sys.exit(main())
