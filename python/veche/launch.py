"""Starts a training script on several nodes.

    python3 -m veche.launch -n 4 train.py [ARGUMENT ...]        four processes on this machine
    python3 -m veche.launch --found train.py                    the first member of a grid; prints an invitation
    python3 -m veche.launch --join VECHE1-... train.py          joins it, from any machine
    python3 -m veche.launch --resume runs/NAME train.py         returns to it

Keys that a member of a grid chooses for itself: --set grid.listen=127.0.0.1:0 --set grid.name=lab
On clusters use mpirun or srun instead: mpirun -np 16 python3 train.py
"""

from __future__ import annotations

import argparse
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import time

GRACE_SECONDS = 60  # in which the other processes end by themselves, and save


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m veche.launch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("-n", "--processes", type=int, metavar="N", help="processes on this machine")
    how.add_argument("--found", action="store_true", help="found a run that others may join")
    how.add_argument("--join", metavar="INVITATION", help="join the run of an invitation")
    how.add_argument("--resume", metavar="FOLDER", help="return to a run with this member's folder")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="a key of this member of a grid, such as grid.listen",
    )  # fmt: skip
    parser.add_argument("script", help="the training script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="given to the script")
    given = parser.parse_args(words)
    if not pathlib.Path(given.script).is_file():
        print(f"veche.launch: there is no script {given.script}", file=sys.stderr)
        return 2
    if given.processes is None:
        return _member(given)
    if given.set:
        print("veche.launch: --set is for members of a grid: give keys to veche.Optimizer instead", file=sys.stderr)
        return 2
    if given.processes < 1:
        print(f"veche.launch: -n {given.processes} is not a number of processes: give 1 or more", file=sys.stderr)
        return 2
    return _local(given.processes, [given.script, *given.arguments])


def _member(given: argparse.Namespace) -> int:
    from veche import _session

    os.environ[_session.GRID] = given.join if given.join is not None else "found"
    os.environ[_session.KEYS] = "\n".join(given.set)
    if given.resume is not None:
        os.environ[_session.FOLDER] = given.resume
    # Ended politely, a member saves, and the others go on.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.argv = [given.script, *given.arguments]
    sys.path.insert(0, str(pathlib.Path(given.script).resolve().parent))
    runpy.run_path(given.script, run_name="__main__")
    return 0


def _local(count: int, command: list[str]) -> int:
    from veche import _session, _veche

    members = _veche.make_local_job(count)
    # As torch's own launcher: processes whose threads compete for cores are slow.
    threads = max(1, len(os.sched_getaffinity(0)) // count)
    with tempfile.TemporaryDirectory(prefix="veche-launch-") as folder:
        processes = []
        for rank, member in enumerate(members):
            file = pathlib.Path(folder, f"member-{rank}")
            file.touch(mode=0o600)  # it holds a private key
            file.write_text(member)
            environment = dict(
                {"OMP_NUM_THREADS": str(threads), **os.environ},
                RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(count),
                **{_session.MEMBER: str(file)},
            )  # fmt: skip
            socket = _veche.local_job_socket(member)
            processes.append(
                subprocess.Popen([sys.executable, *command], env=environment, pass_fds=[socket])
            )
            os.close(socket)
        return _wait(processes)


def _wait(processes: list[subprocess.Popen[bytes]]) -> int:
    """The exit code of the first process that failed; the others then end soon, or are ended."""
    # The terminal sends Ctrl-C to all of them; this process waits until they have saved.
    interrupted = False

    def forward(number: int, _: object) -> None:
        nonlocal interrupted
        interrupted = True
        for process in processes:
            if process.poll() is None and number == signal.SIGTERM:
                process.send_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, forward)
    signal.signal(signal.SIGTERM, forward)
    failed: int | None = None
    deadline = float("inf")
    while any(process.poll() is None for process in processes):
        for rank, process in enumerate(processes):
            code = process.poll()
            if code and failed is None:
                failed = code
                deadline = time.monotonic() + GRACE_SECONDS
                if code < 0 and not interrupted:
                    print(f"veche.launch: process {rank} was ended by signal {-code}", file=sys.stderr)
        if time.monotonic() > deadline:
            for process in processes:
                process.kill()
        time.sleep(0.05)
    code = failed if failed is not None else next((p.returncode for p in processes if p.returncode), 0)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
