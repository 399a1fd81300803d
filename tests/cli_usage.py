"""Wrong use of the command line: exit codes and one-line messages for flags that do not exist, contradict each other or are out of
range, for what only an NPU heeds, for files that are not there and for what is over a limit.

  python tests/cli_usage.py
"""
import itertools
import pathlib
import platform
import re
import subprocess
import tempfile

from cli_expect import MODEL, expect, finish
from npu_test import NPU, SOURCE



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
    for mode in ([], ["--raw"], ["--template", __file__]):  # from wherever it comes, and before the model is read
        for words, stdin in ((["-p", ""], b"x"), (["-f", "/dev/null"], b"x"), ([], b""), (["-f", "-"], b"")):
            expect(2, "run", "-m", "/no/such/model", *mode, *words, stdin=stdin, says="the prompt is empty")
    expect(2, "chat-template", "-m", MODEL, says="--messages FILE")
    expect(2, "info", says="npu info needs FILE")
    expect(2, "info", MODEL, MODEL, says="one operand too many")
    expect(2, "run", MODEL, says="one operand too many (a model is given with --model FILE)")
    expect(2, "run", "-m", MODEL, "x", says="'x' is one operand too many")
    expect(2, "help", "frobnicate", says="unknown command 'frobnicate'")
    for args in (["--version", "x"], ["help", "run", "x"], ["--help", "run", "x"]):
        expect(2, *args, says="'x' is one operand too many")
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
                 ["--kv", "f32"], ["--exact"], ["--fast"], ["--profile"], ["--trace", "x"],
                 ["--no-cache"], ["--cache-limit", "1"]):
        expect(2, "bench", "--ops", "gemv", *flag, says="has no effect with --ops")
        expect(2, "bench", "--repack", *flag, says="has no effect with --repack")
    expect(2, "bench", "--repack", "--npu-target", "hexagon", "--driver", "sim", says="--driver has no effect with --repack")
    expect(2, "bench", "--repack", "--ops", "gemv", says="contradict")
    for device in (["--device", "cpu"], ["--npu-target", "hexagon"], ["--npu-target", "hexagon", "--driver", "sim"]):
        expect(3, "bench", "--ops", "gemv", *device, says="[bench.ops_target]")  # or it would time copies of weights
    for words in (["--prompt-tokens", "0", "--gen-tokens", "0"], ["--prompt-tokens", "0", "--gen-tokens", "0", "--depth", "5"],
                  ["--json-schema", "x", "--gen-tokens", "0"], ["--host-cost", "--gen-tokens", "0"]):
        expect(2, "bench", "-m", "/no/such/model", *words, says="nothing to measure")
    depth, eight = ["--depth", "4000", "--ctx", "4096"], ["--parallel", "8", "--ctx", "32"]
    for words, needed in (([*depth, "--prompt-tokens", "64", "--gen-tokens", "64"], 4128), ([*depth, "--host-cost"], 4272),
                          ([*eight, "--prompt-tokens", "16", "--gen-tokens", "32"], 48), (["--ctx", "575"], 576),
                          (["--json-schema", "x", "--ctx", "4", "--prompt-tokens", "0", "--gen-tokens", "4"], 5)):
        expect(2, "bench", "-m", "/no/such/model", *words, says=f"(--ctx {needed})")
    for flag, value in itertools.product(("--temp", "--top-p", "--timeout", "--top-k", "--ctx", "--seed"),
                                         ("0x1", "0X1p0", " 1", "\t1", "+1", "1 ", "nan", "inf", "", "1d")):
        expect(2, "run", "-m", MODEL, flag, value, says=f"{flag}: '{value.replace(chr(9), '?')}' is not a ")
    expect(2, *logits, "--prefill-rows", "4097", says="--prefill-rows: '4097' is not a whole number from 1 to 4096")
    expect(0, *logits, "--prefill-rows", "4096")


