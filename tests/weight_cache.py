"""The weight cache through the program (docs/cache.md): a second start reads what the first one packed and computes the
same bytes; nothing that happens to the model, the folder or the process makes a run fail or use wrong weights.

  python tests/weight_cache.py host [START_TOOL] | hexagon
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from npu_test import NPU, model

DEVICE = {"host": ["--device", "cpu"], "hexagon": ["--npu-target", "hexagon", "--driver", "sim"]}[sys.argv[1]]
LAYOUT = {"host": "host strips", "hexagon": "hexagon images"}[sys.argv[1]]
TIMEOUT = 600


class Place:
    """A folder with a copy of the model and a cache of its own."""

    def __init__(self, root):
        self.root, self.cache, self.model = root, root / "cache", root / "model.gguf"
        shutil.copyfile(model("smollm2"), self.model)
        time.sleep(0.2)  # its times have settled
        self.env = {k: v for k, v in os.environ.items() if k != "NPU_NO_CACHE"}
        self.env["XDG_CACHE_HOME"] = str(self.cache)
        self.weights = self.cache / "npu/weights"

    def npu(self, *args, code=0, **kw):
        done = subprocess.run([NPU, *map(str, args)], capture_output=True, timeout=TIMEOUT, env=self.env, **kw)
        assert done.returncode == code, (args, done)
        return done

    def logits(self, *more, **kw):
        """The logits' bytes, and what the run said."""
        out = self.root / "logits"
        done = self.npu("logits", "-m", self.model, "--ids", "1,2,3", "-o", out, "--ctx", "64", *DEVICE, *more, **kw)
        return out.read_bytes(), done.stderr.decode()

    def images(self):
        return sorted(self.weights.glob("*.weights"))

    def figures(self, *more):
        done = self.npu("bench", "-m", self.model, "--prompt-tokens", "1", "--gen-tokens", "1", "-r", "1", "--json", *DEVICE,
                        *more)
        return json.loads(done.stdout)


def reads_and_packs(place):
    figures = place.figures()
    return figures["cached_bytes"], figures["packed_bytes"]


def packed_in(place):
    """Bytes of packed weights in each image, by its name: of each entry, as docs/cache.md has the format."""
    found = {}
    for path in place.images():
        with open(path, "rb") as f:
            head = f.read(224)
            n, = struct.unpack_from("<Q", head, 200)
            table = f.read(72 * n)
        found[path.name] = sum(struct.unpack_from("<Q", table, 72 * i + 48)[0] for i in range(n))
    return found


def starts_from_cache(place):
    """A start that reads what is there. How much it copies depends on the memory that is free at that moment; what it had
    to pack is what no image had before, which may be used in two places (embeddings)."""
    before = packed_in(place)
    cached, packed = reads_and_packs(place)
    after = packed_in(place)
    assert after.keys() == before.keys(), (before, after)
    new = sum(after.values()) - sum(before.values())
    assert cached > 0 and new <= packed <= 2 * new, (cached, packed, before, after)


def second_start(place, want):
    cached, packed = reads_and_packs(place)
    assert cached == 0 and packed > 16 << 20, packed
    kept, = packed_in(place).values()
    assert kept <= packed <= 2 * kept, (kept, packed)
    for _ in range(2):
        starts_from_cache(place)
        assert place.logits() == (want, "")
    figures = place.figures("--no-cache")
    assert (figures["cached_bytes"], figures["packed_bytes"]) == (0, 0), figures
    assert 0 < figures["open_s"] <= figures["first_token_s"], figures
    assert place.logits("--no-cache") == (want, "")


