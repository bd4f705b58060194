# SPDX-License-Identifier: MIT
"""Job files: what a job says is what is probed, the command line wins, and bad jobs are named."""

import json
import os
import pathlib
import re
import tempfile

import support
from support import FAILED, LLAMA, PROJECT, REFUSED, USAGE

CORES = len(os.sched_getaffinity(0))
JOB = {"schema": "stretto-job/1", "command": "probe", "model": LLAMA, "rounds": 2, "cache": "warm", "quick": True}


class Job(support.CommandTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def job(self, changes=None, **more):
        """The path of a job file."""
        path = self.folder / "job.json"
        path.write_text(json.dumps({**JOB, **(changes or {}), **more}), encoding="utf-8")
        return path

    def test_what_it_says_is_probed(self):
        job = self.job(pairs=[[2, 4], [1, 2]], arrangement="one-unit", chunks=4, seed=9, budget=30, precision=0.1)
        got = self.done_json("probe", job)
        self.assertEqual([(row["a"], row["b"], row["arrangement"]) for row in got["pairs"]],
                         [("2", "4", "one-unit"), ("1", "2", "one-unit")])
        self.assertEqual((got["cache"], got["seed"], got["rounds_asked"]), ("warm", 9, 2))
        self.assertEqual((got["budget_ns"], got["precision"]), (30_000_000_000, 0.1))

    def test_forms_of_values(self):
        for changes, pairs in (
            ({"pairs": "1,3 2,4"}, [("1", "3"), ("2", "4")]),
            ({"pairs": "all", "chunks": ["0-1", "2-3"]}, [("1", "2")]),
            ({"pairs": [["1", 2]], "chunks": "0-1,2-3", "budget": "30s", "kv_type": "f32"}, [("1", "2")]),
            ({"pairs": [[1, 3]], "precision": None}, [("1", "3")]),
        ):
            with self.subTest(changes):
                got = self.done_json("probe", self.job(changes, arrangement=["one-unit"]))
                self.assertEqual([(row["a"], row["b"]) for row in got["pairs"]], pairs)

    def test_units_and_places(self):
        if CORES < 2:
            self.skipTest("one core")
        for changes in ({"units": ["cpu:1", "cpu:0"]}, {"place": {"1": "cpu:1", "3": "cpu:0"}}):
            row = self.done_json("probe", self.job(changes, pairs=[[1, 3]], arrangement="two-units"))["pairs"][0]
            self.assertEqual((row["unit_a"], row["unit_b"]), ("cpu:1", "cpu:0"))

    def test_several_arrangements(self):
        got = self.done_json("probe", self.job(pairs=[[1, 3]], arrangement=["async", "one-unit"]))
        self.assertEqual({row["arrangement"] for row in got["pairs"]}, {"one-unit", "async"})
        words = ["probe", "-m", LLAMA, "--rounds", "2", "--pairs", "1,3", "--cache", "warm"]
        got = self.done_json(*words, "--arrangement", "async,one-unit")
        self.assertEqual({row["arrangement"] for row in got["pairs"]}, {"one-unit", "async"})

    def test_what_is_written_is_read(self):
        """Several arrangements are one text on the command line, and so in the job that it writes."""
        job = self.folder / "written.json"
        words = ["-m", LLAMA, "--rounds", "2", "--quick", "--pairs", "1,3 2,4", "--cache", "warm"]
        words += ["--arrangement", "async,one-unit", "--seed", str(2**63 - 1)]
        given = self.done_json("probe", *words, "--write-job", job)
        again = self.done_json("probe", job)
        for got in (given, again):
            self.assertEqual({row["arrangement"] for row in got["pairs"]}, {"one-unit", "async"})
            self.assertEqual(got["seed"], 2**63 - 1)
        self.fails(REFUSED, "probe", self.job(arrangement="async,magic"), says=["arrangement", "magic"])

    def test_a_key_that_is_like_none(self):
        result = support.run("probe", self.job({"k" * 5000: 1}))
        self.assertEqual(result.returncode, REFUSED)
        self.assertIn(b"unknown key", result.stderr)
        self.assertNotIn(b"did you mean", result.stderr)

    def test_the_command_line_wins(self):
        job = self.job(pairs=[[2, 4]], arrangement="one-unit", seed=9)
        for words in ((job, "--seed", "3", "--pairs", "1,3"), ("--seed", "3", "--pairs", "1,3", job)):
            got = self.done_json("probe", *words)
            self.assertEqual(got["seed"], 3)
            self.assertEqual([(row["a"], row["b"]) for row in got["pairs"]], [("1", "3")])
            self.assertEqual(got["rounds_asked"], 2)

    def test_standard_input(self):
        text = json.dumps({**JOB, "pairs": [[1, 3]], "arrangement": "one-unit"})
        self.assertEqual(len(self.done_json("probe", "-", stdin=text)["pairs"]), 1)
        self.fails(REFUSED, "probe", "-", stdin="[", says="standard input")

    def test_outputs(self):
        job = self.job(pairs=[[1, 3]], arrangement="one-unit", output="reports", html="page.html")
        self.done("probe", job, cwd=self.folder)
        self.assertEqual(sorted(os.listdir(self.folder / "reports")), ["probe.csv", "probe.json", "probe.md"])
        self.assertTrue((self.folder / "page.html").stat().st_size)

    def test_what_is_written_is_the_same_job(self):
        written = self.folder / "written.json"
        words = ["--pairs", "1,3 2,4", "--arrangement", "one-unit", "--rounds", "3", "--cache", "warm", "--seed", "5"]
        words += ["--chunks", "4", "--precision", "0.125", "--kv-type", "f32", "--depth", "7", "--budget", "60s"]
        first = self.done_json("probe", "-m", LLAMA, *words, "--write-job", written)
        job = json.loads(written.read_text(encoding="utf-8"))
        self.assertEqual(job["schema"], "stretto-job/1")
        self.assertEqual((job["model"], job["seed"], job["depth"], job["kv_type"]), (LLAMA, 5, 7, "f32"))
        self.assertEqual(job["budget"], 60)  # seconds, a number as the others
        self.assertNotIn("write_job", job)
        again = self.folder / "again.json"
        second = self.done_json("probe", written, "--write-job", again)
        self.assertEqual(json.loads(again.read_text(encoding="utf-8")), job)
        for key in ("seed", "title", "cache", "rounds_asked", "budget_ns", "precision"):
            self.assertEqual(first[key], second[key])
        for a, b in zip(first["pairs"], second["pairs"]):
            for key in ("a", "b", "arrangement", "unit_a", "unit_b", "bytes_a", "operations_b"):
                self.assertEqual(a[key], b[key])
            self.assertEqual(a["samples"]["order"], b["samples"]["order"])

    def test_a_default_model_is_written_by_name(self):
        written = self.folder / "written.json"
        result = support.run("probe", "--pairs", "1,99", "--write-job", written, STRETTO_MODELS=str(self.folder))
        self.assertNotEqual(result.returncode, 0)  # no such model, or no such chunk: nothing was measured,
        self.assertFalse(written.exists())  # and nothing written

    def test_bad_jobs_are_named(self):
        for changes, says in (
            ({"modle": "x"}, ['"modle"', 'did you mean "model"?']),
            ({"kv-type": "f16"}, ['"kv-type"', '"kv_type"']),
            ({"json": True}, ['unknown key "json"']),
            ({"write_job": "x"}, ['unknown key "write_job"']),
            ({"schema": "stretto-job/2"}, ["stretto-job/1", "stretto-job/2"]),
            ({"schema": None}, ["schema"]),
            ({"command": "run"}, ["run", "probe"]),
            ({"rounds": "ten"}, ["rounds", "a whole number", '"ten"']),
            ({"rounds": -2}, ["rounds", "a whole number", "-2"]),
            ({"rounds": 1e3}, ["rounds", "a whole number", "1000"]),
            ({"rounds": 10**18}, ["rounds", "1000000"]),
            ({"precision": "0.1"}, ["precision", "a number", '"0.1"']),
            ({"precision": -1}, ["precision", "-1"]),
            ({"seed": 1.5}, ["seed", "1.5"]),
            ({"cache": "hot"}, ["cache", "step", "warm", "hot"]),
            ({"cache": 3}, ["cache", "a text", "3"]),
            ({"model": ["x"]}, ["model", "a text", "a list"]),
            ({"pairs": [1, 3]}, ["pairs", "[[1, 3], [2, 4]]", "a list"]),
            ({"pairs": [[1, 3, 4]]}, ["pairs", "a list"]),
            ({"pairs": []}, ["pairs", "a list"]),
            ({"pairs": [[1, [3]]]}, ["pairs", "a list"]),
            ({"units": [""]}, ["units", "a list"]),
            ({"units": ["cpu:0,cpu:1"]}, ["units", "a list"]),
            ({"units": {}}, ["units", "an object"]),
            ({"place": {"1,2": "cpu:0"}}, ["place", "an object"]),
            ({"place": ["cpu:0"]}, ["place", "a list"]),
            ({"arrangement": ["one-unit", "magic"]}, ["arrangement", "magic", "two-units"]),
            ({"arrangement": []}, ["arrangement", "a list"]),
        ):
            with self.subTest(changes):
                self.fails(REFUSED, "probe", self.job(changes), says=["job.json", *says])

    def test_what_the_model_refuses_is_the_jobs_fault(self):
        self.fails(REFUSED, "probe", self.job(pairs=[[1, 9]]), says=["job.json", "no chunk 9"])
        self.fails(USAGE, "probe", self.job(pairs=[[1, 3]]), "--pairs", "1,9", says="no chunk 9")

    def test_no_job_at_all(self):
        path = self.folder / "x.json"
        for text, says in (
            (b"", "x.json"),
            (b"{", "line 1"),
            (b"[]", "object"),
            (b'{"schema": "stretto-job/1", "rounds": 1, "rounds": 2}', "rounds"),
            (b'{"schema": "stretto-job/1", "model": "a\\u0000b"}', "line 1"),
            (b'{"schema": "stretto-job/1", "model": "\xff"}', "line 1"),
            (b"[" * 100000, "line 1"),
            (b'{"schema": "stretto-job/1"' + b" " * (1 << 20) + b"}", "at most"),
        ):
            with self.subTest(text[:40]):
                path.write_bytes(text)
                self.fails(REFUSED, "probe", path, says=["x.json", says])
        self.fails(REFUSED, "probe", LLAMA, says=["is a model", "-m " + LLAMA])
        self.fails(FAILED, "probe", self.folder / "none.json", says="none.json")
        self.fails(USAGE, "probe", path, path, says="x.json")

    def test_the_example_and_the_document(self):
        example = os.path.join(PROJECT, "examples", "probe-job.json")
        got = self.done_json("probe", example, "-m", LLAMA, "--rounds", "2", "--arrangement", "one-unit")
        self.assertEqual([(row["a"], row["b"]) for row in got["pairs"]], [("1", "3"), ("2", "4")])
        with open(os.path.join(PROJECT, "docs", "JOB.md"), encoding="utf-8") as file:
            named = set(re.findall(r"`([a-z_]+)`", "".join(line.split("|")[1] for line in file if line.startswith("| `"))))
        options = re.findall(r"^  (?:-\w, |    )--([a-z-]+)", self.done("probe", "--help").decode(), re.M)
        keys = {name.replace("-", "_") for name in options} - {"help", "json", "write_job"}
        self.assertEqual(named - {"schema", "command"}, keys)


if __name__ == "__main__":
    support.main()
