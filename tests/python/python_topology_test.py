"""Graphs and weights as the command line has them, and as NumPy sees them."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy

import veche
from veche_runs import VECHE


def command_line(*words):
    return subprocess.run([VECHE, "topology", *words], capture_output=True, text=True, timeout=100, check=True).stdout


class Topology(unittest.TestCase):
    def test_ring(self):
        """The eigenvalues of the ring with weights 1/3 are (1 + 2 cos(2 pi k / n)) / 3."""
        ring = veche.topology("ring:8")
        self.assertEqual((ring.nodes, ring.period, ring.bound, ring.directed, ring.labels), (8, 1, None, False, []))
        self.assertEqual(ring.edges, [(0, 1), (0, 7), *((i, i + 1) for i in range(1, 7))])
        expected = sum(numpy.roll(numpy.eye(8), shift, axis=1) for shift in (-1, 0, 1)) / 3
        numpy.testing.assert_allclose(ring.matrix, expected, rtol=1e-15)
        self.assertAlmostEqual(ring.rho, (1 + 2 * numpy.cos(numpy.pi / 4)) / 3, places=12)
        self.assertEqual(ring.describe(), "ring:8, metropolis")

    def test_optimal_is_what_the_command_line_says(self):
        torus = veche.topology("torus:4x6", weights="optimal")
        said = json.loads(command_line("torus:4x6", "--weights", "optimal", "--json"))
        self.assertEqual([list(edge) for edge in torus.edges], said["edges"])
        self.assertAlmostEqual(torus.rho, said["rho"], places=12)
        self.assertAlmostEqual(torus.bound, said["bound"], places=12)
        for i, j, weight in said["weights"]:
            self.assertEqual((torus.matrix[i, j], torus.matrix[j, i]), (weight, weight))
        # The rate is that of the matrix.
        values = sorted(abs(numpy.linalg.eigvalsh(torus.matrix)))
        self.assertAlmostEqual(values[-1], 1)
        self.assertAlmostEqual(values[-2], torus.rho, places=9)

    def test_rounds_that_change(self):
        peers = veche.topology("one-peer-exponential:8")
        self.assertEqual(peers.period, 3)
        product = numpy.eye(8)
        for round in range(3):
            product = peers.at(round) @ product
        numpy.testing.assert_allclose(product, numpy.full((8, 8), 1 / 8), atol=1e-15)
        numpy.testing.assert_array_equal(peers.at(4), peers.at(1))
        drawn = veche.topology("matchings:ring:6")
        self.assertEqual((drawn.period, drawn.estimated), (0, True))

    def test_nodes_may_come_apart_from_the_graph(self):
        self.assertEqual(veche.topology("ring", nodes=5).nodes, 5)

    def test_pictures_are_those_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            command_line("torus:4x6", "--weights", "optimal", "--svg", f"{folder}/torus.svg")
            torus = veche.topology("torus:4x6", weights="optimal")
            self.assertEqual(torus.svg(), (pathlib.Path(folder) / "torus.svg").read_text())
        self.assertIn(torus.svg(), torus._repr_html_())
        self.assertRegex(repr(torus), r"^<veche.Topology torus:4x6, optimal: nodes 24, edges 48, rho 0\.\d+, no weights below 0\.\d+>$")
        large = veche.topology("ring:2001")
        self.assertIsNone(large._repr_svg_())
        self.assertIn("2001", large._repr_html_())

    def test_plot(self):
        import matplotlib

        matplotlib.use("agg")
        ax = veche.topology("ring:6").plot()
        numpy.testing.assert_array_equal(ax.images[0].get_array(), veche.topology("ring:6").matrix)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "path.dot"
            file.write_text('graph { 0 [label="Oslo"]; 0 -- 1; 1 -- 2; }')
            path = veche.topology(file)
            self.assertEqual((path.nodes, path.labels[0], path.edges), (3, "Oslo", [(0, 1), (1, 2)]))

    def test_wrong_requests(self):
        for words, error, sentence in (
                (("rign:8",), veche.RequestError, "ring"),
                (("ring:8", "optimum"), veche.RequestError, "optimal"),
                ((8,), TypeError, "graph must be a str such as 'ring:8' or a path, not int"),
                (("ring:8", 3), TypeError, "weights must be a str such as 'metropolis', not int")):
            with self.subTest(words), self.assertRaisesRegex(error, re.escape(sentence)) as caught:
                veche.topology(*words)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "nodes must be an int, not str"):
            veche.topology("ring", nodes="8")
        with self.assertRaisesRegex(TypeError, "round must be an int, not float"):
            veche.topology("ring:4").at(1.5)
        with self.assertRaisesRegex(veche.RequestError, "counted from 0"):
            veche.topology("ring:4").at(-1)


if __name__ == "__main__":
    unittest.main()
