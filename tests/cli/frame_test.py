# SPDX-License-Identifier: MIT
"""The frame around the subcommands: help, errors, exit codes, output that goes nowhere, man pages, completions."""

import fcntl
import os
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import termios

import support
from support import DONE, FAILED, GOLDEN, LLAMA, PAGES, REFUSED, STRETTO, USAGE

COMMANDS = [
    "probe",
    "compare",
    "audit",
    "plan",
    "spike",
    "run",
    "bench",
    "inspect",
    "tokenize",
    "logits",
    "perplexity",
    "units",
    "synth",
    "help",
]


class Help(support.CommandTest):
    def test_version(self):
        self.assertRegex(self.done("--version"), rb"^stretto \d+\.\d+\.\d+\n$")

    def test_overview_names_every_command(self):
        text = self.done("help").decode()
        self.assertEqual(text, self.done("--help").decode())
        listed = re.findall(r"^  ([a-z]+) +\S", text.split("commands:")[1].split("words:")[0], re.M)
        self.assertEqual(sorted(listed), sorted(COMMANDS))

    def test_overview_and_man_page_say_what_words_mean(self):
        man = self.done("help", "--man", "stretto").decode()
        words = re.findall(r"^  (\w+) +\S", self.done("help").decode().split("words:")[1].split("examples:")[0], re.M)
        for word in ("chunk", "unit", "overlap", "prefill", "decode", "stream", "schedule", "KV"):
            self.assertIn(word, words)
            self.assertIn(".TP\n\\fB" + word + "\\fR\n", man)

    def test_help_names_what_an_option_may_be(self):
        seen = 0
        script = self.done("help", "--completion", "zsh").decode()
        for command in COMMANDS:
            part = re.search(rf"^ +{command}\) _arguments (.*?);;$", script, re.M | re.S).group(1)
            text = self.done(command, "--help").decode().split("\noptions:\n")[1].split("\nexamples:\n")[0]
            text = " ".join(text.split())
            for name, choices in re.findall(r"--([a-z-]+)=(?:}')?\[.*\]:[^:]+:\( (.*)\)'", part):
                if command == "help":
                    continue  # every command can follow --man
                about = f" {text}".split(f" --{name} ")[1]
                for word in choices.split():
                    with self.subTest(command=command, option=name):
                        self.assertIn(word, re.split(r" --[a-z]", about)[0])
                        seen += 1
        self.assertGreater(seen, 50)

    def test_every_command_has_help_with_examples_in_80_columns(self):
        for command in COMMANDS:
            with self.subTest(command):
                text = self.done(command, "--help").decode()
                self.assertEqual(text, self.done("help", command).decode())
                self.assertIn("usage: stretto " + command, text)
                self.assertIn("examples:", text)
                self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertLessEqual(max(map(len, self.done("help").decode().splitlines())), 80)

    def test_usage_lines_break_between_brackets(self):
        for command in COMMANDS:
            with self.subTest(command):
                text = self.done(command, "--help").decode()
                for line in text[text.index("usage:") :].split("\n\n", 1)[0].splitlines():
                    self.assertEqual(line.count("["), line.count("]"), line)
                    self.assertEqual(line.count("("), line.count(")"), line)

    def test_every_result_can_be_had_as_json(self):
        for command in COMMANDS:
            if command != "help":
                self.assertIn("--json", self.done(command, "--help").decode(), command)

    def test_options_of_the_fixed_command_line(self):
        fixed = {
            "tokenize": "-m -p -f --special --bos",
            "logits": "-m --ids --at --last --top --full --json",
            "run": "-m -p -f -n --dump-ids --chunks --units --place --threads --chat --temp --top-k --top-p --min-p "
            "--repeat-penalty --seed --kv-type --ctx",
            "perplexity": "-m -f --ids --json",
            "inspect": "--json",
            "audit": "-m --json",
            "probe": "-m --like --pairs --arrangement --rounds --budget --seed --json",
            "spike": "-m -o",
            "bench": "-m -p -n -d -r --threads --json",
            "synth": "--like --type --scale -o",
            "units": "--json",
        }
        for command, options in fixed.items():
            text = self.done(command, "--help").decode()
            for option in options.split():
                self.assertRegex(text, rf"(^|\s){option}[ ,\n]", f"{command} {option}")


