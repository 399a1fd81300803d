"""OpenVINO GenAI's side of `make versus`. Not part of npu; scripts/peer-openvino makes the environment that it runs in.

    peer_openvino.py FILE THREADS

Loads the file once, which takes it seconds, and prints {"loaded": true} or {"refused": its reason}. Then each line of
standard input, "PROMPT GEN PARALLEL", is measured and answered by one line of JSON as `npu bench --json` gives it. All
settings are the engine's own but two: a prompt is computed in one piece, as in the pipeline that its documents recommend
for low latency, and no prompt's keys are kept for the next one, since all prompts here are the same.
"""
import json
import resource
import sys
import time

import numpy as np
import openvino as ov
import openvino_genai as genai

WORDS = "one two three four five six seven eight nine ten ".split()


def ask(pipe, inputs, tokens):
    start = time.monotonic()
    result = pipe.generate(inputs, max_new_tokens=tokens, ignore_eos=True)
    return time.monotonic() - start, result.perf_metrics


def measure(pipe, prompt, gen, parallel):
    out = {"prefill_tok_s": 0.0, "decode_tok_s": 0.0}
    if parallel > 1:  # texts, because ids are taken for one sequence only; about |prompt| tokens each
        texts = [" ".join(WORDS[(i + j) % len(WORDS)] for i in range(prompt)) for j in range(parallel)]
        first = ask(pipe, texts, 1)[0]
        out["decode_tok_s"] = parallel * gen / (ask(pipe, texts, gen + 1)[0] - first)
        return out
    ids = np.arange(prompt, dtype=np.int64) * 7919 % 30000 + 100
    _, metrics = ask(pipe, ov.Tensor(ids.reshape(1, prompt)), gen + 1)
    steps = metrics.raw_metrics.m_durations  # microseconds
    out["prefill_tok_s"] = prompt / (metrics.get_ttft().mean * 1e-3)
    out["decode_tok_s"] = len(steps) / (sum(steps) * 1e-6) if gen else 0.0
    return out


def main():
    scheduler = genai.SchedulerConfig()
    scheduler.max_num_batched_tokens = 1 << 20
    scheduler.enable_prefix_caching = False
    try:
        pipe = genai.LLMPipeline(sys.argv[1], "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=int(sys.argv[2]))
    except RuntimeError as error:
        print(json.dumps({"refused": str(error).strip().splitlines()[-1]}), flush=True)
        return
    ask(pipe, ov.Tensor(np.arange(100, 612, dtype=np.int64).reshape(1, 512)), 9)
    print(json.dumps({"loaded": True}), flush=True)
    for line in sys.stdin:
        out = measure(pipe, *map(int, line.split()))
        out["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(out), flush=True)


main()
