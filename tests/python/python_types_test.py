"""Hints of the package are right, and a program that uses it is checked with them."""

import pathlib
import subprocess
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
LONGEST = 110  # seconds

PROGRAM = """
import veche
result = veche.train("run.toml", set={"run.epochs": 2}, keep=False)
loss: float = result.loss
rho: float = veche.topology("ring:4").rho
"""
WRONG = """
import veche
veche.train(steps="many")
veche.topology("ring:4").rho.x
"""


class Types(unittest.TestCase):
    def mypy(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(["/usr/bin/mypy", "--config-file", PACKAGE.parent / "pyproject.toml", "--cache-dir", folder,
                                   *map(str, words)], cwd=PACKAGE,
                                  capture_output=True, text=True, timeout=LONGEST)

    def test_package_and_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            program, wrong = pathlib.Path(folder) / "program.py", pathlib.Path(folder) / "wrong.py"
            program.write_text(PROGRAM)
            wrong.write_text(WRONG)
            done = self.mypy(*sorted((PACKAGE / "veche").rglob("*.py*")), program, wrong)
        lines = [line for line in done.stdout.splitlines() if ": error: " in line]
        self.assertEqual(len(lines), 2, done.stdout + done.stderr)
        for line, words in zip(lines, ('"steps" to "train" has incompatible type "str"', '"float" has no attribute "x"')):
            self.assertIn("wrong.py", line)
            self.assertIn(words, line)


if __name__ == "__main__":
    unittest.main()
