"""The one run of this process that a Python loop takes part in, and the job that it belongs to."""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from veche import _veche
from veche._veche import Loop, RequestError, TensorLayout

# Set by veche.launch for its processes.
MEMBER = "VECHE_LAUNCH_MEMBER"  # file with the text of this member of a local job
GRID = "VECHE_LAUNCH_GRID"  # "found", or the invitation of a run on the grid
FOLDER = "VECHE_LAUNCH_RESUME"  # folder of a member that returns
KEYS = "VECHE_LAUNCH_SET"  # KEY=VALUE lines that this member of the grid chooses for itself

_loop: Loop | None = None  # the run under way
_first_step = 0  # of that run in this process
_runs = 0  # that have begun in this process and train
_idle = False  # it only carries exchanges: nothing trains
# The loop in the extension keeps the maker, and the maker its optimizer and so the loop: Python's
# collector does not see this ring.
_forget: Callable[[], None] = lambda: None
_farewell: Callable[[], None] = lambda: None  # called before this process has no more steps
_place: Any = None
_failed: BaseException | None = None
_process = os.getpid()


def place() -> Any:
    """Rank and size; joins the job of mpirun, srun or veche.launch."""
    global _place
    if _place is None:
        if MEMBER in os.environ:
            _veche.join_local_job(pathlib.Path(os.environ.pop(MEMBER)).read_text())
        _place = _veche.place_in_job()
        _tell_place(_place)
    return _place


# As veche.launch -n sets them before the script starts.
_VARIABLES = {"RANK": "rank", "WORLD_SIZE": "size", "LOCAL_RANK": "local_rank", "LOCAL_WORLD_SIZE": "local_size"}


def _tell_place(here: Any) -> None:
    """Under mpirun and srun: the variables that scripts read, and a signal by which to end."""
    if here.size == 1:
        _refuse_other_launchers()
        return
    for variable, name in _VARIABLES.items():
        os.environ.setdefault(variable, str(getattr(here, name)))
    # mpirun passes Ctrl-C on as SIGTERM.
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end_as_by_ctrl_c)


def _end_as_by_ctrl_c(*_: object) -> None:
    if os.getpid() == _process:
        signal.raise_signal(signal.SIGINT)  # which waits while the optimizer makes its step
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a copy, such as a worker of a loader
    signal.raise_signal(signal.SIGTERM)


def _refuse_other_launchers() -> None:
    """torchrun's processes would each train alone, which no message would tell."""
    count = os.environ.get("WORLD_SIZE", "")
    if "MASTER_ADDR" in os.environ and count.isdecimal() and int(count) > 1:
        raise RequestError(
            f"WORLD_SIZE = {count} and MASTER_ADDR are set, as by torchrun, whose processes do not find each other here: "
            f"start the script with `python3 -m veche.launch -n {count}`, or with mpirun on several hosts"
        )


def rank() -> int:
    """The number of this process among those that train together."""
    if _loop is not None:
        with contextlib.suppress(RequestError):  # it has ended
            return int(_veche.comm_me(_loop))
    return int(place().rank)


def size() -> int:
    """How many processes train together."""
    if _loop is not None:
        with contextlib.suppress(RequestError):
            return int(_veche.comm_size(_loop))
    return int(place().size)


def first_step() -> int:
    """Steps that the run had made when this process began its part: above 0 in a resumed run."""
    return _first_step


def steps() -> int:
    """Steps that the run under way has made, by all members of a grid."""
    return int(_loop.steps) if _loop is not None else 0


def runs() -> int:
    """How many runs that train have begun in this process."""
    return _runs


def local_rank() -> int:
    """The number of this process among those of its host: the GPU that it should use."""
    return int(place().local_rank)