class Usage(support.CommandTest):
    def test_nothing_given(self):
        result = support.run()
        self.assertEqual(result.returncode, USAGE)
        self.assertEqual(result.stdout, b"")
        self.assertIn(b"usage: stretto COMMAND", result.stderr)

    def test_unknown_command_names_the_nearest(self):
        self.fails(USAGE, "porbe", says=["porbe", "did you mean probe?"])
        self.fails(USAGE, "tok", says="did you mean tokenize?")
        self.fails(USAGE, "frobnicate", says=["frobnicate", "stretto help"])
        self.fails(USAGE, "-m", "x", says="command comes first")
        self.fails(USAGE, "help", "rnu", says="did you mean run?")

    def test_a_word_without_its_option(self):
        self.fails(USAGE, "run", "smollm2", "-p", "x", says="run takes its model as an option: -m 'smollm2'")
        self.fails(USAGE, "run", "-m", LLAMA, "once upon", says="run takes its text as an option: -p 'once upon'")
        self.fails(USAGE, "plan", "-m", LLAMA, "x", says='plan does not know what to do with "x"')

    def test_help_of_a_command_either_way_round(self):
        about = self.done("run", "--help")
        self.assertEqual(self.done("--help", "run"), about)
        self.assertEqual(self.done("-h", "run"), about)
        self.fails(USAGE, "--help", "rnu", says="did you mean run?")

    def test_unknown_option_names_the_nearest(self):
        self.fails(USAGE, "run", "--promt", "x", says=["run", "--promt", "did you mean --prompt?"])
        self.fails(USAGE, "run", "--temperature", "0.7", says=["--temperature", "did you mean --temp?"])
        self.fails(USAGE, "run", "--prompts-of-mine", "x", says="did you mean --prompts?")
        self.fails(USAGE, "run", "--number-of-tokens=2", says="--number-of-tokens")
        self.fails(USAGE, "run", "-Z", says="-Z")
        self.fails(USAGE, "run", "--t", "1", says=["--t", "ambiguous"])

    def test_values(self):
        self.fails(USAGE, "run", "-n", says=["--tokens", "N"])
        self.fails(USAGE, "run", "-n", "-5", says=["--tokens", "-5"])
        self.fails(USAGE, "run", "-n", "5x", says="5x")
        self.fails(USAGE, "bench", "-d", "99999999999", says=["--depth", "from 0 to 1000000", "99999999999"])
        self.fails(USAGE, "bench", "-t", "1,0", says=["--threads", "from 1", "1,0"])
        self.fails(USAGE, "run", "-n", "99999999999999999999", says="9999999")
        self.fails(USAGE, "run", "--temp", "hot", says=["--temp", "hot"])
        self.fails(USAGE, "run", "--temp", "nan", says=["--temp", "nan"])
        self.fails(USAGE, "run", "--temp", "-1", says="--temp")
        self.fails(USAGE, "run", "--top-p", "1.5", says=["--top-p", "above 0 and up to 1"])
        self.fails(USAGE, "run", "--kv-type", "f8", says=["--kv-type", "f16 or f32", "f8"])
        self.fails(USAGE, "bench", "-m", LLAMA, "--format", "jsn", says=["text, md, csv or json", "did you mean json?"])
        self.fails(USAGE, "probe", "--arrangement", "two-units,proceses", says=["proceses", "did you mean processes?"])
        self.fails(USAGE, "probe", "--arrangement", "two-unit", says="did you mean two-units?")
        self.fails(USAGE, "synth", "--like", "smolm2-135m", "-o", "x", says="did you mean smollm2-135m?")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", "--type", "q9", "-o", "x", says=["q9", "Q5_1", "IQ4_XS"])
        self.fails(USAGE, "run", "--chat=yes", says=["--chat", "no value"])
        self.fails(USAGE, "run", "--seed", "-1", says="--seed")
        self.fails(USAGE, "logits", "--at", "1,,2", says="1,,2")
        self.fails(USAGE, "run", "surplus", says="surplus")
        self.fails(USAGE, "inspect", LLAMA, "surplus", says="surplus")

    def test_contradictions(self):
        self.fails(USAGE, "run", "-p", "x", says="-m MODEL")
        self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "-f", "y", says=["-p", "-f"])
        self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "--ids", "y", says="--ids")
        self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "-s", "y", says="--chat")
        self.fails(USAGE, "logits", "-m", LLAMA, says="--ids")
        self.fails(USAGE, "logits", "-m", LLAMA, "--ids", "-", "--at", "0", "--last", stdin="1 2", says="--last")
        self.fails(USAGE, "logits", "-m", LLAMA, "--ids", "-", "--full", stdin="1 2", says="--json")
        self.fails(USAGE, "synth", "--like", "smollm2-135m", says="-o")
        self.fails(USAGE, "spike", "-m", LLAMA, says="-o")
        self.fails(USAGE, "inspect", LLAMA, "-m", "other.gguf", says=["MODEL is given twice", LLAMA])

    def test_names_of_files_to_write(self):
        for words in (("synth", "--like", "smollm2-135m", "--output"), ("probe", "-m", LLAMA, "--trace"),
                      ("plan", "-m", LLAMA, "--save-costs"), ("spike", "-m", LLAMA, "--output")):
            self.fails(USAGE, *words, "-", says=[words[-1], "./-"])

    def test_numbers_out_of_range(self):
        run = ["run", "-m", LLAMA, "-p", "x"]
        for option, values, wanted in (
            ("--top-p", ("0", "-0.5", "1.5", "nan"), "a number above 0 and up to 1"),
            ("--repeat-penalty", ("0", "-1", "inf"), "a number above 0"),
            ("--min-p", ("-0.1", "1.1"), "a number from 0 to 1"),
        ):
            for value in values:
                self.fails(USAGE, *run, option, value, says=[option, wanted, value])

    def test_numbers_are_decimal_digits(self):
        """What the C library's readers take besides: spaces, plus signs, hexadecimal, words."""
        for text in ("0x10", "0x1p3", " 5", "5 ", "+5", "inf", "-inf", "nan", "1e400", "1,5", "5x", "", "-", ".", "1e", "\u0665"):
            with self.subTest(text):
                self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "-n", "1", "--temp", text, says=f'"{text}"')
                self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "-n", text, says=f'"{text}"')
                self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "-n", "1", "--seed", text, says=f'"{text}"')
                self.fails(USAGE, "bench", "-m", LLAMA, "--threads", text + ",x", says=text)
                self.fails(USAGE, "probe", "-m", LLAMA, "--budget", text, says=["--budget", f'"{text}"'])
                self.fails(USAGE, "run", "-m", LLAMA, "-p", "x", "--place", text + "=cpu:0", says="--place")
        for text in ("0.5", ".5", "5.", "2e-3", "1E+1", "0"):
            self.done("run", "-m", LLAMA, "-p", "x", "-n", "1", "--temp", text)


