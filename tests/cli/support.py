# SPDX-License-Identifier: MIT
"""What the tests of the command share: running it, and finding fixtures and models."""

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
import unittest

STRETTO = os.environ["STRETTO"]
PROJECT = os.environ["STRETTO_PROJECT"]
PAGES = os.environ["STRETTO_PAGES"]
GOLDEN = os.path.join(PROJECT, "tests", "golden")
LLAMA = os.path.join(GOLDEN, "tiny-llama-F32.gguf")
QWEN = os.path.join(GOLDEN, "tiny-qwen2-F32.gguf")
GEMMA = os.path.join(GOLDEN, "tiny-gemma3-F32.gguf")

DONE, FAILED, USAGE, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


def environment(**changes):
    """The tests' own environment without what would change results, and with these changes."""
    env = {k: v for k, v in os.environ.items() if k not in ("CHUNK_PIPELINE_SPIKE", "STRETTO_CPU", "NO_COLOR")}
    env.update({k: v for k, v in changes.items() if v is not None})
    for name in [k for k, v in changes.items() if v is None]:
        env.pop(name, None)
    return env


def run(*words, stdin=b"", cwd=None, program=STRETTO, timeout=300, **env):
    """Runs stretto; the result has returncode, and stdout and stderr as bytes."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run(
        [program, *map(str, words)],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        timeout=timeout,
        env=environment(**env),
        check=False,
    )


def waiting_bytes(reader):
    """How much stands in a pipe and has not been read."""
    return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0]


def golden(name):
    with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
        return json.load(file)


def real_model(file):
    """The path of a model that scripts/get-model fetches, or None: as in tests/support/real_model.h."""
    folder = os.environ.get("STRETTO_MODELS") or os.path.join(PROJECT, "models")
    path = os.path.join(folder, file)
    return path if os.access(path, os.R_OK) else None


class CommandTest(unittest.TestCase):
    """Checks that say what the command said when they fail."""

    def done(self, *words, **options):
        """Standard output of a command that must succeed."""
        result = run(*words, **options)
        self.assertEqual(result.returncode, DONE, result.stderr.decode(errors="replace"))
        return result.stdout

    def same_number(self, printed, value):
        """A number of a JSON result, which has ten digits, and the one it is of."""
        self.assertAlmostEqual(printed / value, 1, 8)

    def done_json(self, *words, **options):
        return json.loads(self.done(*words, "--json", **options))

    def fails(self, code, *words, says=(), **options):
        """A command that must end with this code, print no result, and name these things in one line of its error."""
        result = run(*words, **options)
        text = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, text)
        self.assertEqual(result.stdout, b"")
        last = text.strip().splitlines()[-1]
        self.assertTrue(last.startswith("stretto: "), text)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, last)
        return text

    def ids(self, *words, **options):
        """The ids on the one line of output."""
        return [int(word) for word in self.done(*words, **options).split()]


def keys_of(value):
    """All keys in a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def undocumented(value, *pages):
    """The keys of a JSON value that stand as code in none of the pages of docs/."""
    told = set()
    for page in pages:
        with open(os.path.join(PROJECT, "docs", page), encoding="utf-8") as file:
            for code in re.findall(r"```.*?```|`[^`]*`", file.read(), re.S):
                told.update(re.findall(r"\w+", code))
    return sorted(keys_of(value) - told)


def main():
    """As unittest's, but a file whose every test was skipped says so with its exit code."""
    program = unittest.main(exit=False, argv=[sys.argv[0]])
    result = program.result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
