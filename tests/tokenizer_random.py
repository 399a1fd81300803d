"""Random strings through every tokenizer: the same ids as the peer gives.

    tokenizer_random.py TOOL         1 000 strings a tokenizer against tests/data/tokenizer_ids.json.xz; in the full tier
                                     20 000 others against the peer itself (scripts/peer-llama)
    tokenizer_random.py TOOL make    makes that file with the peer

TOOL is tests/tokenizer_tool of the build. The vocabularies are the peer's test files; pre-tokenizers without one of their own
are compared by giving another's vocabulary their name, on both sides: some in the quick tier, all that are known in the full
one. Every second string is encoded with special tokens. From a tokenizer that loses nothing (byte-level BPE, SentencePiece
with byte tokens) every string also comes back as it was; returned() says what "as it was" means for bytes that are not UTF-8.
"""
import concurrent.futures
import functools
import json
import lzma
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

from npu_test import FULL, SOURCE, not_available

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "npu"
DATA = SOURCE / "tests/data/tokenizer_ids.json.xz"
QUICK = {"qwen2": ["deepseek-v3", "smollm", "minicpm5", "hunyuan", "exaone4", "hunyuan-dense", "bloom", "seed-coder"],
         "llama-bpe": ["tekken", "gpt-4o", "llama3", "glm4", "llama4", "viking", "chatglm-bpe"]}
RAW = ("gemma4", "granite-embed-multi-311m", "sarvam-moe")  # no byte-level vocabulary has the symbols of these
SPECIAL = ["<s>", "</s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "[CLS]", "[SEP]",
           "<unk>", "<bos>", "<eos>", "<0x41>", "<|end|>", "<|user|>", "[INST]", "\u2581", "<mask>", "<|fim_prefix|>"]
WORDS = ["the", "The", "THE", "don't", "I'LL", "we've", "hello", "World", "x86_64", "3.14159", "1234567", "caf\u00e9", "stra\u00dfe",
         "\u0645\u0631\u062d\u0628\u0627", "\u4f60\u597d\u4e16\u754c", "\u3053\u3093\u306b\u3061\u306f", "\uc548\ub155", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u041f\u0440\u0438\u0432\u0435\u0442", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
         "\U0001F600\U0001F3FD", "\U0001F468\u200d\U0001F469", "#include", "foo_bar()", "camelCaseWord", "HTTPServer", "a\u0301e\u0308", "\u212b", "\ufb01"]
SPACES = [" ", " ", " ", "  ", "\n", "\r\n", "\t", "\n\n", "   ", " \n", "\u00a0", "\u3000", "\u2028", "\u0085", ""]


def character(r):
    kind = r.randrange(8)
    if kind < 2:
        return chr(r.randrange(0x20, 0x7F))
    if kind == 2:
        return chr(r.randrange(0x80, 0x3000))
    if kind == 3:
        return chr(r.choice([r.randrange(0x300, 0x370), r.randrange(0x4E00, 0xA000), r.randrange(0xAC00, 0xD7A4)]))
    if kind == 4:
        return chr(r.randrange(0xE000, 0x10000))
    if kind == 5:
        return chr(r.randrange(0x10000, 0x110000))
    if kind == 6:
        return chr(r.randrange(1, 0x20))
    return r.choice("0123456789.,;:!?'\"()[]{}<>/\\|@#$%^&*-_=+~`")


