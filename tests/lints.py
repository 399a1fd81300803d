"""Every lint fails for what it is there to find, and passes without: each rule of scripts/lint-tree by a file that breaks it,
the other lints by one finding each. The files stand in a repository of their own."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from npu_test import SOURCE

# A part of the rule's text: the file that breaks it, and with what.
TREE = {
    "white space at the end": ("docs/a.md", "text \n"),
    "tab": ("src/base/a.c", "\tint x;\n"),
    "leftover note": ("src/base/a.c", "// TO" "DO: later\n"),
    "wire, htp and base include only": ("htp/a.c", '#include "gguf/gguf.h"\n'),
    "emu includes no header of the project": ("emu/xdna/a.c", '#include "wire/op.h"\n'),
    "gguf, quant and target know no layer above": ("src/quant/a.c", '#include "model/model.h"\n'),
    "graph and plan know no layer above": ("src/plan/a.c", '#include "runtime/executor.h"\n'),
    "the weight cache knows no target": ("src/cache/a.c", '#include "target/target.h"\n'),
    "targets reach the weight cache through": ("src/target/host/a.c", '#include "cache/cache.h"\n'),
    "a graph knows no plan": ("src/graph/a.c", '#include "plan/plan.h"\n'),
    "src and htp share only wire": ("src/base/a.c", '#include "htp/htp.h"\n'),
    "the library names parameters": ("src/model/a.c", 'static const char text[] = "give --ctx";\n'),
    "JSON becomes text by npu_json_text": ("src/plan/a.c", "    char *text = json_dumps(root, 0);\n"),
    "the library knows no front end": ("src/model/a.c", '#include "cli/cli.h"\n'),
    "the library never exits": ("src/model/a.c", "    exit(1);\n"),
    "only main reads and changes the environment": ("src/model/a.c", '    getenv("HOME");\n'),
    "another version of SIMDe may have": ("tests/simde/a.h", "static inline int vaddq_s32(int a) { return a; }\n"),
}
OTHERS = {
    "lint-format": ("src/base/a.c", "int  x;\n"),
    "lint-python": ("scripts/a.py", "import os\n"),
}
KEPT = ("Makefile", "ruff.toml", ".clang-format", ".clang-tidy", "scripts")


def lint(root, name, *args):
    return subprocess.run([root / "scripts" / name, *args], cwd=root, capture_output=True, text=True)


def broken(root, name, file, text, *args):
    """What the lint prints and its exit status with |file| there; without it, it passes."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    subprocess.run(["git", "-C", root, "add", "-A"], check=True)
    done = lint(root, name, *args)
    path.unlink()
    subprocess.run(["git", "-C", root, "add", "-A"], check=True)
    return done


def tidy(root):
    """Of a build that has one file."""
    file = root / "src/base/a.c"
    (root / "build").mkdir()
    (root / "build/compile_commands.json").write_text(
        json.dumps([{"directory": str(root), "file": str(file), "command": f"cc -c {file}"}]))
    for text, status in (("int f(void);\nint f(void) { return *(int *)0; }\n", 1), ("int f(void);\nint f(void) { return 0; }\n", 0)):
        done = broken(root, "lint-tidy", "src/base/a.c", text, root / "build")
        assert done.returncode == status, (text, done.returncode, done.stdout, done.stderr)


def main():
    rules = re.findall(r'rule "(.+)"$', (SOURCE / "scripts/lint-tree").read_text(), re.M)
    assert len(rules) == len(TREE) and all(sum(part in r for r in rules) == 1 for part in TREE), (rules, "a rule needs its row")
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for kept in KEPT:
            (shutil.copytree if (SOURCE / kept).is_dir() else shutil.copy)(SOURCE / kept, root / kept)
        subprocess.run(["git", "-C", root, "init", "-q"], check=True)
        subprocess.run(["git", "-C", root, "add", "-A"], check=True)
        for lints in ("lint-tree", *OTHERS):
            done = lint(root, lints)
            assert done.returncode == 0, (lints, done.returncode, done.stdout, done.stderr)
        for part, (file, text) in TREE.items():
            done = broken(root, "lint-tree", file, text)
            assert done.returncode == 1 and part in done.stdout and file in done.stdout, (part, done.returncode, done.stdout)
        for lints, (file, text) in OTHERS.items():
            done = broken(root, lints, file, text)
            assert done.returncode not in (0, 77) and file in done.stdout, (lints, done.returncode, done.stdout, done.stderr)
        tidy(root)
    print(f"{len(TREE)} rules of the tree and {len(OTHERS) + 1} other lints fail for what they find")


main()
