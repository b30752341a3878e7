"""All-reduce on all nodes and one learner with the batches of all: how far their parameters are apart.

The last line is {case: distance}; each case is a run of its own in the same processes.
"""

import contextlib
import json
import os
import sys
import unittest.mock
import warnings

import numpy as np
import small
import torch
from small import adam, apart, batch, flat, network, sgd, shared, train

import veche
from veche import _staging

NODES, ME = veche.size(), veche.rank()
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def alone(make, network=network, **options):
    model = network()
    train(model, make(model), NODES, **options)
    return model


def together(make, network=network, **options):
    model = network()
    optimizer = shared(make(model), model, **options)
    train(model, optimizer, NODES, ME)
    optimizer.finish()
    return model


@case
def sgd_momentum_decay():
    return apart(together(sgd), alone(sgd))


@case
def adam_decay():
    return apart(together(adam), alone(adam))


@case
def adamw_amsgrad():
    def make(model):
        return torch.optim.AdamW(model.parameters(), lr=0.01, amsgrad=True)

    return apart(together(make), alone(make))


@case
def staged():
    """As on a GPU, in one piece and in many."""
    distances = []
    for piece in (_staging.PIECE, 37):
        with unittest.mock.patch.object(_staging, "PIECE", piece):
            distances += [apart(together(make, stage=True), together(make, stage=False)) for make in (sgd, adam)]
    return max(distances)


@case
def parameter_server():
    return max(apart(together(make, strategy="parameter-server"), alone(make)) for make in (sgd, adam))


@case
def two_servers():
    two = {"name": "parameter-server", "servers": 2}
    return max(apart(together(make, strategy=two), alone(make)) for make in (sgd, adam))


def scheduler(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)


@case
def accumulation_clip_and_scheduler():
    """Twice backward for each step, the norm of the mean bounded, and a schedule made before or after."""

    def steps(model, optimizer, schedule, node, synchronize=lambda: None):
        for step in range(20):
            optimizer.zero_grad()
            for half in (2 * step, 2 * step + 1):
                (small.loss(model, *batch(half, NODES, node)) / 2).backward()
            synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            schedule.step()
        return model

    warnings.simplefilter("error")  # of a schedule that has not seen the optimizer's steps
    reference = network()
    optimizer = sgd(reference)
    steps(reference, optimizer, scheduler(optimizer), None)
    rate = optimizer.param_groups[0]["lr"]
    distances = []
    for before in (True, False):
        model = network()
        optimizer = sgd(model)
        if before:
            schedule = scheduler(optimizer)
        optimizer = shared(optimizer)
        if not before:
            schedule = scheduler(optimizer)
        steps(model, optimizer, schedule, ME, optimizer.synchronize)
        assert optimizer.steps == 20, optimizer.steps  # not 40: step() counts
        optimizer.finish()
        distances += [apart(model, reference), abs(optimizer.param_groups[0]["lr"] - rate)]
    return max(distances)


