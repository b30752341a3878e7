"""A loss that is not a number ends the run: which node, at which step, what to do; what was saved stays good."""

import unittest

from veche_runs import QUADRATIC, SMALL, RunsTest, assignments, is_whole

SENTENCE = r"\Aveche: the (loss|model) of node (\d) is not a number at step (\d+): .*optimizer\.lr.*optimizer\.clip\n\Z"
# The distance to the optimum doubles with every step, so that floats last for some 128 of them.
DOUBLING = QUADRATIC | {"model.a": "[1,1,1,1]", "optimizer.name": "sgd", "optimizer.lr": 3, "run.checkpoint_every": 10,
                        "run.steps": 1000}


class Divergence(RunsTest):
    def fails(self, *words):
        done = self.veche("train", "-q", *words)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, SENTENCE)
        return done.stderr

    def test_every_strategy(self):
        for strategy in ("consensus", "allreduce", "single", "none"):
            for settings in (SMALL | {"optimizer.lr": 1e30, "optimizer.name": "sgd"}, DOUBLING):
                with self.subTest(strategy=strategy, model=settings["model.name"]):
                    if (strategy, settings["model.name"]) != ("single", "quadratic"):  # which has one learner a node
                        self.fails(*assignments(settings, {"strategy.name": strategy}))

    def test_in_the_last_step(self):
        for settings in (SMALL, QUADRATIC | {"model.b": "[1e38,1e38,1e38,1e38]"}):
            huge = settings | {"optimizer.lr": 1e38, "optimizer.name": "sgd", "run.steps": 1}
            self.fails(*assignments(huge, {"run.name": settings["model.name"]}))
            self.assertFalse((self.run_path(settings["model.name"]).path / "summary.json").exists())

    def test_checkpoints_stay_good(self):
        said = self.fails(*assignments(DOUBLING, {"run.name": "lost"}))
        run = self.run_path("lost")
        self.assertEqual(len(run.steps()), 2)
        self.assertTrue(all(is_whole(file) for step in run.steps() for file in run.checkpoint_files(step)))
        self.assertGreaterEqual(run.steps()[-1], 100)
        self.assertEqual(self.fails("--resume", run.path), said)

    def test_nothing_broken_is_saved(self):
        said = self.fails(*assignments(DOUBLING, {"run.name": "lost", "run.checkpoint_every": 1}))
        # Found before saving it, not with the loss of the step after.
        self.assertIn(f"the model of node 0 is not a number at step {self.run_path('lost').steps()[-1] + 1}:", said)


if __name__ == "__main__":
    unittest.main()
