"""Calls of both interfaces on N ranks, each compared with what it must give."""

import os
import pathlib
import sys

import numpy
import torch
import veche
import veche.compat.bluefog as bf
import veche.compat.horovod as hvd
from veche.compat import topology_util


def same(tensor, expected):
    numpy.testing.assert_allclose(tensor.detach().double().numpy(), numpy.array(expected, float), rtol=1e-6, atol=1e-6)


def refused(words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except (veche.RequestError, TypeError) as error:
        assert words in str(error), f"{words!r} is not in: {error}"
        assert "\n" not in str(error)
    else:
        raise AssertionError(f"{call} raises nothing for {arguments} {named}")


def horovod():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    assert (rank, size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    assert (hvd.local_rank(), hvd.local_size(), hvd.is_initialized()) == (rank, size, True)
    total = sum(range(size))
    x = torch.tensor([[1.0, rank], [rank, 2.0 * rank]]).t()  # not contiguous
    mean = [[1, total / size], [total / size, 2 * total / size]]
    same(hvd.allreduce(x), mean)
    same(x, [[1, rank], [rank, 2 * rank]])
    same(hvd.allreduce(x, average=False), numpy.array(mean) * size)
    same(hvd.allreduce(x, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.25), numpy.array(mean) * size / 2)
    assert hvd.allreduce_(x) is x
    same(x, mean)
    # Numbers that floats do not hold.
    assert hvd.allreduce(torch.tensor(2**40 + rank), op=hvd.Sum).item() == size * 2**40 + total
    assert hvd.allreduce(torch.tensor([1 + 1e-12], dtype=torch.float64)).item() == 1 + 1e-12
    half = hvd.allreduce(torch.tensor([rank], dtype=torch.float16))
    assert half.dtype == torch.float16 and half.item() == total / size
    same(hvd.allreduce(torch.tensor([1 + 2.0**-20]), compression=hvd.Compression.fp16), [1])
    same(hvd.synchronize(hvd.allreduce_async(torch.ones(3), op=hvd.Sum)), [size] * 3)
    rows = [[r, r + 0.5] for r in range(size) for _ in range(r)]
    same(hvd.allgather(torch.tensor([[rank, rank + 0.5]] * rank).reshape(rank, 2)), rows)
    assert hvd.allgather(torch.tensor([rank])).tolist() == list(range(size))
    assert hvd.allgather(torch.tensor(rank)).tolist() == list(range(size))
    last = size - 1
    same(hvd.broadcast(torch.full((2,), float(rank)), last), [last, last])
    assert hvd.broadcast_object({"lr": rank} if rank == 1 else None, root_rank=1) == {"lr": 1}
    assert hvd.allgather_object(rank) == list(range(size))
    hvd.barrier()

    torch.manual_seed(rank)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    model[1].num_batches_tracked += rank
    hvd.broadcast_parameters(model.state_dict(), root_rank=1)
    torch.manual_seed(1)
    same(model[0].weight, torch.nn.Linear(2, 2).weight.tolist())
    assert model[1].num_batches_tracked.item() == 1
    adam = torch.optim.Adam(model.parameters(), lr=0.1 * (1 + rank))
    if rank == 0:
        model(torch.ones(3, 2)).sum().backward()
        adam.step()
    hvd.broadcast_optimizer_state(adam, root_rank=0)
    assert adam.param_groups[0]["lr"] == 0.1 and len(adam.state_dict()["state"]) == 4

    refused("pass tensor.float()", hvd.allreduce, torch.tensor([1]))
    refused("allgather", hvd.alltoall, x)
    refused("veche.shard", hvd.join)
    refused("choose Average or Sum", hvd.allreduce, x, op=hvd.Adasum)
    refused("choose Average or Sum", hvd.DistributedOptimizer, adam, op=hvd.Adasum)
    refused("to_dense", hvd.allreduce, torch.eye(2).to_sparse())
    refused("ranks are 0 to", hvd.broadcast, torch.tensor([1]), size)
    twice = [("a", model[0].weight), ("a", model[0].bias)]
    refused("'a' twice", hvd.DistributedOptimizer, adam, named_parameters=twice)
    refused("lacks 2", hvd.DistributedOptimizer, adam, named_parameters=model[0].named_parameters())


def optimizers():
    """Sums of sparse gradients, and state that comes from rank 0 after the optimizer was wrapped."""
    torch.manual_seed(hvd.rank())
    words = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = torch.optim.SGD(words.parameters(), lr=1.0 + hvd.rank(), momentum=0.5)
    optimizer = hvd.DistributedOptimizer(optimizer, words.named_parameters(), op=hvd.Sum, sparse_as_dense=True)
    hvd.broadcast_parameters(words.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    before, size = words.weight.detach().clone(), hvd.size()
    for _ in range(2):
        optimizer.zero_grad()
        words(torch.tensor([2])).sum().backward()
        optimizer.step()
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    same(before - words.weight, [[0, 0], [0, 0], [2.5 * size] * 2, [0, 0]])
    same(optimizer.state_dict()["state"][0]["momentum_buffer"][2], [1.5 * size] * 2)
    hvd.shutdown()
    # A closure, and a step that exchanges nothing.
    w = torch.nn.Parameter(torch.tensor([float(bf.rank())]))
    gradient = bf.DistributedGradientAllreduceOptimizer(torch.optim.SGD([w], lr=0.5), None)
    same(gradient.step(lambda: descend(gradient, w)), [0])  # all begin with rank 0's
    same(w, [0.5])
    bf.shutdown()
    both = bf.DistributedAdaptThenCombineOptimizer(torch.optim.SGD([w], lr=0.5), None, bf.CommunicationType.allreduce)
    both.step(lambda: descend(both, w, 1.0 + bf.rank()))
    same(w, [0.5 + 0.5 * (1 + (bf.size() - 1) / 2)])
    both.communication_type = bf.CommunicationType.empty
    both.step(lambda: descend(both, w, 1.0 + bf.rank()))
    same(w, [0.5 + 0.5 * (1 + (bf.size() - 1) / 2) + 0.5 * (1 + bf.rank())])
    bf.shutdown()


def descend(optimizer, w, slope=1.0):
    optimizer.zero_grad(set_to_none=True)
    loss = -slope * w.sum()
    loss.backward()
    return loss


def bluefog():
    bf.init()
    rank, size = bf.rank(), bf.size()
    x = torch.tensor([float(rank), 1.0])
    # The default: i sends to i + 1, i + 2, i + 4, ...
    sources = sorted({(rank - 2**k) % size for k in range(8) if 2**k < size})
    assert bf.in_neighbor_ranks() == sources and bf.load_topology() == f"exponential:{size}"
    same(bf.neighbor_allreduce(x), [(rank + sum(sources)) / (len(sources) + 1), 1])
    same(bf.neighbor_allgather(x[:1]), sources)

    left, right = (rank - 1) % size, (rank + 1) % size
    bf.set_topology(topology_util.RingGraph(size))
    around = sorted({left, right})
    assert bf.in_neighbor_ranks() == around == bf.out_neighbor_ranks()
    mean = (rank + sum(around)) / (1 + len(around))
    same(bf.neighbor_allreduce(x), [mean, 1])
    same(x, [rank, 1])
    weights = {left: 0.75}
    same(bf.neighbor_allreduce(x, self_weight=0.25, src_weights=weights), [0.25 * rank + 0.75 * left, 1])
    # One way, scaled by the sender; in the precision of doubles.
    fine = torch.tensor([rank + 1e-12], dtype=torch.float64)
    moved = bf.neighbor_allreduce(fine, self_weight=0.0, src_weights={left: 1.0}, dst_weights=[right])
    assert moved.item() == left + 1e-12
    same(bf.neighbor_allreduce(x, self_weight=1.0, src_weights={left: 0.5}, dst_weights={right: 4.0}),
         [rank + 2 * left, 3])
    same(bf.wait(bf.neighbor_allreduce_nonblocking(x)), [mean, 1])

    # A star with its own weights; then the graph of a table, as networkx has it.
    bf.set_topology(topology_util.StarGraph(size), is_weighted=True)
    row = veche.topology(f"star:{size}").matrix[rank]
    same(bf.neighbor_allreduce(x), [row @ numpy.arange(size), 1])
    own, received = topology_util.GetRecvWeights(bf.load_topology(), rank)
    assert abs(own + sum(received.values()) - 1) < 1e-12

    bf.set_topology(OneWayRing(size), is_weighted=True)
    assert (bf.in_neighbor_ranks(), bf.out_neighbor_ranks()) == ([left], [right])
    same(bf.neighbor_allreduce(x), [0.25 * rank + 0.75 * left, 1])

    partner = rank ^ 1
    same(bf.pair_gossip(x, partner), [(rank + partner) / 2, 1])
    same(bf.pair_gossip(x, partner, self_weight=0.75, pair_weight=0.25), [0.75 * rank + 0.25 * partner, 1])
    same(bf.allreduce(x, average=False), [sum(range(size)), size])
    same(bf.broadcast(x, 1), [1, 1])
    same(bf.allgather(x[:1]), range(size))
    bf.barrier()

    refused("give both or neither", bf.neighbor_allreduce, x, self_weight=0.5)
    refused("does not send", bf.neighbor_allreduce, x, self_weight=0.5, src_weights={right: 0.5}) if size > 2 else None
    refused("who sends to this rank", bf.neighbor_allreduce, x, dst_weights={right: 1.0})
    refused("cannot be a neighbour", bf.neighbor_allreduce, x, 0.5, {rank: 0.5}, {right: 1.0})
    # Every rank waits for the next one, and nobody sends to the one before.
    if size > 2:
        refused("dst_weights do not have it", bf.neighbor_allreduce, x, 0.5, {right: 0.5}, {right: 1.0})
    refused("cannot be the partner", bf.pair_gossip, x, rank)
    refused("processes", bf.set_topology, f"ring:{size + 1}")
    refused("a spec such as", bf.set_topology, 3)
    refused("networkx", topology_util.RingGraph, size, connect_style=1)
    refused("pair_gossip", bf.win_create, x, "x")
    model = torch.nn.Linear(2, 1)
    hierarchical = bf.CommunicationType.hierarchical_neighbor_allreduce
    refused("hierarchical", bf.DistributedAdaptThenCombineOptimizer, torch.optim.SGD(model.parameters(), lr=1), model, hierarchical)


class OneWayRing:
    """What is used of a networkx.DiGraph: node i sends to i + 1 with weight 0.75, and keeps 0.25."""

    def __init__(self, size):
        self.size = size

    def number_of_nodes(self):
        return self.size

    def predecessors(self, node):
        return iter([node, (node - 1) % self.size])

    def __getitem__(self, node):
        return {node: {"weight": 0.25}, (node + 1) % self.size: {"weight": 0.75}}


horovod()
hvd.shutdown()
optimizers()
bluefog()
bf.shutdown()
pathlib.Path(f"{sys.argv[-1]}.{bf.rank()}").write_text("true")  # came to its end
