"""A run that was killed, interrupted or whose checkpoint was damaged ends with the bytes of an uninterrupted one."""

import os
import random
import shutil
import signal
import subprocess
import sys
import unittest

from veche_runs import LONGEST, QUADRATIC, SMALL, RunsTest, assignments, is_whole, wait_for

SEED = int(os.environ.get("VECHE_TEST_SEED", random.SystemRandom().randrange(10**6)))
RUNS = {
    "mlp": SMALL | {"optimizer.schedule": "cosine", "run.steps": 600, "run.checkpoint_every": 30, "run.eval_every": 50},
    "cnn": SMALL | {"model.name": "cnn", "strategy.name": "allreduce", "run.steps": 40, "run.checkpoint_every": 4},
    "resnet20": SMALL | {"model.name": "resnet20", "optimizer.name": "sgd", "optimizer.momentum": 0.9,
                         "cluster.nodes": 2, "run.steps": 30, "run.checkpoint_every": 2, "run.eval": "all"},
    "choco": SMALL | {"compress.codec": "topk:0.05", "run.steps": 300, "run.checkpoint_every": 15, "run.eval_every": 50},
    "powersgd": SMALL | {"strategy.name": "allreduce", "compress.codec": "powersgd:2", "run.steps": 300,
                         "run.checkpoint_every": 15, "run.eval_every": 50},
    "every step": QUADRATIC | {"run.steps": 300, "run.checkpoint_every": 1, "run.eval_every": 10},
}


class Killed(RunsTest):
    def kill_and_resume(self, name, settings, kills):
        """Kills a run again and again, each time at a random moment after it has saved something new."""
        moments = random.Random(f"{SEED} {name}")
        run = self.run_path("killed")
        words = ["train", "-q", *assignments(settings, {"run.name": "killed"})]
        killed = 0
        for _ in range(kills):
            before = run.steps()[-1:]
            process = self.start(*words)
            wait_for(lambda: run.steps()[-1:] != before, process)
            try:
                process.wait(moments.uniform(0, 0.15))
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
            ended = process.wait(LONGEST)
            self.assertIn(ended, (0, -signal.SIGKILL), process.stderr.read())
            newest = run.checkpoint_files(run.steps()[-1])
            self.assertEqual([file.name for file in newest if not is_whole(file)], [])
            self.assertLessEqual(len(run.steps()), 3)  # two, and one on its way out
            words = ["train", "-q", "--resume", run.path]
            if ended == 0:  # a quick machine: it reached its end before the next kill
                break
        self.assertGreater(killed, 0, "the run is too short to be killed")
        done = self.veche(*words)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, r"\A(note: [^\n]+ had ended; [^\n]+\n)?\Z")
        return run

    def test_killed(self):
        for name, settings in RUNS.items():
            with self.subTest(name, seed=SEED):
                whole = self.train("whole", settings)
                killed = self.kill_and_resume(name, settings, kills=6 if name == "every step" else 3)
                self.assert_same_run(killed, whole)
                self.assertEqual(len(killed.steps()), 2)
                self.assertEqual(list(killed.path.glob("checkpoint/unfinished-*")), [])
            shutil.rmtree(self.folder / "runs")

    def test_killed_before_anything_was_saved(self):
        settings = SMALL | {"run.steps": 1000, "run.checkpoint_every": 1000, "run.eval_every": 50}
        whole = self.train("whole", settings)
        process = self.start("train", "-q", *assignments(settings, {"run.name": "killed"}))
        killed = self.run_path("killed")
        self.assertTrue(wait_for(lambda: (killed.path / "metrics.jsonl").exists() and killed.metrics(), process))
        process.kill()
        process.wait(LONGEST)
        done = self.veche("train", "--resume", killed.path)
        self.assertIn("no checkpoint yet", done.stderr)
        self.assert_same_run(killed, whole)

    def test_killed_before_the_summary(self):
        for settings in (RUNS["mlp"] | {"run.steps": 30}, SMALL | {"run.target_accuracy": 0.5, "run.epochs": 50}):
            with self.subTest(**settings):
                whole, killed = self.train("whole", settings), self.train("killed", settings)
                (killed.path / "summary.json").unlink()
                self.assertEqual(self.veche("train", "-q", "--resume", killed.path).returncode, 0)
                self.assert_same_run(killed, whole)
            shutil.rmtree(self.folder / "runs")


