"""The command line from outside: exit codes and one-line messages for every kind of wrong use, and what commands print.

  python tests/cli.py
"""
import json
import os
import pathlib
import platform
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

from npu_test import NPU, shared

CASE = shared("refs/a/type-q4_0")
MODEL = str(CASE / "model.gguf")
SHORT = str(pathlib.Path(__file__).parent / "cli.cmake")  # a text of a few tokens
FAILED = 0


def expect(code, *args, says="", out=None, stdin=b""):
    """Runs npu; the exit code and a part of the one line on stderr must be as given."""
    global FAILED
    args = [a if isinstance(a, bytes) else str(a) for a in args]
    done = subprocess.run([NPU, *args], capture_output=True, timeout=60, input=stdin)
    err = done.stderr.decode(errors="replace")
    lines = [line for line in err.splitlines() if "error:" in line]
    problem = None
    if done.returncode != code:
        problem = f"exit code {done.returncode}, expected {code}"
    elif code != 0 and len(lines) != 1:
        problem = f"{len(lines)} error lines, expected 1"
    elif says and says not in (lines[0] if code else err):
        problem = f"does not say {says!r}"
    elif code != 0 and done.stdout:
        problem = "printed something on stdout although it failed"
    elif out is not None and out not in done.stdout.decode(errors="replace"):
        problem = f"stdout does not hold {out!r}"
    if problem:
        FAILED += 1
        print(f"FAIL npu {' '.join(map(str, args))}: {problem}\n  {err.strip()}")
    return done.stdout


