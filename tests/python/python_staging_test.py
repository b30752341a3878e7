"""Staging: tensors of a device and a flat vector of the host, with a device that copies as late as it may."""

import contextlib
import unittest
import unittest.mock

import numpy as np
import torch
import veche
from veche._staging import PIECE, SLOTS, Staging
from veche._state import FlatState, Layout, view_of


class LateDevice:
    """Copies as a GPU does: in the order of their beginning, and not before somebody waits for them. What the host
    reads or changes too early is wrong then."""

    def __init__(self):
        self.events, self.log, self.most = [], [], 0

    def host_memory(self, length, devices):
        self.host = torch.full((length,), float("nan"))
        return self.host

    def check(self):
        for number, _, source, then, _ in self.events:
            assert torch.equal(source, then), f"copy {number} was under way when its source changed"

    def copy(self, into, source):
        self.check()
        to_host = into.data_ptr() in range(self.host.data_ptr(), self.host.data_ptr() + 4 * self.host.numel())
        event = (len(self.log), into, source, source.clone(), to_host)
        self.log.append(("copy", len(self.log), to_host))
        self.events.append(event)
        self.most = max(self.most, len(self.events))
        if not to_host:
            into.copy_(source)  # what the device does next finds it there
        else:
            into.fill_(float("nan"))
        return event

    def wait(self, event):
        while event in self.events:
            self.check()
            number, into, _, then, to_host = self.events.pop(0)
            if to_host:
                into.copy_(then)
            self.log.append(("wait", number, to_host))


def tensors():
    torch.manual_seed(1)
    gaps = torch.randn(20, 6)[:, :4]
    return [torch.randn(3, 4), torch.randn(7, 5).t(), gaps, torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
            torch.tensor(2.5), torch.randn(0), torch.randn(33).double(), torch.tensor(7), torch.randn(5).half()]


class Pieces(unittest.TestCase):
    def flat_of(self, all_tensors):
        flat, offset = torch.empty(sum(t.numel() for t in all_tensors)), 0
        for tensor in all_tensors:
            view_of(flat, tensor, offset).copy_(tensor)
            offset += tensor.numel()
        return flat

    def test_there_and_back(self):
        """Whatever the length of a piece, types, strides and gaps."""
        given = tensors()
        expected = self.flat_of(given)
        for piece in (1, 5, 7, 16, PIECE):
            with self.subTest(piece):
                device = LateDevice()
                staging = Staging(given, piece, device)
                flat = torch.full_like(expected, float("nan"))
                for _ in range(2):
                    staging.fetch(given, flat)
                    torch.testing.assert_close(flat, expected, rtol=0, atol=0)
                targets = [torch.zeros_like(t) for t in given]
                targets[1] = torch.zeros(5, 7)  # in other strides than its parameter's
                for _ in range(2):
                    staging.put(flat + 0.1 * (flat == 7), targets)
                for target, tensor in zip(targets, given):
                    torch.testing.assert_close(target, tensor)

    def test_missing_and_reordered_gradients(self):
        given = tensors()
        gradients = [None if i % 3 == 0 else t.clone(memory_format=torch.contiguous_format) for i, t in enumerate(given)]
        expected = self.flat_of([torch.zeros_like(t) if g is None else t for t, g in zip(given, gradients)])
        for piece in (4, PIECE):
            flat = torch.full_like(expected, float("nan"))
            Staging(given, piece, LateDevice()).fetch(gradients, flat)
            torch.testing.assert_close(flat, expected)

    def test_a_piece_is_copied_while_the_next_is_computed(self):
        device, given = LateDevice(), [torch.randn(40)]
        staging, flat = Staging(given, 10, device), torch.zeros(40)
        staging.fetch(given, flat)
        self.assertEqual(device.most, SLOTS)
        self.assertEqual([what[:2] for what in device.log],
                         [("copy", 0), ("copy", 1), ("wait", 0), ("copy", 3), ("wait", 1), ("copy", 5), ("wait", 3), ("wait", 5)])
        self.assertEqual(device.host.numel(), SLOTS * 10)  # one buffer, whatever the length of the model

    def test_pieces_have_one_device(self):
        given = [torch.zeros(3), torch.zeros(4, device="meta"), torch.zeros(2, device="meta"), torch.zeros(5)]
        pieces = Staging(given, 100, LateDevice()).pieces
        self.assertEqual([(p.begin, p.end, p.device.type) for p in pieces], [(0, 3, "cpu"), (3, 9, "meta"), (9, 14, "cpu")])

    def test_targets_that_are_left_out(self):
        given = [torch.randn(4), torch.randn(20), torch.randn(3)]
        device = LateDevice()
        targets = [torch.zeros(4), None, torch.zeros(3)]
        Staging(given, 6, device).put(self.flat_of(given), targets)
        for k in (0, 2):
            torch.testing.assert_close(targets[k], given[k])
        self.assertEqual(len([what for what in device.log if what[0] == "copy"]), 2)  # of five pieces


