"""Members of a grid as real processes: they join, are killed, stopped, revoked, come back; the others go on."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

MEMBER = os.environ["GRID_MEMBER"]
LIMIT = 40  # seconds for what must happen; nothing waits for it to pass


class Process:
    """A member, and what it has said."""

    def __init__(self, *words, prefix=()):
        self.prefix, self.folder = prefix, words[1]
        self.child = subprocess.Popen([*prefix, MEMBER, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        self.lines, self.errors = [], []
        self.changed = threading.Condition()
        for stream, lines in (self.child.stdout, self.lines), (self.child.stderr, self.errors):
            threading.Thread(target=self.read, args=(stream, lines), daemon=True).start()

    def read(self, stream, lines):
        for line in stream:
            with self.changed:
                lines.append(line.strip())
                self.changed.notify_all()

    def wait(self, what, condition, limit=LIMIT):
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self.lines), limit):
                raise AssertionError(f"no {what}: {self.lines[-5:]} {self.errors[-5:]}")

    def wait_nodes(self, nodes, limit=LIMIT):
        """Until it goes in step in a view with so many nodes."""
        def there(lines):
            views = [i for i, line in enumerate(lines) if line.startswith("view ")]
            return views and f" nodes {nodes} " in lines[views[-1]] and any(line.startswith("went on ") for line in lines[views[-1]:])
        self.wait(f"view of {nodes} nodes", there, limit)

    def views(self):
        return {int(m[1]): (int(m[2]), int(m[3])) for m in
                (re.match(r"view (\d+) nodes (\d+) step (\d+)", line) for line in self.lines) if m}

    def id(self):
        self.wait("id", lambda lines: any(line.startswith("id ") for line in lines))
        return next(line.split()[1] for line in self.lines if line.startswith("id "))

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def ask(*words, prefix=()):
    return subprocess.run([*prefix, MEMBER, *map(str, words)], capture_output=True, text=True, timeout=LIMIT)


class MembersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="veche-grid-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.started = []
        self.addCleanup(lambda: [each.end() for each in self.started])

    def start(self, *words, prefix=()):
        self.started.append(Process(*words, prefix=prefix))
        return self.started[-1]

    def grid(self, members, uses=20, inside=lambda member: (), name="m"):
        first = self.start("found", self.root / f"{name}0", prefix=inside(0))
        first.wait_nodes(1)
        self.invitation = invitation = ask("invite", first.folder, uses, 600, prefix=inside(0)).stdout.strip()
        others = [self.start("join", self.root / f"{name}{i}", invitation, prefix=inside(i)) for i in range(1, members)]
        everybody = [first, *others]
        for each in everybody:
            each.wait_nodes(members)
        return everybody

    def same_views(self, members):
        """Nobody saw another view under a number than the others did."""
        seen = {}
        for each in members:
            self.assertFalse([line for line in each.lines if line.startswith("WRONG")])
            for number, view in each.views().items():
                self.assertEqual(seen.setdefault(number, view), view)

    def test_the_others_go_on_when_members_are_killed(self):
        members = self.grid(4)
        members[0].child.send_signal(signal.SIGKILL)  # the founder, seat 0
        for each in members[1:]:
            each.wait_nodes(3)
        members[2].child.send_signal(signal.SIGKILL)
        for each in (members[1], members[3]):
            each.wait_nodes(2)
        self.same_views(members)

    def test_one_that_sleeps_is_left_behind_and_comes_back(self):
        members = self.grid(3)
        members[2].child.send_signal(signal.SIGSTOP)
        for each in members[:2]:
            each.wait_nodes(2)
        members[2].child.send_signal(signal.SIGCONT)
        for each in members:
            each.wait_nodes(3)
        self.same_views(members)

    def test_who_leaves_says_so_and_who_was_killed_comes_back_with_its_folder(self):
        members = self.grid(3)
        members[1].child.stdin.close()
        self.assertEqual(members[1].child.wait(LIMIT), 0)
        for each in (members[0], members[2]):
            each.wait_nodes(2)
        members[2].child.send_signal(signal.SIGKILL)
        members[0].wait_nodes(1)
        again = self.start("resume", self.root / "m2")
        again.wait_nodes(2)
        members[0].wait_nodes(2)
        self.same_views([members[0], again])

    def test_invitations_are_counted_and_revoked_members_stay_out(self):
        members = self.grid(2, uses=1)
        spent = ask("join", self.root / "m9", self.invitation)
        self.assertEqual(spent.returncode, 2, spent.stderr)
        self.assertIn("spent", spent.stderr)
        garbled = ask("join", self.root / "m8", self.invitation[:40] + "x" + self.invitation[41:])
        self.assertEqual(garbled.returncode, 2)
        status = ask("status", self.root / "m1").stdout
        self.assertEqual(len(status.splitlines()), 2, status)
        self.assertEqual(ask("revoke", self.root / "m0", members[1].id()[:8]).returncode, 0)
        members[0].wait_nodes(1)
        self.assertEqual(members[1].child.wait(LIMIT), 1)
        back = ask("resume", self.root / "m1")
        self.assertEqual(back.returncode, 2, back.stderr)
        self.assertIn("revoked", back.stderr)


if __name__ == "__main__":
    unittest.main()