def usage():
    expect(2, "frobnicate", says="unknown command 'frobnicate'")
    expect(2, "run", "--no-such-flag", says="unknown flag --no-such-flag")
    expect(2, "run", "-m", MODEL, "--greedy", "3", says="npu run has no flag --greedy")
    expect(2, "run", "-m", MODEL, "--arch", "v73", says="npu run has no flag --arch")
    expect(2, "run", "-m", says="--model needs a value: FILE")
    expect(2, "run", "-p", "x", says="no model")
    expect(2, "run", "-m", MODEL, "-p", "x", "-f", "y", says="--prompt and --file contradict")
    expect(2, "run", "-m", MODEL, "--exact", "--fast", "-p", "x", says="--exact and --fast contradict")
    expect(2, "run", "-m", MODEL, "--exact", "--npu-target", "hexagon", "-p", "x", says="contradict")
    expect(2, "run", "-m", MODEL, "--device", "cpu", "--npu-target", "hexagon", "-p", "x", says="contradict")
    expect(2, "run", "-m", MODEL, "--device", "gpu", "-p", "x", says="--device: 'gpu' is none of auto|cpu|npu")
    expect(2, "run", "-m", MODEL, "--top-p", "1.5", "-p", "x", says="--top-p: '1.5' is not a number from 0 to 1")
    expect(2, "run", "-m", MODEL, "--temp", "nan", "-p", "x", says="--temp")
    expect(2, "run", "-m", MODEL, "-n", "-1", "-p", "x", says="--max-tokens: '-1' is not a whole number")
    expect(2, "run", "-m", MODEL, "-n", "99999999999999999999", "-p", "x", says="--max-tokens")
    expect(2, "run", "-m", MODEL, "--ctx", "0", "-p", "x", says="--ctx")
    expect(2, "run", "-m", MODEL, "-p", "x", "--seed", "9223372036854775808", says="from 0 to 9223372036854775807")
    expect(2, "run", "-m", MODEL, "--raw=yes", "-p", "x", says="--raw takes no value")
    expect(2, "run", "-m", MODEL, "--raw", "--system", "x", "-p", "x", says="--raw and --system contradict")
    expect(2, "run", "-m", MODEL, "--raw", "--template", "x", "-p", "x", says="--raw and --template contradict")
    for args, says in (
            (["--mirostat", "3"], "--mirostat has no effect at temperature 0"),
            (["--mirostat", "3", "--temp", "1", "--top-k", "5"], "--mirostat and --top-k contradict"),
            (["--mirostat-rate", "1"], "--mirostat-rate has no effect"),
            (["--penalty-window", "8"], "--penalty-window has no effect"),
            (["--temp", "1", "--top-p", "0.5", "--samplers", "top-k,temp"], "--top-p has no effect"),
            (["--repeat-penalty", "-1"], "--repeat-penalty: '-1' is not a number from 0 to 10000"),
            (["--typical", "2"], "--typical"), (["--logit-bias", "5"], "--logit-bias: '5' is not"),
            (["--logit-bias", "5:x"], "--logit-bias"), (["--logit-bias", "5:1,"], "--logit-bias")):
        expect(2, "run", "-m", MODEL, "-p", "x", *args, says=says)
    expect(2, "chat-template", "-m", MODEL, says="--messages FILE")
    expect(2, "info", says="npu info needs FILE")
    expect(2, "info", MODEL, MODEL, says="one operand too many")
    expect(2, "run", MODEL, says="one operand too many (a model is given with --model FILE)")
    expect(2, "run", "-m", MODEL, "x", says="'x' is one operand too many")
    expect(2, "help", "frobnicate", says="unknown command 'frobnicate'")
    for command in ("run", "gate"):
        if expect(0, "help", command, out=f"npu {command} ") != expect(0, command, "--help"):
            raise SystemExit(f"npu help {command} and npu {command} --help differ")
    expect(2, "logits", "-m", MODEL, "--ids", "1,x", "-o", "/dev/null", says="is not a token id")
    expect(2, "logits", "-m", MODEL, "--ids", "-5", "-o", "/dev/null", says="is not a token id")
    expect(2, "logits", "-m", MODEL, "--ids", "", "-o", "/dev/null", says="no token id")
    expect(2, "logits", "-m", MODEL, "--ids", "1", says="--output")
    expect(2, "run", "-m", MODEL, "-p", "x", "--emu", "seed=1", says="--emu seed=1 needs --npu-target")
    expect(2, "run", "-m", MODEL, "-p", "x", "--stop", b"\xa9", says="--stop: string 1 is not valid UTF-8")
    expect(2, "tokenize", "-m", MODEL, "--ids", "1", says="--ids needs --detokenize")
    expect(2, "run", "-m", MODEL, "-p", "x", "--stop", "a", "--stop", "", says="--stop: string 2 is empty")
    logits = ("logits", "-m", MODEL, "--ids", "1", "-o", "/dev/null")
    expect(2, *logits, "--cpu-level", "nonesuch", says="--cpu-level nonesuch: no such level (levels: ref, ")
    expect(2, *logits, "--kv", "q3_k", says="--kv: 'q3_k' is none of f16|f32|q8_0")
    expect(2, *logits, "--kv", "f1", says="--kv: 'f1' is none of f16|f32|q8_0")
    expect(2, "eval", "-m", MODEL, "--text", "x", "--against", "", says="--against: '' is none of exact|cpu")
    for ids, says in (("1,,2", "no token id after comma 1"), ("1, 2 ,", "no token id after comma 2"), (",1", "',1' is not")):
        expect(2, "logits", "-m", MODEL, "--ids", ids, "-o", "/dev/null", says=says)
    expect(0, "logits", "-m", MODEL, "--ids", " 1 , 2\n3 ", "-o", "/dev/null")
    for command, flag in (("run", "--model"), ("run", "--file"), ("run", "--template"), ("run", "--json-schema"),
                          ("run", "--trace"), ("run", "--plan"), ("run", "--kernels"),
                          ("run", "--driver"), ("run", "--cpu-level"), ("logits", "--output"), ("eval", "--text"),
                          ("chat-template", "--messages"), ("plan", "--arch"), ("plan", "--diff"), ("conform", "--op"),
                          ("conform", "--type")):
        expect(2, command, flag, "", says=f"{flag}: an empty value is no ")
        expect(2, command, f"{flag}=", says=f"{flag}: an empty value is no ")
    for command, *flag in (("run", "--model", "a", "-m", "b"), ("run", "-p", "a", "--prompt=b"), ("run", "--ctx", "9", "--ctx=9"),
                           ("run", "--temp=1", "--temp", "2"), ("run", "--device", "cpu", "--device", "npu"),
                           ("logits", "-o", "a", "-o", "a"), ("bench", "-r", "1", "--runs", "2")):
        expect(2, command, *flag, says="given more than once")
    expect(2, "info", "", says="operand 1 is empty")
    expect(2, "plan", "--diff", "a", "", says="operand 1 is empty")
    for flag in (["-m", MODEL], ["--prompt-tokens", "1"], ["--gen-tokens", "1"], ["--depth", "1"], ["--ctx", "9"],
                 ["--json-schema", "x"], ["--host-cost"], ["--plan", "x"], ["--no-fallback"], ["--prefill-rows", "1"],
                 ["--kv", "f32"], ["--exact"], ["--fast"], ["--profile"], ["--trace", "x"]):
        expect(2, "bench", "--ops", "gemv", *flag, says="has no effect with --ops")
        expect(2, "bench", "--repack", *flag, says="has no effect with --repack")
    expect(2, "bench", "--repack", "--npu-target", "hexagon", "--driver", "sim", says="--driver has no effect with --repack")
    expect(2, "bench", "--repack", "--ops", "gemv", says="contradict")
    expect(2, *logits, "--prefill-rows", "4097", says="--prefill-rows: '4097' is not a whole number from 1 to 4096")
    expect(0, *logits, "--prefill-rows", "4096")


