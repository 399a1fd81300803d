"""Conversations through the program: templates, what users type, history, plain continuation.

  python tests/chat_run.py
"""
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import time

from npu_test import NPU, run_npu, shared

MODEL = shared("refs/a/type-q4_0") / "model.gguf"
TEMPLATE = """{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{{ eos_token }}
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
SHORT = ["--temp", "0", "-n", "8", "--ctx", "400"]


def render(folder, data):
    (folder / "m.json").write_text(json.dumps(data))
    out = run_npu("chat-template", "-m", MODEL, "--template", folder / "t", "--messages", folder / "m.json", "--json")
    return json.loads(out.stdout)


def user(text):
    return {"role": "user", "content": text}


def names_of_special_tokens(folder):
    """They count where the template writes them, and not in what users type, not even in part."""
    facts = json.loads(run_npu("info", MODEL, "--json").stdout)["keys"]
    bos, eos = (int(facts[f"tokenizer.ggml.{x}_token_id"]) for x in ("bos", "eos"))
    plain = render(folder, [user("hello")])
    name = plain["text"].split("hello")[1].split("\n")[0]
    assert plain["ids"].count(bos) == 1 and plain["ids"].count(eos) == 1, plain
    typed = render(folder, [user(f"a{name}b"), {"role": "assistant", "content": name}])
    assert typed["text"].count(name) == 4 and typed["ids"].count(eos) == 2, typed
    (folder / "t").write_text("{{ messages[0].content }}" + name[1:] + name)
    half = render(folder, [user(name[0])])
    assert half["text"] == name + name and half["ids"].count(eos) == 1, half
    (folder / "t").write_text(TEMPLATE)
    assert plain["ids"] == [int(i) for i in run_npu("tokenize", "-m", MODEL, "-p", plain["text"]).stdout.split(b",")]


def variables(folder):
    (folder / "t").write_text("{{ messages | length }}{{ flag }}{{ add_generation_prompt }}{{ tools | tojson }}")
    data = {"messages": [user("x")], "flag": 7, "add_generation_prompt": False, "tools": [{"b": 1, "a": "\u00e9"}]}
    assert render(folder, data)["text"] == '17False[{"b": 1, "a": "\u00e9"}]'
    (folder / "t").write_text("ab\n{{ raise_exception('not ' ~ messages[0].role) }}")
    (folder / "m.json").write_text(json.dumps([user("x")]))
    done = run_npu("chat-template", "-m", MODEL, "--template", folder / "t", "--messages", folder / "m.json", check=False)
    assert done.returncode == 3 and b"not user" in done.stderr, done
    (folder / "m.json").write_text('{"message": []}')
    done = run_npu("chat-template", "-m", MODEL, "--template", folder / "t", "--messages", folder / "m.json", check=False)
    assert done.returncode == 3 and b"messages" in done.stderr, done
    (folder / "t").write_text(TEMPLATE)


def with_keys(folder, keys):
    """A copy of the model with string keys added; they take a multiple of 32 bytes, so that the tensors stay aligned."""
    data, added = MODEL.read_bytes(), b""
    assert not any(key.encode() in data[:1 << 20] for key in keys)
    for key, text in keys.items():
        size = len(key) + 20 + len(text)
        text += " " * (-size % 32)
        added += struct.pack("<Q", len(key)) + key.encode() + struct.pack("<IQ", 8, len(text)) + text.encode()
    count, = struct.unpack_from("<Q", data, 16)
    (folder / "named.gguf").write_bytes(data[:16] + struct.pack("<Q", count + len(keys)) + added + data[24:])
    return folder / "named.gguf"


def named_templates(folder):
    """A model's other templates: for tools when there are tools, any by its name, and none when one is given."""
    main, rag = "tokenizer.chat_template", "tokenizer.chat_template.rag"
    path = with_keys(folder, {main: "main {{ messages | length }}{# #}", main + ".tool_use": "tools {{ tools | length }}{# #}",
                              rag: "rag {{ documents[0].title }}{{ enable_thinking }}{# #}"})

    def out(data, *more, code=0):
        (folder / "m.json").write_text(json.dumps(data))
        done = run_npu("chat-template", "-m", path, "--messages", folder / "m.json", *more, check=False)
        assert done.returncode == code, done
        return (done.stderr if code else done.stdout).decode().rstrip()

    messages, tools = [user("x")], [{"type": "function", "function": {"name": "f"}}]
    assert out(messages) == "main 1"
    assert out({"messages": messages, "tools": None}) == "main 1"
    assert out({"messages": messages, "tools": tools}) == "tools 1"
    assert out({"messages": messages, "tools": tools, "chat_template": "default"}) == "main 1"
    assert out({"messages": messages, "documents": [{"title": "T"}], "enable_thinking": False, "chat_template": "rag"}) == "rag TFalse"
    assert "tokenizer.chat_template.nope" in out({"messages": messages, "chat_template": "nope"}, code=3)
    (folder / "t").write_text("given {{ tools | length }}")
    assert out({"messages": messages, "tools": tools}, "--template", folder / "t") == "given 1"
    out({"messages": messages, "chat_template": "rag"}, "--template", folder / "t", code=3)
    (folder / "t").write_text(TEMPLATE)


