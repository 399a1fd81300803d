"""--trace: the file, read with Perfetto's own protos.

  python tests/hexagon_trace.py host     only the CPU
  python tests/hexagon_trace.py sim      the emulated Hexagon; qemu the same
  python tests/hexagon_trace.py devices  two of them, by layers, by rows and by tensors
  python tests/hexagon_trace.py pipeline two of them by layers, of which every op takes long: they work at the same time

Spans nest on every track; the host's steps hold the batches; the NPU's op spans are the ops of the plan in their order
and, with what lies between, cover the batch's time; the parts of an op lie inside it; logits are those without a trace;
what has no room is counted, shown and said."""
import collections
import json
import pathlib
import platform
import sys
import tempfile
import zlib

from npu_test import need, run_npu, shared
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


class Sequence:
    """What packets of a sequence leave out, by Perfetto's rules: each text comes once, before or with its first use; the track
    and the clock are defaults; times count from the packet before."""

    def __init__(self):
        self.by_kind, self.track, self.time, self.snapshot = collections.defaultdict(dict), None, None, 0

    def take(self, packet):
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            self.by_kind.clear()
            clocks = {c.clock_id: c for c in packet.clock_snapshot.clocks}
            assert packet.clock_snapshot.primary_trace_clock == 3 and set(clocks) == {3, 64} and clocks[64].is_incremental
            assert packet.trace_packet_defaults.timestamp_clock_id == 64
            # A snapshot in which the trace's clock goes back is refused: times of the track would be wrong from there on.
            assert clocks[64].timestamp == clocks[3].timestamp >= self.snapshot
            self.time = self.snapshot = clocks[64].timestamp
            self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for kind, rows in packet.interned_data.ListFields():
            for row in rows:
                assert row.iid and row.iid not in self.by_kind[kind.name], "a number given twice"
                self.by_kind[kind.name][row.iid] = row.str.decode() if hasattr(row, "str") else row.name

    def notes(self, event):
        names, texts = self.by_kind["debug_annotation_names"], self.by_kind["debug_annotation_string_values"]
        return {names[n.name_iid]: texts[n.string_value_iid] if n.string_value_iid else n.int_value
                for n in event.debug_annotations}


class Span:
    def __init__(self, begin, event, parent, texts):
        self.begin, self.end, self.parent, self.children = begin, None, parent, []
        self.name = texts.by_kind["event_names"][event.name_iid]
        self.category = texts.by_kind["event_categories"][event.category_iids[0]]
        self.notes = texts.notes(event)

    def ns(self):
        return self.end - self.begin


def read(path):
    """{(group, track): [spans of the top]}, {track: spans that were dropped}. Asserts that spans nest."""
    trace = proto.Trace()
    trace.ParseFromString(path.read_bytes())
    pieces = [zlib.decompress(p.compressed_packets) if p.compressed_packets else proto.Trace(packet=[p]).SerializeToString()
              for p in trace.packet]  # a group of packets in place of one
    trace.ParseFromString(b"".join(pieces))
    groups, tracks, open_spans, dropped, last = {}, {}, collections.defaultdict(list), collections.Counter(), {}
    top, sequences, events = collections.defaultdict(list), collections.defaultdict(Sequence), 0
    for packet in trace.packet:
        texts = sequences[packet.trusted_packet_sequence_id]
        texts.take(packet)
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            if d.HasField("process"):
                groups[d.uuid] = d.process.process_name
            else:
                tracks[d.uuid] = (groups[d.parent_uuid], d.name)
            continue
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert packet.sequence_flags == packet.SEQ_NEEDS_INCREMENTAL_STATE
        texts.time += packet.timestamp
        events, time = events + 1, texts.time
        track, stack = tracks[texts.track], open_spans[texts.track]
        if event.type == event.TYPE_INSTANT:
            assert texts.by_kind["event_names"][event.name_iid] == "dropped"
            dropped[track] += texts.notes(event)["spans"]
            continue
        assert time >= last.get(track, 0), f"{track}: time goes back"
        last[track] = time
        if event.type == event.TYPE_SLICE_BEGIN:
            span = Span(time, event, stack[-1] if stack else None, texts)
            (stack[-1].children if stack else top[track]).append(span)
            stack.append(span)
        else:
            assert event.type == event.TYPE_SLICE_END and stack, f"{track}: an end without a begin"
            stack.pop().end = time
    assert not any(open_spans.values()), "spans without an end"
    assert trace.ByteSize() < 16384 + 30 * events and path.stat().st_size < 16384 + 7 * events, \
        f"{path.stat().st_size} bytes, of {trace.ByteSize()} without compression, for {events} events"
    return top, dropped


def named(spans, name):
    return [s for s in spans if s.name == name]


def walk(spans):
    for s in spans:
        yield s
        yield from walk(s.children)


