# SPDX-License-Identifier: MIT
"""inspect, units, audit, bench, spike, probe and synth: what they print adds up, and JSON has the fixed names."""

import json
import os
import resource
import re
import signal
import statistics
import struct
import subprocess
import tempfile
import time

import support
from support import DONE, FAILED, GEMMA, GOLDEN, INTERRUPTED, LLAMA, REFUSED, STRETTO, USAGE

CORES = len(os.sched_getaffinity(0))


class Inspect(support.CommandTest):
    def test_golden_models(self):
        for name in sorted(os.listdir(GOLDEN)):
            if not name.endswith(".gguf"):
                continue
            with self.subTest(name):
                model = os.path.join(GOLDEN, name)
                got = self.done_json("inspect", model, "--metadata", "--tensors")
                self.assertTrue(self.done("inspect", model, "--metadata", "--tensors"))
                self.assertEqual(got["file"]["bytes"], os.path.getsize(model))
                self.assertEqual(len(got["tensors"]), got["file"]["tensors"])
                self.assertEqual(sum(t["tensors"] for t in got["types"]), got["file"]["tensors"])
                self.assertEqual(sum(t["bytes"] for t in got["types"]), sum(t["bytes"] for t in got["tensors"]))
                if got["supported"]:
                    self.check_chunks(got)

    def test_text(self):
        for model in (GEMMA, os.path.join(GOLDEN, "tiny-gemma4-F32.gguf")):
            lines = self.done("inspect", model).decode().splitlines()
            self.assertLessEqual(max(map(len, lines[1:])), 80)  # the first is the path
            for line in lines:
                self.assertNotRegex(line, r"\b1 (heads|KV heads|layers)\b")
                self.assertNotRegex(line, r"layers (\d+)-\1\b")

    def check_chunks(self, got):
        chunks = got["chunks"]
        self.assertEqual([c["name"] for c in chunks], [str(i + 1) for i in range(len(chunks))])
        covered = [layer for c in chunks for layer in range(c["layers"][0], c["layers"][1] + 1)]
        self.assertEqual(covered, list(range(got["shapes"]["layers"])))
        self.assertEqual([c["head"] for c in chunks], [False] * (len(chunks) - 1) + [True])
        for c in chunks:
            self.assertGreater(c["bytes"], 0)
            self.assertGreater(c["operations"], 0)
            own = [
                layer
                for layer in range(c["layers"][0], c["layers"][1] + 1)
                if got["shapes"]["per_layer"][layer]["kv_layer"] == layer
            ]
            self.assertEqual(c["kv"]["owned"], own)

    def test_bytes_and_operations_of_a_known_model(self):
        got = self.done_json("inspect", LLAMA, "--chunks", "1")
        self.assertEqual(len(got["chunks"]), 1)
        tensors = self.done_json("inspect", LLAMA, "--tensors")["tensors"]
        weights = sum(
            t["bytes"] for t in tensors if t["name"] != "token_embd.weight" and t["name"] != "rope_freqs.weight"
        )
        if not any(t["name"] == "output.weight" for t in tensors):
            weights += next(t["bytes"] for t in tensors if t["name"] == "token_embd.weight")
        self.assertEqual(got["chunks"][0]["bytes"], weights)
        matrices = sum(
            t["bytes"] // 4
            for t in tensors
            if len(t["dims"]) == 2 and (t["name"] != "token_embd.weight" or got["shapes"]["tied_head"])
        )
        self.assertEqual(got["chunks"][0]["operations"], matrices)

    def test_borrowed_kv(self):
        got = self.done_json("inspect", os.path.join(GOLDEN, "tiny-gemma4-F32.gguf"), "--chunks", "0-5,6-8")
        if not got["supported"]:
            self.skipTest(got["reason"])
        self.assertEqual(got["chunks"][1]["kv"], {"owned": [], "borrowed": [4, 5], "bytes_per_position": 0})

    def test_boundaries_name_all_that_passes(self):
        chunks = self.done_json("inspect", os.path.join(GOLDEN, "tiny-gemma4-F32.gguf"))["chunks"]
        passing = [(chunk["inputs"], chunk["outputs"]) for chunk in chunks]
        self.assertEqual(
            passing,
            [
                (["ids"], ["hidden", "per_layer_inputs"]),
                (["hidden", "per_layer_inputs"], ["hidden", "per_layer_inputs", "kv4", "kv5"]),
                (["hidden", "per_layer_inputs", "kv4"], ["hidden", "per_layer_inputs"]),
                (["hidden", "per_layer_inputs", "kv5"], ["logits"]),
            ],
        )

    def test_metadata_are_shown_as_they_are_in_the_file(self):
        long = "z" * 300  # longer than any name that is used
        text = 'a "quoted" text'
        wanted = {"general.architecture": text, "small": -1, f"{long}.a": 1, f"{long}.b": 2}
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:

            def string(value):
                return struct.pack("<Q", len(value)) + value.encode()

            def number(kind, value):
                return struct.pack("<I", {"<Q": 10, "<q": 11}[kind]) + struct.pack(kind, value)

            file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(wanted) + 1))
            file.write(string("general.architecture") + struct.pack("<I", 8) + string(text))
            file.write(string("large") + number("<Q", 2**64 - 1) + string("small") + number("<q", -1))
            file.write(string(f"{long}.a") + number("<Q", 1) + string(f"{long}.b") + number("<Q", 2))
            file.write(bytes(64))
            file.flush()
            got = self.done_json("inspect", file.name, "--metadata")["metadata"]
            self.assertAlmostEqual(got.pop("large") / 2**64, 1, 9)  # a number that JSON has digits for, not bits
            self.assertEqual(got, wanted)
            shown = self.done("inspect", file.name, "--metadata").decode()
            self.assertIn(f"general.architecture = {json.dumps(text)}\n", shown)
            self.assertRegex(shown, r"large = 1\.84467\d*e19\n")

    def test_unknown_architecture_is_shown_all_the_same(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file, open(LLAMA, "rb") as original:
            file.write(original.read().replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0zebra", 1))
            file.flush()
            got = self.done_json("inspect", file.name)
            self.assertEqual((got["architecture"], got["supported"], got["chunks"]), ("zebra", False, []))
            self.assertIn("zebra", got["reason"])
            self.assertTrue(got["types"])
            self.assertIn(b"cannot be run", self.done("inspect", file.name))


class Units(support.CommandTest):
    def test_machine(self):
        got = self.done_json("units")
        self.assertEqual(sum(core["hardware_threads"] for core in got["cores"]), CORES)
        for known in [core["kind"] for core in got["cores"]] + [got["host"]["governor"]]:
            self.assertNotIn(known, (-1, ""))  # what the system does not tell is null
        self.assertEqual(len(got["units"]), 1)
        self.assertEqual(got["units"][0]["cores"], list(range(len(got["cores"]))))
        self.assertIn("scalar", got["kernels"]["usable"])
        self.assertIn(got["kernels"]["chosen"], got["kernels"]["usable"])
        self.assertIn(got["host"]["cpu"], self.done("units").decode())

    def test_kernels_can_be_masked(self):
        self.assertEqual(self.done_json("units", STRETTO_CPU="scalar")["kernels"]["chosen"], "scalar")

    def test_sets(self):
        if len(self.done_json("units")["cores"]) < 2:
            self.skipTest("one core")
        got = self.done_json("units", "--units", "cpu:0,cpu:1")["units"]
        self.assertEqual([unit["name"] for unit in got], ["cpu:0", "cpu:1"])
        self.assertEqual([unit["threads"] for unit in got], [1, 1])


class Audit(support.CommandTest):
    def test_numbers_add_up(self):
        got = self.done_json("audit", "-m", LLAMA, "-r", "9", "--depth", "20")
        chunks = got["chunks"]
        total = sum(c["ms"] for c in chunks)
        for c in chunks:
            self.assertEqual(len(c["samples_ns"]), 9)
            self.assertAlmostEqual(c["ms"], statistics.median(c["samples_ns"]) / 1e6, 6)
            self.assertAlmostEqual(c["share"], c["ms"] / got["step_ms"], 6)
            self.assertAlmostEqual(c["gb_per_s"] / (c["bytes"] / c["ms"] / 1e6), 1, 5)
            self.assertAlmostEqual(c["headroom_ms"], min(c["ms"], total - c["ms"]), 6)
            self.assertAlmostEqual(c["headroom"], c["headroom_ms"] / got["step_ms"], 6)
        self.assertGreaterEqual(got["staged_speedup"], 1)
        self.assertAlmostEqual(got["staged_speedup"], got["step_ms"] / max(c["ms"] for c in chunks), 5)
        inspected = self.done_json("inspect", LLAMA)["chunks"]
        for c, i in zip(chunks, inspected):
            self.assertEqual((c["name"], c["layers"], c["head"]), (i["name"], i["layers"], i["head"]))
            kv = c["bytes"] - i["bytes"]
            self.assertGreaterEqual(kv, 20 * i["kv"]["bytes_per_position"])
            self.assertLessEqual(kv, 40 * i["kv"]["bytes_per_position"])

    def test_text(self):
        text = self.done("audit", "-m", GEMMA, "-r", "2", "--chunks", "3").decode()
        rows = re.findall(r"^  \d +\d.* ([\d.]+) +([\d.]+) % .* ms +[\d.]+ %$", text, re.M)
        self.assertEqual(len(rows), 3)
        self.assertIn("headroom", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        step = float(re.search(r"step ([\d.]+) ms", text)[1])
        for ms, share in rows:
            self.assertAlmostEqual(float(share), 100 * float(ms) / step, delta=0.7)

    def test_one_chunk_has_no_headroom(self):
        self.assertEqual(self.done_json("audit", "-m", LLAMA, "-r", "2", "--chunks", "1")["chunks"][0]["headroom"], 0)

    def test_context_too_small(self):
        self.fails(REFUSED, "audit", "-m", LLAMA, "--ctx", "10", "-r", "20", says="context of 10")


class Bench(support.CommandTest):
    def test_rows_and_samples(self):
        got = self.done_json("bench", "-m", LLAMA, "-p", "8,16", "-n", "4", "-d", "0,32", "-r", "3", "--threads", "1")
        self.assertEqual([t["name"] for t in got["tests"]], ["pp8", "pp16", "pp8@d32", "pp16@d32", "tg4", "tg4@d32"])
        for t in got["tests"]:
            speed = t["tokens_per_s"]
            self.assertEqual(len(speed["samples"]), 3)
            self.assertAlmostEqual(speed["median"], statistics.median(speed["samples"]), 3)
            self.assertAlmostEqual(speed["min"], min(speed["samples"]), 3)
            self.assertAlmostEqual(speed["max"], max(speed["samples"]), 3)
            self.assertEqual(t["threads"], 1)
            for rate, ns in zip(speed["samples"], t["samples_ns"]):
                self.assertAlmostEqual(rate / (t["tokens"] / ns * 1e9), 1, 6)

    def test_forms(self):
        words = ["bench", "-m", LLAMA, "-p", "0", "-n", "3", "-r", "2", "--format"]
        self.assertEqual(len(json.loads(self.done(*words, "json"))["tests"]), 1)
        csv = self.done(*words, "csv").decode().splitlines()
        self.assertEqual(csv[0], "test,threads,tokens,depth,sample,ns,tokens_per_s")
        self.assertEqual([line.split(",")[0] for line in csv[1:]], ["tg3", "tg3"])
        self.assertRegex(self.done(*words, "md").decode(), r"\| tg3 \| \d+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \|")
        self.assertIn("| tokens/s, median | min | max |", self.done(*words, "md").decode())
        text = self.done(*words, "text").decode().splitlines()
        self.assertIn("tg3", text[-1])
        self.assertTrue(text[-2].endswith("  tokens/s: median         min         max"), text[-2])
        self.assertEqual(len(text[-1]), len(text[-2]))

    def test_nothing_to_measure(self):
        self.fails(USAGE, "bench", "-m", LLAMA, "-p", "0", "-n", "0,0", says=["-p", "-n"])

    def test_threads_list(self):
        if CORES < 2:
            self.skipTest("one core")
        got = self.done_json("bench", "-m", LLAMA, "-p", "4", "-n", "2", "-r", "1", "--threads", "1,2")["tests"]
        self.assertEqual([(t["name"], t["threads"]) for t in got], [("pp4", 1), ("tg2", 1), ("pp4", 2), ("tg2", 2)])

    def test_cost_of_the_model(self):
        got = self.done_json("bench", "-m", LLAMA, "-p", "4", "-n", "0", "-r", "1")
        self.assertGreater(got["load_ms"], 0)
        self.assertGreater(got["model"]["kv_bytes"], 0)

    def test_chunk_times(self):
        got = self.done_json("bench", "-m", LLAMA, "-p", "40", "-n", "4", "-r", "3", "--chunks", "2", "--threads", "1")
        for t in got["tests"]:
            self.assertEqual([c["chunk"] for c in t["chunks"]], [1, 2])
            for i, whole in enumerate(t["samples_ns"]):
                parts = [c["samples_ns"][i] for c in t["chunks"]]
                self.assertGreater(min(parts), 0)
                self.assertLessEqual(sum(parts), whole)
            for c in t["chunks"]:
                self.same_number(c["ms_per_token"], statistics.median(c["samples_ns"]) / t["tokens"] / 1e6)

    def test_roofline_as_text_has_no_ends_of_spaces(self):
        text = self.done("bench", "--roofline", "-m", LLAMA, "-p", "0", "-n", "2", "-r", "1", "--threads", "1").decode()
        self.assertIn("\n\n  kind ", text)
        self.assertNotIn("\n\n\n", text)
        self.assertNotIn(" \n", text)

    def test_roofline_of_a_model(self):
        words = ["bench", "--roofline", "-m", LLAMA, "-p", "8", "-n", "4", "-r", "2", "--chunks", "2", "--threads", "1"]
        got = self.done_json(*words)
        rows = got["roofline"]["rows"]
        kinds = [row["kind"] for row in rows]
        self.assertEqual(kinds[:3], ["peak"] * 3)
        for kind, least in (("kernel", 2), ("part", 5), ("chunk", 2), ("test", 2)):
            self.assertGreaterEqual(kinds.count(kind), least)
        dots = rows[1]["rate"]
        for row in rows[3:]:
            self.assertEqual(row["threads"], 1)
            self.assertGreater(row["ns"], 0)
            if row["kind"] in ("part", "chunk") or row["name"] == "tg4":
                self.assertEqual(row["per"], "GB/s")
            self.check_turns(row)
            if row["name"] == "pp8":
                self.assertAlmostEqual(row["share"] / (row["rate"] / dots), 1, 6)
        step = next(row for row in rows if row["name"] == "tg4")
        chunks = [row for row in rows if row["kind"] == "chunk"]
        self.assertLessEqual(sum(row["ns"] for row in chunks), 1.5 * step["ns"])
        self.check_share(got, step)
        for row in chunks:
            self.assertAlmostEqual(row["share"] / step["share"] / (row["rate"] / step["rate"]), 1, 6)

    def check_turns(self, row):
        """Kernels and parts are compared with what stands in turns with them, in medians."""
        if row["kind"] in ("kernel", "part"):
            self.assertGreater(row["share"] / (row["rate"] / row["plain_rate"]), 0.3)
            self.assertLess(row["share"] / (row["rate"] / row["plain_rate"]), 3)
        elif row["name"] == "tg4":
            self.assertGreater(row["plain_rate"], 0)
        else:
            self.assertEqual(row["plain_rate"], 0)

    def check_share(self, got, step):
        """A decode test is compared with plain reads before and after each repetition, a prompt's with none."""
        prompt, decode = got["tests"]
        self.assertEqual(prompt["plain_read_gb_per_s"], [])
        reads = decode["plain_read_gb_per_s"]
        self.assertEqual(len(reads), len(decode["samples_ns"]) + 1)
        token_bytes = step["rate"] * step["ns"]
        shares = [token_bytes * decode["tokens"] / ns / ((before + after) / 2)
                  for ns, before, after in zip(decode["samples_ns"], reads, reads[1:])]
        self.assertAlmostEqual(step["share"] / statistics.median(shares), 1, 6)
        self.same_number(step["plain_rate"], statistics.median(reads))

    def test_scaling(self):
        """Two threads over one, beside what the plain reads in turns with decoding gained."""
        if CORES < 2:
            self.skipTest("needs two cores")
        words = ["bench", "--roofline", "-m", LLAMA, "-p", "0", "-n", "4", "-r", "3", "--threads", "1,2"]
        rows = self.done_json(*words)["roofline"]["rows"]
        one, two = (row for row in rows if row["kind"] == "test")
        scaling = {row["name"]: row["rate"] for row in rows if row["kind"] == "scaling"}
        self.assertEqual(set(scaling), {name + ", over 1 thread" for name in
                                        ("memory read", "integer dots", "f32", "tg4", "read with tg4")})
        self.same_number(scaling["tg4, over 1 thread"], two["rate"] / one["rate"])
        self.same_number(scaling["read with tg4, over 1 thread"], two["plain_rate"] / one["plain_rate"])

    def test_roofline_of_placed_chunks(self):
        if CORES < 2:
            self.skipTest("needs two cores")
        words = ["bench", "--roofline", "-m", LLAMA, "-p", "0", "-n", "4", "-r", "1", "--chunks", "2", "--threads", "1",
                 "--units", "cpu:0,cpu:1", "--place", "2=cpu:1"]
        rows = self.done_json(*words)["roofline"]["rows"]
        read = {row["unit"]: row["rate"] for row in rows if row["name"] == "memory read"}
        self.assertEqual(next(row["share"] for row in rows if row["kind"] == "test"), 0)
        chunks = [row for row in rows if row["kind"] == "chunk"]
        self.assertEqual([row["unit"] for row in chunks], ["cpu:0", "cpu:1"])
        for row in chunks:
            self.assertAlmostEqual(row["share"] / (row["rate"] / read[row["unit"]]), 1, 6)

    def test_roofline_without_tests(self):
        words = ["bench", "--roofline", "-m", LLAMA, "-p", "0", "-n", "0", "--threads", "1"]
        got = self.done_json(*words)
        self.assertEqual(got["tests"], [])
        self.assertEqual({row["kind"] for row in got["roofline"]["rows"]}, {"peak", "kernel", "part"})
        self.fails(USAGE, "bench", "-m", LLAMA, "-p", "0", "-n", "0", says="nothing to measure")

    def test_roofline_forms(self):
        words = ["bench", "--roofline", "-m", LLAMA, "-p", "0", "-n", "2", "-r", "1", "--threads", "1", "--format"]
        csv = self.done(*words, "csv").decode().splitlines()
        self.assertEqual(csv[0], "kind,name,unit,threads,ns,rate,per,share")
        self.assertTrue(all(line.split(",")[0] in ("peak", "kernel", "part", "chunk", "test") for line in csv[1:]))
        text = self.done(*words, "text").decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertRegex(text, r"(?m)^  peak    memory read +1 +[\d.]+ GB/s *$")
        self.assertRegex(self.done(*words, "md").decode(), r"\| test \| tg2 \| 1 \| [\d.]+ \| [\d.]+ GB/s \| \d+ % \|")


class Spike(support.CommandTest):
    def test_protocol(self):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "a", "b")
            text = self.done("spike", "-m", LLAMA, "-o", target, "-n", "8", "-r", "2").decode()
            with open(os.path.join(target, "spike.md"), encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
            with open(os.path.join(target, "spike.json"), encoding="utf-8") as file:
                got = json.load(file)
            with open(os.path.join(target, "spike.log"), encoding="utf-8") as file:
                log = file.read()
        categories = ["chat-define-transformer", "code-complete-sum", "qa-where-is-swift", "sum-para-ane"]
        self.assertEqual([p["category"] for p in got["prompts"]], categories)
        for row in got["prompts"]:
            self.check_probe(row["probe"])
            self.assertTrue(row["ids_equal"])
            self.assertEqual(len(row["baseline_tokens_per_s"]), 2)
            self.assertEqual(len(row["spike_tokens_per_s"]), 2)
            self.assertEqual(len(re.findall(rf"^\| {row['category']} \|.*\|$", text, re.M)), 2)
        self.assertTrue(got["complete"])
        self.assertEqual(log.count("[Spike] overlap factor"), 8)
        self.assertEqual(len(re.findall(r"^ids( \d+){8}$", log, re.M)), 16)
        for title in (
            "# Staged chunk pipelining",
            "## TL;DR",
            "## Methodology",
            "## Results",
            "## Verdict",
            "## Raw data",
        ):
            self.assertIn(title, text)

    def check_probe(self, probe):
        self.assertEqual((probe["a"], probe["b"]), ("1", "3"))
        median = {arm: statistics.median(samples) for arm, samples in probe["samples"].items()}
        self.assertEqual({len(samples) for samples in probe["samples"].values()}, {10})
        self.assertEqual(sorted(median), ["parallel_ns", "serial_ns", "solo_a_ns", "solo_b_ns"])
        for arm, ns in median.items():
            self.assertEqual(probe[arm], ns)
        shorter = min(median["solo_a_ns"], median["solo_b_ns"])
        factor = (median["solo_a_ns"] + median["solo_b_ns"] - median["parallel_ns"]) / shorter
        self.assertAlmostEqual(probe["overlap_factor"]["value"], factor, 6)
        serial = (median["serial_ns"] - median["parallel_ns"]) / shorter
        self.assertAlmostEqual(probe["overlap_factor_serial"]["value"], serial, 6)
        self.assertLessEqual(probe["overlap_factor"]["lo"], probe["overlap_factor"]["hi"])

    def test_folder_that_cannot_be_written(self):
        self.fails(FAILED, "spike", "-m", LLAMA, "-o", "/proc/nowhere", says="/proc/nowhere")
        self.fails(USAGE, "spike", "-m", LLAMA, "-o", "/tmp", "--chunks", "1", says="two chunks")

    def test_full_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/dev/full", os.path.join(folder, "spike.json"))
            result = support.run("spike", "-m", LLAMA, "-o", folder, "-n", "2", "-r", "1")
            self.assertEqual(result.returncode, FAILED)
            self.assertIn(b"spike.json", result.stderr)
            self.assertIn(b"## Verdict", result.stdout)

    def test_interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [STRETTO, "spike", "-m", LLAMA, "-o", folder, "-n", "100", "-r", "50"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=support.environment(),
            )
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            self.assertIn(b"# Staged chunk pipelining", out)
            with open(os.path.join(folder, "spike.json"), encoding="utf-8") as file:
                got = json.load(file)
            self.assertFalse(got["complete"])
            self.assertNotIn(b"over all prompts (", out)
            self.assertNotIn(b"Do NOT", out)
            for row in got["prompts"]:
                self.assertEqual(row["ids_equal"], True if row["baseline_tokens_per_s"] else None)


class Probe(support.CommandTest):
    def check_batch(self, row, rounds):
        k, samples = row["k"], row["samples"]
        self.assertEqual(row["arrangement"], f"batch-{k}")
        self.assertNotIn("b", row)
        for arm in ("solo_a", "serial", "batched"):
            self.assertEqual(len(samples[arm + "_ns"]), rounds)
            self.assertAlmostEqual(row[arm + "_ns"], statistics.median(samples[arm + "_ns"]), delta=1)
        factors = [(k * a - t) / ((k - 1) * a) for a, t in zip(samples["solo_a_ns"], samples["batched_ns"])]
        self.assertAlmostEqual(row["overlap_factor"]["value"], statistics.median(factors), 6)
        self.assertEqual(row["operations_batched"], k * row["operations_a"])

    def check_row(self, row, rounds):
        samples = row["samples"]
        arms = ["solo_a", "solo_b", "serial", "parallel"] + (["queued"] if row["unit_a"] == row["unit_b"] else [])
        for arm in arms:
            self.assertEqual(len(samples[arm + "_ns"]), rounds)
            self.assertAlmostEqual(row[arm + "_ns"], statistics.median(samples[arm + "_ns"]), delta=1)
        shorter = "solo_a_ns" if row["solo_a_ns"] <= row["solo_b_ns"] else "solo_b_ns"
        factors = [
            (a + b - p) / s
            for a, b, p, s in zip(samples["solo_a_ns"], samples["solo_b_ns"], samples["parallel_ns"], samples[shorter])
        ]
        self.assertAlmostEqual(row["overlap_factor"]["value"], statistics.median(factors), 6)
        self.assertLessEqual(row["overlap_factor"]["lo"], row["overlap_factor"]["value"])
        self.assertGreaterEqual(row["overlap_factor"]["hi"], row["overlap_factor"]["value"])
        for key in ("overlap_factor_serial", "speedup", "slowdown_a", "slowdown_b", "overlap", "cause"):
            self.assertIn(key, row)
        self.assertEqual("overlap_factor_unit" in row, row["unit_a"] == row["unit_b"])
        self.assertEqual(row["worth"]["one_stream"]["verdict"], "impossible")

    def test_default_arrangements(self):
        got = self.done_json("probe", "-m", LLAMA, "--rounds", "10", "--pairs", "1,3")
        unknown = support.undocumented(got, "PROBE-JSON.md")
        self.assertEqual([k for k in unknown if not re.match("(compute|clock)_", k)], [])  # as those of bandwidth_
        rows = {row["arrangement"]: row for row in got["pairs"]}
        self.assertEqual(len(rows), len(got["pairs"]))
        self.assertIn("one-unit", rows)
        self.assertEqual(rows["one-unit"]["unit_a"], rows["one-unit"]["unit_b"])
        self.assertNotIn("threads", rows)  # the same as the others, unless asked for
        if CORES > 1:
            self.assertNotEqual(rows["two-units"]["unit_a"], rows["two-units"]["unit_b"])
        for row in got["pairs"]:
            self.assertEqual((row["a"], row.get("b", "3")), ("1", "3"))
            if "k" in row:
                self.check_batch(row, 10)
            elif row.get("samples"):
                self.check_row(row, 10)
        self.assertEqual([row["k"] for row in got["pairs"] if "k" in row], [2, 4, 8])
        if CORES > 1:
            self.assertEqual(rows["processes"]["unit_b"], "process:" + rows["two-units"]["unit_b"])
            self.assertGreater(rows["processes"]["cpu_per_wall"]["parallel"], 0)
        self.assertEqual(got["cache"], "step")
        for key in ("version", "command_line", "host", "seed"):
            self.assertIn(key, got)
        self.assertGreater(got["join_ns"], 0)
        self.check_units(got)
        for row in got["pairs"]:
            for use, worth in row["worth"].items():
                self.assertIn(use, ("one_stream", "prefill", "streams"))
                self.assertIn(worth["verdict"], ("pays", "does not pay", "impossible", "undecided"))
                self.assertTrue(worth["reason"])
                self.assertIn("break_even", worth)
        self.assertEqual(set(rows["one-unit"]["worth"]), {"one_stream", "prefill", "streams"})
        self.assertEqual(
            rows["one-unit"]["worth"]["one_stream"]["reason"],
            "token, 1, 2, 3, 4, token is a chain: nothing can run beside it",
        )

    def check_units(self, got):
        """What the rows' units give at most, and the controls of each pair of them."""
        peaks = {unit["name"]: unit for unit in got["units"]}
        pairs = {(row["unit_a"], row["unit_b"]) for row in got["pairs"] if "k" not in row and "samples" in row}
        for name in {unit for pair in pairs for unit in pair}:
            self.assertGreater(peaks[name]["gb_per_s"], 0)
            self.assertGreater(peaks[name]["gmac_per_s"], 0)
        controls = {(entry["unit_a"], entry["unit_b"]): entry for entry in got["controls"]}
        self.assertEqual(set(controls), {pair for pair in pairs if pair[0] != pair[1]})
        for entry in controls.values():
            for name in ("compute", "bandwidth", "clock"):
                self.assertGreater(entry[name]["rounds"], 0)
                self.assertGreater(entry[name]["rate"]["parallel"], 0)
                self.assertLessEqual(entry[name]["overlap_factor"]["lo"], entry[name]["overlap_factor"]["hi"])
        for row in got["pairs"]:
            if "samples" in row:
                self.check_controls(row)

    def check_controls(self, row):
        """Those of the row's own rounds: three on two units, reading alone in a batch, none on one unit."""
        batch, two = "k" in row, row.get("unit_b") != row["unit_a"]
        expected = {"bandwidth"} if batch else {"compute", "bandwidth", "clock"} if two else set()
        self.assertEqual(set(row.get("controls", {})), expected)
        told = {key for key in ("overlap_factor_memory", "overlap_factor_late") if key in row}
        self.assertTrue(told if expected else not told)  # each round starts together or late
        self.assertFalse(batch and told != {"overlap_factor_memory"})
        for name in expected:
            self.assertEqual(row["controls"][name]["rounds"], row["rounds"])
            keys = ["solo_a_ns"] if batch else ["solo_a_ns", "solo_b_ns", "parallel_a_end_ns", "parallel_b_end_ns"]
            for key in keys:
                samples = row["samples"][f"{name}_{key}"]
                self.assertEqual(len(samples), row["rounds"])
                self.assertGreater(min(samples), 0)

    def test_quick_measures_the_rows_only(self):
        got = self.done_json("probe", "-m", LLAMA, "--quick", "--rounds", "2", "--pairs", "1,3")
        self.assertEqual((got["units"], got["controls"]), ([], []))
        self.assertFalse([row for row in got["pairs"] if "controls" in row])

    def test_default_pairs_are_the_spikes_and_the_heaviest(self):
        chunks = self.done_json("inspect", LLAMA)["chunks"]
        heaviest = sorted(sorted(range(4), key=lambda i: (-chunks[i]["bytes"], i))[:2])
        got = self.done_json("probe", "-m", LLAMA, "--quick", "--rounds", "2", "--arrangement", "one-unit")["pairs"]
        pairs = [[int(row["a"]), int(row["b"])] for row in got]
        expected = [[1, 3]] + ([[i + 1 for i in heaviest]] if [i + 1 for i in heaviest] != [1, 3] else [])
        self.assertEqual(pairs, expected)

    def test_pairs(self):
        words = ["probe", "-m", LLAMA, "--quick", "--rounds", "2", "--arrangement", "one-unit", "--cache", "warm"]
        for text, expected in (
            ("2,4", [("2", "4")]),
            ("1,2 4,3", [("1", "2"), ("4", "3")]),
            ("1,2; 1,2", [("1", "2")]),
        ):
            got = self.done_json(*words, "--pairs", text)
            self.assertEqual([(row["a"], row["b"]) for row in got["pairs"]], expected)
            self.assertEqual(got["cache"], "warm")
        self.assertEqual(len(self.done_json(*words, "--pairs", "all")["pairs"]), 6)
        self.assertEqual(len(self.done_json(*words, "--chunks", "2")["pairs"]), 1)

    def test_own_units(self):
        if CORES < 2:
            self.skipTest("one core")
        words = ["probe", "-m", LLAMA, "--quick", "--rounds", "2", "--arrangement", "two-units", "--pairs", "1,3"]
        for options in (["--units", "cpu:1,cpu:0"], ["--place", "1=cpu:1,3=cpu:0"]):
            row = self.done_json(*words, *options)["pairs"][0]
            self.assertEqual((row["unit_a"], row["unit_b"]), ("cpu:1", "cpu:0"))

    def test_one_core(self):
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        try:
            got = self.done_json("probe", "-m", LLAMA, "--quick", "--rounds", "2", "--pairs", "1,3")
            self.fails(USAGE, "probe", "-m", LLAMA, "--arrangement", "two-units", says=["two-units", "one core"])
        finally:
            os.sched_setaffinity(0, allowed)
        rows = {row["arrangement"]: row for row in got["pairs"]}
        for name in ("two-units", "processes"):
            self.assertIn("one core", json.dumps(rows[name]))
            self.assertNotIn("samples", rows[name])
        self.assertTrue(rows["batch-4"]["samples"])
        self.assertTrue(rows["one-unit"]["samples"])

    def test_text_and_files(self):
        with tempfile.TemporaryDirectory() as folder:
            text = self.done("probe", "-m", LLAMA, "--quick", "--rounds", "10", "--pairs", "1,3", "-o", folder).decode()
            self.assertEqual(sorted(os.listdir(folder)), ["probe.csv", "probe.html", "probe.json", "probe.md"])
            with open(os.path.join(folder, "probe.json"), encoding="utf-8") as file:
                self.assertTrue(json.load(file)["pairs"])
            for name in os.listdir(folder):
                self.assertIn("  " + os.path.join(folder, name), text)
        table = text.split(folder)[0]
        self.assertLessEqual(max(map(len, table.splitlines())), 80)
        for words in ("1 || 3", "one unit", "worth it?"):
            self.assertIn(words, table)

    def test_wrong_words(self):
        self.fails(
            USAGE,
            "probe",
            "-m",
            LLAMA,
            "--pairs",
            "1,9",
            says="no chunk 9: the model has 4 (1 to 4); --chunks changes that",
        )
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "0,1", says="no chunk 0")
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "2,2", says="chunk 2 twice")
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "1", says="1,3")
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "1,3x", says="1,3x")
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "1,300002", says="no chunk 300002")
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "1,000032,4", says="no chunk 32")
        self.fails(USAGE, "probe", "-m", LLAMA, "--pairs", "-1,3", says="-1,3")
        self.fails(USAGE, "probe", "-m", LLAMA, "--seed", str(2**63), says=["--seed", "2^63"])
        self.fails(USAGE, "probe", "-m", LLAMA, "--chunks", "1", says="two chunks")
        self.fails(USAGE, "probe", "-m", LLAMA, "--arrangement", "magic", says=["magic", "one-unit"])
        self.fails(USAGE, "probe", "-m", LLAMA, "--budget", "soon", says="soon")
        self.fails(FAILED, "probe", "-m", LLAMA, "-o", "/proc/nowhere", says="/proc/nowhere")

    def test_fresh_processes_are_combined(self):
        words = ["probe", "-m", LLAMA, "--quick", "--rounds", "3", "--pairs", "1,3", "--arrangement", "one-unit"]
        got = json.loads(self.done(*words, "--fresh", "3", "--seed", "5", "--json", "--"))
        self.assertEqual((got["processes"], got["seed"]), (3, 5))
        (row,) = got["pairs"]
        self.assertEqual(row["rounds"], 9)
        self.assertEqual(row["samples"]["process"], [0, 0, 0, 1, 1, 1, 2, 2, 2])
        self.check_row(row, 9)
        self.fails(USAGE, *words[:3], "--pairs", "1,9", "--fresh", "2", says="process 1 failed")

    def test_fresh_processes_below_a_parent_that_ignores_ends(self):
        """It hands that down, and then nothing would say how a process ended."""
        words = ["probe", "-m", LLAMA, "--quick", "--arrangement", "one-unit", "--rounds", "10", "--fresh", "2"]
        with subprocess.Popen(
            [STRETTO, *words, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=support.environment(),
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        ) as process:
            out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json.loads(out)["processes"], 2)

    def test_interrupted_in_fresh_processes(self):
        process = subprocess.Popen(
            [STRETTO, "probe", "-m", LLAMA, "--quick", "--rounds", "1000000", "--budget", "0", "--fresh", "3", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=support.environment(),
        )
        time.sleep(3)
        process.send_signal(signal.SIGINT)  # to the parent only: it tells the part
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertTrue(json.loads(out)["pairs"][0]["samples"]["parallel_ns"])

    def test_interrupted_while_a_fresh_process_is_stopped(self):
        process = subprocess.Popen(
            [STRETTO, "probe", "-m", LLAMA, "--quick", "--rounds", "1000000", "--budget", "0", "--fresh", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=support.environment(),
        )
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        found = []
        while process.poll() is None and not found:
            with open(children, encoding="ascii") as file:
                found = file.read().split()
            time.sleep(0.02)
        os.kill(int(found[0]), signal.SIGSTOP)
        state = ""
        while process.poll() is None and state != "T":  # a signal that comes first would end it
            with open(f"/proc/{found[0]}/stat", encoding="ascii") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertIn(f"process {found[0]} was stopped", errors)

    def test_a_process_that_dies_ends_its_row_and_keeps_the_rounds(self):
        if CORES < 2:
            self.skipTest("one core")
        words = ["--quick", "--arrangement", "processes", "--pairs", "1,3", "--rounds", "1000000", "--budget", "0"]
        process = subprocess.Popen(
            [STRETTO, "probe", "-m", LLAMA, *words, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=support.environment(),
        )
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        while process.poll() is None:
            with open(children, encoding="ascii") as file:
                found = file.read().split()
            if found:
                break
            time.sleep(0.02)
        time.sleep(2)
        os.kill(int(found[0]), signal.SIGKILL)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED, errors)
        self.assertIn(b"was ended by signal 9", errors)
        (row,) = json.loads(out)["pairs"]
        self.assertEqual(row["stop"], "error")
        self.assertIn("process:", row["error"])
        self.assertEqual(len(row["samples"]["parallel_ns"]), row["rounds"])
        self.assertGreater(row["rounds"], 0)

    def test_full_disk_for_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/dev/full", os.path.join(folder, "probe.json"))
            result = support.run("probe", "-m", LLAMA, "--quick", "--rounds", "2", "--arrangement", "one-unit", "-o", folder)
            self.assertEqual(result.returncode, FAILED, result.stderr)
            self.assertIn(b"probe.json", result.stderr)
            self.assertIn(b"1 || 3", result.stdout)
            self.assertTrue(os.path.getsize(os.path.join(folder, "probe.md")))

    def test_interrupted_keeps_the_rounds(self):
        process = subprocess.Popen(
            [STRETTO, "probe", "-m", LLAMA, "--quick", "--rounds", "1000000", "--budget", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=support.environment(),
        )
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertTrue(json.loads(out)["pairs"][0]["samples"]["parallel_ns"])

    def test_interrupted_writes_all_files(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            words = ["--quick", "--rounds", "1000000", "--budget", "0", "-o", folder, "--trace", trace]
            process = subprocess.Popen(
                [STRETTO, "probe", "-m", LLAMA, "--pairs", "1,3", *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=support.environment(),
            )
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            self.assertIn("stopped early on request", " ".join(out.decode().split()))
            names = ["probe.csv", "probe.html", "probe.json", "probe.md", "trace.json"]
            self.assertEqual(sorted(os.listdir(folder)), names)
            for name in names:
                self.assertGreater(os.path.getsize(os.path.join(folder, name)), 1000)
            with open(os.path.join(folder, "probe.json"), encoding="utf-8") as file:
                self.assertTrue(json.load(file)["interrupted"])
            with open(trace, encoding="utf-8") as file:
                self.assertTrue(json.load(file)["traceEvents"])

    def test_two_results_in_one_file(self):
        """Refused before anything is measured, however the file is named."""
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page")
            for words in (["--html", page, "--trace", os.path.join(folder, ".", "page")],
                          ["-o", folder, "--trace", os.path.join(folder, "probe.json")]):
                self.fails(USAGE, "probe", "-m", LLAMA, "--quick", *words, says="cannot go to one file")
            self.fails(USAGE, "plan", "-m", LLAMA, "--html", page, "--trace", page, says="cannot go to one file")
            self.assertEqual(os.listdir(folder), [])

    def test_full_disk_for_a_trace(self):
        result = support.run(
            "probe", "-m", LLAMA, "--quick", "--rounds", "2", "--arrangement", "one-unit", "--trace", "/dev/full"
        )
        self.assertEqual(result.returncode, FAILED, result.stderr)
        self.assertIn(b"/dev/full", result.stderr)
        self.assertIn(b"1 || 3", result.stdout)
        self.fails(FAILED, "probe", "-m", LLAMA, "--trace", "/proc/nowhere/x", says="/proc/nowhere/x")
        self.fails(FAILED, "probe", "-m", LLAMA, "--write-job", "/proc/nowhere/x", says="/proc/nowhere/x")
        self.fails(FAILED, "probe", "-m", LLAMA, "--write-job", "/dev/full", says="/dev/full")


class Synth(support.CommandTest):
    def test_writes_a_model_that_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.gguf")
            self.assertEqual(
                self.done("synth", "--like", "smollm2-135m", "--type", "q4_1", "--scale", "1/8", "-o", path), b""
            )
            got = self.done_json("inspect", path)
            self.assertTrue(got["supported"], got)
            self.assertEqual(got["shapes"]["layers"], 30)
            self.assertTrue(
                self.done("run", "-q", "-m", path, "-p", "hi", "-n", "3", "--ignore-eos", "--dump-ids").split()
            )

    def test_wrong_words(self):
        self.fails(USAGE, "synth", "--like", "gpt-9", "-o", "x", says="gpt-9")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", "--type", "q9", "-o", "x", says="q9")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", "--scale", "2", "-o", "x", says="2")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", "-o", "", says="-o FILE")
        self.fails(
            FAILED, "synth", "--like", "smollm2-135m", "--scale", "1/8", "-o", "/proc/x.gguf", says="/proc/x.gguf"
        )

    def start(self, folder, **options):
        words = ["synth", "--like", "gemma4-e4b", "-o", os.path.join(folder, "big.gguf")]
        pipe, env = subprocess.PIPE, support.environment()
        process = subprocess.Popen([STRETTO, *words], stdout=pipe, stderr=pipe, env=env, **options)
        while process.poll() is None and not os.listdir(folder):
            time.sleep(0.02)
        return process

    def test_interrupted_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), tempfile.TemporaryDirectory() as folder:
                process = self.start(folder)
                process.send_signal(number)
                _, errors = process.communicate(timeout=120)
                self.assertEqual(process.returncode, INTERRUPTED, errors)
                self.assertEqual(os.listdir(folder), [])

    def test_a_terminal_that_goes_away_is_nothing_to_nohup(self):
        with tempfile.TemporaryDirectory() as folder:
            process = self.start(folder, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
            process.send_signal(signal.SIGHUP)
            time.sleep(0.2)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, INTERRUPTED, errors)

    def test_no_room_leaves_what_was_there(self):
        words = [STRETTO, "synth", "--like", "smollm2-135m", "--scale", "1/8", "-o"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.gguf")
            with open(path, "wb") as file:
                file.write(b"kept")
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            done = subprocess.run([*words, path], capture_output=True, text=True, preexec_fn=limit, check=False)
            self.assertEqual(done.returncode, FAILED, done.stderr)
            self.assertIn(path + ": cannot write: File too large", done.stderr)
            self.assertEqual(os.listdir(folder), ["small.gguf"])
            with open(path, "rb") as file:
                self.assertEqual(file.read(), b"kept")


class Like(support.CommandTest):
    SMALL = ("--like", "gemma4-e2b", "--scale", "1/16")

    def environment(self, folder):
        return support.environment() | {"XDG_CACHE_HOME": folder}

    def stretto(self, folder, *words):
        return subprocess.run(
            [STRETTO, *words], capture_output=True, text=True, timeout=300, check=False, env=self.environment(folder)
        )

    def test_is_written_once_and_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            first = self.stretto(folder, "audit", *self.SMALL, "--json")
            self.assertEqual(first.returncode, DONE, first.stderr)
            self.assertIn("writing a model like gemma4-e2b to " + folder, first.stderr)
            chunks = json.loads(first.stdout)["chunks"]
            self.assertEqual([c["layers"] for c in chunks], [[0, 7], [8, 14], [15, 24], [25, 34]])
            (file,) = os.listdir(os.path.join(folder, "stretto"))
            self.assertIn("gemma4-e2b", file)
            second = self.stretto(folder, "audit", *self.SMALL, "--json")
            self.assertEqual(second.returncode, DONE, second.stderr)
            self.assertNotIn("writing", second.stderr)

    def test_spike(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.stretto(folder, "spike", *self.SMALL, "-n", "4", "-r", "1", "-o", folder + "/spike", "--json")
            self.assertEqual(done.returncode, DONE, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(len(report["prompts"]), 4)
            self.assertTrue(all(p["ids_equal"] for p in report["prompts"]))
            self.assertTrue(os.path.getsize(folder + "/spike/spike.md") > 1000)

    def test_bench_and_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            for more in ([], ["--roofline"]):
                done = self.stretto(folder, "bench", *self.SMALL, *more, "-p", "8", "-n", "2", "-r", "1", "--json")
                self.assertEqual(done.returncode, DONE, done.stderr)
                self.assertEqual([t["name"] for t in json.loads(done.stdout)["tests"]], ["pp8", "tg2"])
            done = self.stretto(folder, "plan", *self.SMALL, "-p", "8", "-n", "2", "--json")
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertTrue(json.loads(done.stdout)["schedules"])

    def test_probe(self):
        words = ["--pairs", "1,3", "--arrangement", "one-unit", "--rounds", "2", "--quick", "--json"]
        with tempfile.TemporaryDirectory() as folder:
            job = os.path.join(folder, "job.json")
            done = self.stretto(folder, "probe", *self.SMALL, *words, "--write-job", job)
            self.assertEqual(done.returncode, DONE, done.stderr)
            report = json.loads(done.stdout)
            self.assertIn("gemma4-e2b", report["title"])
            self.assertIn("1 (0-7) 2 (8-14) 3 (15-24) 4 (25-34, head)", report["title"])
            with open(job, encoding="utf-8") as file:
                written = json.load(file)
            self.assertEqual([written.get(k) for k in ("model", "like", "scale")], [None, "gemma4-e2b", "1/16"])
            again = self.stretto(folder, "probe", job, "--json")
            self.assertEqual(again.returncode, DONE, again.stderr)
            self.assertNotIn("writing", again.stderr)
            self.assertEqual(json.loads(again.stdout)["title"], report["title"])
            other = self.stretto(folder, "probe", job, "-m", LLAMA, "--json")  # the command line wins
            self.assertEqual(other.returncode, DONE, other.stderr)
            self.assertNotIn("gemma4-e2b", json.loads(other.stdout)["title"])

    def test_refusals(self):
        self.fails(USAGE, "probe", "--like", "gemma4-e2b", "-m", LLAMA, says="one model at a time")
        self.fails(USAGE, "audit", "--like", "gemma4-e3b", says="gemma4-e2b")
        self.fails(USAGE, "audit", "--like", "gemma4-e2b", "--type", "q9", says="q9")
        self.fails(USAGE, "audit", "--like", "gemma4-e2b", "-m", LLAMA, says="one model at a time")
        with tempfile.NamedTemporaryFile() as file:
            done = self.stretto(file.name, "audit", *self.SMALL)
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(file.name, done.stderr)


if __name__ == "__main__":
    support.main()
