"""`veche.Optimizer`: a loop on several nodes and one learner with the batches of all."""

import json
import math
import pathlib
import tempfile
import unittest

import python_loops
import veche

# Deterministic strategies.
STRATEGIES = {
    "allreduce": {},
    "consensus": {},
    "consensus first": {"name": "consensus", "order": "combine-then-adapt"},
    "consensus tracked": {"name": "consensus", "momentum": "tracked"},
    "gradient tracking": {"name": "consensus", "correction": "gradient-tracking"},
    "d2": {"name": "consensus", "correction": "d2"},
    "two rounds": {"name": "consensus", "every": 3, "rounds": 2},
    "gossip": {},
    "push-sum": {"topology.graph": "exponential"},
    "moshpit": {"grid": [2, 2]},
    "hierarchical": {"groups": 2},
    "hierarchical gossip": {"name": "hierarchical", "groups": 2, "between": "gossip"},
    "local-sgd": {"period": 5, "outer": "nesterov"},
    "elastic": {"name": "local-sgd", "period": 5, "elastic": 0.3},
    "parameter-server": {},
    "delayed": {"name": "parameter-server", "delay": 2},
    "sums": {"name": "parameter-server", "reduce": "sum"},
    "none": {},
    "int8": {"name": "consensus", "compress.codec": "int8"},
    "int8 allreduce": {"name": "allreduce", "compress.codec": "int8"},
}


class Equal(unittest.TestCase):
    def test_all_reduce_is_one_learner(self):
        with tempfile.TemporaryDirectory() as folder:
            distances = python_loops.numbers("equal.py", nodes=4, folder=folder)
            self.assertGreater(len(distances), 15)
            for name, distance in distances.items():
                with self.subTest(name):
                    self.assertLess(distance, 1e-6)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])  # keep=False

    def test_strategies_are_those_of_the_engine(self):
        """Parameters of a loop of torch equal those of the built-in model and optimiser, on every node."""
        cases = {name: {key if "." in key else f"strategy.{key}": value for key, value in {"name": name, **keys}.items()}
                 for name, keys in STRATEGIES.items()}
        with tempfile.TemporaryDirectory() as folder:
            found = python_loops.numbers("quadratic.py", json.dumps(cases), nodes=4, folder=folder)
        for name, keys in cases.items():
            for optimizer in ("sgd", "adam"):
                built_in = {"model.name": "quadratic", "model.a": [1, 2, 3, 4], "model.b": [4, 3, 2, 1], "model.x0": 0.0,
                            "optimizer.name": optimizer, "optimizer.lr": 0.05, "cluster.nodes": 4, "run.steps": 20,
                            **({"optimizer.momentum": 0.5} if optimizer == "sgd" else {})}
                expected = veche.train({}, set={**built_in, **keys}, keep=False, progress=False).parameters
                with self.subTest(f"{name} {optimizer}"):
                    for mine, (theirs,) in zip(found[f"{name} {optimizer}"], expected, strict=True):
                        self.assertAlmostEqual(mine, float(theirs), delta=1e-6)

    def test_asynchronous_strategies_and_codecs(self):
        """They end, and the loss stays where it was or falls."""
        with tempfile.TemporaryDirectory() as folder:
            losses = python_loops.numbers("strategies.py", nodes=4, folder=folder)
        self.assertGreater(len(losses), 15)
        for name, (before, after) in losses.items():
            with self.subTest(name):
                self.assertTrue(math.isfinite(after))
                self.assertLess(after, 2 * before)
        self.assertGreater(sum(after < before for before, after in losses.values()), len(losses) / 2)


if __name__ == "__main__":
    unittest.main()
