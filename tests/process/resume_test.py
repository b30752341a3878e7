"""A run that was killed, interrupted or whose checkpoint was damaged ends with the bytes of an uninterrupted one."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import unittest

from veche_runs import LONGEST, QUADRATIC, SMALL, RunsTest, assignments, is_whole, wait_for

SEED = int(os.environ.get("VECHE_TEST_SEED", random.SystemRandom().randrange(10**6)))
RUNS = {
    "mlp": SMALL | {"optimizer.schedule": "cosine", "run.steps": 600, "run.checkpoint_every": 30, "run.eval_every": 50,
            "cluster.lose": 0.05},
    "cnn": SMALL | {"model.name": "cnn", "strategy.name": "allreduce", "run.steps": 40, "run.checkpoint_every": 4},
    "resnet20": SMALL | {"model.name": "resnet20", "optimizer.name": "sgd", "optimizer.momentum": 0.9,
                         "cluster.nodes": 2, "run.steps": 30, "run.checkpoint_every": 2, "run.eval": "all"},
    "choco": SMALL | {"compress.codec": "topk:0.05", "run.steps": 300, "run.checkpoint_every": 15, "run.eval_every": 50},
    "powersgd": SMALL | {"strategy.name": "allreduce", "compress.codec": "powersgd:2", "run.steps": 300,
                         "run.checkpoint_every": 15, "run.eval_every": 50},
    "streaming": SMALL | {"strategy.name": "local-sgd", "strategy.period": 12, "strategy.fragments": 3, "strategy.delay": 2,
                          "strategy.outer": "nesterov", "compress.codec": "topk:0.2", "data.batch": 5, "data.accumulate": 2,
                          "optimizer.name": "muon", "run.steps": 300, "run.checkpoint_every": 17, "run.eval_every": 50},
    "scaffold": QUADRATIC | {"strategy.name": "local-sgd", "strategy.period": 5, "strategy.correction": "scaffold",
                             "strategy.outer": "yogi", "run.steps": 300, "run.checkpoint_every": 2, "run.eval_every": 10},
    "noloco": QUADRATIC | {"strategy.name": "gossip", "strategy.outer": "nesterov", "strategy.every": 3,
                           "run.steps": 300, "run.checkpoint_every": 2, "run.eval_every": 10},
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
            kept = file.parent.with_name(f"damaged-{file.parent.name}")
            self.assertIn(f"kept as {kept.relative_to(self.folder)}", done.stderr)
            self.assertGreaterEqual(len(list(kept.iterdir())), 3)
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

    def test_all_damaged(self):
        run = self.whole
        files = [run.checkpoint_files(40)[0], run.checkpoint_files(50)[2]]
        for file in files:
            os.truncate(file, file.stat().st_size - 5)
        (run.path / "checkpoint/unfinished-41").mkdir()

        def content():
            return {file.relative_to(run.path): file.read_bytes() for file in run.path.rglob("*")
                    if file.is_file() and file.name != "lock"}

        whole = run.metrics(), run.summary(), {name: piece for name, piece in run.checkpoints().items() if name not in ("40/node-0", "50/node-2")}
        before = content()
        for words in (["train", "--resume"], ["model", "export"]):
            done = self.veche(*words, "runs/whole", *(["x"] if words[0] == "model" else []))
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for file in files:
                self.assertIn(str(file.relative_to(self.folder)), done.stderr)
            self.assertEqual(done.stderr.count("its checksum is wrong"), 2)
            self.assertEqual("veche train --resume runs/whole --restart" in done.stderr, words[0] == "train")
        self.assertEqual(content(), before)
        self.assertTrue((run.path / "checkpoint/unfinished-41").is_dir())
        alone = self.veche("train", "--restart")
        self.assertEqual((alone.returncode, "--resume runs/NAME" in alone.stderr), (2, True), alone.stderr)

        done = self.veche("train", "--resume", "runs/whole", "--restart")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("moved the previous files of runs/whole to runs/whole/aside-1", done.stderr)
        self.assertEqual((run.metrics(), run.summary()), whole[:2])
        self.assertLessEqual(whole[2].items(), run.checkpoints().items())
        for name, bytes_of_it in before.items():
            if name.name != "config.toml":
                self.assertEqual((run.path / "aside-1" / name).read_bytes(), bytes_of_it, name)
        self.assertNotEqual((run.path / "id").read_bytes(), before[pathlib.Path("id")])

    def test_pieces_that_do_not_belong_together(self):
        settings = QUADRATIC | {"run.steps": 6, "run.checkpoint_every": 3}
        one, other, mixed = self.train("one", settings), self.train("other", settings), self.run_path("mixed")
        for told, source, target in (("it is that of node 2", one.checkpoint_files(6)[2], "step-6/node-1"),
                                     ("it is of step 3", one.checkpoint_files(3)[1], "step-6/node-1"),
                                     ("it is of step 3", one.path / "checkpoint/step-3", "step-6"),
                                     ("it is of the run ", other.checkpoint_files(6)[1], "step-6/node-1"),
                                     ("it is of the run ", other.path / "checkpoint/step-6", "step-6")):
            with self.subTest(told, target=target):
                shutil.rmtree(mixed.path, ignore_errors=True)
                shutil.copytree(one.path, mixed.path)
                target = mixed.path / "checkpoint" / target
                if target.is_dir():
                    shutil.rmtree(target)
                    shutil.copytree(source, target)
                else:
                    shutil.copy(source, target)
                for words, goes_on in ((["model", "export", "runs/mixed", "x"], "x: the average of 4 nodes of step 3,"),
                                       (["train", "--resume", "runs/mixed"], "resumed after step 3 of 6")):
                    done = self.veche(*words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(f"is damaged and passed over: {told}", done.stderr)
                    self.assertIn(goes_on, done.stderr)

    def test_a_run_without_its_id_goes_on_and_gets_it_back(self):
        run = self.train("mine", QUADRATIC, {"run.steps": 6})
        own = (run.path / "id").read_bytes()
        moved = self.run_path("moved")
        shutil.copytree(run.path / "checkpoint", moved.path / "checkpoint")
        shutil.copy(run.path / "config.toml", moved.path)
        done = self.veche("train", "--resume", moved.path, "--set", "run.steps=9")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("damaged", done.stderr)
        self.assertEqual((moved.path / "id").read_bytes(), own)
        (moved.path / "id").write_text("what?\n")
        done = self.veche("train", "--resume", moved.path, "--set", "run.steps=12")
        self.assertEqual((done.returncode, "runs/moved/id is damaged" in done.stderr), (2, True), done.stderr)

    def test_all_damaged_then_killed(self):
        settings = QUADRATIC | {"run.steps": 150, "run.checkpoint_every": 5}
        whole, run = self.train("long", settings), self.train("broken", settings)
        for step in run.steps():
            os.truncate(run.checkpoint_files(step)[0], 10)
        process = self.start("train", "-q", "--resume", run.path, "--restart")
        wait_for(lambda: set(run.steps()) & {5, 10, 15}, process)
        process.kill()
        process.wait(LONGEST)
        done = self.veche("train", "--resume", run.path)
        self.assertIn("resumed after step", done.stderr)
        self.assert_same_run(run, whole)


if __name__ == "__main__":
    print(f"VECHE_TEST_SEED={SEED} repeats the same moments", file=sys.stderr, flush=True)
    unittest.main()
