"""Staging: tensors of a device and a flat vector of the host, with a device that copies as late as it may."""

import unittest

import torch
from veche._staging import PIECE, SLOTS, Staging
from veche._state import view_of


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


if __name__ == "__main__":
    unittest.main()
