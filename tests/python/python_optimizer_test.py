"""`veche.Optimizer`: a loop on several nodes and one learner with the batches of all."""

import json
import math
import pathlib
import signal
import tempfile
import unittest

import python_loops
import torch
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

    def test_optimizers_in_turn(self):
        """Two optimizers that step at different rates are those of one learner."""
        for nodes in (2, 4):
            with tempfile.TemporaryDirectory() as folder:
                distances = python_loops.numbers("turns.py", nodes=nodes, folder=folder)
            self.assertGreater(len(distances), 7)
            for name, distance in distances.items():
                with self.subTest(name, nodes=nodes):
                    self.assertLess(distance, 1e-6)

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


class Refusals(unittest.TestCase):
    """One node, in this process."""

    def setUp(self):
        self.addCleanup(veche.finish)
        self.model = torch.nn.Linear(3, 2)

    def wrapped(self, optimizer=None, *more, **options):
        optimizer = optimizer or torch.optim.SGD(self.model.parameters(), lr=0.1)
        return veche.Optimizer(optimizer, *more, **{"strategy": "none", "keep": False, **options})

    def backward(self):
        self.model(torch.ones(1, 3)).sum().backward()

    def refused(self, error, words):
        return self.assertRaisesRegex(error, f"^[^\n]*{words}[^\n]*$")

    def test_two_optimizers(self):
        first = self.wrapped()
        with self.refused(veche.RequestError, r"veche.Optimizers\(\[first, second\], model\)"):
            self.wrapped(torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1))
        with self.refused(veche.RequestError, "belongs to a run already"):
            self.wrapped(first)
        self.backward()
        first.step()
        self.assertEqual(first.finish()["steps"], 1)

    def in_turn(self, **options):
        self.model, other = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
        several = [torch.optim.SGD(self.model.parameters(), lr=0.1), torch.optim.Adam(other.parameters(), lr=0.1)]
        return veche.Optimizers(several, torch.nn.ModuleList([self.model, other]), **{"strategy": "none", "keep": False, **options})

    def test_optimizers_in_turn(self):
        for options, words in (
            ({"strategy": "allreduce", "compress": "topk:0.01"}, "codes gradients: leave out compress.codec"),
            ({"strategy": {"name": "parameter-server", "delay": 2}}, "strategy.delay: leave out"),
            ({"strategy": {"name": "gossip", "async": True}}, "do not wait for each other: choose its form in step"),
            ({"strategy": {"name": "consensus", "correction": "gradient-tracking"}}, "choose 'd2' or 'none'"),
            ({"overlap": True}, "leave overlap out"),
            ({"scheduler": 1}, "save the state_dict of each schedule"),
        ):
            with self.subTest(words), self.refused(veche.RequestError, words):
                self.in_turn(**options)
        twice = list(self.model.parameters())
        with self.refused(veche.RequestError, "'weight': each parameter belongs to one of them|'weight'"):
            veche.Optimizers([torch.optim.SGD(twice, lr=0.1), torch.optim.SGD(twice[:1], lr=0.1)], self.model, keep=False)
        with self.refused(TypeError, r"for several call veche.Optimizers"):
            veche.Optimizer([torch.optim.SGD(twice, lr=0.1)])
        first, second = self.in_turn()
        before = [p.detach().clone() for p in second.param_groups[0]["params"]]
        self.backward()
        first.step()
        self.assertEqual((first.steps, second.steps), (1, 1))
        for p, q in zip(second.param_groups[0]["params"], before):
            torch.testing.assert_close(p.detach(), q)
            self.assertIsNone(p.grad)

    def test_optimizers_in_turn_are_resumed(self):
        """Both states come from the checkpoint, whose last step is that of the first."""

        def made(steps, **options):
            torch.manual_seed(1)
            models = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
            optimizers = [torch.optim.Adam(models[0].parameters(), lr=0.1),
                          torch.optim.SGD(models[1].parameters(), lr=0.1, momentum=0.9)]
            optimizers = veche.Optimizers(optimizers, torch.nn.ModuleList(models), strategy="none", set={"run.out": folder}, **options)
            batches = list(veche.shard(list(range(10)), per_step=1 / 2))  # of loops with two steps for each batch
            self.assertEqual(batches, list(range(optimizers[0].steps // 2, 10)))
            while optimizers[0].steps < steps:
                which = optimizers[0].steps % 3 // 2  # two steps of the first for one of the second
                optimizers[which].zero_grad()
                (models[which](torch.ones(1, 3)) ** 2).sum().backward()
                optimizers[which].step()
            veche.finish()
            return [p.detach() for model in models for p in model.parameters()]

        with tempfile.TemporaryDirectory() as folder:
            whole = made(13, name="whole")
            made(7, name="parted")
            parted = made(13, resume=f"{folder}/parted")
        for p, q in zip(whole, parted):
            torch.testing.assert_close(p, q, rtol=0, atol=0)

    def test_wrong_arguments(self):
        with self.refused(TypeError, "not Linear"):
            veche.Optimizer(self.model)
        with self.refused(veche.RequestError, "choose own, average or broadcast"):
            self.wrapped(buffers="mine")
        with self.refused(veche.RequestError, "needs the model"):
            self.wrapped(buffers="average")
        with self.refused(veche.RequestError, "no-such"):
            self.wrapped(strategy="no-such")
        with self.refused(veche.RequestError, "leave them each node's own"):
            self.wrapped(None, torch.nn.BatchNorm1d(2), strategy={"name": "gossip", "async": True}, buffers="average")
        with self.refused(TypeError, "LBFGS"):
            self.wrapped(torch.optim.LBFGS(self.model.parameters()))
        with self.refused(veche.RequestError, "per_step = 0 is not a number of batches"):
            veche.shard([], per_step=0)
        with self.refused(TypeError, "'parameter.0' is on the device meta"):
            self.wrapped(torch.optim.SGD(torch.nn.Linear(3, 2, device="meta").parameters(), lr=0.1))
        self.backward()
        self.wrapped().step()  # nothing of the refused ones is left

    def test_one_node_needs_no_neighbours(self):
        """A script that several processes run runs alone too. What they would be refused it is refused."""
        for options in ({}, {"topology": "ring"}, {"topology": "torus", "strategy": "gossip"}, {"strategy": "hierarchical"},
                        {"strategy": {"name": "consensus", "async": True}, "topology": {"graph": "ring", "weights": "optimal"}},
                        {"compress": "topk:0.01"}):
            with self.subTest(str(options)):
                self.model = torch.nn.Linear(3, 2)
                before = self.model.bias.detach().clone()
                optimizer = self.wrapped(**{"strategy": "consensus", **options})
                self.backward()
                optimizer.step()
                self.assertEqual(optimizer.finish()["steps"], 1)
                torch.testing.assert_close(self.model.bias.detach(), before - 0.1)
        for options, sentence in (({"topology": "rong"}, "did you mean 'ring'"), ({"topology": "ring:4"}, "has 4 nodes"),
                                  ({"compress": "topk:7"}, "topk:F"), ({"topology": {"weights": "best"}}, "best")):
            with self.refused(veche.RequestError, sentence):
                self.wrapped(**{"strategy": "consensus", **options})

    def test_sparse_gradients(self):
        embedding = torch.nn.Embedding(4, 3, sparse=True)
        optimizer = self.wrapped(torch.optim.SGD(embedding.parameters(), lr=0.1))
        embedding(torch.tensor([1, 2])).sum().backward()
        with self.refused(TypeError, "sparse=False"):
            optimizer.step()

    def test_parameters_added_later(self):
        optimizer = self.wrapped()
        more = torch.nn.Parameter(torch.zeros(2))
        with self.refused(veche.RequestError, "add them before"):
            optimizer.add_param_group({"params": [more]})
        optimizer.param_groups[0]["params"].append(more)
        with self.refused(veche.RequestError, "added"):
            optimizer.step()

    def test_parameters_replaced_later(self):
        optimizer = self.wrapped()
        optimizer.param_groups[0]["params"][0] = torch.nn.Parameter(torch.zeros(2, 3))
        with self.refused(veche.RequestError, "replaced"):
            optimizer.step()
        veche.finish()
        self.model = torch.nn.Linear(3, 2)
        optimizer = self.wrapped(None, self.model)
        self.model.weight.data = torch.zeros(2, 3)
        with self.refused(veche.RequestError, "'weight' was replaced"):
            optimizer.step()

    def test_state_with_none(self):
        """SGD without momentum keeps None for each parameter."""
        optimizer = self.wrapped()
        for _ in range(2):
            self.backward()
            optimizer.step()
        self.assertEqual({state["momentum_buffer"] for state in optimizer.state.values()}, {None})

    def test_scalars_and_empty_parameters(self):
        tensors = [torch.nn.Parameter(torch.tensor(1.0)), torch.nn.Parameter(torch.ones(3)),
                   torch.nn.Parameter(torch.ones(0, 4)), torch.nn.Parameter(torch.ones(1))]
        others = [torch.nn.Parameter(p.detach().clone()) for p in tensors]
        for make in (torch.optim.Adam, lambda t, lr: torch.optim.SGD(t, lr=lr, momentum=0.9), torch.optim.NAdam):
            mine, theirs = self.wrapped(make(tensors, lr=0.1)), make(others, lr=0.1)
            for _ in range(3):
                for optimizer, parameters in ((mine, tensors), (theirs, others)):
                    optimizer.zero_grad()
                    sum((p**2).sum() for p in parameters).backward()
                    optimizer.step()
            mine.finish()
            for p, q in zip(tensors, others):
                torch.testing.assert_close(p, q)

    def test_overlap_and_changed_gradients(self):
        """What overlap=True sends before the step is not changed in silence."""
        clip = torch.nn.utils.clip_grad_norm_
        for first in (0, 1):  # nothing is sent in the first step, and the same is refused
            for words, change in {
                "as by clipping": lambda: clip(self.model.parameters(), 1e-3),
                "synchronize": lambda: optimizer.synchronize(),
                "as many backward passes": self.backward,
            }.items():
                with self.subTest(words, first=first):
                    self.model = torch.nn.Linear(3, 2)
                    optimizer = self.wrapped(strategy="allreduce", overlap=True)
                    for _ in range(first):
                        self.backward()
                        optimizer.step()
                        optimizer.zero_grad()
                    self.backward()
                    if words.startswith("as many") and first == 0:
                        change()  # the first step may have any number
                        optimizer.step()
                    else:
                        with self.refused(veche.RequestError, words):
                            change()
                            optimizer.step()
                    veche.finish()
        with self.refused(veche.RequestError, "leave one of the two out"):
            self.wrapped(None, self.model, strategy="allreduce", overlap=True, buffers="average")

    def test_overlap_where_nothing_is_sent_before(self):
        """Other strategies and staged parameters: clipping after the pass is right."""
        for options in ({"strategy": "none"}, {"strategy": "allreduce", "stage": True}):
            optimizer = self.wrapped(overlap=True, **options)
            for _ in range(2):
                optimizer.zero_grad()
                self.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1e-3)
                optimizer.step()
            optimizer.finish()

    def test_ctrl_c_within_a_step(self):
        """The optimiser's step is whole, and the exception comes after it."""

        class Interrupted(torch.optim.SGD):
            def step(self, closure=None):
                if armed:  # not in the trial that tells which state it keeps
                    signal.raise_signal(signal.SIGINT)
                for _ in range(1000):  # Python would call its handler here
                    pass
                return super().step(closure)

        armed = []
        before = [p.detach().clone() for p in self.model.parameters()]
        optimizer = self.wrapped(Interrupted(self.model.parameters(), lr=0.1))
        armed.append(True)
        self.backward()
        with self.assertRaises(KeyboardInterrupt):
            optimizer.step()
            for _ in range(1000):
                pass
        self.assertEqual(optimizer.finish()["steps"], 1)
        for p, q in zip(self.model.parameters(), before):
            torch.testing.assert_close(p, q - 0.1 * p.grad)

    def test_steps_after_the_end(self):
        optimizer = self.wrapped(set={"run.steps": 3})
        for _ in range(3):
            self.assertFalse(optimizer.ended)
            self.backward()
            optimizer.step()
        self.assertTrue(optimizer.ended)
        with self.refused(veche.RequestError, "the run has ended after 3 steps"):
            optimizer.step()
        self.assertEqual(optimizer.finish()["steps"], 3)
        with self.refused(veche.RequestError, "the run has ended"):
            optimizer.step()

    def test_an_optimizer_that_raises(self):
        class Fails(torch.optim.SGD):
            def step(self, closure=None):
                if self.state:
                    raise ZeroDivisionError("too many cooks")
                return super().step(closure)

        optimizer = self.wrapped(Fails(self.model.parameters(), lr=0.1, momentum=0.9))
        self.backward()
        optimizer.step()
        with self.refused(ZeroDivisionError, "too many cooks"):
            optimizer.step()
        with self.assertRaises(veche.RunError):
            veche.finish()

    def test_run_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            optimizer = self.wrapped(name="mine", keep=True, set={"run.out": folder}, checkpoint_every=2)
            for _ in range(5):
                self.backward()
                optimizer.step()
            self.assertEqual(optimizer.finish()["folder"], pathlib.Path(folder, "mine"))
            self.assertIn("step-5", [each.name for each in pathlib.Path(folder, "mine", "checkpoint").iterdir()])


if __name__ == "__main__":
    unittest.main()
