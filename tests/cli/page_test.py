# SPDX-License-Identifier: MIT
"""The probe's page as a file: it loads nothing, and shows the numbers of the JSON."""

import base64
import hashlib
import json
import re

import page
import support
from support import FAILED, LLAMA


class Source(page.PageTest):
    def test_source_shows_the_numbers_of_the_json(self):
        shown = page.Page(self.source)
        self.check_numbers(shown)
        self.assertEqual(json.loads(shown.data), self.json)

    def test_loads_nothing_and_names_its_only_script(self):
        shown = page.Page(self.source)
        self.assertEqual({address for address in shown.addresses if not address.startswith("#")}, {"data:,"})
        self.assertLessEqual({address[1:] for address in shown.addresses if address.startswith("#")}, shown.ids)
        self.assertNotIn("url(", self.source)
        self.assertNotIn("@import", self.source)
        self.assertEqual(len(shown.scripts), 1)
        digest = base64.b64encode(hashlib.sha256(shown.scripts[0].encode()).digest()).decode()
        self.assertIn(f"script-src 'sha256-{digest}'", self.source)

    def test_every_dot_is_a_round(self):
        dots = sum(path.count("h0") for path in re.findall(r'class="(?:dots|odd)" d="([^"]*)"', self.source))
        rounds = [row["rounds"] * (2 if "overlap_factor_unit" in row else 1) for row in self.json["pairs"]]
        self.assertEqual(dots, sum(rounds))

    def test_full_disk(self):
        result = support.run("probe", "-m", LLAMA, "--quick", "--rounds", "2", "--arrangement", "one-unit", "--html", "/dev/full")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn(b"/dev/full", result.stderr)
        self.assertIn(b"1 || 3", result.stdout)

    def test_place_that_cannot_be_written_is_known_before_measuring(self):
        self.fails(FAILED, "probe", "-m", LLAMA, "--html", "/proc/nowhere/x.html", says="/proc/nowhere/x.html")


if __name__ == "__main__":
    support.main()
