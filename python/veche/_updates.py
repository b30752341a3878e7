"""What the run calls for the steps of its optimizers: the user's own, or copies for parts of the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from veche._state import FlatState, like, view_of
from veche._vectors import gradients_of

if TYPE_CHECKING:
    from veche._shared import Shared, Turn


class Whole:
    """A user's optimizer, for all of its parameters."""

    def __init__(self, turn: Turn):
        self.turn = turn
        length = turn.end - turn.begin
        self.state_arrays = FlatState(turn.layout, turn.tensors, turn.offsets, length, turn.state_staging)
        self.elsewhere: Part | None = None

    def state(self) -> list[np.ndarray]:
        return self.state_arrays.arrays()

    def lend(self) -> None:
        """The run is to read the state, and may change it."""
        self.state_arrays.lend()

    def update(self, x: np.ndarray | None, g: np.ndarray | None) -> bool:
        """Of the run's whole vectors; None stands for those of the loop. Returns whether the state must be
        lent before it is read."""
        turn, shared = self.turn, self.turn.shared
        vector, optimizer = shared.parameters, turn.optimizer
        if x is not None:
            self._update_elsewhere(x, shared.loop.gradients if g is None else g)
            return False
        # The loop's own gradients, or a copy that the run has clipped and that ends with it.
        gradient = shared.flat_gradient if g is None else torch.from_numpy(g)
        after: list[Any] | None = None  # gradients that the parameters have after the step; None: as they are
        if vector.staging is not None:
            vector.read()
            vector.staging.put(gradient, turn.in_vector(gradients_of(turn.tensors)))
        elif g is not None or not turn.gradients_are_views:
            views = turn.gradient_views if g is None else turn.views_over(gradient)
            if not shared.alone:
                after = [p.grad for p in turn.tensors]
            elif g is not None:
                after = turn.gradient_views
            for p, view in zip(turn.tensors, views):
                if p.grad is not view:
                    p.grad = view
        turn.gradients_are_views = False
        if shared.state_is_mixed:
            self.state_arrays.before_step(optimizer.state)
        try:
            turn.base_step(optimizer)
        except Exception as error:
            shared.failure = error
            raise
        finally:
            if after is not None:
                for p, grad in zip(turn.tensors, after):
                    p.grad = grad
        shared.loop.announce()
        self.state_arrays.after_step(optimizer.state)
        vector.write()
        if shared.state_is_held:
            self.lend()
            return False
        return self.state_arrays.is_apart

    def _update_elsewhere(self, x: np.ndarray, g: np.ndarray) -> None:
        """Of a server's vector, which the user's loop must not see."""
        turn = self.turn
        self.lend()
        if self.elsewhere is None:
            self.elsewhere = Part(turn, 0, turn.end - turn.begin, self.state_arrays)
        self.elsewhere.update(x[turn.begin : turn.end], g[turn.begin : turn.end])
        self.elsewhere.lend()


class Part:
    """A copy of a user's optimizer for the part [start, end) of its parameters, as a server has it."""

    def __init__(self, turn: Turn, start: int, end: int, state: FlatState | None = None):
        self.turn, self.users = turn, turn.tensors
        self.pieces = []  # (index of the parameter, begin and end in it, begin in the part)
        for i, (p, offset) in enumerate(zip(turn.tensors, turn.offsets)):
            first, last = max(start, offset), min(end, offset + p.numel())
            if first < last or state is not None:
                self.pieces.append((i, first - offset, last - offset, first - start))
        self.tensors = self.views_over(torch.zeros(end - start))
        mine = {id(self.users[i]): t for (i, *_), t in zip(self.pieces, self.tensors)}
        self.optimizer = like(turn.optimizer, mine)
        offsets = [at for *_, at in self.pieces]
        if state is not None:
            self.state_arrays = state.of(self.tensors)
        else:
            self.state_arrays = FlatState(turn.layout, self.tensors, offsets, end - start)
        self.begun = False
        self.address = 0

    def views_over(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Whole parameters have their shapes, for optimizers that look at them."""
        return [
            view_of(flat, self.users[i], at)
            if end - begin == self.users[i].numel()
            else flat[at : at + end - begin]
            for i, begin, end, at in self.pieces
        ]

    def state(self) -> list[np.ndarray]:
        return self.state_arrays.arrays()

    def lend(self) -> None:
        self.state_arrays.lend()

    def update(self, x: np.ndarray | None, g: np.ndarray | None) -> bool:
        """Of vectors of this part; None stands for those of the loop."""
        shared = self.turn.shared
        flat = shared.flat if x is None else torch.from_numpy(x)
        gradient = shared.flat_gradient if g is None else torch.from_numpy(g)
        if flat.data_ptr() != self.address:  # the first time, in practice
            self.address = flat.data_ptr()
            for tensor, view in zip(self.tensors, self.views_over(flat)):
                tensor.data = view
        for tensor, view in zip(self.tensors, self.views_over(gradient)):
            tensor.grad = view
        # Schedulers change the user's groups.
        for group, users in zip(self.optimizer.param_groups, self.turn.optimizer.param_groups):
            group.update({k: v for k, v in users.items() if k != "params"})
        if not self.begun:
            self.begun = True
            if self.state_arrays.is_empty():  # no checkpoint was read; the user may have loaded a state
                for k, (i, begin, _, _) in enumerate(self.pieces):
                    self.state_arrays.take(k, self.turn.optimizer.state.get(self.users[i], {}), begin, self.users[i])
            if not self.state_arrays.is_empty():
                self.state_arrays.install(self.optimizer.state)
        self.state_arrays.before_step(self.optimizer.state)
        self.optimizer.step()
        self.state_arrays.after_step(self.optimizer.state)
        return self.state_arrays.is_apart


class InTurns:
    """Several optimizers, each for its part of the parameters. One of them makes each step; its number is
    what the nodes have agreed on."""

    def __init__(self, shared: Shared, start: int, length: int, own: bool):
        self.shared = shared
        self.parts: list[tuple[Whole | Part, int, int]] = []  # and begin and end of the part in the vectors
        for turn in shared.turns:
            begin, end = max(start, turn.begin), min(start + length, turn.end)
            end = max(begin, end)
            part: Whole | Part = Whole(turn) if own else Part(turn, begin - turn.begin, end - turn.begin)
            self.parts.append((part, begin - start, end - start))

    def state(self) -> list[np.ndarray]:
        return [array for part, *_ in self.parts for array in part.state()]

    def lend(self) -> None:
        for part, *_ in self.parts:
            part.lend()

    def update(self, x: np.ndarray | None, g: np.ndarray | None) -> bool:
        loop = self.shared.loop
        part, begin, end = self.parts[loop.optimizer]
        if isinstance(part, Whole):
            part.update(x, g)
        elif begin < end:
            x, g = loop.parameters if x is None else x, loop.gradients if g is None else g
            part.update(x[begin:end], g[begin:end])
        return any(each.state_arrays.is_apart for each, *_ in self.parts)
