"""What users of other libraries complain of, on several nodes. The last line is {complaint: how far from what is right}."""

import json
import sys
import unittest.mock

import small
import torch
from small import EACH, apart, batch, network, sgd, shared

import veche
import veche.compat.bluefog as bf
import veche.compat.horovod as hvd

NODES, ME = veche.size(), veche.rank()
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def passes(model, optimizer, node, counts):
    """Steps of one backward pass or several each, over equal parts of the same samples."""
    for step, count in enumerate(counts):
        optimizer.zero_grad()
        x, y = batch(step, NODES, node)
        for k in range(count):
            (small.loss(model, x[k::count], y[k::count]) / count).backward()
        optimizer.step()


@case
def horovod_2466():
    """The number of backward passes changes from step to step."""
    reference, model = network(), network()
    passes(reference, sgd(reference), None, [1] * 6)
    optimizer = shared(sgd(model))
    passes(model, optimizer, ME, [1, 4, 2, 8, 1, 2])
    optimizer.finish()
    return apart(model, reference)


class TwoHeads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.body, self.heads = torch.nn.Linear(8, 6), torch.nn.ModuleList([torch.nn.Linear(6, 3) for _ in range(2)])

    def forward(self, x, head):
        return self.heads[head](torch.tanh(self.body(x)))


@case
def pytorch_69031():
    """A pass uses one head and the next one the other: no gradient is lost between them."""

    def train(model, optimizer, node):
        for step in range(6):
            optimizer.zero_grad(set_to_none=True)
            for head in range(2):
                x, y = batch(2 * step + head, NODES, node)
                (torch.nn.functional.cross_entropy(model(x, head), y) / 2).backward()
            optimizer.step()
        return model

    reference, model = TwoHeads(), TwoHeads()
    train(reference, sgd(reference), None)
    optimizer = shared(sgd(model))
    train(model, optimizer, ME)
    optimizer.finish()
    return apart(model, reference)


def calls_during_a_pass(overlap):
    """Functions of this package that a backward pass calls."""
    model = network()
    optimizer = shared(sgd(model), model, overlap=overlap)
    loss, called = small.loss(model, *batch(0, NODES, ME)), []

    def note(frame, event, _):
        if event == "call" and "/veche/" in frame.f_code.co_filename:
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    loss.backward()
    sys.setprofile(None)
    hooks = [name for module in model.modules() for name, value in vars(module).items() if name.endswith("_hooks") and value]
    hooks += [name for p in model.parameters() for name in ("_backward_hooks", "_post_accumulate_grad_hooks") if getattr(p, name, None)]
    optimizer.step()
    optimizer.finish()
    return called + hooks


@case
def pytorch_108966():
    """Nothing of Veche's runs in a pass; with overlap=True, which says so, something does."""
    assert calls_during_a_pass(overlap=False) == []
    assert calls_during_a_pass(overlap=True) != []
    if not hasattr(torch, "compile"):
        return 0.0
    reference, model = network(), network()
    optimizers = [sgd(reference), shared(sgd(model))]
    for each, optimizer in zip((reference, torch.compile(model, backend="eager", fullgraph=True)), optimizers):
        passes(each, optimizer, ME if each is not reference else None, [1] * 3)
    optimizers[1].finish()
    return apart(model, reference)


def check_and_unscale(gradients, found, inverse_scale):
    for gradient in gradients:
        if not torch.isfinite(gradient).all():
            found.fill_(1)
        gradient.mul_(inverse_scale)


def update_scale(scale, tracker, found, growth, backoff, interval):
    tracker.add_(1)
    if found.item():
        scale.mul_(backoff)
        tracker.zero_()
    elif tracker.item() == interval:
        scale.mul_(growth)
        tracker.zero_()
    return scale