@case
def ddp():
    """torch's DistributedDataParallel over Gloo, with accumulation, clipping and a schedule."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.getcwd()}/gloo", rank=ME, world_size=NODES)
    theirs, mine = torch.nn.parallel.DistributedDataParallel(network()), network()
    optimizer = sgd(mine)
    pairs = [(theirs, sgd(theirs), lambda: None), (mine, shared(optimizer), lambda: optimizer.synchronize())]
    for model, optimizer, synchronize in pairs:
        schedule = scheduler(optimizer)
        for step in range(20):
            optimizer.zero_grad()
            with model.no_sync() if model is theirs else contextlib.nullcontext():
                small.loss(model, *batch(2 * step, NODES, ME)).backward()
            small.loss(model, *batch(2 * step + 1, NODES, ME)).backward()
            synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            schedule.step()
    optimizer.finish()
    torch.distributed.destroy_process_group()
    if ME == 0 and os.path.exists("gloo"):
        os.remove("gloo")
    return apart(mine, theirs)


@case
def clip_of_the_engine():
    reference = network()
    optimizer = sgd(reference)
    for step in range(20):
        optimizer.zero_grad()
        small.loss(reference, *batch(step, NODES)).backward()
        torch.nn.utils.clip_grad_norm_(reference.parameters(), 0.1)
        optimizer.step()
    return apart(together(sgd, set={"optimizer.clip": 0.1}), reference)


@case
def parameter_groups():
    def make(model):
        return torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.05},
                                {"params": model[2].parameters(), "momentum": 0.5}], lr=0.1)

    return apart(together(make), alone(make))


class Odd(torch.nn.Module):
    """Tied weights, a channels-last convolution, a transposed matrix and a parameter that nothing uses."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first = torch.nn.Linear(8, 8)
        self.again = torch.nn.Linear(8, 8)
        self.again.weight = self.first.weight
        self.convolution = torch.nn.Conv2d(2, 4, 2).to(memory_format=torch.channels_last)
        self.transposed = torch.nn.Parameter(torch.randn(3, 4).t())
        self.unused = torch.nn.Parameter(torch.randn(5))

    def forward(self, x):
        x = torch.tanh(self.again(torch.tanh(self.first(x))))
        x = self.convolution(x.reshape(-1, 2, 2, 2).contiguous(memory_format=torch.channels_last))
        return x.reshape(-1, 4) @ self.transposed


@case
def odd_tensors():
    reference = alone(sgd, Odd)
    distances = []
    for stage in (False, True):
        model = together(sgd, Odd, stage=stage)
        assert model.first.weight is model.again.weight
        assert model.transposed.stride() == (1, 4), model.transposed.stride()
        # Its gradient is missing alone and zero together: weight decay moves it.
        for each in (model, reference):
            each.unused.data.zero_()
        distances.append(apart(model, reference))
    return max(distances)


class Overlapping(torch.nn.Module):
    """Two parameters over one storage, and one with gaps between its rows."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        base = torch.randn(11, 4) / 3
        self.first = torch.nn.Parameter(base[:8, :3])
        self.second = torch.nn.Parameter(base[8:, :3])

    def forward(self, x):
        return torch.tanh(x @ self.first) @ self.second


@case
def shared_storage():
    return apart(together(sgd, Overlapping), alone(sgd, Overlapping))


@case
def halves():
    """Parameters of other types are staged."""
    model = network().double()
    optimizer = shared(sgd(model))
    for step in range(20):
        optimizer.zero_grad()
        x, y = batch(step, NODES, ME)
        small.loss(model, x.double(), y).backward()
        optimizer.step()
    optimizer.finish()
    return float((flat(model).float() - flat(alone(sgd))).abs().max())


@case
def closures():
    model = network()
    optimizer = shared(sgd(model))
    for step in range(20):

        def closure():
            optimizer.zero_grad(set_to_none=True)
            mine = small.loss(model, *batch(step, NODES, ME))
            mine.backward()
            return mine

        value = optimizer.step(closure)
        assert value.requires_grad and float(value) > 0
    optimizer.finish()
    return apart(model, alone(sgd))


@case
def unused_on_some():
    """A node without a gradient of a parameter counts as zero."""

    def gradients(model, node):
        x, y = batch(0, NODES, node)
        small.loss(model, x, y).backward()

    reference = network()
    optimizer = sgd(reference)
    gradients(reference, None)
    reference[0].bias.grad = sum(
        torch.autograd.grad(small.loss(reference, *batch(0, NODES, n)), reference[0].bias)[0] for n in range(1, NODES)
    ) / NODES
    optimizer.step()
    model = network()
    optimizer = shared(sgd(model))
    gradients(model, ME)
    if ME == 0:
        model[0].bias.grad = None
    optimizer.step()
    optimizer.finish()
    return apart(model, reference)


class Wide(torch.nn.Module):
    """Large enough that its gradients are sent in parts; nothing uses one of its parameters."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.unused = torch.nn.Parameter(torch.randn(5))
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 12000), torch.nn.Tanh(), torch.nn.Linear(12000, 3))

    def forward(self, x):
        return self.layers(x)


