"""An optimizer's state as flat arrays, which checkpoints and other members of a run can copy."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import torch

Piece = tuple[int, int]  # begin and end in the flat vector


def like(optimizer: torch.optim.Optimizer, parameters: dict[int, torch.Tensor]) -> torch.optim.Optimizer:
    """An optimizer of the same class and options over other tensors: `parameters` has them by the
    id of the original. Its state is empty."""
    cls: Any = getattr(optimizer, "_veche_class", type(optimizer))
    made: torch.optim.Optimizer = cls.__new__(cls)
    made.__dict__.update({k: v for k, v in optimizer.__dict__.items() if k not in _OURS})
    made.__dict__.pop("step", None)  # a scheduler's counter of the original
    for key, value in made.__dict__.items():
        if key.startswith("_optimizer_") and key.endswith("_hooks"):  # the user's, for the original
            made.__dict__[key] = type(value)()
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
        name = getattr(optimizer, "_veche_class", type(optimizer)).__name__
        probes = {}
        for p in parameters:
            probe = torch.zeros_like(p, requires_grad=True)
            probe.grad = torch.zeros_like(p)
            probes[id(p)] = probe
        trial = copy_of_groups(like(optimizer, probes))
        try:
            trial.step()
        except Exception as error:
            raise TypeError(
                f"{name} cannot make a step with given gradients ({error}), and nodes exchange only those: "
                "use another optimizer"
            ) from error
        kinds: dict[str, set[str]] = {}  # ordered
        samples: dict[str, Any] = {}
        for p in parameters:
            for key, value in trial.state.get(probes[id(p)], {}).items():
                kind = _kind(value, p)
                kinds.setdefault(key, set()).add(kind)
                if kind == "number":
                    samples[key] = value
        for key, found in kinds.items():
            if "other" in found or {"tensor", "number"} <= found:
                raise TypeError(
                    f"the state '{key}' of {name} is neither a tensor like its parameter nor a number: "
                    "Veche cannot save it; use another optimizer"
                )
        # Numbers, each with an example of its kind; all else is as large as its parameter.
        self.numbers = samples
        self.tensors = [k for k, found in kinds.items() if k not in samples and found != {"nothing"}]


def _kind(value: Any, p: torch.Tensor) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, torch.Tensor) and value.shape == p.shape:
        return "tensor" if p.dim() else "both"
    if isinstance(value, (int, float)) or (isinstance(value, torch.Tensor) and value.numel() == 1):
        return "number"
    return "other"


def copy_of_groups(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Lets the optimizer change its groups without changing those that it was made from."""
    optimizer.param_groups = [
        {k: v if k == "params" else copy.deepcopy(v) for k, v in group.items()}
        for group in optimizer.param_groups
    ]
    return optimizer