def scaler_on_the_host():
    """torch's own GradScaler. Older ones know GPUs only: their two kernels are given to them, and the checks are taken off."""
    options = {"init_scale": 64.0, "growth_interval": 5}
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", **options), None
    kernels = torch.library.Library("aten", "IMPL", "CPU")
    kernels.impl("_amp_foreach_non_finite_check_and_unscale_", check_and_unscale)
    kernels.impl("_amp_update_scale_", update_scale)

    class Scaler(torch.cuda.amp.GradScaler):
        def scale(self, loss):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(loss.device)
            return loss * self._scale

    class Replicator(torch.cuda.amp.grad_scaler._MultiDeviceReplicator):
        def __init__(self, master):
            self.master, self._per_device_tensors = master, {}

    torch.cuda.amp.grad_scaler._MultiDeviceReplicator = Replicator
    with unittest.mock.patch("torch.cuda.amp.grad_scaler.amp_definitely_not_available", return_value=False):
        return Scaler(**options), kernels


@case
def horovod_3160():
    """An overflow on one node, with torch's GradScaler: all skip that step and have the same scale afterwards."""
    scaler, _kernels = scaler_on_the_host()
    model = network()
    optimizer = shared(sgd(model))
    scales = []
    for step in [0, 1, 2, 3, 3, *range(4, 9)]:
        optimizer.zero_grad()
        scaler.scale(small.loss(model, *batch(step, NODES, ME))).backward()
        if len(scales) == 3 and ME == 1:
            model[0].weight.grad[0, 0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    # Halved by the overflow, and doubled after five steps without one.
    assert scales == [64.0] * 3 + [32.0] * 5 + [64.0] * 2, scales
    assert optimizer.steps == 9, optimizer.steps
    optimizer.finish()
    reference = network()
    passes(reference, sgd(reference), None, [1] * 9)
    return apart(model, reference)


def widened(model, library):
    """The momentum of the last parameter, after a state with None and one without have been sent."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * (1 + ME))  # without momentum its state is None
    if ME == 0:
        passes(model, optimizer, ME, [1])
        assert {state["momentum_buffer"] for state in optimizer.state.values()} == {None}
    library.broadcast_optimizer_state(optimizer, root_rank=0)
    states = list(optimizer.state_dict()["state"].values())
    assert len(states) == 4 and {state["momentum_buffer"] for state in states} == {None}, states
    assert optimizer.param_groups[0]["lr"] == 0.1
    optimizer.param_groups[0]["momentum"] = 0.5  # and from now on a tensor takes the place of None on node 0
    if ME == 0:
        passes(model, optimizer, ME, [1])
    library.broadcast_optimizer_state(optimizer, root_rank=0)
    return optimizer.state_dict()["state"][3]["momentum_buffer"]


@case
def bluefog_79():
    distances = []
    for library in (hvd, bf):
        mine = widened(network(), library)
        theirs = torch.tensor(veche.comm.allgather(mine)[0])
        assert theirs.abs().max() > 0
        distances.append(float((mine - theirs).abs().max()))
    return max(distances)


@case
def torchft_186():
    """Each step has as many samples as asked for, none of them twice in an epoch, whatever the number of nodes."""
    data = torch.utils.data.TensorDataset(torch.arange(35))
    loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)
    optimizer = shared(sgd(network()))
    part, seen = veche.shard(loader, global_batch=2 * EACH + 1), []
    for _ in range(2):
        for (numbers,) in part:
            optimizer.step()
            seen.append(numbers.tolist())
    optimizer.finish()
    assert len(part) == 2 and len(seen) == 4
    together = [sorted(sum(each, [])) for each in zip(*veche.comm.allgather_object(seen))]
    assert [len(set(step)) for step in together] == [17] * 4, together
    assert not set(together[0]) & set(together[1]) and together[0] != together[2]
    for words, given in (("num_workers=0", torch.utils.data.DataLoader(data, num_workers=1)), ("DataLoader, not list", [1])):
        try:
            veche.shard(given, global_batch=4)
        except veche.RequestError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    return 0.0


if __name__ == "__main__":
    distances = {name: function() for name, function in CASES.items() if name in (sys.argv[1:] or CASES)}
    if ME == 0:
        print(json.dumps(distances))
