"""Files and their names on the command line: what a failed command leaves behind, files that lack what they must hold, results
that would be written over what they come from, and names and texts of any bytes, which never speak to the terminal.

  python tests/cli_files.py
"""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

from cli_expect import MODEL, expect, finish
from npu_test import NPU


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
            expect(3, command, "-m", bad, stdin=b"x", says="general.architecture is missing")
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
        texts_of_models(pathlib.Path(d) / "texts.gguf", pathlib.Path(d) / "trace")


def texts_of_models(path, trace):
    """Any bytes in any text of a model's file: it is used, also where a plan, a trace and JSON tell the text, or the key
    is named."""
    sound = pathlib.Path(MODEL).read_bytes()

    def with_text(key, change):
        start = sound.index(key.encode()) + len(key) + 4  # after the key its type
        size = struct.unpack_from("<Q", sound, start)[0]
        text = change(sound[start + 8:start + 8 + size])
        path.write_bytes(sound[:start] + struct.pack("<Q", len(text)) + text + sound[start + 8 + size:])

    logits = ("logits", "-m", path, "--ids", "1", "--greedy", "1", "--trace", trace)
    for key in ("general.name", "general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"):
        with_text(key, lambda text: b"\xe4" + text[1:])
        if key == "general.name":
            expect(0, *logits, "--profile")
            assert json.loads(expect(0, "bench", "-m", path, "--prompt-tokens", "2", "--gen-tokens", "1", "-r", "1", "--json"))["plan"]
            expect(0, "run", "--raw", "-m", path, "-p", "x", "-n", "2", "--json")
            expect(0, "plan", "-m", path, out="?iny-a")
        else:
            expect(3, "run", "--raw", "-m", path, "-p", "x", says=key)
    # What does not fit is cut between characters, wherever the cut falls; 32 bytes keep the tensors' places.
    for lead in range(4):
        with_text("general.name", lambda text, lead=lead: text + b"a" * lead + "\N{grinning face}".encode() * 39 + b"a" * (4 - lead))
        expect(0, "plan", "-m", path, "-o", f"{path}.json")
        plan = json.loads(pathlib.Path(f"{path}.json").read_text())
        assert "\ufffd" not in plan["model"]["name"] and plan["model"]["name"].endswith("..."), plan["model"]


def escapes():
    """A name never speaks to the terminal: not a file's or folder's, nor one that a file holds, nor a word of the user."""
    with tempfile.TemporaryDirectory() as d:
        place = pathlib.Path(d) / "\x1b[31m\n\u009b\x7f"
        place.mkdir()
        model, plan, gate, text = (place / name for name in ("m\x1b\r.gguf", "p\t", "g\a", "t\b"))
        whole = pathlib.Path(MODEL).read_bytes()
        model.write_bytes(whole.replace(b"tiny-a-99", b"ti\x1b[1m-99").replace(b"general.file_type", b"general.fil\x1b\x9btype"))
        text.write_text("some words")
        env = {**os.environ, "XDG_CACHE_HOME": str(place)}
        on, absent = ["-m", model, "--ctx", "64"], place / "absent"
        sim, figures = ["--npu-target", "hexagon", "--driver", "sim"], ["--prompt-tokens", "2", "--gen-tokens", "1", "-r", "1"]
        works = (["info", model], ["info", model, "--json"], ["plan", *on], ["plan", *on, *sim], ["plan", *on, "-o", plan],
                 ["plan", *on, "--plan", plan, "--check"], ["plan", "--diff", plan, plan], ["bench", *on, *figures],
                 ["run", *on, "--raw", "-p", "x", "-n", "1", "--json", "-v"], ["logits", *on, "--ids", "1", "-o", place / "l"],
                 ["bench", *on, *figures, "--json"], ["eval", *on, "--text", text],
                 ["gate", "record", *on, "-n", "1", "-r", "1", "-o", gate], ["cache", "ls"], ["cache", "clean"])
        fails = (["info", absent], ["plan", "--diff", plan, model], ["run", *on, "-p", "x", "--json-schema", text],
                 ["run", *on, "-p", "x", "--trace", model], ["logits", *on, "--greedy", "1", "--ids", f"@{absent}"],
                 ["tokenize", *on[:2], "-f", absent], ["chat-template", *on[:2], "--messages", absent], ["gate", "check", absent],
                 ["cache", absent], ["run", "--\x1b[1m"], ["\x1b[1m"], ["devices", *sim, "--emu", f"driver={absent}"])
        for words in works + fails:
            done = subprocess.run([NPU, *map(str, words)], capture_output=True, timeout=60, env=env)
            told = (done.stdout + done.stderr).decode()  # UTF-8 too
            bad = [c for c in told if c != "\n" and (c < " " or "\x7f" <= c < "\xa0")]
            assert not bad and "[31m\n" not in told, (words, bad, told)
            assert (done.returncode == 0) == (words in works), (words, done)


def own_files():
    """No result is written over a file that it comes from, nor over another one."""
    with tempfile.TemporaryDirectory() as d:
        copy, link = pathlib.Path(d) / "m.gguf", pathlib.Path(d) / "link"
        copy.write_bytes(pathlib.Path(MODEL).read_bytes())
        link.symlink_to(copy)
        for path in (copy, link):
            expect(2, "logits", "-m", copy, "--ids", "1", "-o", path, says=f"--output {path} is what --model reads")
            expect(2, "plan", "-m", copy, "-o", path, says=f"--output {path} is what --model reads")
            expect(2, "run", "-m", copy, "-p", "x", "--trace", path, says=f"--trace {path} is what --model reads")
        mine = pathlib.Path(d) / "mine"
        mine.write_text("1,2")
        for args, flag in ((["run", "--raw", "-f", mine], "--file"), (["run", "-p", "x", "--template", mine], "--template"),
                           (["run", "-p", "x", "--plan", mine], "--plan"), (["eval", "--text", mine], "--text"),
                           (["run", "-p", "x", "--json-schema", mine], "--json-schema"),
                           (["logits", "--ids", f"@{mine}", "--greedy", "1"], "--ids")):
            expect(2, *args, "-m", copy, "--trace", mine, says=f"--trace {mine} is what {flag} reads")
        expect(2, "plan", "-m", copy, "--plan", mine, "-o", mine, says=f"--output {mine} is what --plan reads")
        expect(2, "logits", "-m", copy, "--ids", "1", "-o", mine, "--trace", mine, says="is what --output writes")
        expect(2, "logits", "-m", copy, "--ids", "1", "-o", f"{d}/new", "--trace", f"{d}/new", says="is what --output writes")
        assert mine.read_text() == "1,2" and not (pathlib.Path(d) / "new").exists()
        assert copy.read_bytes() == pathlib.Path(MODEL).read_bytes()


def main():
    failed_output()
    bad_files()
    names()
    escapes()
    own_files()
    finish()


if __name__ == "__main__":
    main()