@contextlib.contextmanager
def counting():
    """Every copy between tensors that Python asks for."""
    copies, original = [], torch.Tensor.copy_

    def copy(self, *source, **how):
        copies.append(self.shape)
        return original(self, *source, **how)

    with unittest.mock.patch.object(torch.Tensor, "copy_", copy):
        yield copies


class StateOfTheOptimizer(unittest.TestCase):
    """State that cannot lie in the run's memory, as on a GPU: here parameters are doubles."""

    def setUp(self):
        torch.manual_seed(1)
        self.parameters = [torch.randn(3, 4, dtype=torch.float64), torch.randn(5, dtype=torch.float64)]
        self.device = LateDevice()
        self.staging = Staging(self.parameters, 7, self.device)

    def stepped(self, make, steps=3):
        parameters = [p.clone().requires_grad_() for p in self.parameters]
        optimizer = make(parameters)
        state = FlatState(Layout(optimizer, parameters), parameters, [0, 12], 17, lambda: self.staging)
        for step in range(steps):
            for p in parameters:
                p.grad = torch.full_like(p, step + 1.0)
            optimizer.step()
            state.after_step(optimizer.state)
        return parameters, optimizer, state

    def test_it_is_copied_when_it_is_read(self):
        def adam(parameters):
            return torch.optim.Adam(parameters, lr=0.1)

        parameters, optimizer, state = self.stepped(adam)
        self.assertEqual(self.device.log, [])
        state.lend()
        copies = len(self.device.log)
        self.assertGreater(copies, 0)
        for key in ("exp_avg", "exp_avg_sq"):  # moments of the gradients 1, 2, 3, by Adam's own recursion
            beta = {"exp_avg": 0.9, "exp_avg_sq": 0.999}[key]
            moment = 0.0
            for g in (1.0, 2.0, 3.0):
                moment = beta * moment + (1 - beta) * g ** (2 if key == "exp_avg_sq" else 1)
            np.testing.assert_allclose(state.vectors[key], np.full(17, moment), rtol=1e-6)
        self.assertEqual(state.numbers["step"].tolist(), [3, 3])
        state.lend()
        self.assertEqual(len(self.device.log), copies, "what is up to date is not copied again")

        state.vectors["exp_avg"][:] = np.arange(17)  # as a run does that brings others' state
        state.before_step(optimizer.state)
        torch.testing.assert_close(optimizer.state[parameters[0]]["exp_avg"].flatten(), torch.arange(12.0, dtype=torch.float64))
        torch.testing.assert_close(optimizer.state[parameters[1]]["exp_avg"], torch.arange(12.0, 17, dtype=torch.float64))
        copies = len(self.device.log)
        state.before_step(optimizer.state)
        self.assertEqual(len(self.device.log), copies)

        fresh = adam(parameters)
        state.install(fresh.state)  # as after a checkpoint was read
        for p in parameters:
            for key in ("exp_avg", "exp_avg_sq", "step"):
                torch.testing.assert_close(fresh.state[p][key], optimizer.state[p][key])

    def test_a_tensor_that_the_user_has_replaced_stays(self):
        parameters, optimizer, state = self.stepped(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5))
        state.lend()
        optimizer.state[parameters[1]]["momentum_buffer"] = torch.full((5,), 7.0, dtype=torch.float64)
        state.vectors["momentum_buffer"][:] = 2
        state.before_step(optimizer.state)
        self.assertEqual({float(v) for v in optimizer.state[parameters[0]]["momentum_buffer"].flatten()}, {2.0})
        self.assertEqual({float(v) for v in optimizer.state[parameters[1]]["momentum_buffer"]}, {7.0})

    def test_plain_numbers(self):
        parameters, optimizer, state = self.stepped(lambda p: torch.optim.RMSprop(p, lr=0.1))
        self.assertEqual(state.numbers["step"].tolist(), [0, 0])
        state.lend()
        self.assertEqual(state.numbers["step"].tolist(), [3, 3])
        state.numbers["step"][1] = 8
        state.before_step(optimizer.state)
        self.assertEqual([int(optimizer.state[p]["step"]) for p in parameters], [3, 8])

    def test_a_step_copies_no_state(self):
        """In a run, Adam with its two moments needs as many copies as SGD, which has none."""
        counts = {}
        for make in (lambda p: torch.optim.SGD(p, lr=0.1), lambda p: torch.optim.Adam(p, lr=0.1)):
            for kind in (torch.float64, torch.bfloat16):
                model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)).to(kind)
                optimizer = veche.Optimizer(make(model.parameters()), strategy="none", keep=False)
                for _ in range(3):
                    optimizer.zero_grad()
                    model(torch.ones(1, 4, dtype=kind)).sum().backward()
                    with counting() as copies:
                        optimizer.step()
                counts.setdefault(kind, []).append(len(copies))
                optimizer.finish()
        for kind, (plain, adam) in counts.items():
            self.assertGreater(plain, 0)
            self.assertEqual(adam, plain, kind)


if __name__ == "__main__":
    unittest.main()
