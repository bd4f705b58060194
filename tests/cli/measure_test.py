# SPDX-License-Identifier: MIT
"""inspect, units, audit, bench, spike, probe and synth: what they print adds up, and JSON has the fixed names."""

import json
import os
import re
import signal
import statistics
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

    def check_chunks(self, got):
        chunks = got["chunks"]
        self.assertEqual([c["name"] for c in chunks], [f"chunk{i + 1}" for i in range(len(chunks))])
        covered = [layer for c in chunks for layer in range(c["layers"][0], c["layers"][1] + 1)]
        self.assertEqual(covered, list(range(got["shapes"]["layers"])))
        self.assertEqual([c["head"] for c in chunks], [False] * (len(chunks) - 1) + [True])
        for c in chunks:
            self.assertGreater(c["bytes"], 0)
            self.assertGreater(c["operations"], 0)
            own = [layer for layer in range(c["layers"][0], c["layers"][1] + 1)
                   if got["shapes"]["per_layer"][layer]["kv_layer"] == layer]
            self.assertEqual(c["kv"]["owned"], own)

    def test_bytes_and_operations_of_a_known_model(self):
        got = self.done_json("inspect", LLAMA, "--chunks", "1")
        self.assertEqual(len(got["chunks"]), 1)
        tensors = self.done_json("inspect", LLAMA, "--tensors")["tensors"]
        weights = sum(t["bytes"] for t in tensors if t["name"] != "token_embd.weight" and t["name"] != "rope_freqs.weight")
        if not any(t["name"] == "output.weight" for t in tensors):
            weights += next(t["bytes"] for t in tensors if t["name"] == "token_embd.weight")
        self.assertEqual(got["chunks"][0]["bytes"], weights)
        matrices = sum(t["bytes"] // 4 for t in tensors
                       if len(t["dims"]) == 2 and (t["name"] != "token_embd.weight" or got["shapes"]["tied_head"]))
        self.assertEqual(got["chunks"][0]["operations"], matrices)

    def test_borrowed_kv(self):
        got = self.done_json("inspect", os.path.join(GOLDEN, "tiny-gemma4-F32.gguf"), "--chunks", "0-5,6-8")
        if not got["supported"]:
            self.skipTest(got["reason"])
        self.assertEqual(got["chunks"][1]["kv"], {"owned": [], "borrowed": [4, 5], "bytes_per_position": 0})

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
        self.assertEqual(sum(core["hardware_threads"] for core in got["host"]["cores"]), CORES)
        self.assertEqual(len(got["units"]), 1)
        self.assertEqual(got["units"][0]["cores"], list(range(len(got["host"]["cores"]))))
        self.assertIn("scalar", got["kernels"]["usable"])
        self.assertIn(got["kernels"]["chosen"], got["kernels"]["usable"])
        self.assertIn(got["host"]["cpu"], self.done("units").decode())

    def test_kernels_can_be_masked(self):
        self.assertEqual(self.done_json("units", STRETTO_CPU="scalar")["kernels"]["chosen"], "scalar")

    def test_sets(self):
        if len(self.done_json("units")["host"]["cores"]) < 2:
            self.skipTest("one core")
        got = self.done_json("units", "--units", "cpu:0,cpu:1")["units"]
        self.assertEqual([unit["name"] for unit in got], ["cpu:0", "cpu:1"])
        self.assertEqual([unit["threads"] for unit in got], [1, 1])