class FlatState:
    """Arrays that hold the state of tensors laid one after the other, after each step. Where the
    optimizer allows it works on views of them, so nothing is copied."""

    def __init__(self, layout: Layout, tensors: list[torch.Tensor], offsets: list[int], length: int):
        self._tensors, self._samples = tensors, layout.numbers
        self.vectors = {key: np.zeros(length, np.float32) for key in layout.tensors}
        self.numbers = {key: np.zeros(len(tensors), np.float32) for key in layout.numbers}
        self._views: dict[tuple[int, str], torch.Tensor] = {}
        for i, (tensor, offset) in enumerate(zip(tensors, offsets)):
            for key, vector in self.vectors.items():
                self._views[i, key] = view_of(torch.from_numpy(vector), tensor, offset)
            for key, numbers in self.numbers.items():
                self._views[i, key] = torch.from_numpy(numbers)[i]
        # What the optimizer had after the last step: its dictionaries, and which views are in them.
        self._seen: list[dict[str, Any]] = []
        self._in_place: list[tuple[dict[str, Any], str]] = []
        self._views_in_place: list[torch.Tensor] = []
        self._plain: dict[tuple[int, str], Any] = {}  # plain numbers as the optimizer left them

    def arrays(self) -> list[np.ndarray]:
        return [*self.vectors.values(), *self.numbers.values()]

    def of(self, tensors: list[torch.Tensor]) -> FlatState:
        """The same arrays, for other tensors of the same shapes."""
        other = copy.copy(self)
        other._tensors, other._plain, other._seen = tensors, {}, []
        other._in_place, other._views_in_place = [], []
        return other

    def is_empty(self) -> bool:
        """Whether nothing was written yet."""
        return not any(array.any() for array in self.arrays())

    def install(self, state: dict[Any, dict[str, Any]]) -> None:
        """Gives the optimizer what the arrays hold, as after reading a checkpoint."""
        for i, tensor in enumerate(self._tensors):
            mine = state[tensor]
            for key in self.vectors:
                mine[key] = self._as_state(self._views[i, key], tensor)
            for key, example in self._samples.items():
                if isinstance(example, torch.Tensor):
                    mine[key] = self._as_state(self._views[i, key], example)
                else:
                    mine[key] = type(example)(float(self._views[i, key]))
                    self._plain[i, key] = mine[key]

    def take(self, i: int, state: dict[str, Any], begin: int, like_this: torch.Tensor) -> None:
        """Copies a given state of a parameter; tensor i is the part of it that begins there."""
        for key, value in state.items():
            view = self._views.get((i, key))
            if view is None or value is None:
                continue
            if key in self.vectors and view.numel():
                whole = torch.empty(like_this.numel())
                view_of(whole, like_this, 0).copy_(value)
                mine = torch.from_numpy(self.vectors[key])
                at = view.storage_offset()
                mine[at : at + view.numel()] = whole[begin : begin + view.numel()]
            elif key in self.numbers:
                self.numbers[key][i] = float(value)

    @staticmethod
    def _as_state(view: torch.Tensor, like_this: torch.Tensor) -> torch.Tensor:
        if fits(view, like_this):
            return view
        return view.to(like_this.device, like_this.dtype).reshape(like_this.shape)

    def before_step(self, state: dict[Any, dict[str, Any]]) -> None:
        """Hands over what others have written into the arrays since the last step, as a run does
        that mixes the state or takes over that of another member."""
        for (i, key), view in self._views.items():
            mine = state.get(self._tensors[i])
            value = mine.get(key) if mine else None
            if value is None or value is view:
                continue
            seen = self._plain.get((i, key))
            if isinstance(value, torch.Tensor):
                if seen is value:
                    value.copy_(view.reshape(value.shape))
            elif seen is not None and seen == value and float(view) != np.float32(seen):
                assert mine is not None
                mine[key] = type(value)(float(view))

    def after_step(self, state: dict[Any, dict[str, Any]]) -> None:
        """Takes over what the optimizer has made anew."""
        now = list(state.values())
        if len(now) == len(self._seen) and all(map(operator.is_, now, self._seen)):
            found = [mine.get(key) for mine, key in self._in_place]
            if not self._plain and all(map(operator.is_, found, self._views_in_place)):
                return
        self._seen, self._in_place, self._views_in_place = now, [], []
        for i, tensor in enumerate(self._tensors):
            mine = state.get(tensor)
            if not mine:
                continue
            for key, value in mine.items():
                view = self._views.get((i, key))
                if view is None or value is None:
                    continue
                if value is view:
                    self._in_place.append((mine, key))
                    self._views_in_place.append(view)
                elif not isinstance(value, torch.Tensor):
                    self.numbers[key][i] = value
                    self._plain[i, key] = value
                else:
                    view.copy_(value.reshape(view.shape))
                    if fits(view, value):
                        mine[key] = view
                        self._in_place.append((mine, key))
                        self._views_in_place.append(view)
                    else:
                        self._plain[i, key] = value


def fits(view: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether the view can take the place of the tensor."""
    return view.dtype == tensor.dtype and view.device == tensor.device and view.shape == tensor.shape


def view_of(flat: torch.Tensor, like_this: torch.Tensor, offset: int) -> torch.Tensor:
    """The part of a flat vector that holds a tensor, with its shape and, if it is dense, its strides."""
    length = like_this.numel()
    part = flat[offset : offset + length]
    if is_dense(like_this):
        part = part.as_strided(like_this.size(), like_this.stride(), part.storage_offset())
    else:
        part = part.view(like_this.size())
    return part.data  # autograd need not track it as a view, which costs in every operation


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill a piece of memory without gaps and overlaps, in any order."""
    expected = 1
    for stride, side in sorted((s, n) for s, n in zip(tensor.stride(), tensor.size()) if n != 1):
        if stride != expected:
            return False
        expected *= side
    return True
