"""What fails on the first rank alone ends the job at once, with the cause, and not with the tale of a rank that was killed."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from jobs import Jobs  # and the way to what the process tests share
import at_once
from veche_runs import QUADRATIC, assignments, put_in_the_way, wait_for

RANKS = 3
PROMPTLY = 30  # seconds, on a busy machine; those who did not know what had failed waited for more than a minute
SETTINGS = QUADRATIC | {"model.a": "[1,2,3]", "model.b": "[3,2,1]"}
SHORT = SETTINGS | {"run.steps": 100, "run.checkpoint_every": 50}


class FailureTest(Jobs):
    def fails(self, code, sentence, *words):
        start = time.monotonic()
        done = self.mpirun(RANKS, "train", "--quiet", *words)
        took = time.monotonic() - start
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("veche: "), 1, done.stderr)
        self.assertRegex(done.stderr, sentence)
        self.assertLess(took, PROMPTLY, done.stderr)
        return done.stderr

    def resume_fails(self, run, code, sentence):
        return self.fails(code, sentence, "--resume", run.path, "--set", "run.steps=1000000", "--set", "run.checkpoint_every=200")


class InTheWay(FailureTest):
    def resumed_with_an_obstacle(self, name, sentence=r"rank 0 on \S+: {place} is "):
        run = self.train_job(RANKS, f"of-{name}", SHORT)
        place = run.path / name
        put_in_the_way(place)
        self.resume_fails(run, 2, "veche: " + sentence.replace("{place}", re.escape(str(place))))

    def test_a_folder_for_the_metrics(self):
        self.resumed_with_an_obstacle("metrics.jsonl")

    def test_a_folder_for_the_layout(self):
        # Read before there is a job: it may hold the scheme of a table or the tokenizer.
        self.resumed_with_an_obstacle("layout.json", "{place} cannot be read: it is a folder")

    def test_a_file_for_the_folder_of_checkpoints(self):
        self.resumed_with_an_obstacle("checkpoint")

    def test_a_summary_that_cannot_be_written(self):
        job = self.start_job(RANKS, "train", "--quiet", *assignments(
            SETTINGS, {"run.steps": 20000, "run.checkpoint_every": 100, "run.name": "mine"}))
        run = self.run_path("mine")
        self.assertTrue(wait_for(run.steps, job))
        (run.path / "summary.json").mkdir()
        told = job.communicate(timeout=120)[1]
        self.assertIn(job.returncode, (1, 2))
        self.assertRegex(told, r"veche: rank 0 on \S+: runs/mine/summary.json is a folder")
        self.assertEqual(run.steps()[-1], 20000)

    def stay(self, obstacle):
        """Makes a folder that nobody can remove or rename."""
        obstacle.mkdir()
        if os.geteuid() == 0:  # root may remove everything but what is mounted
            if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", obstacle], capture_output=True).returncode != 0:
                self.skipTest("root, and mounting is not allowed")
            self.addCleanup(subprocess.run, ["umount", "-l", obstacle], check=True)
        else:
            (obstacle / "a" / "b").mkdir(parents=True)
            (obstacle / "a").chmod(0)
            self.addCleanup((obstacle / "a").chmod, 0o700)

    def test_a_commit_that_fails(self):
        job = self.start_job(RANKS, "train", "--quiet", *assignments(
            SETTINGS, {"run.steps": 10**8, "run.checkpoint_every": 200, "run.name": "mine"}))
        run = self.run_path("mine")
        self.assertTrue(wait_for(run.steps, job))
        soon = run.steps()[-1] // 200 * 200 + 20000  # a second or two from now
        self.stay(run.path / f"checkpoint/step-{soon}")
        told = job.communicate(timeout=120)[1]
        self.assertEqual(job.returncode, 1, told)
        self.assertRegex(told, rf"veche: rank 0 on \S+: runs/mine/checkpoint/step-{soon} cannot be removed: ")
        self.assertRegex(told, r"Saved after step \d+")

    @unittest.skipUnless(os.geteuid() == 0, "a folder that cannot be renamed is one that root has mounted")
    def test_damage_that_cannot_be_put_aside(self):
        run = self.train_job(RANKS, "mine", SHORT)
        self.stay(run.path / "checkpoint/step-200")
        self.resume_fails(run, 1, rf"veche: rank 0 on \S+: {run.path}/checkpoint/damaged-step-200 cannot be given its name: ")


class Full(FailureTest):
    def test_at_the_start(self):
        runs = self.folder / "runs"
        runs.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", runs], capture_output=True)
        if done.returncode != 0:
            self.skipTest("mounting is not allowed here; the tests above make the first rank fail otherwise")
        self.addCleanup(subprocess.run, ["umount", "-l", runs], check=True)
        blamed = set()
        for pages in range(4):  # room for the lock, the configuration and so on, one after the other
            with open(runs / "filler", "wb") as filler:
                filler.write(bytes((64 - pages) * 4096))
            told = self.fails(1, r"veche: (rank 0 on \S+: )?runs/mine/\S+ cannot be \w+: No space left on device",
                              *assignments(SHORT, {"run.name": "mine"}))
            blamed.add(told.split("runs/mine/")[1].split()[0])
            shutil.rmtree(runs / "mine", ignore_errors=True)
        self.assertIn("config.toml", blamed)
        self.assertIn("layout.json", blamed)

    def test_an_immutable_folder(self):
        run = self.train_job(RANKS, "mine", SHORT)
        if subprocess.run(["chattr", "+i", run.path], capture_output=True).returncode != 0:
            run.path.chmod(0o500)
            self.addCleanup(run.path.chmod, 0o700)
            if os.geteuid() == 0:
                self.skipTest("root, on a file system on which nothing is immutable")
        else:
            self.addCleanup(subprocess.run, ["chattr", "-i", run.path], check=True)
        self.resume_fails(run, 1, rf"veche: rank 0 on \S+: {run.path}/config.toml cannot be opened: ")


class Others(FailureTest):
    def test_a_second_job_on_the_same_folder(self):
        words = assignments(SETTINGS, {"run.steps": 10**9, "run.checkpoint_every": 1000, "run.name": "mine"})
        job = self.start_job(RANKS, "train", "--quiet", *words)
        run = self.run_path("mine")
        self.assertTrue(wait_for(run.steps, job))
        self.fails(2, r"mine is being trained by process \d+ on ", "--resume", run.path)
        done = self.veche("train", "--resume", run.path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is being trained by process", done.stderr)
        self.assertIsNone(job.poll())
        ranks = self.ranks_of(job)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=120)
        self.assertTrue(wait_for(lambda: not [rank for rank in ranks if os.path.exists(f"/proc/{rank}/exe")]))

    def test_a_folder_that_vanishes(self):
        job = self.start_job(RANKS, "train", "--quiet", *assignments(
            SETTINGS, {"run.steps": 10**9, "run.checkpoint_every": 100, "run.name": "mine"}))
        run = self.run_path("mine")
        self.assertTrue(wait_for(run.steps, job))
        start = time.monotonic()
        while run.path.exists():
            shutil.rmtree(run.path, ignore_errors=True)
        told = job.communicate(timeout=120)[1]
        self.assertLess(time.monotonic() - start, PROMPTLY, told)
        self.assertEqual(job.returncode, 1, told)
        self.assertRegex(told, r"veche: [^\n]*runs/mine/checkpoint\S* ")
        self.assertEqual(told.count("veche: "), 1, told)
        self.assertFalse(run.path.exists())


if __name__ == "__main__":
    at_once.main(4)