# Not UTF-8: lone and missing continuations, overlong forms, surrogates, bytes that never occur. Code points above U+10FFFF end
# the peer's process, so string() leaves them out.
BROKEN = [b"\x80", b"\xbf\xbf", b"\xc3", b"\xe4\xbd", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf",
          b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff\xff", b"\xc3(",
          b"\xe2\x82 ", b"\xf0\x9fa"]


def bytes_of(text):
    return text.encode("utf-8", "surrogatepass")


def split_by(r, special):
    """The name of a special token inside a word, whole or not quite."""
    word, name = r.choice(WORDS), r.choice(special)
    at, kind = r.randrange(len(word) + 1), r.randrange(4)
    if kind == 0:
        name = name[:r.randrange(len(name) + 1)]
    elif kind == 1:
        name += name[1:]
    return word[:at] + r.choice(SPACES[:6] + [""] * 6) + name + r.choice(SPACES + [""] * 9) + word[at:]


def string(seed, i, special):
    r = random.Random(seed * 1000003 + i)
    kind = r.randrange(14)
    if kind < 4:
        parts = [r.choice(WORDS) + r.choice(SPACES) for _ in range(r.randrange(1, 7))]
    elif kind < 6:
        parts = [character(r) for _ in range(r.randrange(1, 25))]
    elif kind < 8:
        parts = [r.choice([character(r), r.choice(WORDS), r.choice(SPACES), r.choice(special)]) for _ in range(r.randrange(1, 9))]
    elif kind == 8:
        parts = [character(r) * r.choice([2, 3, 4, 7, 16, 33])] + [r.choice(WORDS)]
    elif kind == 9:
        parts = [" " * r.randrange(9), r.choice(WORDS), "\n" * r.randrange(5), " " * r.randrange(6), r.choice(special), "1" * r.randrange(9)]
    elif kind == 10:
        parts = [split_by(r, special) for _ in range(r.randrange(1, 4))]
    elif kind == 11:  # marks on letters, digits, spaces and each other
        parts = [r.choice(["a", "Z", "5", " ", "\n", "\u0e01", "\u05d0", "\u4f60", ".", ""]) +
                 "".join(chr(r.choice([0x301, 0x308, 0x327, 0x345, 0x5B0, 0x64B, 0x93C, 0xE34, 0x1AB0, 0x20D0, 0x302A, 0xFE0F, 0x1D165, 0xE0100]))
                         for _ in range(r.randrange(4))) for _ in range(r.randrange(1, 9))]
    elif kind == 12:
        parts = [r.choice(["\r\n", "\r", "\n", "\n\r", "\0", "\x1b[0m", "\x7f", "\u200b", "\u202e", "\ufeff", "\u00ad", "\u2060", "\x0b", "\x0c", "\x85",
                           r.choice(WORDS), r.choice(SPACES)]) for _ in range(r.randrange(1, 12))]
    else:
        parts = [r.choice([r.choice(BROKEN), bytes([r.randrange(256)]), bytes_of(r.choice([character(r), r.choice(WORDS), r.choice(SPACES)]))])
                 for _ in range(r.randrange(1, 10))]
        return re.sub(rb"[\xf4-\xf7](?=[\x90-\xbf][\x80-\xbf]{2})|[\xf5-\xf7](?=[\x80-\xbf]{3})", b"?", b"".join(parts))
    if i % (5000 if seed != 1 else 250) == 7:
        return bytes_of(character(r)) * 10000
    return bytes_of("".join(parts))


@functools.cache
def tokens_of(path):
    """Names and types of the tokens in a file."""
    data, tokens, types = path.read_bytes(), [], ()
    at = data.index(b"tokenizer.ggml.tokens") + 21
    count, = struct.unpack_from("<Q", data, at + 8)
    at += 16
    for _ in range(count):
        size, = struct.unpack_from("<Q", data, at)
        tokens.append(data[at + 8:at + 8 + size])
        at += 8 + size
    if (at := data.find(b"tokenizer.ggml.token_type")) >= 0:
        types = struct.unpack_from(f"<{count}i", data, at + 25 + 16)
    return tokens, types


@functools.cache
def specials(path):
    """Names to try: those of common vocabularies, and some of the file's own control and user-defined tokens."""
    own = [t.decode() for t, kind in zip(*tokens_of(path), strict=True) if kind in (3, 4)]
    return SPECIAL + own[:: len(own) // 30 + 1]


def vocabulary(folder, models, name):
    """The file of a tokenizer; NAME@PRE is NAME's with another pre-tokenizer."""
    base, _, pre = name.partition("@")
    path = models / f"ggml-vocab-{base}.gguf"
    if not pre:
        return path
    data, key = path.read_bytes(), b"tokenizer.ggml.pre" + struct.pack("<I", 8)
    at = data.index(key) + len(key)
    old, = struct.unpack_from("<Q", data, at)
    made = folder / f"{base}-{pre}.gguf"
    made.write_bytes(data[:at] + struct.pack("<Q", len(pre)) + pre.encode() + data[at + 8 + old:])
    return made


def model_of(path):
    data = path.read_bytes()
    at = data.index(b"tokenizer.ggml.model") + 24
    size, = struct.unpack_from("<Q", data, at)
    return data[at + 8:at + 8 + size].decode()


def characters(text):
    """TEXT cut as the leading bytes announce it; a byte that begins no such character stands alone."""
    at = 0
    while at < len(text):
        size = 1 + (text[at] >= 0xC0) + (text[at] >= 0xE0) + (text[at] >= 0xF0)
        if any(b & 0xC0 != 0x80 for b in text[at + 1:at + size]) or len(text) - at < size or text[at] >= 0xF8:
            size = 1
        yield text[at:at + size]
        at += size


def whole(c):
    """A character's shortest form; surrogates are characters too, and bytes that are none are U+FFFD."""
    if len(c) == 1:
        return c if c[0] < 0x80 else "\ufffd".encode()
    code = c[0] & 0x7F >> len(c)
    for b in c[1:]:
        code = code << 6 | b & 0x3F
    return bytes_of(chr(code))


@functools.cache
def lacking(path):
    """The bytes that a byte-level vocabulary has no token for; they are lost."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in own]
    have = set(tokens_of(path)[0])
    return bytes([b for b in own if chr(b).encode() not in have] +
                 [b for i, b in enumerate(others) if chr(256 + i).encode() not in have])


def returned(model, path, text):
    """TEXT as it must come back, None where that is not known: SentencePiece takes a space for a part of a broken character."""
    if model == "gpt2":
        return b"".join(map(whole, characters(text))).translate(None, lacking(path))
    if model == "gemma4":
        text = b"".join(map(whole, characters(text)))
    text = text.replace("\u2581".encode(), b" ")
    broken = rb"[\xc0-\xdf] |[\xe0-\xef][^ ]? |[\xf0-\xff][^ ]{0,2} "
    return None if model == "llama" and re.search(broken, text) else text


def not_returned(name, path, strings, command):
    """The strings that decoding does not give back. (Special tokens may take spaces with them: none are parsed here.)"""
    model = model_of(path)
    if model not in ("gpt2", "llama", "gemma4") or name.partition("@")[2] in RAW:
        return []
    plain = strings[::2]
    back = ids(lambda path, special: command(path, special) + ["decode"], 0, path, plain)
    wanted = [returned(model, path, text) for text in plain]
    return [(t, line) for t, w, line in zip(plain, wanted, back, strict=True) if w is not None and bytes.fromhex(line) != w]


def ids(command, special, path, strings):
    data = b"".join(struct.pack("<I", len(s)) + s for s in strings)
    run = subprocess.run(command(path, special), input=data, capture_output=True, timeout=1500)
    lines = run.stdout.decode().split("\n")[:-1]
    assert run.returncode == 0 and len(lines) == len(strings), (path, run.stderr.decode(errors="replace")[-500:])
    return lines


def both(command, path, strings):
    out = [None] * len(strings)
    for special in (0, 1):
        out[special::2] = ids(command, special, path, strings[special::2])
    return out


def all_others():
    """Every other name in our table, each with the vocabulary of a tokenizer like it."""
    table = (SOURCE / "src/tokenizer/pretok_table.c").read_text()
    known = re.findall(r'^    {"([^"]+)", ', table[table.index("npu__pretok rows[]"):], re.M)
    return {"qwen2": [n for n in known if n not in QUICK["llama-bpe"]], "llama-bpe": QUICK["llama-bpe"]}


def peer_models():
    """The folder of the peer's vocabulary files."""
    folders = sorted(CACHE.glob("peer-llama-*/llama_cpp_python-*/vendor/llama.cpp/models"))
    return folders[-1] if folders else not_available("the peer's vocabulary files (scripts/peer-llama)")


def main(tool, make):
    models = peer_models()
    peer = models.parents[3] / "bin/peer"
    ours = lambda path, special: [tool, path] + ["special"] * special  # noqa: E731
    theirs = lambda path, special: [peer, "tokens", path, str(special)]  # noqa: E731
    names = [p.stem.removeprefix("ggml-vocab-") for p in sorted(models.glob("ggml-vocab-*.gguf"))]
    names += [f"{base}@{pre}" for base, pres in (QUICK if make or not FULL else all_others()).items() for pre in pres]
    with_peer = make or FULL
    if with_peer and not peer.exists():
        not_available("the peer (scripts/peer-llama)")
    kept = {} if make or not DATA.exists() else json.loads(lzma.decompress(DATA.read_bytes()))
    seed, count = (2, 20000) if FULL and not make else (1, 1000)
    with tempfile.TemporaryDirectory() as d:
        def one(name):
            path = vocabulary(pathlib.Path(d), models, name)
            special = specials(models / f"ggml-vocab-{name.partition('@')[0]}.gguf")
            strings = [string(seed, i, special) for i in range(count)]
            wanted = both(theirs, path, strings) if with_peer else kept.get(name)
            return name, strings, wanted, both(ours, path, strings), not_returned(name, path, strings, ours)
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, strings, wanted, got, lost in pool.map(one, names):
                bad = [i for i in range(count) if wanted is None or wanted[i] != got[i]]
                failed += bool(bad or lost)
                kept[name] = wanted
                for i in bad[:2]:
                    print(f"{name}: {len(bad)} of {count} differ: {strings[i]!r}\n  ours   {got[i][:300]}\n  theirs {wanted and wanted[i][:300]}", flush=True)
                for text, line in lost[:2]:
                    print(f"{name}: {len(lost)} not given back: {text!r} as {bytes.fromhex(line)!r}", flush=True)
    if make:
        DATA.write_bytes(lzma.compress(json.dumps(kept).encode(), preset=9))
    print(f"{len(names) - failed} of {len(names)} tokenizers agree on {count} strings each and lose nothing")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] == ["make"]))
