# SPDX-License-Identifier: MIT
"""run --prompts: results of many prompts as they come, hostile files, full and closed outputs, interrupts."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import support
from support import FAILED, GEMMA, GOLDEN, INTERRUPTED, LLAMA, REFUSED, STRETTO, USAGE

WORDS = "the cat sat on a mat and then it ran off to see what the dog had done".split()


def prompts(count, n=8):
    """Prompts of different lengths, some with fewer ids to follow."""
    return [
        {"id": i, "prompt": " ".join(WORDS[i % 5 : i % 5 + 1 + i % 9]), "n": n if i % 3 else n // 2, "seed": i}
        for i in range(count)
    ]


def lines(objects):
    return "".join(json.dumps(o) + "\n" for o in objects)


class Results(support.CommandTest):
    def streams(self, jobs, *options, model=LLAMA):
        out = self.done(
            "run", "-q", "-m", model, "--prompts", "-", "--verify", "--ignore-eos", *options, stdin=lines(jobs)
        )
        got = [json.loads(line) for line in out.decode().splitlines()]
        self.assertEqual(sorted(str(r["id"]) for r in got), sorted(str(j["id"]) for j in jobs))
        return {r["id"]: r for r in got}

    def alone(self, job, *options, model=LLAMA):
        return self.done_json(
            "run", "-m", model, "-p", job["prompt"], "-n", job["n"], "--seed", job["seed"], "--ignore-eos", *options
        )

    def test_as_if_each_ran_alone(self):
        for model in (LLAMA, GEMMA):
            for sampling in ((), ("--temp", "0.9", "--top-k", "30")):
                jobs = prompts(9)
                got = self.streams(jobs, "--streams", "4", *sampling, model=model)
                for job in jobs:
                    alone = self.alone(job, *sampling, model=model)
                    for key in ("ids", "text", "finish_reason", "prompt_tokens"):
                        self.assertEqual(got[job["id"]][key], alone[key], (job, key))

    def test_streams_chunks_and_units_change_nothing(self):
        jobs = prompts(7)
        expected = {i: r["ids"] for i, r in self.streams(jobs, "--streams", "1").items()}
        ways = [["--streams", "7"], ["--chunks", "1"], ["--threads", "1"], ["--batch", "3"]]
        if len(os.sched_getaffinity(0)) > 1:
            ways.append(["--units", "cpu:0,cpu:1", "--place", "3-4=cpu:1"])
        for options in ways:
            with self.subTest(options=options):
                self.assertEqual({i: r["ids"] for i, r in self.streams(jobs, *options).items()}, expected)

    def test_order_of_completion_and_times(self):
        jobs = [{"id": "long", "prompt": "hello", "n": 60}, {"id": "short", "prompt": "hello", "n": 2}]
        out = self.done("run", "-m", LLAMA, "--prompts", "-", "--streams", "2", "--ignore-eos", stdin=lines(jobs))
        got = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([r["id"] for r in got], ["short", "long"])
        for r in got:
            self.assertEqual(r["finish_reason"], "length")
            self.assertGreaterEqual(r["ttft_ms"], r["prefill_ms"] + r["wait_ms"] - 0.01)
            self.assertGreater(r["decode_ms"], 0)

    def test_defaults_of_a_line(self):
        got = self.streams([{"id": "x", "prompt": "hello"}], "-n", "3")
        self.assertEqual(len(got["x"]["ids"]), 3)
        none = self.streams([{"id": "x", "prompt": "hello", "n": 0}])
        self.assertEqual((none["x"]["ids"], none["x"]["finish_reason"]), ([], "length"))

    def test_strange_but_good(self):
        text = '\n  {"id": "\\u0000\\u00e4", "prompt": "a\\u0000b", "n": 1}\r\n\n{"prompt": "b", "n": 1, "id": -5}'
        out = self.done("run", "-m", LLAMA, "--prompts", "-", stdin=text)
        self.assertEqual({json.loads(line)["id"] for line in out.splitlines()}, {"\0ä", -5})
        marked = b'\xef\xbb\xbf{"id": 1, "prompt": "b", "n": 1}\r\n'  # as some editors begin a file
        self.assertEqual(json.loads(self.done("run", "-m", LLAMA, "--prompts", "-", stdin=marked))["id"], 1)

    def test_a_stream_whose_numbers_are_lost_ends_alone(self):
        """A token whose own weights are infinite ends the stream that has it; the others are as if it were not there."""
        name = "tiny-gemma4-F32.gguf"
        model = os.path.join(GOLDEN, name)
        tensors = self.done_json("inspect", model, "--tensors")["tensors"]
        table = next(t for t in tensors if t["name"] == "per_layer_token_embd.weight")
        jobs = prompts(6)
        good = self.streams(jobs, model=model)
        token = good[2]["ids"][1]
        with tempfile.TemporaryDirectory() as folder, open(model, "rb") as original:
            data = bytearray(original.read())
            data_start = len(data) - max(t["offset"] + t["bytes"] for t in tensors)
            row = data_start + table["offset"] + token * table["dims"][0] * 4
            data[row : row + 4] = struct.pack("<f", float("inf"))
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            words = ["run", "-m", path, "--prompts", "-", "--ignore-eos", "--streams", "3", "--verify"]
            result = support.run(*words, stdin=lines(jobs))
            words = ["run", "-m", path, "-p", jobs[2]["prompt"], "-n", 9, "--ignore-eos"]
            alone = support.run(*words, "--dump-ids")
            whole = support.run(*words, "--json")
        errors = result.stderr.decode()
        self.assertEqual(result.returncode, REFUSED, errors)
        got = {r["id"]: r for r in map(json.loads, result.stdout.splitlines())}
        failed = {i for i, r in got.items() if r["finish_reason"] == "error"}
        self.assertIn(2, failed)
        self.assertLess(len(failed), 6)
        self.assertIn(f"row {token}", got[2]["error"])
        self.assertEqual(got[2]["ids"], [int(i) for i in alone.stdout.split()])
        self.assertEqual((alone.returncode, whole.returncode), (REFUSED, REFUSED))
        self.assertNotIn(b"interrupted", alone.stderr)
        self.assertEqual(json.loads(whole.stdout)["finish_reason"], "error")
        for i in set(got) - failed:
            self.assertEqual(got[i]["ids"], good[i]["ids"])
        self.assertIn(f"{len(failed)} of 6 prompts failed: ", errors.splitlines()[-1])
        self.assertIn(f"verified: the ids of {6 - len(failed)} prompts", errors)


CORES = len(os.sched_getaffinity(0))


def schedule(kind, places, **more):
    """A schedule of a chunk for each place."""
    units = sorted(set(places) | set(more.pop("more_units", [])))
    chunks = [{"chunk": i + 1, "unit": unit} for i, unit in enumerate(places)]
    if kind == "replicas":
        chunks = [{"chunk": i + 1} for i in range(4)]
    return {"schema": "stretto-schedule/1", "kind": kind, "units": units, "chunks": chunks, **more}


A, B, ALL = "cpu:0", "cpu:1", "cpu:0-1"
SCHEDULES = [
    schedule("serial", [A] * 4),
    schedule("serial", [A] * 4, host_beside=True),
    schedule("serial", [A] * 4, speculation={"draft": "lookup", "longest": 6}),
    schedule("batched", [A] * 4, streams=3, micro_batch=4),
    schedule("batched", [A] * 4, streams=6, host_beside=True),
]
SCHEDULES_OF_TWO = [
    schedule("threads", [ALL] * 4, pipelined=True, micro_batch=3),
    schedule("placed", [A, A, B, B], pipelined=True, micro_batch=4),
    schedule("placed", [A, B, A, B], host_beside=True),
    schedule("staged", [A, A, B, B], streams=4),
    schedule("staged", [A, B, A, B], streams=6, batch=2, host_beside=True, pipelined=True, micro_batch=2),
    schedule("staged", [A, A, A, B], streams=3, speculation={"draft": "lookup", "longest": 3}),
    schedule("handover", [B] * 4, prompt_unit=A, more_units=[A], streams=4, batch=4),
    schedule("handover", [B] * 4, prompt_unit=A, more_units=[A], streams=3, host_beside=True),
    schedule("replicas", [A, B], streams=4, batch=2),
    schedule("replicas", [A, B], streams=2, speculation={"draft": "lookup", "longest": 15}),
]


def costs_of(of):
    """A table for the schedule's units, in which each chunk takes a second, whatever the call has."""
    chunks = [str(c + 1) for c in range(4)]
    second = [[1, 1e9], [256, 1e9]]
    return {
        "schema": "stretto-costs/1",
        "chunks": [{"name": c} for c in chunks],
        "units": [{"name": u} for u in of["units"]],
        "costs": [{"chunk": c, "unit": u, "decode_ns": second, "prefill_ns": second} for c in chunks for u in of["units"]],
    }


