"""What a task measures, as the library declares it, and how people see it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional

from veche import _veche

if TYPE_CHECKING:
    from veche._veche import MeasureFacts


def task_of(summary: dict[str, Any]) -> str:
    """The task of a summary, or of a line of metrics.jsonl or compare.json."""
    return str(summary.get("task", "classification"))


def main_measure(summary: dict[str, Any]) -> MeasureFacts:
    """The measure by which models of the run's task are compared."""
    return _veche.measures(task_of(summary))[0]


def _decimals(value: float) -> int:
    """After the point, for three significant digits."""
    rounded = abs(float(f"{value:.3g}"))
    return max(0, 2 - math.floor(math.log10(rounded))) if rounded > 0 else 0


def shown(measure: MeasureFacts, value: Optional[float], deviation: Optional[float] = None) -> str:
    """A value for people, such as "97.3 %" or "5.13 ± 0.02", with the digits of reports and of the terminal."""
    if value is None:  # infinite: JSON has no word for it
        return "inf"
    share = bool(measure["unit"])
    scale, decimals = (100, measure["digits"]) if share else (1, _decimals(value))
    text = f"{scale * value:,.{decimals}f}" if share else f"{float(f'{value:.3g}'):,.{decimals}f}"
    if deviation is not None:
        text += f" ± {scale * deviation:,.{decimals}f}"
    return f"{text} {measure['unit']}" if share else text


def things_of(task: str) -> str:
    """What a run of the task counts per second."""
    return "tokens" if task == "language" else "samples"
