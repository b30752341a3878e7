"""Loops as members of a grid: one is killed, one leaves and returns, one joins late; all end with the same model."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import unittest

from python_loops import SCRIPTS, environment
from veche_runs import LONGEST, RunsTest

EXAMPLE = SCRIPTS.parents[2] / "examples" / "python" / "grid.py"
STEPS = 1000  # far more than are made before "go"


TRAIN = """
import veche
veche.train({"model": {"name": "vector", "length": 4}, "run": {"name": "returns", "steps": 10**9, "eval_every": 50}},
            progress=False, on_evaluation=lambda line: print("at", line["step"], flush=True))
"""


class Member:
    def __init__(self, folder, name, *how, seed=1, last=STEPS, words=(), script=None):
        own = {"grid.listen": "127.0.0.1:0", "grid.multicast": "false", "grid.name": name, "run.out": folder / "runs"}
        if "--resume" in how:
            del own["run.out"]
        keys = [word for key, value in own.items() for word in ("--set", f"{key}={value}")]
        command = [sys.executable, "-B", "-m", "veche.launch", *how, *keys]
        command += [SCRIPTS / "grid_member.py", last, seed, *words] if script is None else [SCRIPTS / script, *words]
        # A killed member cannot remove its keys.
        self.process = subprocess.Popen(list(map(str, command)), text=True, cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=environment(TMPDIR=str(folder)))
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()

    def wait(self, pattern, since=0):
        """The first match, from line `since` on."""
        def find():
            return next(filter(None, (re.search(pattern, line) for line in self.lines[since:])), None)

        with self.changed:
            if not self.changed.wait_for(find, LONGEST):
                raise AssertionError(f"no {pattern}: {self.lines[-12:]}")
            return find()

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self):
        code = self.process.wait(LONGEST)
        self.reader.join(LONGEST)
        return code

    def clear(self):
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        self.process.stdin.close()
        self.process.stdout.close()


class Grid(RunsTest):
    def member(self, name, *how, **options):
        member = Member(self.folder, name, *how, **options)
        self.addCleanup(member.clear)
        return member

    def after(self, members, what, since):
        for member in members:
            member.wait(what, since[member])

    def test_members_come_and_go(self):
        a = self.member("a", "--found", seed=1)
        invitation = a.wait(r"VECHE1-\S+")[0]
        b, killed = (self.member(name, "--join", invitation, seed=seed) for name, seed in (("b", 2), ("c", 3)))
        other = self.member("e", "--join", invitation, seed=5, words=['{"set": {"run.seed": 77}}'])
        for one in a, b, killed:
            one.wait("^members 3 rank")
        self.assertGreater(int(b.wait(r"^begins at (\d+)")[1]), 0)  # the others have trained before

        seen = {one: len(one.lines) for one in (a, b)}
        killed.process.kill()
        self.after([a, b], "^members 2 rank", seen)

        self.assertEqual(other.end(), 1, other.lines)
        other.wait("RequestError: run.seed=77 would change the run of all")

        seen = {a: len(a.lines)}
        folder = b.wait("its folder is (.*)$")[1]
        b.process.send_signal(signal.SIGINT)
        self.assertNotEqual(b.end(), 0, b.lines)  # Python's code after a Ctrl-C
        self.after([a], "^members 1 rank 0", seen)
        seen = {a: len(a.lines)}
        b, late = self.member("b", "--resume", folder, seed=6), self.member("d", "--join", invitation, seed=4)
        self.after([a], "^members 3 rank", seen)
        for one in b, late:
            one.wait("^members 3 rank")

        for one in a, b, late:
            one.go()
        for one in a, b, late:
            self.assertEqual(one.end(), 0, one.lines)
            one.wait("^ended samples$")
        made = {one.wait(r"^made (\d+ \S+)")[1] for one in (a, b, late)}
        self.assertEqual(len(made), 1, made)
        self.assertEqual(int(made.pop().split()[0]), STEPS)

    def test_members_that_do_not_wait(self):
        """Asynchronous strategies: one is killed, one comes late. Views do not follow each other without a reason."""
        for strategy in ({"name": "gossip", "async": True}, {"name": "parameter-server", "update": "async"}):
            with self.subTest(strategy["name"]):
                options = {"last": 400, "words": [json.dumps({"strategy": strategy, "buffers": "own"})]}
                a = self.member("a", "--found", seed=1, **options)
                invitation = a.wait(r"VECHE1-\S+")[0]
                b, killed = (self.member(name, "--join", invitation, seed=seed, **options) for name, seed in (("b", 2), ("c", 3)))
                for one in a, b, killed:
                    one.wait("^members 3 rank")
                seen = {one: len(one.lines) for one in (a, b)}
                killed.process.kill()
                self.after([a, b], "^members 2 rank", seen)
                late = self.member("d", "--join", invitation, seed=4, **options)
                late.wait("^members 3 rank")
                for one in a, b, late:
                    one.go()
                for one in a, b, late:
                    self.assertEqual(one.end(), 0, one.lines)
                    one.wait("^ended samples$")
                    self.assertLess(float(one.wait(r"^loss (\S+)$")[1]), 3)  # of a model that knows nothing: 4
                views = [int(view) for one in (a, b, late) for line in one.lines for view in re.findall(r"view (\d+):", line)]
                self.assertLess(max(views), 20)

    def test_own_parts(self):
        """A strategy, a learner and a data set in Python, by veche.train: one of three members is killed."""
        for parts in ("line pass-on", "softmax python-allreduce"):
            with self.subTest(parts):
                start = lambda name, *how, dies=(): self.member(name, *how, script="grid_parts.py", words=[*parts.split(), *dies])
                a = start("a", "--found")
                invitation = a.wait(r"VECHE1-\S+")[0]
                b, killed = start("b", "--join", invitation), start("c", "--join", invitation, dies=[20])
                self.assertEqual(killed.end(), -signal.SIGKILL, killed.lines)
                for one in a, b:
                    self.assertEqual(one.end(), 0, one.lines)
                    self.assertEqual(one.wait(r"^ended (\S+) after (\d+) with (\d+)$")[1], "steps")
                    one.wait("^view 3: 2 nodes")
                    self.assertEqual(one.wait("^learnt (.*)$")[1], "True", one.lines)

    def test_a_member_of_train_returns(self):
        """After Ctrl-C the exception says how, and the same script goes on where it was."""
        script = self.folder / "train.py"
        script.write_text(TRAIN)
        a = self.member("a", "--found", script=script)
        a.wait(r"^at \d+")
        a.process.send_signal(signal.SIGINT)
        self.assertNotEqual(a.end(), 0, a.lines)
        step, folder = a.wait(r"stopped after step (\d+), saved; go on with python3 -m veche\.launch --resume (\S+) \S*train\.py").groups()
        again = self.member("a", "--resume", folder, script=script)
        self.assertGreater(int(again.wait(r"^at (\d+)")[1]), int(step))

    def test_example(self):
        done = subprocess.run([sys.executable, "-B", EXAMPLE, "--steps", "60"], cwd=self.folder, env=environment(),
                              capture_output=True, text=True, timeout=LONGEST)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the members left have the same model", done.stdout)
        self.assertRegex(done.stdout, r"member 0: 2 members train from step 2[01]\n")

    def test_refused(self):
        script = SCRIPTS / "grid_member.py"
        for words, sentence in ((["-n", "2", "--set", "grid.name=a", script], "--set is for members of a grid"),
                                (["--join", "", script, 5, 1], "RequestError: "),
                                (["--resume", self.folder / "nowhere", script, 5, 1], "RequestError: ")):
            done = subprocess.run([sys.executable, "-B", "-m", "veche.launch", *map(str, words)], cwd=self.folder,
                                  env=environment(), capture_output=True, text=True, timeout=LONGEST,
                                  stdin=subprocess.DEVNULL)
            self.assertIn(done.returncode, (1, 2), done.stderr)
            self.assertIn(sentence, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