# So many batches that one of them is not interrupted: how much of its time is covered is judged by the best.
GREEDY = 12


def check_host(top, steps, on_device):
    spans = top["npu", "host"]
    assert [s.name for s in spans] == ["step"] * steps, [s.name for s in spans]
    for step in spans:
        assert step.notes["rows"] >= 1
        work = [s for s in step.children if s.name != "sync"]
        assert work
        for s in work:
            assert [c.name for c in s.children] == ["submit", "wait"], s.name
            if on_device:
                assert s.name == "batch" and s.notes["ops"] > 10
            else:
                assert s.category == "op" and "->" in s.notes["shape"] and "role" in s.notes, s.notes
    best = max(sum(s.ns() for s in step.children) / step.ns() for step in spans)  # others were interrupted
    assert best >= 0.5, f"a step's parts cover {best} of its time"
    names = {s.name for s in walk(spans)}
    assert on_device or {"mul_mat", "rms_norm", "flash_attn", "rope"} <= names, names


def check_device(top, model_ops):
    host = [b for s in top["npu", "host"] for b in named(s.children, "batch")]
    (group,) = {g for g, _ in top} - {"npu"}
    assert "Hexagon v73" in group, group
    main = top[group, "main"]
    assert [s.name for s in main] == ["batch"] * len(host), [s.name for s in main]
    kinds, covered = collections.Counter(), []
    for out, batch in zip(host, main, strict=True):
        assert out.begin <= batch.begin <= batch.end <= out.end, "a batch is inside the host's"
        ops = [s for s in batch.children if s.category == "op"]
        assert [s.notes["op"] for s in ops] == list(range(out.notes["ops"])), "each op once, in order"
        assert len(ops) == model_ops
        covered.append(sum(s.ns() for s in batch.children) / batch.ns())
        for s in ops:
            assert "->" in s.notes["shape"] and "role" in s.notes, s.notes
            for inner in walk(s.children):
                assert inner.notes["op"] == s.notes["op"] and inner.notes["of"] == s.name
        kinds.update(s.name for s in walk([batch]))
        layers = [s.notes["layer"] for s in ops if "layer" in s.notes]
        assert layers == sorted(layers)
    for (_, track), spans in top.items():
        if track.startswith(("worker", "DMA")):
            kinds.update(s.name for s in walk(spans))
            for s in walk(spans):
                batch = next((b for b in main if b.begin <= s.begin and s.end <= b.end), None)
                assert batch, f"{track}: {s.name} outside of every batch"
                ops = [o for o in batch.children if o.category == "op" and o.notes["op"] == s.notes["op"]]
                assert ops[0].begin <= s.begin + 1000 and s.end <= ops[0].end + 1000, f"{track}: {s.name} outside its op"
    assert max(covered) >= 0.9, f"ops cover {covered} of their batches"  # others were interrupted
    wanted = {"batch", "work", "HVX_COMP", "DMA in", "DMA out", "DMA wait", "FENCE", "L2FLUSH", "map"}
    assert wanted <= set(kinds), f"no {wanted - set(kinds)} in {kinds}"
    assert any(t.startswith("worker") for _, t in top), "no worker's track"
    print(f"{len(host)} batches: {dict(kinds)}")


def check_refused(tmp, model, device):
    """What is refused, early or late, leaves the file of that name alone."""
    (tmp / "plan").write_text("{")
    (tmp / "long").write_text("word " * 100)
    before = (tmp / "trace").read_bytes()
    missing = "neon" if platform.machine() == "x86_64" else "avx2"
    for trace in (tmp / "trace", tmp / "absent"):
        for args in (["logits", "--ids", "1,99999999"], ["logits", "--ids", "1,2", "--plan", tmp / "plan"],
                     ["logits", "--ids", "1", "--kv", "q8_0", "--cpu-level", missing, "--ctx", "32"],
                     ["run", "--raw", "-f", tmp / "long", "--ctx", "8"], ["run", "-p", "x", "--system", "y"]):
            output = ["-o", tmp / "other"] if args[0] == "logits" else []
            done = run_npu(*args, "-m", model, "--trace", trace, *output, *device, check=False, text=True)
            assert done.returncode == 3 and done.stderr.count("error:") == 1, done
    assert (tmp / "trace").read_bytes() == before and not (tmp / "absent").exists()


