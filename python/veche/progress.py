"""Progress of a run on standard error, as `veche train` shows it."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from veche.measures import main_measure, shown, things_of

if TYPE_CHECKING:
    from veche._veche import RunFacts

_CELLS, _FEWEST_CELLS = 24, 4
_BETWEEN_LINES = 10.0  # seconds, where no line can be drawn again
_NOTEBOOK_COLUMNS = 120


class Progress(NamedTuple):
    """A report about twice a second."""

    step: int
    steps: int
    epoch: float
    loss: Optional[float]
    """Of all nodes since the last report; None if nothing was measured."""
    targets_per_second: float
    """Samples; tokens of a text."""
    disagreement: float
    """The coefficient of variation of the nodes' parameters, estimated."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _can_draw_again() -> bool:
    import os

    try:
        terminal = sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False
    return terminal and os.environ.get("TERM", "") not in ("", "dumb")


def is_shown(progress: Optional[bool]) -> bool:
    """What `progress=` means where it is left out."""
    return progress if progress is not None else _can_draw_again() or in_notebook()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # a run does not depend on standard error
        pass


class ProgressLine:
    """A line that is drawn again in a terminal or notebook, and plain lines elsewhere."""

    def __init__(self, title: str = "", virtual: bool = False) -> None:
        self._title = title
        self._seconds = "virtual s" if virtual else "s"
        self._again = _can_draw_again() or in_notebook()
        self._width = 0  # of what is drawn now
        self._info: Optional[RunFacts] = None
        self._start = self._last = 0.0
        self._loss: Optional[float] = None

    def line(self, text: str) -> None:
        """A line that stays."""
        self.close()
        _write(text + "\n")

    def close(self) -> None:
        """Removes the line that is drawn."""
        if self._width:
            _write("\r" + " " * self._width + "\r")
        self._width = 0

    def on_start(self, info: RunFacts) -> None:
        self._info = info
        self._start = time.monotonic()
        self._last = self._start - _BETWEEN_LINES
        if self._title:
            self.line(self._title)
        self.line(f"{info['model']}: {info['parameters']:,} parameters" + (f" on {info['data']}" if info["data"] else ""))
        self.line(f"{info['nodes']} node{'s' * (info['nodes'] != 1)}, {info['strategy']}"
                  + (f" on {info['topology']}" if info["topology"] else ""))
        if info["first_step"]:
            self.line(f"resumed after step {info['first_step']} of {info['steps']}")

    def _where(self, step: int, epoch: float) -> str:
        assert self._info is not None
        all_epochs = self._info["epochs"]
        return f"epoch {epoch:.2f}/{all_epochs:.4g}" if all_epochs else f"step {step}/{self._info['steps']}"

    def on_progress(self, progress: Progress) -> None:
        if self._info is None:
            return
        if progress.loss is not None:
            self._loss = progress.loss if self._loss is None else 0.7 * self._loss + 0.3 * progress.loss
        now = time.monotonic()
        if not self._again and now - self._last < _BETWEEN_LINES:
            return
        self._last = now
        done, left = progress.step - self._info["first_step"], progress.steps - progress.step
        numbers = [f"loss {self._loss:.4f}"] if self._loss is not None else []
        things = things_of(self._info["task"]) if self._info["data"] else "steps"
        numbers += [f"{progress.targets_per_second:,.0f} {things}/{self._seconds}",
                    f"nodes differ {100 * progress.disagreement:.2f} %"]
        if done > 0:
            numbers.append(f"{_duration((now - self._start) / done * left)} left")
        before, after = self._where(progress.step, progress.epoch), "  ".join(numbers)
        if self._again:
            self._draw(before, progress.step / max(progress.steps, 1), after)
        else:
            self.line(f"{before}  {after}")

    def _draw(self, before: str, part: float, after: str) -> None:
        columns = _NOTEBOOK_COLUMNS if in_notebook() else shutil.get_terminal_size().columns - 1
        cells = min(_CELLS, columns - len(before) - len(after) - 2)
        full = round(min(max(part, 0.0), 1.0) * cells)
        bar = f"{'█' * full}{'░' * (cells - full)} " if cells >= _FEWEST_CELLS else ""
        text = f"{before} {bar}{after}"[:columns]
        _write("\r" + text + " " * (self._width - len(text)))
        self._width = len(text)

    def on_evaluation(self, line: dict[str, Any]) -> None:
        text = f"{self._where(line['step'], line['epoch'])}  train loss {line['train']['loss']:.4f}"
        if "average_model" in line:
            measure = main_measure(line)
            title = "" if measure["unit"] else f"{measure['title']} "
            text += f"  averaged model {title}{shown(measure, line['average_model'][measure['name']])} on the test set"
        self.line(f"{text}  nodes differ {100 * line['cv']:.3g} %")
