# SPDX-License-Identifier: MIT
"""tokenize, logits and perplexity: text and ids in, numbers out."""

import json
import math
import os
import tempfile

import support
from support import GEMMA, GOLDEN, LLAMA, QWEN, REFUSED, USAGE

TINY = ["tiny-llama", "tiny-gemma3"]


class Tokenize(support.CommandTest):
    def test_golden_strings_through_a_file(self):
        for name in TINY:
            model = os.path.join(GOLDEN, f"{name}-F32.gguf")
            golden = support.golden(f"tok-{name}.json")
            for case in golden["cases"][::7]:
                text = case["text"].encode("utf-8", "surrogatepass")
                self.assertEqual(self.ids("tokenize", "-m", model, "-f", "-", stdin=text), case["ids"], case)

    def test_bytes_are_kept(self):
        ids = {
            text: self.ids("tokenize", "-m", LLAMA, stdin=text)
            for text in (b"a\nb", b"a\r\nb", b"a\nb\n", b"\xef\xbb\xbfa\nb", b"a\0b", b"a b", b"a", b"")
        }
        self.assertEqual(len(set(map(tuple, ids.values()))), len(ids), ids)
        self.assertEqual(ids[b""], [])
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\xef\xbb\xbfa\0\r\n")
            file.flush()
            from_file = self.ids("tokenize", "-m", LLAMA, "-f", file.name)
        self.assertEqual(from_file, self.ids("tokenize", "-m", LLAMA, stdin=b"\xef\xbb\xbfa\0\r\n"))

    def test_any_bytes(self):
        for text in (b"\xe6\xad", bytes(range(256)), b"\xff" * 1000):
            self.assertTrue(self.ids("tokenize", "-m", LLAMA, stdin=text))
            pieces = json.loads(self.done("tokenize", "-m", LLAMA, "--json", stdin=text))
            self.assertEqual(len(pieces["pieces"]), len(pieces["ids"]))

    def test_pieces_show_what_is_there(self):
        text = self.done("tokenize", "-m", LLAMA, "--pieces", stdin=b"a\r\n\0").decode()
        self.assertEqual([len(line.split(None, 1)) for line in text.splitlines()], [2] * len(text.splitlines()))
        for shown in ("\\r", "\\n", "\\x00"):
            self.assertIn(shown, text)

    def test_pieces_that_are_not_characters(self):
        text = self.done("tokenize", "-m", LLAMA, "--pieces", stdin=b"\xe6\xad \xff").decode("utf-8")
        for shown in ("\\xe6", "\\xad", "\\xff"):
            self.assertIn(shown, text)
        whole = self.done("tokenize", "-m", LLAMA, "--pieces", "-p", "\u00e9\u6b65").decode("utf-8")
        self.assertTrue("\u00e9" in whole or "\\xc3" in whole, whole)

    def test_special_and_bos(self):
        plain = self.ids("tokenize", "-m", GEMMA, "-p", "<bos>")
        self.assertGreater(len(plain), 1)
        self.assertEqual(self.ids("tokenize", "-m", GEMMA, "-p", "<bos>", "--special"), [2])
        self.assertEqual(self.ids("tokenize", "-m", GEMMA, "-p", "<bos>", "--bos"), [2] + plain)

    def test_needs_no_known_architecture(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file, open(LLAMA, "rb") as original:
            file.write(original.read().replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0zebra", 1))
            file.flush()
            self.assertEqual(
                self.ids("tokenize", "-m", file.name, "-p", "hello"), self.ids("tokenize", "-m", LLAMA, "-p", "hello")
            )
            self.fails(REFUSED, "run", "-m", file.name, "-p", "hi", says=["zebra", "llama", "gemma3"])

    def test_text_must_come_from_somewhere(self):
        self.fails(1, "tokenize", "-m", LLAMA, "-f", "no-such-file", says="no-such-file")
        self.fails(USAGE, "tokenize", "-m", LLAMA, "-p", "a", "-f", "b", says=["-p", "-f"])


class Logits(support.CommandTest):
    def check_golden(self, name, *options, tolerance=1e-3):
        golden = support.golden(f"{name}.json")
        model = os.path.join(GOLDEN, f"{name}.gguf")
        positions = sorted(map(int, golden["logits"]))
        got = self.done_json(
            "logits",
            "-m",
            model,
            "--ids",
            "-",
            "--full",
            "--at",
            ",".join(map(str, positions)),
            *options,
            stdin=json.dumps(golden["ids"]),
            STRETTO_CPU="scalar",
        )
        self.assertEqual([row["position"] for row in got["at"]], positions)
        for row in got["at"]:
            wanted = golden["logits"][str(row["position"])]
            self.assertEqual(len(row["logits"]), len(wanted))
            self.assertLess(
                max(abs(a - b) for a, b in zip(row["logits"], wanted)), tolerance, f"{name}, position {row['position']}"
            )

    def test_golden_logits(self):
        for name in TINY:
            self.check_golden(f"{name}-F32", "--kv-type", "f32")

    def test_argmax_at_every_position(self):
        golden = support.golden("tiny-llama-F32.json")
        n = len(golden["ids"])
        got = self.done_json(
            "logits",
            "-m",
            LLAMA,
            "--ids",
            "-",
            "--kv-type",
            "f32",
            "--at",
            ",".join(map(str, range(n))),
            stdin=" ".join(map(str, golden["ids"])),
        )
        self.assertEqual([row["argmax"] for row in got["at"]], golden["argmax_per_position"])

    def test_top_and_margin(self):
        got = self.done_json("logits", "-m", LLAMA, "--ids", "-", "--top", "3", stdin="1,13\n200")
        self.assertEqual(len(got["at"]), 1)
        row = got["at"][0]
        self.assertEqual(row["position"], 2)
        self.assertEqual(len(row["top"]), 3)
        self.assertEqual(row["top"][0][0], row["argmax"])
        self.assertAlmostEqual(row["margin"], row["top"][0][1] - row["top"][1][1], 5)
        self.assertGreaterEqual(row["top"][1][1], row["top"][2][1])
        full = self.done_json("logits", "-m", LLAMA, "--ids", "-", "--last", "--full", stdin="1 13 200")["at"][0]
        best = sorted(range(len(full["logits"])), key=lambda i: (-full["logits"][i], i))[:3]
        self.assertEqual([i for i, _ in row["top"]], best)
        self.assertEqual(
            len(self.done_json("logits", "-m", LLAMA, "--ids", "-", "--top", "1", stdin="1")["at"][0]["top"]), 1
        )

    def test_positions_in_any_order_once_each(self):
        got = self.done_json("logits", "-m", LLAMA, "--ids", "-", "--at", "2,0,2", stdin="1 13 200")
        self.assertEqual([row["position"] for row in got["at"]], [0, 2])

    def test_text_form(self):
        self.assertRegex(
            self.done("logits", "-m", LLAMA, "--ids", "-", stdin="1 13").decode(), r"^position 1, margin \d"
        )

    def test_tokens_are_shown_as_the_bytes_that_they_stand_for(self):
        text = self.done("logits", "-m", QWEN, "--ids", "-", "--top", "256", stdin="1 13").decode()
        shown = dict(line.split(None, 2)[::2] for line in text.splitlines()[1:])
        space = self.done("tokenize", "-m", QWEN, "--pieces", "-p", " ").decode().split(None, 1)
        self.assertIn(space[0], shown)
        self.assertEqual(shown[space[0]], '" "')

    def test_bad_ids(self):
        self.fails(REFUSED, "logits", "-m", LLAMA, "--ids", "-", stdin="1 13\n9x", says=["line 2", "9x"])
        self.fails(REFUSED, "logits", "-m", LLAMA, "--ids", "-", stdin="1 448", says=["448", "0 to 447"])
        self.fails(REFUSED, "logits", "-m", LLAMA, "--ids", "-", stdin="-1", says="-1")
        self.fails(REFUSED, "logits", "-m", LLAMA, "--ids", "-", stdin="99999999999999999999999", says="vocabulary")
        self.fails(REFUSED, "logits", "-m", LLAMA, "--ids", "-", stdin=" \n", says="no token ids")
        self.fails(REFUSED, "logits", "-m", LLAMA, "--ids", "-", stdin=b"1 \x00 2", says="line 1")
        self.fails(
            USAGE, "logits", "-m", LLAMA, "--ids", "-", "--at", "3", stdin="1 2 3", says=["position 3", "0 to 2"]
        )

    def test_too_many_ids_for_the_context(self):
        self.fails(
            REFUSED,
            "logits",
            "-m",
            LLAMA,
            "--ids",
            "-",
            "--ctx",
            "4",
            stdin="1 2 3 4 5 6",
            says=["6 tokens", "context of 4", "2 too many"],
        )


class Perplexity(support.CommandTest):
    def test_matches_the_logits(self):
        ids = support.golden("tiny-llama-F32.json")["ids"]
        text = " ".join(map(str, ids))
        got = self.done_json("perplexity", "-m", LLAMA, "--ids", "-", stdin=text)
        rows = self.done_json(
            "logits", "-m", LLAMA, "--ids", "-", "--full", "--at", ",".join(map(str, range(len(ids) - 1))), stdin=text
        )["at"]
        nll = [
            math.log(sum(math.exp(x) for x in row["logits"])) - row["logits"][target]
            for row, target in zip(rows, ids[1:])
        ]
        self.assertEqual(got["tokens"], len(ids))
        self.assertAlmostEqual(got["mean_nll"], sum(nll) / len(nll), 4)
        self.assertAlmostEqual(got["perplexity"] / math.exp(got["mean_nll"]), 1, 6)

    def test_text_gets_bos_and_ids_do_not(self):
        with_bos = self.ids("tokenize", "-m", GEMMA, "-p", "hello there", "--bos")
        of_text = self.done_json("perplexity", "-m", GEMMA, "-f", "-", stdin="hello there")
        of_ids = self.done_json("perplexity", "-m", GEMMA, "--ids", "-", stdin=" ".join(map(str, with_bos)))
        self.assertEqual(of_text["tokens"], len(with_bos))
        self.assertEqual(of_text["mean_nll"], of_ids["mean_nll"])

    def test_arrangement_does_not_matter(self):
        text = " ".join(map(str, support.golden("tiny-gemma3-F32.json")["ids"]))
        plain = self.done_json("perplexity", "-m", GEMMA, "--ids", "-", stdin=text)["mean_nll"]
        for options in (["--chunks", "1"], ["--chunks", "3", "--batch", "7"], ["--threads", "1"]):
            self.assertEqual(
                self.done_json("perplexity", "-m", GEMMA, "--ids", "-", *options, stdin=text)["mean_nll"], plain
            )

    def test_too_short(self):
        self.fails(REFUSED, "perplexity", "-m", LLAMA, "--ids", "-", stdin="1", says="two tokens")
        self.assertRegex(
            self.done("perplexity", "-m", LLAMA, "--ids", "-", stdin="1 2").decode(), r"^2 tokens, .*perplexity \d"
        )


if __name__ == "__main__":
    support.main()
