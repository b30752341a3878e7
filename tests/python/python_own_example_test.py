"""examples/python/own_strategy.py: a strategy of one's own beside built-in ones."""

import pathlib
import subprocess
import sys
import unittest

from veche_runs import RunsTest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "own_strategy.py"


class Example(RunsTest):
    def test_compares_and_draws(self):
        done = subprocess.run([sys.executable, "-B", EXAMPLE, "--nodes", "9", "--steps", "200", "--plot", "all.svg"],
                              cwd=self.folder, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        self.assertEqual(len(rows), 9)
        sent = {(graph, strategy): float(megabytes) for graph, strategy, _, megabytes, _ in rows}
        for graph, strategy, error, _, _ in rows:
            self.assertLess(float(error), 0.2, (graph, strategy))
            self.assertLess(sent[graph, "lazy-mean"], sent[graph, "consensus"])  # what it is for
        self.assertIn("<svg", (self.folder / "all.svg").read_text())


if __name__ == "__main__":
    unittest.main()
