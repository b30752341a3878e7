"""`veche data split`: who gets which samples, as a table, as JSON and as a picture."""

import json
import unittest

from veche_runs import SMALL, RunsTest, assignments

NODES = {"cluster.nodes": 5}


class Split(RunsTest):
    def split(self, partition, *words):
        done = self.veche("data", "split", *assignments(SMALL, NODES, {"data.partition": partition}), *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_every_sample_is_counted_once(self):
        for partition in ("iid", "sizes:[100,80,60,40,20]", "classes:2", "dirichlet:0.2"):
            split = json.loads(self.split(partition, "--json"))
            self.assertEqual((split["partition"], split["samples"]), (partition, 300))
            self.assertEqual([sum(node["per_class"]) for node in split["nodes"]],
                             [node["samples"] for node in split["nodes"]])
            # Sample i is of class i modulo 10: thirty of each.
            self.assertEqual([sum(node["per_class"][label] for node in split["nodes"]) for label in range(10)], [30] * 10)

    def test_skew(self):
        nodes = json.loads(self.split("classes:2", "--json"))["nodes"]
        for node in nodes:  # two of ten classes: four fifths of the samples would have to be others
            self.assertAlmostEqual(node["skew"], 0.8)

    def test_table(self):
        lines = self.split("sizes:[100,80,60,40,20]").splitlines()
        self.assertEqual([line.split()[:2] for line in lines],
                         [["node", "samples"], ["0", "100"], ["1", "80"], ["2", "60"], ["3", "40"], ["4", "20"]])

    def test_pictures(self):
        self.split("classes:2", "--plot", "split.svg")
        svg = (self.folder / "split.svg").read_text()
        self.assertEqual(svg.count("<circle"), 10)  # five nodes with two classes
        self.assertIn("synthetic, classes:2, seed 1", svg)
        self.split("classes:2", "--plot", "split.png")
        self.assertEqual((self.folder / "split.png").read_bytes()[:4], b"\x89PNG")

    def test_refusals(self):
        for words, sentence in ((["--plot", "split.pdf"], "--plot split.pdf must end in .svg or .png"),
                                (["--plot", "nowhere/split.svg"], "the picture 'nowhere/split.svg' cannot be written"),
                                (["--set", "model.name=quadratic"], "no data"),
                                (["--set", "data.partition=dirichlet"], "did you mean 'dirichlet:ALPHA'?")):
            done = self.veche("data", "split", *assignments(SMALL, NODES), *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertRegex(done.stderr, r"\Aveche: [^\n]+\n\Z")
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
