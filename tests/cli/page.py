# SPDX-License-Identifier: MIT
"""What the tests of pages share: a page of a tiny model, reading its numbers, and a browser."""

import html.parser
import json
import math
import pathlib
import re
import shutil
import subprocess
import tempfile

import support
from support import LLAMA

BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
VOID = {"meta", "link", "br", "path", "rect"}  # without an end of their own


def figure(value):
    """Three significant figures, as in the reports."""
    if value == 0:
        return "0.00"
    decimals = max(0, 2 - math.floor(math.log10(abs(value) * (1 + 5e-4))))
    if decimals == 0:
        step = 10 ** max(0, math.floor(math.log10(abs(value) * (1 + 5e-4))) - 2)
        return f"{round(value / step) * step:.0f}"
    return f"{value:.{decimals}f}"


def figures_ms(ns):
    """What may be shown for nanoseconds that JSON has rounded."""
    return {figure((ns + change) / 1e6) for change in (-0.5, 0, 0.5)}


def ratio(value):
    size = abs(value)
    return f"{0 if size < 0.005 else value:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"


class Page(html.parser.HTMLParser):
    """The text of a document's elements, and what refers to other places."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.rows, self.findings, self.addresses, self.scripts = [], [], [], [], []
        self.data, self.text, self.hidden, self.ids = "", "", {}, set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        self.addresses += [attrs[key] for key in ("src", "href", "srcset", "action") if attrs.get(key)]
        if tag == "button":
            self.hidden[attrs.get("id")] = "hidden" in attrs
        if tag == "tr":
            self.rows.append({})
        if tag == "li":
            self.findings.append("")
        if tag == "script" and attrs.get("id") != "data":
            self.scripts.append("")
        if tag not in VOID:
            self.stack.append((tag, attrs))

    def handle_endtag(self, tag):
        while tag not in VOID and self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, attrs = self.stack[-1] if self.stack else ("", {})
        if tag == "script" and attrs.get("id") == "data":
            self.data += data
        elif tag == "script":
            self.scripts[-1] += data
        elif tag != "style":
            self.text += data
        for tag, attrs in self.stack:
            if tag == "td":
                label = attrs.get("data-label", "")
                self.rows[-1][label] = self.rows[-1].get(label, "") + data
            if tag == "th" and attrs.get("scope") == "row":
                self.rows[-1]["arrangement"] = data
            if tag == "li":
                self.findings[-1] += data


class BrowserTest(support.CommandTest):
    """Tests with a browser; skipped where there is none."""

    def browse(self, path, *options):
        """The document as the browser has it after its scripts, and what it said on its console."""
        with tempfile.TemporaryDirectory() as profile:
            words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
            words += ["--disable-background-networking", f"--user-data-dir={profile}", "--enable-logging=stderr"]
            result = subprocess.run(
                [*words, *options, "--dump-dom", pathlib.Path(path).as_uri()],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=120,
                env=support.environment(HOME=profile),
                check=False,
            )
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace")[-2000:])
        console = [line for line in result.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
        return result.stdout.decode(), console

    def check_fits(self, path):
        """Neither on a phone nor on a desktop has the page to be moved sideways."""
        copy = path.with_name("measured.html")
        script = "<script>document.title = document.documentElement.scrollWidth + ' ' + innerWidth</script></body>"
        source = re.sub(r"<meta http-equiv[^>]*>", "", path.read_text(encoding="utf-8"))
        copy.write_text(source.replace("</body>", script), encoding="utf-8")
        for width in (390, 720, 1000, 1280):
            text, _ = self.browse(copy, f"--window-size={width},900")
            content, inner = map(int, re.search(r"<title>(\d+) (\d+)</title>", text).groups())
            self.assertEqual(inner, width)
            self.assertLessEqual(content, width)


class PageTest(support.CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name, "probe.html")
        result = support.run(
            "probe", "-m", LLAMA, "--quick", "--rounds", "10", "--pairs", "1,3 2,4", "--html", cls.path, "--json"
        )
        assert result.returncode == 0, result.stderr
        cls.json = json.loads(result.stdout)
        cls.source = cls.path.read_text(encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_numbers(self, page):
        rows = [row for row in page.rows if "arrangement" in row]
        self.assertEqual(len(rows), len(self.json["pairs"]))
        for shown, row in zip(rows, self.json["pairs"]):
            if row["rounds"] == 0:
                self.assertEqual(shown[""], "not measured")
                continue
            expected = {
                f"{row['a']} alone, ms": figures_ms(row["solo_a_ns"]),
                "serial, ms": figures_ms(row["serial_ns"]),
                "parallel, ms": figures_ms(row["batched_ns" if "k" in row else "parallel_ns"]),
            }
            if "b" in row:
                expected[f"{row['b']} alone, ms"] = figures_ms(row["solo_b_ns"])
                expected[f"{row['a']} slower by"] = {ratio(row["slowdown_a"])}
                expected[f"{row['b']} slower by"] = {ratio(row["slowdown_b"])}
            for key, label in (("overlap_factor", "overlap factor"), ("speedup", "speed-up")):
                expected[label] = {"{} {} to {}".format(*(ratio(row[key][part]) for part in ("value", "lo", "hi")))}
            for label, texts in expected.items():
                self.assertIn(shown[label], texts, label)
        for row in self.json["pairs"]:
            if row["rounds"]:
                words = [row["overlap"]]
                if row["overlap"] != "undecided" or row["cause"] != "unexplained":
                    words.append(row["cause"])
                self.assertTrue([text for text in page.findings if all(word in text for word in words)], words)


class PlanPageTest(support.CommandTest):
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
            goal, score = self.json["goal"], figures_ms(expected["score_ns"])
            if goal != "ttft":
                self.assertIn(row["ms/token, predicted" if goal == "latency" else "done, ms, predicted"], score)
            self.assertEqual(row["tokens/s, predicted"], figure(predicted["tokens_per_s"]))
            self.assertEqual(row["measured"], figure(measured["tokens_per_s"]))
            above = 100 * (measured["tokens_per_s"] / predicted["tokens_per_s"] - 1)
            self.assertLess(abs(float(row["difference"].split()[0]) - above), 0.51)
            self.assertIn(row["first token, ms, predicted"], figures_ms(predicted["ttft_ns"]))
            self.assertIn(row["first token, measured"], figures_ms(measured["ttft_ns"]))
        self.assertIn(self.json["reason"], shown.text)
        self.assertEqual(json.loads(shown.data), self.json)
