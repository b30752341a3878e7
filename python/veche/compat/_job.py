"""What Horovod and BlueFog call alike: the place of this process among all."""

from veche import _session


def shutdown() -> None:
    """Ends the run of this process."""
    _session.finish()


def rank() -> int:
    return _session.rank()


def size() -> int:
    return _session.size()


def local_rank() -> int:
    return _session.local_rank()


def local_size() -> int:
    return int(_session.place().local_size)
