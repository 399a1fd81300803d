"""The command line from outside: what commands print and write, and the conversation on a terminal. Wrong use: cli_usage.py;
files and names: cli_files.py.

  python tests/cli.py
"""
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time

from cli_expect import CASE, MODEL, expect, finish
from npu_test import NPU, SOURCE

SHORT = str(pathlib.Path(__file__).parent / "cli.cmake")  # a text of a few tokens


def plans():
    """A plan is obeyed on the CPU too: refused when it is for other settings."""
    with tempfile.TemporaryDirectory() as d:
        plan = pathlib.Path(d) / "plan.json"
        expect(0, "plan", "-m", MODEL, "--ctx", "64", "-o", plan)
        expect(0, "logits", "-m", MODEL, "--ids", "1", "--greedy", "1", "--ctx", "64", "--plan", plan)
        expect(3, "logits", "-m", MODEL, "--ids", "1", "--greedy", "1", "--ctx", "32", "--plan", plan, says="--ctx 64")
        plan.write_text(plan.read_text().replace('"N": ', '"N": 1', 1))
        expect(3, "logits", "-m", MODEL, "--ids", "1", "--greedy", "1", "--ctx", "64", "--plan", plan, says="hash")
    expect(1, "logits", "-m", MODEL, "--ids", "1", "--greedy", "1", "--plan", "/no/such/plan", says="/no/such/plan")


def prints():
    expect(0, "--version", out="npu ")
    expect(0, "--help", out="npu run")
    overview = expect(0, "--help").decode().splitlines()
    codes = [line.strip() for line in overview if re.match(r"  \d ", line)]
    assert len(codes) == 7 and ", ".join(codes) in " ".join((SOURCE / "README.md").read_text().split()), codes
    memory = ("logits", "-m", MODEL, "--ids", "1", "-o", "/dev/null", "--ctx", "2147483647")
    expect(1, *memory, says="[context.memory]")  # the host's, whatever computes
    expect(1, *memory, "--npu-target", "hexagon", "--driver", "sim", says="[context.memory]")
    assert len({line.index(word) for line in overview for word in ("answer or", "measure pre", "what a model", "prove that")
                if word in line}) == 1, overview
    if not any(row["usable"] for row in json.loads(expect(0, "devices", "--json")) if row["target"] != "host"):
        for target in ("hexagon: ", "xdna: "):
            expect(4, "run", "-m", MODEL, "-p", "x", "--device", "npu", says=target)
    for command in ("run", "bench", "logits", "tokenize", "chat-template", "eval", "info", "plan", "devices", "conform",
                    "gate", "cache"):
        expect(0, command, "--help", out=f"npu {command}")
    expect(0, "info", MODEL, out="general.architecture")
    facts = json.loads(expect(0, "info", MODEL, "--json"))
    assert facts["keys"]["general.architecture"] == "llama" and facts["tensors"], facts
    assert facts["keys"]["tokenizer.ggml.add_bos_token"] in ("true", "false"), facts
    assert any(row["target"] == "host" and row["usable"] for row in json.loads(expect(0, "devices", "--json")))


def progress():
    """What takes long says on a terminal how far it is, and only there."""
    eval_text = ("eval", "-m", MODEL, "--text", SHORT, "--against", "exact", "--ctx", "64")
    reader, writer = pty.openpty()
    done = subprocess.run([NPU, *map(str, eval_text)], stdout=subprocess.PIPE, stderr=writer)
    os.close(writer)
    told = b""
    try:
        while part := os.read(reader, 65536):
            told += part
    except OSError:  # a terminal that nobody writes to ends so
        pass
    os.close(reader)
    assert done.returncode == 0 and b"token 0 of " in told and told.endswith(b"\r\x1b[K"), (done, told)
    quiet = subprocess.run([NPU, *map(str, eval_text)], capture_output=True, check=True)
    assert b" of " not in quiet.stderr, quiet.stderr


