"""`veche.comm`, many runs in one process, and loops that end early, fail, or are killed."""

import json
import os
import tempfile
import unittest

import python_loops

MPIRUN = os.environ.get("MPIRUN")


class LoopsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def launchers(self):
        yield {}
        if MPIRUN:
            yield {"mpirun": MPIRUN}


class Exchanges(LoopsTest):
    def test_exchanges(self):
        """In place, on arrays and tensors; wrong ones are refused; other threads go on."""
        done = python_loops.run("exchanges.py", "torch", nodes=3, folder=self.folder)
        self.assertEqual("".join(done.stdout.split()), "right" * 3)  # lines of three processes may mix

    @unittest.skipUnless(MPIRUN, "no mpirun")
    def test_exchanges_under_mpirun(self):
        done = python_loops.run("exchanges.py", nodes=3, mpirun=MPIRUN, folder=self.folder)
        self.assertEqual("".join(done.stdout.split()), "right" * 3)  # lines of three processes may mix

    def test_many_runs_leak_nothing(self):
        held = json.loads(python_loops.run("cycles.py", 1000, folder=self.folder).stdout)
        before, after = held["before"], held["after"]
        self.assertEqual((after["threads"], after["files"]), (before["threads"], before["files"]))
        # Each run has five vectors of 40 kB: one of them kept by each run would be 40 MB.
        self.assertLess(after["kilobytes"] - before["kilobytes"], 10_000)


class Ends(LoopsTest):
    def test_different_numbers_of_steps(self):
        """Nodes 0, 1 and 2 have 6, 9 and 12 steps: the run ends with the last of them."""
        made = python_loops.numbers("ends.py", "uneven", nodes=3, folder=self.folder)
        self.assertEqual(len(made), 10)
        for name, steps in made.items():
            with self.subTest(name):
                if "async" in name:
                    self.assertGreaterEqual(steps, 6)
                else:
                    self.assertEqual(steps, 12)

    def test_a_node_raises(self):
        """Its traceback is in the error of the others, which end."""
        for launcher in self.launchers():
            with self.subTest(**launcher):
                done = python_loops.run("ends.py", "raise", nodes=2, folder=self.folder, check=False, **launcher)
                self.assertNotEqual(done.returncode, 0)
                # Its own, and one in the error of at least one other; mpirun may cut off the rest.
                self.assertGreaterEqual(done.stderr.count("ValueError: too many cooks"), 2, done.stderr)
                self.assertIn("node 1 failed:", done.stderr)
                self.assertNotIn("Exception ignored", done.stderr)

    def test_a_node_raises_before_the_run(self):
        done = python_loops.run("ends.py", "raise-before", nodes=2, folder=self.folder, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ValueError: too many cooks", done.stderr)
        self.assertIn("has ended before the others", done.stderr)

    def test_a_node_is_killed(self):
        done = python_loops.run("ends.py", "kill", nodes=2, folder=self.folder, check=False)
        self.assertEqual(done.returncode, 128 + 9)
        self.assertIn("process 1 was ended by signal 9", done.stderr)
        self.assertIn("node 1 is gone", done.stderr)
        self.assertNotIn("Exception ignored", done.stderr)


if __name__ == "__main__":
    unittest.main()
