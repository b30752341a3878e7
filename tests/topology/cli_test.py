#!/usr/bin/env python3
"""Runs `veche topology` as people do: output, JSON, pictures, and every kind of wrong input.

Usage: cli_test.py VECHE GRAPHS_JSON
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

VECHE, GRAPHS = sys.argv[1], sys.argv[2]


def run(*words, **settings):
    return subprocess.run([VECHE, "topology", *words], capture_output=True, text=True, timeout=110, **settings)


# As the Internet Topology Zoo writes them: parallel links, a self-loop, a node without a name.
ZOO = """graph [
  Network "Example"
  node [ id 0 label "New York" Longitude -74.0 Internal 1 ]
  node [ id 1 label "A &amp; B" Internal 1 ]
  node [ id 2 label "" hyperedge 1 ]
  node [ id 3 label "Troms&#248;" ]
  edge [ source 0 target 1 LinkLabel "OC-192" ]
  edge [ source 0 target 1 ]
  edge [ source 1 target 2 ]
  edge [ source 2 target 3 ]
  edge [ source 3 target 3 ]
  edge [ source 3 target 0 ]
]
"""
APART = 'graph [ node [ id 0 label "Oslo" ] node [ id 1 label "Bergen" ] node [ id 2 label "Malm&ouml;" ] ' \
        'edge [ source 0 target 1 ] ]'
LABELS = ["New York", "A & B", "", "Tromsø"]


class TopologyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def json(self, *words):
        result = run(*words, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1)
        return json.loads(result.stdout)

    def refused(self, words, *said):
        result = run(*words)
        self.assertEqual(result.returncode, 2, (words, result.stdout, result.stderr))
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in said:
            self.assertIn(word, result.stderr)

    def test_report_for_people_is_the_output(self):
        result = run("torus:6x6", "--weights", "optimal", "--model", "cnn")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, "")
        for word in ("nodes", "36", "edges", "72", "diameter", "0.777778", "tau", "1,475,338", "certificate"):
            self.assertIn(word, result.stdout)

    def test_json_has_every_key(self):
        report = self.json("torus:6x6", "--weights", "optimal", "--model", "1000")
        self.assertEqual((report["nodes"], report["edge_count"], report["diameter"]), (36, 72, 6))
        self.assertEqual(report["degree"], {"min": 4, "mean": 4.0, "max": 4})
        self.assertIs(report["connected"], True)
        self.assertAlmostEqual(report["algebraic_connectivity"], 1)
        self.assertAlmostEqual(report["rho"], 7 / 9, places=7)
        self.assertEqual(report["rounds_to_1e-3"], 28)
        self.assertEqual(report["bytes_per_round"], 16000)
        self.assertEqual(report["negative_weights"], 0)
        self.assertLess(report["gap"], 1e-6)
        self.assertEqual(len(report["edges"]), 72)
        self.assertEqual(len(report["weights"]), 72 + 36)
        self.assertIsNone(self.json("ring:5")["gap"])

    def test_weights_make_rows_that_sum_to_one(self):
        for spec, rule in (("grid:3x4", "optimal"), ("tree:9:2", "metropolis"), ("exponential:6", "uniform")):
            report = self.json(spec, "--weights", rule)
            rows = [0.0] * report["nodes"]
            for i, j, weight in report["weights"]:
                rows[j] += weight
                if i != j and not report["directed"]:
                    rows[i] += weight
            for total in rows:
                self.assertAlmostEqual(total, 1, places=9)

    def test_stored_graphs(self):
        with open(GRAPHS) as file:
            stored = json.load(file)
        for name in ("cvx_icm06_8n13e", "cvx_icm06_cutgrid_64n95e"):
            path = self.path(name + ".json", json.dumps({"nodes": stored[name]["n"], "edges": stored[name]["edges"]}))
            for rule, rho in stored[name]["rho"].items():
                self.assertAlmostEqual(self.json("file:" + path, "--weights", rule)["rho"], rho, delta=1e-4)
        self.assertEqual(self.json("file:" + self.path("cvx_icm06_8n13e.json"), "--weights", "optimal")["negative_weights"], 1)

    def test_the_output_is_a_graph_file(self):
        first = self.json("grid:3x5", "--weights", "optimal")
        path = self.path("saved.json", json.dumps(first))
        again = self.json("file:" + path, "--weights", "file")
        self.assertEqual(first["edges"], again["edges"])
        self.assertAlmostEqual(first["rho"], again["rho"], places=12)
        self.assertEqual(first["rho"], self.json("grid:3x5", "--weights", "file:" + path)["rho"])

    def test_what_never_converges_is_shown_with_a_warning(self):
        result = run("ring:8", "--weights", "metropolis-hastings", "--json")
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning", result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["rho"], 1)
        self.assertIsNone(report["tau"])

    def test_graphs_that_change(self):
        eight = self.json("one-peer-exponential:8")
        self.assertEqual((eight["residual"], eight["period"], eight["rounds_to_1e-3"]), (0, 3, 3))
        self.assertAlmostEqual(self.json("one-peer-exponential:6")["residual"], 0.216506, places=6)
        matchings = self.json("matchings:torus:4x4")
        self.assertTrue(matchings["estimated"])
        self.assertLess(matchings["rho"], 1)
        self.assertEqual(self.json("schedule:ring:6,star:6")["period"], 2)
        self.assertIn("expected", run("matchings:ring:8").stdout)

    def test_pictures(self):
        for spec in ("ring:9", "torus:4x5", "hypercube:4", "tree:20:3", "star:6", "regular:20:3", "exponential:8", "matchings:ring:6"):
            svg, png = self.path("a.svg"), self.path("a.png")
            self.assertEqual(run(spec, "--svg", svg, "--png", png).returncode, 0, spec)
            root = ElementTree.parse(svg).getroot()
            self.assertTrue(root.tag.endswith("svg"))
            circles = [shape for shape in root if shape.tag.endswith("circle")]
            self.assertGreaterEqual(len(circles), 6)
            with open(png, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.refused(["ring:5", "--svg", self.path("no/where.svg")], "cannot be written")
        self.refused(["ring:5", "--png", self.path("no/where.png")], "cannot be written")
        self.refused(["ring:5000", "--svg", self.path("b.svg")], "5000 nodes")

    def test_files_of_the_topology_zoo(self):
        path = self.path("zoo.gml", ZOO)
        svg, png, dot = self.path("z.svg"), self.path("z.png"), self.path("z.dot")
        result = run("file:" + path, "--svg", svg, "--png", png, "--dot", dot)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, f"note: the graph file '{path}': 1 parallel edge was merged and 1 self-loop was dropped\n")
        self.assertRegex(result.stdout, r"(?m)^  New York +0 +2$")
        drawn = [text.text for text in ElementTree.parse(svg).getroot() if text.tag.endswith("text")]
        for label in filter(None, LABELS):
            self.assertIn(label, drawn)
        report = self.json("file:" + path)
        self.assertEqual((report["labels"], report["nodes"], report["edge_count"]), (LABELS, 4, 4))
        for again in (dot, self.path("again.json", json.dumps(report))):
            result = run("file:" + again, "--weights", "file", "--json")
            self.assertEqual(result.stderr, "")
            self.assertEqual(json.loads(result.stdout)["labels"], LABELS)
        compared = run("compare", "file:" + path, "ring:4")
        self.assertEqual((compared.returncode, compared.stderr.count("note:")), (0, 1))

    def test_dot_is_a_graph_file(self):
        for spec, rule in (("grid:3x5", "optimal"), ("exponential:6", "uniform"), ("ring:4", "metropolis")):
            dot = self.path("saved.dot")
            first = json.loads(run(spec, "--weights", rule, "--dot", dot, "--json").stdout)
            again = self.json("file:" + dot, "--weights", "file", *["--directed"] * first["directed"])
            self.assertEqual(first["edges"], again["edges"])
            self.assertAlmostEqual(first["rho"], again["rho"], places=12)
            self.assertNotIn("labels", again)

    def test_compare(self):
        result = run("compare", "ring:16", "torus:4x4", "complete:16", "--weights", "optimal", "--model", "resnet20")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stdout.strip().split("\n")), 4)
        rows = self.json("compare", "ring:16", "torus:4x4")["topologies"]
        self.assertEqual([row["spec"] for row in rows], ["ring:16", "torus:4x4"])
        self.assertGreater(rows[0]["rho"], rows[1]["rho"])

    def test_recommend(self):
        report = self.json("recommend", "--nodes", "16", "--degree", "4")
        self.assertLess(report["rho"], min(rival["rho"] for rival in report["rivals"]))
        self.assertEqual(len(report["rivals"]), 3)
        degrees = [0] * 16
        for i, j in report["edges"]:
            degrees[i] += 1
            degrees[j] += 1
        self.assertLessEqual(max(degrees), 4)
        path = self.path("best.json")
        said = run("recommend", "--nodes", "16", "--degree", "4", "--out", path).stdout
        self.assertIn("exponential:16", said)
        self.assertAlmostEqual(self.json("file:" + path, "--weights", "file")["rho"], report["rho"], places=9)
        self.refused(["recommend", "--nodes", "5", "--degree", "1"], "no connected graph")
        self.refused(["recommend", "--nodes", "5"], "--degree")

    def test_wrong_input_is_one_sentence(self):
        apart = self.path("apart.edges", "0 1\n1 2\n3 4\n")
        cases = [
            ([], "needs a graph"),
            (["rign:8"], "did you mean 'ring'"),
            (["ring:8", "--weights", "metropolos"], "did you mean 'metropolis'"),
            (["ring:1"], "at least 2"),
            (["complete:1"], "at least 2"),
            (["torus:2x6"], "at least 3"),
            (["ring:8", "--model", "resnet21"], "resnet20"),
            (["file:" + apart], "{0, 1, 2} and {3, 4}"),
            (["file:" + self.path("apart.gml", APART)], '{0 "Oslo", 1 "Bergen"} and {2 "Malmö"} cannot reach each other'),
            (["file:" + self.path("liar.gml", "0 1\n1 2\n")], "read as GML"),
            (["ring:4", "--dto", "x.dot"], "did you mean '--dot'"),
            (["ring:4", "--colour", "red"], "--svg"),
            (["ring:4", "--dot", self.path("no/where.dot")], "cannot be written"),
            (["compare", "ring:8", "--jsno"], "`veche topology compare` has no --jsno; did you mean '--json'"),
            (["file:" + self.path("one.dot", "digraph { a -> b }")], "one way"),
            (["file:" + self.path("range.json", '{"nodes": 2, "edges": [[0, 1], [1, 2]]}')], "node 2"),
            (["file:" + self.path("liar.json", "0 1\n1 2\n")], "not JSON"),
            (["file:" + self.path("liar.graphml", "0 1\n1 2\n")], "not XML"),
            (["file:" + self.path("liar.dot", "0 1\n1 2\n")], "expected"),
            (["file:" + self.path("missing.json")], "cannot be read"),
            (["file:" + self.folder.name], "cannot be read"),
            (["ring:4", "--weights", "file:" + self.path("w.edges", "0 1 0.5\n1 2 0.5\n")], "no weight for edge 0-3"),
            (["path:3", "--weights", "file:" + self.path("v.edges", "0 1 0.5\n1 2 0.5\n0 2 0.1\n")], "no edge"),
            (["compare", "ring:8", "torsu:3x3"], "did you mean 'torus'"),
        ]
        for words, said in cases:
            with self.subTest(words=words):
                self.refused(words, said)

    def test_one_way_edges_when_allowed(self):
        path = self.path("cycle.edges", "directed\n0 1\n1 2\n2 0\n0 2\n")
        self.refused(["file:" + path], "one way")
        self.assertEqual(run("file:" + path, "--directed").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
