"""The loops of the roofline's multiplying kernels (src/base/peak) touch no memory: with a sum that waits there, a kernel
measures the way to memory and back, and the roofline is too low. Read from the program's machine code.
"""
import platform
import re
import subprocess

from npu_test import NPU, need

KERNEL = re.compile(r"<(npu_peak_(?:f32|int8|bf16)_(\w+))>:$")
TILES = {"amx"}  # whose loops are of tile instructions, which hold their operands
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)")
JUMP = re.compile(r"j(ne|e|b|a|ae|be)|b\.\w+|cbn?z")
MEMORY = re.compile(r"\(%r|\[(sp|x\d)")


def functions():
    """The instructions (address, name, operands) of each multiplying kernel."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", NPU], capture_output=True, text=True, check=True).stdout
    found, lines = {}, None
    for line in text.splitlines():
        if line.endswith(">:"):
            kernel = KERNEL.search(line)
            lines = found.setdefault(kernel[1], []) if kernel and kernel[2] not in TILES else None
        elif lines is not None and (instruction := INSTRUCTION.match(line)):
            lines.append((int(instruction[1], 16), instruction[2], instruction[3]))
    return found


def loop(lines):
    """The instructions from where the longest jump back leads."""
    jumps = [(address, int(target[1], 16)) for address, name, operands in lines
             if JUMP.fullmatch(name) and (target := re.search(r"([0-9a-f]+) <", operands))]
    back = [(start, end) for end, start in jumps if start < end]
    assert back, "a kernel without a loop"
    start, end = max(back, key=lambda b: b[1] - b[0])
    return [line for line in lines if start <= line[0] <= end]


def main():
    need("objdump")
    found = functions()
    assert len(found) >= (5 if platform.machine() == "x86_64" else 3), sorted(found)
    for name, lines in found.items():
        body = loop(lines)
        assert len(body) > 10, (name, body)
        touched = [f"{op} {operands}" for _, op, operands in body if MEMORY.search(operands)]
        assert not touched, f"{name}: its loop goes to memory: {touched}"


main()