class Schedules(support.CommandTest):
    def with_schedule(self, text, *options, jobs=None, model=LLAMA):
        """Words and input of a run with this schedule."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        self.addCleanup(os.unlink, file.name)
        words = ["run", "-m", model, "--prompts", "-", "--ignore-eos", "--schedule", file.name, *options]
        return words, lines(jobs or prompts(7))

    def test_ids_of_every_schedule_are_verified(self):
        schedules = SCHEDULES + (SCHEDULES_OF_TWO if CORES > 1 else [])
        for model in (LLAMA, GEMMA):
            for sampling in ((), ("--temp", "1", "--top-k", "40")):
                for one in schedules:
                    with self.subTest(model=model, schedule=one):
                        words, jobs = self.with_schedule(one, "--verify", *sampling, model=model)
                        result = support.run(*words, stdin=jobs)
                        text = result.stderr.decode()
                        self.assertEqual(result.returncode, 0, text)
                        self.assertEqual(len(result.stdout.splitlines()), 7)
                        self.assertIn("verified: the ids of 7 prompts", text)

    def test_one_prompt(self):
        words = ["run", "-q", "-m", LLAMA, "-p", "hello", "-n", "24", "--dump-ids", "--ignore-eos"]
        expected = self.ids(*words)
        self.assertEqual(self.ids(*words, "--speculate", "lookup"), expected)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(schedule("serial", [A] * 4, host_beside=True), file)
            file.flush()
            self.assertEqual(self.ids(*words, "--schedule", file.name), expected)

    def test_a_plan_s_threads_are_those_of_its_run(self):
        if CORES < 2:
            self.skipTest("one core has one thread")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schedule.json")
            words = ("--units", "cpu:0+1", "--threads", 1, "-k", 2, "-p", 4, "-n", 4, "--for", "throughput", "-o", path)
            self.done_json("plan", "-m", LLAMA, *words)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["threads"], [1])
            run = ("run", "-m", LLAMA, "-p", "hello", "-n", 2, "--schedule")
            placement = self.done_json(*run, path)["model"]["placement"]
            self.assertEqual({chunk["threads"] for chunk in placement}, {1})
            with open(path, "w", encoding="utf-8") as file:
                json.dump(schedule("batched", ["cpu:0+1"] * 4, streams=2), file)
            placement = self.done_json(*run, path)["model"]["placement"]
            self.assertEqual({chunk["threads"] for chunk in placement}, {2})

    def test_measured_beside_predicted(self):
        one = schedule("serial", [A] * 4)
        one["predicted"] = {"tokens_per_s": 123.0, "ttft_ns": 5e6, "prefill_tokens_per_s": 50}
        alike = [{"id": i, "prompt": "the cat sat on a mat", "n": 8} for i in range(3)]

        def said(of, jobs, *options):
            words, text = self.with_schedule(of, *options, jobs=jobs)
            return support.run(*words, stdin=text).stderr.decode()

        text = said(one, alike)
        self.assertRegex(text, r"measured: [\d.]+ tokens/s")
        self.assertRegex(text, r"predicted: 123\.0 tokens/s.*first token after 5\.0 ms")
        self.assertRegex(text, r'not to be compared: .*no "workload"')
        tokens = len(self.ids("tokenize", "-m", LLAMA, "-p", alike[0]["prompt"], "--bos"))
        one["workload"] = {"streams": 3, "prompt_tokens": tokens, "generated_tokens": 8}
        quotients = r"measured over predicted: [\d.]+ for tokens/s, [\d.]+ for prompts, [\d.]+ for the first token"
        self.assertRegex(said(one, alike), quotients)
        self.assertRegex(said(one, [dict(alike[0], n=9)] + alike[1:]), quotients)  # a token is no other workload
        for jobs in (alike[:2], [dict(alike[0], n=16)] + alike[1:], [dict(alike[0], prompt="a cat " * 9)] + alike[1:]):
            text = said(one, jobs)
            self.assertNotIn("measured over predicted", text)
            self.assertIn(f"not to be compared: predicted for 3 prompts of {tokens} tokens, 8 generated; these were", text)
        many = dict(schedule("batched", [A] * 4, streams=3), predicted=one["predicted"], workload=one["workload"])
        self.assertNotIn("predicted", said(many, alike, "--streams", "2"))

    def test_a_prediction_near_nothing(self):
        """Quotients of hundreds of digits are told in a few."""
        one = schedule("serial", [A] * 4)
        job = {"id": 1, "prompt": "the cat sat", "n": 8}
        tokens = len(self.ids("tokenize", "-m", LLAMA, "-p", job["prompt"], "--bos"))
        one["workload"] = {"streams": 1, "prompt_tokens": tokens, "generated_tokens": 8}
        one["predicted"] = {"tokens_per_s": 1e-300, "prefill_tokens_per_s": 1e-290, "ttft_ns": 1e-280}
        words, text = self.with_schedule(one, jobs=[job])
        result = support.run(*words, stdin=text)
        self.assertEqual(result.returncode, 0, result.stderr)
        number = r"\d(?:\.\d+)?e\+\d+"
        quotients = f"measured over predicted: {number} for tokens/s, {number} for prompts, {number} for the first token\n"
        self.assertRegex(result.stderr.decode(), quotients)

    def test_a_prediction_for_another_model(self):
        told = "the schedule was planned for"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schedule.json")
            self.done_json("plan", "-m", LLAMA, "-p", 4, "-n", 4, "-o", path)
            run = ["run", "-p", "hello", "-n", "2", "--schedule", path, "-m"]
            self.assertNotIn(told, support.run(*run, LLAMA).stderr.decode())
            self.assertIn(told, support.run(*run, LLAMA.replace("F32", "Q8_0")).stderr.decode())

    def account(self, of, jobs, *options):
        """What a run says on standard error, and the rates of its summary."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            words, text = self.with_schedule(of, "--summary", path, *options, jobs=jobs)
            result = support.run(*words, stdin=text)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)
        self.assertEqual(summary["schema"], "stretto-run/1")
        self.assertEqual(summary["prompts"], len(jobs))
        self.assertEqual(summary["schedule"]["kind"], of["kind"])
        return result.stderr.decode(), summary["rates"]

    def test_how_much_of_the_difference_the_steps_are(self):
        alike = [{"id": i, "prompt": "the cat sat on a mat", "n": 8} for i in range(3)]
        tokens = len(self.ids("tokenize", "-m", LLAMA, "-p", alike[0]["prompt"], "--bos"))
        planned = {
            "predicted": {"tokens_per_s": 1.0, "ttft_ns": 1e9, "prefill_tokens_per_s": 1},
            "workload": {"streams": 3, "prompt_tokens": tokens, "generated_tokens": 8},
        }
        steps = r"steps took ([\d.]+) times as long as planned, those of prompts ([\d.]+)\n"
        rest = r"stretto: the rest: ([\d.]+) for tokens/s, [\d.]+ for prompts, ([\d.]+) for the first token\n"
        schedules = [schedule("serial", [A] * 4), schedule("batched", [A] * 4, streams=3)]
        if CORES > 1:
            schedules += [
                schedule("staged", [A, A, B, B], streams=3, pipelined=True),
                schedule("placed", [A, A, A, B], pipelined=True, micro_batch=2),
                schedule("replicas", [A, B], streams=2),
                schedule("handover", [A] * 4, prompt_unit=B, units=[A, B], streams=2),
            ]
        for one in schedules:
            with self.subTest(schedule=one):
                text, rates = self.account(dict(one, **planned, costs=costs_of(one)), alike)
                said, left = re.search(steps, text), re.search(rest, text)
                self.assertTrue(said and left, text)
                for line in text.splitlines():
                    if "steps took" in line or "the rest" in line:
                        self.assertLessEqual(len(re.sub(r"[\d.]+", "0.00", line)), 80)
                factors, measured = rates["steps_over_planned"], rates["measured"]
                self.assertAlmostEqual(float(said[1]), factors["decode"], delta=0.006)
                self.assertAlmostEqual(float(said[2]), factors["prefill"], delta=0.006)
                self.assertEqual([u["unit"] for u in factors["units"]], one["units"])
                # A chunk was to take a second; what it took is all that the simulation knows, without any host.
                self.assertTrue(0 < factors["decode"] < 0.2 and 0 < factors["prefill"] < 0.2, factors)
                again = rates["predicted_with_steps"]
                self.assertAlmostEqual(float(left[1]), measured["tokens_per_s"] / again["tokens_per_s"], delta=0.006)
                # One stream after the other: its decode steps add up to the same, in whatever order some were slow.
                if one["kind"] == "serial":
                    self.assertGreater(again["tokens_per_s"], measured["tokens_per_s"])

    def test_why_steps_are_not_compared(self):
        alike = [{"id": i, "prompt": "the cat sat on a mat", "n": 8} for i in range(3)]
        tokens = len(self.ids("tokenize", "-m", LLAMA, "-p", alike[0]["prompt"], "--bos"))
        one = schedule("serial", [A] * 4)
        one["predicted"] = {"tokens_per_s": 1.0, "ttft_ns": 1e9}
        one["workload"] = {"streams": 3, "prompt_tokens": tokens, "generated_tokens": 8}
        other = costs_of(one)
        other["units"][0]["name"] = "npu"
        other["costs"] = [dict(c, unit="npu") for c in other["costs"]]
        draft = {"speculation": {"draft": "lookup", "longest": 4}}
        full = dict(costs_of(one), memories=[{"name": "m", "bytes": 5}])
        full["units"] = [dict(full["units"][0], memory="m")]
        full["chunks"] = [dict(c, weight_bytes=9) for c in full["chunks"]]
        cases = [
            (one, 'the schedule has no "costs"'),
            (dict(one, costs=other), "of other units or chunks"),
            (dict(one, costs=full), "too little memory"),
            (dict(one, costs=costs_of(one), **draft), "depends on the text"),
        ]
        for of, why in cases:
            text, rates = self.account(of, alike)
            self.assertRegex(text, "measured over predicted: .*\n.*steps are not compared: .*" + why)
            self.assertIn(why, rates["steps_not_compared"])
            self.assertNotIn("predicted_with_steps", rates)
        text, rates = self.account(dict(one, costs=costs_of(one)), alike[:2])
        self.assertIn("predicted for 3 prompts", rates["not_compared"])
        self.assertNotIn("steps", text)

    def test_the_account_of_one_prompt(self):
        one = schedule("serial", [A] * 4)
        tokens = len(self.ids("tokenize", "-m", LLAMA, "-p", "the cat sat", "--bos"))
        one["predicted"] = {"tokens_per_s": 1.0, "ttft_ns": 1e9, "prefill_tokens_per_s": 1}
        one["workload"] = {"streams": 1, "prompt_tokens": tokens, "generated_tokens": 8}
        one["costs"] = costs_of(one)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(one, file)
            file.flush()
            words = ["run", "-m", LLAMA, "-p", "the cat sat", "-n", 8, "--ignore-eos", "--schedule", file.name, "--json"]
            rates = self.done_json(*words)["rates"]
        self.assertEqual(rates["predicted"]["ttft_ns"], 1e9)
        self.assertGreater(rates["predicted_with_steps"]["tokens_per_s"], rates["measured"]["tokens_per_s"])
        self.assertLess(rates["steps_over_planned"]["decode"], 0.2)

    def test_a_summary_is_for_prompts_and_must_be_writable(self):
        result = support.run("run", "-m", LLAMA, "-p", "hello", "--summary", "x.json")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn(b"--summary is for --prompts", result.stderr)
        words = ["run", "-m", LLAMA, "--prompts", "-", "--summary", "/nowhere/x.json"]
        result = support.run(*words, stdin=lines(prompts(2)))
        self.assertEqual(result.returncode, FAILED)
        self.assertIn(b"/nowhere/x.json", result.stderr)
        self.assertEqual(result.stdout, b"")

    def test_a_summary_does_not_replace_what_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {name: os.path.join(folder, name) for name in ("model.gguf", "jobs.jsonl", "plan.json")}
            shutil.copy(LLAMA, files["model.gguf"])
            with open(files["jobs.jsonl"], "w", encoding="utf-8") as file:
                file.write(lines(prompts(1)))
            with open(files["plan.json"], "w", encoding="utf-8") as file:
                json.dump(schedule("serial", [A] * 4), file)
            link = os.path.join(folder, "link")
            os.symlink(files["model.gguf"], link)
            before = {path: open(path, "rb").read() for path in files.values()}
            words = ["run", "-m", files["model.gguf"], "--schedule", files["plan.json"], "--prompts"]
            for path in (*files.values(), link):
                self.fails(USAGE, *words, files["jobs.jsonl"], "--summary", path, says="is read: a result cannot replace it")
            with open(files["jobs.jsonl"], "rb") as file:
                command = [STRETTO, *words, "-", "--summary", files["jobs.jsonl"]]
                result = subprocess.run(command, stdin=file, capture_output=True, timeout=60, check=False)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn(b"standard input is read", result.stderr)
            self.assertEqual({path: open(path, "rb").read() for path in files.values()}, before)
            self.done(*words, files["jobs.jsonl"], "--summary", os.path.join(folder, "summary.json"))

    def test_auto(self):
        jobs = lines(prompts(6))
        result = support.run("run", "-m", LLAMA, "--prompts", "-", "--schedule", "auto", "--verify", stdin=jobs)
        text = result.stderr.decode()
        self.assertEqual(result.returncode, 0, text)
        self.assertEqual(len(result.stdout.splitlines()), 6)
        for said in ("schedule: ", "measured: ", "predicted: ", "verified: ", "not to be compared: predicted for 6 prompts"):
            self.assertIn(said, text)
        alike = lines([{"id": i, "prompt": "the cat sat", "n": 8} for i in range(6)])
        result = support.run(
            "run", "-m", LLAMA, "--prompts", "-", "--schedule", "auto", "--streams", "2", "--ignore-eos", stdin=alike
        )
        for said in ("measured over predicted: ", "steps took ", "the rest: "):
            self.assertIn(said, result.stderr.decode())

    def test_streams_of_the_command_line_win(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            words, jobs = self.with_schedule(
                schedule("handover", [B] * 4, prompt_unit=A, more_units=[A], streams=4, batch=2)
                if CORES > 1
                else schedule("batched", [A] * 4, streams=2),
                *("--streams", "5", "--summary", path),
            )
            self.assertIn("in 5 streams", support.run(*words, stdin=jobs).stderr.decode())
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)
            self.assertEqual(support.undocumented(summary, "RUN.md", "PLAN.md", "PROBE-JSON.md"), [])
            run = summary["schedule"]
        self.assertEqual((run["streams"], run["batch"]), (5, 3 if CORES > 1 else 5))

    def test_refused_before_anything_runs(self):
        good = schedule("batched", [A] * 4, streams=2)
        cycle = json.loads(json.dumps(good))
        cycle["chunks"][1]["after"] = [3]
        cases = [
            (cycle, ["chunk"]),
            (dict(good, chunks=good["chunks"][:3]), ["chunk 4 is missing"]),
            (dict(good, units=["cpu:99"], chunks=[dict(c, unit="cpu:99") for c in good["chunks"]]), ["99"]),
            (dict(good, kind="staged"), ["staged"]),
            (dict(good, kind="faster"), ["faster"]),
            (dict(good, units=["npu"], chunks=[dict(c, unit="npu") for c in good["chunks"]]), ["npu", "cpu:N"]),
            (dict(good, units=["cpu:0,cpu:0"], chunks=[dict(c, unit="cpu:0,cpu:0") for c in good["chunks"]]), ["list"]),
            (dict(good, units=[]), ["units: expected at least one"]),
            (dict(good, chunks=[{"chunk": 1, "layers": [0, 99], "unit": A}]), ["no layer 99"]),
            (dict(good, predicted=3), ["predicted"]),
            (dict(good, predicted={"ttft_ns": 1e300}), ["predicted.ttft_ns"]),
            (dict(good, workload={"streams": 0}), ["workload.streams"]),
            (dict(good, costs=[]), ["costs"]),
            (dict(good, costs={"schema": "stretto-costs/1"}), ["costs", "chunks"]),
            (dict(good, costs=dict(costs_of(good), unit=[])), ["costs", '"unit"', '"units"']),
            (dict(good, streams=0), ["streams"]),
            (
                schedule("serial", [A] * 4, host_beside=True, speculation={"draft": "lookup", "longest": 4}),
                ["host_beside", "speculation"],
            ),
            ("{", ["line 1"]),
            (" \n", ["empty"]),
        ]
        for text, says in cases:
            with self.subTest(schedule=text):
                words, jobs = self.with_schedule(text)
                result = support.run(*words, stdin=jobs)
                last = result.stderr.decode().strip().splitlines()[-1]
                self.assertEqual(result.returncode, REFUSED, last)
                self.assertEqual(result.stdout, b"")
                for word in [words[words.index("--schedule") + 1], *says]:
                    self.assertIn(word, last)
        self.fails(REFUSED, "run", "-m", LLAMA, "-p", "x", "--schedule", "/dev/zero", says=["/dev/zero", "larger than 1 MiB"])
        words, jobs = self.with_schedule(dict(good, streams=256), "--ctx", "100000000")
        self.fails(REFUSED, *words, stdin=jobs, says=["too little memory", A, "256 streams"])

    def test_draft_model(self):
        if CORES < 2:
            self.skipTest("one core")
        drafts = {"draft": "model", "longest": 4, "unit": B, "model": os.path.join(GOLDEN, "tiny-llama-Q4_1.gguf")}
        serial = dict(schedule("serial", [A] * 4, more_units=[B]), speculation=drafts)
        for sampling in ((), ("--temp", "1")):
            words, jobs = self.with_schedule(serial, "--verify", *sampling)
            self.assertEqual(len(self.done(*words, stdin=jobs).splitlines()), 7)
        words, _ = self.with_schedule(serial)
        words[words.index("--prompts") : words.index("--prompts") + 2] = ["-p", "hello", "-n", "24"]
        told = self.done_json(*words)
        counts = told["speculation"]  # whether guesses pay on so small a model is for the moment to say
        self.assertEqual(set(counts), {"passes", "guessed", "right"})
        self.assertLessEqual(counts["right"], counts["guessed"])
        self.assertEqual(counts["passes"] + counts["right"], 23)  # each pass brings a token, each right guess another
        for model, says in ((GEMMA, "vocabulary"), ("/nonexistent.gguf", "/nonexistent.gguf")):
            drafts["model"] = model
            words, jobs = self.with_schedule(serial)
            result = support.run(*words, stdin=jobs)
            self.assertIn(result.returncode, (REFUSED, FAILED))
            self.assertEqual(result.stdout, b"")
            self.assertIn(says, result.stderr.decode())
        del drafts["model"]  # as in a plan from a cost table
        words, jobs = self.with_schedule(serial)
        self.fails(REFUSED, *words, stdin=jobs, says=[words[words.index("--schedule") + 1], '"model"', '"speculation"'])

    def test_options_beside_a_schedule(self):
        words, jobs = self.with_schedule(SCHEDULES[0])
        self.fails(USAGE, *words, "--threads", "1", stdin=jobs, says="--threads")
        self.fails(USAGE, *words, "--speculate", "lookup", stdin=jobs, says="--speculate")
        self.fails(USAGE, *words, "--streams", "4", stdin=jobs, says=["--streams 4", "one stream"])
        self.fails(FAILED, "run", "-m", LLAMA, "-p", "x", "--schedule", "/nonexistent", says="/nonexistent")
        both = ["run", "-m", LLAMA, "--schedule", "-"]
        self.fails(USAGE, *both, "--prompts", "-", stdin=jobs, says=["standard input", "--prompts"])
        self.fails(USAGE, *both, "--ids", "-", stdin=jobs, says=["standard input", "--ids"])
        self.fails(USAGE, *both, stdin=jobs, says=["standard input", "the prompt"])
        self.done(*both, "-p", "x", "-n", "1", stdin=json.dumps(SCHEDULES[0]))


