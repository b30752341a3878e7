"""A script's learning-rate schedule follows the steps of the run, where those are not the loop's calls."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch

from veche._veche import RequestError


class Schedule:
    """The loop calls schedule.step() after each optimizer.step(). A run that is resumed or joined
    has made steps without it; on the grid others may have made steps meanwhile, and a gradient may
    be lost when members come or go."""

    def __init__(self, schedule: Any, optimizer: torch.optim.Optimizer):
        if not hasattr(schedule, "last_epoch") or not callable(getattr(schedule, "step", None)):
            raise TypeError(f"scheduler must be a learning-rate schedule of torch, not {type(schedule).__name__}")
        if isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise TypeError(
                "ReduceLROnPlateau depends on what was measured and not on the step: "
                "leave scheduler out, and save its state_dict yourself"
            )
        if schedule.optimizer is not optimizer:
            raise RequestError("this scheduler belongs to another optimizer")
        self._schedule: Any = schedule
        self._optimizer: Any = optimizer
        self._too_early: tuple[Any, list[Any]] | None = None

    def begin(self, steps: int) -> None:
        """The run has made these steps."""
        self._optimizer._step_count = max(getattr(self._optimizer, "_step_count", 0), steps)
        self._optimizer._opt_called = True
        self._advance(steps)

    def before_step(self) -> None:
        if self._too_early is None:
            return
        state, rates = self._too_early
        self._too_early = None
        self._schedule.load_state_dict(state)
        for group, rate in zip(self._optimizer.param_groups, rates):
            group["lr"] = rate

    def after_step(self, made: int) -> None:
        """`made`: steps of the run in this call of optimizer.step()."""
        if made == 0:  # the loop will call schedule.step() for it nevertheless
            rates = [group["lr"] for group in self._optimizer.param_groups]
            self._too_early = copy.deepcopy(self._schedule.state_dict()), rates
        self._advance(made - 1)

    def _advance(self, steps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the steps were shown when they were made
            for _ in range(steps):
                self._schedule.step()
