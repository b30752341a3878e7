"""What `cmake --install` gives: a program that runs from anywhere and a library that another project finds."""

import os
import pathlib
import re
import subprocess
import unittest

from veche_runs import QUADRATIC, SMALL, RunsTest, assignments

BUILD = pathlib.Path(os.environ["VECHE_BUILD"])
CMAKE = os.environ["CMAKE"]
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/own_learner"
LONGEST = 200


class Install(RunsTest):
    def call(self, *words):
        done = subprocess.run(list(map(str, words)), cwd=self.folder, capture_output=True, text=True, timeout=LONGEST)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def setUp(self):
        super().setUp()
        self.call(CMAKE, "--install", BUILD, "--prefix", self.folder / "first")
        self.prefix = self.folder / "moved"
        (self.folder / "first").rename(self.prefix)  # nothing installed may remember where it was
        module, = self.prefix.glob("lib/**/veche_torch.so")
        self.module = module

    def test_own_learner(self):
        self.call(CMAKE, "-S", EXAMPLE, "-B", "own", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-G", "Ninja")
        self.call(CMAKE, "--build", "own")
        lines = self.call(self.folder / "own/own_learner").splitlines()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, r"^y = (2\.9|3\.0)\d\d x -(1\.9|2\.0)\d\d$")
        self.assertFalse((self.folder / "runs").exists())
        self.assertEqual(list(self.prefix.glob("include/**/torch")), [], "headers that need libtorch are nobody's business")

    def test_own_network(self):
        source = EXAMPLE.parent / "own_network"
        self.call(CMAKE, "-S", source, "-B", "own", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-G", "Ninja")
        self.call(CMAKE, "--build", "own")
        line = self.call(self.folder / "own/own_network")
        self.assertRegex(line, r"^1386 parameters on 4 nodes: accuracy (0\.[5-9]|1\.0)\d*, nodes differ by [\d.]+ %\n$")
        self.assertEqual(self.call(self.folder / "own/own_network"), line, "dropout in it is repeatable")

    def test_program(self):
        veche = self.prefix / "bin/veche"
        self.assertRegex(self.veche("--version", veche=veche).stdout, r"^\d+\.\d+\.\d+\n$")
        done = self.veche("train", "-q", *assignments(SMALL, {"run.steps": 2}), veche=veche)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The installed module is the one that was used, and without it there is a sentence.
        self.module.unlink()
        done = self.veche("train", *assignments(SMALL), veche=veche)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{re.escape(str(self.module))} is missing[^\n]*libtorch-dev[^\n]*\n\Z")
        self.assertEqual(self.veche("train", "-q", *assignments(QUADRATIC), veche=veche).returncode, 0)


if __name__ == "__main__":
    unittest.main()
