"""Standard output and standard error that are closed, full, left by their reader, or a narrow or simple terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from veche_runs import LONGEST, QUADRATIC, SMALL, VECHE, RunsTest, assignments, wait_for

SHORT = QUADRATIC | {"run.steps": 20, "run.eval_every": 5, "run.checkpoint_every": 5}
# Until it is interrupted.
ENDLESS = QUADRATIC | {"run.steps": 10**9, "run.eval_every": 10**9, "run.checkpoint_every": 10**9}
NO_ROOM = "standard output cannot be written: No space left on device"

# Commands that print what was asked for, and work without libtorch.
ANSWERS = [["--help"], ["--version"], [], ["train", "--help"], ["train", "--keys"], ["topology", "ring:8"],
           ["topology", "ring:8", "--json"], ["topology", "compare", "ring:8", "star:8"],
           ["topology", "recommend", "--nodes", "8", "--degree", "2"], ["data", "ls"], ["data", "ls", "--json"],
           ["model", "show", "quadratic", "--set", "model.a=[1,2,3,4]", "--set", "model.b=[1,2,3,4]"],
           ["data", "inspect", "synthetic", "--json"], ["data", "inspect", "synthetic"],
           ["data", "split", *assignments({"data.name": "synthetic"})], ["model", "ls", "--json"],
           ["train", "--json", *assignments(SHORT)]]


class Streams(RunsTest):
    def shell(self, line, **options):
        """A line for sh, in which "$VECHE" is the program."""
        return subprocess.run(["sh", "-c", line], cwd=self.folder, capture_output=True, text=True, timeout=LONGEST,
                              env={**os.environ, "VECHE": VECHE}, stdin=subprocess.DEVNULL, **options)

    def assert_trained(self, name):
        run = self.run_path(name)
        self.assertEqual(run.summary()["steps"], 20)
        self.assertEqual(run.steps()[-1], 20)

    def test_full_standard_output(self):
        for words in ANSWERS:
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([VECHE, *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=LONGEST)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"veche: {NO_ROOM}\n", done.stderr)

    def test_closed_standard_output(self):
        for words in (["--version"], ["topology", "ring:8"], ["train", "--json", "-q", *assignments(SHORT, {"run.name": "a"})]):
            with self.subTest(words=words):
                done = self.shell('exec "$VECHE" "$@" >&-'.replace('"$@"', " ".join(f"'{word}'" for word in words)))
                self.assertEqual((done.returncode, done.stderr),
                                 (1, "veche: standard output cannot be written: Bad file descriptor\n"))
        self.assert_trained("a")
        done = self.shell(f'exec "$VECHE" train -q {self.quoted(SHORT, {"run.name": "b"})} >&-')  # prints nothing there
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_trained("b")

    def test_closed_or_full_standard_error(self):
        for name, to in {"a": "2>&-", "b": "2>/dev/full", "c": ">&- 2>&-", "d": "<&- >&- 2>&-"}.items():
            with self.subTest(to=to):
                self.assertEqual(self.shell(f'exec "$VECHE" train {self.quoted(SHORT, {"run.name": name})} {to}').returncode, 0)
                self.assert_trained(name)
                self.assertEqual(self.shell(f'exec "$VECHE" train nothing.toml {to}').returncode, 2)
                self.assertEqual(self.shell(f'exec "$VECHE" trian {to}').returncode, 2)

    def test_nothing_is_written_into_files_by_mistake(self):
        # With all three closed the first file opened would become standard output or error.
        done = self.shell(f'exec "$VECHE" train {self.quoted(SHORT, {"run.name": "mine"})} <&- >&- 2>&-')
        self.assertEqual(done.returncode, 0)
        for line in (self.run_path("mine").path / "metrics.jsonl").read_text().splitlines():
            json.loads(line)
        done = self.veche("train", "--resume", "runs/mine", "-q", "--set", "run.steps=25")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_log_that_fills_under_way(self):
        # The writer of a pipe whose reader has gone gets an error, as that of a full disk does.
        process = self.start("train", *assignments(SHORT | {"run.name": "mine"}))
        process.stderr.close()
        process.stdout.close()
        self.assertEqual(process.wait(LONGEST), 0)
        self.assert_trained("mine")

    def test_torch_run_with_a_full_log(self):
        settings = SMALL | {"run.steps": 8, "run.eval_every": 2, "run.name": "mine"}
        self.assertEqual(self.shell(f'exec "$VECHE" train {self.quoted(settings)} 2>/dev/full').returncode, 0)
        self.assertEqual(self.run_path("mine").summary()["steps"], 8)

    def test_reader_that_leaves(self):
        for words in ("model ls", "train --keys", "data inspect synthetic", "topology compare ring:4 ring:5 ring:6"):
            done = self.shell(f'"$VECHE" {words} | head -1')
            self.assertEqual((done.returncode, done.stderr, done.stdout.count("\n")), (0, "", 1))
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([VECHE, "train", "--json", "-q", *assignments(SHORT | {"run.name": "mine"})], cwd=self.folder,
                              stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=LONGEST)
        os.close(theirs)
        self.assertEqual((done.returncode, done.stderr), (1, "veche: standard output cannot be written: Broken pipe\n"))
        self.assert_trained("mine")

    def test_much_output_is_whole(self):
        done = self.veche("topology", "ring:20000", "--json")
        self.assertEqual(len(json.loads(done.stdout)["edges"]), 20000)
        limit = ["sh", "-c", 'ulimit -f 100; exec "$@" > out', "sh"]  # blocks of 512 bytes
        done = self.veche("topology", "ring:20000", "--json", prefix=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr, "veche: standard output cannot be written: File too large\n")

    def test_an_error_is_one_line(self):
        done = subprocess.run([VECHE, "train", "--set", "run.na\n\033[31m\xff=1"], cwd=self.folder, capture_output=True,
                              timeout=LONGEST)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"\Aveche: there is no key run\.na\\n\\x1b\[31m[^\n\033]*\n\Z")

    @staticmethod
    def quoted(*settings):
        return " ".join(f"'{word}'" for word in assignments(*settings))


class Hangup(RunsTest):
    def interrupted(self, *signals, settings={}, **options):
        process = self.start("train", *assignments(ENDLESS | {"run.name": "mine"} | settings), **options)
        self.assertTrue(wait_for((self.folder / "runs/mine/metrics.jsonl").exists, process))
        for number in signals:
            process.send_signal(number)
        return process

    def test_hangup_saves(self):
        for signals in ([signal.SIGHUP], [signal.SIGHUP, signal.SIGHUP], [signal.SIGTERM], [signal.SIGINT]):
            with self.subTest(signals=signals):
                process = self.interrupted(*signals)
                out, err = process.communicate(timeout=LONGEST)
                self.assertEqual((process.returncode, out), (130, ""), err)
                self.assertIn("saved. Go on with:\n  veche train --resume runs/mine\n", err)
                self.assertEqual(len(self.run_path("mine").steps()), 1)
                subprocess.run(["rm", "-r", self.folder / "runs"], check=True)

    def test_terminal_is_closed(self):
        ours, theirs = pty.openpty()
        # Its controlling terminal: closing the other end is SIGHUP, and errors for what is told from then on.
        process = self.interrupted(stdout=theirs, stderr=theirs, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))
        os.close(theirs)
        os.close(ours)
        self.assertEqual(process.wait(LONGEST), 130)
        self.assertEqual(len(self.run_path("mine").steps()), 1)

    def test_nohup(self):
        process = self.interrupted(signal.SIGHUP, settings={"run.checkpoint_every": 500},
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run = self.run_path("mine")
        told = max(run.steps(), default=0)
        self.assertTrue(wait_for(lambda: max(run.steps(), default=0) > told + 2000, process))  # it goes on
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LONGEST), 130)


class Terminal(RunsTest):
    """What a terminal sees: text, with carriage returns and escape codes."""

    LONG = QUADRATIC | {"run.steps": 20000, "run.eval_every": 10**6, "run.checkpoint_every": 10**6}

    def seen(self, columns, kind="xterm", words=None):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key != "TERM"}
        if kind is not None:
            environment["TERM"] = kind
        process = self.start(*(words or ["train", *assignments(self.LONG)]), stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        content, deadline = b"", time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                content += os.read(ours, 65536)
            except OSError:  # the other end is closed: the process is done
                break
        os.close(ours)
        self.assertEqual(process.wait(LONGEST), 0, content)
        return content.decode()

    def drawn(self, text):
        return re.findall(r"\r\033\[K([^\r\n]*)(?=\r\033)", text)  # not those that a line of its own replaces

    def test_simple_terminals_get_plain_lines(self):
        for kind in ("dumb", "", None):
            with self.subTest(kind=kind):
                text = self.seen(100, kind)
                self.assertNotRegex(text, "[\033█░]|\r(?!\n)")
                self.assertRegex(text, r"(?m)^step \S+  loss \d")

    def test_the_line_never_wraps(self):
        for columns in (1, 2, 20, 40, 80, 132):
            with self.subTest(columns=columns):
                lines = [line for line in self.drawn(self.seen(columns)) if line.startswith("step"[:columns - 1])]
                self.assertTrue(lines)
                self.assertLess(max(map(len, lines)), columns)
                if columns == 132:
                    self.assertRegex(lines[0], r"^step \S+ [█░]{24} loss .* left")
                if columns == 80:
                    self.assertRegex(lines[0], r"^step \S+ ([█░]{4,24} )?loss .* nodes differ")
                if columns == 20:
                    self.assertRegex(lines[0], r"^step \S+ loss")

    def test_unknown_width(self):
        lines = self.drawn(self.seen(0))
        self.assertTrue(any(re.match(r"^step \S+ [█░]{24} loss .* left", line) for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