def needs_npu():
    """What only an NPU heeds is refused where there is none, whatever the command."""
    for flag in (["--kernels", "/x"], ["--timeout", "1"], ["--no-fallback"]):
        for cpu in ([], ["--device", "cpu"], ["--exact"], ["--device", "auto"]):
            expect(2, "logits", "-m", MODEL, "--ids", "1", "-o", "/dev/null", *flag, *cpu, says=f"{flag[0]} has no effect")
    expect(2, "conform", "--timeout", "1", says="--timeout has no effect on the CPU")
    for cpu in (["--device", "cpu"], ["--exact"]):
        expect(2, "plan", "-m", MODEL, "--arch", "v73", *cpu, says="--arch has no effect on the CPU")
    for npu in ([], ["--device", "npu"], ["--npu-target", "hexagon"]):
        expect(0, "plan", "-m", MODEL, "--arch", "v73", *npu, out="Hexagon v73 (planned)")
    for flag in (["--kernels", "/x"], ["--timeout", "1"]):
        expect(2, "plan", "-m", MODEL, "--npu-target", "hexagon", "--driver", "sim", *flag, says=f"{flag[0]} has no effect")
    expect(2, "run", "-m", MODEL, "-p", "x", "--driver", "sim", says="--driver sim needs --npu-target")
    for command, flag in (("devices", "--profile"), ("plan", "--trace"), ("devices", "--kernels"), ("devices", "--device"),
                          ("conform", "--kv"), ("conform", "--plan"), ("conform", "--no-fallback"), ("conform", "--fast")):
        expect(2, command, flag, says=f"npu {command} has no flag {flag}")


def refusals():
    for command in ("run", "bench", "plan"):
        expect(3, command, "-m", "/no/such/model", "--npu-target", "nosuch",
               says="--npu-target nosuch: this build has no such target (compiled: ")
    expect(3, "run", "-m", MODEL, "--npu-target", "host", "-p", "x", says="--npu-target host: this build has no such target")
    expect(3, "run", "-m", MODEL, "--npu-target", "null", "-p", "x", says="--npu-target null: this build has no such target")
    expect(1, "run", "-m", "/no/such/model", "-p", "x", says="/no/such/model")
    expect(3, "logits", "-m", MODEL, "--ids", "320", "-o", "/dev/null", says="320")
    expect(3, "logits", "-m", MODEL, "--ids", "1,2,3,4,5", "--ctx", "3", "--greedy", "1", says="3")
    expect(3, "logits", "-m", MODEL, "--ids", "1,2", "--ctx", "3", "--greedy", "3", "-o", "/dev/null",
           says="2 tokens and 3 greedy ones need 4 positions, the context has 3")
    expect(0, "run", "-m", MODEL, "-p", "x", "--npu-target", "hexagon", "--driver", "sim", "--emu", "help")
    expect(0, "run", "-m", MODEL, "-p", "x", "--raw", "--time-limit", "0", says="answer 0 tokens; --time-limit reached]")
    expect(0, "run", "-m", MODEL, "-p", "xy", "--raw", "-n", "1", says="answer 1 token; --max-tokens reached]")
    expect(0, "run", "-m", MODEL, "-p", "xy", "--raw", "-n", "2", says="answer 2 tokens, ")
    missing = "neon" if platform.machine() == "x86_64" else "avx2"
    expect(3, "logits", "-m", MODEL, "--ids", "1", "--cpu-level", missing, "-o", "/dev/null", says="this machine lacks it")
    expect(3, "run", "-m", MODEL, "-p", "x", "--plan", "/", says="/ is a directory, not a plan [plan.directory]")
    expect(3, "run", "-m", MODEL, "-p", "x", "--system", "y", says="the model has no chat template [chat.none]")
    with tempfile.TemporaryDirectory() as d:
        messages = pathlib.Path(d) / "m.json"
        messages.write_text('[{"role": "user", "content": "x"}]')
        expect(3, "chat-template", "-m", MODEL, "--messages", messages, says="the model has no chat template [chat.none]")
    for command in ("run", "plan", "devices", "conform"):
        for where in ([], ["--npu-target", "hexagon"], ["--npu-target", "hexagon", "--driver", "sim"]):
            expect(0, command, "--emu", "help", *where, out="window ")
    expect(3, "run", "-m", MODEL, "-p", "x", "--samplers", "top-q", says="\"top-q\" is no step")
    expect(3, "run", "-m", MODEL, "-p", "x", "--logit-bias", "320:1", says="logit bias for token 320: there are 320")
    expect(1, "logits", "-m", MODEL, "--ids", "1", "-o", "/no/such/dir/x", says="/no/such/dir/x")
    expect(1, "logits", "-m", MODEL, "--ids", "@/no/such/ids", "-o", "/dev/null", says="/no/such/ids")


