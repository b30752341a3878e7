"""Learners and data sets written in Python."""

import os
import subprocess
import sys
import unittest

import numpy

import own_parts
import python_loops
import torch
import veche
from veche_runs import RunsTest

LINE = {"model": {"name": "line"}, "cluster": {"nodes": 4}, "topology": {"graph": "ring"}, "run": {"steps": 600},
        "optimizer": {"name": "sgd", "lr": 0.2, "schedule": "cosine"}}
STRIPES = {"model": {"name": "softmax"}, "data": {"name": "stripes"}, "cluster": {"nodes": 2},
           "optimizer": {"name": "sgd", "lr": 0.1}}


STEPS = 20
PICTURES = {"data": {"name": "synthetic", "samples": 400, "test_samples": 20, "shape": [1, 8, 8], "classes": 3, "batch": 10,
                     "augment": "none"},
            "cluster": {"nodes": 4}, "topology": {"graph": "ring"}, "strategy": {"name": "consensus"},
            "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.0}, "run": {"steps": STEPS}}


JOB = """
import sys
sys.path.insert(0, {folder!r})
import numpy, own_parts, veche
for number, config in enumerate({configs!r}):
    result = veche.train(config, keep=False, progress=False)
    if result.rank == 0:
        numpy.save(f"{{number}}.npy", numpy.array(result.parameters))
"""


class Learners(RunsTest):
    def batches_of_the_engine(self):
        """What each node of a run sees, by node and step: a learner that learns nothing writes it down."""
        seen = {}

        @veche.learner("writes-down")
        class WritesDown:
            def __init__(self):
                self.parameters = numpy.zeros(1, dtype=numpy.float32)

            def compute_gradient(self, batch):
                seen[self.node, batch.step] = batch.images.transpose(0, 3, 1, 2).copy(), batch.labels.copy()
                return 0.0

            def evaluate(self, batch):
                return 0.0

        veche.train(PICTURES, set={"model.name": "writes-down"}, keep=False)
        return seen

    def test_a_loop_is_the_engine_on_the_same_batches(self):
        """Four loops of torch and four nodes of the engine train one convolutional network by consensus on a ring."""
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(144, 3))
        start = torch.cat([p.detach().reshape(-1) for p in network.parameters()]).numpy()
        torch.jit.script(network).save(str(self.folder / "net.pt"))
        seen = self.batches_of_the_engine()
        for node in range(4):
            images, labels = zip(*(seen[node, step] for step in range(STEPS)))
            numpy.savez(self.folder / f"batches-{node}.npz", images=numpy.stack(images), labels=numpy.stack(labels))
        self.assertGreater(numpy.abs(seen[0, 0][0] - seen[1, 0][0]).max(), 0.1, "nodes have their own batches")
        engine = veche.train(PICTURES, set={"model.file": str(self.folder / "net.pt")}, keep=False).parameters
        python_loops.run("same_batches.py", self.folder, nodes=4, folder=self.folder)
        loops = [numpy.load(self.folder / f"end-{node}.npy") for node in range(4)]
        for mine, theirs in zip(loops, engine, strict=True):
            numpy.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6)
            self.assertGreater(numpy.abs(mine - start).max(), 0.01, "it has learned")
        self.assertGreater(numpy.abs(loops[0] - loops[2]).max(), 1e-4, "models differ on a ring")

    @unittest.skipUnless(os.environ.get("MPIRUN"), "no mpirun")
    def test_ranks(self):
        """A learner and a data set on two ranks, to the bits of two threads."""
        two = {"cluster": {"nodes": 2}, "run": {"steps": 20}}
        configs = [{**LINE, **two}, {**STRIPES, **two}]
        done = subprocess.run([*os.environ["MPIRUN"].split(), "-np", "2", sys.executable, "-B", "-c",
                               JOB.format(folder=os.path.dirname(own_parts.__file__), configs=configs)],
                              cwd=self.folder, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        for number, config in enumerate(configs):
            threads = veche.train(config, keep=False, progress=False)
            numpy.testing.assert_array_equal(numpy.load(self.folder / f"{number}.npy"), threads.parameters)

    def test_line(self):
        # The four sites find the same line.
        result = veche.train(LINE, keep=False)
        for line in result.parameters:
            numpy.testing.assert_allclose(line, [3, -2], atol=1e-3)
        pieces = veche.train(LINE, set={"model.pieces": True}, keep=False)
        numpy.testing.assert_array_equal(result.parameters, pieces.parameters)

    def test_virtual_time(self):
        threads = veche.train(LINE, steps=20, keep=False)
        virtual = veche.simulate(LINE, steps=20, keep=False)
        numpy.testing.assert_array_equal(threads.parameters, virtual.parameters)

    def test_with_data(self):
        result = veche.train(STRIPES, set={"data.pictures": 2000}, epochs=2, keep=False)
        self.assertGreater(result.summary["accuracy"]["average_model"], 0.9)

    def test_restart(self):
        whole = veche.train(STRIPES, steps=16, keep=False)
        half = veche.train(STRIPES, steps=8, out=self.folder)
        rest = veche.train(resume=half.folder, steps=16)
        numpy.testing.assert_array_equal(whole.parameters, rest.parameters)

    def test_starts_equal_on_all_nodes(self):
        result = veche.train(STRIPES, steps=1, keep=False, set={"optimizer.lr": 1e-30})
        numpy.testing.assert_array_equal(*result.parameters)

    def refused(self, kind, words, members):
        base = {"compute_gradient": lambda self, batch: 0.0, "evaluate": lambda self, batch: 0.0}
        veche.learner("wrong-learner", needs_data=False)(type("Wrong", (), {**base, **members}))
        with self.assertRaisesRegex(kind, words):
            veche.train(LINE, set={"model.name": "wrong-learner"}, steps=2, keep=False)

    def test_wrong_learners(self):
        def makes(**arrays):
            def init(self):
                vars(self).update({name: make() for name, make in arrays.items()})
            return {"__init__": init}

        flat = lambda: numpy.zeros(4, dtype=numpy.float32)

        def read_only():
            array = flat()
            array.setflags(write=False)
            return array

        def replaced(self, batch):
            self.parameters = self.parameters + 1
            return 0.0

        def longer(self, batch):
            self.gradients = numpy.zeros(5, dtype=numpy.float32)
            return 0.0

        self.refused(AttributeError, "has no parameters: make them in __init__", {})
        self.refused(TypeError, "parameters must be an array of float32, not of float64", makes(parameters=lambda: numpy.zeros(4)))
        self.refused(TypeError, r"parameters\[1\] must be an array of float32, not list",
                     makes(parameters=lambda: [flat(), [1.0]]))
        self.refused(TypeError, "parameters must be contiguous",
                     makes(parameters=lambda: numpy.zeros(8, dtype=numpy.float32)[::2]))
        self.refused(TypeError, "parameters is read-only", makes(parameters=read_only))
        self.refused(veche.RequestError, "4 parameters and 3 gradients", makes(parameters=flat, gradients=lambda: flat()[:3]))
        self.refused(TypeError, "parameters is another object now",
                     {**makes(parameters=flat), "compute_gradient": replaced})
        self.refused(TypeError, "gradients has 5 numbers now and had 4", {**makes(parameters=flat), "compute_gradient": longer})
        self.refused(TypeError, "must return the mean loss",
                     {**makes(parameters=flat), "compute_gradient": lambda self, batch: (1, 2, 3, 4)})
        self.refused(ZeroDivisionError, "", {**makes(parameters=flat), "compute_gradient": lambda self, batch: 1 / 0})

    def test_a_batch_may_be_kept(self):
        kept = []

        def compute_gradient(self, batch):
            kept.append((batch.images, batch.images.copy(), batch.labels, batch.labels.copy()))
            return own_parts.Softmax.compute_gradient(self, batch)

        veche.learner("keeps-batches", rate=1.0)(type("Keeps", (own_parts.Softmax,), {"compute_gradient": compute_gradient}))
        veche.train(STRIPES, set={"model.name": "keeps-batches"}, epochs=2, keep=False)
        for images, copy, labels, same in kept:
            self.assertEqual(images.shape[1:], (6, 6, 1))
            numpy.testing.assert_array_equal(images, copy)
            numpy.testing.assert_array_equal(labels, same)


class Pairs(list):
    """What a data set needs: a length and items."""


def pairs(count, make=lambda i: numpy.full(3, i, dtype=numpy.float32)):
    return Pairs((make(i), i % 2) for i in range(count))


class Datasets(RunsTest):
    def seen(self, name):
        """The batches that a learner gets of a registered set, by label."""
        found = []

        def compute_gradient(self, batch):
            found.extend(zip(batch.images.tolist(), batch.labels.tolist()))
            return own_parts.Softmax.compute_gradient(self, batch)

        veche.learner("sees", rate=1.0)(type("Sees", (own_parts.Softmax,), {"compute_gradient": compute_gradient}))
        veche.train({"model": {"name": "sees"}, "data": {"name": name, "batch": 2}, "cluster": {"nodes": 1},
                     "strategy": {"name": "allreduce"}, "run": {"epochs": 1},
                     "optimizer": {"name": "sgd", "lr": 1e-6}}, keep=False)
        return sorted(found)

    def test_pairs(self):
        veche.register_dataset("pairs", pairs(6), pairs(2))
        self.assertEqual(self.seen("pairs"), [([float(i)] * 3, i % 2) for i in range(6)])

    def test_channels(self):
        picture = numpy.arange(12, dtype=numpy.uint8).reshape(2, 2, 3)  # two channels of 2 x 3
        veche.register_dataset("chw", pairs(2, lambda i: picture))
        veche.register_dataset("hwc", pairs(2, lambda i: picture), layout="HWC")
        expected = (picture / numpy.float32(255)).astype(numpy.float32)
        numpy.testing.assert_array_equal(self.seen("chw")[0][0], expected.transpose(1, 2, 0))
        numpy.testing.assert_array_equal(self.seen("hwc")[0][0], expected)

    def test_torch(self):
        import torch
        from torch.utils.data import TensorDataset

        data = torch.arange(12, dtype=torch.float64).reshape(4, 3)
        veche.register_dataset("torch-set", TensorDataset(data, torch.tensor([0, 1, 0, 1])))
        self.assertEqual([sample for sample, _ in self.seen("torch-set")], data.tolist())

    def test_labels_that_are_known_cost_no_sample(self):
        read = []

        class Known(Pairs):
            targets = [0, 1, 0, 1]

            def __getitem__(self, index):
                read.append(index)
                return super().__getitem__(index)

        from veche.own import _Part

        self.assertEqual(_Part(Known(pairs(4)), "CHW", "a set").labels.tolist(), [0, 1, 0, 1])
        self.assertEqual(read, [])

    def test_the_networks_take_them(self):
        result = veche.train(STRIPES, set={"model.name": "mlp", "model.hidden": [16]}, steps=4, keep=False)
        self.assertTrue(numpy.isfinite(result.loss))

    def refused(self, kind, words, *sets, **options):
        self.number = getattr(self, "number", 0) + 1
        name = f"refused-{self.number}"
        with self.assertRaisesRegex(kind, words):
            veche.register_dataset(name, *sets, **options)
            veche.train(STRIPES, set={"data.name": name}, epochs=1, keep=False)

    def test_wrong_sets(self):
        self.refused(TypeError, "a training set must have __len__ and __getitem__, and a int has not", 3)
        self.refused(TypeError, "a test set must have __len__", pairs(4), iter(()))
        self.refused(veche.RequestError, "no samples", pairs(0))
        self.refused(veche.RequestError, "has the label 1, which is none of its 1 classes", pairs(4), classes=1)
        self.refused(veche.RequestError, "it has 3 classes and 2 names|label", pairs(4), classes=["only"])
        self.refused(ValueError, "layout must be", pairs(4), layout="WHC")
        self.refused(ValueError, "shape must be", pairs(4), shape=[1, 2, 3, 4])
        self.refused(ValueError, "numbers where the first has 3", Pairs([(numpy.zeros(3), 0), (numpy.zeros(4), 1)]))

        class Torn(Pairs):
            targets = [0, 1] * 10

            def __getitem__(self, index):
                if index:
                    raise OSError(f"the tape is torn at sample {index}")
                return super().__getitem__(index)

        self.refused(OSError, "the tape is torn", Torn(pairs(20)))

    def test_keys(self):
        with self.assertRaisesRegex(veche.RequestError, "there is no key data.picturs; did you mean 'data.pictures'"):
            veche.train(STRIPES, set={"data.picturs": 3}, epochs=1, keep=False)


if __name__ == "__main__":
    unittest.main()
