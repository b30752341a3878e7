"""A loop that was killed and resumed ends like one that was not."""

import json
import os
import signal
import subprocess
import unittest

import python_loops
import torch
from veche_runs import RunsTest, wait_for


class Resume(RunsTest):
    def ends(self, folder, nodes):
        return [torch.load(folder / f"end-{node}.pt") for node in range(nodes)]

    def assert_same(self, mine, theirs):
        if isinstance(mine, dict):
            self.assertEqual(mine.keys(), theirs.keys())
            for key in mine:
                self.assert_same(mine[key], theirs[key])
        elif isinstance(mine, list):
            self.assertEqual(len(mine), len(theirs))
            for one, other in zip(mine, theirs):
                self.assert_same(one, other)
        elif isinstance(mine, torch.Tensor):
            self.assertLessEqual(float((mine.double() - theirs.double()).abs().max()), 1e-7)
        else:
            self.assertEqual(mine, theirs)

    def start_until(self, words, nodes, folder):
        """The processes wait at the step of `--hang-at`; all of them are in a group of their own."""
        process = subprocess.Popen(python_loops.command("resumed.py", *words, nodes=nodes), cwd=folder, text=True,
                                   env=python_loops.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end_group, process)
        for _ in range(nodes):
            line = process.stdout.readline()
            self.assertEqual(line, "waiting\n", process.poll())
        return process

    @staticmethod
    def end_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate(timeout=python_loops.LONGEST)

    def check(self, nodes, *words, whole=None, how=signal.SIGKILL):
        parted = self.folder / f"parted-{how}"
        parted.mkdir()
        if whole is None:
            whole = self.whole(nodes, *words)
        process = self.start_until(["--hang-at", 13, *words], nodes, parted)
        checkpoint = parted / "runs" / "loop" / "checkpoint"
        wait_for(lambda: (checkpoint / "step-10").is_dir(), process)
        os.killpg(process.pid, how)
        process.communicate(timeout=python_loops.LONGEST)
        self.assertNotEqual(process.returncode, 0, "it was ended")
        done = python_loops.run("resumed.py", *words, "--resume", "runs/loop", nodes=nodes, folder=parted)
        for mine, theirs in zip(self.ends(parted, nodes), self.ends(whole, nodes)):
            made = len(mine["batches"])
            self.assertLess(made, len(theirs["batches"]))
            self.assertEqual(mine.pop("batches"), theirs.pop("batches")[-made:], done.stderr)
            self.assert_same(mine, theirs)
        return made, done

    def whole(self, nodes, *words):
        folder = self.folder / "whole"
        folder.mkdir()
        python_loops.run("resumed.py", *words, nodes=nodes, folder=folder)
        return folder

    def test_killed_and_interrupted(self):
        """Killed, it goes on from the checkpoint; Ctrl-C saves where the loop was."""
        whole = self.whole(2)
        for how, first in ((signal.SIGKILL, 10), (signal.SIGINT, 13)):
            made, _ = self.check(2, whole=whole, how=how)
            self.assertEqual(made, 21 - first)

    def test_models_that_differ(self):
        """Two nodes that mix in every third step: at the checkpoint of step 10 each has its own model."""
        self.check(2, "--strategy", "consensus", "--set", json.dumps({"strategy.every": 3}))

    def test_what_a_codec_remembers(self):
        """Killed between two exchanges, of whose codes each node remembers what they left out."""
        self.check(2, "--strategy", "local-sgd",
                   "--set", json.dumps({"strategy.period": 4, "strategy.outer": "nesterov", "compress.codec": "topk:0.1"}))

    def test_alone_with_plain_numbers_in_the_state(self):
        self.check(1, "--optimizer", "RMSprop", "--strategy", "none")


if __name__ == "__main__":
    unittest.main()
