# SPDX-License-Identifier: MIT
"""Commands on a stack of 128 KiB, which `ulimit -s`, and some systems from the start, leave them."""

import os
import tempfile
import unittest

import support
from support import LLAMA, STRETTO

ON_SMALL_STACK = 'ulimit -S -s 128 && exec "$0" "$@"'


@unittest.skipIf(os.environ["STRETTO_SANITIZE"], "sanitizers have frames of their own")
class SmallStack(support.CommandTest):
    def on_small_stack(self, *words, **options):
        return self.done("-c", ON_SMALL_STACK, STRETTO, *words, program="/bin/sh", **options)

    def test_one_prompt_is_as_elsewhere(self):
        words = ("run", "-m", LLAMA, "--ids", "-", "-n", 4, "--ignore-eos", "--dump-ids")
        self.assertEqual(self.on_small_stack(*words, stdin="1 2 3"), self.done(*words, stdin="1 2 3"))
        self.on_small_stack(*words, "--speculate", "lookup", stdin="1 2 3")

    def test_many_prompts(self):
        prompt = '{"id": "%d", "prompt": "a", "n": 3}\n'
        words = ("run", "-m", LLAMA, "--prompts", "-", "--streams", 2, "--verify")
        self.on_small_stack(*words, stdin="".join(prompt % i for i in range(3)))

    def test_schedules_are_compared_and_written(self):
        with tempfile.TemporaryDirectory() as folder:
            schedule = os.path.join(folder, "schedule.json")
            words = ("-m", LLAMA, "--units", "cpu:0", "-p", 4, "-n", 4, "--streams", 2)
            self.on_small_stack("plan", *words, "-o", schedule)
            self.on_small_stack("run", "-m", LLAMA, "--schedule", schedule, "-p", "a", "-n", 2)

    def test_what_opens_a_model(self):
        self.on_small_stack("inspect", LLAMA)
        self.on_small_stack("inspect", LLAMA, "--json")
        self.on_small_stack("bench", "-m", LLAMA, "-p", 4, "-n", 2)
        self.on_small_stack("audit", "-m", LLAMA)


if __name__ == "__main__":
    support.main()
