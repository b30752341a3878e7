"""data.shuffle in whole runs: what each means for the bytes that are trained and sent, and resuming."""

import unittest

from veche_runs import SMALL, RunsTest, assignments

# Class by class: who exchanges nothing sees two classes only.
RUN = SMALL | {"data.partition": "classes:3", "run.epochs": 3, "run.checkpoint_every": 1000, "data.augment": "crop:1+flip"}
SAMPLE = 8 + 64  # a label and 8 x 8 pixels


class Shuffle(RunsTest):
    def test_partial_nothing_is_local_and_partial_all_is_global(self):
        ends = {}
        for rule in ("local", "partial:0", "partial:0.3", "partial:1", "global"):
            run = self.train(rule.replace(":", "-"), RUN, {"data.shuffle": rule})
            ends[rule] = run.checkpoints(), run.summary().get("samples_sent")
        self.assertEqual(ends["local"], ends["partial:0"])
        self.assertIsNone(ends["local"][1])
        self.assertEqual(ends["partial:1"], ends["global"])
        self.assertEqual(len({str(checkpoints) for checkpoints, _ in ends.values()}), 3)
        sent = ends["global"][1]["bytes"]
        self.assertEqual(sent % SAMPLE, 0)
        # Three of four samples move, 300 in each of three epochs, give or take chance.
        self.assertAlmostEqual(sent / SAMPLE, 675, delta=60)
        self.assertAlmostEqual(ends["partial:0.3"][1]["bytes"] / SAMPLE, 0.3 * 675, delta=40)

    def test_resumed_to_the_bit(self):
        whole = self.train("whole", RUN, {"data.shuffle": "partial:0.5"})
        steps = whole.summary()["steps"]
        for first in (steps // 3, steps // 2):  # between two epochs and within one
            rule = {"data.shuffle": "partial:0.5"}
            run = self.train(f"part-{first}", {key: value for key, value in RUN.items() if key != "run.epochs"}, rule,
                             {"run.steps": first})
            done = self.veche("train", "-q", "--resume", str(run.path), "--set", f"run.steps={steps}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run.checkpoints(slice(-1, None)), whole.checkpoints(slice(-1, None)))
            self.assertEqual(run.summary()["samples_sent"], whole.summary()["samples_sent"])

    def test_other_strategies(self):
        # One of the four nodes of a parameter server has no data, and takes part all the same.
        for strategy in ("parameter-server", "gossip"):
            run = self.train(strategy, RUN, {"data.shuffle": "global", "strategy.name": strategy, "run.epochs": 1,
                                             "data.partition": "iid"})
            self.assertIn("samples_sent", run.summary())

    def test_one_learner_sees_what_many_see(self):
        loss = {}
        for strategy in ("single", "allreduce"):
            run = self.train(strategy, RUN, {"data.shuffle": "partial:0.5", "strategy.name": strategy,
                                             "optimizer.name": "sgd", "data.partition": "iid", "model.dropout": 0})
            loss[strategy] = run.summary()["accuracy"]["average_model"], run.summary()["train_loss"]
        self.assertEqual(loss["single"][0], loss["allreduce"][0])
        self.assertAlmostEqual(loss["single"][1], loss["allreduce"][1], places=4)

    def test_refusals(self):
        for settings, words in (({"data.shuffle": "globl"}, ["data.shuffle", "global"]),
                                ({"data.shuffle": "partial:2"}, ["data.shuffle", "from 0 to 1"]),
                                ({"data.shuffle": "global", "data.uneven": "repeat"}, ["data.uneven", "wait"])):
            done = self.veche("train", *assignments(RUN, settings))
            self.assertEqual(done.returncode, 2)
            for word in words:
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
