# SPDX-License-Identifier: MIT
"""run: the same ids whatever the arrangement, text as it comes, and ways to end."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import support
from support import DONE, FAILED, GEMMA, GOLDEN, INTERRUPTED, LLAMA, REFUSED, STRETTO, USAGE

CORES = len(os.sched_getaffinity(0))
F_SETPIPE_SZ = 1031  # Linux's; Python's fcntl has it from 3.10 on


class Ids(support.CommandTest):
    """Greedy ids of the tiny models are known, and nothing but the model decides them."""

    def greedy(self, model, *options, n=16, **env):
        ids = support.golden(os.path.basename(model).replace(".gguf", ".json"))["ids"]
        return self.ids(
            "run",
            "-m",
            model,
            "--ids",
            "-",
            "-n",
            n,
            "--dump-ids",
            "--ignore-eos",
            *options,
            stdin=" ".join(map(str, ids)),
            **env,
        )

    def test_golden(self):
        for name in ("tiny-llama-F32", "tiny-gemma3-F32"):
            model = os.path.join(GOLDEN, name + ".gguf")
            for env in ({}, {"STRETTO_CPU": "scalar"}):
                self.assertEqual(self.greedy(model, **env), support.golden(name + ".json")["greedy"], (name, env))

    def test_slow_kernels(self):
        words = ("run", "-m", LLAMA, "--ids", "-", "-n", 2, "--ignore-eos")
        slow = support.run(*words, stdin="1", STRETTO_CPU="scalar").stderr.decode()
        self.assertEqual(slow.count("the scalar kernels will be several times slower"), 1, slow)
        best = self.done_json("units")["kernels"]["usable"][-1]
        fast = support.run(*words, stdin="1", STRETTO_CPU=best).stderr.decode()
        self.assertEqual(fast.count("slower"), best in ("scalar", "neon"), fast)

    def test_arrangements(self):
        for model in (LLAMA, GEMMA):
            expected = self.greedy(model, n=40)
            arrangements = [
                ["--chunks", "1"],
                ["--chunks", "2"],
                ["--chunks", "0-0,1-2,3-3"],
                ["--threads", "1"],
                ["--batch", "1"],
                ["--batch", "7"],
                ["--units", "cpu:0"],
                ["--place", "2=cpu:0"],
                ["--ctx", "200"],
            ]
            if CORES > 1:
                arrangements += [
                    ["--place", "1=cpu:0,3=cpu:1"],
                    ["--units", "cpu:0,cpu:1", "--place", "1-2=cpu:1"],
                    ["--units", "cpu:0+1"],
                    ["--units", "cpu:0-1"],
                ]
            layers = self.done_json("inspect", model)["shapes"]["layers"]
            for options in arrangements:
                if "0-0,1-2,3-3" in options and layers != 4:
                    options = ["--chunks", f"0-0,1-{layers - 1}"]
                with self.subTest(model=model, options=options):
                    self.assertEqual(self.greedy(model, *options, n=40), expected)

    def test_the_spike_changes_nothing(self):
        expected = self.greedy(LLAMA)
        words = ["run", "-m", LLAMA, "--ids", "-", "-n", "16", "--dump-ids", "--ignore-eos"]
        stdin = " ".join(map(str, support.golden("tiny-llama-F32.json")["ids"]))
        result = support.run(*words, stdin=stdin, CHUNK_PIPELINE_SPIKE="1")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual([int(word) for word in result.stdout.split()], expected)
        lines = [line for line in result.stderr.decode().splitlines() if line.startswith("[Spike]")]
        self.assertRegex(lines[0], r"chunk 1 on \S+ \|\| chunk 3 on \S+")
        for arm in ("solo_a", "solo_b", "serial", "parallel"):
            trials = [line for line in lines if line.startswith(f"[Spike] {arm} ms:")]
            self.assertEqual(len(trials), 1)
            self.assertEqual(len(trials[0].split(":")[1].split()), 10)
        self.assertIn("overlap factor", lines[-1])
        self.assertNotIn("[Spike]", support.run(*words, stdin=stdin, CHUNK_PIPELINE_SPIKE="0").stderr.decode())

    def test_the_spike_with_few_chunks(self):
        for chunks, said in (("2", "chunk 2 on"), ("1", "warning")):
            result = support.run("run", "-m", LLAMA, "-p", "x", "-n", "2", "--chunks", chunks, CHUNK_PIPELINE_SPIKE="1")
            self.assertEqual(result.returncode, DONE)
            self.assertIn(said, result.stderr.decode())

    def test_the_spike_without_room_for_it(self):
        words = ["run", "-m", LLAMA, "--ids", "-", "-c", "1", "-n", "1", "--dump-ids"]
        result = support.run(*words, stdin="5", CHUNK_PIPELINE_SPIKE="1")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(result.stdout, self.done(*words, stdin="5"))
        self.assertRegex(result.stderr.decode(), r"warning: CHUNK_PIPELINE_SPIKE=1: no spike: .*context")


class Text(support.CommandTest):
    def test_prompt_from_everywhere(self):
        words = ["run", "-m", LLAMA, "-n", "5", "--dump-ids"]
        expected = self.ids(*words, "-p", "hello")
        self.assertEqual(self.ids(*words, stdin="hello"), expected)
        self.assertEqual(self.ids(*words, "-f", "-", stdin="hello"), expected)
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"hello")
            file.flush()
            self.assertEqual(self.ids(*words, "-f", file.name), expected)

    def test_bytes_of_the_prompt_are_kept(self):
        words = ["run", "-m", LLAMA, "-n", "1", "--json"]
        for text in (b"a\r\nb", b"\xef\xbb\xbfa", b"a\0b", b"a\n"):
            n = len(self.ids("tokenize", "-m", LLAMA, stdin=text))
            self.assertEqual(json.loads(self.done(*words, stdin=text))["prompt_tokens"], n, text)

    def test_text_and_ids_agree(self):
        got = self.done_json("run", "-m", LLAMA, "-p", "hello", "-n", "30")
        self.assertEqual(len(got["ids"]), got["generated_tokens"])
        text = self.done("run", "-m", LLAMA, "-p", "hello", "-n", "30")
        self.assertEqual(
            re.sub("\ufffd+", "\ufffd", text.decode("utf-8", "replace")), re.sub("\ufffd+", "\ufffd", got["text"])
        )

    def test_bos_is_added(self):
        got = self.done_json("run", "-m", GEMMA, "-p", "hello", "-n", "1")
        self.assertEqual(got["prompt_tokens"], len(self.ids("tokenize", "-m", GEMMA, "-p", "hello", "--bos")))

    def test_json_has_the_times(self):
        got = self.done_json("run", "-m", LLAMA, "-p", "hello", "-n", "8", "--ignore-eos")
        self.assertEqual(got["finish_reason"], "length")
        self.assertGreaterEqual(got["ttft_ms"], got["prefill_ms"])
        self.assertAlmostEqual(got["decode_tokens_per_s"] / (7 / got["decode_ms"] * 1000), 1, 4)
        self.assertAlmostEqual(got["prefill_tokens_per_s"] / (got["prompt_tokens"] / got["prefill_ms"] * 1000), 1, 4)
        for key in ("version", "command_line", "seed", "load_ms"):
            self.assertIn(key, got)

    def test_speeds_on_standard_error(self):
        result = support.run("run", "-m", LLAMA, "-p", "hello", "-n", "4", "--ignore-eos")
        text = result.stderr.decode()
        self.assertRegex(text, r"prompt: \d+ tokens, [\d.]+ tokens/s; first token after [\d.]+ ms")
        self.assertRegex(text, r"decode: 3 tokens after the first, [\d.]+ tokens/s \(as many as asked for\)")
        self.assertEqual(support.run("run", "-q", "-m", LLAMA, "-p", "hello", "-n", "4").stderr, b"")

    def test_speeds_of_one_token(self):
        words = ["run", "-m", LLAMA, "--ids", "-", "--ignore-eos", "-n"]
        text = support.run(*words, "0", stdin="5").stderr.decode()
        self.assertRegex(text, r"prompt: 1 token, [\d.]+ tokens/s\n$")
        text = support.run(*words, "2", stdin="5").stderr.decode()
        self.assertIn("; first token after ", text)
        self.assertIn("decode: 1 token after the first, ", text)

    def test_nothing_asked_for(self):
        self.assertEqual(self.done("run", "-m", LLAMA, "-p", "hello", "-n", "0"), b"")
        self.assertEqual(self.done("run", "-m", LLAMA, "-p", "hello", "-n", "0", "--dump-ids"), b"\n")

    def test_no_prompt(self):
        self.fails(REFUSED, "run", "-m", LLAMA, "-p", "", says="empty")
        self.assertTrue(self.ids("run", "-m", GEMMA, "-p", "", "-n", "1", "--dump-ids"))  # its BOS is a prompt

    def test_prompt_that_does_not_fit(self):
        self.fails(
            REFUSED,
            "run",
            "-m",
            LLAMA,
            "--ids",
            "-",
            "--ctx",
            "8",
            stdin="1 2 3 4 5 6 7 8 9 10",
            says=["10 tokens", "context of 8", "2 too many"],
        )

    def test_context_fills(self):
        got = self.done_json(
            "run", "-m", LLAMA, "--ids", "-", "--ctx", "10", "-n", "50", "--ignore-eos", stdin="1 2 3 4 5"
        )
        self.assertEqual((got["finish_reason"], got["generated_tokens"]), ("context", 6))


class Sampling(support.CommandTest):
    def sample(self, *options):
        return self.ids("run", "-m", LLAMA, "-p", "hello", "-n", "30", "--dump-ids", "--ignore-eos", *options)

    def test_seeds(self):
        first = self.sample("--temp", "1.5", "--seed", "7")
        self.assertEqual(self.sample("--temp", "1.5", "--seed", "7"), first)
        self.assertEqual(self.sample("--temp", "1.5", "--seed", "7", "--chunks", "1", "--threads", "1"), first)
        self.assertNotEqual(self.sample("--temp", "1.5", "--seed", "8"), first)

    def test_filters(self):
        greedy = self.sample()
        self.assertEqual(self.sample("--temp", "2", "--top-k", "1"), greedy)
        self.assertEqual(self.sample("--temp", "2", "--top-p", "0.000001"), greedy)
        self.assertEqual(self.sample("--temp", "2", "--min-p", "1"), greedy)
        self.assertNotEqual(self.sample("--repeat-penalty", "5"), greedy)

    def test_filter_without_temperature_is_pointed_out(self):
        result = support.run("run", "-m", LLAMA, "-p", "x", "-n", "1", "--top-k", "40")
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stderr.decode(), r"stretto: warning: --top-k .*--temp")


class Units(support.CommandTest):
    def test_what_is_not_there(self):
        run = ["run", "-m", LLAMA, "-p", "x", "-n", "1"]
        self.fails(USAGE, *run, "--place", "9=cpu:0", says=["chunk 9", "--chunks"])
        self.fails(USAGE, *run, "--units", "cpu:999", says="999")
        self.fails(USAGE, *run, "--units", "gpu:0", says="gpu:0")
        self.fails(USAGE, *run, "--units", "cpu:0,", says="cpu")
        self.fails(USAGE, *run, "--place", "1:cpu:0", says=["1:cpu:0", "1=cpu:0"])
        self.fails(USAGE, *run, "--place", "0=cpu:0", says="0=cpu:0")
        self.fails(USAGE, *run, "--place", "1=cpu:0,1=cpu:0", says="chunk 1 twice")
        self.fails(USAGE, *run, "--place", "3-4=cpu:0,1-3=cpu:0", says="chunk 3 twice")
        self.fails(USAGE, *run, "--chunks", "99", says="99")
        self.fails(USAGE, *run, "--chunks", "1-2", says="1-2")
        self.fails(USAGE, *run, says=["STRETTO_CPU", "mmx", "scalar"], STRETTO_CPU="mmx")

    def test_a_place_moves_only_its_chunk(self):
        if CORES < 2:
            self.skipTest("one core")
        words = ["audit", "-m", LLAMA, "-r", "2"]
        default = self.done_json(*words)["chunks"][0]["unit"]
        units = [c["unit"] for c in self.done_json(*words, "--place", "2=cpu:1")["chunks"]]
        self.assertEqual(units, [default, "cpu:1", default, default])
        units = [c["unit"] for c in self.done_json(*words, "--place", "2=cpu:1", "--units", "cpu:0")["chunks"]]
        self.assertEqual(units, ["cpu:0", "cpu:1", "cpu:0", "cpu:0"])
        everywhere = support.run(*words, "--place", "1-4=cpu:1")
        self.assertEqual((everywhere.returncode, everywhere.stderr), (DONE, b""))

    def test_too_many_threads_are_reduced_and_said(self):
        result = support.run("run", "-m", LLAMA, "-p", "x", "-n", "4", "--threads", "1000", "--dump-ids")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertRegex(result.stderr.decode(), r"stretto: warning: 1000 threads")
        self.assertEqual(result.stdout, self.done("run", "-m", LLAMA, "-p", "x", "-n", "4", "--dump-ids"))

    def test_idle_unit_is_pointed_out(self):
        if CORES < 2:
            self.skipTest("one core")
        result = support.run("run", "-m", LLAMA, "-p", "x", "-n", "1", "--units", "cpu:0,cpu:1")
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stderr.decode(), r"warning: no chunk runs on cpu:1; --place")

    def test_one_allowed_core(self):
        allowed = os.sched_getaffinity(0)
        words = ["run", "-m", LLAMA, "-p", "hello", "-n", "8", "--dump-ids"]
        expected = self.ids(*words)
        os.sched_setaffinity(0, {min(allowed)})
        try:
            self.assertEqual(self.ids(*words), expected)
            self.assertEqual(len(self.done_json("units")["cores"]), 1)
        finally:
            os.sched_setaffinity(0, allowed)


class LostFile(support.CommandTest):
    def test_a_model_that_becomes_shorter(self):
        with tempfile.TemporaryDirectory() as folder:
            path = shutil.copy(LLAMA, folder)
            words = ["run", "-m", path, "-p", "hello", "-n", "100000", "--ctx", "100000", "--ignore-eos", "--dump-ids"]
            pipe = subprocess.PIPE
            with subprocess.Popen([STRETTO, *words], stdout=pipe, stderr=pipe, env=support.environment()) as process:
                process.stdout.read(1)
                os.truncate(path, 0)
                _, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, FAILED, errors)
        self.assertIn(b"a file became shorter", errors)


class Interrupts(support.CommandTest):
    def start(self, *words, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            [STRETTO, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=support.environment()
        )

    def test_generation_keeps_what_there_is(self):
        # The tiny model's context ends a run in a moment, so it is interrupted as soon as something has come.
        for tries in range(20):
            process = self.start(
                "run", "-m", LLAMA, "-p", "hello", "-n", "100000", "--ctx", "100000", "--ignore-eos", "--dump-ids"
            )
            first = process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            if process.returncode == INTERRUPTED:
                break
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertTrue(all(0 <= int(word) < 448 for word in (first + out).split()))
        self.assertTrue(out.endswith(b"\n"))
        self.assertRegex(errors.decode(), r"stopped after \d+ of the prompt's tokens and \d+ generated")

    def interrupted_bench(self, times):
        """Interrupts a benchmark, `times` in a row, once it has had the time for a run; what it had measured."""
        for seconds in (1, 5, 25):  # of which a busy machine or a sanitizer needs more
            process = self.start("bench", "-m", LLAMA, "-p", "0", "-n", "64", "-r", "10000", "--json")
            time.sleep(seconds)
            for _ in range(times):
                process.send_signal(signal.SIGINT)
                time.sleep(0.001)
            out, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            tests = json.loads(out)["tests"]
            if tests:
                break
        return tests

    def test_json_keeps_what_there_is(self):
        self.assertTrue(self.interrupted_bench(1)[0]["tokens_per_s"]["samples"])

    def test_one_wish_that_arrives_many_times(self):
        # A terminal signals the whole group, and a parent passes it on.
        self.assertTrue(self.interrupted_bench(5)[0]["tokens_per_s"]["samples"])

    def test_second_wish_ends_at_once(self):
        # Standard output is a full pipe that nobody reads: it must end all the same.
        process = self.start("run", "-m", LLAMA, "-p", "hello", "-n", "100000", "--ctx", "100000", "--ignore-eos")
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(timeout=20), (INTERRUPTED, -signal.SIGINT))
        process.communicate()

    def test_a_full_pipe_loses_nothing(self):
        words = ["run", "-m", LLAMA, "-p", "hello", "-n", "100000", "--ctx", "100000", "--ignore-eos", "--dump-ids"]
        reader, writer = os.pipe()
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([STRETTO, *words], stdout=writer, stderr=subprocess.PIPE, env=support.environment())
        os.close(writer)
        full = 0
        while full == 0 or full != support.waiting_bytes(reader):  # a write waits when no more comes
            self.assertIsNone(process.poll())
            full = support.waiting_bytes(reader)
            time.sleep(1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        with os.fdopen(reader, "rb") as pipe:
            out = pipe.read()
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        said = re.search(rb"stopped after \d+ of the prompt's tokens and (\d+) generated", errors)
        self.assertEqual(len(out.split()), int(said[1]))
        self.assertTrue(out.endswith(b"\n"))

    def test_a_pipe_that_nobody_reads(self):
        words = ["bench", "-m", LLAMA, "-p", "1", "-n", "0", "-r", "3000", "--format", "csv"]
        process = self.start(*words)
        while support.waiting_bytes(process.stdout.fileno()) < 60000:
            self.assertIsNone(process.poll())
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), INTERRUPTED)
        _, errors = process.communicate()
        self.assertIn(b"nobody reads standard output", errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_waiting_for_standard_input(self):
        process = self.start("tokenize", "-m", LLAMA, stdin=subprocess.PIPE)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), INTERRUPTED)
        self.assertIn(b"standard input", process.stderr.read())
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


class RealModels(support.CommandTest):
    PROMPT = "The three main reasons why people learn to cook at home are"

    def model(self, file):
        path = support.real_model(file)
        if not path:
            self.skipTest(f"no {file} (scripts/get-model fetches it)")
        return path

    def check_greedy(self, file, golden):
        case = next(p for p in support.golden(golden)["prompts"] if p["name"] == "english")["dequantized_f32"]
        sure = next((i for i, m in enumerate(case["greedy_margin"]) if m < 0.5), len(case["greedy"]))
        got = self.ids("run", "-m", self.model(file), "-p", self.PROMPT, "-n", "32", "--dump-ids")
        self.assertGreaterEqual(sure, 1)
        self.assertEqual(got[:sure], case["greedy"][:sure])

    def test_smollm2(self):
        self.check_greedy("SmolLM2-135M-Instruct.Q4_1.gguf", "real-smollm2.json")

    def test_gemma3(self):
        self.check_greedy("gemma3-270m.gguf", "real-gemma3-270m.json")

    def test_chat_ends_its_turn(self):
        got = self.done_json(
            "run",
            "-m",
            self.model("SmolLM2-135M-Instruct.Q4_1.gguf"),
            "--chat",
            "-p",
            "What is the capital of France? Answer in one word.",
        )
        self.assertEqual(got["finish_reason"], "end")
        self.assertIn("Paris", got["text"])
        self.assertNotIn("<|im_end|>", got["text"])


if __name__ == "__main__":
    support.main()