def check_devices(tmp):
    """A group of tracks for each device, with the ops it ran; by rows and tensors every op is both's, by layers one's."""
    case = shared("refs/a/llama-tied-q4_1")
    ids = ",".join(map(str, json.loads((case / "ref.json").read_text())["prompt_ids"][:40]))
    for split in ("layer", "row", "tensor"):
        common = ["logits", "-m", str(case / "model.gguf"), "--ids", ids, "--greedy", "3", "--npu-target", "hexagon", "--driver", "sim",
                  "--npu-devices", "0:0,0:1", "--split", split]
        plain = run_npu(*common, "-o", str(tmp / "plain"), text=True)
        traced = run_npu(*common, "-o", str(tmp / "traced"), "--trace", str(tmp / "trace"), text=True)
        assert plain.stdout == traced.stdout and (tmp / "plain").read_bytes() == (tmp / "traced").read_bytes()
        top, dropped = read(tmp / "trace")
        assert not dropped, dropped
        groups = sorted({g for g, _ in top} - {"npu"})
        assert [g.split(", ")[-1] for g in groups] == ["NPU 0:0", "NPU 0:1"], groups
        layers = []
        for group in groups:
            spans = list(walk(top[group, "main"]))
            assert named(spans, "batch") and named(spans, "FENCE") and named(spans, "mul_mat"), (split, group)
            layers.append({s.notes["layer"] for s in spans if s.category == "op" and "layer" in s.notes})
        assert layers[0] and layers[1] and (layers[0] == layers[1]) == (split != "layer"), layers
        print(f"{split}: {[len(list(walk(top[g, 'main']))) for g in groups]} spans")


def check_pipeline(tmp):
    """A prompt goes through two devices in four parts of its rows: one computes part i while the other computes part i + 1. Every
    op sleeps, so that a part takes about half a second on each whatever else the machine does; one after the other they would take
    eight times that, and no part would lie beside another."""
    case, parts = shared("refs/a/llama-tied-q4_1"), 4
    slow = ";".join(f"dsp{domain}:op=delay:30000" for domain in (3, 11))
    run_npu("logits", "-m", case / "model.gguf", "--ids", ",".join(str(1 + i * 7 % 90) for i in range(16 * parts)), "-o", tmp / "out",
            "--npu-target", "hexagon", "--driver", "sim", "--npu-devices", "0:0,0:1", "--emu", f"fault={slow}", "--trace", tmp / "trace",
            timeout=300)
    top, _ = read(tmp / "trace")
    times = []
    for group in sorted({g for g, _ in top} - {"npu"}):
        ops = [[s for s in walk([batch]) if s.category == "op"] for batch in named(top[group, "main"], "batch")[:parts]]
        assert len(ops) == parts and all(len(o) >= 8 for o in ops), (group, [len(o) for o in ops])
        times.append([(o[0].begin, o[-1].end) for o in ops])
    longest = max(end - begin for device in times for begin, end in device)
    for i in range(parts - 1):
        (begin, end), (next_begin, next_end) = times[1][i], times[0][i + 1]
        assert min(end, next_end) - max(begin, next_begin) > 0.25 * (end - begin), (i, times)
    total = times[1][-1][1] - times[0][0][0]
    assert total < (parts + 1 + 1.5) * longest, (total, longest)
    print(f"{parts} parts: {total / 1e9:.2f} s, of which each takes up to {longest / 1e9:.2f} s on each of two devices")


def main():
    driver = sys.argv[1]
    if driver == "pipeline":
        with tempfile.TemporaryDirectory() as folder:
            check_pipeline(pathlib.Path(folder))
        return
    if driver == "devices":
        with tempfile.TemporaryDirectory() as folder:
            check_devices(pathlib.Path(folder))
        return
    if driver == "qemu":
        need("qemu-hexagon")
    device = [] if driver == "host" else ["--npu-target", "hexagon", "--driver", driver]
    case = shared("refs/a/type-q4_0")
    ids = json.loads((case / "ref.json").read_text())["prompt_ids"][:20]
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        common = ["logits", "-m", str(case / "model.gguf"), "--ids", ",".join(map(str, ids)), "--greedy", str(GREEDY),
                  *device]
        plain = run_npu(*common, "-o", str(tmp / "plain"), text=True)
        traced = run_npu(*common, "-o", str(tmp / "traced"), "--trace", str(tmp / "trace"), text=True)
        assert plain.stdout == traced.stdout
        assert (tmp / "plain").read_bytes() == (tmp / "traced").read_bytes(), "tracing changes logits"
        top, dropped = read(tmp / "trace")
        assert not dropped and "missing" not in traced.stderr, (dropped, traced.stderr)
        steps = len(top["npu", "host"])
        assert steps >= GREEDY, steps
        check_host(top, steps, bool(device))
        if device:
            plan = run_npu("plan", "-m", str(case / "model.gguf"), *device, "-o", str(tmp / "plan"), text=True)
            check_device(top, len(json.loads((tmp / "plan").read_text())["entries"]))
            assert plain.stderr == plan.stderr == ""
        bad = run_npu(*common, "-o", str(tmp / "other"), "--trace", str(tmp / "no/such/folder"), check=False, text=True)
        assert bad.returncode == 1 and "no/such/folder" in bad.stderr, bad
        check_refused(tmp, case / "model.gguf", device)


if __name__ == "__main__":
    main()
