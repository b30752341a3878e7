"""Hints of the package are right, and a program that uses it is checked with them."""

import os
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

LOOP = """
import torch
import veche
model = torch.nn.Linear(2, 1)
opt = veche.Optimizer(torch.optim.SGD(model.parameters(), lr=0.1), model, strategy={"name": "consensus"})
opt.zero_grad()
opt.report(0.5)
opt.synchronize()
with opt as same:
    same.step()
steps: int = opt.steps
ended: bool = opt.ended
rate: float = opt.param_groups[0]["lr"]
folder = opt.finish()["folder"]
one: torch.optim.Optimizer = opt
first, second = veche.Optimizers([torch.optim.SGD(model.parameters(), lr=0.1), opt], model)
first.report(1.0)

@veche.strategy("pass-on", every=1)
class PassOn(veche.Strategy):
    every: int
    def after_step(self, step: int) -> None:
        self.channel.send((self.me + 1) % self.nodes, self.x)
        self.x = (self.x + self.channel.receive((self.me - 1) % self.nodes)) / self.every

@veche.strategy("bare")
class Bare:
    def after_step(self, step: int) -> None:
        pass
"""
WRONG_LOOP = """
import torch
import veche
opt = veche.Optimizer(torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), lr=0.1))
opt.finnish()
class PassOn(veche.Strategy):
    def after_step(self, step: int) -> None:
        self.chanel.send(0, self.x)
"""
# The hints of PyTorch 1.13 that the loop needs; to read all of them takes a minute.
TORCH = {
    "__init__": "from torch import nn as nn, optim as optim\nclass Tensor: ...\n",
    "nn": "from typing import Iterator\nfrom torch import Tensor\nclass Module:\n  def parameters(self) -> Iterator[Tensor]: ...\n"
          "class Linear(Module):\n  def __init__(self, a: int, b: int) -> None: ...\n",
    "optim": "from typing import Any, Iterable\nfrom torch import Tensor\nclass Optimizer:\n"
             "  param_groups: list[dict[str, Any]]\n  def zero_grad(self, set_to_none: bool | None = ...) -> None: ...\n"
             "class SGD(Optimizer):\n  def __init__(self, params: Iterable[Tensor], lr: float) -> None: ...\n",
}
STRICT = """
[mypy]
strict = true
[mypy-veche.*,numpy.*]
follow_imports = silent
"""


class Types(unittest.TestCase):
    def mypy(self, *words, config=PACKAGE.parent / "pyproject.toml", **more):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(["/usr/bin/mypy", "--config-file", config, "--cache-dir", folder,
                                   *map(str, words)], cwd=PACKAGE,
                                  capture_output=True, text=True, timeout=LONGEST, **more)

    def test_loops_that_know_torch(self):
        """A strict check of a user's loop, with hints of torch."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "torch").mkdir()
            for module, text in TORCH.items():
                (folder / "torch" / f"{module}.pyi").write_text(text)
            for module, text in {"strict.ini": STRICT, "loop.py": LOOP, "wrong_loop.py": WRONG_LOOP}.items():
                (folder / module).write_text(text)
            done = self.mypy(folder / "loop.py", folder / "wrong_loop.py", config=folder / "strict.ini",
                             env={**os.environ, "MYPYPATH": f"{folder}:{PACKAGE}"})
        lines = [line for line in done.stdout.splitlines() if ": error: " in line]
        self.assertEqual(len(lines), 2, done.stdout + done.stderr)
        for line, words in zip(lines, ('"SharedOptimizer" has no attribute "finnish"', '"PassOn" has no attribute "chanel"')):
            self.assertIn("wrong_loop.py", line)
            self.assertIn(words, line)

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
