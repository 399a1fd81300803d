"""The chat templates that come with the peer, rendered as Python's jinja2 renders them: equal byte for byte.

    chat_templates.py TOOL      TOOL is tests/template_tool of the build

The templates are in the sdist that scripts/peer-llama --source unpacks; the expectations were made by chat_expect.py.
"""
import json
import lzma
import os
import pathlib
import subprocess
import sys

from npu_test import SOURCE, not_available

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import chat_expect  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "npu"
FOLDERS = sorted(CACHE.glob("peer-llama-*/llama_cpp_python-*/vendor/llama.cpp/models/templates"))
if not FOLDERS:
    not_available("the peer's chat templates (scripts/peer-llama --source)")
with lzma.open(SOURCE / "tests/data/chat_templates.json.xz", "rt", encoding="utf-8") as f:
    EXPECTED = json.load(f)
requests, wanted, names = [], [], []
for template, texts in EXPECTED.items():
    source = (FOLDERS[-1] / template).open(newline="").read()
    for (name, generate, variables), text in zip(chat_expect.cases(), texts, strict=True):
        requests.append(json.dumps({"template": source, "variables": variables}))
        wanted.append(text)
        names.append((template, name, generate))
run = subprocess.run([sys.argv[1]], input="\n".join(requests) + "\n", capture_output=True, text=True, timeout=200)
assert run.returncode == 0, run.stderr
answers = [json.loads(line) for line in run.stdout.split("\n") if line]
assert len(answers) == len(requests), run.stderr
bad = 0
for name, want, got in zip(names, wanted, answers):
    if got.get("text") != want:
        bad += 1
        print(name, "gives", got, "\n    not", want)
print(f"{len(requests) - bad} of {len(requests)} equal, {len(EXPECTED)} templates, {wanted.count(None)} refused")
sys.exit(bad != 0)
