"""The peer of `veche bench compress`: PyTorch's own ways to make a gradient smaller, driven over standard input.

Requests and answers are JSON objects, one per line:
  {"do": "make", "file"}   float32 numbers: the vector that all is done to.        -> {"floats": n}
  {"do": "topk", "part", "times"}      torch.topk of the magnitudes                -> {"seconds", "entries", "least", "sum"}
  {"do": "qsgd", "levels", "block", "times"}   whole parts of blocks' norms        -> {"seconds", "norms", "levels"}
  {"do": "hook", "shapes", "rank", "start", "out"}   powerSGD_hook of a bucket with tensors of these shapes, from the Q in
      the file `start`; the result of the first step goes to the file `out`       -> {}
  {"do": "powersgd", "times"}                                                      -> {"seconds"}
Errors are answered with {"error": text}.
"""
import json
import math
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the libraries when loaded
import numpy
import torch
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook


class NoNetwork:
    """Stands in for torch.distributed: the sum over one node is what it gave."""

    class Group:
        def size(self):
            return 1

    class Done:
        def __init__(self, tensor):
            self.tensor = tensor

        def get_future(self):
            future = torch.futures.Future()
            future.set_result([self.tensor])
            return future

    @staticmethod
    def all_reduce(tensor, group=None, async_op=False):
        return NoNetwork.Done(tensor)


class Bucket:
    """What DDP hands to a hook: one flat tensor and the gradients in it."""

    def __init__(self, flat, shapes):
        self.flat, self.tensors, start = flat, [], 0
        for shape in shapes:
            size = math.prod(shape)
            self.tensors.append(flat[start:start + size].view(*shape))
            start += size

    def buffer(self):
        return self.flat

    def gradients(self):
        return self.tensors

    def index(self):
        return 0

    def is_last(self):
        return False  # the state's own count of steps stays beyond its start


class Peer:
    def make(self, request):
        self.x = torch.from_numpy(numpy.fromfile(request["file"], dtype=numpy.float32))
        self.magnitudes = self.x.abs()
        return {"floats": self.x.numel()}

    def topk(self, request):
        count = max(1, round(request["part"] * self.x.numel()))
        start = time.perf_counter()
        for _ in range(request["times"]):
            values, places = torch.topk(self.magnitudes, count, sorted=False)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "entries": count, "least": values.min().item(), "sum": values.double().sum().item()}

    def qsgd(self, request):
        levels, block = request["levels"], request["block"]
        whole = self.x[:self.x.numel() // block * block].view(-1, block)
        start = time.perf_counter()
        for _ in range(request["times"]):
            norms = whole.norm(dim=1, keepdim=True)
            size = whole.abs().mul_(levels / norms)
            level = size.floor()
            level.add_(torch.rand_like(size) < size - level)
            code = level.mul_(whole.sign()).to(torch.int8)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "norms": norms.double().sum().item(), "levels": code.abs().double().sum().item()}

    def hook(self, request):
        powerSGD_hook.dist = NoNetwork
        self.state = powerSGD_hook.PowerSGDState(NoNetwork.Group(), request["rank"], start_powerSGD_iter=2)
        self.state.iter = 2
        self.bucket = Bucket(self.x.clone(), request["shapes"])
        q = torch.from_numpy(numpy.fromfile(request["start"], dtype=numpy.float32))
        compressed = [t.view(t.shape[0], -1).shape for t in self.bucket.tensors]
        rows = sum(n * request["rank"] for n, m in compressed if 2 * (n + m) * request["rank"] < n * m)
        self.state.p_memory_dict[0] = torch.empty(rows)
        self.state.q_memory_dict[0] = q
        self.step().numpy().tofile(request["out"])
        return {}

    def step(self):
        return powerSGD_hook.powerSGD_hook(self.state, self.bucket).wait()

    def powersgd(self, request):
        seconds = 0
        for _ in range(request["times"]):
            self.bucket.flat.copy_(self.x)  # the gradient of the next step
            start = time.perf_counter()
            self.step()
            seconds += time.perf_counter() - start
        return {"seconds": seconds}


def main():
    torch.set_num_threads(1)
    peer = Peer()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            result = getattr(peer, request["do"])(request)
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps(result), flush=True)


main()
