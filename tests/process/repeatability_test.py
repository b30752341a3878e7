"""One seed, one result: to the byte, whatever the machine is doing."""

import os
import subprocess
import sys
import unittest

from veche_runs import SMALL, RunsTest, assignments

MODELS = {
    "mlp": {},
    "cnn": {"model.name": "cnn", "model.dropout": 0.5},
    "resnet20": {"model.name": "resnet20", "data.shape": "[3,8,8]", "optimizer.name": "sgd", "optimizer.momentum": 0.9},
}
FOUR_NODES = SMALL | {"cluster.nodes": 4, "run.steps": 8, "run.eval_every": 3, "run.checkpoint_every": 5,
                      "run.eval": "sample:2"}
# (settings that must not matter, what the command is started through)
DISTURBANCES = {
    "again": ({}, []),
    "one slot on one core": ({"cluster.slots": 1}, ["taskset", "-c", str(min(os.sched_getaffinity(0)))]),
    "four slots": ({"cluster.slots": 4}, ["nice", "-n", "2"]),
}


class Repeatability(RunsTest):
    def busy(self, processes):
        """Takes the processor away from whoever else wants it, until the test ends."""
        for _ in range(processes):
            self.addCleanup(self.end, subprocess.Popen([sys.executable, "-c", "while True: pass"]))

    def compare(self, model, strategy, disturbances):
        settings = FOUR_NODES | MODELS[model] | {"strategy.name": strategy}
        first = self.train(f"{model}-{strategy}", settings)
        self.assertEqual(first.steps(), [5, 8])
        for what in disturbances:
            extra, prefix = DISTURBANCES[what]
            with self.subTest(what, model=model, strategy=strategy):
                name = f"{model}-{strategy}-{what}".replace(" ", "_")
                self.assert_same_run(self.train(name, settings, extra, prefix=prefix), first)

    def test_undisturbed_and_disturbed(self):
        for model in MODELS:
            self.compare(model, "consensus", DISTURBANCES)
        self.compare("cnn", "single", ["one slot on one core"])

    def test_threads_of_one_node(self):
        """Equal numbers of threads give equal bytes; one more than there are cores is told of and works."""
        threads = len(os.sched_getaffinity(0)) + 1
        alone = SMALL | MODELS["cnn"] | {"cluster.nodes": 1, "strategy.name": "single", "run.steps": 6, "data.shape": "[1,28,28]",
                                         "model.threads": threads}
        first = self.train("first", alone)
        self.assert_same_run(self.train("second", alone), first)
        done = self.veche("train", *assignments(alone, {"run.name": "told"}))
        self.assertRegex(done.stderr, rf"note: model\.threads = {threads}, but this process may use \d+ cores?: ")

    def test_under_load(self):
        self.busy(2)
        for model in MODELS:
            self.compare(model, "allreduce", ["four slots"])

    def test_seed_matters(self):
        """Or else the comparisons above compare nothing."""
        one = self.train("one", FOUR_NODES)
        two = self.train("two", FOUR_NODES, {"run.seed": 2})
        self.assertNotEqual(one.summary(), two.summary())
        self.assertNotEqual(one.checkpoints(), two.checkpoints())

    def test_equal_models_do_not_differ(self):
        """A third of three equal floats' sum would be another float."""
        apart = self.train("three", FOUR_NODES, {"cluster.nodes": 3, "strategy.name": "allreduce"}).summary()["disagreement"]
        self.assertEqual(apart, {"cv": 0, "l1": 0, "l2": 0, "linf": 0})

    def test_config_repeats_the_run(self):
        first = self.train("first", FOUR_NODES, {"optimizer.lr": 0.003, "topology.graph": "path"})
        done = self.veche("train", "-q", first.path / "config.toml", "--set", "run.name=second")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_run(self.run_path("second"), first)


if __name__ == "__main__":
    unittest.main()