def reads_once(place):
    """A start reads what was kept once and no weights of the model (tests/start_tool.c): counted in bytes, not in time."""
    how = [] if list(place.weights.glob("*.known")) else ["hashed"]  # a file system that is not trusted
    done = subprocess.run([sys.argv[2], place.model, place.cache / "npu", *how], capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 0, done
    read, cached, packed = map(int, done.stdout.split())
    assert cached > 16 << 20 and packed == 0, done
    if read < 0:
        print("the system does not count what a process reads")
    else:
        assert cached <= read < cached + (1 << 20), done


def listed(place):
    done = json.loads(place.npu("cache", "ls", "--json").stdout)
    image, = done["images"]
    assert image["file"] == place.images()[0].name and image["model"] == "model.gguf", done
    assert image["layout"].startswith(LAYOUT) and image["usable"] and done["folder"] == str(place.weights), done
    assert image["bytes"] == done["bytes"] == place.images()[0].stat().st_size, done
    assert abs(image["last_use"] - time.time()) < 3600, done
    text = place.npu("cache", "ls").stdout.decode()
    assert "model.gguf" in text and LAYOUT in text and "1 file," in text, text


def changed_model(place, want):
    """One bit of a weight, with the old time of modification: other logits, those of packing; and back."""
    at, before = place.model.stat().st_size - 100_000, place.model.stat()
    with open(place.model, "r+b") as f:
        f.seek(at)
        byte = f.read(1)
        f.seek(at)
        f.write(bytes([byte[0] ^ 0x11]))
    os.utime(place.model, ns=(before.st_atime_ns, before.st_mtime_ns))
    other, _ = place.logits("--no-cache")
    assert place.logits()[0] == other and other != want
    time.sleep(0.2)
    assert place.logits()[0] == other
    assert place.logits()[0] == other
    assert len(place.images()) == 2
    with open(place.model, "r+b") as f:
        f.seek(at)
        f.write(byte)
    time.sleep(0.2)
    starts_from_cache(place)  # the first image is right again
    assert place.logits() == (want, "")


def bad_images(place, want):
    """Damage is said by name once, passed over, and mended."""
    place.npu("cache", "clean")
    reads_and_packs(place)
    image, = place.images()
    whole = image.read_bytes()

    def damaged(text, content=None):
        if content is not None:
            image.write_bytes(content)
        logits, said = place.logits()
        assert logits == want and said.count("warning") == 1 and image.name in said and text in said, said
        assert place.logits() == (want, ""), "not mended"
        assert image.is_file() and not image.is_symlink()
    damaged("another version", whole[:8] + b"\x63" + whole[9:])
    damaged("packed weights", whole[:-1000] + bytes([whole[-1000] ^ 1]) + whole[-999:])
    damaged("size", whole[:len(whole) // 2])
    image.unlink()
    image.symlink_to("/dev/zero")
    damaged("not a plain file")
    image.unlink()
    image.mkdir()
    (image / "x").mkdir()
    for _ in range(2):  # what can't be replaced is said each time
        logits, said = place.logits()
        assert logits == want and image.name in said and said.count("warning") == 1, said
    bad, = json.loads(place.npu("cache", "ls", "--json").stdout)["images"]
    assert not bad["usable"] and bad["why"], bad
    other = image.with_name("part-other")
    other.write_bytes(b"left")
    done = place.npu("cache", "clean", code=1)  # goes on, and names what it could not remove
    assert b"1 file removed" in done.stdout and not other.exists(), done
    said = done.stderr.decode()
    assert said.count("error") == 1 and str(image) in said and "not empty" in said, said
    left, = json.loads(place.npu("cache", "clean", "--json", code=1).stdout)["left"]
    assert left["file"] == image.name and left["why"], left
    (image / "x").rmdir()
    assert b"1 file removed" in place.npu("cache", "clean").stdout


def full_disk(place, want):
    """No room, by a limit and by a small file system where one can be mounted: one line, the same logits, no rest."""
    shutil.rmtree(place.weights, ignore_errors=True)
    limit = 80 << 20  # more than a buffer of the emulated device, which is a file too, and less than the image
    logits, said = place.logits(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert logits == want and said.count("warning") == 1 and "File too large" in said, said
    assert not [f for f in place.weights.iterdir() if f.suffix != ".known"]
    script = 'mount -t tmpfs -o size=20m tmpfs "$0" && exec "$@"'
    out = place.root / "full"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, place.weights, NPU, "logits", "-m", place.model, "--ids",
                           "1,2,3", "-o", out, "--ctx", "64", *DEVICE], capture_output=True, timeout=TIMEOUT, env=place.env)
    if b"mount" in done.stderr or b"unshare" in done.stderr:
        print("no small file system here:", done.stderr.decode().strip())
        return
    said = done.stderr.decode()
    assert done.returncode == 0 and out.read_bytes() == want, done
    assert said.count("warning") == 1 and "No space left" in said, said


def limits(place, want):
    shutil.rmtree(place.weights, ignore_errors=True)
    logits, said = place.logits("--cache-limit", "1000000")
    assert logits == want and "limit" in said and not place.images(), said
    for limit in ("10000000000", "0"):  # 0 is the default, as in the library
        shutil.rmtree(place.weights, ignore_errors=True)
        assert place.logits("--cache-limit", limit) == (want, "") and len(place.images()) == 1
    assert place.logits("--cache-limit", "1000000") == (want, "") and not place.images()  # of one that was only read
    place.npu("logits", "-m", place.model, "--ids", "1", "--no-cache", "--cache-limit", "5", *DEVICE, code=2)


def long_folder(place, want):
    """A path of the cache folder that no system takes is said, by a run once."""
    for length, why in ((3000, "File name too long"), (5000, "longer than the system's limit")):
        env = place.env | {"XDG_CACHE_HOME": "/" + "x" * length}
        out = place.root / "logits"
        done = subprocess.run([NPU, "logits", "-m", place.model, "--ids", "1,2,3", "-o", out, "--ctx", "64", *DEVICE],
                              capture_output=True, timeout=TIMEOUT, env=env)
        said = done.stderr.decode()
        assert done.returncode == 0 and out.read_bytes() == want and said.count("warning") == 1 and why in said, said
        done = subprocess.run([NPU, "cache", "ls"], capture_output=True, timeout=TIMEOUT, env=env)
        assert done.returncode == 1 and why in done.stderr.decode(), done


def killed(place, want):
    """A kill while an image is written leaves nothing under its name, or all of it."""
    for _ in range(2):
        shutil.rmtree(place.weights, ignore_errors=True)
        child = subprocess.Popen([NPU, "logits", "-m", place.model, "--ids", "1", "--ctx", "64", *DEVICE], env=place.env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + TIMEOUT
        while child.poll() is None and time.monotonic() < end and not list(place.weights.glob("part-*")):
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        parts = list(place.weights.glob("part-*"))
        listed = json.loads(place.npu("cache", "ls", "--json").stdout)["images"]
        assert len(parts) <= 1 and {p.name for p in parts} <= {i["file"] for i in listed}, (parts, listed)
        assert place.logits() == (want, "")
        assert len(place.images()) == 1 and not list(place.weights.glob("part-*"))


def two_at_once(place, want):
    shutil.rmtree(place.weights, ignore_errors=True)
    outs = [place.root / f"out{i}" for i in range(3)]
    children = [subprocess.Popen([NPU, "logits", "-m", place.model, "--ids", "1,2,3", "-o", out, "--ctx", "64", *DEVICE],
                                 env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for out in outs]
    for child, out in zip(children, outs, strict=True):
        said = child.communicate(timeout=TIMEOUT)[1]
        assert child.returncode == 0 and not said and out.read_bytes() == want, said
    assert len(place.images()) == 1
    starts_from_cache(place)


def cleaned(place):
    place.npu("cache", "clean", "other.gguf", code=1)
    place.npu("cache", code=2)
    place.npu("cache", "wipe", code=2)
    place.npu("cache", "ls", "x", code=2)
    done = json.loads(place.npu("cache", "clean", "model.gguf", "--json").stdout)
    assert done["removed"] == 1 and done["in_use"] == 0 and not place.images(), done
    assert b"0 files removed" in place.npu("cache", "clean").stdout
    assert not list(place.weights.iterdir())
    shutil.rmtree(place.cache)
    assert b"0 files," in place.npu("cache", "ls").stdout
    assert not place.cache.exists()


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Place(pathlib.Path(folder))
        want, _ = place.logits("--no-cache")
        assert not place.weights.exists()
        only_host = () if sys.argv[1] != "host" else (reads_once, bad_images, limits, long_folder, killed)  # the same code whatever packs
        for part in (second_start, listed, changed_model, *only_host, full_disk, two_at_once, cleaned):
            begin = time.monotonic()
            part(place, want) if part.__code__.co_argcount == 2 else part(place)
            print(f"ok {part.__name__} {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
