"""A program on the library founds a run on the grid, joins it and returns to it, with a model and a strategy of its own."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import unittest

MEMBER = os.environ["LIBRARY_MEMBER"]
LIMIT = 60  # seconds for what must happen; nothing waits for it to pass
RUN = ("model.name=site", "strategy.name=mean-of-all", "optimizer.name=sgd", "optimizer.lr=0.05",
       "optimizer.schedule=constant", "run.steps=5000")
HERE = ("grid.listen=127.0.0.1:0", "grid.multicast=false")


class Member:
    def __init__(self, folder, *words):
        self.child = subprocess.Popen([MEMBER, *map(str, words), *HERE, f"run.out={folder}/runs"], text=True, cwd=folder,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      env=os.environ | {"TMPDIR": str(folder)})  # a killed member cannot remove its keys
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(line.strip())
                self.changed.notify_all()

    def wait(self, pattern, since=0):
        """The first line, from number `since` on, in which the pattern is found."""
        find = lambda: next((line for line in self.lines[since:] if re.search(pattern, line)), None)
        with self.changed:
            if not self.changed.wait_for(find, LIMIT):
                raise AssertionError(f"no {pattern}: {self.lines[-8:]}")
            return find()

    def wait_nodes(self, nodes, since=0):
        return self.wait(rf"^view \d+: {nodes} nodes? ", since)

    def say(self, word):
        self.child.stdin.write(word + "\n")
        self.child.stdin.flush()

    def end(self):
        """Its exit code."""
        code = self.child.wait(LIMIT)
        self.reader.join(LIMIT)
        return code

    def clear(self):
        if self.child.poll() is None:
            self.child.kill()
        self.end()
        for stream in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Library(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def member(self, *words):
        member = Member(self.folder, *words)
        self.addCleanup(member.clear)
        return member

    def found(self, *words):
        founder = self.member(1, "found", *RUN, "grid.name=founder", *words)
        return founder, founder.wait("^VECHE1-")

    def test_members_come_and_go(self):
        a, invitation = self.found("keep=false")
        # A member may repeat the configuration of the run.
        b = self.member(5, "join", invitation, *RUN, "grid.name=b")
        for one in a, b:
            one.wait_nodes(2)
        b.say("stop")
        left = b.wait("^ended ")
        self.assertRegex(left, r"^ended interrupted at \d+ with \S+, others continue in ")
        self.assertEqual(b.end(), 0, b.lines)
        seen = len(a.lines)
        b = self.member(5, "resume", left.split(" in ")[1])
        a.wait_nodes(2, seen)
        b.wait_nodes(2)
        victim = self.member(100, "join", invitation, "grid.name=victim", "keep=false")
        for one in a, b, victim:
            one.wait_nodes(3)
        seen = len(a.lines), len(b.lines)
        victim.child.kill()
        for one, since in zip((a, b), seen):
            one.wait_nodes(2, since)
        for one in a, b:
            one.say("go")
        for one in a, b:
            self.assertEqual(one.end(), 0, one.lines)
            last = re.match(r"ended steps at 5000 with (\S+)", one.lines[-1])
            self.assertTrue(last, one.lines)
            self.assertAlmostEqual(float(last[1]), 3, delta=0.01)  # between 1 and 5
        self.assertEqual(a.lines[-1].split(" in ")[1:], [], "keep = false")
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 1, "only the folder of b")

    def test_the_only_member_stops(self):
        a, _ = self.found()
        a.wait_nodes(1)
        a.say("stop")
        self.assertRegex(a.wait("^ended "), r"^ended interrupted at \d+ with \S+ in ")
        self.assertEqual(a.end(), 0)

    def test_refused(self):
        a, invitation = self.found("keep=false")
        for words, sentence in (
                (("join", invitation, "run.steps=7"), "run.steps=7 would change the run of all: leave it out; a member may set "),
                (("join", invitation, "grid.nam=b"), "there is no key grid.nam; did you mean 'grid.name'?"),
                (("join", "VECHE1-AAAA"), ""),
                (("join", ""), ""),  # such as from a script's unset variable: it must not found a run
                (("resume", self.folder / "nowhere"), "")):
            one = self.member(5, *words)
            self.assertEqual(one.end(), 2, one.lines)
            self.assertTrue(one.lines[-1].startswith("refused: " + sentence), one.lines)
        self.assertFalse((self.folder / "runs").exists())
        a.say("stop")
        self.assertEqual(a.end(), 0)


if __name__ == "__main__":
    unittest.main()
