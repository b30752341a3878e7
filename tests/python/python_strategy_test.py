"""Strategies written in Python: equal to the built-in ones, alike on all engines and after a restart."""

import os
import subprocess
import sys
import unittest
import warnings

import numpy

import own_parts
import veche
from own_parts import QUADRATIC
from veche_runs import RunsTest

EIGHT = {"cluster.nodes": 8}
JOB = """
import sys
sys.path.insert(0, {folder!r})
import numpy, own_parts, veche
result = veche.train(own_parts.QUADRATIC, set={keys!r}, keep=False, progress=False)
if result.rank == 0:
    numpy.save("ranks.npy", numpy.array(result.parameters))
"""


def train(name, keys={}, **options):
    return veche.train(QUADRATIC, set={"strategy.name": name, **keys}, **{"keep": False, **options})


def parameters(result):
    return numpy.array(result.parameters)


class Alike(RunsTest):
    def test_allreduce_is_the_built_in_one(self):
        for codec in ({}, {"compress.codec": "int8"}):
            mine, theirs = train("python-allreduce", codec), train("allreduce", {"strategy.algorithm": "ring", **codec})
            self.assertLess(numpy.abs(parameters(mine) - parameters(theirs)).max(), 1e-6 if not codec else 1e-2)
            self.assertEqual(len(set(map(float, parameters(mine)[:, 0]))), 1)

    def test_consensus_is_the_built_in_one(self):
        for graph in ("ring", "star", "exponential"):
            keys = {"topology.graph": graph}
            mine, theirs = train("python-consensus", keys), train("consensus", keys)
            self.assertLess(numpy.abs(parameters(mine) - parameters(theirs)).max(), 1e-6, graph)
            self.assertEqual(mine.bytes_sent, theirs.bytes_sent)

    def test_choco_is_the_built_in_one(self):
        keys = {"compress.codec": "int8"}
        mine, theirs = train("python-choco", keys), train("consensus", keys)
        self.assertLess(numpy.abs(parameters(mine) - parameters(theirs)).max(), 1e-3)

    def test_virtual_time(self):
        for name in ("pass-on", "python-allreduce", "python-consensus", "remembers"):
            threads = train(name)
            virtual = veche.simulate(QUADRATIC, set={"strategy.name": name}, keep=False)
            numpy.testing.assert_array_equal(parameters(threads), parameters(virtual), name)
            self.assertGreater(virtual.seconds, 0)

    def test_asynchronous_in_virtual_time(self):
        for name in ("python-async", "helped"):
            keys = {"strategy.name": name, "cluster.work": "equal"}
            first = veche.simulate(QUADRATIC, set=keys, keep=False)
            again = veche.simulate(QUADRATIC, set=keys, keep=False)
            numpy.testing.assert_array_equal(parameters(first), parameters(again))
            self.assertEqual(first.seconds, again.seconds)
            self.assertLess(numpy.ptp(parameters(first)), 7)  # of the minima
            self.assertTrue(numpy.isfinite(parameters(train(name, {"cluster.work": "equal"}))).all())

    @unittest.skipUnless(os.environ.get("MPIRUN"), "no mpirun")
    def test_ranks(self):
        for name in ("pass-on", "remembers"):
            keys = {"strategy.name": name}
            done = subprocess.run([*os.environ["MPIRUN"].split(), "-np", "3", sys.executable, "-B", "-c",
                                   JOB.format(folder=os.path.dirname(own_parts.__file__), keys=keys)],
                                  cwd=self.folder, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr)
            numpy.testing.assert_array_equal(numpy.load(self.folder / "ranks.npy"), parameters(train(name)))

    def test_a_restart_ends_alike(self):
        whole = train("remembers")
        half = train("remembers", steps=30, keep=True, out=self.folder)
        rest = veche.train(resume=half.folder, steps=60)
        self.assertEqual(rest.summary["steps"], 60)
        numpy.testing.assert_array_equal(parameters(rest), parameters(whole))

    def test_runs_repeat_and_seeds_differ(self):
        numpy.testing.assert_array_equal(parameters(train("remembers")), parameters(train("remembers")))
        self.assertNotEqual(parameters(train("remembers")).tolist(), parameters(train("remembers", seed=2)).tolist())

    def test_compare(self):
        comparison = veche.compare(QUADRATIC, strategy=["pass-on", "allreduce"], out=self.folder)
        self.assertEqual(len(comparison.runs), 2)


