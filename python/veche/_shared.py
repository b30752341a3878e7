"""The link between the optimizers of a Python loop and their node of the run."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from veche import _overlap, _session
from veche._schedule import Schedule
from veche._staging import Staging
from veche._state import Layout, are, view_of
from veche._updates import InTurns, Part, Whole
from veche._vectors import Buffers, Vector, dense, gradients_of
from veche._veche import RequestError, RunError

_grad = operator.attrgetter("grad")  # `map` of it costs a third of a loop


def parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


class Shared:
    """What all optimizers of a loop have in common: the model, and the run."""

    def __init__(
        self,
        optimizers: list[torch.optim.Optimizer],
        model: torch.nn.Module | None,
        buffers: str,
        stage: bool | None,
    ):
        self.buffer_mode = buffers
        self.alone = len(optimizers) == 1
        names = {id(p): name for name, p in model.named_parameters()} if model is not None else {}
        each = [{id(p): p for p in parameters_of(optimizer)} for optimizer in optimizers]
        _check(each, names)
        everything = (pair for parameters in each for pair in parameters.items())
        self.parameters = Vector(((names.get(key, f"parameter.{i}"), p) for i, (key, p) in enumerate(everything)), stage)
        self.buffers = Buffers(model, stage)
        ends = list(itertools.accumulate(map(len, each)))
        self.turns = [
            Turn(self, optimizer, number, end - len(each[number]), end)
            for number, (optimizer, end) in enumerate(zip(optimizers, ends))
        ]
        self.loss, self.samples, self.ended = 0.0, 1, False
        # Whether all nodes exchange a word before every step. They stop when the first of them has
        # no more steps, after which each decides on overflows alone.
        self.agrees = False
        self.scaled = False
        self.failure: Exception | None = None
        # By the run, between two steps: when it has asked for the state, or at any time.
        self.state_is_mixed = self.state_is_held = False
        self.overlap: _overlap.Overlap | None = None

    # Called by the session, before and after the run has read a checkpoint.
    def write_all(self, loop: Any) -> None:
        self.loop = loop  # a newcomer to a grid makes up for steps before it begins its own
        self.flat = torch.from_numpy(loop.parameters)
        self.flat_gradient = torch.from_numpy(loop.gradients)
        self.parameters.bind(self.flat)
        self.buffers.bind(torch.from_numpy(loop.buffers))
        loop.follow_buffers(self.buffer_mode)
        loop.take_turns(len(self.turns))
        for turn in self.turns:
            turn.gradient_views = turn.views_over(self.flat_gradient)
            turn.gradient_strides = [view.stride() for view in turn.gradient_views]

    def read_all(self, loop: Any) -> None:
        self.parameters.read()
        self.buffers.read()
        for turn in self.turns:
            if loop.steps > 0 and turn.whole is not None:
                turn.whole.state_arrays.install(turn.optimizer.state)

    def send_during_passes(self) -> None:
        """Not on the grid, whose members may change in between, nor of parameters elsewhere."""
        vector = self.parameters
        if self.loop.listens and vector.staging is None and not _session.on_grid():
            (turn,) = self.turns
            self.overlap = _overlap.Overlap(self.loop, vector.tensors, turn.gradient_views, vector.offsets)

    # Called by the run: `make` on its own thread, `update` of what it makes on the loop's, if that waits.
    def make(self, start: int, length: int) -> Whole | Part | InTurns:
        own = self.turns[0].whole is None and start == 0 and length == self.parameters.length
        made = InTurns(self, start, length, own) if not self.alone else None
        if own:
            for turn in self.turns:
                turn.whole = Whole(turn) if made is None else made.parts[turn.number][0]  # type: ignore[assignment]
        if made is not None:
            return made
        whole = self.turns[0].whole
        return whole if own and whole is not None else Part(self.turns[0], start, start + length)

    def agree(self, overflow: float, active: bool = True) -> bool:
        """Whether any node has an overflow."""
        if not self.agrees:
            return overflow > 0
        word = np.array([active, overflow], np.float32)
        _session.comm_allreduce(self.loop, word, False)
        self.agrees = word[0] == _session.size()
        return bool(word[1] > 0)

    def say_farewell(self) -> None:
        if self.agrees and not self.ended:
            self.agree(0, active=False)


class Turn:
    """One of the optimizers, and its part of the parameters."""

    def __init__(self, shared: Shared, optimizer: torch.optim.Optimizer, number: int, first: int, last: int):
        vector = shared.parameters
        self.shared, self.optimizer, self.number, self.first = shared, optimizer, number, first
        self.tensors = vector.tensors[first:last]
        self.begin = vector.offsets[first]
        self.end = vector.offsets[last - 1] + self.tensors[-1].numel()
        self.offsets = [offset - self.begin for offset in vector.offsets[first:last]]
        self.layout = Layout(optimizer, self.tensors)
        self.base_step: Any = type(optimizer).step
        self.in_groups = [list(group["params"]) for group in optimizer.param_groups]
        self.whole: Whole | None = None
        self.schedule: Schedule | None = None
        self.gradient_views: list[torch.Tensor] = []
        self.gradient_strides: list[Any] = []
        self.gradients_are_views = False  # of the run's own memory, known for this step
        self._staging: Staging | None = None

    def views_over(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """The parameters' shapes over the run's whole vector."""
        return [view_of(flat, t, self.begin + offset) for t, offset in zip(self.tensors, self.offsets)]

    def in_vector(self, tensors: list[Any]) -> list[Any]:
        """At the places of this optimizer's parameters; None at those of the others'."""
        return [*[None] * self.first, *tensors, *[None] * (len(self.shared.parameters.tensors) - self.first - len(tensors))]

    def state_staging(self) -> Staging | None:
        """What copies tensors that are like these parameters; None: they need none."""
        whole = self.shared.parameters.staging
        if self.shared.alone or whole is None:
            return whole
        self._staging = self._staging or Staging(self.tensors)
        return self._staging

    def report(self, loss: Any, samples: int) -> None:
        self.shared.loss, self.shared.samples = float(loss), samples

    def step(self, loss: Any) -> None:
        shared = self.shared
        shared.loop.announce()
        self.check_parameters()
        if shared.ended or not _session.is_under_way(shared.loop):
            raise RequestError(
                f"the run has ended after {shared.loop.steps} steps: leave the loop when optimizer.ended is true"
            )
        self.write_gradients()
        shared.parameters.write()
        if loss is not None:
            shared.loss = float(loss)
        shared.buffers.write()
        self.exchange()

    def check_parameters(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.in_groups) or not all(are(g["params"], k) for g, k in zip(groups, self.in_groups)):
            raise RequestError(
                "parameters were added to the optimizer, removed or replaced after veche.Optimizer was made: "
                "change its groups before"
            )
        if self.shared.parameters.staging is None:
            self.shared.parameters.check_unmoved()

    def exchange(self) -> None:
        shared = self.shared
        before = shared.loop.steps
        if self.schedule is not None:
            self.schedule.before_step()
        try:
            shared.ended = not shared.loop.step(shared.loss, shared.samples, self.number)
        except RunError as failure:
            if shared.failure is not None:  # of the user's optimizer, with its traceback
                raise shared.failure from failure
            raise
        finally:
            if shared.overlap is not None:
                shared.overlap.after_step()
        shared.parameters.read()
        shared.buffers.floats.read()
        if shared.buffer_mode != "own":
            shared.buffers.counters.read()
        if self.schedule is not None and not shared.ended:
            self.schedule.after_step(shared.loop.steps - before)

    def average_gradients(self) -> None:
        shared = self.shared
        if shared.overlap is not None:
            _overlap.refuse("synchronize() changes gradients after the backward pass")
        self.write_gradients()
        _session.comm_allreduce(shared.loop, shared.loop.gradients, True)
        gradients = gradients_of(self.tensors)
        if shared.parameters.staging is not None:
            shared.parameters.staging.put(shared.flat_gradient, self.in_vector(gradients))
            return
        with torch.no_grad():
            for gradient, view in zip(gradients, self.gradient_views):
                gradient.copy_(view)

    def overflows(self, scaler: Any) -> bool:
        """Whether the gradient of any node is infinite or not a number. All nodes call it."""
        shared = self.shared
        if shared.overlap is not None:
            _overlap.refuse("a GradScaler changes gradients after the backward pass")
        state = scaler._per_optimizer_states[id(self.optimizer)]
        if not state["found_inf_per_device"]:
            scaler.unscale_(self.optimizer)
        found = list(state["found_inf_per_device"].values())
        if not shared.scaled:
            shared.scaled = True
            # On the grid a member decides alone: it only gives the others its next gradient.
            shared.agrees = not _session.on_grid()
        overflow = shared.agree(sum(float(flag) for flag in found))
        for flag in found:  # so that all nodes go on with the same scale
            flag.fill_(float(overflow))
        return overflow

    def write_gradients(self) -> None:
        """Into the run's vector, with zeros for the parameters of other optimizers."""
        shared = self.shared
        staging, overlap = shared.parameters.staging, shared.overlap
        if overlap is not None:
            overlap.check_unchanged()
        if staging is not None:
            staging.fetch(self.in_vector([dense(p.grad) for p in self.tensors]), shared.flat_gradient)
            return
        if not shared.alone:
            shared.flat_gradient[: self.begin].zero_()
            shared.flat_gradient[self.end :].zero_()
        self.gradients_are_views = are(list(map(_grad, self.tensors)), self.gradient_views)
        if self.gradients_are_views:
            return  # the backward pass has added to the run's own memory
        told: Iterable[bool] = overlap.told if overlap is not None else itertools.repeat(False)
        addresses: list[int | None] = []
        with torch.no_grad():
            for p, view, strides, sent in zip(self.tensors, self.gradient_views, self.gradient_strides, told):
                gradient = p.grad
                if sent:
                    pass
                elif gradient is None:
                    view.zero_()
                elif dense(gradient).stride() == strides:
                    addresses.append(gradient.data_ptr())
                    continue
                else:
                    view.copy_(gradient)
                addresses.append(None)
        shared.loop.gather([address or 0 for address in self.in_vector(addresses)])


def _check(each: list[dict[int, torch.Tensor]], names: dict[int, str]) -> None:
    """The parameters of several optimizers."""
    seen: set[int] = set()
    for parameters in each:
        if not parameters:
            raise RequestError("this optimizer has no parameters")
        for key, p in parameters.items():
            if not p.dtype.is_floating_point:
                raise TypeError(f"a parameter has the type {p.dtype}, and only floating-point numbers are trained")
            if key in seen:
                raise RequestError(
                    f"two of the optimizers have '{names.get(key, 'a parameter')}': each parameter belongs to one of them"
                )
        seen.update(parameters)


__all__ = ["Shared", "Turn", "parameters_of"]
