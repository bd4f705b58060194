# SPDX-License-Identifier: MIT
"""The plan's page: it loads nothing, shows the numbers of the JSON, and draws every schedule."""

import re

import page
import support
from support import FAILED, LLAMA


class Source(page.PlanPageTest):
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


if __name__ == "__main__":
    support.main()
