"""Scripts for Horovod and BlueFog run after one changed import, and train as those libraries say."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import torch

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
LONGEST = 60


# One process after the other trains: a script ends its run, and the next one begins another.
HERE = "import runpy, shlex, sys; [(setattr(sys, 'argv', w), runpy.run_path(w[0])) for w in map(shlex.split, sys.argv[1:])]"


class ScriptTest(unittest.TestCase):
    SCRIPTS = {}  # by test

    @classmethod
    def setUpClass(cls):
        """Runs all scripts in one job: starting processes takes longest."""
        cls.folder = tempfile.TemporaryDirectory()
        one = pathlib.Path(cls.folder.name, "one.py")
        one.write_text(HERE)
        lines = [f"{SCRIPTS / words} --out {cls.folder.name}/{test}" for test, words in cls.SCRIPTS.items()]
        done = subprocess.run([sys.executable, "-B", "-m", "veche.launch", "-n", str(cls.NODES), one, *lines], cwd=cls.folder.name,
                              env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=LONGEST)
        cls.addClassCleanup(cls.folder.cleanup)
        cls.code, cls.printed, cls.said = done.returncode, done.stdout, done.stdout + done.stderr

    def results(self):
        """What each rank has written."""
        self.assertEqual(self.code, 0, self.said)
        name = self.id().split(".test_")[-1]
        return [json.loads(pathlib.Path(self.folder.name, f"{name}.{rank}").read_text()) for rank in range(self.NODES)]


class Horovod(ScriptTest):
    NODES = 2
    SCRIPTS = {"means": "horovod_train.py", "sums_clipped_halves": "horovod_train.py --op Sum --clip 0.5 --fp16"}

    def alone(self, clip=0.0, factor=1.0):
        """The same steps by one process of plain PyTorch, which sees the batches of both ranks."""
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        i = torch.arange(64.0)
        x = torch.stack([i / 64, (i * i % 17) / 17], 1)
        y = 3 * x[:, :1] - x[:, 1:] + 0.5
        for _ in range(3):
            for begin in range(0, 64, 16):  # two batches of four from each of two ranks
                optimizer.zero_grad()
                batch = slice(begin, begin + 16)
                (factor * torch.nn.functional.mse_loss(model(x[batch]), y[batch])).backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
            scheduler.step()
        return [p.detach().reshape(-1).numpy() for p in model.parameters()]

    def compare(self, expected, tolerance=1e-5):
        for result in self.results():
            self.assertLess(result["last"], result["first"])
            self.assertEqual(result["rate"], 0.05 / 8)
            for mine, theirs in zip(result["parameters"], expected):
                numpy.testing.assert_allclose(mine, theirs, atol=tolerance)

    def test_means(self):
        self.compare(self.alone())
        self.assertIn("epoch 2: loss", self.printed)

    def test_sums_clipped_halves(self):
        # The sum over two ranks is twice the mean. Halves have eleven bits.
        self.compare(self.alone(0.5, 2.0), 5e-3)

    def test_leaves_no_folder(self):
        self.assertFalse(pathlib.Path(self.folder.name, "runs").exists())


class BlueFog(ScriptTest):
    NODES = 4
    SCRIPTS = {"adapts_then_combines": "bluefog_train.py --style ATC",
               "adapts_with_combining_in_changing_pairs": "bluefog_train.py --style AWC --dynamic",
               "mean_every_third_step": "bluefog_train.py --type allreduce --every 3",
               "calls": "compat_calls.py"}

    def compare(self, style, matrix, every=1):
        """Steps of gradient descent on 0.5 |w - target|^2 with the matrices of the rounds."""
        targets = numpy.arange(3.0) + 10 * numpy.arange(4)[:, None]
        w = numpy.ones((4, 3))  # rank 1's
        for step in range(12):
            mixing = matrix(step) if step % every == every - 1 else numpy.eye(4)
            descent = 0.1 * 0.5 ** (step // 4) * (w - targets)
            w = mixing @ (w - descent) if style == "ATC" else mixing @ w - descent
        numpy.testing.assert_allclose(self.results(), w, rtol=1e-5)

    def after(self, length):
        """The matrix by which each node takes the vector of the one `length` before it."""
        return numpy.roll(numpy.eye(4), length, axis=0)

    def test_adapts_then_combines(self):
        self.compare("ATC", lambda step: (numpy.eye(4) + self.after(1) + self.after(2)) / 3)

    def test_adapts_with_combining_in_changing_pairs(self):
        self.compare("AWC", lambda step: (numpy.eye(4) + self.after(1 + step % 2)) / 2)

    def test_mean_every_third_step(self):
        self.compare("ATC", lambda step: numpy.full((4, 4), 0.25), every=3)

    def test_calls(self):
        self.results()


if __name__ == "__main__":
    unittest.main()
