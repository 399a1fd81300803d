"""The intrinsics that emu/hexagon/hvx defines, with their C prototypes, and the C program that exercises them.

Names come from our headers (a row or a function each), prototypes from the compiler's own headers, so a wrong signature
does not compile and an intrinsic cannot be added without being tested."""
import os
import re

ROW = re.compile(r"^(?:HVX_\w+|SLIDE\w*)\((Q6_\w+),", re.M)
COMPARE = re.compile(r"^COMPARE\w*\((\w+),", re.M)
FUNCTION = re.compile(r"^H(?:VX|EXAGON)_FN \w+ \*?(Q6_\w+)\(", re.M)
PROTOTYPE = re.compile(r"C Intrinsic Prototype:\s*(\w+) (Q6_\w+)\(([^)]*)\)", re.S)
# Hints without a result, and float instructions, which qemu-hexagon cannot run (hvx_float_test.c has their model).
HINTS = {"Q6_dcfetch_A", "Q6_l2fetch_AR", "Q6_l2fetch_AP"}
FLOAT = re.compile(r"sf|hf|qf32|qf16")


def names(folder):
    found = set()
    for file in sorted(os.listdir(folder)):
        text = open(os.path.join(folder, file)).read()
        found |= set(ROW.findall(text)) | set(FUNCTION.findall(text))
        found |= {"Q6_Q_vcmp_" + name for name in COMPARE.findall(text)}
    return found


def prototypes(include):
    """name -> (result type, [parameter types and names])"""
    found = {}
    for file in ("hexagon_protos.h", "hvx_hexagon_protos.h"):
        for result, name, args in PROTOTYPE.findall(open(os.path.join(include, file)).read()):
            args = [" ".join(a.split()) for a in args.split(",") if a.strip()]
            found[name] = (result, [tuple(a.rsplit(" ", 1)) for a in args])
    return found


def argument(kind, name, count):
    """C expression for one argument; |count| says how many of each kind were used."""
    n = count.get(kind, 0)
    count[kind] = n + 1
    if kind == "HVX_Vector":
        return f"in->v[{n}]"
    if kind == "HVX_VectorPair":
        return f"in->w[{n}]"
    if kind == "HVX_VectorPred":
        return f"Q6_Q_vand_VR(in->q[{n}], 0x01010101)"
    if kind == "Word64":
        return f"in->rr[{n}]"
    return f"in->r[{n}]"


def call(name, result, args):
    """The body of one test function."""
    count, exprs, before, after = {}, [], [], []
    constants = 1
    for kind, arg in args:
        if kind == "HVX_VectorPred*":
            before.append("HVX_VectorPred carry = Q6_Q_vand_VR(in->q[0], 0x01010101);")
            after.append("out->v[1] = Q6_V_vand_QR(carry, -1);")
            exprs.append("&carry")
        elif kind == "HVX_Vector*":
            before.append("out->v[0] = in->v[2];")
            exprs.append("&out->v[0]")
        elif arg.startswith("I"):
            constants = 1 << int(arg[-1])
            exprs.append("CONSTANT")
        else:
            exprs.append(argument(kind, arg, count))
    expr = f"{name}({', '.join(exprs)})"
    line = {
        "HVX_Vector": f"out->v[0] = {expr};",
        "HVX_VectorPair": f"out->w = {expr};",
        "HVX_VectorPred": f"out->v[0] = Q6_V_vand_QR({expr}, -1);",
        "Word32": f"out->r = {expr};",
        "Word64": f"out->rr = {expr};",
        "void": f"{expr};",
    }[result]
    if constants > 1:
        cases = " ".join(f"case {k}: {line.replace('CONSTANT', str(k))} break;" for k in range(constants))
        line = f"switch (in->r[1] & {constants - 1}) {{ {cases} }}"
    if not args:
        before.append("(void)in;")
    return " ".join(before + [line] + after)


def program(folder, include):
    """Text of the generated part of the test program."""
    known = prototypes(include)
    out = []
    table = sorted(n for n in names(folder) - HINTS if not FLOAT.search(n))
    for name in table:
        if name not in known:
            raise SystemExit(f"{name}: not an intrinsic of the compiler's headers")
        body = call(name, *known[name])
        out.append(f"static void run_{name}(const struct input *in, struct output *out) {{ {body} }}")
    out.append("static const struct test tests[] = {")
    out += [f'    {{"{name}", run_{name}}},' for name in table]
    out.append("};")
    return "\n".join(out) + "\n"
