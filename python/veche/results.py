"""What a run leaves: its summary, measurements and parameters."""

from __future__ import annotations

import json
import pathlib
from html import escape
from typing import TYPE_CHECKING, Any, Optional, Union

from veche.measures import main_measure, shown, task_of

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    # A column has a number per evaluation, or a row with a number per node, or the words themselves.
    Column = Union[NDArray[numpy.float64], list[Any]]


def import_pyplot() -> Any:
    """matplotlib.pyplot, or ImportError in one sentence."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: install the Debian package python3-matplotlib") from error
    return pyplot


def html_table(head: list[str], rows: list[list[str]]) -> str:
    """A table as HTML; the cells are text."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{cells}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def size_of(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def _flat(value: dict[str, Any], before: str = "") -> dict[str, Any]:
    """The leaves of nested dicts, named by their path."""
    leaves: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            leaves.update(_flat(item, f"{before}{key}."))
        else:
            leaves[before + key] = item
    return leaves


def _names(lines: list[dict[str, Any]]) -> list[str]:
    """All keys, in the order in which they appear first."""
    return list(dict.fromkeys(name for line in lines for name in line))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def columns_of(lines: list[dict[str, Any]]) -> dict[str, Column]:
    """Objects of metrics.jsonl as columns: `train.loss` has a number per evaluation, `nodes.l2` a row per evaluation with a
    number per node. What was not measured is nan."""
    import numpy

    flat = []
    for line in lines:
        nodes = [_flat(node) for node in line.get("nodes", [])]
        row = _flat({key: item for key, item in line.items() if key != "nodes"})
        row.update({f"nodes.{name}": [node.get(name) for node in nodes] for name in _names(nodes)})
        flat.append(row)
    columns: dict[str, Column] = {}
    nan = float("nan")
    for name in _names(flat):
        values = [row.get(name) for row in flat]
        if all(value is None or _number(value) for value in values):
            columns[name] = numpy.array([nan if value is None else value for value in values], dtype=float)
            continue
        counts = {len(value) for value in values if isinstance(value, list)}
        if len(counts) == 1 and all(value is None or (isinstance(value, list) and all(
                item is None or _number(item) for item in value)) for value in values):
            empty = [None] * counts.pop()
            rows = [[nan if item is None else item for item in (empty if value is None else value)] for value in values]
            columns[name] = numpy.array(rows, dtype=float)
        else:
            columns[name] = values
    return columns


class Result:
    """A run that has ended.

    Every key of the summary is an attribute too: `result.accuracy["mean"]`, `result.bytes_sent`. docs/runs.md describes them.
    """

    def __init__(self, summary: dict[str, Any], parameters: list[NDArray[numpy.float32]], evaluations: list[dict[str, Any]],
                 rank: int) -> None:
        self.summary = summary
        """The object of `veche train --json`."""
        self.parameters = parameters
        """One vector per node. Those of nodes of other ranks are empty if they are large."""
        self.rank = rank
        """Of this process in a job; 0 without one. Rank 0 measures and writes for all."""
        self._evaluations = evaluations
        self._metrics: Optional[dict[str, Column]] = None

    @property
    def folder(self) -> Optional[pathlib.Path]:
        """The folder of the run; None if it was not kept."""
        return pathlib.Path(self.summary["run"]) if self.summary["run"] else None

    @property
    def accuracy(self) -> dict[str, float]:
        """Of the nodes' models on the test set: `mean`, `std`, `min`, `max`, `tested`, and `average_model`. Empty without a
        test set, and for other tasks: `measures` has the results of every task."""
        found: dict[str, float] = self.summary.get("accuracy", {})
        return found

    @property
    def task(self) -> str:
        """What the run learned: "classification", "language" or "regression"."""
        return task_of(self.summary)

    @property
    def measures(self) -> dict[str, Any]:
        """Every measure of the averaged model on the test set, such as `result.measures["perplexity"]`; of few classes also
        `measures["classes"]` with lists by class, "count", "loss" and "accuracy". Empty without a test set."""
        found: dict[str, Any] = self.summary.get("average_model", {})
        return found

    @property
    def loss(self) -> float:
        """The mean test loss of the nodes; without a test set the training loss."""
        return float(self.summary["loss"])

    @property
    def disagreement(self) -> dict[str, float]:
        """How far the nodes are from their mean: `cv`, `l1`, `l2`, `linf`."""
        found: dict[str, float] = self.summary["disagreement"]
        return found

    @property
    def bytes_sent(self) -> int:
        """By the strategy, all nodes."""
        return int(self.summary["bytes_sent"])

    @property
    def stopped(self) -> str:
        """Why the run ended: "steps", "target" or "target_accuracy"."""
        return str(self.summary["stopped"])

    @property
    def metrics(self) -> dict[str, Column]:
        """The evaluations as columns (NumPy arrays): `metrics["train.loss"]`, `metrics["epoch"]`; `metrics["nodes.l2"]` has a
        row per evaluation and a number per node."""
        if self._metrics is None:
            lines = self._evaluations
            file = self.folder / "metrics.jsonl" if self.folder is not None else None
            if file is not None and file.is_file():  # a resumed run has earlier lines there
                lines = [json.loads(line) for line in file.read_text().splitlines()]
            self._metrics = columns_of(lines)
        return self._metrics

    def __getattr__(self, name: str) -> Any:
        summary = self.__dict__.get("summary", {})
        if name in summary:
            return summary[name]
        raise AttributeError(f"a result has no {name!r}; its summary has {', '.join(sorted(summary))}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.summary})

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws the training loss and, with a test set, the main measure of the averaged model (accuracy, perplexity, RMSE)
        with matplotlib."""
        if ax is None:
            _, ax = import_pyplot().subplots()
        metrics = self.metrics
        along = "epoch" if any(metrics["epoch"]) else "step"
        lines = ax.plot(metrics[along], metrics["train.loss"], color="C0", label="training loss")
        ax.set_xlabel(along)
        ax.set_ylabel("training loss")
        ax.set_title(self._title())
        measure = main_measure(self.summary)
        column = f"average_model.{measure['name']}"
        if column in metrics:
            right = ax.twinx()
            lines += right.plot(metrics[along], metrics[column], color="C1", label=f"{measure['title']}, averaged model")
            right.set_ylabel(measure["title"])
        ax.legend(handles=lines)
        return ax

    def _title(self) -> str:
        words = [self.summary["model"], self.summary["strategy"], self.summary["topology"]]
        return ", ".join(word for word in words if word)

    def _facts(self) -> list[list[str]]:
        measure = main_measure(self.summary)
        found = self.summary.get(measure["name"])
        facts = [["nodes", str(self.summary["nodes"])], ["steps", f"{self.summary['steps']:,}"]]
        if found:
            facts += [[f"{measure['title']} of the nodes", shown(measure, found["mean"], found["std"])],
                      ["averaged model", shown(measure, found["average_model"])]]
        facts += [["loss", f"{self.loss:.4g}"], ["nodes differ", f"{100 * self.disagreement['cv']:.3g} %"],
                  ["sent", size_of(self.bytes_sent)],
                  ["virtual seconds" if "wall_seconds" in self.summary else "seconds", f"{self.summary['seconds']:.4g}"]]
        return facts + ([["folder", str(self.folder)]] if self.folder is not None else [])

    def __repr__(self) -> str:
        return f"<veche.Result {self._title()}: " + ", ".join(" ".join(fact) for fact in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self._title())}</b>" + html_table([], self._facts())
