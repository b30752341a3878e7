"""All that Veche asks of a GPU. Devices without streams, such as mps and the host itself, copy at once."""

from __future__ import annotations

from collections.abc import Iterable

import torch


def host_memory(length: int, devices: Iterable[torch.device]) -> torch.Tensor:
    """Floats of the host that the devices can copy while the host goes on."""
    return torch.empty(length, pin_memory=any(device.type == "cuda" for device in devices))


def copy(into: torch.Tensor, source: torch.Tensor) -> torch.cuda.Event | None:
    """Begins a copy between the host and a device, after all that was begun on the device before.
    Returns the event to `wait` for; None: the copy is complete."""
    device = source.device if into.device.type == "cpu" else into.device
    if device.type != "cuda":
        into.copy_(source)
        return None
    into.copy_(source, non_blocking=True)
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event


def wait(event: torch.cuda.Event | None) -> None:
    if event is not None:
        event.synchronize()
