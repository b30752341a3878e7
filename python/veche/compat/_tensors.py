"""What both interfaces are made of: exchanges of tensors of any type, on any device."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Union

import numpy as np
import torch

from veche import _session, _veche, comm
from veche._veche import RequestError


def host_array(tensor: torch.Tensor) -> np.ndarray:
    """A copy in the host's memory. Halves become floats, which hold every half."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor must be a torch.Tensor, not {type(tensor).__name__}")
    if tensor.layout != torch.strided:
        raise RequestError("sparse tensors are not exchanged: pass tensor.to_dense()")
    tensor = tensor.detach()
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    return np.array(tensor.cpu().numpy(), order="C")


def tensor_like(array: np.ndarray, original: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array)).to(device=original.device, dtype=original.dtype)


def all_arrays(array: np.ndarray) -> list[np.ndarray]:
    """The arrays of all processes; they may differ in the first side."""
    shape = (-1, *array.shape[1:]) if array.ndim else ()
    texts = _veche.comm_allgather(_session.loop(), array.tobytes())
    # An array without elements does not tell its first side.
    return [np.frombuffer(text, array.dtype).reshape(shape if text else (0, *array.shape[1:])) for text in texts]


def allreduce(tensor: torch.Tensor, mean: bool) -> torch.Tensor:
    """A new tensor: the sum or the mean over all processes."""
    array = host_array(tensor)
    if mean and array.dtype.kind != "f":
        raise RequestError(f"the mean of {tensor.dtype} need not be a whole number: pass tensor.float(), or ask for the sum")
    if array.dtype == np.float32:
        comm.allreduce_(array, "mean" if mean else "sum")
        return tensor_like(array, tensor)
    # Added here, in their own precision and in the order of the processes.
    total = np.sum(np.stack(all_arrays(array)), axis=0, dtype=array.dtype).reshape(array.shape)
    return tensor_like(total / _session.size() if mean else total, tensor)


def allgather(tensor: torch.Tensor, of: Union[Iterable[int], None] = None) -> torch.Tensor:
    """The tensors of all processes, or of some, one after the other along the first side."""
    arrays = all_arrays(host_array(tensor))
    chosen = [arrays[node] for node in (range(len(arrays)) if of is None else of)]
    joined = np.concatenate([np.atleast_1d(each) for each in chosen]) if chosen else host_array(tensor)[:0]
    return tensor_like(joined, tensor)


def from_root(mine: bytes, root: int) -> bytes:
    loop = _session.loop()
    if not 0 <= root < _session.size():
        raise RequestError(f"there is no rank {root}; ranks are 0 to {_session.size() - 1}")
    return _veche.comm_allgather(loop, mine if _session.rank() == root else b"")[root]


def broadcast_(tensor: torch.Tensor, root: int) -> torch.Tensor:
    """Replaces the tensor by that of process `root`."""
    if tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.is_contiguous():
        comm.broadcast_(tensor, root)
        return tensor
    array = host_array(tensor)
    theirs = np.frombuffer(bytearray(from_root(array.tobytes(), root)), array.dtype).reshape(array.shape)
    with torch.no_grad():
        tensor.copy_(tensor_like(theirs, tensor))
    return tensor


def broadcast_parameters(params: Any, root: int) -> None:
    """Of a state_dict, or of tensors with or without names."""
    if isinstance(params, Mapping):
        params = params.items()
    elif isinstance(params, torch.Tensor) or not isinstance(params, Iterable):
        raise TypeError(f"params must be a dict of tensors or a list, not {type(params).__name__}")
    for each in params:
        tensor = each[1] if isinstance(each, tuple) else each
        if isinstance(tensor, torch.Tensor):  # a state_dict may hold other things too
            broadcast_(tensor, root)


def broadcast_object(mine: Any, root: int) -> Any:
    return pickle.loads(from_root(pickle.dumps(mine) if _session.rank() == root else b"", root))


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root: int) -> None:
    state = broadcast_object(_without_views(optimizer.state_dict()), root)
    if _session.rank() != root:
        optimizer.load_state_dict(state)


def _without_views(value: Any) -> Any:
    # A pickled tensor brings all memory that it is a part of.
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {key: _without_views(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_without_views(each) for each in value)
    return value


class Handle:
    """What a call whose name ends in `_async` returns. The exchange is complete already."""

    def __init__(self, result: Any) -> None:
        self.result = result


def later(function: Callable[..., Any]) -> Callable[..., Handle]:
    """`function` as the other library's call that does not wait. All processes must call such
    functions in the same order."""

    def start(*arguments: Any, **named: Any) -> Handle:
        return Handle(function(*arguments, **named))

    start.__name__ = f"{function.__name__}_async"
    start.__doc__ = f"{function.__doc__} `synchronize` returns the result."
    return start


def unmatched(name: str, way: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        raise RequestError(f"{name} is not there: {way}")

    refuse.__name__ = name
    refuse.__doc__ = f"Raises RequestError: {way}."
    return refuse


def subclass(optimizer: torch.optim.Optimizer, added: type) -> torch.optim.Optimizer:
    """Lets the class of an optimizer that `veche.Optimizer` has returned begin with `added`."""
    shared = type(optimizer)
    optimizer.__class__ = type(shared.__name__, (added, shared), {"__module__": shared.__module__})
    return optimizer


def evaluated(optimizer: Any, closure: Union[Callable[[], Any], None]) -> Any:
    """The loss of a closure, which has then made the gradients; it is reported."""
    if closure is None:
        return None
    with torch.enable_grad():
        loss = closure()
    optimizer.report(loss)
    return loss


def parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return list({id(p): p for group in optimizer.param_groups for p in group["params"]}.values())


def flat_of(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """All tensors in one vector of floats in the host's memory, so that they are one message."""
    return torch.cat([t.detach().reshape(-1).to("cpu", torch.float32) for t in tensors])


def read_flat(flat: torch.Tensor, tensors: Iterable[torch.Tensor]) -> None:
    begin = 0
    with torch.no_grad():
        for tensor in tensors:
            tensor.copy_(flat[begin : begin + tensor.numel()].view(tensor.shape))
            begin += tensor.numel()