class Audit(support.CommandTest):
    def test_numbers_add_up(self):
        got = self.done_json("audit", "-m", LLAMA, "-r", "9", "--depth", "20")
        chunks = got["chunks"]
        total = sum(c["ms"] for c in chunks)
        self.assertAlmostEqual(sum(c["share"] for c in chunks), 1, 6)
        for c in chunks:
            self.assertEqual(len(c["samples_ns"]), 9)
            self.assertAlmostEqual(c["ms"], statistics.median(c["samples_ns"]) / 1e6, 6)
            self.assertAlmostEqual(c["share"], c["ms"] / total, 6)
            self.assertAlmostEqual(c["gb_per_s"] / (c["bytes"] / c["ms"] / 1e6), 1, 5)
            self.assertAlmostEqual(c["headroom"], min(c["ms"], total - c["ms"]) / total, 6)
        self.assertGreaterEqual(got["staged_speedup"], 1)
        self.assertAlmostEqual(got["staged_speedup"], total / max(c["ms"] for c in chunks), 5)
        inspected = self.done_json("inspect", LLAMA)["chunks"]
        for c, i in zip(chunks, inspected):
            self.assertEqual((c["name"], c["layers"], c["head"]), (i["name"], i["layers"], i["head"]))
            kv = c["bytes"] - i["bytes"]
            self.assertGreaterEqual(kv, 20 * i["kv"]["bytes_per_position"])
            self.assertLessEqual(kv, 40 * i["kv"]["bytes_per_position"])

    def test_text(self):
        text = self.done("audit", "-m", GEMMA, "-r", "2", "--chunks", "3").decode()
        self.assertEqual(len(re.findall(r"^  \d +\d", text, re.M)), 3)
        self.assertIn("headroom", text)

    def test_one_chunk_has_no_headroom(self):
        self.assertEqual(self.done_json("audit", "-m", LLAMA, "-r", "2", "--chunks", "1")["chunks"][0]["headroom"], 0)

    def test_context_too_small(self):
        self.fails(REFUSED, "audit", "-m", LLAMA, "--ctx", "10", "-r", "20", says="context of 10")


class Bench(support.CommandTest):
    def test_rows_and_samples(self):
        got = self.done_json("bench", "-m", LLAMA, "-p", "8,16", "-n", "4", "-d", "0,32", "-r", "3", "--threads", "1")
        self.assertEqual([t["name"] for t in got["tests"]],
                         ["pp8", "pp16", "pp8@d32", "pp16@d32", "tg4", "tg4@d32"])
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
        self.assertIn("tg3", self.done(*words, "text").decode())

    def test_threads_list(self):
        if CORES < 2:
            self.skipTest("one core")
        got = self.done_json("bench", "-m", LLAMA, "-p", "4", "-n", "2", "-r", "1", "--threads", "1,2")["tests"]
        self.assertEqual([(t["name"], t["threads"]) for t in got], [("pp4", 1), ("tg2", 1), ("pp4", 2), ("tg2", 2)])


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
        for title in ("# Staged chunk pipelining", "## TL;DR", "## Methodology", "## Results", "## Verdict", "## Raw data"):
            self.assertIn(title, text)

    def check_probe(self, probe):
        self.assertEqual((probe["a"], probe["b"]), (1, 3))
        median = {arm: statistics.median(samples) for arm, samples in probe["samples"].items()}
        self.assertEqual({len(samples) for samples in probe["samples"].values()}, {10})
        shorter = min(median["solo_a"], median["solo_b"])
        factor = (median["solo_a"] + median["solo_b"] - median["parallel"]) / shorter
        self.assertAlmostEqual(probe["overlap_factor"]["value"], factor, 3)
        serial = (median["serial"] - median["parallel"]) / shorter
        self.assertAlmostEqual(probe["overlap_factor_serial"]["value"], serial, 3)
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
            process = subprocess.Popen([STRETTO, "spike", "-m", LLAMA, "-o", folder, "-n", "100", "-r", "50"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=support.environment())
            log = os.path.join(folder, "spike.log")
            while process.poll() is None and not (os.path.exists(log) and os.path.getsize(log)):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            self.assertIn(b"# Staged chunk pipelining", out)
            with open(os.path.join(folder, "spike.json"), encoding="utf-8") as file:
                self.assertFalse(json.load(file)["complete"])


class Synth(support.CommandTest):
    def test_writes_a_model_that_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.gguf")
            self.assertEqual(self.done("synth", "--like", "smollm2-135m", "--type", "q4_1", "--scale", "1/8", "-o", path), b"")
            got = self.done_json("inspect", path)
            self.assertTrue(got["supported"], got)
            self.assertEqual(got["shapes"]["layers"], 30)
            self.assertTrue(self.done("run", "-q", "-m", path, "-p", "hi", "-n", "3", "--ignore-eos", "--dump-ids").split())

    def test_wrong_words(self):
        self.fails(USAGE, "synth", "--like", "gpt-9", "-o", "x", says="gpt-9")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", "--type", "q9", "-o", "x", says="q9")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", "--scale", "2", "-o", "x", says="2")
        self.fails(FAILED, "synth", "--like", "smollm2-135m", "--scale", "1/8", "-o", "/proc/x.gguf", says="/proc/x.gguf")

    def test_interrupted_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([STRETTO, "synth", "--like", "gemma4-e4b", "-o", os.path.join(folder, "big.gguf")],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=support.environment())
            while process.poll() is None and not os.listdir(folder):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    support.main()
