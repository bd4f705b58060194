# SPDX-License-Identifier: MIT
"""plan: the decision from a table by hand, from a probe, and measured; the files that it writes."""

import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import support
from support import FAILED, INTERRUPTED, LLAMA, PROJECT, REFUSED, STRETTO, USAGE

CORES = len(os.sched_getaffinity(0))

# Two cores, each 1 ms a chunk; both together 0.6 ms. In one call four streams cost little more than one.
TABLE = {
    "schema": "stretto-costs/1",
    "title": "by hand",
    "chunks": [{"name": str(c + 1), "weight_bytes": 1000, "kv_bytes_per_token": 10} for c in range(4)],
    "memories": [{"name": "host", "bytes": 1000000}],
    "units": [
        {"name": "cpu:0", "cores": [0], "threads": 1, "memory": "host"},
        {"name": "cpu:1", "cores": [1], "threads": 1, "memory": "host"},
        {"name": "cpu:0+1", "cores": [0, 1], "threads": 2, "memory": "host"},
    ],
    "costs": [
        {"chunk": str(c + 1), "unit": unit, "decode_ns": [[1, one], [4, four]]}
        for c in range(4)
        for unit, one, four in (("cpu:0", 1e6, 3.6e6), ("cpu:1", 1e6, 3.6e6), ("cpu:0+1", 6e5, 7e5))
    ],
}


