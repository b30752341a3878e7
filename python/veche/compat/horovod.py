"""Horovod's interface for PyTorch: `import veche.compat.horovod as hvd`.

Exchanges happen in `step()`, not during the backward pass, and all processes call the same
functions in the same order. `DistributedOptimizer` takes the arguments of `veche.Optimizer` too:
strategy="local-sgd", ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Union

import torch

from veche import _session, comm
from veche._veche import RequestError
from veche.compat import _tensors
from veche.compat._job import local_rank as local_rank, local_size as local_size, rank as rank
from veche.compat._job import shutdown as shutdown, size as size
from veche.compat._tensors import Handle, later, unmatched
from veche.optimizer import Optimizer


class ReduceOp(Enum):
    Average = "Average"
    Sum = "Sum"
    Adasum = "Adasum"
    Min = "Min"
    Max = "Max"
    Product = "Product"


Average, Sum, Adasum = ReduceOp.Average, ReduceOp.Sum, ReduceOp.Adasum
Min, Max, Product = ReduceOp.Min, ReduceOp.Max, ReduceOp.Product


class Compression(Enum):
    """Of gradients that are exchanged."""

    none = "none"
    fp16 = "fp16"


def init(*_: Any, **__: Any) -> None:
    """Joins the job of mpirun, srun or veche.launch."""
    _session.place()


def is_initialized() -> bool:
    return _session._place is not None


def _mean(op: ReduceOp, average: Union[bool, None] = None) -> bool:
    if average is not None:
        return bool(average)
    if op not in (Average, Sum):
        raise RequestError(f"op = {getattr(op, 'name', op)} does not exist here; choose Average or Sum")
    return op is Average


def _everybody(process_set: Any) -> None:
    if process_set is not None:
        raise RequestError("exchanges are between all processes: start the processes of a set as a job of their own")


def allreduce(
    tensor: torch.Tensor,
    average: Union[bool, None] = None,
    name: Union[str, None] = None,
    compression: Compression = Compression.none,
    op: ReduceOp = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
) -> torch.Tensor:
    """A new tensor: the mean or the sum over all processes. Gradients do not flow through it."""
    _everybody(process_set)
    scaled = tensor * prescale_factor if prescale_factor != 1 else tensor
    if compression is Compression.fp16 and scaled.dtype.is_floating_point:
        scaled = scaled.half().to(tensor.dtype)
    made = _tensors.allreduce(scaled, _mean(op, average))
    return made * postscale_factor if postscale_factor != 1 else made


def allreduce_(tensor: torch.Tensor, *arguments: Any, **named: Any) -> torch.Tensor:
    """`allreduce` in place."""
    made = allreduce(tensor, *arguments, **named)
    with torch.no_grad():
        return tensor.copy_(made)


def grouped_allreduce(tensors: Iterable[torch.Tensor], *arguments: Any, **named: Any) -> list[torch.Tensor]:
    """`allreduce` of each tensor."""
    return [allreduce(tensor, *arguments, **named) for tensor in tensors]


def allgather(tensor: torch.Tensor, name: Union[str, None] = None, process_set: Any = None) -> torch.Tensor:
    """The tensors of all processes, one after the other along the first side, in which they may
    differ."""
    _everybody(process_set)
    return _tensors.allgather(tensor)


def broadcast_(
    tensor: torch.Tensor, root_rank: int, name: Union[str, None] = None, process_set: Any = None
) -> torch.Tensor:
    """Replaces the tensor by that of process `root_rank`."""
    _everybody(process_set)
    return _tensors.broadcast_(tensor, root_rank)


def broadcast(
    tensor: torch.Tensor, root_rank: int, name: Union[str, None] = None, process_set: Any = None
) -> torch.Tensor:
    """A new tensor: that of process `root_rank`."""
    return broadcast_(tensor.detach().clone(), root_rank, name, process_set)


def broadcast_parameters(params: Any, root_rank: int = 0) -> None:
    """Gives all processes the tensors of process `root_rank`: of a state_dict, or a list."""
    _tensors.broadcast_parameters(params, root_rank)


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int = 0) -> None:
    """Gives all processes the state and options of the optimizer of process `root_rank`."""
    _tensors.broadcast_optimizer_state(optimizer, root_rank)


def broadcast_object(obj: Any = None, root_rank: int = 0, name: Union[str, None] = None) -> Any:
    """The object of process `root_rank`, which must be picklable."""
    return _tensors.broadcast_object(obj, root_rank)


def allgather_object(obj: Any, name: Union[str, None] = None) -> list[Any]:
    """The objects of all processes, which must be picklable."""
    return comm.allgather_object(obj)


def barrier(process_set: Any = None) -> None:
    """Returns when all processes have called it."""
    _everybody(process_set)
    comm.barrier()


allreduce_async, allreduce_async_ = later(allreduce), later(allreduce_)
allgather_async = later(allgather)
broadcast_async, broadcast_async_ = later(broadcast), later(broadcast_)


def synchronize(handle: Handle) -> Any:
    """The result of a call whose name ends in `_async`."""
    return handle.result


def poll(handle: Handle) -> bool:
    return True


def DistributedOptimizer(  # noqa: N802
    optimizer: torch.optim.Optimizer,
    named_parameters: Union[Iterable[tuple[str, torch.Tensor]], None] = None,
    compression: Compression = Compression.none,
    backward_passes_per_step: int = 1,
    op: ReduceOp = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Any = None,
    sparse_as_dense: bool = False,
    process_set: Any = None,
    **options: Any,
) -> torch.optim.Optimizer:
    """Lets `step()` use the mean or the sum of the gradients of all processes.

    `step()` exchanges what the backward passes before it have added up, however many they were:
    `backward_passes_per_step` need not be right. `options` are those of `veche.Optimizer`.
    """
    _everybody(process_set)
    mean = _mean(op)
    if not isinstance(compression, Compression):
        raise RequestError('compression is Compression.none or Compression.fp16; other codecs: compress="topk:0.01"')
    if backward_passes_per_step < 1:
        raise RequestError(f"backward_passes_per_step = {backward_passes_per_step} is below 1")
    _check_names(optimizer, named_parameters)
    if compression is not Compression.none:
        options.setdefault("compress", compression.value)
    options.setdefault("strategy", "allreduce")
    options.setdefault("keep", False)  # Horovod leaves no folder either
    made = _tensors.subclass(Optimizer(optimizer, **options), _Step)
    made._hvd_mean, made._hvd_dense, made._hvd_exchanged = mean, sparse_as_dense, False
    return made


def _check_names(optimizer: torch.optim.Optimizer, named: Union[Iterable[tuple[str, torch.Tensor]], None]) -> None:
    if named is None:
        return
    pairs = list(named)
    if any(not isinstance(pair, tuple) for pair in pairs):
        raise RequestError("named_parameters has no names: pass model.named_parameters()")
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestError(f"named_parameters has '{twice[0]}' twice: give each parameter a name of its own")
    known = {id(parameter) for _, parameter in pairs}
    missing = sum(id(parameter) not in known for parameter in _tensors.parameters_of(optimizer))
    if missing:
        raise RequestError(f"named_parameters lacks {missing} of the optimizer's parameters: pass those of the whole model")


class _Step:
    """What Horovod's optimizers have beside `step`."""

    _hvd_mean: bool
    _hvd_dense: bool
    _hvd_exchanged: bool  # the gradients are those of all processes already
    param_groups: list[dict[str, Any]]

    def step(self, closure: Union[Callable[[], Any], None] = None, grad_scaler: Any = None) -> Any:
        loss = _tensors.evaluated(self, closure)
        for p in _tensors.parameters_of(self):
            if p.grad is None:
                continue
            if self._hvd_dense and p.grad.is_sparse:
                p.grad = p.grad.to_dense()
            if not self._hvd_mean and not self._hvd_exchanged:
                p.grad.mul_(size())  # the run takes the mean
        self._hvd_exchanged = False
        super().step(None, grad_scaler)  # type: ignore[misc]
        return loss

    step.hooked = step._with_counter = step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]

    def synchronize(self) -> None:
        """Exchanges the gradients now, so that they can be clipped. The mean that `step` takes of
        equal gradients changes them no more, but sends them once more."""
        parameters = _tensors.parameters_of(self)
        for p in parameters:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            elif p.grad.is_sparse and self._hvd_dense:
                p.grad = p.grad.to_dense()
        gradients = [p.grad for p in parameters]
        flat = _tensors.flat_of(gradients)
        comm.allreduce_(flat, "mean" if self._hvd_mean else "sum")
        _tensors.read_flat(flat, gradients)
        self._hvd_exchanged = True

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """For a `step()` after `synchronize()`."""
        yield

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Nothing counts backward passes here."""


join = unmatched("hvd.join", "divide the data with veche.shard, which gives all processes equally many batches")
alltoall = unmatched("hvd.alltoall", "use allgather and keep the rows that are yours")
reducescatter = unmatched("hvd.reducescatter", "use allreduce and keep the rows that are yours")
add_process_set = unmatched("hvd.add_process_set", "start the processes of a set as a job of their own")
run = unmatched("hvd.run", "start the script with python3 -m veche.launch -n 4 script.py")
start_timeline = unmatched("hvd.start_timeline", "watch the run with veche watch (veche.Optimizer, keep=True)")

__all__ = [
    "Adasum", "Average", "Compression", "DistributedOptimizer", "Max", "Min", "Product", "ReduceOp", "Sum",
    "add_process_set", "allgather", "allgather_async", "allgather_object", "allreduce", "allreduce_",
    "allreduce_async", "allreduce_async_", "alltoall", "barrier", "broadcast", "broadcast_",
    "broadcast_async", "broadcast_async_", "broadcast_object", "broadcast_optimizer_state",
    "broadcast_parameters", "grouped_allreduce", "init", "is_initialized", "join", "local_rank",
    "local_size", "poll", "rank", "reducescatter", "run", "shutdown", "size", "start_timeline",
    "synchronize",
]  # fmt: skip
