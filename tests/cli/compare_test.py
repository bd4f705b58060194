# SPDX-License-Identifier: MIT
"""compare: two reports of probe, unlike ones, and files that are none."""

import json
import pathlib
import tempfile

import support
from support import FAILED, GEMMA, LLAMA, REFUSED, USAGE


class Compare(support.CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        words = ["probe", "--quick", "--rounds", "10", "--pairs", "1,3", "--json", "--arrangement"]
        for name, options in (
            ("a", ["one-unit", "-m", LLAMA]),
            ("b", ["one-unit", "-m", LLAMA, "--seed", "2"]),
            ("warm", ["one-unit", "-m", LLAMA, "--cache", "warm"]),
            ("chunks", ["one-unit", "-m", LLAMA, "--chunks", "3"]),
            ("gemma", ["one-unit", "-m", GEMMA]),
        ):
            result = support.run(*words, *options)
            assert result.returncode == 0, result.stderr
            (cls.path / f"{name}.json").write_bytes(result.stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, name):
        return self.path / f"{name}.json"

    def changed(self, change):
        """A file of a report in which something was changed."""
        report = json.loads(self.file("a").read_text(encoding="utf-8"))
        change(report)
        self.file("changed").write_text(json.dumps(report), encoding="utf-8")
        return self.file("changed")

    def test_two_runs(self):
        text = self.done("compare", self.file("a"), self.file("b")).decode()
        self.assertIn("1 || 3", text)
        self.assertIn("one run a side", text)
        self.assertLessEqual(max(map(len, text.splitlines()[3:])), 80)  # the files' names may be longer
        got = self.done_json("compare", self.file("a"), self.file("b"))
        self.assertEqual(support.undocumented(got, "PROBE-JSON.md"), [])
        self.assertFalse(got["between_runs"])
        row = got["pairs"][0]
        before, after = row["before"]["overlap_factor_unit"], row["after"]["overlap_factor_unit"]
        self.assertAlmostEqual(row["factor_change"]["value"], after["value"] - before["value"], 6)
        self.assertLessEqual(row["factor_change"]["lo"], row["factor_change"]["hi"])
        self.assertEqual(set(row["time_ratio"]), {"solo_a", "solo_b", "serial", "parallel", "queued"})
        markdown = self.done("compare", self.file("a"), self.file("b"), "--format", "md").decode()
        self.assertTrue(markdown.startswith("# Two probes compared"))

    def test_the_same_twice(self):
        row = self.done_json("compare", self.file("a"), self.file("a"))["pairs"][0]
        self.assertEqual((row["factor_change"]["value"], row["factor_change"]["change"]), (0, "none"))
        self.assertFalse(row["verdict_changed"])
        self.assertEqual(row["before"], row["after"])
        original = json.loads(self.file("a").read_text(encoding="utf-8"))["pairs"][0]
        self.assertEqual(row["before"]["overlap_factor_unit"], original["overlap_factor_unit"])

    def test_several_processes(self):
        def split(report):
            report["processes"] = 5
            for row in report["pairs"]:
                row["samples"]["process"] = [i % 5 for i in range(row["rounds"])]

        got = self.done_json("compare", self.changed(split), self.file("changed"))
        self.assertTrue(got["between_runs"])
        got = self.done_json("compare", self.file("a"), self.file("changed"))
        self.assertFalse(got["between_runs"])
        self.assertIn(b"one run before", self.done("compare", self.file("a"), self.file("changed")))

    def test_unlike_things(self):
        for name, says in (
            ("warm", ["step", "warm"]),
            ("chunks", ["4 chunks", "3 chunks"]),
            ("gemma", ["llama", "gemma"]),
        ):
            words = ["a.json", name + ".json", "compared", *says]
            self.fails(REFUSED, "compare", self.file("a"), self.file(name), says=words)

    def test_other_versions_of_the_schema(self):
        path = self.changed(lambda report: report.update(schema="stretto-probe/2"))
        self.fails(
            REFUSED, "compare", self.file("a"), path, says=["changed.json", "stretto-probe/1", "stretto-probe/2"]
        )

    def test_hostile_reports(self):
        for change, says in (
            (lambda r: r["pairs"][0].update(rounds=10**18), "rounds"),
            (lambda r: r["pairs"][0]["samples"].update(solo_a_ns=[]), "solo_a_ns"),
            (lambda r: r["pairs"][0]["samples"]["serial_ns"].__setitem__(0, -1), "serial_ns[0]"),
            (lambda r: r["pairs"][0].update(arrangement="one-unti"), "one-unit"),
            (lambda r: r.update(pairs=None), "pairs"),
            (lambda r: r.update(title=7), "title"),
        ):
            with self.subTest(says):
                self.fails(REFUSED, "compare", self.file("a"), self.changed(change), says=["changed.json", says])
        for text in (b"", b"{", b"[1]", b"GGUF\0\0", b"{" * 100000, b"\xff\xfe{}"):
            self.file("changed").write_bytes(text)
            self.fails(REFUSED, "compare", self.file("changed"), self.file("a"), says="changed.json")

    def test_names_cannot_steer_a_terminal(self):
        path = self.changed(lambda report: report.update(title="\x1b[31mred"))
        out = self.done("compare", path, path)
        self.assertNotIn(b"\x1b", out)

    def test_usage(self):
        self.fails(USAGE, "compare", says="two files")
        self.fails(USAGE, "compare", self.file("a"), says="two files")
        self.fails(USAGE, "compare", self.file("a"), self.file("b"), self.file("a"), says="a.json")
        self.fails(FAILED, "compare", self.file("a"), self.file("none"), says="none.json")
        self.fails(USAGE, "compare", self.file("a"), self.file("b"), "--format", "xml", says="xml")


if __name__ == "__main__":
    support.main()
