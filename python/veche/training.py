"""`train` and `simulate`: runs of this process from Python."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Optional, Union

from veche._veche import BackgroundRun, Config
from veche.configuration import folder_of, kind, read_config, resumed
from veche.progress import Progress, ProgressLine, is_shown
from veche.results import Result
from veche.virtual_time import ChildRun, Hooks

if TYPE_CHECKING:
    from veche._veche import RunFacts
    from veche.configuration import ConfigLike

_TURN = 0.1  # seconds between two looks for Ctrl-C

OnProgress = Optional[Callable[[Progress], object]]
OnEvaluation = Optional[Callable[[dict[str, Any]], object]]


class Watcher:
    """Takes the callbacks of a run, on threads of the run."""

    def __init__(self, line: Optional[ProgressLine], on_progress: OnProgress, on_evaluation: OnEvaluation) -> None:
        self.failure: Optional[BaseException] = None
        self.evaluations: list[dict[str, Any]] = []
        self.info: Optional[RunFacts] = None
        self._line = line
        self._on_progress = on_progress
        self._on_evaluation = on_evaluation

    def _guarded(self, call: Callable[..., object]) -> Callable[..., None]:
        """Keeps an exception with its traceback: ranks of a job learn only its text."""

        def guarded(*arguments: object) -> None:
            try:
                call(*arguments)
            except BaseException as error:
                self.failure = self.failure or error
                raise

        return guarded

    def hooks(self) -> Hooks:
        return {"on_start": self._guarded(self._started), "on_evaluation": self._guarded(self._evaluated),
                "on_progress": self._guarded(self._progressed) if self._line or self._on_progress else None,
                "on_notice": self._guarded(self._noticed)}

    def _started(self, info: RunFacts) -> None:
        self.info = info
        if self._line and info["rank"] == 0:
            self._line.on_start(info)

    def _progressed(self, *numbers: Any) -> None:
        progress = Progress(*numbers)
        if self._line:
            self._line.on_progress(progress)
        if self._on_progress:
            self._on_progress(progress)

    def _evaluated(self, text: str) -> None:
        line = json.loads(text)
        self.evaluations.append(line)
        if self._line:
            self._line.on_evaluation(line)
        if self._on_evaluation:
            self._on_evaluation(line)

    def _noticed(self, sentence: str) -> None:
        from logging import getLogger

        if self._line:
            self._line.close()
        getLogger("veche").warning(sentence)


@contextmanager
def _while_saving() -> Iterator[None]:
    """After the first Ctrl-C a second one ends the program at once, as on the command line, but never an interactive session."""
    usual = threading.current_thread() is threading.main_thread() and signal.getsignal(
        signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_IGN if hasattr(sys, "ps1") else signal.SIG_DFL)
    try:
        yield
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(run: Union[BackgroundRun, ChildRun]) -> None:
    try:
        while not run.wait(_TURN):
            pass
    except BaseException as interrupt:  # of a signal
        run.stop()
        with _while_saving():
            while not run.wait(_TURN):
                pass
        if not isinstance(interrupt, KeyboardInterrupt):
            raise


def _interrupted(result: Result) -> KeyboardInterrupt:
    step = result.summary["steps"]
    if result.folder is None:
        return KeyboardInterrupt(f"stopped after step {step}; keep=False saves nothing")
    again = f"veche.train(resume={str(result.folder)!r})"
    if is_on_grid():
        again = f"python3 -m veche.launch --resume {result.folder} {sys.argv[0]}"
    return KeyboardInterrupt(f"stopped after step {step}, saved; go on with {again}")


def is_virtual(config: Config) -> bool:
    return config.get("cluster", "transport") == "simulated"


def _join_launched_job() -> None:
    """The job of veche.launch; those of mpirun and srun are joined by the library."""
    if "VECHE_LAUNCH_MEMBER" in os.environ:
        from veche._session import place

        place()


def is_on_grid() -> bool:
    """Whether veche.launch has started this process as a member that others join."""
    return "VECHE_LAUNCH_GRID" in os.environ


def _membership(config: Config) -> dict[str, Any]:
    """Of the run that this process founds, joins or returns to; with the keys that it chooses for itself."""
    from veche import _session

    for key in filter(None, os.environ.get(_session.KEYS, "").splitlines()):
        config.assign(key)
    found = os.environ[_session.GRID] == "found"
    if _session.FOLDER in os.environ:  # the script is the same, so it gives a configuration again
        return {"on_invitation": _session.show_invitation, "returns_to": os.environ[_session.FOLDER]}
    return {"invitation": "" if found else os.environ[_session.GRID], "on_invitation": _session.show_invitation}


def run_to_the_end(config: Config, watcher: Watcher, line: Optional[ProgressLine], *, resume: str = "", restart: bool = False,
                   keep: bool = True, **membership: Any) -> tuple[Result, str]:
    """Trains; the result, and its summary as the library writes it."""
    options: dict[str, Any] = {"resume": resume, "restart": restart, "keep": keep, **membership}
    run: Union[BackgroundRun, ChildRun]
    try:
        _join_launched_job()
        if is_virtual(config):
            run = ChildRun(config, hooks=watcher.hooks(), **options)
        else:
            run = BackgroundRun(config, **watcher.hooks(), **options)
        _wait(run)
        try:
            ended = run.result()
        except BaseException:
            if watcher.failure is not None:
                raise watcher.failure
            raise
    finally:
        if line:
            line.close()
    result = Result(json.loads(ended["summary"]), ended["parameters"], watcher.evaluations, ended["info"]["rank"])
    if result.stopped == "interrupted":
        raise _interrupted(result)
    return result, ended["summary"]


def check_callbacks(**callbacks: object) -> None:
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise TypeError(f"{name} must be callable, not {kind(callback)}")


def _train(config: object, changes: object, shorthands: Mapping[str, object], resume: object, restart: object, keep: object,
           progress: object, on_progress: OnProgress, on_evaluation: OnEvaluation, transport: Optional[str]) -> Result:
    for name, flag in (("restart", restart), ("keep", keep), ("progress", progress)):
        if not isinstance(flag, bool) and not (flag is None and name == "progress"):
            raise TypeError(f"{name} must be True or False, not {kind(flag)}")
    check_callbacks(on_progress=on_progress, on_evaluation=on_evaluation)
    folder = "" if resume is None else folder_of(resume, "resume")
    read = resumed(config, folder, changes, shorthands) if folder else read_config(config, changes, shorthands)
    if transport:
        read.set("cluster", "transport", transport)
    shown = is_shown(progress if isinstance(progress, bool) else None)
    line = ProgressLine(virtual=is_virtual(read)) if shown else None
    watcher = Watcher(line, on_progress, on_evaluation)
    membership = _membership(read) if is_on_grid() and not transport else {}
    folder = membership.pop("returns_to", folder)
    return run_to_the_end(read, watcher, line, resume=folder, restart=bool(restart), keep=bool(keep), **membership)[0]


def train(config: ConfigLike = None, *, set: Mapping[str, object] = {}, epochs: Optional[float] = None,
          steps: Optional[int] = None, nodes: Optional[int] = None, seed: Optional[int] = None, name: Optional[str] = None,
          out: Union[str, os.PathLike[str], None] = None, resume: Union[str, os.PathLike[str], None] = None,
          restart: bool = False, keep: bool = True, progress: Optional[bool] = None, on_progress: OnProgress = None,
          on_evaluation: OnEvaluation = None) -> Result:
    """Trains as `veche train --json` does and returns the Result; without arguments, the demo.

    config          a path to a TOML file, TOML text, or a dict of sections: {"run": {"epochs": 2}}
    set             single keys on top: {"strategy.name": "gossip"}
    epochs, steps, nodes, seed, name, out
                    short for run.epochs, run.steps, cluster.nodes, run.seed, run.name, run.out
    resume          the folder of a run to go on with, instead of config; restart=True starts it again
    keep            False: leave no folder
    progress        show it on standard error; by default in a terminal and in notebooks
    on_progress     called about twice a second with a Progress
    on_evaluation   called with a dict per evaluation, as a line of metrics.jsonl

    Ctrl-C ends the run after the current step, saved, and raises KeyboardInterrupt with its folder. Callbacks are called on
    another thread; their exceptions end the run and come out here. Under mpirun the ranks train one model together, and by
    python3 -m veche.launch --found and --join members that come and go.
    """
    shorthands = {"epochs": epochs, "steps": steps, "nodes": nodes, "seed": seed, "name": name, "out": out}
    return _train(config, set, shorthands, resume, restart, keep, progress, on_progress, on_evaluation, None)


def simulate(config: ConfigLike = None, *, set: Mapping[str, object] = {}, epochs: Optional[float] = None,
             steps: Optional[int] = None, nodes: Optional[int] = None, seed: Optional[int] = None, name: Optional[str] = None,
             out: Union[str, os.PathLike[str], None] = None, resume: Union[str, os.PathLike[str], None] = None,
             restart: bool = False, keep: bool = True, progress: Optional[bool] = None, on_progress: OnProgress = None,
             on_evaluation: OnEvaluation = None) -> Result:
    """`train` in virtual time, on the network that [network] describes. The arguments are those of `train`.

    Each run has a process of its own, because a process has one virtual clock. Callbacks are called in this process.
    """
    shorthands = {"epochs": epochs, "steps": steps, "nodes": nodes, "seed": seed, "name": name, "out": out}
    return _train(config, set, shorthands, resume, restart, keep, progress, on_progress, on_evaluation, "simulated")