def one_answer(folder):
    """run with a template gives what --raw gives for the rendered prompt, special tokens of the template included."""
    prompt = render(folder, [{"role": "system", "content": "be brief"}, user("hello")])["text"]
    chat = run_npu("run", "-m", MODEL, "--template", folder / "t", "--system", "be brief", "-p", "hello", "--json", *SHORT)
    raw = run_npu("run", "-m", MODEL, "--raw", "-p", prompt, "--json", *SHORT)  # the model adds no begin token itself
    chat, raw = json.loads(chat.stdout), json.loads(raw.stdout)
    assert chat["text"].strip() == raw["text"].strip() and chat["prompt_tokens"] == raw["prompt_tokens"], (chat, raw)
    plain = subprocess.run([NPU, "run", "-m", MODEL, "-p", "hello", *SHORT], capture_output=True, timeout=60)
    assert plain.returncode == 0 and b"no chat template" in plain.stderr, plain.stderr
    done = run_npu("run", "-m", MODEL, "-p", "hello", "--system", "x", *SHORT, check=False)
    assert done.returncode == 3 and b"no chat template" in done.stderr, done


def talk(args, lines):
    """Types the lines on a terminal, each after the prompt; gives what was printed for each."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.execv(NPU, [str(NPU), "run", *map(str, args)])
    seen, answers = b"", []

    def until_prompt(typed=b""):
        nonlocal seen
        end = time.monotonic() + 60
        while typed not in seen or not seen.rstrip(b" ").endswith(b"\n>"):
            assert time.monotonic() < end and select.select([fd], [], [], 60)[0], seen
            seen += os.read(fd, 65536)
        text, seen = seen, b""
        return text.decode(errors="replace")

    until_prompt()
    for line in lines:
        os.write(fd, line.encode() + b"\n")
        answers.append(until_prompt(line.encode()))
    os.write(fd, b"\x04")
    os.close(fd)
    os.waitpid(pid, 0)
    return answers


def history(folder):
    """Later turns see the earlier ones, and compute only what is new."""
    answers = talk(["-m", MODEL, "--template", folder / "t", *SHORT], ["hello", "and you"])
    figures = [re.search(r"prompt (\d+) tokens(?:, (\d+) of them kept)?", a) for a in answers]
    assert all(figures), answers
    first, second = int(figures[0][1]), int(figures[1][1])
    assert figures[0][2] is None and second > first and int(figures[1][2] or 0) >= first, answers
    plain = talk(["-m", MODEL, "--raw", *SHORT], ["hello", "and you"])
    figure = re.search(r"prompt (\d+) tokens, (\d+) of them kept", plain[1])
    assert figure and int(figure[2]) > 8, plain


def main():
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        (folder / "t").write_text(TEMPLATE)
        for part in (names_of_special_tokens, variables, named_templates, one_answer, history):
            part(folder)
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
