"""Gradients that are sent while the backward pass still computes others."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from veche import _session
from veche._veche import RequestError

_LEAVE_OUT = "leave overlap=True out"


class Overlap:
    """Hooks that tell the run which gradients are final.

    A gradient is final when as many backward passes have added to it as in the step before; in the
    first step nothing is told. What is told cannot be changed any more, so a change is an error, also
    in the first step.
    """

    def __init__(self, loop: Any, tensors: list[torch.Tensor], views: list[torch.Tensor], offsets: list[int]):
        self.loop, self.tensors, self.views = loop, tensors, views
        self.parts = [(begin, begin + tensor.numel()) for begin, tensor in zip(offsets, tensors)]
        self.told = [False] * len(tensors)
        self._passes, self._expected = [0] * len(tensors), [0] * len(tensors)
        self._seen: list[tuple[torch.Tensor, int] | None] = [None] * len(tensors)  # and its version
        self._nodes: list[Any] = []  # of autograd, which lives as long as somebody holds it
        for i, tensor in enumerate(tensors):
            if not tensor.requires_grad:
                continue
            hook = _hook(weakref.ref(self), i)
            if hasattr(tensor, "register_post_accumulate_grad_hook"):
                tensor.register_post_accumulate_grad_hook(hook)
                continue
            with torch.enable_grad():
                node = tensor.expand_as(tensor).grad_fn.next_functions[0][0]
            node.register_hook(hook)
            self._nodes.append(node)

    def added(self, i: int) -> None:
        """A backward pass has added to gradient i."""
        if not _session.is_under_way(self.loop):
            return
        if self.told[i]:
            raise RequestError(
                "a backward pass adds to a gradient that overlap=True has sent already: make as many backward "
                f"passes before each optimizer.step() as before the last one, or {_LEAVE_OUT}"
            )
        gradient: Any = self.tensors[i].grad
        self._passes[i] += 1
        if self._passes[i] == self._expected[i] and gradient.layout == torch.strided:
            if gradient is not self.views[i]:
                with torch.no_grad():
                    self.views[i].copy_(gradient)
            self.told[i] = True
            self.loop.report(*self.parts[i])
        self._seen[i] = gradient, gradient._version

    def check_unchanged(self) -> None:
        """Before a step: what was told must be what the step is to be made with."""
        for seen, tensor in zip(self._seen, self.tensors):
            if seen is not None and (tensor.grad is not seen[0] or seen[0]._version != seen[1]):
                raise RequestError(
                    "a gradient was changed between backward() and optimizer.step(), as by clipping, and "
                    'overlap=True sends it before: bound its norm by set={"optimizer.clip": 1.0}, or ' + _LEAVE_OUT
                )

    def after_step(self) -> None:
        count = len(self.tensors)
        self._expected, self._passes = self._passes, [0] * count
        self._seen, self.told = [None] * count, [False] * count


def _hook(overlap: Any, i: int) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        here = overlap()
        if here is not None:
            here.added(i)

    return hook


def refuse(what: str) -> None:
    raise RequestError(f"{what}, and overlap=True sends them before: {_LEAVE_OUT}")


__all__ = ["Overlap", "refuse"]