class Refused(support.CommandTest):
    def refuses(self, line, *says):
        good = '{"id": 1, "prompt": "a", "n": 1}\n'
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(good.encode() + line + b"\n")
            file.flush()
            self.fails(
                REFUSED, "run", "-m", LLAMA, "--prompts", file.name, says=[os.path.basename(file.name), "line 2", *says]
            )

    def test_lines(self):
        self.refuses(b'{"id": 2, "prompt": "a"', "no JSON")
        self.refuses(b"[" * 100000, "no JSON")
        self.refuses(b'{"id": 2, "prompt": "\xff"}', "no JSON")
        self.refuses(b'{"id": 2, "id": 3, "prompt": "a"}', "no JSON")
        self.refuses(b"[1]", "a list", "object")
        self.refuses(b'{"prompt": "a"}', '"id"')
        self.refuses(b'{"id": 1.5, "prompt": "a"}', '"id" is 1.5')
        self.refuses(b'{"id": 1, "prompt": "a"}', '"id" 1', "line 1")
        self.refuses(b'{"id": 2}', '"prompt"')
        self.refuses(b'{"id": 2, "prompt": 7}', '"prompt" is 7')
        self.refuses(b'{"id": 2, "prompt": "a", "n": -1}', '"n" is -1', "0 to 1000000")
        self.refuses(b'{"id": 2, "prompt": "a", "n": 99999999999999999999}', "no JSON")
        self.refuses(b'{"id": 2, "prompt": "a", "n": "3"}', '"n" is a text')
        self.refuses(b'{"id": 2, "prompt": "a", "seed": null}', '"seed" is null')
        self.refuses(b'{"id": 2, "prompt": "a", "tokens": 3}', '"tokens"')
        self.refuses(b'{"id": 2, "prompt": "a", "sed": 3}', 'unknown key "sed"; did you mean "seed"?')

    def test_prompt_that_does_not_fit(self):
        words = ["run", "-m", LLAMA, "--prompts", "-", "--ctx", "8"]
        self.fails(REFUSED, *words, stdin=lines([{"id": 1, "prompt": "word " * 40}]), says=["line 1", "prompt", "many"])
        jobs = [{"id": i, "prompt": "word " * (30 + i % 2), "n": 1} for i in range(3)]
        self.fails(REFUSED, *words, stdin=lines(jobs), says="line 2")  # the longest

    def test_a_prompt_that_cannot_run_fails_alone(self):
        good = [dict(p, n=2) for p in prompts(5) if len(p["prompt"].split()) < 3]
        long = [{"id": x, "prompt": "word " * 40, "n": 2} for x in ("long", "longer")]
        empty = {"id": "empty", "prompt": ""}
        jobs = [long[0], *good[:1], empty, long[1], *good[1:]]
        with tempfile.TemporaryDirectory() as folder:
            summary = os.path.join(folder, "summary.json")
            words = ["run", "-m", LLAMA, "--prompts", "-", "--ignore-eos", "--verify"]
            result = support.run(*words, "--ctx", "20", "--streams", "2", "--summary", summary, stdin=lines(jobs))
            with open(summary, encoding="utf-8") as file:
                told = json.load(file)
        errors = result.stderr.decode()
        self.assertEqual(result.returncode, REFUSED, errors)
        got = {r["id"]: r for r in map(json.loads, result.stdout.splitlines())}
        self.assertEqual(len(got), len(jobs))
        for one in long:
            self.assertEqual((got[one["id"]]["ids"], got[one["id"]]["finish_reason"]), ([], "error"))
            self.assertRegex(got[one["id"]]["error"], "tokens do not fit into the context of 20: .* too many")
        self.assertEqual((got["empty"]["ids"], got["empty"]["finish_reason"]), ([], "error"))
        self.assertIn("an empty prompt has no tokens", got["empty"]["error"])
        whole = support.run(*words, stdin=lines(good))
        self.assertEqual(whole.returncode, 0, whole.stderr)
        for alone in map(json.loads, whole.stdout.splitlines()):
            self.assertEqual(got[alone["id"]]["ids"], alone["ids"])
        last = errors.strip().splitlines()[-1]
        self.assertIn(f'3 of {len(jobs)} prompts failed: standard input line 1: "prompt": ', last)
        self.assertIn(f"verified: the ids of {len(good)} prompts", errors)
        self.assertEqual((told["prompts"], told["failed"]), (len(jobs), 3))

    def test_standard_input_is_named(self):
        words = ["run", "-m", LLAMA, "--prompts", "-"]
        for line, says in (
            ('{"id": 1}', "no key"),
            ('{"id": 1, "prompt": ""}', "an empty prompt"),
            (json.dumps({"id": 1, "prompt": "word " * 600}), "do not fit"),
        ):
            self.fails(REFUSED, *words, stdin=line, says=["standard input line 1: ", says])
        words = ["run", "-m", LLAMA, "-p", "x", "--schedule", "-"]
        one = schedule("serial", [A] * 4)
        for of, says in ((dict(one, kind="serious"), "serious"), (schedule("serial", [A] * 3), "chunk 4 is missing")):
            self.fails(REFUSED, *words, stdin=json.dumps(of), says=["standard input: ", says])

    def test_a_warning_comes_once(self):
        words = ["run", "-m", LLAMA, "--prompts", "-", "--ctx", "1000"]
        result = support.run(*words, stdin=lines(prompts(5)))
        self.assertEqual(result.stderr.count(b"--ctx 1000 is more than"), 1, result.stderr)

    def test_files(self):
        self.fails(FAILED, "run", "-m", LLAMA, "--prompts", "/nonexistent/jobs", says="/nonexistent/jobs")
        self.fails(REFUSED, "run", "-m", LLAMA, "--prompts", "-", stdin=" \n\n", says="no prompts")

    def test_options(self):
        job = lines(prompts(1))
        self.fails(USAGE, "run", "-m", LLAMA, "--prompts", "-", "-p", "x", stdin=job, says="-p")
        self.fails(USAGE, "run", "-m", LLAMA, "--prompts", "-", "--json", stdin=job, says="--json")
        self.fails(USAGE, "run", "-m", LLAMA, "--prompts", "-", "--streams", "0", stdin=job, says="0")
        self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "--verify", says="--prompts")
        self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "--streams", "2", says=["--streams", "--prompts"])
        self.fails(USAGE, "run", "-m", LLAMA, "--prompts", "-", "--temp", "1e7", stdin=job, says=["--temp", "1000000"])
        self.fails(USAGE, "run", "-m", LLAMA, "--prompts", "", says="empty name")

    def test_interrupt_while_nobody_writes_to_a_pipe(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "jobs")
            os.mkfifo(pipe)
            process = subprocess.Popen(
                [STRETTO, "run", "-m", LLAMA, "--prompts", pipe], stderr=subprocess.PIPE, env=support.environment()
            )
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertIn("interrupted while opening", errors)


