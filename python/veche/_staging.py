"""Copies between tensors on any device and a flat vector of the host, in pieces through one pinned
buffer: while the host copies a piece, the device gathers and sends the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from veche import _devices
from veche._state import is_dense, view_of

PIECE = 1 << 20  # floats; 4 MB take a bus long enough to reach its full speed
SLOTS = 2  # halves of the buffer: one that the device fills, one that the host reads


class _Span(NamedTuple):
    """Elements of a tensor in the order of its memory, and where they are in the piece."""

    number: int  # of the tensor
    begin: int
    end: int
    at: int


class _Piece(NamedTuple):
    begin: int  # in the flat vector
    end: int
    device: torch.device
    spans: list[_Span]


class Staging:
    """The tensors are laid one after the other in the flat vector. One thread at a time."""

    def __init__(self, tensors: Sequence[torch.Tensor], piece: int | None = None, devices: Any = _devices):
        self._tensors, self._devices = list(tensors), devices
        self.pieces = _cut(self._tensors, piece or PIECE)
        parts = [span for each in self.pieces for span in each.spans]
        self._is_cut = {s.number for s in parts if s.end - s.begin < self._tensors[s.number].numel()}
        longest = max((each.end - each.begin for each in self.pieces), default=0)
        used = {each.device for each in self.pieces}
        self._host = devices.host_memory(SLOTS * longest, used).view(SLOTS, longest)
        self._there = {device: torch.empty(SLOTS, longest, device=device) for device in used}
        self._under_way: list[Any] = [None] * SLOTS

    def fetch(self, sources: Sequence[torch.Tensor | None], flat: torch.Tensor) -> None:
        """Fills the flat vector from tensors of the same shapes; None counts as zeros."""
        with torch.no_grad():
            sources = [self._in_order(i, s) if s is not None else s for i, s in enumerate(sources)]
            before = None
            for k, piece in enumerate(self.pieces):
                there, host = self._slot(k, piece)
                for span in piece.spans:
                    source = sources[span.number]
                    if source is None:
                        there[span.at : span.at + span.end - span.begin].zero_()
                    else:
                        self._inside(span, there).copy_(self._part(span, source))
                self._begin(k, host, there)
                if before is not None:
                    self._receive(*before, flat)
                before = k, piece
            if before is not None:
                self._receive(*before, flat)

    def put(self, flat: torch.Tensor, targets: Sequence[torch.Tensor | None]) -> None:
        """Fills tensors of the same shapes from the flat vector; None is left out. Integers are rounded."""
        with torch.no_grad():
            ordered = [self._in_order(i, t, copies=False) if t is not None else t for i, t in enumerate(targets)]
            for k, piece in enumerate(self.pieces):
                if all(ordered[span.number] is None for span in piece.spans):
                    continue
                there, host = self._slot(k, piece)
                host.copy_(flat[piece.begin : piece.end])
                self._begin(k, there, host)
                for span in piece.spans:
                    into = ordered[span.number]
                    if into is None:
                        continue
                    part, into = self._inside(span, there), self._part(span, into)
                    into.copy_(part if into.dtype.is_floating_point else part.round())
            for target, filled in zip(targets, ordered):
                if target is not None and filled is not None and filled is not target:
                    target.copy_(filled)

    def _slot(self, k: int, piece: _Piece) -> tuple[torch.Tensor, torch.Tensor]:
        """The device's memory and the host's for piece k, when the last copy of that slot has ended."""
        self._wait(k)
        length = piece.end - piece.begin
        return self._there[piece.device][k % SLOTS][:length], self._host[k % SLOTS][:length]

    def _begin(self, k: int, into: torch.Tensor, source: torch.Tensor) -> None:
        self._under_way[k % SLOTS] = self._devices.copy(into, source)

    def _wait(self, k: int) -> None:
        self._devices.wait(self._under_way[k % SLOTS])
        self._under_way[k % SLOTS] = None

    def _receive(self, k: int, piece: _Piece, flat: torch.Tensor) -> None:
        self._wait(k)
        flat[piece.begin : piece.end].copy_(self._host[k % SLOTS][: piece.end - piece.begin])

    def _inside(self, span: _Span, memory: torch.Tensor) -> torch.Tensor:
        if span.number in self._is_cut:
            return memory[span.at : span.at + span.end - span.begin]
        return view_of(memory, self._tensors[span.number], span.at)

    def _part(self, span: _Span, tensor: torch.Tensor) -> torch.Tensor:
        if span.number not in self._is_cut:
            return tensor
        return tensor.as_strided((span.end - span.begin,), (1,), tensor.storage_offset() + span.begin)

    def _in_order(self, i: int, tensor: torch.Tensor, copies: bool = True) -> torch.Tensor:
        """The tensor, or one whose memory is in the same order as that of the tensor which it stands
        for: pieces of a gradient with other strides are elsewhere."""
        model = self._tensors[i]
        if i not in self._is_cut or tensor.stride() == model.stride():
            return tensor
        ordered = torch.empty_strided(model.size(), model.stride(), dtype=tensor.dtype, device=tensor.device)
        return ordered.copy_(tensor) if copies else ordered


def _cut(tensors: Sequence[torch.Tensor], piece: int) -> list[_Piece]:
    """Pieces of one device each. A tensor with gaps is not cut."""
    pieces: list[_Piece] = []
    begin = at = 0
    spans: list[_Span] = []
    device: torch.device | None = None

    def close() -> None:
        nonlocal begin, at, spans
        if spans:
            assert device is not None
            pieces.append(_Piece(begin, begin + at, device, spans))
            begin, at, spans = begin + at, 0, []

    for i, tensor in enumerate(tensors):
        if tensor.device != device or (not is_dense(tensor) and at + tensor.numel() > piece):
            close()
            device = tensor.device
        done, length = 0, tensor.numel()
        while done < length:
            if at >= piece:
                close()
            count = min(length - done, piece - at) if is_dense(tensor) else length
            spans.append(_Span(i, done, done + count, at))
            done, at = done + count, at + count
    close()
    return pieces