def not_measured():
    """npu bench says nothing of what it did not measure: no line, null in JSON. What it asks for by itself is enough."""
    for rows in ([], ["--parallel", "3"]):
        prefill = {"prefill_tok_s", "prefill_multiply_adds_g_s"}
        decode = {"decode_tok_s", "decode_gb_s", "remapped_bytes_per_token", *(["single_tok_s"] if rows else [])}
        for prompt, gen, line, names in ((0, 4, "prefill ", prefill), (4, 0, "decode ", decode)):
            bench = ("bench", "-m", MODEL, "--prompt-tokens", prompt, "--gen-tokens", gen, "-r", "1", *rows)
            told = json.loads(expect(0, *bench, "--json"))
            assert {name for name, value in told.items() if value is None} == names, told
            lines = expect(0, *bench).decode()
            assert line not in lines and "nan" not in lines and " 0.0 tok/s" not in lines, lines
            assert ("sequences at once" in lines) == (bool(rows) and line == "prefill "), lines
    with tempfile.TemporaryDirectory() as d:
        schema = pathlib.Path(d) / "s.json"
        schema.write_text('{"type": "boolean"}')
        for words in (["--prompt-tokens", "0"], ["--depth", "3", "--prompt-tokens", "0"], ["--prompt-tokens", "2"]):
            expect(0, "bench", "-m", MODEL, *words, "--gen-tokens", "4", "--json-schema", schema, "-r", "1")


def figures():
    """--profile of every command that computes, and the plan's hash in logs and in every figure of bench."""
    bench = ("bench", "-m", MODEL, "--prompt-tokens", "4", "--gen-tokens", "2", "--ctx", "64")
    for command in (("run", "-m", MODEL, "--raw", "-p", "x", "-n", "2"), ("logits", "-m", MODEL, "--ids", "1", "-o", "/dev/null"),
                    ("eval", "-m", MODEL, "--text", SHORT, "--ctx", "64"), (*bench, "-r", "1"), (*bench, "--host-cost")):
        expect(0, *command, "--profile", says="head           mul_mat")
    told = expect(0, *bench, "--host-cost", "--device", "cpu").decode()
    assert "ops on the CPU" in told and "NPU" not in told, told
    for op in ("mul_mat", "rms_norm"):
        expect(0, "conform", "--op", op, "--cases", "4", "--profile", says=f" {op} ")
    expect(0, "plan", "-m", MODEL, "--profile", says="no op was run")
    refused = subprocess.run([NPU, "run", "-m", MODEL, "--raw", "-p", "a b c d", "--ctx", "2", "--profile"], capture_output=True)
    assert refused.returncode == 3 and b"no op was run" not in refused.stderr, refused
    expect(2, "gate", "compare", "/", "/", "--profile", says="--profile has no effect with npu gate compare")
    with tempfile.TemporaryDirectory() as d:
        plan = pathlib.Path(d) / "plan.json"
        expect(0, "plan", "-m", MODEL, "--ctx", "64", "-o", plan)
        hash = json.loads(plan.read_text())["hash"]
        assert len(hash) == 64
        expect(0, "logits", "-m", MODEL, "--ids", "1", "-o", "/dev/null", "--ctx", "64", "-v", says=f"by plan {hash}")
        schema = pathlib.Path(d) / "s.json"
        schema.write_text('{"type": "boolean"}')
        for extra in (["-r", "1"], ["--host-cost"], ["-r", "1", "--json-schema", schema]):
            assert json.loads(expect(0, *bench, *extra, "--json"))["plan"] == hash, extra
            lines = expect(0, *bench, *extra).decode().splitlines()
            assert all(f"plan {hash[:12]}" in line for line in lines if "tok/s" in line or "thread" in line and "CPU time" in line)
    one, two = (json.loads(expect(0, *bench, "-r", "1", "--json", "--parallel", n)) for n in "12")
    assert two["parallel"] == 2 and two["single_tok_s"]["median"] > 0 and "single_tok_s" not in one, two
    assert one["kv_bytes_per_token"] == two["kv_bytes_per_token"] > 0, (one, two)
    assert b"2 sequences at once:" in expect(0, *bench, "-r", "1", "--parallel", "2")
    not_measured()
    expect(2, *bench, "--host-cost", "--parallel", "2", says="--parallel and --host-cost contradict")
    expect(2, "bench", "-m", MODEL, "--parallel", "0", says="--parallel")
    roofline = json.loads(expect(0, "bench", "--roofline", "--json", "--threads", "2"))["rooflines"]
    assert [r["threads"] for r in roofline] == [1, 2] and all(r["read_gb_s"] > 0 for r in roofline), roofline
    assert all(k["multiply_adds_g_s"] > 0 for r in roofline for k in r["kernels"]), roofline
    assert b"\nread " in expect(0, "bench", "--roofline", "--threads", "1", "--cpu-level", "ref")
    expect(2, "bench", "--roofline", "-m", MODEL, says="--model has no effect with --roofline")
    expect(2, "bench", "--roofline", "--runs", "2", says="--runs has no effect with --roofline")
    expect(2, "bench", "--roofline", "--ops", "gemv", says="contradict")


