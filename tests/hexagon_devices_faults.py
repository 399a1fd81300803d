"""One of several emulated Hexagons is killed, hangs or fails at a random point; then a sound request.

  python tests/hexagon_devices_faults.py TOOL RUNS
"""
import os
import random
import subprocess
import sys

from hexagon_devices import PLACES
from npu_test import FULL, shared

LATE = 10  # seconds that a loaded machine may be late

def domain(place):
    npu, session = map(int, place.split(":"))
    return 3 + npu + 8 * session

def attempt(tool, timeout, status, text, fault, places, split):
    path = shared("refs/a/gemma3-w16-q4_k_m") / "model.gguf"
    return subprocess.run([tool, path, "hexagon", "sim", str(timeout), status, text, "cdsps=2", fault, "--", "cdsps=2", "fault=off"],
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, "FAULTS_DEVICES": ",".join(places), "FAULTS_SPLIT": split})

def faults(tool, runs):
    """Each run: a fault of one device at a random point with a time-out of 0.2 s, in a process that then makes a sound
    request. The first may be late without a fault on a slow machine; it must end by name and soon."""
    seed = random.randrange(1 << 32) if FULL else 20261130
    rng = random.Random(seed)
    print(f"seed {seed}", flush=True)
    ended, splits = {}, ["layer", "row", "tensor"]
    alive = 'fault=dsp11:HAP_mmap@1+=code:0xffffffff'  # a device that can map nothing: it says so and stays
    for split in splits:
        done = attempt(tool, 60, "any", "", alive, PLACES[:2], split)
        assert done.returncode == 0 and done.stdout.split()[0] in ("internal", "no_memory"), (split, done)
    for point, split in [(p, s) for p in ("read", "write") for s in splits]:  # the host knows at once, and lets the other go
        fault = f"fault=dsp11:dspqueue_{point}@4=code:2"
        done = attempt(tool, 30, "device_lost", "queue failed", fault, PLACES[:2], split)
        assert done.returncode == 0, (point, split, done)
    for run in range(runs):
        n, split = rng.choice([2, 2, 3, 4]), splits[run % 3]
        dead = rng.randrange(n)
        point = rng.choice(["op", "op", "fence", "dma", "dspqueue_read", "dspqueue_write", "HAP_mmap"])
        action = rng.choice(["die", "hang", "exit"])
        if point == "HAP_mmap":
            action = rng.choice(["die", "hang", "code:0xffffffff"])
        if point == "dma":
            action = rng.choice(["die", "hang", "exit", "short", "code:7"])
        at = rng.randrange(1, {"op": 400, "fence": 24, "dma": 1500, "HAP_mmap": 6}.get(point, 16))
        fault = f"fault=dsp{domain(PLACES[dead])}:{point}@{at}={action}"
        limit = 0.2
        done = attempt(tool, limit, "any", "", fault, PLACES[:n], split)
        if done.returncode and f"within {limit} s" in done.stderr:  # a sound batch of a loaded machine, or one that hangs
            limit = 30
            done = attempt(tool, limit, "any", "", fault, PLACES[:n], split)
        assert done.returncode == 0, f"run {run}: {n} devices by {split}, {fault}: {done.stderr}"
        name, seconds, code = (done.stdout + " - -").split()[:3]
        if FULL:
            print(fault, n, split, done.stdout.strip(), flush=True)
        ended[split, name] = ended.get((split, name), 0) + 1
        assert float(seconds) < limit + LATE, f"run {run}: {fault}: a decode took {seconds} s, {code}"
    print(f"{runs} runs, the first requests ended with {ended}")
    met = {split for split, name in ended if name != "ok"}
    assert met == set(splits) or (met and runs < 60), f"of {splits} only {met} met a fault"

if __name__ == "__main__":
    faults(sys.argv[1], int(sys.argv[2]))