class Declared(RunsTest):
    def refused(self, name, keys={}):
        with self.assertRaises(veche.RequestError) as caught:
            train(name, keys)
        return str(caught.exception)

    def test_keys_are_checked(self):
        self.assertEqual(self.refused("pass-no"), "strategy.name = \"pass-no\" does not exist; did you mean 'pass-on'?")
        self.assertEqual(self.refused("pass-on", {"strategy.evry": 2}),
                         "there is no key strategy.evry; did you mean 'strategy.every'?")
        self.assertIn("must be a whole number", self.refused("pass-on", {"strategy.every": 0.5}))

        @veche.strategy("limited", rate=veche.Key(0.5, "of something", least=0, most=1),
                        kind=veche.Key("fast", choices=["fast", "slow"]), on=False)
        class Limited:
            seen = {}

            def start(self):
                Limited.seen.update(self.options)
                Limited.seen["attributes"] = (self.rate, self.kind, self.on)

        train("limited", {"strategy.rate": 1, "strategy.on": True})
        self.assertEqual(Limited.seen, {"rate": 1.0, "kind": "fast", "on": True, "attributes": (1.0, "fast", True)})
        self.assertIsInstance(Limited.seen["rate"], float)
        self.assertIn("strategy.rate", self.refused("limited", {"strategy.rate": 2}))
        self.assertIn("strategy.kind", self.refused("limited", {"strategy.kind": "quick"}))

    def test_wrong_declarations(self):
        for words, options in (("has already", {"channel": 1}), ("has already", {"x": 1}), ("graph must be", {"graph": "ring"}),
                               ("async_ must be", {"async_": "yes"}), ("replicas must be", {"replicas": "many"}),
                               ("codec must be", {"codec": "int8"}), ("REASON; INSTEAD", {"grid": "no"}),
                               ("NAME; INSTEAD", {"common_state": True})):
            with self.assertRaisesRegex(ValueError, words):
                veche.strategy("wrong", **options)
        with self.assertRaisesRegex(TypeError, "default must be a bool, int, float or str, not list"):
            veche.strategy("wrong", every=[1])
        with self.assertRaisesRegex(veche.RequestError, "'allreduce' exists already"):
            veche.strategy("allreduce")(type("Mine", (), {}))

    def test_what_it_cannot_do_is_refused(self):
        self.assertIn("with strategy \"pass-on\": this strategy does not declare what a codec would compress",
                      self.refused("pass-on", {"compress.codec": "int8"}))
        veche.strategy("no-stages", pipeline="needs the whole gradient; such as consensus")(type("NoStages", (), {}))
        with self.assertRaisesRegex(veche.RequestError, "needs the whole gradient: with pipeline.stages = 2 choose another, "
                                    "such as consensus"):
            veche.train({"model": {"name": "mlp", "hidden": [8]}, "data": {"name": "synthetic", "samples": 40},
                         "strategy": {"name": "no-stages"}, "pipeline": {"stages": 2}}, keep=False)

    def test_a_cell_run_again_replaces_the_class(self):
        def define(by):
            @veche.strategy("again", every=1)
            class Again:
                def after_step(self, step):
                    self.x = by

        for by in (1, 2):
            define(by)
            self.assertEqual(parameters(train("again")).ravel().tolist(), [by] * 8)
        with self.assertRaisesRegex(veche.RequestError, "with other keys or declarations exists already"):
            veche.strategy("again", other=1)(type("Again", (), {}))

    def test_the_class_stays_a_class(self):
        self.assertNotIsInstance(own_parts.PassOn, veche.Strategy)
        self.assertEqual(own_parts.PassOn.__mro__, (own_parts.PassOn, object))