def limits():
    """What is over a limit is refused, by its size where that is enough."""
    with tempfile.TemporaryDirectory() as d:
        text, spaces = pathlib.Path(d) / "t", pathlib.Path(d) / "spaces"
        text.write_bytes(b"word " * 20_000_000)
        for raw in ([], ["--raw"]):
            expect(3, "run", "-m", MODEL, "--ctx", "64", "-f", text, *raw, says="the prompt has 100000000 bytes; the context")
        spaces.write_bytes(b" " * 2_000_000)
        expect(3, "run", "-m", MODEL, "--ctx", "64", "--raw", "-f", spaces, says="tokens, the context has room for 64 (--ctx)")
        messages, template = pathlib.Path(d) / "m.json", pathlib.Path(d) / "t.jinja"
        messages.write_text('[{"role": "user", "content": "x"}]')
        for source in ("{% for i in range(1000000000) %}x{% endfor %}", "{{ 'x' * 1000000000 }}", "x" * 17_000_000):
            template.write_text(source)
            expect(3, "chat-template", "-m", MODEL, "--messages", messages, "--template", template, says="[chat.limit]")


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
    assert len({line.index(word) for line in overview for word in ("answer or", "measure pre", "what a model", "prove that")
                if word in line}) == 1, overview
    if not any(row["usable"] for row in json.loads(expect(0, "devices", "--json")) if row["target"] != "host"):
        for target in ("hexagon: ", "xdna: "):
            expect(4, "run", "-m", MODEL, "-p", "x", "--device", "npu", says=target)
    for command in ("run", "bench", "logits", "tokenize", "chat-template", "eval", "info", "plan", "devices", "conform",
                    "gate"):
        expect(0, command, "--help", out=f"npu {command}")
    expect(0, "info", MODEL, out="general.architecture")
    facts = json.loads(expect(0, "info", MODEL, "--json"))
    assert facts["keys"]["general.architecture"] == "llama" and facts["tensors"], facts
    assert facts["keys"]["tokenizer.ggml.add_bos_token"] in ("true", "false"), facts
    assert any(row["target"] == "host" and row["usable"] for row in json.loads(expect(0, "devices", "--json")))


def figures():
    """--profile of every command that computes, and the plan's hash in logs and in every figure of bench."""
    bench = ("bench", "-m", MODEL, "--prompt-tokens", "4", "--gen-tokens", "2", "--ctx", "64")
    for command in (("run", "-m", MODEL, "--raw", "-p", "x", "-n", "2"), ("logits", "-m", MODEL, "--ids", "1", "-o", "/dev/null"),
                    ("eval", "-m", MODEL, "--text", SHORT, "--ctx", "64"), (*bench, "-r", "1"), (*bench, "--host-cost")):
        expect(0, *command, "--profile", says="head           mul_mat")
    for op in ("mul_mat", "rms_norm"):
        expect(0, "conform", "--op", op, "--cases", "4", "--profile", says=f" {op} ")
    expect(0, "plan", "-m", MODEL, "--profile", says="no op was run")
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
        expect(2, *cut, "--json-schema", schema, says="--json-mode and --json-schema contradict")
        schema.write_text('{"type": "string", "pattern": "a"}')
        expect(3, "run", "-m", MODEL, "-p", "x", "--json-schema", schema, says='keyword "pattern" is not supported')
        expect(1, "run", "-m", MODEL, "-p", "x", "--json-schema", "/no/such/file", says="/no/such/file")
        schema.write_text('{"type": "boolean"}')
        bench = json.loads(expect(0, "bench", "-m", MODEL, "--json-schema", schema, "--gen-tokens", "8", "--prompt-tokens",
                                  "4", "-r", "1", "--json"))
        assert bench["decode_tok_s"] > 0 and bench["plain_tok_s"] > 0 and bench["grammar_us_per_token"] > 0, bench


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


