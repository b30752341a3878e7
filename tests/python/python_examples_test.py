"""examples/python/: the loops of people, at tiny size."""

import re
import subprocess
import sys
import unittest

from python_loops import LONGEST, SCRIPTS, environment
from veche_runs import FASHION, RunsTest

EXAMPLES = SCRIPTS.parents[2] / "examples" / "python"


class Examples(RunsTest):
    def example(self, *words):
        done = subprocess.run([sys.executable, "-B", "-m", "veche.launch", "-n", "2", *map(str, words)], cwd=self.folder,
                              env=environment(), capture_output=True, text=True, timeout=LONGEST)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_one_line_loop(self):
        self.assertTrue(FASHION.exists(), "needs Debian's package dataset-fashion-mnist")
        said = self.example(EXAMPLES / "resnet20.py", "--samples", 256, "--batch", 16, "--epochs", 2)
        losses = re.fullmatch(r"epoch 1: loss (\S+), accuracy \S+%\nepoch 2: loss (\S+), accuracy \S+%\n", said)
        self.assertTrue(losses, said)
        self.assertLess(float(losses[2]), 2.1)  # of a guess among ten classes: 2.303

    def test_language_model(self):
        text = self.folder / "text"
        text.write_text("abracadabra " * 200)
        said = self.example(EXAMPLES / "language.py", text, "--steps", 40, "--width", 32, "--write", 24)
        bits = [float(number) for number in re.findall(r"^step \d+: (\S+) bits", said, re.M)]
        self.assertEqual(len(bits), 10, said)
        self.assertLess(bits[-1], 1.0)  # letters alone, by their frequencies: 2.3
        self.assertIn("abra", said.splitlines()[-1][8:])
        self.assertLess(len((EXAMPLES / "language.py").read_text().splitlines()), 100)


if __name__ == "__main__":
    unittest.main()