def assignments(
    config: str | None = None,
    *,
    strategy: str | Mapping[str, Any] | None = None,
    topology: str | Mapping[str, Any] | None = None,
    compress: str | Mapping[str, Any] | None = None,
    name: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002  (the command line's word)
    checkpoint_every: int | None = None,
) -> tuple[str, list[str]]:
    """A configuration as text, and the keys on top of it."""
    text = pathlib.Path(config).read_text() if config else ""
    given: dict[str, Any] = {}
    for section, main, value in (
        ("strategy", "name", strategy),
        ("topology", "graph", topology),
        ("compress", "codec", compress),
    ):
        if isinstance(value, Mapping):
            given.update({f"{section}.{key}": each for key, each in value.items()})
        elif value is not None:
            given[f"{section}.{main}"] = value
    if checkpoint_every is not None:
        given["run.checkpoint_every"] = checkpoint_every
    if name:
        given["run.name"] = name
    given.update(set or {})
    return text, [f"{key}={_toml(value)}" for key, value in given.items()]


def state_is_mixed(options: tuple[str, list[str]]) -> bool:
    """Whether a run that has asked for the optimizer's state may change it: by pruning, or as a
    newcomer to a grid."""
    return GRID in os.environ or "prune" in " ".join([options[0], *options[1]])


def state_is_held(options: tuple[str, list[str]]) -> bool:
    """Whether a run reads and changes the state after every step without asking: tracked momentum."""
    return "tracked" in " ".join([options[0], *options[1]])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


# The loop decides when it ends; the run needs a number of steps to plan with.
_STEPS = 10**12


def start(
    parameters: list[TensorLayout],
    buffers: list[TensorLayout],
    make: Callable[[int, int], Any],
    options: tuple[str, list[str]],
    *,
    resume: str | None = None,
    restart: bool = False,
    keep: bool = True,
    before: Callable[[Loop], None] = lambda loop: None,
    after: Callable[[Loop], None] = lambda loop: None,
    farewell: Callable[[], None] = lambda: None,
    idle: bool = False,
) -> Loop:
    """Begins this process's part of a run. Collective."""
    global _loop, _idle, _first_step, _runs, _forget, _farewell
    if _loop is not None and not _idle:
        raise RequestError(
            "a run is under way in this process: finish it first, or begin one run of several optimizers with "
            "veche.Optimizers([first, second], model)"
        )
    finish()
    text, keys = options
    grid = os.environ.get(GRID)
    resume = resume or os.environ.get(FOLDER)
    if grid is None:
        here = place()
        if not any(key.startswith("cluster.nodes=") for key in keys):
            keys = [*keys, f"cluster.nodes={here.size}"]
    else:
        keys = [*keys, *os.environ.get(KEYS, "").splitlines()]
    # A member that joins or returns trains by the configuration of the run; a key of its own script
    # that differs is refused.
    joins = grid is not None and (grid != "found" or resume is not None)
    if not joins and not any(key.startswith("run.steps=") for key in keys):
        keys = [*keys, f"run.steps={_STEPS}"]
    makers = [make]
    loop = Loop(parameters, buffers, lambda begin, length: makers[0](begin, length))
    before(loop)
    try:
        loop.start(
            text, keys,
            resume=resume or "", restart=restart, keep=keep, grid=grid is not None,
            invitation=grid if grid not in (None, "found") else None,
            on_invitation=show_invitation,
            on_notice=lambda sentence: print(f"veche: {sentence}", file=sys.stderr, flush=True),
        )  # fmt: skip
    except RequestError as error:
        makers.clear()
        raise RequestError(_in_python(str(error))) from None
    except BaseException:
        makers.clear()
        raise
    _loop, _idle, _first_step, _forget = loop, idle, loop.steps, makers.clear
    _farewell = farewell
    _runs += not idle
    after(loop)
    return loop


def show_invitation(text: str) -> None:
    print(f"invitation: {text}", file=sys.stderr, flush=True)


def _in_python(sentence: str) -> str:
    """The way out as an argument, and not as a command of the shell."""
    return re.sub(r"`veche train --resume ([^`]*)`", r'resume="\1"', sentence)


def is_under_way(loop: Loop) -> bool:
    """Whether this run of the process has not been finished yet."""
    return loop is _loop


def on_grid() -> bool:
    """Whether members come and go. A loop's own exchange between two steps may then fail with
    PeerLost, and a newcomer takes no part in those of a step under way."""
    return GRID in os.environ


def loop() -> Loop:
    """The run under way; without one, a run that trains nothing and carries exchanges."""
    if _loop is None:
        layout = [TensorLayout("nothing", [1], [1], 0)]
        start(layout, [], _Nothing, assignments(None, strategy="none"), keep=False, idle=True)
    assert _loop is not None
    return _loop


class _Nothing:
    def __init__(self, start: int, length: int):
        pass

    def state(self) -> list[np.ndarray]:
        return []

    def lend(self) -> None:
        pass

    def update(self, x: np.ndarray, g: np.ndarray) -> None:
        pass


def finish() -> dict[str, Any]:
    """Ends the run of this process after the steps that all nodes have made, and saves it."""
    global _loop, _idle
    if _loop is not None:
        _farewell()
    ended, _loop, _idle = _loop, None, False
    try:
        return ended.finish() if ended is not None else {}
    finally:
        _forget()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the end of the block, so that no node leaves others alone in an exchange."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *what: came.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[0])


def leave(error: BaseException | None) -> None:
    """At the end of a loop: an error ends the run on all nodes."""
    if os.getpid() != _process:  # a copy, such as a worker of a loader
        return
    if isinstance(error, KeyboardInterrupt) and _loop is not None:
        _loop.stop()
    if error is None or isinstance(error, (KeyboardInterrupt, SystemExit)):
        finish()
        return
    if _loop is not None:
        _loop.fail(f"node {rank()} failed:\n" + "".join(traceback.format_exception(error)).rstrip())
        global _farewell
        _farewell = lambda: None  # noqa: E731
        with contextlib.suppress(Exception):
            finish()


def _note_failure(kind: type, error: BaseException, trace: Any) -> None:
    global _failed
    _failed = error
    _shown(kind, error, trace)


_shown, sys.excepthook = sys.excepthook, _note_failure
atexit.register(lambda: leave(_failed))

comm_allreduce = _veche.comm_allreduce
