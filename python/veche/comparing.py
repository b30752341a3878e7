"""`compare`: several configurations, each run in turn, in one table."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from veche._veche import Config, RequestError, compare_runs
from veche.configuration import kind, read_config
from veche.measures import main_measure, shown
from veche.progress import ProgressLine, is_shown
from veche.results import Result, html_table, import_pyplot, size_of
from veche.training import Watcher, is_on_grid, is_virtual, run_to_the_end

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from veche.configuration import ConfigLike

Values = Union[str, Sequence[object]]


class Comparison:
    """Several configurations side by side."""

    def __init__(self, summary: dict[str, Any], runs: list[Result]) -> None:
        self.summary = summary
        """The object of compare.json."""
        self.runs = runs
        """The Result of every run, in order."""

    @property
    def table(self) -> list[dict[str, Any]]:
        """A dict per variant: means over its runs."""
        lines: list[dict[str, Any]] = self.summary.get("comparison", [])  # only rank 0 of a job has them
        return lines

    @property
    def folder(self) -> pathlib.Path:
        """Holds all runs and compare.json."""
        return pathlib.Path(self.runs[0].summary["run"]).parent

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws the variants' training loss against seconds with matplotlib."""
        if ax is None:
            _, ax = import_pyplot().subplots()
        repeat = self.table[0]["runs"]
        for i, run in enumerate(self.runs):
            metrics = run.metrics
            ax.plot(metrics["seconds"], metrics["train.loss"], color=f"C{i // repeat % 10}",
                    label=self.table[i // repeat]["variant"] if i % repeat == 0 else None)
        ax.set_xlabel("virtual seconds" if self.table[0]["virtual_time"] else "seconds")
        ax.set_ylabel("training loss")
        ax.legend()
        return ax

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        tested = any("measure" in line for line in self.table)
        title = main_measure(self.table[0])["title"]
        head = ["variant", "nodes", "steps", *([f"{title} of the nodes", "averaged model"] if tested else []), "train loss",
                "sent", "seconds"]
        rows = []
        for line in self.table:
            measure = main_measure(line)
            found = line.get(measure["name"])
            cells = ([shown(measure, found["mean"], found["std"]), shown(measure, found["average_model"])]
                     if found else ["", ""])
            rows.append([line["variant"], str(line["nodes"]), f"{line['steps']:,.0f}", *(cells if tested else []),
                         f"{line['train_loss']:.4f}", size_of(line["bytes_sent"]),
                         f"{line['seconds']['mean']:.4g}" + (" virtual" if line["virtual_time"] else "")])
        return head, rows

    def __repr__(self) -> str:
        head, rows = self._cells()
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                   for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in [head, *rows])

    def _repr_html_(self) -> str:
        return html_table(*self._cells())


def _word(key: str, value: object) -> str:
    """A value as the words of `--compare` have it."""
    if isinstance(value, str):
        plain = key in ("strategy", "compress") or not any(sign in value for sign in ',"[]{}')
        return value if plain else json.dumps(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(json.dumps(item) if isinstance(item, str) else _word("", item) for item in value) + "]"
    if hasattr(value, "tolist"):
        return _word(key, value.tolist())
    raise TypeError(f"a value of {key} must be a str, number, bool or list, not {kind(value)}")


def notes_of(variants: Mapping[str, Values]) -> list[str]:
    """The variants as the command line has them: "strategy=allreduce,consensus"."""
    words = []
    for key, values in variants.items():
        if not isinstance(key, str):
            raise TypeError(f"a key of variants must be a str such as 'topology.graph', not {kind(key)}")
        if isinstance(values, str):
            values = [values]
        if not isinstance(values, Sequence):
            raise TypeError(f"{key} must be a list of values to compare, not {kind(values)}")
        if not values:
            raise RequestError(f"{key} has no value to compare")
        words.append(f"{key}=" + ",".join(_word(key, value) for value in values))
    return words


def compare(config: ConfigLike = None, variants: Mapping[str, Values] = {}, *, strategy: Optional[Values] = None,
            compress: Optional[Values] = None, repeat: int = 1, simulate: bool = False, set: Mapping[str, object] = {},
            epochs: Optional[float] = None, steps: Optional[int] = None, nodes: Optional[int] = None,
            seed: Optional[int] = None, out: Union[str, os.PathLike[str], None] = None,
            progress: Optional[bool] = None) -> Comparison:
    """Runs every combination of the variants in turn, as `veche train --compare`, and returns a Comparison.

    config      as for `train`: what all runs have in common
    variants    lists of values by key: {"topology.graph": ["ring", "complete"], "optimizer.lr": [0.1, 0.2]}
    strategy    short for {"strategy": [...]}: names, with a key after a colon: ["allreduce", "local-sgd:8"]
    compress    short for {"compress": [...]}: codecs: ["none", "fp16", "topk:0.01"]
    repeat      runs per variant, with consecutive seeds
    simulate    in virtual time
    set, epochs, steps, nodes, seed, out, progress
                as for `train`
    """
    if not isinstance(variants, Mapping):
        raise TypeError(f"variants must be a dict of lists such as {{'topology.graph': ['ring', 'complete']}}, not {kind(variants)}")
    if not isinstance(repeat, int):
        raise TypeError(f"repeat must be an int, not {kind(repeat)}")
    if repeat < 1:
        raise RequestError(f"repeat = {repeat} makes no run; give 1 or more")
    words = notes_of({**({} if strategy is None else {"strategy": strategy}),
                      **({} if compress is None else {"compress": compress}), **variants})
    if is_on_grid():
        raise RequestError("a comparison makes several runs, and members of the grid join one: start it without --found and --join")
    if not words:
        raise RequestError("there is nothing to compare: give strategy=[...], compress=[...] or variants={...}")
    common = read_config(config, set, {"epochs": epochs, "steps": steps, "nodes": nodes, "seed": seed, "out": out})
    if simulate:
        common.set("cluster", "transport", "simulated")
    shown, runs = is_shown(progress), []

    def run(variant: str, seed: int, one: Config, needs_process: bool) -> str:
        line = ProgressLine(f"\n== {variant}, seed {seed}", virtual=needs_process) if shown else None
        assert needs_process == is_virtual(one)
        result, summary = run_to_the_end(one, Watcher(line, None, None), line)
        runs.append(result)
        return summary

    text = compare_runs(common, words, repeat, run)
    return Comparison(json.loads(text) if text else {}, runs)
