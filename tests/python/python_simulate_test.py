"""`veche.simulate`: runs in virtual time, as many as wanted from one process, whatever that process has done before."""

import json
import os
import pathlib
import signal
import traceback
import unittest

import numpy

import veche
from veche_runs import SMALL, RunsTest, without_clock

SECTIONS = {"data": {"name": "synthetic", "samples": 300, "test_samples": 50, "shape": [1, 8, 8]},
            "model": {"name": "mlp", "hidden": [32]}}
QUADRATIC_SECTIONS = {"model": {"name": "quadratic", "a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}}
VIRTUAL = ("seconds", "samples_per_second", "bytes_sent", "disagreement", "accuracy")  # decided by no clock here


class Simulate(RunsTest):
    def test_twice_after_torch_and_threads(self):
        import torch

        # Workers of OpenMP in this thread, and Veche's own engine in threads: no child has them.
        torch.set_num_threads(2)
        torch.randn(400, 400) @ torch.randn(400, 400)
        veche.train(SECTIONS, steps=2, keep=False)
        done = self.veche("simulate", "--json", "-q", "--epochs", 1,
                          *(word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")))
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = json.loads(done.stdout)
        real, told = theirs.pop("wall_seconds"), []
        self.assertGreater(real, 0)
        for _ in range(2):
            result = veche.simulate(SECTIONS, epochs=1, out=self.folder / "mine", on_progress=told.append)
            self.assertEqual({key: result.summary[key] for key in VIRTUAL}, {key: theirs[key] for key in VIRTUAL})
            self.assertGreater(result.summary.pop("wall_seconds"), 0)
            self.assertEqual(without_clock(result.summary), without_clock(theirs))
            self.assertEqual(len(result.parameters), 4)
            self.assertEqual(result.metrics["seconds"][-1], theirs["seconds"])
        self.assertGreaterEqual(len(told), 2)
        with self.assertRaises(ChildProcessError):  # no child is left
            os.waitpid(-1, os.WNOHANG)

    def test_train_in_virtual_time_is_the_same(self):
        one = veche.simulate(QUADRATIC_SECTIONS, steps=5, keep=False)
        other = veche.train(QUADRATIC_SECTIONS, steps=5, keep=False, set={"cluster.transport": "simulated"})
        self.assertEqual(one.seconds, other.seconds)
        numpy.testing.assert_array_equal(one.parameters, other.parameters)

    def test_compare(self):
        comparison = veche.compare(QUADRATIC_SECTIONS, strategy=["allreduce", "consensus"], steps=5, simulate=True,
                                   out=self.folder)
        self.assertEqual([line["virtual_time"] for line in comparison.table], [True, True])
        self.assertEqual(comparison.table[1]["seconds"]["mean"], comparison.runs[1].seconds)

    def test_errors_come_back(self):
        with self.assertRaisesRegex(veche.RequestError, "there is no key run.epocs"):
            veche.simulate(set={"run.epocs": 3})

        def told_badly(line):
            raise KeyError("mine")

        try:
            veche.simulate(QUADRATIC_SECTIONS, steps=10**9, keep=False, set={"run.eval_every": 100}, on_evaluation=told_badly)
        except KeyError:
            self.assertIn("in told_badly", traceback.format_exc())
        else:
            self.fail("nothing was raised")

    def test_a_killed_child_is_told(self):
        def kill(progress):
            child, = (word for task in pathlib.Path("/proc/self/task").iterdir()
                      for word in (task / "children").read_text().split())
            os.kill(int(child), signal.SIGKILL)

        with self.assertRaisesRegex(veche.RunError, r"^the process of a run has ended without a word, by signal 9$"):
            veche.simulate(QUADRATIC_SECTIONS, steps=10**9, keep=False, on_progress=kill)


if __name__ == "__main__":
    unittest.main()
