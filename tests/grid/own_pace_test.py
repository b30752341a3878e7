"""Asynchronous members never stop: whoever is killed, falls silent or joins, the others make one step after the other,
and no step is lost. One of them is so slow that whoever waited for it would show."""
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).parent.parent / "process"))
import at_once

TRAINER = os.environ["GRID_TRAINER"]
LIMIT = 60  # seconds for what must happen; nothing waits for it to pass
QUICK, SLOW = 0.01, 2.0  # seconds that a pass takes


class Process:
    def __init__(self, *words):
        self.folder = words[1]
        self.child = subprocess.Popen([TRAINER, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.passes = []  # (step, when it began)
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            with self.changed:
                if match := re.match(r"pass (\d+) ([\d.]+)", line):
                    self.passes.append((int(match[1]), float(match[2])))
                else:
                    self.lines.append(line.strip())
                self.changed.notify_all()

    def wait(self, what, condition):
        with self.changed:
            if not self.changed.wait_for(condition, LIMIT):
                raise AssertionError(f"no {what}: {self.lines[-8:]} {self.passes[-1:]}")

    def wait_nodes(self, nodes):
        """Until it trains in a view of so many nodes."""
        def there():
            views = [line for line in self.lines if line.startswith("view ")]
            return views and f" {nodes} node" in views[-1]
        self.wait(f"view of {nodes}", there)
        self.wait_steps(30)

    def wait_steps(self, count):
        before = len(self.passes)
        self.wait(f"{count} more steps", lambda: len(self.passes) >= before + count)

    def gaps(self):
        times = [when for _, when in self.passes]
        return [after - before for before, after in zip(times, times[1:])]

    def leave(self):
        self.child.stdin.close()
        self.child.wait(LIMIT)
        self.reader.join(LIMIT)

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        self.child.wait()
        self.reader.join(LIMIT)
        for stream in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Trainers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.all = []
        self.addCleanup(lambda: [one.end() for one in self.all])

    def member(self, way, name, seconds, *words):
        self.all.append(Process(way, self.folder / name, seconds, *words))
        return self.all[-1]

    def found(self, way, name, *settings):
        a = self.member(way, name, QUICK, *settings)
        a.wait("invitation", lambda: any(line.startswith("VECHE1-") for line in a.lines))
        return a, next(line for line in a.lines if line.startswith("VECHE1-"))


class TooLate(Trainers):
    """Newcomers that ask to be let in when the run has ended are told so and get the model that came of it."""

    def before_the_run(self, *settings):
        """A founder that has not begun, and two newcomers that are linked to it and do not ask to be let in yet."""
        a, invitation = self.found("found-later", "a", *settings)
        late = [self.member("join-later", f"late{i}", QUICK, invitation, *settings) for i in range(2)]
        for one in late:
            one.wait("link", lambda: "linked" in one.lines)
        return a, late

    @staticmethod
    def go_on(*members):
        for one in members:
            one.child.stdin.write("\n")
            one.child.stdin.flush()

    def comes_too_late(self, steps, *settings):
        a, late = self.before_the_run(*settings, f"run.steps={steps}")
        self.go_on(a)
        a.wait("end", lambda: any("the run has ended; a newcomer is on its way" in line for line in a.lines))
        self.go_on(*late)
        for one in (*late, a):
            self.assertEqual(one.child.wait(LIMIT), 0, one.lines[-5:])
            one.reader.join(LIMIT)
            self.assertEqual(one.lines[-1], a.lines[-1])
            self.assertTrue(one.lines[-1].startswith(f"left at {steps} with "), one.lines)
        for one in late:
            self.assertIn(f"the run ended after step {steps}, before this member was admitted; the final model is here", one.lines)
            self.assertEqual(one.passes, [])
            summary = json.loads((one.folder / "summary.json").read_text())
            self.assertEqual((summary["steps"], summary["stopped"]), (steps, "steps"))
            self.assertEqual(json.loads((one.folder / "view.json").read_text())["step"], steps)
            self.assertTrue(any((one.folder / "checkpoint").iterdir()))
            self.assertEqual((one.folder / "metrics.jsonl").read_text().count("\n"), 1)

    def test_equal_models(self):
        self.comes_too_late(20, "strategy.name=allreduce")

    def test_own_models(self):
        self.comes_too_late(20, "strategy.name=consensus", "strategy.async=true")

    def test_nobody_is_left(self):
        a, late = self.before_the_run("strategy.name=allreduce")
        a.child.kill()
        self.go_on(*late)
        for one in late:
            self.assertEqual(one.child.wait(LIMIT), 1, one.lines[-5:])
            one.reader.join(LIMIT)
            self.assertTrue(one.lines[-1].startswith("no member of the run answers: the run has ended"), one.lines)


class OwnPace(Trainers):
    def never_stops(self, *settings):
        a, invitation = self.found("found", "a", *settings)
        join = lambda name, seconds: self.member("join", name, seconds, invitation, *settings)
        b, slow, victim, silent = join("b", QUICK), join("slow", SLOW), join("victim", QUICK), join("silent", QUICK)
        for one in a, b, victim, silent:
            one.wait_nodes(5)
        slow.wait("first steps of the slow one", lambda: len(slow.passes) > 1)
        victim.child.kill()
        for one in a, b:
            one.wait_nodes(4)
        silent.child.send_signal(signal.SIGSTOP)  # noticed after seconds only
        for one in a, b:
            one.wait_nodes(3)
        joined = join("joined", QUICK)
        for one in a, b, joined:
            one.wait_nodes(4)
        a.child.kill()  # it counts the steps, and serves
        for one in b, joined:
            one.wait_nodes(3)
        b.wait_steps(100)
        for one in b, joined, slow:
            one.leave()
            self.assertEqual(one.child.returncode, 0, one.lines[-5:])
        pace = statistics.median(slow.gaps())
        for one in a, b, joined:
            usual, longest = statistics.median(one.gaps()), max(one.gaps())
            self.assertLess(usual, pace / 20)
            self.assertLess(longest, pace / 4, f"usually {usual}, and {one.lines}")
        # Every pass was worth a step: none was made again, none left out.
        for one in a, b, joined, slow, victim, silent:
            steps = [step for step, _ in one.passes]
            self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))))
        # They trained: 1/2 |x - 1|^2 has its minimum at 1, and the start is 0.
        last = float(re.search(r"left at \d+ with (\S+)", " ".join(b.lines))[1])
        self.assertLess(abs(last - 1), 0.2)

    def test_gossip(self):
        self.never_stops("strategy.name=gossip", "strategy.async=true")

    def test_consensus(self):
        self.never_stops("strategy.name=consensus", "strategy.async=true")

    def test_coded_consensus(self):
        self.never_stops("strategy.name=consensus", "strategy.async=true", "compress.codec=int8")

    def test_own_coded_strategy(self):
        """That of examples/own_strategy, which knows only the public interface."""
        self.never_stops("strategy.name=circle-gossip", "compress.codec=int8")

    def test_servers(self):
        self.never_stops("strategy.name=parameter-server", "strategy.update=async", "strategy.servers=2")


if __name__ == "__main__":
    at_once.main(3)
