"""An optimizer's state as flat arrays, which checkpoints and other members of a run can copy."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
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
        self.keys = [k for k in kinds if k in samples or k in self.tensors]  # in the optimizer's order


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
    """Arrays that hold the state of tensors laid one after the other. Where the optimizer allows it
    works on views of them. What it keeps elsewhere, as on a GPU, in another type or as plain numbers,
    is copied when the run reads the arrays, and not in every step."""

    def __init__(
        self,
        layout: Layout,
        tensors: list[torch.Tensor],
        offsets: list[int],
        length: int,
        staging: Callable[[], Any] = lambda: None,
    ):
        self._tensors, self._layout, self._staging = tensors, layout, staging
        self.vectors = {key: np.zeros(length, np.float32) for key in layout.tensors}
        self.numbers = {key: np.zeros(len(tensors), np.float32) for key in layout.numbers}
        self._views: dict[tuple[int, str], torch.Tensor] = {}
        for i, (tensor, offset) in enumerate(zip(tensors, offsets)):
            for key, vector in self.vectors.items():
                self._views[i, key] = view_of(torch.from_numpy(vector), tensor, offset)
            for key, numbers in self.numbers.items():
                self._views[i, key] = torch.from_numpy(numbers)[i]
        self._begin()

    def _begin(self) -> None:
        # What the optimizer had after the last step: its dictionaries, and which views are in them.
        self._state: dict[Any, dict[str, Any]] = {}
        self._seen: list[dict[str, Any]] = []
        self._places: list[dict[str, Any]] = []
        self._keys: list[str] = []
        self._views_in_place: list[torch.Tensor] = []
        self._copied = True  # the arrays hold all of it
        self._lent = True  # others may have changed them since
        self.is_apart = False  # whether the optimizer keeps anything elsewhere
        self._apart: dict[str, dict[int, Any]] = {}  # what was copied last: by key and tensor

    def arrays(self) -> list[np.ndarray]:
        return [*self.vectors.values(), *self.numbers.values()]

    def of(self, tensors: list[torch.Tensor]) -> FlatState:
        """The same arrays, for tensors of the same shapes in the host's memory."""
        other = copy.copy(self)
        other._tensors, other._staging = tensors, lambda: None
        other._begin()
        return other

    def is_empty(self) -> bool:
        """Whether nothing was written yet."""
        return not any(array.any() for array in self.arrays())

    def install(self, state: dict[Any, dict[str, Any]]) -> None:
        """Gives the optimizer what the arrays hold, as after reading a checkpoint."""
        for i, tensor in enumerate(self._tensors):
            for key in self._layout.keys:
                view, example = self._views[i, key], self._layout.numbers.get(key, tensor)
                if isinstance(example, torch.Tensor):
                    state[tensor][key] = self._as_state(view, example)
                else:
                    state[tensor][key] = type(example)(float(view))

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

    def after_step(self, state: dict[Any, dict[str, Any]]) -> None:
        """Puts views in the place of what the optimizer has made anew."""
        self._state, self._copied = state, False
        now = list(state.values())
        if are(now, self._seen) and are(list(map(_get, self._places, self._keys)), self._views_in_place):
            return
        self._seen, self._places, self._keys, self._views_in_place = now, [], [], []
        self.is_apart = False
        for i, tensor in enumerate(self._tensors):
            for key, value in (state.get(tensor) or {}).items():
                view = self._views.get((i, key))
                if view is None or value is None:
                    continue
                if value is not view:
                    if not isinstance(value, torch.Tensor) or not fits(view, value):
                        self.is_apart = True
                        continue
                    view.copy_(value)
                    state[tensor][key] = view
                self._places.append(state[tensor])
                self._keys.append(key)
                self._views_in_place.append(view)

    def lend(self) -> None:
        """Brings the arrays up to date. Until the next step others may change them, too."""
        self._lent = True
        if self._copied:
            return
        self._copied = True
        self._apart = {key: self._found_apart(key) for key in (*self.vectors, *self.numbers)}
        for key, vector in self.vectors.items():
            self._fetch(key, torch.from_numpy(vector))
        for key, numbers in self.numbers.items():
            for i, value in self._apart[key].items():
                numbers[i] = float(value)

    def before_step(self, state: dict[Any, dict[str, Any]]) -> None:
        """Hands over what others have written into the arrays since they were lent, as a run does that
        mixes the state or takes over that of another member."""
        if not self._lent:
            return
        self._lent = False
        if not state and not self.is_empty():  # a newcomer, before its first step
            self.install(state)
            return
        for key, vector in self.vectors.items():
            if self._apart.get(key):
                self._put(key, torch.from_numpy(vector), state)
        for key in self.numbers:
            for i, value in self._apart.get(key, {}).items():
                mine, now = state.get(self._tensors[i]), float(self._views[i, key])
                if mine is None or mine.get(key) is not value or now == np.float32(float(value)):
                    continue
                mine[key] = value.fill_(now) if isinstance(value, torch.Tensor) else type(value)(now)

    def _found_apart(self, key: str) -> dict[int, Any]:
        found = {}
        for i, tensor in enumerate(self._tensors):
            value = self._state.get(tensor, _NOTHING).get(key)
            if value is not None and value is not self._views[i, key]:
                found[i] = value
        return found

    def _fetch(self, key: str, vector: torch.Tensor) -> None:
        apart = self._apart[key]
        staging = self._staging() if apart else None
        if staging is not None:
            staging.fetch([self._state.get(tensor, _NOTHING).get(key) for tensor in self._tensors], vector)
            return
        for i, value in apart.items():
            self._views[i, key].copy_(value.reshape(self._views[i, key].shape))

    def _put(self, key: str, vector: torch.Tensor, state: dict[Any, dict[str, Any]]) -> None:
        # Not into what the user has put in its place.
        targets = {i: t for i, t in self._apart[key].items() if state.get(self._tensors[i], _NOTHING).get(key) is t}
        staging = self._staging()
        if staging is not None:
            staging.put(vector, [targets.get(i) for i in range(len(self._tensors))])
            return
        for i, target in targets.items():
            target.copy_(self._views[i, key].reshape(target.shape))


_NOTHING: dict[str, Any] = {}
_get = dict.get  # `map` of it costs a third of a loop


def are(values: list[Any], others: list[Any]) -> bool:
    """Whether they are the same objects."""
    return len(values) == len(others) and all(map(operator.is_, values, others))


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