class Outputs(support.CommandTest):
    def start(self, count, n, stdout, *options):
        process = subprocess.Popen(
            [STRETTO, "run", "-m", LLAMA, "--prompts", "-", "--ctx", "4096", "-t", "1", "--ignore-eos", *options],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=support.environment(),
        )
        process.stdin.write(lines(prompts(count, n)).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def test_slow_reader_holds_up_the_streams_and_gets_everything(self):
        process = self.start(400, 64, subprocess.PIPE)
        time.sleep(1.5)
        self.assertIsNone(process.poll())  # the pipe is full
        out, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(sorted(json.loads(line)["id"] for line in out.splitlines()), list(range(400)))

    def test_closed_pipe(self):
        process = self.start(400, 64, subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        errors = process.communicate(timeout=120)[1].decode()
        self.assertEqual(process.returncode, FAILED, errors)
        self.assertIn("cannot write results to standard output", errors)

    def test_closed_standard_output(self):
        words = [STRETTO, "run", "-m", LLAMA, "--prompts", "-"]
        result = subprocess.run(
            ["sh", "-c", '"$@" >&-', "sh", *words],
            input=lines(prompts(20)).encode(),
            stderr=subprocess.PIPE,
            timeout=120,
        )
        self.assertEqual(result.returncode, FAILED, result.stderr)
        self.assertIn(b"standard output is closed", result.stderr)

    def test_full_device(self):
        with open("/dev/full", "wb") as full:
            process = self.start(20, 8, full)
            errors = process.communicate(timeout=120)[1].decode()
        self.assertEqual(process.returncode, FAILED, errors)
        self.assertIn("No space left", errors)

    def check_interrupted(self, out, errors, count):
        got = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(sorted(r["id"] for r in got), list(range(count)))
        reasons = {r["finish_reason"] for r in got}
        self.assertIn("cancelled", reasons)
        self.assertLessEqual(reasons, {"cancelled", "length"})
        self.assertRegex(errors.decode(), r"interrupted: \d+ prompts finished, \d+ cancelled")
        return got

    def test_interrupt_loses_no_finished_result(self):
        process = self.start(300, 500, subprocess.PIPE, "--streams", "3")
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        got = self.check_interrupted(first + out, errors, 300)
        self.assertEqual(got[0]["finish_reason"], "length")

    def test_interrupt_while_verifying(self):
        """All results are there: it is the comparison that ends, and what it had not come to is no difference."""
        process = self.start(300, 500, subprocess.PIPE, "--streams", "64", "--verify")
        out = b"".join(process.stdout.readline() for _ in range(300))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertEqual(len(out.splitlines()), 300)
        self.assertEqual(rest, b"")
        self.assertIn(b"interrupted while verifying", errors.splitlines()[-1])

    def test_interrupt_while_the_pipe_is_full(self):
        process = self.start(3000, 64, subprocess.PIPE, "--streams", "3")
        time.sleep(1.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        out, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.check_interrupted(out, errors, 3000)


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Soak(support.CommandTest):
    # The address sanitizer keeps freed memory; as little of it as it can, so that what grows is ours.
    ASAN_OPTIONS = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"

    def test_memory_stays_flat(self):
        """2,000 short prompts through 4 streams: from the 200th result on nothing grows."""
        jobs = prompts(2000, 12)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(lines(jobs))
            file.flush()
            process = subprocess.Popen(
                [STRETTO, "run", "-q", "-m", LLAMA, "--prompts", file.name, "--streams", "4", "--threads", "1"],
                stdout=subprocess.PIPE,
                env=support.environment(ASAN_OPTIONS=self.ASAN_OPTIONS),
            )
            sizes = {}
            for count, line in enumerate(process.stdout, 1):
                json.loads(line)
                if count in (200, 1900):
                    sizes[count] = resident_kb(process.pid)
            process.stdout.close()
            self.assertEqual(process.wait(timeout=300), 0)
        self.assertEqual(count, 2000)
        self.assertLess(sizes[1900] - sizes[200], 1024, sizes)


if __name__ == "__main__":
    support.main()
