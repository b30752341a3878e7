"""What a task measures, as the library declares it, and how people see it."""

from __future__ import annotations

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


def shown(measure: MeasureFacts, value: Optional[float], deviation: Optional[float] = None) -> str:
    """A value for people, such as "97.31 %" or "5.127 ± 0.020"."""
    scale = 100 if measure["unit"] == "%" else 1
    if value is None:  # infinite: JSON has no word for it
        return "inf"
    text = f"{scale * value:.{measure['digits']}f}"
    if deviation is not None:
        text += f" ± {scale * deviation:.{measure['digits']}f}"
    return f"{text} {measure['unit']}" if measure["unit"] else text


def things_of(task: str) -> str:
    """What a run of the task counts per second."""
    return "tokens" if task == "language" else "samples"