class Ended(RunsTest):
    SETTINGS = QUADRATIC | {"run.steps": 30, "run.eval_every": 500, "run.checkpoint_every": 5000}

    def test_resumed_again_changes_nothing(self):
        run = self.train("mine", self.SETTINGS)
        files = ("summary.json", "metrics.jsonl", "config.toml")
        before = [(run.path / file).read_text() for file in files], run.checkpoints()
        done = self.veche("train", "--resume", run.path)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"runs/mine had ended; --set run\.steps=\S+ makes it longer")
        self.assertEqual(([(run.path / file).read_text() for file in files], run.checkpoints()), before)

    def test_made_longer_and_interrupted(self):
        longer = {"run.steps": 30000}
        whole = self.train("whole", self.SETTINGS, longer)
        run = self.train("mine", self.SETTINGS)
        process = self.start("train", "--resume", run.path, *assignments(longer))
        self.assertTrue(wait_for(lambda: run.steps()[-1] > 30, process))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LONGEST), 130)
        self.assertEqual(self.veche("train", "-q", "--resume", run.path).returncode, 0)
        self.assertEqual(run.checkpoints(slice(-1, None)), whole.checkpoints(slice(-1, None)))


# An interrupt is seen within 1000 steps: longer runs are still under way then, however fast the machine.
class Interrupted(RunsTest):
    def test_interrupted(self):
        settings = RUNS["mlp"] | {"run.steps": 3000, "cluster.nodes": 2, "run.eval_every": 300, "run.checkpoint_every": 10**6}
        whole = self.train("whole", settings)
        process = self.start("train", *assignments(settings, {"run.name": "stopped"}))
        stopped = self.run_path("stopped")
        self.assertTrue(wait_for(lambda: (stopped.path / "metrics.jsonl").exists() and stopped.metrics(), process))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LONGEST), 130)
        said = process.stderr.read()
        self.assertIn("veche train --resume runs/stopped", said)
        self.assertEqual(len(stopped.steps()), 1)
        self.assertIn(f"Stopped after step {stopped.steps()[0]} of 3000", said)
        self.assertLess(stopped.steps()[0], 3000)
        self.assertFalse((stopped.path / "summary.json").exists())
        done = self.veche("train", "--resume", "runs/stopped")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"resumed after step {stopped.steps()[0]} of 3000", done.stderr)
        self.assert_same_run(stopped, whole, checkpoints="last")


class Damaged(RunsTest):
    SETTINGS = SMALL | {"run.steps": 50, "run.checkpoint_every": 20}

    def setUp(self):
        super().setUp()
        self.whole = self.train("whole", self.SETTINGS)
        self.assertEqual(self.whole.steps(), [40, 50])

    def damaged(self, harm, steps):
        """A run of which the checkpoints of these steps are damaged, resumed; what it said, and the harmed files."""
        run = self.run_path("damaged")
        shutil.rmtree(run.path, ignore_errors=True)
        shutil.copytree(self.whole.path, run.path)
        (run.path / "checkpoint/unfinished-41").mkdir()  # as a kill would leave it
        files = [run.checkpoint_files(step)[2] for step in steps]
        for file in files:
            harm(file)
        done = self.veche("train", "--resume", "runs/damaged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_run(run, self.whole, harm.__name__)
        self.assertEqual(list(run.path.glob("checkpoint/unfinished-*")), [])
        for file in files:
            self.assertIn(f"{file.relative_to(self.folder)} is damaged", done.stderr)
        return done.stderr

    def test_damaged(self):
        def truncated(file):
            os.truncate(file, file.stat().st_size - 5)

        def emptied(file):
            os.truncate(file, 0)

        def flipped(file):
            content = bytearray(file.read_bytes())
            content[random.Random(SEED).randrange(len(content))] ^= 1 << SEED % 8
            file.write_bytes(content)

        def removed(file):
            file.unlink()

        for harm in (truncated, emptied, flipped, removed):
            with self.subTest(harm.__name__, seed=SEED):
                self.assertIn("resumed after step 40 of 50", self.damaged(harm, [50]))
        self.assertIn("starting from the beginning", self.damaged(flipped, [40, 50]))

    def test_all_damaged_then_killed(self):
        settings = QUADRATIC | {"run.steps": 150, "run.checkpoint_every": 5}
        whole, run = self.train("long", settings), self.train("broken", settings)
        for step in run.steps():
            os.truncate(run.checkpoint_files(step)[0], 10)
        process = self.start("train", "-q", "--resume", run.path)
        wait_for(lambda: set(run.steps()) & {5, 10, 15}, process)
        process.kill()
        process.wait(LONGEST)
        done = self.veche("train", "--resume", run.path)
        self.assertIn("resumed after step", done.stderr)
        self.assert_same_run(run, whole)


if __name__ == "__main__":
    print(f"VECHE_TEST_SEED={SEED} repeats the same moments", file=sys.stderr, flush=True)
    unittest.main()
