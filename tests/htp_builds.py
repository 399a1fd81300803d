"""The NPU programs for hardware: built for every architecture, and each one is what a device loads: machine, architecture,
the one exported entry, nothing undefined but what htp/platform/imports.txt lists."""
import os
import struct
import subprocess
import sys

import npu_test

ARCHES = [68, 69, 73, 75, 79, 81]
EM_HEXAGON, ET_DYN = 164, 3


class Library:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        head = struct.unpack_from("<16sHHIIIIIHHHHHH", self.data)
        self.magic, self.type, self.machine, self.flags = head[0], head[1], head[2], head[7]
        offset, size, count = head[6], head[11], head[12]
        self.sections = [struct.unpack_from("<10I", self.data, offset + i * size) for i in range(count)]

    def symbols(self):
        """(name, is defined, is global) of the dynamic symbol table."""
        table = next(s for s in self.sections if s[1] == 11)
        strings = self.sections[table[6]][4]
        for at in range(table[4] + 16, table[4] + table[5], 16):
            name, _, _, info, other, section = struct.unpack_from("<IIIBBH", self.data, at)
            end = self.data.index(b"\0", strings + name)
            yield self.data[strings + name:end].decode(), section != 0, info >> 4 and other & 3 == 0


def main():
    try:
        import ziglang  # noqa: F401
    except ImportError:
        npu_test.not_available("the ziglang package")
    out = npu_test.BUILD / "htp"
    subprocess.run([sys.executable, str(npu_test.SOURCE / "scripts" / "htp-build"), "--out", str(out)], check=True)
    lines = open(npu_test.SOURCE / "htp" / "platform" / "imports.txt", encoding="utf-8").read().splitlines()
    allowed = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    used = set()
    for arch in ARCHES:
        library = Library(os.path.join(out, f"libnpu-htp-v{arch}.so"))
        assert library.magic[:6] == b"\x7fELF\x01\x01" and library.type == ET_DYN, arch
        assert library.machine == EM_HEXAGON, library.machine
        assert library.flags & 0xFFF == int(str(arch), 16), hex(library.flags)
        symbols = list(library.symbols())
        undefined = {name for name, defined, _ in symbols if not defined}
        assert undefined <= allowed, f"v{arch} needs {sorted(undefined - allowed)}"
        used |= undefined
        exported = {name for name, defined, visible in symbols if defined and visible}
        assert exported == {"npu_htp_skel_handle_invoke"}, f"v{arch} exports {sorted(exported)}"
    assert used == allowed, f"listed but not used: {sorted(allowed - used)}"


main()
