"""`veche.comm` on three nodes: an assertion that fails ends all. The last line is "right"."""

import array
import os
import re
import sys
import threading
import time

import numpy as np

import veche
from veche import comm

NODES, ME = veche.size(), veche.rank()
WITH_TORCH = "torch" in sys.argv[1:]
assert NODES == 3 and "torch" not in sys.modules


class ByDlpack:
    """As arrays of other libraries: it has no buffer, and is no tensor of torch's."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def vectors():
    """Of every kind that is taken, with 1 + ME in them, and a way to read them."""
    mine = np.full((2, 3), 1 + ME, np.float32)
    yield mine, lambda: mine
    buffer = array.array("f", [1 + ME] * 6)
    yield buffer, lambda: np.array(buffer)
    part = np.full(10, 1 + ME, np.float32)[2:8]
    yield part, lambda: part
    if WITH_TORCH:
        import torch

        tensor = torch.full((2, 3), 1.0 + ME)
        yield tensor, lambda: tensor.numpy()
        parameter = torch.nn.Parameter(torch.full((6,), 1.0 + ME))
        yield parameter, lambda: parameter.detach().numpy()
        foreign = ByDlpack(torch.full((3, 2), 1.0 + ME))
        yield foreign, lambda: foreign.tensor.numpy()


def check(function, expected):
    for x, read in vectors():
        assert function(x) is x
        np.testing.assert_allclose(read().reshape(-1), [expected] * 6, rtol=1e-6)


check(comm.allreduce_, 2)
check(lambda x: comm.allreduce_(x, op="sum"), 6)
check(lambda x: comm.broadcast_(x, root=1), 2)
check(comm.mix_, 2)
after, before = (ME + 1) % 3, (ME - 1) % 3
check(lambda x: comm.mix_(x, {ME: 0.25, after: 0.75}, readers=[before]), 0.25 * (1 + ME) + 0.75 * (1 + after))
pairs = {0: 2, 1: 1, 2: 0}
check(lambda x: comm.gossip_(x, pairs[ME]), 2)


def pass_on(x):
    comm.send((ME + 1) % 3, x)
    return comm.receive_(x, (ME - 1) % 3)


check(pass_on, 1 + (ME - 1) % 3)
gathered = comm.allgather(np.full(ME, ME, np.float32))
assert [list(each) for each in gathered] == [[], [1], [2, 2]], gathered
assert comm.allgather_object({"node": ME}) == [{"node": 0}, {"node": 1}, {"node": 2}]
comm.barrier()


def refused(error, words, function, *arguments):
    try:
        function(*arguments)
    except error as caught:
        assert re.search(words, str(caught)) and "\n" not in str(caught), caught
    else:
        raise AssertionError(f"not refused: {words}")


fixed = np.zeros(3, np.float32)
fixed.flags.writeable = False
refused(TypeError, "float64.*float32", comm.allreduce_, np.zeros(3))
refused(TypeError, "int64.*float32", comm.mix_, np.zeros(3, np.int64))
refused(TypeError, "read-only", comm.broadcast_, fixed)
refused(TypeError, "not contiguous", comm.allreduce_, np.zeros(6, np.float32)[::2])
refused(TypeError, "not list", comm.allreduce_, [1.0])
refused(TypeError, "not float", comm.receive_, 1.0, 0)
refused(veche.RequestError, "choose mean or sum", comm.allreduce_, np.zeros(3, np.float32), "product")
refused(veche.RequestError, "no node 7; nodes are 0 to 2", comm.broadcast_, np.zeros(3, np.float32), 7)
refused(veche.RequestError, "no node -1", comm.send, -1, np.zeros(3, np.float32))
if WITH_TORCH:
    import torch

    refused(TypeError, "not contiguous", comm.allreduce_, torch.zeros(3, 2).t())
    refused(TypeError, "not contiguous", comm.allreduce_, ByDlpack(torch.zeros(3, 2).t()))
    refused(TypeError, "float64.*float32", comm.allreduce_, ByDlpack(torch.zeros(3).double()))
    refused(TypeError, "float64.*float32", comm.allreduce_, torch.zeros(3).double())

# A thread counts on while this one waits for node 1, which waits until the thread has counted.
counted, waits = "counted", threading.Event()


def count():
    waits.wait()
    for _ in range(2_000_000):
        pass
    with open(counted, "w"):
        pass


if ME == 0:
    thread = threading.Thread(target=count)
    thread.start()
if ME == 1:
    deadline = time.monotonic() + 60
    while not os.path.exists(counted):
        assert time.monotonic() < deadline, "the other thread stood still during allreduce_"
        time.sleep(0.001)
x = np.ones(5, np.float32)
waits.set()
comm.allreduce_(x, op="sum")
assert (x == 3).all()
print("right", flush=True)