def sampling():
    """Every sampling flag changes the text, or keeps it where it must."""
    def text(*args):
        return json.loads(expect(0, "run", "-m", MODEL, "--raw", "-p", "the", "-n", "24", "--json", *args))["text"]
    best, free = text(), text("--temp", "1.5", "--seed", "7")
    assert text("--temp", "1.5", "--seed", "7") == free != best
    assert text("--temp", "9", "--top-k", "1") == best == text("--samplers", "temp")
    for args in (["--typical", "0.2"], ["--mirostat", "1"], ["--mirostat", "1", "--mirostat-rate", "0.9"]):
        assert text("--temp", "1.5", "--seed", "7", *args) != free, args
    for args in (["--repeat-penalty", "3"], ["--presence-penalty", "9"], ["--frequency-penalty", "9"]):
        assert text(*args) != best, args
        assert text(*args, "--samplers", "penalties,temp") == text(*args), args
    first = expect(0, "logits", "-m", MODEL, "--ids", "1,2", "--greedy", "1").decode().strip()
    ids = ",".join(f"{i}:-inf" for i in range(320) if i != 65)
    assert len(set(text("--logit-bias", ids, "--logit-bias", "65:2"))) == 1 and first


def json_answers():
    with tempfile.TemporaryDirectory() as d:
        schema = pathlib.Path(d) / "s.json"
        schema.write_text('{"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}')
        for seed in "123":
            out = json.loads(expect(0, "run", "-m", MODEL, "--raw", "-p", "x", "--json-schema", schema, "--json", "-n", "60",
                                    "--temp", "1", "--seed", seed))
            assert out["cut"] or json.loads(out["text"])["n"] <= 9, out
        cut = ["run", "-m", MODEL, "--raw", "-p", "x", "--json-mode", "-n", "1"]
        assert json.loads(expect(0, *cut, "--json"))["cut"]
        expect(0, *cut, says="the JSON is cut off: --max-tokens reached")
        for kind in ('"minimum": 9007199254740992', '"minimum": 0'):  # not whole; whole, and more digits could come
            schema.write_text('{"type": "integer", %s}' % kind)
            number = ["run", "-m", MODEL, "--raw", "-p", "x", "-n", "1", "-q", "--json-schema", schema]
            expect(0, *number, says="the JSON is cut off: --max-tokens reached")
            assert json.loads(expect(0, *number, "--json"))["cut"]
        expect(2, *cut, "--json-schema", schema, says="--json-mode and --json-schema contradict")
        schema.write_text('{"type": "string", "pattern": "a"}')
        expect(3, "run", "-m", MODEL, "-p", "x", "--json-schema", schema, says='keyword "pattern" is not supported')
        expect(1, "run", "-m", MODEL, "-p", "x", "--json-schema", "/no/such/file", says="/no/such/file")
        schema.write_text('{"type": "boolean"}')
        bench = json.loads(expect(0, "bench", "-m", MODEL, "--json-schema", schema, "--gen-tokens", "8", "--prompt-tokens",
                                  "4", "-r", "1", "--json"))
        assert bench["decode_tok_s"] > 0 and bench["plain_tok_s"] > 0 and bench["grammar_us_per_token"] > 0, bench
        for rows in ([], ["--prompt-tokens", "0"], ["--prompt-tokens", "0", "--depth", "3"], ["--depth", "3"]):  # room for all
            expect(0, "bench", "-m", MODEL, "--json-schema", schema, "--gen-tokens", "3", "-r", "1", *rows, out="with the schema")


