"""The models of the fence protocol (fences.pml: devices that meet at barriers; fences_parts.pml: devices that follow each other)
have no error, and each of their mutants has one.

  python tests/fences/fences.py       two devices, three with a barrier a batch, three that follow each other, and in memory
                                      that is coherent; the full tier also three that meet twice
"""
import pathlib
import re
import subprocess
import tempfile

from npu_test import FULL, SOURCE, need

MUTANTS = {1: "the number is written before the status", 2: "the line is not cleaned", 3: "numbers compared without sign",
           4: "sleeps without looking again", 5: "a failure comes with the number before it",
           6: "the host does not stand in for a dead device", 7: "the next batch counts on from one number",
           8: "nobody is woken", 9: "a device that has failed goes on signalling",
           10: "what the host says in a device's place is not said again",
           11: "the host writes the two words of a line one after the other", 12: "a waiting device reads them so",
           13: "the owner writes the status, then the number, while the host writes too"}
ONLY = {9: "fences_parts", 10: "fences", 11: "fences", 12: "fences", 13: "fences"}  # in others there is nothing to break
COHERENT = {13}  # where the owner writes in its cache, the host's word is not between its stores


def check(model, name, *defines, optimize="-O1"):
    """How many errors Spin finds in all states there are. ctest's time-out is the only one."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["spin", "-a", *defines, SOURCE / "tests/fences" / f"{model}.pml"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["cc", optimize, "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], cwd=folder, check=True)
        done = subprocess.run([pathlib.Path(folder) / "pan", "-m1000000"], cwd=folder, capture_output=True, text=True)
    errors, states = re.search(r"errors: (\d+)", done.stdout), re.search(r"(\d+) states, stored", done.stdout)
    assert errors and states and "max search depth too small" not in done.stdout, done.stdout + done.stderr
    print(f"{model}, {name}: {states[1]} states, {errors[1]} errors", flush=True)
    return int(errors[1])


def main():
    need("spin")
    assert check("fences", "two devices") == 0
    assert check("fences", "two devices, coherent memory", "-DCOHERENT") == 0
    assert check("fences_parts", "two devices, three parts", "-DPARTS=3") == 0
    assert check("fences_parts", "two devices, three parts, coherent memory", "-DPARTS=3", "-DCOHERENT") == 0
    assert check("fences_parts", "three devices, two parts", "-DN=3", "-DBATCHES=2") == 0
    assert check("fences", "three devices, one barrier a batch", "-DN=3", "-DBATCHES=2", "-DBARRIERS=1", optimize="-O2") == 0
    if FULL:
        assert check("fences", "three devices, all is sent", "-DN=3", "-DBATCHES=2", "-DALL_SENT", optimize="-O2") == 0
    for mutant, what in MUTANTS.items():  # few states: compiling is what takes the time
        for model, sizes in (("fences", []), ("fences_parts", ["-DPARTS=3"])):
            if ONLY.get(mutant, model) == model:
                memory = ["-DCOHERENT"] if mutant in COHERENT else []
                assert check(model, what, f"-DMUTANT={mutant}", *memory, *sizes, optimize="-O0"), f"no error where {what}"


main()
