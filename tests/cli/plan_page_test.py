# SPDX-License-Identifier: MIT
"""The plan's page: it loads nothing, shows the numbers of the JSON, and is right in a real browser where there is one."""

import json
import pathlib
import re
import tempfile
import unittest

import page
import support
from support import FAILED, LLAMA


class Pages(page.BrowserTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name, "plan.html")
        words = ("--for", "throughput", "-k", 3, "-p", 8, "-n", 8, "--chunks", 2, "--check", "-r", 1)
        result = support.run("plan", "-m", LLAMA, *words, "--html", cls.path, "--json")
        assert result.returncode == 0, result.stderr
        cls.json = json.loads(result.stdout)
        cls.source = cls.path.read_text(encoding="utf-8")
        cls.possible = [row for row in cls.json["schedules"] if row["possible"]]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_numbers(self, shown):
        rows = [row for row in shown.rows if "arrangement" in row]
        self.assertEqual([row["arrangement"] for row in rows], [row["title"] for row in self.possible])
        for row, expected in zip(rows, self.possible):
            predicted, measured = expected["predicted"], expected["measured"]
            self.assertEqual(row["tokens/s, predicted"], page.figure(predicted["tokens_per_s"]))
            self.assertEqual(row["measured"], page.figure(measured["tokens_per_s"]))
            above = 100 * (measured["tokens_per_s"] / predicted["tokens_per_s"] - 1)
            self.assertLess(abs(float(row["difference"].split()[0]) - above), 0.51)
            self.assertIn(row["first token, ms, predicted"], page.figures_ms(predicted["ttft_ns"]))
            self.assertIn(row["first token, measured"], page.figures_ms(measured["ttft_ns"]))
        self.assertIn(self.json["reason"], shown.text)
        self.assertEqual(json.loads(shown.data), self.json)

    def test_source_shows_the_numbers_of_the_json(self):
        self.check_numbers(page.Page(self.source))

    def test_loads_nothing(self):
        shown = page.Page(self.source)
        self.assertEqual({address for address in shown.addresses if not address.startswith("#")}, {"data:,"})
        self.assertLessEqual({address[1:] for address in shown.addresses if address.startswith("#")}, shown.ids)
        self.assertNotIn("url(", self.source)
        self.assertEqual(len(shown.scripts), 1)

    def test_every_schedule_is_drawn_predicted_above_measured(self):
        parts = re.split(r'<section class="card" id="schedule\d+">', self.source)[1:]
        self.assertEqual(len(parts), len(self.possible))
        for part, row in zip(parts, self.possible):
            pictures = re.findall(r'<svg viewBox="0 0 1000 ([\d.]+)".*?</svg>', part, re.S)
            self.assertEqual(len(pictures), len(row["schedule"]["units"]) + 1)  # and the host, predicted alone
            self.assertEqual(len(set(pictures)), 2)
            tops = {float(y) for y in re.findall(r'<rect class="(?:prefill|decode)[^"]*" x="[\d.]+" y="([\d.]+)"', part)}
            self.assertEqual(len(tops), 2, part)
            self.assertRegex(part, r"<title>[^<]+: 0.00 to [\d.]+ ms \([\d.]+\)</title>")
            for x, width in re.findall(r'<rect class="[^"]*" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', part):
                self.assertLessEqual(float(x) + float(width), 1000)

    def test_places_that_cannot_be_written(self):
        self.fails(FAILED, "plan", "-m", LLAMA, "--html", "/proc/nowhere/x.html", says="/proc/nowhere/x.html")

    @unittest.skipUnless(page.BROWSER, "no browser: chromium-headless-shell is not installed")
    def test_in_a_browser(self):
        text, console = self.browse(self.path)
        self.assertEqual(console, [])
        shown = page.Page(text)
        self.check_numbers(shown)
        self.assertEqual(shown.hidden, {"save": False})  # the script ran

    @unittest.skipUnless(page.BROWSER, "no browser: chromium-headless-shell is not installed")
    def test_fits_a_phone_and_a_desktop(self):
        self.check_fits(self.path)


if __name__ == "__main__":
    support.main()
