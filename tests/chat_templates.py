"""Chat templates rendered as Python's jinja2 renders them: equal byte for byte.

    chat_templates.py TOOL cases      the templates of jinja_cases.py, one part of the language each
    chat_templates.py TOOL            those that come with the peer (in the sdist that scripts/peer-llama --source unpacks)

TOOL is tests/template_tool of the build. The expectations were made by chat_expect.py.
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
import jinja_cases  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "npu"


def stored(name):
    with lzma.open(SOURCE / "tests/data" / name, "rt", encoding="utf-8") as f:
        return json.load(f)


def language():
    """(name, template, variables, text) of each case; None: refused."""
    texts = stored("jinja_cases.json.xz")
    for source, text in zip(jinja_cases.CASES, texts, strict=True):
        yield source, source, jinja_cases.VARIABLES, text
    for source in jinja_cases.REFUSED:
        yield source, source, jinja_cases.VARIABLES, None


def peers():
    folders = sorted(CACHE.glob("peer-llama-*/llama_cpp_python-*/vendor/llama.cpp/models/templates"))
    if not folders:
        not_available("the peer's chat templates (scripts/peer-llama --source)")
    for template, texts in stored("chat_templates.json.xz").items():
        source = (folders[-1] / template).open(newline="").read()
        for (name, generate, variables), text in zip(chat_expect.cases(), texts, strict=True):
            yield (template, name, generate), source, variables, text


def main(tool, cases):
    rows = list(cases)
    requests = "".join(json.dumps({"template": source, "variables": variables}) + "\n" for _, source, variables, _ in rows)
    run = subprocess.run([tool], input=requests, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    answers = [json.loads(line) for line in run.stdout.split("\n") if line]
    assert len(answers) == len(rows), run.stderr
    bad = 0
    for (name, _, _, want), got in zip(rows, answers, strict=True):
        if got.get("text") != want:
            bad += 1
            print(repr(name), "gives", got, "\n    not", repr(want))
    print(f"{len(rows) - bad} of {len(rows)} equal, {sum(r[3] is None for r in rows)} refused")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], language() if sys.argv[2:] == ["cases"] else peers()))
