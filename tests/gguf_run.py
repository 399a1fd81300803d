"""The public trial files through the whole program: every file loads or is refused by name, and gives the right text.

  python tests/gguf_run.py
"""
import subprocess
import sys
import tempfile

from npu_test import NPU, shared

CASES = shared("trials/public/gguf_cases.py")
with tempfile.TemporaryDirectory() as d:
    subprocess.run([sys.executable, CASES, "gen", d], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([sys.executable, CASES, "run", d, "--time", "60", "--prompt", "The quick", "--", NPU, "run",
                           "--model", "{model}", "--raw", "--prompt", "The quick", "--max-tokens", "8", "--temp", "0"],
                          stdout=subprocess.PIPE, text=True)
LINES = done.stdout.splitlines()
print("\n".join(line for line in LINES if " pass " not in line))
sys.exit(done.returncode or not LINES[-1].startswith("169 passed"))