class Plan(support.CommandTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, value, name="costs.json"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
        return path

    def test_one_stream(self):
        got = self.done_json("plan", "--costs", self.write(TABLE), "-p", 1, "-n", 16)
        best = got["schedules"][got["best"]]
        self.assertEqual(best["schedule"]["kind"], "threads")
        self.assertAlmostEqual(best["predicted"]["tokens_per_s"], 1e9 / 2.4e6)
        self.assertEqual(got["schema"], "stretto-plan/1")
        self.assertEqual(got["goal"], "latency")
        chain = [s for s in got["schedules"] if not s["possible"] and "token, 1, 2, 3, 4, token" in s["why"]]
        self.assertEqual(len(chain), 1)
        for row in got["schedules"]:
            self.assertTrue(row["possible"] or row["why"])

    def test_streams_and_the_schedule_file(self):
        path = os.path.join(self.folder.name, "best.json")
        table = self.write(TABLE)
        got = self.done_json("plan", "--costs", table, "--for", "throughput", "-p", 4, "-n", 16, "-o", path)
        with open(path, encoding="utf-8") as file:
            schedule = json.load(file)
        self.assertEqual(support.undocumented([got, schedule], "PLAN.md", "PROBE-JSON.md"), [])
        self.assertEqual(schedule["kind"], "batched")
        self.assertEqual(schedule["units"], ["cpu:0+1"])
        self.assertEqual(schedule["streams"], 4)
        costs = schedule.pop("costs")
        best = dict(got["schedules"][0]["schedule"], predicted=got["schedules"][0]["predicted"], workload=got["workload"])
        self.assertEqual(schedule, best)
        self.assertEqual([u["name"] for u in costs["units"]], ["cpu:0+1"])
        again = self.done_json("plan", "--costs", self.write(costs), "--for", "throughput", "-p", 4, "-n", 16)
        self.assertEqual(again["schedules"][0]["predicted"], schedule["predicted"])

    def test_a_handover_pays_since_both_units_work(self):
        table = dict(TABLE, chunks=TABLE["chunks"][:1], units=TABLE["units"][:2])
        table["costs"] = [
            {"chunk": "1", "unit": "cpu:0", "decode_ns": 5e6, "prefill_ns": [[64, 6.4e7]]},
            {"chunk": "1", "unit": "cpu:1", "decode_ns": 1e6, "prefill_ns": [[64, 6.4e8]]},
        ]
        got = self.done_json("plan", "--costs", self.write(table), "--for", "throughput", "-k", 4, "-p", 64, "-n", 64)
        self.assertEqual(got["schedules"][0]["schedule"]["kind"], "handover")
        self.assertIn(": one unit reads prompts while the other decodes", got["reason"])

    def test_costs_that_a_run_would_not_read_are_left_out(self):
        path = os.path.join(self.folder.name, "best.json")
        names = [str(c + 1) for c in range(64)]
        table = dict(TABLE, chunks=[{"name": name} for name in names], slowdowns=[])
        table["costs"] = [{"chunk": c, "unit": u, "decode_ns": 1e6} for c in names for u in ("cpu:0", "cpu:1")]
        table["slowdowns"] = [
            {"unit": "cpu:0", "beside": "cpu:1", "chunk": a, "beside_chunk": b, "slowdown": 1.5 + int(a) / 9 + int(b) / 99}
            for a in names
            for b in names
        ]
        words = ["plan", "--costs", self.write(table), "--streams", 2, "--for", "throughput", "-p", 4, "-n", 4, "-o", path]
        result = support.run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"without its costs", result.stderr)
        with open(path, encoding="utf-8") as file:
            schedule = json.load(file)
        self.assertEqual(len(schedule["units"]), 2)
        self.assertNotIn("costs", schedule)
        self.assertIn("predicted", schedule)

    def test_memory_is_honoured(self):
        table = dict(TABLE, memories=[{"name": "host", "bytes": 5000}])  # 4000 of weights, 40 a token
        got = self.done_json("plan", "--costs", self.write(table), "--for", "throughput", "-p", 4, "-n", 16)
        self.assertEqual(got["schedules"][0]["schedule"]["streams"], 1)
        self.assertTrue(any("too little memory" in s.get("why", "") for s in got["schedules"]))

    def nothing_is_possible(self, *words):
        result = support.run(*words, "--json")
        self.assertEqual(result.returncode, REFUSED)
        self.assertIn(b"no schedule is possible", result.stderr)
        got = json.loads(result.stdout)
        self.assertIsNone(got["best"])
        self.assertFalse(any(s["possible"] for s in got["schedules"]))
        return got

    def test_no_schedule_is_possible(self):
        table = self.write(dict(TABLE, memories=[{"name": "host", "bytes": 4000}]))
        path, page = os.path.join(self.folder.name, "none.json"), os.path.join(self.folder.name, "none.html")
        for words in ((), ("--json",), ("--format", "md"), ("--html", page), ("-o", path)):
            result = support.run("plan", "--costs", table, *words)
            self.assertEqual(result.returncode, REFUSED)
            self.assertIn(b"no schedule is possible", result.stderr)
            self.assertIn(b"too little memory", result.stdout)
            self.assertNotIn(b"tokens/s", result.stdout)  # no table without rows
        self.assertTrue(os.path.exists(page))
        self.assertFalse(os.path.exists(path))
        self.nothing_is_possible("plan", "--costs", table)

    def test_the_order_stands_in_the_first_column(self):
        table = self.write(TABLE)
        for goal, column, key in (("latency", "ms/token", "latency_ns"), ("throughput", "done, ms", "end_ns")):
            words = ("plan", "--costs", table, "--for", goal, "--streams", 1)
            text = self.done(*words).decode()
            self.assertIn(column, text.split("predicted", 1)[1].splitlines()[0])
            score = self.done_json(*words)["schedules"][0]["predicted"][key]
            row = text.split("busy\n", 1)[1].split(" %\n", 1)[0]
            self.assertAlmostEqual(float(row.split()[-7]), score / 1e6, delta=0.006 * score / 1e6)
            self.assertIn(f"in order of {column}: from handing over", text)

    def test_a_draft_model_is_not_made_up(self):
        units = [dict(TABLE["units"][0]), dict(TABLE["units"][1], draft_ns=1)]
        costs = [c for c in TABLE["costs"] if c["unit"] == units[0]["name"]]
        table = dict(TABLE, units=units, costs=costs, acceptance={"model": 1})
        path = os.path.join(self.folder.name, "drafts.json")
        result = support.run("plan", "--costs", self.write(table), "-n", 64, "-o", path)
        self.assertEqual(result.returncode, 0)
        with open(path, encoding="utf-8") as file:
            drafts = json.load(file)["speculation"]
        self.assertEqual((drafts["draft"], drafts["unit"]), ("model", units[1]["name"]))
        self.assertNotIn("model", drafts)
        self.assertIn(b'add "model"', result.stderr)

    def test_text_and_markdown(self):
        table = self.write(TABLE)
        for words in ((), ("--for", "throughput", "--acceptance", "0.5"), ("--for", "ttft")):
            lines = self.done("plan", "--costs", table, *words).decode().splitlines()
            self.assertLessEqual(max(map(len, lines)), 80)
            self.assertTrue(any(line.startswith("  best: ") for line in lines))
            markdown = self.done("plan", "--costs", table, *words, "--format", "md").decode()
            rows = [line for line in markdown.splitlines() if line.startswith("|")]
            self.assertGreater(len(rows), 4)
            self.assertEqual({row.count("|") for row in rows}, {8 if "ttft" in words else 9})

    def test_names_end_no_cell_of_a_table(self):
        text = json.dumps(TABLE).replace('"cpu:0"', json.dumps("a|b\n")).replace('"1"', json.dumps("c\t|"))
        markdown = self.done("plan", "--costs", self.write(text), "--streams", 4, "--format", "md").decode()
        rows = [line for line in markdown.splitlines() if line.startswith("|")]
        self.assertGreater(len(rows), 8)
        self.assertEqual({len(re.findall(r"(?<!\\)\|", row)) for row in rows}, {9})
        self.assertTrue(any("a\\|b? 100 %" in row for row in rows))

    def test_what_a_probe_measured(self):
        pair = {"solo_a_ns": 1000, "solo_b_ns": 1000, "a": "1", "b": "2"}
        two = dict(pair, unit_a="cpu:0", unit_b="cpu:1", slowdown_a=1.5, slowdown_b=1.5)
        back = dict(two, unit_a="cpu:1", unit_b="cpu:0")
        one = dict(pair, unit_a="cpu:0+1", unit_b="cpu:0+1", slowdown_a=1, slowdown_b=2)
        path = self.write({"schema": "stretto-probe/1", "pairs": [two, back, one]})
        got = self.done_json("plan", "--probe", path, "--for", "throughput", "-p", 1)
        self.assertAlmostEqual(got["turn"]["measured"], 0.5, places=5)
        part = self.write({"schema": "stretto-probe/1", "pairs": [two]})
        rows = self.done_json("plan", "--probe", part)["schedules"]
        self.assertIn("no cost is known of chunk 2 on cpu:0", [s.get("why") for s in rows])
        places = {tuple(c["unit"] for c in s["schedule"]["chunks"]) for s in rows if s["possible"]}
        self.assertEqual(places, {("cpu:0", "cpu:1")})  # each chunk where it was measured

    def test_a_plan_from_a_probe_of_one_pair(self):
        report = self.done("probe", "-m", LLAMA, "--arrangement", "two-units" if len(os.sched_getaffinity(0)) > 1 else "one-unit", "--rounds", 10, "--json")
        path = self.write(json.loads(report), "probe.json")
        got = self.done_json("plan", "--probe", path, "--streams", 2)
        possible = [s for s in got["schedules"] if s["possible"]]
        self.assertGreater(len(possible), 0, got)
        weights = sum(c["bytes"] for c in self.done_json("inspect", LLAMA)["chunks"])
        self.assertGreaterEqual(possible[0]["predicted"]["memory_bytes"], weights)

    def test_examples_of_the_document(self):
        with open(os.path.join(PROJECT, "docs", "PLAN.md"), encoding="utf-8") as file:
            schedule, table = re.findall(r"```json\n(.*?)```", file.read(), re.S)
        got = self.done_json("plan", "--costs", self.write(table), "--for", "ttft", "-p", 1024, "--acceptance", "0.4")
        self.assertEqual(got["costs"]["title"], "a phone")
        self.assertTrue(any("npu" in s["title"] for s in got["schedules"] if s["possible"]))
        words = ("run", "-m", LLAMA, "-p", "x", "--chunks", 4, "--schedule", self.write(schedule, "schedule.json"))
        self.assertIn(b"no layer 9", support.run(*words).stderr)  # it is well formed, but of a model of 30 layers

    def test_units_that_a_schedule_cannot_name(self):
        """Their names are cut in tables; a run would look for cores in what is left."""
        units = ["cpu:" + "+".join(map(str, range(first, 40, 2))) for first in (0, 1)]
        words = ["plan", "-m", LLAMA, "-p", "4", "-n", "4", "--threads", "1"]
        says = "too long for a schedule to name"
        self.fails(USAGE, *words, "--units", ",".join(units), says=says, HWLOC_SYNTHETIC="core:64 pu:1")

    def test_outputs_that_take_nothing(self):
        table = self.write(TABLE)
        closed = subprocess.run(
            ["sh", "-c", '"$@" >&-', "sh", STRETTO, "plan", "--costs", table], stderr=subprocess.PIPE, timeout=60, check=False
        )
        self.assertEqual(closed.returncode, FAILED, closed.stderr)
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [STRETTO, "plan", "--costs", table], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
            )
        self.assertEqual(result.returncode, FAILED, result.stderr)
        for option in ("--html", "--trace", "-o", "--save-costs"):
            result = support.run("plan", "--costs", table, option, "/dev/full")
            self.assertEqual(result.returncode, FAILED, option)
            self.assertIn(b"/dev/full", result.stderr)

    def test_one_output_that_takes_nothing_keeps_the_others(self):
        paths = [os.path.join(self.folder.name, name) for name in ("costs.out", "trace.json", "plan.json")]
        words = ["--save-costs", paths[0], "--trace", paths[1], "-o", paths[2], "--html", "/dev/full"]
        result = support.run("plan", "--costs", self.write(TABLE), *words)
        self.assertEqual(result.returncode, FAILED)
        self.assertIn(b"/dev/full", result.stderr.splitlines()[-1])
        self.assertIn(b"  best: ", result.stdout)
        for path in paths:
            self.assertGreater(os.path.getsize(path), 0, path)

    def test_a_pipe_gets_a_table_once(self):
        result = support.run("plan", "--costs", self.write(TABLE), "--save-costs", "/dev/stderr")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stderr)["schema"], "stretto-costs/1")

    def test_what_is_read_is_not_replaced(self):
        table = self.write(TABLE)
        for option in ("-o", "--html", "--trace"):
            self.fails(USAGE, "plan", "--costs", table, option, table, says=[table, "is read"])
        with open(table, encoding="utf-8") as file:
            self.assertEqual(json.load(file), TABLE)
        self.done("plan", "--costs", table, "--save-costs", table)
        self.done("plan", "--costs", table)
        self.fails(USAGE, "plan", "--probe", table, "--save-costs", table, says=[table, "is read"])
        model = os.path.join(self.folder.name, "model.gguf")
        shutil.copy(LLAMA, model)
        for option in ("-o", "--html", "--trace", "--save-costs"):
            self.fails(USAGE, "plan", "-m", model, option, model, says=[model, "is read"])
        for option in ("--html", "--trace", "--write-job"):
            self.fails(USAGE, "probe", "-m", model, option, model, says=[model, "is read"])
        job = self.write({"schema": "stretto-job/1", "command": "probe", "model": model, "html": model}, "job.json")
        self.fails(REFUSED, "probe", job, says=[model, "is read"])
        self.assertTrue(filecmp.cmp(LLAMA, model, shallow=False))

    def large(self):
        """64 chunks on 16 units."""
        return self.write(
            {
                "schema": "stretto-costs/1",
                "chunks": [{"name": str(c)} for c in range(64)],
                "units": [{"name": f"u{u}", "cores": [u]} for u in range(16)],
                "costs": [
                    {"chunk": str(c), "unit": f"u{u}", "decode_ns": 1000 + c} for c in range(64) for u in range(16)
                ],
            },
            "large.json",
        )

    def test_interrupted_while_simulating(self):
        costs = os.path.join(self.folder.name, "saved.json")
        words = ["plan", "--costs", self.large(), "-k", "256", "-n", "1000", "--save-costs", costs]
        process = subprocess.Popen([STRETTO, *words], stderr=subprocess.PIPE, env=support.environment())
        while not os.path.exists(costs):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=20)[1]
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.done("plan", "--costs", costs)

    def test_what_is_too_much_to_simulate(self):
        got = self.nothing_is_possible("plan", "--costs", self.large(), "-k", "256", "-p", "100000", "-n", "100000")
        self.assertTrue(any("too many streams, tokens or chunks" in s["why"] for s in got["schedules"]))

    def test_interrupted(self):
        """Whatever it is doing: it ends soon, and what was planned by then is shown."""
        for wait in (0.3, 2, 6):
            words = ["plan", "-m", LLAMA, "-k", "4", "-p", "64", "-n", "128", "--check", "-r", "16"]
            process = subprocess.Popen(
                [STRETTO, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=support.environment()
            )
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=200)
            self.assertEqual(process.returncode, INTERRUPTED, errors)
            self.assertTrue(out == b"" or b"  best: " in out, out)

    def test_bad_input(self):
        self.fails(USAGE, "plan", says="-m")
        table = self.write(TABLE)
        self.fails(USAGE, "plan", "--costs", table, "--probe", table, says="not both")
        for option, value in (("-m", LLAMA), ("--units", "cpu:0"), ("--chunks", "4"), ("-t", "1"), ("--like", "smollm2-135m")):
            self.fails(USAGE, "plan", "--costs", table, option, value, says=["--costs", "nothing is measured"])
        self.fails(USAGE, "plan", "--costs", table, "--for", "speed", says="latency")
        self.fails(REFUSED, "plan", "--costs", "/dev/zero", says=["/dev/zero", "larger than 64 MiB"])
        self.fails(USAGE, "plan", "--costs", table, "--acceptance", "0")
        self.fails(REFUSED, "plan", "--costs", self.write("{", "a.json"), says=["a.json", "line 1"])
        self.fails(REFUSED, "plan", "--costs", self.write(dict(TABLE, unit=[]), "b.json"), says=["b.json", '"units"'])
        self.fails(REFUSED, "plan", "--probe", table, says="stretto-probe/1")
        self.fails(REFUSED, "plan", "--costs", "-", stdin="{", says="standard input: line 1")

    def test_measured(self):
        path = os.path.join(self.folder.name, "costs.json")
        got = self.done_json("plan", "-m", LLAMA, "-p", 8, "-n", 8, "--chunks", 2, "--save-costs", path)
        self.assertEqual(len(got["costs"]["units"]), 3 if CORES > 1 else 1)
        for entry in got["costs"]["costs"]:
            self.assertEqual([p[0] for p in entry["decode_ns"]], [1, 2, 4, 8])
            self.assertEqual([p[0] for p in entry["prefill_ns"]], [1, 8])  # no call has more than the prompt
        own = [unit["choose_ns"] for unit in got["costs"]["units"]]
        self.assertGreater(min(own), 0)
        self.assertAlmostEqual(got["costs"]["host"]["choose_ns"] / (sum(own) / len(own)), 1)
        again = self.done_json("plan", "--costs", path, "-p", 8, "-n", 8)
        self.assertEqual(again["reason"], got["reason"])
        self.assertEqual(again["costs"], got["costs"])
        self.assertTrue(re.match("1 stream, 8 tokens", self.done("plan", "--costs", path, "-p", 8).decode().split("\n")[1]))

    def check_trace(self, path, got):
        """Each schedule is there as predicted and as measured, and no unit does two things at once."""
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
        for row in got["schedules"]:
            if row["possible"]:
                self.assertIn("predicted: " + row["title"], names)
                self.assertEqual("measured: " + row["title"] in names, "measured" in row)
        tracks = {}
        for e in events:
            if e["ph"] == "X":
                self.assertGreaterEqual(e["dur"], 0)
                tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
        for track in tracks.values():
            track.sort()
            for (_, end), (start, _) in zip(track, track[1:]):
                self.assertLessEqual(end, start + 0.01)

    def test_checked(self):
        words = ("plan", "-m", LLAMA, "--for", "throughput", "-k", 3, "-p", 8, "-n", 8, "--chunks", 2, "--check", "-r", 1)
        path = os.path.join(self.folder.name, "trace.json")
        got = self.done_json(*words, "--trace", path)
        self.check_trace(path, got)
        run = [s for s in got["schedules"] if s["possible"]]
        self.assertGreater(len(run), 1)
        for row in run:
            if row["schedule"].get("speculation"):
                self.assertIn("drafts", row["not_measured"])
            else:
                self.assertGreater(row["measured"]["tokens_per_s"], 0)
                self.assertGreater(row["measured"]["ttft_ns"], 0)
                self.assertGreater(row["steps_over_planned"]["decode"], 0)
                self.assertGreater(row["steps_over_planned"]["prefill"], 0)
                for key, value in row["predicted_with_steps"].items():
                    self.assertGreater(value, 0, key)
        self.assertTrue(all("measured" not in s for s in got["schedules"] if not s["possible"]))
        self.fails(USAGE, "plan", "--costs", self.write(TABLE), "--check", says="--costs")
        self.fails(USAGE, "plan", "--costs", self.write(TABLE), "--rounds", 3, says=["--rounds", "--check"])
        lines = self.done(*words).decode().splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(sum(line.startswith("    measured ") for line in lines), len(run))
        self.assertTrue(any("predicted within 10 %" in line for line in lines))
        self.assertTrue(any(line.startswith("  with steps as they took: tokens/s of ") for line in lines))

    def test_more_than_the_model_s_context(self):
        words = ("plan", "-m", LLAMA, "--units", "cpu:0", "-n", 4, "--chunks", 1, "-p")
        told = b"510 tokens of prompt and 4 to generate are more than the 512 positions"
        self.assertIn(told, support.run(*words, 510).stderr)
        self.assertNotIn(b"positions", support.run(*words, 508).stderr)

    def test_means_have_margins(self):
        words = ("plan", "-m", LLAMA, "--units", "cpu:0", "-p", 8, "-n", 4, "--chunks", 1, "--check")

        def measured(*more):
            return [s["measured"] for s in self.done_json(*words, *more)["schedules"] if "measured" in s]

        for row in measured("-r", 1):
            self.assertEqual(row["rounds"], 1)
            self.assertIsNone(row["tokens_per_s_margin"])
            self.assertIsNone(row["ttft_margin"])
        for row in measured():
            self.assertIn(row["rounds"], (4, 8, 16))
            self.assertGreater(row["tokens_per_s_margin"], 0)
            self.assertGreater(row["ttft_margin"], 0)
            if row["rounds"] < 16:
                self.assertLessEqual(row["tokens_per_s_margin"], 0.06)
                self.assertLessEqual(row["ttft_margin"], 0.06)
        few = support.run(*words, "-r", 2)
        self.assertIn(b"margins of so few runs are wide; take 4", few.stderr)
        lines = few.stdout.decode().splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex("\n".join(lines), r"\n    measured [+-]\d+ ±\d+ %, first [+-]\d+ ±\d+ % +\d")
        self.assertTrue(any("means of 2 runs each" in line for line in lines))


if __name__ == "__main__":
    support.main()
