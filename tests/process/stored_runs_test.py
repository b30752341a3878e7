"""Runs that earlier versions of Veche have left (tests/stored_runs/) go on with the present one, to the numbers of then."""

import json
import pathlib
import shutil
import unittest

from veche_runs import Run, RunsTest, without_clock

STORED = pathlib.Path(__file__).resolve().parents[1] / "stored_runs"
# Of the version that wrote them, had they not been interrupted. What nodes do asynchronously is not repeated to the bit, and the
# loss is a mean over the steps that each has made by chance: near the one at the minimum (x = 2: 1.25), and after the first
# thousand resumed steps far from that of a new beginning (2.05).
EXPECTED = {
    "consensus": {"loss": 1.2493256109884534, "within": 1e-6, "steps": 12000, "lines": 12, "after": 3003},
    # It had added up rounding, which stays in its state: so far from the minimum, and not further.
    "d2": {"loss": 1.25, "within": 3e-3, "steps": 12000, "lines": 12, "after": 3003},
    "gossip-mlp": {"loss": 0.19043020904064178, "within": 1e-3, "steps": 3000, "lines": 15, "after": 1271},
    "server-async": {"loss": 1.25, "within": 0.3, "steps": 12000, "lines": 12, "after": 2049},
}


class StoredRuns(RunsTest):
    def copy(self, name):
        shutil.copytree(STORED / name, self.folder / name)
        return Run(self.folder / name)

    def test_all_are_expected(self):
        self.assertEqual(sorted(EXPECTED), sorted(folder.name for folder in STORED.iterdir() if folder.is_dir()))

    def test_resumed(self):
        for name, expected in EXPECTED.items():
            with self.subTest(name):
                before = (STORED / name / "metrics.jsonl").read_text()
                run = self.copy(name)
                done = self.veche("train", "--resume", run.path)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"resumed after step {expected['after']} of {expected['steps']}", done.stderr)
                self.assertTrue((run.path / "metrics.jsonl").read_text().startswith(before), "what was measured stays")
                self.assertGreaterEqual(len(run.metrics()), expected["lines"])
                summary = run.summary()
                self.assertEqual(summary["stopped"], "steps")
                if name == "server-async":
                    self.assertGreaterEqual(summary["steps"], expected["steps"])
                    first = run.metrics()[before.count("\n")]
                    self.assertLess(first["train"]["loss"], 1.25 * (1 + expected["within"]), "it began anew")
                else:
                    self.assertEqual(summary["steps"], expected["steps"])
                    self.assertEqual(len(run.metrics()), expected["lines"])
                self.assertAlmostEqual(summary["loss"] / expected["loss"], 1, delta=expected["within"])

    def test_quiet(self):
        run = self.copy("consensus")
        done = self.veche("train", "-q", "--resume", run.path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_configurations_train_anew(self):
        for name in EXPECTED:
            with self.subTest(name):
                stored = STORED / name
                done = self.veche("train", "-q", stored / "config.toml", "--set", "run.steps=1000")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                run = self.run_path(name)
                self.assertEqual(run.summary()["stopped"], "steps")
                if name == "server-async":
                    continue
                # As the stored run began.
                lines = (stored / "metrics.jsonl").read_text().splitlines()
                then = [without_clock(json.loads(line)) for line in lines]
                for mine, theirs in zip(run.metrics(), then, strict=False):
                    self.assertEqual(mine["step"], theirs["step"])
                    self.assertAlmostEqual(mine["train"]["loss"] / theirs["train"]["loss"], 1, delta=1e-3)


if __name__ == "__main__":
    unittest.main()
