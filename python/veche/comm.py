"""Exchanges between the Python loops of all nodes, in place on any buffer of 32-bit floats.

All nodes call the same functions in the same order, between two steps. Without a run under way the
first call starts one that trains nothing. The GIL is released while a call waits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veche import _session, _veche
from veche._veche import RequestError


def _floats(x: Any, name: str = "x") -> np.ndarray:
    """The caller's memory as a flat array; nothing is copied."""
    if hasattr(x, "detach") and hasattr(x, "data_ptr"):  # a tensor of torch
        if x.device.type != "cpu":
            raise TypeError(f"{name} is on {x.device}: copy it to the host first, with .cpu()")
        if not x.is_contiguous():
            raise TypeError(f"{name} is not contiguous: pass {name}.contiguous()")
        x = x.detach().numpy()
    if not isinstance(x, np.ndarray):
        try:  # before DLPack, as it tells of arrays that must not be changed, such as JAX's
            x = np.asarray(memoryview(x))
        except TypeError:
            if not hasattr(x, "__dlpack__"):
                raise TypeError(f"{name} must be an array or tensor of float32, not {type(x).__name__}") from None
            x = _veche.array_by_dlpack(x, name)
    array: np.ndarray = x
    if array.dtype != np.float32:
        raise TypeError(f"{name} has the type {array.dtype}, and float32 is needed")
    if not array.flags.c_contiguous:
        raise TypeError(f"{name} is not contiguous: pass numpy.ascontiguousarray({name})")
    if not array.flags.writeable:
        raise TypeError(f"{name} is read-only, and the result is written into it")
    return array.reshape(-1)


def _read(x: Any) -> np.ndarray:
    """A flat array of what the caller sends: of any type, on any device, and read-only too."""
    if hasattr(x, "detach") and hasattr(x, "data_ptr"):
        x = x.detach().cpu().numpy()
    elif hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        x = np.from_dlpack(x)
    return np.ascontiguousarray(x, dtype=np.float32).reshape(-1)


def allreduce_(x: Any, op: str = "mean") -> Any:
    """Replaces x on every node by the mean or the sum over all nodes."""
    if op not in ("mean", "sum"):
        raise RequestError(f"op = '{op}' does not exist; choose mean or sum")
    _veche.comm_allreduce(_session.loop(), _floats(x), op == "mean")
    return x


def broadcast_(x: Any, root: int = 0) -> Any:
    """Replaces x on every node by that of node `root`."""
    _veche.comm_broadcast(_session.loop(), _floats(x), root)
    return x


def allgather(x: Any) -> list[np.ndarray]:
    """The arrays of all nodes, by node; they may differ in length."""
    mine = _read(x).tobytes()
    return [np.frombuffer(each, np.float32) for each in _veche.comm_allgather(_session.loop(), mine)]


def allgather_object(mine: Any) -> list[Any]:
    """The objects of all nodes, by node; they must be picklable. Trust the nodes: pickles can run
    code."""
    import pickle

    return [pickle.loads(each) for each in _veche.comm_allgather(_session.loop(), pickle.dumps(mine))]


def mix_(x: Any, weights: dict[int, float] | None = None, readers: list[int] | None = None) -> Any:
    """x <- the weighted sum over neighbours and this node. Without weights: the two neighbours on a
    ring and this node, a third each.

    `weights`: of the nodes that this one takes from, itself included. `readers`: the nodes that take
    from this one; by default those of `weights`, as on an undirected graph.
    """
    loop = _session.loop()
    me, size = _veche.comm_me(loop), _veche.comm_size(loop)
    if weights is None:
        around = sorted({(me - 1) % size, me, (me + 1) % size})
        weights = {node: 1 / len(around) for node in around}
    row = sorted(weights.items())
    readers = [node for node in sorted(weights) if node != me] if readers is None else readers
    _veche.comm_mix(loop, _floats(x), row, readers)
    return x


def gossip_(x: Any, peer: int) -> Any:
    """x <- the mean of this node's x and that of `peer`, which calls it with this node."""
    me = _veche.comm_me(_session.loop())
    return mix_(x, {me: 0.5, peer: 0.5} if peer != me else {me: 1.0})


def send(to: int, x: Any) -> None:
    """Sends a copy of x; never waits."""
    _veche.comm_send(_session.loop(), to, _read(x))


def receive_(x: Any, source: int) -> Any:
    """Fills x with what node `source` has sent."""
    _veche.comm_receive(_session.loop(), source, _floats(x))
    return x


def barrier() -> None:
    """Returns when all nodes have called it."""
    _veche.comm_barrier(_session.loop())