def failed_output():
    """A failed command leaves no partial file, and removes nothing that is not a file of its own."""
    with tempfile.TemporaryDirectory() as d:
        out, link = pathlib.Path(d) / "l.f32", pathlib.Path(d) / "link"
        link.symlink_to(d + "/target")
        for path in (out, link, "/dev/null"):
            expect(3, "logits", "-m", MODEL, "--ids", "320", "-o", path, says="320")
        assert not out.exists() and link.is_symlink()
        assert pathlib.Path("/dev/null").is_char_device()


def bad_files():
    """A file that lacks what it must hold is refused."""
    with tempfile.TemporaryDirectory() as d:
        bad = pathlib.Path(d) / "bad.gguf"
        bad.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 0))
        for command in ("run", "plan", "tokenize"):
            expect(3, command, "-m", bad, says="general.architecture is missing")
        for key in ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.tokens", "llama.block_count"):
            bad.write_bytes(pathlib.Path(MODEL).read_bytes().replace(key.encode(), key[:-1].encode() + b"_"))
            expect(3, "run", "-m", bad, "-p", "x", says=f"{key}")


def names():
    """Text that is not UTF-8, in a path or a key, never makes a JSON result empty."""
    with tempfile.TemporaryDirectory() as d:
        model, text = os.fsencode(d) + b"/m\xff.gguf", pathlib.Path(d) / "t"
        pathlib.Path(os.fsdecode(model)).write_bytes(pathlib.Path(MODEL).read_bytes())
        text.write_text("some words")
        bench = ("--prompt-tokens", "2", "--gen-tokens", "1", "-r", "1", "--json")
        assert json.loads(expect(0, "bench", "-m", model, *bench))["model"].endswith("m?.gguf")
        assert json.loads(expect(0, "info", model, "--json"))["file"].endswith("m?.gguf")
        assert json.loads(expect(0, "run", "--raw", "-m", model, "-p", b"\xff", "-n", "2", "--json"))["tokens"] == 2
        assert json.loads(expect(0, "eval", "-m", model, "--text", text, "--json"))["tokens"] > 1


def own_model():
    """No result is written over the model that it comes from."""
    with tempfile.TemporaryDirectory() as d:
        copy, link = pathlib.Path(d) / "m.gguf", pathlib.Path(d) / "link"
        copy.write_bytes(pathlib.Path(MODEL).read_bytes())
        link.symlink_to(copy)
        for path in (copy, link):
            expect(2, "logits", "-m", copy, "--ids", "1", "-o", path, says="is the model itself")
            expect(2, "plan", "-m", copy, "-o", path, says="is the model itself")
        assert copy.read_bytes() == pathlib.Path(MODEL).read_bytes()


def terminal():
    """On a terminal: a progress bar that stops nothing; Ctrl-C drops a line or an answer; a line that is too long for the
    context is refused and the talk goes on; Ctrl-D leaves."""
    child, fd = pty.fork()
    if not child:
        os.environ["TERM"] = "dumb"
        os.execv(NPU, [NPU, "run", "--raw", "-m", MODEL, "--ctx", "100", "-n", "3"])
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
                              ("caf\u00e9\n".encode(), b"max-tokens reached]", 2)):
        takes_keys()
        os.write(fd, keys)
        wait_for(what, times)
    takes_keys()
    os.write(fd, b"\x04")
    _, status = os.waitpid(child, 0)
    assert status == 0 and b"\x1b[K" in seen and seen.count(b"error") == 1, (status, seen)
    assert b"prompt token 0 of " in seen, seen


def main():
    usage()
    needs_npu()
    refusals()
    limits()
    plans()
    prints()
    figures()
    sampling()
    json_answers()
    logits()
    failed_output()
    bad_files()
    names()
    own_model()
    terminal()
    print(f"{FAILED} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
