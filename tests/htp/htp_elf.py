"""The real builds of the NPU program (scripts/htp-build) as the system of an NPU will load them: machine, architecture,
entry, position independence, and no name beyond htp/platform/names.txt."""
import struct
import subprocess
import sys

from npu_test import BUILD, FULL, SOURCE, not_available

ARCHES = ["68", "69", "73", "75", "79", "81"] if FULL else ["68", "73", "79"]
ENTRY = "npu_htp_skel_handle_invoke"
EM_HEXAGON, ET_DYN = 164, 3
PT_LOAD, PT_DYNAMIC, WRITABLE, EXECUTABLE = 1, 2, 2, 1
NEEDED, STRTAB, SYMTAB, RELA, RELASZ, TEXTREL, SONAME, FLAGS, JMPREL, PLTRELSZ = 1, 5, 6, 7, 8, 22, 14, 30, 23, 2
# What a loader must apply: absolute word, address of a name, entry of a call, own base. Others are not for shared objects.
RELOCATIONS = {6: "32", 33: "GLOB_DAT", 34: "JMP_SLOT", 35: "RELATIVE"}


class Elf:
    """Just what the dynamic loader reads."""

    def __init__(self, path):
        self.data = path.read_bytes()
        assert self.data[:6] == b"\x7fELF\x01\x01", "32-bit little-endian ELF"
        head = struct.unpack_from("<HHIIIIIHHH", self.data, 16)
        self.type, self.machine, self.flags = head[0], head[1], head[6]
        self.segments = [struct.unpack_from("<8I", self.data, head[4] + i * head[8]) for i in range(head[9])]
        (table,) = [s for s in self.segments if s[0] == PT_DYNAMIC]
        self.dynamic = list(struct.iter_unpack("<II", self.data[table[1] : table[1] + table[4]]))

    def tag(self, wanted):
        return next((value for tag, value in self.dynamic if tag == wanted), 0)

    def at(self, address):
        """The file's bytes from a virtual address on."""
        s = self.loaded_by(address)
        return s[1] + address - s[2]

    def loaded_by(self, address):
        return next(s for s in self.segments if s[0] == PT_LOAD and s[2] <= address < s[2] + s[5])

    def text(self, offset):
        start = self.at(self.tag(STRTAB)) + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def symbols(self):
        """(name, bind, defined) of the dynamic table, which lies right before another one: its names tell its end."""
        (count,) = struct.unpack_from("<4xI", self.data, self.at(self.tag(4)))  # DT_HASH: number of chains
        for i in range(1, count):
            name, _, _, info, _, section = struct.unpack_from("<IIIBBH", self.data, self.at(self.tag(SYMTAB)) + 16 * i)
            yield self.text(name), info >> 4, section != 0

    def relocations(self):
        for start, size in ((self.tag(RELA), self.tag(RELASZ)), (self.tag(JMPREL), self.tag(PLTRELSZ))):
            for i in range(0, size, 12):
                address, info, _ = struct.unpack_from("<IIi", self.data, self.at(start) + i)
                yield address, info & 0xFF


def platform_names():
    lines = (SOURCE / "htp/platform/names.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {row[0]: row[2:] == ["weak"] for row in rows}


def check(arch, elf):
    """Yields what is wrong."""
    names = platform_names()
    if (elf.machine, elf.type) != (EM_HEXAGON, ET_DYN):
        yield f"machine {elf.machine}, type {elf.type}: not a shared object for Hexagon"
    if elf.flags != int(arch, 16):
        yield f"made for architecture {elf.flags:x}"
    if elf.text(elf.tag(SONAME)) != f"libnpu-htp-v{arch}.so":
        yield "soname " + elf.text(elf.tag(SONAME))
    if elf.tag(NEEDED):
        yield "needs another library: " + elf.text(elf.tag(NEEDED))
    symbols = list(elf.symbols())
    exported = [name for name, _, defined in symbols if defined]
    if exported != [ENTRY]:
        yield "exports " + " ".join(exported)
    taken = {name: bind == 2 for name, bind, defined in symbols if not defined}
    for name, weak in taken.items():
        if name not in names:
            yield f"undefined: {name}, which is no name of htp/platform/names.txt"
        elif weak != names[name]:
            yield f"{name}: {'weak' if weak else 'not weak'}, against htp/platform/names.txt"
    yield from (f"{name}: in htp/platform/names.txt, but not used" for name in names if name not in taken)
    if elf.tag(TEXTREL) or elf.tag(FLAGS) & 4:
        yield "has text relocations"
    for address, kind in elf.relocations():
        if kind not in RELOCATIONS or not elf.loaded_by(address)[6] & WRITABLE:
            yield f"relocation of type {kind} at {address:x}"
    for s in elf.segments:
        if s[0] == PT_LOAD and s[6] & WRITABLE and s[6] & EXECUTABLE:
            yield "a segment is both writable and executable"


def main():
    try:
        import ziglang  # noqa: F401
    except ImportError:
        not_available("the ziglang package")
    out = BUILD / "htp"
    if subprocess.run([sys.executable, SOURCE / "scripts/htp-build", "--arch", ",".join(ARCHES), "--out", out]).returncode:
        return 1
    wrong = [f"v{a}: {w}" for a in ARCHES for w in check(a, Elf(out / f"libnpu-htp-v{a}.so"))]
    print("\n".join(wrong) or f"{len(ARCHES)} programs, {len(platform_names())} names of the platform each")
    return bool(wrong)


sys.exit(main())
