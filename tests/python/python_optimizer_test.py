"""`veche.Optimizer`: a loop on several nodes and one learner with the batches of all."""

import os
import pathlib
import tempfile
import unittest

import python_loops


class Equal(unittest.TestCase):
    def test_all_reduce_is_one_learner(self):
        with tempfile.TemporaryDirectory() as folder:
            distances = python_loops.numbers("equal.py", nodes=4, folder=folder)
            self.assertGreater(len(distances), 15)
            for name, distance in distances.items():
                with self.subTest(name):
                    self.assertLess(distance, 1e-6)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])  # keep=False


if __name__ == "__main__":
    unittest.main()
