"""Benches verify, say what they promised, and leave a table that training reads."""

import json
import os
import unittest

from veche_runs import QUADRATIC, RunsTest


class BenchTest(RunsTest):
    def test_allreduce_is_measured_and_tuned(self):
        done = self.veche("bench", "allreduce", "--quick", "--json", "--tune", "table.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual(sum(case["peer"] == "copying" for case in cases), 12)
        self.assertTrue(all(case["ratio"] > 0 and case["required"] > 0 for case in cases))
        by_table = self.train("table", QUADRATIC, {"strategy.name": "allreduce", "strategy.table": "table.toml", "run.steps": 20})
        by_ring = self.train("ring", QUADRATIC, {"strategy.name": "allreduce", "strategy.algorithm": "ring", "run.steps": 20})
        for one, other in zip(by_table.summary()["parameters"], by_ring.summary()["parameters"]):
            self.assertAlmostEqual(one[0], other[0], places=5)

    def test_compress_is_measured_beside_pytorch(self):
        done = self.veche("bench", "compress", "--quick", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual(len(cases) % 11, 0)  # for every instruction set
        self.assertTrue(all(case["ratio"] > 0 and case["required"] > 0 for case in cases))

    def load(self, *words):
        elsewhere = {key: value for key, value in os.environ.items() if key != "CIFAR10"}
        return self.veche("bench", "load", "--quick", *words, env=elsewhere)

    def test_load_prepares_the_images_that_pytorch_does(self):
        done = self.load("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [case["name"] for case in json.loads(done.stdout)["cases"]]
        self.assertEqual(sum("crop, flip" in name for name in names), 4)
        self.assertTrue(all(name.startswith("made-up images: ") for name in names), names)
        self.assertRegex(done.stderr, "made-up images instead")

    def test_load_takes_a_set_of_images_alone(self):
        for path in ("no/such", "."):
            done = self.load("--data", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\nveche: [^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