class Models(support.CommandTest):
    """A name or a path after -m. The program is copied away from the project, so that no fetched model is found."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "bin", "stretto")
        os.mkdir(os.path.dirname(self.program))
        shutil.copy(STRETTO, self.program)
        self.env = {
            "STRETTO_MODELS": None,
            "XDG_DATA_HOME": None,
            "HOME": self.folder.name,
            "cwd": self.folder.name,
            "program": self.program,
        }

    def test_missing(self):
        self.fails(FAILED, "inspect", "smollm2", says=["smollm2", "scripts/get-model smollm2"], **self.env)
        self.fails(FAILED, "inspect", "smolm2", says="did you mean smollm2?", **self.env)
        self.fails(FAILED, "inspect", "no/such.gguf", says=["no/such.gguf", "No such file"], **self.env)
        self.fails(FAILED, "inspect", "frob", says=["frob", "known name", "$STRETTO_MODELS"], **self.env)
        self.fails(FAILED, "inspect", "frob.gguf", says=["frob.gguf", "no such file here", "models"], **self.env)
        self.fails(FAILED, "inspect", self.folder.name, says=self.folder.name, **self.env)

    def check_found(self, folder, **env):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")
        shutil.copy(LLAMA, path)
        self.assertIn("llama", self.done("inspect", "smollm2", **{**self.env, **env}).decode())
        os.remove(path)

    def test_where_names_are_looked_for(self):
        at = self.folder.name
        self.check_found(os.path.join(at, "mine"), STRETTO_MODELS=os.path.join(at, "mine"))
        self.check_found(os.path.join(at, "models"))
        self.check_found(os.path.join(at, "models"), cwd="/")
        self.check_found(os.path.join(at, "data", "stretto", "models"), XDG_DATA_HOME=os.path.join(at, "data"))
        self.check_found(os.path.join(at, ".local", "share", "stretto", "models"))

    def test_any_file_of_a_models_folder_goes_by_its_name(self):
        mine = os.path.join(self.folder.name, "mine")
        os.mkdir(mine)
        shutil.copy(LLAMA, os.path.join(mine, "my-model.gguf"))
        env = {**self.env, "STRETTO_MODELS": mine}
        for name in ("my-model", "my-model.gguf"):
            self.assertIn(b"architecture llama", self.done("inspect", name, **env))
        self.fails(USAGE, "probe", "my-model", says="my-model is a model, not a job: -m my-model", **env)
        self.fails(FAILED, "inspect", "../mine/my-model", says="No such file", **env)

    def test_a_file_of_that_name_wins(self):
        shutil.copy(LLAMA, os.path.join(self.folder.name, "smollm2"))
        self.assertIn(b"llama", self.done("inspect", "smollm2", **self.env))


class Refused(support.CommandTest):
    def test_truncated_file_names_tensor_and_bytes(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file, open(LLAMA, "rb") as whole:
            file.write(whole.read()[:-1000])
            file.flush()
            self.fails(REFUSED, "run", "-m", file.name, "-p", "hi", says=[file.name, "tensor", "bytes"])

    def test_not_a_model(self):
        self.fails(REFUSED, "inspect", os.path.join(GOLDEN, "perplexity.json"), says="perplexity.json")

    def test_names_out_of_a_file_do_not_steer_the_terminal(self):
        with tempfile.NamedTemporaryFile(suffix="\x1b[31m.gguf") as file:
            file.write(b"GGUF" + bytes(100))
            file.flush()
            self.assertNotIn("\x1b", self.fails(REFUSED, "inspect", file.name))
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file, open(LLAMA, "rb") as whole:
            file.write(whole.read().replace(b"tiny random llama", b"\x1b[31mred\xc2\x9b llamas"))
            file.flush()
            for words in (["inspect", file.name], ["bench", "-m", file.name, "-p", "4", "-n", "0", "-r", "1"]):
                out = self.done(*words)
                self.assertIn(b"?[31mred?", out)
                self.assertNotIn(b"\x1b", out)
                self.assertNotIn(b"\xc2\x9b", out)


class Output(support.CommandTest):
    def shell(self, line):
        return subprocess.run(
            ["sh", "-c", line],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=100,
            env=support.environment(S=STRETTO, M=LLAMA),
            check=False,
        )

    def test_full_disk(self):
        for command in ("help", "units --json", "tokenize -m $M -p x", "run -q -m $M -p x -n 2", "inspect $M --json"):
            result = self.shell(f'"$S" {command} > /dev/full')
            self.assertEqual(result.returncode, FAILED, command)
            self.assertIn(b"cannot write results to standard output: No space left", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_closed_output(self):
        for command in ("help", "tokenize -m $M -p x", "run -q -m $M -p x -n 2"):
            result = self.shell(f'"$S" {command} >&-')
            self.assertEqual(result.returncode, FAILED, command)
            self.assertIn(b"standard output is closed", result.stderr)

    def test_closed_pipe_ends_a_generation(self):
        result = self.shell('{ "$S" run -q -m $M -p x -n 60 --ignore-eos --dump-ids; echo code $? >&2; } | true')
        self.assertIn(b"code 1", result.stderr)
        self.assertIn(b"Broken pipe", result.stderr)

    def test_closed_input_and_errors(self):
        result = self.shell('"$S" tokenize -m $M <&-')
        self.assertEqual(result.returncode, FAILED)
        self.assertIn(b"cannot read standard input", result.stderr)
        self.assertEqual(self.shell('"$S" tokenize -m $M -p x 2>&-').returncode, DONE)

    def test_no_colour_and_no_progress_in_a_pipe(self):
        for command in ("units", "audit -m $M -r 2", "bench -m $M -p 4 -n 2 -r 1"):
            result = self.shell(f'"$S" {command}')
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertNotIn(b"\x1b", result.stdout + result.stderr)


class Terminal(support.CommandTest):
    """What a person sees; everywhere else these tests are pipes."""

    def setUp(self):
        super().setUp()
        try:
            for fd in os.openpty():
                os.close(fd)
        except OSError as error:  # a bare root without devpts
            self.skipTest(f"no terminals here: {error}")

    def on_terminal(self, *words, columns=0, **env):
        pid, fd = os.forkpty()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
            os.execve(STRETTO, [STRETTO, *words], support.environment(**{"TERM": "xterm", **env}))
        seen = b""
        while True:
            try:
                part = os.read(fd, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            seen += part
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), DONE, seen)
        return seen.replace(b"\r\n", b"\n").decode(errors="replace")

    def test_progress_is_shown_and_erased(self):
        seen = self.on_terminal("audit", "-m", LLAMA, "-r", "3")
        self.assertIn("\r\x1b[Kloading ", seen)
        shown = seen.split("\r\x1b[K")[-1]
        self.assertIn("headroom", shown)
        self.assertNotIn("auditing", shown)

    def test_progress_of_a_probe_is_one_line_of_80_columns(self):
        words = ["probe", "-m", LLAMA, "--quick", "--rounds", "40", "--pairs", "1,3", "--arrangement", "one-unit"]
        parts = self.on_terminal(*words).split("\r\x1b[K")
        lines, shown = parts[1:-1], parts[-1]
        self.assertLess(max(map(len, lines)), 80)
        self.assertFalse([line for line in lines if "\n" in line])
        told = [line for line in lines if re.match(r"probing 1 \|\| 3, one unit: round \d+ of about 40\b.*, \d+ s left$", line)]
        self.assertTrue(told, lines)
        self.assertNotIn("probing", shown)

    def test_progress_is_one_line_of_a_narrow_terminal(self):
        lines = self.on_terminal("audit", "-m", LLAMA, "-r", "3", columns=40).split("\r\x1b[K")[1:-1]
        self.assertLess(max(map(len, lines)), 40, lines)  # "loading" has a long path behind it

    def test_no_progress_on_a_dumb_terminal(self):
        self.assertNotIn("\x1b", self.on_terminal("audit", "-m", LLAMA, "-r", "3", TERM="dumb"))

    def test_text_ends_its_line(self):
        seen = self.on_terminal("run", "-q", "-m", LLAMA, "-p", "hello", "-n", "3")
        self.assertTrue(seen.endswith("\n"))
        self.assertFalse(self.done("run", "-q", "-m", LLAMA, "-p", "hello", "-n", "3").endswith(b"\n"))

    def test_no_text_and_nothing_to_read(self):
        pid, fd = os.forkpty()
        if pid == 0:
            os.execve(STRETTO, [STRETTO, "tokenize", "-m", LLAMA], support.environment())
        self.assertIn(b"no text given", os.read(fd, 1000))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), USAGE)
        os.close(fd)


class Pages(support.CommandTest):
    def test_man_pages_are_well_formed(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        pages = os.path.join(PAGES, "man")
        self.assertEqual(sorted(os.listdir(pages)), sorted(["stretto.1"] + [f"stretto-{c}.1" for c in COMMANDS]))
        for name in os.listdir(pages):
            result = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", os.path.join(pages, name)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                check=False,
            )
            self.assertEqual((result.returncode, result.stderr), (0, b""), name)
            self.assertIn(b"EXIT STATUS", re.sub(rb"\x1b\[\d*m|.\x08", b"", result.stdout), name)

    def test_man_page_has_every_option(self):
        for command in COMMANDS:
            page = self.done("help", "--man", command).decode().replace("\\-", "-")
            for option in re.findall(r"(--[a-z-]+)", self.done(command, "--help").decode().split("options:")[1]):
                self.assertIn(option, page)

    def test_zsh_completion_parses(self):
        text = self.done("help", "--completion", "zsh")
        self.assertTrue(text.startswith(b"#compdef stretto\n"))
        for command in COMMANDS:
            self.assertTrue(f"{command}) _arguments".encode() in text, command)
        if shutil.which("zsh"):
            self.assertEqual(subprocess.run(["zsh", "-n"], input=text, check=False).returncode, 0)


class BashCompletion(support.CommandTest):
    """Asks the completion itself what it offers."""

    def offers(self, *words, cwd=GOLDEN, **environment):
        script = self.done("help", "--completion", "bash").decode()
        script += f"\nCOMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _stretto\n"
        script += "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
        result = subprocess.run(
            ["bash", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **environment},
            check=True,
        )
        self.assertEqual(result.stderr, b"")
        return [line for line in result.stdout.decode().split("\n") if line]

    def test_commands(self):
        self.assertEqual(self.offers("stretto", "pe"), ["perplexity"])
        self.assertGreater(set(self.offers("stretto", "")), set(COMMANDS))
        self.assertEqual(self.offers("stretto", "help", "pe"), ["perplexity"])
        self.assertEqual(set(self.offers("stretto", "help", "--man", "")), set(COMMANDS))

    def test_options_and_values(self):
        self.assertEqual(self.offers("stretto", "run", "--kv"), ["--kv-type"])
        self.assertEqual(self.offers("stretto", "run", "--kv-type", "f3"), ["f32"])
        self.assertEqual(self.offers("stretto", "run", "--kv-type", "=", "f3"), ["f32"])
        self.assertEqual(self.offers("stretto", "run", "--kv-type", "="), ["f16", "f32"])
        self.assertEqual(self.offers("stretto", "probe", "--arrangement", "one-unit,tw"), ["one-unit,two-units"])
        self.assertEqual(self.offers("stretto", "run", "-m", "smol"), ["smollm2"])
        self.assertEqual(self.offers("stretto", "inspect", "tiny-llama-F"), ["tiny-llama-F32.gguf"])
        self.assertEqual(
            sorted(self.offers("stretto", "probe", "tiny-llama-F")), ["tiny-llama-F32.gguf", "tiny-llama-F32.json"]
        )
        self.assertEqual(self.offers("stretto", "run", "-f", "perp"), ["perplexity.json"])
        self.assertEqual(self.offers("stretto", "run", "-n", "x"), [])

    def test_names_of_files_are_not_taken_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("my model.gguf", "my $(touch made).gguf", "my notes.txt"):
                with open(os.path.join(folder, name), "w", encoding="ascii"):
                    pass
            files = ["my $(touch made).gguf", "my model.gguf"]
            self.assertEqual(sorted(self.offers("stretto", "run", "-f", "my", cwd=folder)), files + ["my notes.txt"])
            here = self.offers("stretto", "run", "-m", "my", cwd=folder, STRETTO_MODELS="/dev/null")
            self.assertEqual(sorted(here), files)
            there = self.offers("stretto", "run", "-m", "my", STRETTO_MODELS=folder)
            self.assertEqual(sorted(there), ["my $(touch made)", "my model"])
            self.assertEqual(len(os.listdir(folder)), 3)


if __name__ == "__main__":
    support.main()
