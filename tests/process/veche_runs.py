"""What the process tests share: starting veche in a folder of its own and reading what a run leaves."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import zlib

VECHE = os.environ["VECHE"]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
LONGEST = 60  # seconds that any one process may take, on a busy machine

# A network and data so small that a run is mostly start-up.
SMALL = {"data.name": "synthetic", "data.samples": 300, "data.test_samples": 50, "data.shape": "[1,8,8]",
         "model.name": "mlp", "model.hidden": "[32]"}
QUADRATIC = {"model.name": "quadratic", "model.a": "[1,2,3,4]", "model.b": "[4,3,2,1]"}
# What a clock decides; all else is decided by the seed.
OF_THE_CLOCK = {"run", "seconds", "samples_per_second", "updates_per_second", "compute_seconds", "waiting_seconds",
                "communication_seconds", "coding_seconds", "stage", "stages"}


def without_clock(value):
    if isinstance(value, dict):
        return {key: without_clock(item) for key, item in value.items() if key not in OF_THE_CLOCK}
    return [without_clock(item) for item in value] if isinstance(value, list) else value


def assignments(*settings):
    merged = {key: value for part in settings for key, value in part.items()}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]


class Run:
    """A run's folder."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def summary(self):
        return without_clock(json.loads((self.path / "summary.json").read_text()))

    def metrics(self):
        return [without_clock(json.loads(line)) for line in (self.path / "metrics.jsonl").read_text().splitlines()]

    def steps(self):
        """Of the finished checkpoints, oldest first."""
        return sorted(int(folder.name.removeprefix("step-")) for folder in self.path.glob("checkpoint/step-*"))

    def checkpoint_files(self, step):
        return sorted((self.path / "checkpoint" / f"step-{step}").iterdir())

    def checkpoints(self, which=slice(None)):
        """Every byte of the checkpoints that were kept, but for the run's id and the checksum over it."""
        return {f"{step}/{file.name}": without_id(file.read_bytes())
                for step in self.steps()[which] for file in self.checkpoint_files(step)}


def without_id(piece):
    """A node's file of a checkpoint without what tells equal runs apart (docs/checkpoints.md)."""
    return piece if piece[:8] < b"vecheck3" else piece[:120] + bytes(8) + piece[128:-4] + bytes(4)


def is_whole(file):
    """Whether a checkpoint's file ends with the checksum of what precedes it; told without Veche."""
    content = file.read_bytes()
    return len(content) > 4 and zlib.crc32(content[:-4]) == int.from_bytes(content[-4:], "little")


def put_in_the_way(place):
    """A file where there was a folder, and a folder where there was a file."""
    if place.is_dir():
        shutil.rmtree(place)
        place.write_text("not a folder")
    else:
        place.unlink()
        place.mkdir()


def wait_for(what, process=None, seconds=LONGEST, pause=0.002):
    """Waits until what() is true or the process has ended; tells whether it became true."""
    deadline = time.monotonic() + seconds
    while not what():
        if process is not None and process.poll() is not None:
            return what()
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")
        time.sleep(pause)
    return True


class RunsTest(unittest.TestCase):
    """Each test in an empty folder, which is the current one of every process it starts and is gone afterwards."""

    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veche-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def veche(self, *words, prefix=(), veche=VECHE, **options):
        return subprocess.run([*prefix, veche, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              timeout=LONGEST, stdin=subprocess.DEVNULL, **options)

    def version(self):
        """Of the program: what `veche --version` tells first."""
        return self.veche("--version").stdout.split()[1]

    def start(self, *words, **options):
        process = subprocess.Popen([VECHE, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=LONGEST)

    def run_path(self, name):
        return Run(self.folder / "runs" / name)

    def train(self, name, *settings, flags=("--quiet",), expect=0, **options):
        """Trains to the end and returns the run."""
        done = self.veche("train", *flags, *assignments(*settings, {"run.name": name}), **options)
        self.assertEqual(done.returncode, expect, done.stderr)
        return self.run_path(name)

    def assert_same_run(self, one, other, what="", checkpoints="all"):
        """The same but for the clock, to the last byte of the checkpoints (or of the last one)."""
        self.assertEqual(one.summary(), other.summary(), what)
        self.assertEqual(one.metrics(), other.metrics(), what)
        only = slice(-1 if checkpoints == "last" else None, None)
        mine, theirs = one.checkpoints(only), other.checkpoints(only)
        self.assertEqual(sorted(mine), sorted(theirs), what)
        self.assertEqual([file for file in mine if mine[file] != theirs[file]], [], f"{what}: files that differ")
