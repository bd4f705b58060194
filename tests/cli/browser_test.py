# SPDX-License-Identifier: MIT
"""The probe's and the plan's page in a real browser: no errors, and the numbers of the JSON. Skipped where there is no browser."""

import json
import pathlib
import tempfile
import unittest

import page
import support
from support import LLAMA

HOSTILE = "</script><b>\"&'xy"  # as long as the name in the fixture, so that nothing else moves


@unittest.skipUnless(page.BROWSER, "no browser: chromium-headless-shell is not installed")
class Browser(page.PageTest, page.BrowserTest):
    def test_no_errors_and_the_numbers_of_the_json(self):
        text, console = self.browse(self.path)
        self.assertEqual(console, [])
        shown = page.Page(text)
        self.check_numbers(shown)
        self.assertEqual(json.loads(shown.data), self.json)
        self.assertEqual(shown.hidden, {"save": False})  # the script ran

    def test_errors_would_be_seen(self):
        broken = self.path.with_name("broken.html")
        broken.write_text(self.source.replace('getElementById("save")', 'getElementById("sav")'), encoding="utf-8")
        text, console = self.browse(broken)  # and the script is not the one that the page allows
        self.assertTrue([line for line in console if "Content Security Policy" in line], console)
        self.assertEqual(page.Page(text).hidden, {"save": True})
        broken.write_text("<script>nothing.here()</script>", encoding="utf-8")
        self.assertTrue([line for line in self.browse(broken)[1] if "nothing" in line])

    def test_fits_a_phone_and_a_desktop(self):
        self.check_fits(self.path)

    def test_a_hostile_model(self):
        with open(LLAMA, "rb") as file:
            changed = file.read().replace(b"tiny random llama", HOSTILE.encode())
        self.assertIn(HOSTILE.encode(), changed)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "hostile.gguf")
            path.write_bytes(changed)
            target = pathlib.Path(folder, "probe.html")
            self.done("probe", "-m", path, "--quick", "--rounds", "2", "--arrangement", "one-unit", "--html", target)
            text, console = self.browse(target)
        self.assertEqual(console, [])
        self.assertEqual(len(page.Page(text).scripts), 1)
        self.assertIn(HOSTILE, page.Page(text).text)


@unittest.skipUnless(page.BROWSER, "no browser: chromium-headless-shell is not installed")
class PlanBrowser(page.PlanPageTest, page.BrowserTest):
    def test_no_errors_and_the_numbers_of_the_json(self):
        text, console = self.browse(self.path)
        self.assertEqual(console, [])
        shown = page.Page(text)
        self.check_numbers(shown)
        self.assertEqual(shown.hidden, {"save": False})  # the script ran

    def test_fits_a_phone_and_a_desktop(self):
        self.check_fits(self.path)


if __name__ == "__main__":
    support.main()