class Node(RunsTest):
    def test_what_a_node_has(self):
        facts = {}

        @veche.strategy("looks", graph="undirected", every=3)
        class Looks:
            def start(self):
                self.channel.barrier()
                told = self.channel.allgather(bytes([self.me]), dtype=bytes)
                whole = self.channel.allgather(numpy.array([self.me, 7]), dtype="int64", shape=(1, 2))
                data = numpy.full(3, self.me, dtype=numpy.float32)
                self.channel.broadcast_(data, root=2)
                second = self.channel.child(5)
                second.send((self.me + 1) % self.nodes, b"here")
                here = second.receive((self.me - 1) % self.nodes, dtype=bytes)
                if self.me == 3:
                    facts.update(told=told, whole=[each.tolist() for each in whole], data=data.tolist(), here=here,
                                 neighbors=self.graph.neighbors(), edges=self.graph.edges, graph=str(self.graph),
                                 mixing=self.mixing(0), readers=self.readers(0), rate=self.learning_rate(0),
                                 tensors={name: view.shape for name, view in self.tensors.items()},
                                 weight=self.samples.weight(3), trainers=self.samples.trainers, seed=self.seed,
                                 inside=numpy.shares_memory(self.x, next(iter(self.tensors.values()))),
                                 none=self.channel.receive_any(timeout=0))

        train("looks", {"topology.graph": "ring"}, seed=5)
        self.assertEqual(facts["told"], [bytes([i]) for i in range(8)])
        self.assertEqual(facts["whole"], [[[i, 7]] for i in range(8)])
        self.assertEqual(facts["data"], [2, 2, 2])
        self.assertEqual(facts["here"], b"here")
        self.assertEqual(facts["neighbors"], [2, 4])
        self.assertEqual(facts["readers"], [2, 4])
        self.assertEqual(len(facts["edges"]), 8)
        self.assertIn("ring:8", facts["graph"])
        self.assertEqual([node for node, _ in facts["mixing"]], [2, 3, 4])
        self.assertAlmostEqual(sum(weight for _, weight in facts["mixing"]), 1)
        self.assertEqual(facts["rate"], 0.02)
        self.assertEqual(facts["seed"], 5)
        self.assertEqual(facts["trainers"], 8)
        self.assertAlmostEqual(facts["weight"], 1 / 8)
        self.assertTrue(facts["inside"])
        self.assertIsNone(facts["none"])

    def test_own_steps_are_the_loops(self):
        @veche.strategy("own-steps")
        class OwnSteps:
            def after_backward(self, step):
                self.make_step(step)
                return "used"

        @veche.strategy("no-exchange")
        class NoExchange:
            pass

        keys = {"optimizer.name": "adam", "optimizer.schedule": "cosine", "optimizer.clip": 0.5}
        numpy.testing.assert_array_equal(parameters(train("own-steps", keys)), parameters(train("no-exchange", keys)))

    def test_wrong_arrays(self):
        read_only = numpy.ones(4, dtype=numpy.float32)
        read_only.setflags(write=False)
        for words, call in (
                ("data must be an array of float32, not of float64", lambda c: c.allreduce_(numpy.ones(4))),
                ("data must be contiguous", lambda c: c.allreduce_(numpy.ones(8, dtype=numpy.float32)[::2])),
                ("data is read-only", lambda c: c.allreduce_(read_only)),
                ("data must be an array of float32, not list", lambda c: c.allreduce_([1.0])),
                ("data must be an array or bytes, not float", lambda c: c.send(0, 1.0)),
                ("data must be contiguous", lambda c: c.send(0, numpy.ones((4, 4)).T)),
                ("data must hold numbers", lambda c: c.send(0, numpy.array([None]))),
                ("data must be an array of float32", lambda c: c.broadcast_(b"1234"))):
            @veche.strategy("wrong-array")
            class WrongArray:
                def start(self, call=call):
                    call(self.channel)

            with self.assertRaisesRegex(TypeError, "^" + words):
                train("wrong-array")
        for call in (lambda c: c.send(99, b""), lambda c: c.broadcast_(read_only, root=8)):
            @veche.strategy("wrong-node")
            class WrongNode:
                def start(self, call=call):
                    call(self.channel)

            with self.assertRaises(IndexError):
                train("wrong-node")

    def test_a_view_is_sent_as_it_is_then(self):
        got = []

        @veche.strategy("changes")
        class Changes:
            def start(self):
                self.x = self.me
                self.channel.send((self.me + 1) % self.nodes, self.x)
                self.x = 99
                got.append((self.me, float(self.channel.receive((self.me - 1) % self.nodes)[0])))

        train("changes")
        self.assertEqual(sorted(got), [(i, (i - 1) % 8) for i in range(8)])

    def test_after_the_run(self):
        kept = {}

        @veche.strategy("keeps")
        class Keeps:
            def start(self):
                kept[self.me] = self

        train("keeps")
        with self.assertRaisesRegex(RuntimeError, "the run of this strategy has ended"):
            kept[0].x
        with self.assertRaisesRegex(RuntimeError, "the run of this strategy has ended"):
            kept[0].channel.send(1, b"")

    def test_a_view_that_outlives_the_run_is_told(self):
        kept = []

        @veche.strategy("keeps-views")
        class KeepsViews:
            def start(self):
                kept.append(self.x)

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train("keeps-views")
        self.assertIn("copy what you keep", str(told[0].message))
        kept.clear()


if __name__ == "__main__":
    unittest.main()