def has_begun_to_send():
    try:
        veche.comm.barrier()
    except veche.RequestError as error:
        assert "before the backward pass" in str(error)
        return True
    return False


@case
def overlap():
    """The bits of a loop that sends all in step(), with as many passes in each step as in the last or fewer."""

    def made(overlap, set_to_none):
        model = Wide()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.01)
        optimizer = shared(optimizer, overlap=overlap, strategy={"name": "allreduce", "bucket": 0.05})
        begun = []
        for step in range(8):
            optimizer.zero_grad(set_to_none=set_to_none)
            for half in (2 * step, 2 * step + 1)[: 2 if step < 5 else 1]:
                (small.loss(model, *batch(half, NODES, ME)) / 2).backward()
            begun.append(has_begun_to_send())
            optimizer.step()
        assert begun == [overlap and step not in (0, 5) for step in range(8)], begun
        optimizer.finish()
        return model

    return max(1e6 * apart(made(True, none), made(False, none)) for none in (False, True))


@case
def overlap_of_odd_tensors():
    return max(apart(together(make, Odd, overlap=True), together(make, Odd)) for make in (sgd, adam))


@case
def overlap_and_loops_that_end_in_a_pass():
    """What was not sent counts as zero; no node waits."""
    model = Wide()
    optimizer = shared(torch.optim.SGD(model.parameters(), lr=0.01), overlap=True)
    for step in range(3 + ME):
        optimizer.zero_grad()
        small.loss(model, *batch(step, NODES, ME)).backward()
        if step < 2 + ME:
            optimizer.step()
    assert has_begun_to_send()
    steps = optimizer.finish()["steps"]
    assert torch.isfinite(flat(model)).all()
    return abs(steps - 3 - (NODES - 1))


class FakeScaler:
    """What torch.cuda.amp.GradScaler does, without CUDA."""

    def __init__(self):
        self._per_optimizer_states, self.scale = {}, 64.0

    def unscale_(self, optimizer):
        found = torch.zeros(1)
        for group in optimizer.param_groups:
            for p in group["params"]:
                if not torch.isfinite(p.grad).all():
                    found.fill_(1)
                p.grad /= self.scale
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = {"cpu": found}

    def step(self, optimizer):
        state = self._per_optimizer_states.setdefault(id(optimizer), {"found_inf_per_device": {}})
        assert optimizer._step_supports_amp_scaling
        return optimizer.step(grad_scaler=self)

    def update(self):
        (state,) = self._per_optimizer_states.values()
        if state["found_inf_per_device"]["cpu"].item():
            self.scale /= 2
        self._per_optimizer_states.clear()


@case
def overflow_on_one_node():
    """All nodes skip that step and go on with the same scale."""
    model = network()
    optimizer = shared(sgd(model))
    scaler = FakeScaler()
    for step in [0, 1, 2, 3, 4, 4, *range(5, 20)]:
        optimizer.zero_grad()
        (small.loss(model, *batch(step, NODES, ME)) * scaler.scale).backward()
        if step == 4 and scaler.scale == 64 and ME == 1:
            model[0].weight.grad[0, 0] = float("inf")
        before = flat(model)
        scaler.step(optimizer)
        if step == 4 and scaler.scale == 64:
            assert torch.equal(before, flat(model))
        scaler.update()
    assert scaler.scale == 32 and optimizer.steps == 20, (scaler.scale, optimizer.steps)
    optimizer.finish()
    return apart(model, alone(sgd))


