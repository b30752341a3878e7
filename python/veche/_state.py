"""An optimizer's state as flat arrays, which checkpoints and other members of a run can copy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

Piece = tuple[int, int]  # begin and end in the flat vector


def like(optimizer: torch.optim.Optimizer, parameters: dict[int, torch.Tensor]) -> torch.optim.Optimizer:
    """An optimizer of the same class and options over other tensors: `parameters` has them by the
    id of the original. Its state is empty."""
    cls = getattr(optimizer, "_veche_class", type(optimizer))
    made: torch.optim.Optimizer = cls.__new__(cls)
    made.__dict__.update({k: v for k, v in optimizer.__dict__.items() if k not in _OURS})
    made.__dict__.pop("step", None)  # a scheduler's counter of the original
    made.state = type(optimizer.state)(dict)
    made.param_groups = [
        {**group, "params": [parameters[id(p)] for p in group["params"] if id(p) in parameters]}
        for group in optimizer.param_groups
    ]
    return made


_OURS = ("_veche_class", "_veche")


class Layout:
    """Which state an optimizer keeps for each parameter, found by a step of a copy of it."""

    def __init__(self, optimizer: torch.optim.Optimizer, parameters: list[torch.Tensor]):
        probes = {}
        for p in parameters:
            probe = torch.zeros_like(p, requires_grad=True)
            probe.grad = torch.zeros_like(p)
            probes[id(p)] = probe
        trial = copy_of_groups(like(optimizer, probes))
        trial.step()
        self.tensors: dict[str, None] = {}  # as large as their parameter; ordered
        self.numbers: dict[str, None] = {}
        for p in parameters:
            for key, value in trial.state.get(probes[id(p)], {}).items():
                if isinstance(value, torch.Tensor) and value.numel() == p.numel() and value.dim():
                    self.tensors[key] = None
                elif isinstance(value, (int, float, torch.Tensor)) and np.size(value) == 1:
                    self.numbers[key] = None
                elif value is not None:
                    raise TypeError(
                        f"the state '{key}' of {type(optimizer).__name__} is neither a tensor like its "
                        "parameter nor a number: Veche cannot save it; use another optimizer"
                    )


def copy_of_groups(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Lets the optimizer change its groups without changing those that it was made from."""
    optimizer.param_groups = [
        {k: v if k == "params" else copy.deepcopy(v) for k, v in group.items()}
        for group in optimizer.param_groups
    ]
    return optimizer


class FlatState:
    """Arrays that hold the state of tensors laid one after the other. The optimizer works on views
    of them, so they are always up to date."""

    def __init__(self, layout: Layout, tensors: list[torch.Tensor], offsets: list[int], length: int):
        self._tensors, self._offsets = tensors, offsets
        self.vectors = {key: np.zeros(length, np.float32) for key in layout.tensors}
        self.numbers = {key: np.zeros(len(tensors), np.float32) for key in layout.numbers}
        self._views: dict[tuple[int, str], torch.Tensor] = {}
        for i, (tensor, offset) in enumerate(zip(tensors, offsets)):
            for key, vector in self.vectors.items():
                self._views[i, key] = view_of(torch.from_numpy(vector), tensor, offset)
            for key, numbers in self.numbers.items():
                self._views[i, key] = torch.from_numpy(numbers)[i]

    def arrays(self) -> list[np.ndarray]:
        return [*self.vectors.values(), *self.numbers.values()]

    def install(self, state: dict[Any, dict[str, Any]]) -> None:
        """Gives the optimizer what the arrays hold, as after reading a checkpoint."""
        for i, tensor in enumerate(self._tensors):
            state[tensor] = {key: self._views[i, key] for key in (*self.vectors, *self.numbers)}

    def adopt(self, state: dict[Any, dict[str, Any]]) -> None:
        """After a step: takes over what the optimizer has made anew."""
        for i, tensor in enumerate(self._tensors):
            mine = state.get(tensor)
            if not mine:
                continue
            for key, value in mine.items():
                view = self._views.get((i, key))
                if view is None or value is view or value is None:
                    continue
                if isinstance(value, torch.Tensor):
                    view.copy_(value)
                    mine[key] = view
                else:  # a plain number, which the optimizer replaces in every step
                    self.numbers[key][i] = value

    def plain_numbers(self, state: dict[Any, dict[str, Any]]) -> None:
        """Before a step: plain numbers are taken from the arrays."""
        for key, numbers in self.numbers.items():
            for i, tensor in enumerate(self._tensors):
                mine = state.get(tensor)
                if mine and isinstance(mine.get(key), (int, float)):
                    mine[key] = type(mine[key])(numbers[i])


def view_of(flat: torch.Tensor, like_this: torch.Tensor, offset: int) -> torch.Tensor:
    """The part of a flat vector that holds a tensor, with its shape and, if it is dense, its strides."""
    length = like_this.numel()
    part = flat[offset : offset + length]
    if is_dense(like_this):
        return part.as_strided(like_this.size(), like_this.stride(), part.storage_offset())
    return part.view(like_this.size())


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill a piece of memory without gaps and overlaps, in any order."""
    expected = 1
    for stride, side in sorted((s, n) for s, n in zip(tensor.stride(), tensor.size()) if n != 1):
        if stride != expected:
            return False
        expected *= side
    return True
