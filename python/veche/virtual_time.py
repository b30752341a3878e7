"""Runs in virtual time, each in a process of its own: a process has one virtual clock, which starts once."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Optional

from veche._veche import BackgroundRun, Config, Error, RequestError, RunError, place_in_job

if TYPE_CHECKING:
    from veche._veche import Ended

_LENGTH = 8  # bytes before each message
_TURN = 0.1  # seconds between two looks at what the parent wants

Hooks = dict[str, Any]  # by name, Optional[Callable[..., object]]


class _InTheChild(Exception):
    """The traceback of an exception, as text from the run's process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _Sender:
    def __init__(self, file: int) -> None:
        self._file = file
        self._lock = threading.Lock()  # callbacks come from threads of the run

    def __call__(self, *message: object) -> None:
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock:
            for part in (len(data).to_bytes(_LENGTH, "little"), data):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(self._file, rest):]


def _portable(error: BaseException) -> tuple[BaseException, str]:
    """The exception as another process can read it, and its traceback if that explains it."""
    text = "" if isinstance(error, Error) else "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RunError(f"{type(error).__name__}: {error}"), text
    return error, text


def _be_the_child(events: int, control: int, config: Config, hooks: Hooks, options: dict[str, Any]) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to both; the parent says what follows
        send = _Sender(events)

        def pass_on(name: str) -> Callable[..., None]:
            return lambda *arguments: send(name, arguments)

        try:
            passing: Hooks = {name: pass_on(name) for name, hook in hooks.items() if hook}
            run = BackgroundRun(config, **passing, **options)
            stopped = False
            while not run.wait(_TURN):
                # A byte, or the end of the parent.
                if not stopped and select.select([control], [], [], 0)[0]:
                    run.stop()
                    stopped = True
            send("ended", (run.result(),))
        except BaseException as error:
            send("failed", _portable(error))
    finally:
        os._exit(0)


class ChildRun:
    """A BackgroundRun in a child process, with what this process has registered."""

    def __init__(self, config: Config, *, hooks: Hooks, **options: Any) -> None:
        if place_in_job().size > 1:  # which the child could not leave
            raise RequestError("a simulation runs in one process: start it without mpirun, srun or veche.launch")
        self._hooks = hooks
        self._ended = threading.Event()
        self._result: Optional[Ended] = None
        self._failure: Optional[BaseException] = None
        self._events, events = os.pipe()
        control, self._control = os.pipe()
        # Forked by a new thread: the child has no other, and OpenMP's workers of the main thread, which would be missing in
        # the child, are not expected there.
        self._thread = threading.Thread(target=self._fork, args=(events, control, config, options), name="veche-child",
                                        daemon=True)
        self._thread.start()

    def _fork(self, events: int, control: int, config: Config, options: dict[str, Any]) -> None:
        try:
            process = os.fork()
        except OSError as error:
            self._failure = RunError(f"no more processes can be started: {error.strerror}")
            os.close(events)
            process = -1
        if process == 0:
            os.close(self._events)
            os.close(self._control)
            _be_the_child(events, control, config, self._hooks, options)
        try:
            if process > 0:
                os.close(events)
                self._read_all()
                status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                if self._result is None and self._failure is None:
                    self._failure = RunError("the process of a run has ended without a word"
                                             + (f", by signal {-status}" if status < 0 else ""))
        finally:
            os.close(control)
            os.close(self._events)
            self._ended.set()

    def _read_all(self) -> None:
        with os.fdopen(os.dup(self._events), "rb") as file:
            while len(length := file.read(_LENGTH)) == _LENGTH:
                data = file.read(int.from_bytes(length, "little"))
                try:
                    name, arguments = pickle.loads(data)
                except (EOFError, pickle.UnpicklingError):
                    return  # the child was killed while it wrote
                self._take(name, arguments)

    def _take(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "ended":
            self._result = arguments[0]
        elif name == "failed":
            if self._failure is None:
                error, text = arguments
                self._failure = error
                if text:
                    error.__cause__ = _InTheChild(text)
        elif self._failure is None:
            hook = self._hooks[name]
            try:
                if hook is not None:
                    hook(*arguments)
            except BaseException as error:  # ends the run, and comes out of `result`
                self._failure = error
                self.stop()

    def stop(self) -> None:
        """Ends the run after the current step, saved. Does not wait."""
        with contextlib.suppress(OSError):  # it has ended
            os.write(self._control, b"x")

    def wait(self, seconds: float) -> bool:
        """Whether the run has ended."""
        return self._ended.wait(seconds)

    def result(self) -> Ended:
        """Of a run that has ended; once."""
        self._thread.join()
        os.close(self._control)
        if self._failure is not None:
            raise self._failure
        assert self._result is not None
        return self._result