@case
def state_dict_round_trip():
    """Half of the steps, then both states into new objects of a new run."""
    model = network()
    optimizer = shared(adam(model), model)
    train(model, optimizer, NODES, ME, steps=10)
    states = model.state_dict(), optimizer.state_dict()
    optimizer.finish()
    others = network()
    optimizer = adam(others)
    others.load_state_dict(states[0])
    optimizer.load_state_dict(states[1])
    optimizer = shared(optimizer, others)
    train(others, optimizer, NODES, ME, first=10)
    optimizer.finish()
    last = network()  # and into those under way
    optimizer = shared(adam(last), last)
    train(last, optimizer, NODES, ME, steps=3)
    last.load_state_dict(states[0])
    optimizer.load_state_dict(states[1])
    train(last, optimizer, NODES, ME, first=10)
    optimizer.finish()
    reference = alone(adam)
    return max(apart(others, reference), apart(last, reference))


@case
def different_beginnings():
    """Loops that draw different models begin with that of node 0."""
    model = network()
    if ME != 0:
        for p in model.parameters():
            p.data.normal_()
    optimizer = shared(sgd(model))
    train(model, optimizer, NODES, ME)
    optimizer.finish()
    return apart(model, alone(sgd))


def normalised(buffers, count):
    """Running means of all nodes after `count` steps, and of a model that nothing follows."""
    model = torch.nn.BatchNorm1d(8)
    optimizer = shared(torch.optim.SGD(model.parameters(), lr=0.0), model, buffers=buffers)
    for step in range(count):
        model(batch(step, NODES, ME)[0]).sum().backward()
        optimizer.step()
    optimizer.finish()
    each = veche.comm.allgather(torch.cat([model.running_mean, model.num_batches_tracked.float().reshape(1)]))
    return torch.tensor(np.array(each))


@case
def buffers():
    own = normalised("own", 1)
    assert len(torch.unique(own[:, 0])) == NODES and (own[:, 8] == 1).all()
    return max(float((normalised("average", 1) - own.mean(dim=0)).abs().max()),
               float((normalised("broadcast", 1) - own[0]).abs().max()))


@case
def buffers_with_uneven_ends():
    """The first node that ends its steps ends the exchange of buffers; nobody waits."""
    for how in ("average", "broadcast"):
        assert torch.isfinite(normalised(how, 3 + ME)).all()
    return 0.0


@case
def scaler_with_uneven_ends():
    model = network()
    optimizer, scaler = shared(sgd(model)), FakeScaler()
    for step in range(3 + ME):
        optimizer.zero_grad()
        (small.loss(model, *batch(step, NODES, ME)) * scaler.scale).backward()
        scaler.step(optimizer)
        scaler.update()
    return abs(optimizer.finish()["steps"] - 3 - (NODES - 1))


@case
def shards():
    """All samples once in an epoch, in another order in the next one; the same number on each node."""
    data = torch.utils.data.TensorDataset(torch.arange(42.0))
    orders = []
    for _ in range(2):
        loader = torch.utils.data.DataLoader(data, batch_size=3, shuffle=True)
        for _ in range(2):
            parts = veche.comm.allgather(torch.cat([x for (x,) in veche.shard(loader)]))
            assert {len(part) for part in parts} == {42 // NODES}
            assert len(set(np.concatenate(parts))) == 42 // NODES * NODES
            orders.append(np.concatenate(parts))
    assert (orders[0] == orders[2]).all() and (orders[1] == orders[3]).all() and (orders[0] != orders[1]).any()
    assert list(veche.shard(list(range(11)))) == list(range(ME, 8, NODES))
    return 0.0


@case
def is_a_real_optimizer():
    optimizer = sgd(network())
    wrapped = shared(optimizer)
    assert wrapped is optimizer and isinstance(wrapped, torch.optim.SGD) and type(wrapped).__name__ == "SGD"
    assert "SGD" in repr(wrapped)
    wrapped.finish()
    return 0.0


distances = {name: function() for name, function in CASES.items() if name in (sys.argv[1:] or CASES)}
if ME == 0:
    print(json.dumps(distances))