def ranges():
    """--help tells the range of every number that has one in practice, in the words of the error."""
    told = set()
    for command in ("run", "bench", "conform", "gate", "eval"):
        for line in expect(0, command, "--help").decode().splitlines():
            at = re.match(r" +(?:-., )?(--[a-z-]+) (?:[A-Z]|BYTES) ", line)
            if not at:
                continue
            done = subprocess.run([NPU, command, at[1], "x"], capture_output=True, text=True)
            limits = re.search(r" from (\S+ to (\S+))$", done.stderr.strip())
            if limits and float(limits[2]) < 2**31 - 1:
                told.add(at[1])
                if not line.endswith(f"; {limits[1]}"):
                    raise SystemExit(f"{line!r} does not end in {limits[1]!r}")
    assert {"--threads", "--parallel", "--prefill-rows", "--temp", "--runs", "--cases"} <= told, told


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


def contradictions():
    """What a device, its driver and the emulated device's settings can't mean together: wrong use, said before the model, which is
    not there, is looked for; and that each is fine without the other."""
    hexagon, xdna, absent = ["--npu-target", "hexagon"], ["--npu-target", "xdna"], "/no/such/model"
    qemu, sim, emu = [*hexagon, "--driver", "qemu"], [*hexagon, "--driver", "sim"], [*xdna, "--driver", "emu"]
    folder = pathlib.Path(__file__).parent
    for says, *words in (
            ("--emu arch=v79: qemu runs programs up to v73; driver sim runs all", *qemu, "--emu", "arch=v79"),
            ("--emu strict=1: qemu is not strict; driver sim can be", *qemu, "--emu", "strict=1"),
            ("--emu preempt=20: qemu is not strict", *qemu, "--emu", "preempt=20"),
            ("--emu is for emulated drivers, not auto", *hexagon, "--emu", "seed=1"),
            ("--emu is for emulated drivers, not fastrpc", *hexagon, "--driver", "fastrpc", "--emu", "seed=1"),
            ("--emu is for the emulated driver, not auto", *xdna, "--emu", "seed=1"),
            ("--emu is for the emulated driver, not accel", *xdna, "--driver", "accel", "--emu", "seed=1"),
            ("--emu driver=qemu and --driver sim contradict", *sim, "--emu", "driver=qemu"),
            (f"--emu program=/x and --kernels {folder} contradict", *sim, "--kernels", folder, "--emu", "program=/x"),
            ("--emu seed=1 and --emu seed=2 contradict", *sim, "--emu", "seed=1", "--emu", "seed=2"),
            ("contradict each other: several rules are joined by ;", *sim, "--emu", "fault=off", "--emu", "fault=off"),
            ("--emu nosuch=1: no such key", *sim, "--emu", "nosuch=1"), ("--emu nosuch=1: no such key", *emu, "--emu", "nosuch=1"),
            ("--emu seed: not KEY=VALUE", *emu, "--emu", "seed"), ("--emu generation=x: ", *emu, "--emu", "generation=x"),
            ("--npu-devices \"0:9\": an item is", *sim, "--npu-devices", "0:9"),
            ("--split layer: a group in brackets", *sim, "--npu-devices", "[0:0,0:1]", "--split", "layer"),
            ("target xdna works on one device: it takes no --npu-devices", *emu, "--npu-devices", "0:0"),
            ("--device cpu and --driver contradict", "--device", "cpu", "--driver", "sim"),
            ("--device npu and --fast contradict", "--device", "npu", "--fast"),
            ("--fast and --driver contradict", *sim[2:], "--fast"),
            ("--exact and --driver contradict", *sim[2:], "--exact")):
        expect(2, "run", "-m", absent, "-p", "x", *words, says=says)
        expect(2, "logits", "-m", absent, "--ids", "1", "--greedy", "1", *words, says=says)
    for arch, says in (("v79", "--arch v79 and --driver qemu contradict each other: qemu runs programs up to v73"),
                       ("v73", "--emu arch=v69 and --arch v73 contradict each other")):
        expect(2, "plan", "-m", absent, *qemu, "--arch", arch, "--emu", "arch=v69", says=says)
    for words in ([*qemu, "--emu", "arch=v69"], [*sim, "--emu", "arch=v79"], [*sim, "--emu", "strict=1"], [*sim, "--emu", "seed=1"],
                  [*sim, "--emu", "driver=sim"], [*emu, "--emu", "seed=1"], [*sim, "--npu-devices", "[0:0,0:1]", "--split", "row"]):
        expect(1, "run", "-m", absent, "-p", "x", *words, says=f"{absent}: ")


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
    sim = ["--npu-target", "hexagon", "--driver", "sim"]
    for args in (["run", "-m", MODEL, "-p", "x"], ["logits", "-m", MODEL, "--ids", "1"], ["bench", "-m", MODEL], ["conform"], ["devices"]):
        expect(2, *args, *sim, "--emu", "quiet=1", "--emu", "idle=1", says="--emu idle=1: the device would not compute")
    expect(0, "devices", *sim, "--emu", "idle=0")
    for command in ("run", "plan", "devices", "conform"):
        for where in ([], ["--npu-target", "hexagon"], ["--npu-target", "hexagon", "--driver", "sim"]):
            expect(0, command, "--emu", "help", *where, out="window ")
    for more in ([], ["--temp", "1"]):
        expect(2, "run", "-m", MODEL, "-p", "x", "--samplers", "temp,top-q", *more, says="--samplers: \"top-q\" is no step (steps: pen")
        expect(2, "run", "-m", MODEL, "-p", "x", "--samplers", "temp,top-k,temp", *more, says="--samplers: \"temp\" is there twice")
    expect(2, "conform", "--op", "foo", says="no case of op foo (ops: ")
    expect(2, "conform", "--op", "foo", says="mul_mat, ")
    expect(2, "conform", "--op", "rms_norm", "--type", "q4_0", says="no case of op rms_norm and type q4_0 (its types: f32")
    expect(2, "conform", "--type", "foo", says="no op has a case of type foo")
    expect(2, "bench", "--ops", "list", says="--ops: takes gemv alone, not 'list'")
    with tempfile.TemporaryDirectory() as d:
        broken = pathlib.Path(d) / "broken.json"
        broken.write_text('{"type": ')
        expect(3, "run", "-m", MODEL, "-p", "x", "--json-schema", broken, says=f"{broken}: ")
        template = pathlib.Path(d) / "template"
        template.write_text("x")
        expect(3, "chat-template", "-m", MODEL, "--template", template, "--messages", broken, says=f"{broken}: ")
        expect(1, "gate", "check", d, says=f"{d}/gate.json: No such file or directory (npu gate record -m MODEL -o {d} ")
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


def parameters():
    """What the library's texts name in backticks are parameters of npu_context_params (or arch, which only the program
    sets), and each has a flag of that field, which the program prints in its place."""
    struct = re.search(r"typedef struct npu_context_params \{(.*?)\} npu_context_params;",
                       (SOURCE / "include/npu/context.h").read_text(), re.S)[1]
    fields = set(re.findall(r"CLI_OPTION\(\w+,\s+(\w+),", (SOURCE / "src/cli/options.def").read_text()))
    known = set(re.findall(r"\b(\w+);", re.sub(r"/\*.*?\*/", "", struct, flags=re.S))) | {"arch"}
    named = set()
    for path in (SOURCE / "src").rglob("*.[ch]"):
        if "cli" not in path.parts:
            named.update(*(re.findall("`([a-z_]+)`", text) for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', path.read_text())))
    assert len(named) >= 12 and named <= known, named - known
    assert named - {"n_seq"} <= fields, named - fields  # n_seq: no flag sets it alone, and the program's is never out of range


def main():
    parameters()
    usage()
    ranges()
    needs_npu()
    contradictions()
    refusals()
    limits()
    finish()


if __name__ == "__main__":
    main()