def logits():
    ref = json.loads((CASE / "ref.json").read_text())
    ids = ",".join(map(str, ref["prompt_ids"]))
    with tempfile.TemporaryDirectory() as d:
        out, id_file = pathlib.Path(d) / "l.f32", pathlib.Path(d) / "ids"
        id_file.write_text(ids.replace(",", "\n") + "\n")
        expect(0, "logits", "-m", MODEL, "--ids", ids, "-o", out)
        first = out.read_bytes()
        assert len(first) == 4 * ref["n_vocab"] * len(ref["prompt_ids"])
        expect(0, "logits", "-m", MODEL, "--ids", f"@{id_file}", "-o", out)
        assert out.read_bytes() == first
        line = expect(0, "logits", "-m", MODEL, "--ids", ids, "--exact", "--greedy", "24").decode()
        assert [int(x) for x in line.split(",")] == ref["greedy_ids"], line
        assert struct.unpack("<f", first[:4])[0] == struct.unpack("<f", first[:4])[0], "NaN"


def terminal(*mode):
    """On a terminal: a progress bar that stops nothing; Ctrl-C drops a line or an answer; a line that is too long for the
    context is refused and the talk goes on; /new forgets what was said, as a new process; Ctrl-D leaves."""
    child, fd = pty.fork()
    if not child:
        os.environ["TERM"] = "dumb"
        os.execv(NPU, [NPU, "run", *mode, "-m", MODEL, "--ctx", "100", "-n", "3", "--temp", "1", "--logit-bias", "316:-inf"])
    seen = b""

    def wait_for(what, times):
        nonlocal seen
        end = time.monotonic() + 60
        while seen.count(what) < times and time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                try:
                    seen += os.read(fd, 4096)
                except OSError:  # the program has ended
                    break
        assert seen.count(what) >= times, seen
    def takes_keys():
        """The prompt reads single keys; between prompts the terminal sends whole lines and signals."""
        end = time.monotonic() + 60
        while termios.tcgetattr(fd)[3] & termios.ICANON and time.monotonic() < end:
            time.sleep(0.01)
    wait_for(b"> ", 1)  # before that Ctrl-C ends the program
    for keys, what, times in ((b"dropped\x03", b"> ", 2), (b"kept\n", b"max-tokens reached]", 1), (b"\x03", b"> ", 4),
                              (b"QZXJ" * 50 + b"\n", b"[run.ctx_too_small]", 1), (b"\x03", b"> ", 6),
                              ("caf\u00e9\n".encode(), b"max-tokens reached]", 2), (b"/new\n", b"> ", 8),
                              (b"kept\n", b"max-tokens reached]", 3)):
        takes_keys()
        os.write(fd, keys)
        wait_for(what, times)
    takes_keys()
    os.write(fd, b"\x04")
    _, status = os.waitpid(child, 0)
    assert status == 0 and b"\x1b[K" in seen and seen.count(b"error") == 1, (status, seen)
    assert b"prompt token 0 of " in seen and seen.count(b"/new forgets") == 1, seen
    told = [re.search(rb"\[prompt (\d+ tokens)(, \d+ of them kept)?, ", part) for part in seen.split(b"max-tokens reached]")[:3]]
    texts = [part.split(b"kept\r\n")[-1].split(b"\r\n[prompt")[0] for part in seen.split(b"max-tokens reached]")]
    assert told[0][1] == told[2][1] and told[1][2] and not told[2][2] and texts[0] == texts[2], (told, texts, seen)


def main():
    plans()
    prints()
    figures()
    progress()
    sampling()
    json_answers()
    logits()
    terminal("--raw")
    with tempfile.TemporaryDirectory() as d:
        template = pathlib.Path(d) / "t"
        template.write_text("{% for m in messages %}{{ m.content }}/{% endfor %}")
        terminal("--template", template, "--system", "sys")
    finish()


if __name__ == "__main__":
    main()
