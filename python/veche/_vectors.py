"""Parameters and buffers of a model in the flat vectors of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from veche._staging import Staging
from veche._state import is_dense, view_of
from veche._veche import RequestError, TensorLayout


class Vector:
    """Tensors and their places in one flat vector."""

    def __init__(self, named: Iterable[tuple[str, torch.Tensor]], stage: bool | None):
        self.names, self.tensors, self.offsets, self.layout = [], [], [], []
        end = 0
        for tensor_name, tensor in named:
            if tensor.layout != torch.strided:
                raise TypeError(f"'{tensor_name}' is sparse; make it dense with .to_dense()")
            if tensor.device.type == "meta":
                raise TypeError(f"'{tensor_name}' is on the device meta and has no numbers: move the model to cpu or a GPU")
            self.names.append(tensor_name)
            self.tensors.append(tensor)
            self.offsets.append(end)
            strides = tensor.stride() if is_dense(tensor) else torch.empty(tensor.size()).stride()
            self.layout.append(TensorLayout(tensor_name, list(tensor.size()), list(strides), end))
            end += tensor.numel()
        self.length = end
        # None: the tensors become views of the flat vector.
        staged = bool(stage) or _must_be_staged(self.tensors)
        self.staging = Staging(self.tensors) if staged else None

    def bind(self, flat: torch.Tensor) -> None:
        """Copies the tensors into the flat vector; then they are views of it, unless staged."""
        self.flat = flat
        if self.staging is not None:
            self.staging.fetch(self.tensors, flat)
            return
        views = self.views_over(flat)
        with torch.no_grad():
            for tensor, view in zip(self.tensors, views):
                view.copy_(tensor)
                tensor.data = view
        self.addresses = [view.data_ptr() for view in views]

    def views_over(self, flat: torch.Tensor) -> list[torch.Tensor]:
        return [view_of(flat, t, offset) for t, offset in zip(self.tensors, self.offsets)]

    def write(self) -> None:
        """What others may have changed in the tensors, into the flat vector; nothing for views of it."""
        if self.staging is not None:
            self.staging.fetch(self.tensors, self.flat)

    def read(self) -> None:
        if self.staging is not None:
            self.staging.put(self.flat, self.tensors)

    def check_unmoved(self) -> None:
        if list(map(_data_ptr, self.tensors)) == self.addresses:
            return
        for i, (tensor, address) in enumerate(zip(self.tensors, self.addresses)):
            if tensor.data_ptr() != address:
                raise RequestError(
                    f"'{self.names[i]}' was replaced after veche.Optimizer was made: change it in place, "
                    "as by load_state_dict, or make the optimizer after the model is complete"
                )


_data_ptr = torch.Tensor.data_ptr  # `map` of it costs a third of a loop


def _must_be_staged(tensors: list[torch.Tensor]) -> bool:
    """Tensors elsewhere than in the host's memory, of another type, or over shared memory."""
    spans = []
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.dtype != torch.float32 or not is_dense(tensor):
            return True
        if tensor.numel():
            spans.append((tensor.data_ptr(), tensor.data_ptr() + 4 * tensor.numel()))
    spans.sort()
    return any(begin < before[1] for before, (begin, _) in zip(spans, spans[1:]))


class Buffers:
    """Buffers of a model: floats as `Vector` has them, and counters, which are copied."""

    def __init__(self, model: Any, stage: bool | None):
        # Integers are left alone, as they are indices and masks, but for counters.
        named = [
            (name, b)
            for name, b in (model.named_buffers() if model is not None else ())
            if b.dtype.is_floating_point or (b.dtype == torch.int64 and b.numel() == 1)
        ]
        self.floats = Vector(((name, b) for name, b in named if b.dtype.is_floating_point), stage)
        self.counters = Vector(((name, b) for name, b in named if not b.dtype.is_floating_point), True)
        self.length = self.floats.length + self.counters.length
        shifted = [
            TensorLayout(name, list(b.size()), list(b.stride()), self.floats.length + offset)
            for name, b, offset in zip(self.counters.names, self.counters.tensors, self.counters.offsets)
        ]
        self.layout = [*self.floats.layout, *shifted]
        # Counters of the host become views of one vector, which is copied in one call.
        self.counts: torch.Tensor | None = None

    def bind(self, flat: torch.Tensor) -> None:
        self.floats.bind(flat[: self.floats.length])
        self.flat_counters = flat[self.floats.length :]
        self.counters.bind(self.flat_counters)
        tensors = self.counters.tensors
        if tensors and all(c.device.type == "cpu" for c in tensors):
            self.counts = torch.stack([c.reshape(()) for c in tensors])
            for counter, view in zip(tensors, self.counts):
                counter.data = view.data.reshape(counter.shape)

    def write(self) -> None:
        if self.counts is not None:
            self.flat_counters.copy_(self.counts)
        elif self.counters.tensors:
            self.flat_counters.copy_(torch.stack([c.reshape(()) for c in self.counters.tensors]))
        self.floats.write()

    def read(self) -> None:
        self.counters.read()
        self.floats.read()


def dense(gradient: torch.Tensor | None) -> Any:
    if gradient is not None and gradient.layout != torch.strided:
        raise TypeError("a gradient is sparse: make the embedding with sparse=False, or use SGD on it alone")
    return gradient


def gradients_of(parameters: list[torch.Tensor]) -> list[torch.Tensor]:
    """Their gradients, to write into."""
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    return [p.grad for p in parameters if p.grad is not None]
