"""BlueFog's interface for PyTorch: `import veche.compat.bluefog as bf`.

All processes call the same functions in the same order, and make equally many steps. The
optimizers keep no checkpoints: `veche.Optimizer(optimizer, model, strategy="consensus")` keeps
them, and its run can be watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Union

import numpy as np
import torch

from veche import _session, comm
from veche._veche import RequestError
from veche.compat import _tensors, topology_util as topology_util
from veche.compat._job import local_rank as local_rank, local_size as local_size, rank as rank
from veche.compat._job import shutdown as shutdown, size as size
from veche.compat._tensors import Handle, later, unmatched
from veche.optimizer import Optimizer

Weights = Union[Mapping[int, float], None]


class CommunicationType(Enum):
    neighbor_allreduce = "neighbor.allreduce"
    hierarchical_neighbor_allreduce = "hierarchical.neighbor.allreduce"
    allreduce = "allreduce"
    empty = "empty"


class _Graph:
    """The graph of this process's job."""

    given: Any = None
    weighted = False
    links: Union[topology_util.Links, None] = None


def init(topology_fn: Union[Callable[[int], Any], None] = None, is_weighted: bool = False) -> None:
    """Joins the job of mpirun, srun or veche.launch. The graph is ExponentialTwoGraph, or what
    `topology_fn` makes of the number of processes."""
    _session.place()
    set_topology(topology_fn(size()) if topology_fn else None, is_weighted)


def set_topology(topology: Any = None, is_weighted: bool = False) -> bool:
    """Sets the graph: a spec such as "ring:8", a veche.Topology or a networkx.DiGraph, the same
    on all processes. With `is_weighted` its weights are used, otherwise the plain average of
    neighbours."""
    given = topology_util.ExponentialTwoGraph(size()) if topology is None else topology
    links = topology_util.Links(given, size())
    _Graph.given, _Graph.weighted, _Graph.links = given, is_weighted, links
    return True


def load_topology() -> Any:
    """What `set_topology` was given."""
    _links()
    return _Graph.given


def is_topo_weighted() -> bool:
    return _Graph.weighted


def _links() -> topology_util.Links:
    if _Graph.links is None:
        set_topology()
    assert _Graph.links is not None
    return _Graph.links


def in_neighbor_ranks() -> list[int]:
    """The processes that this one receives from."""
    return sorted(_links().sources[rank()])


def out_neighbor_ranks() -> list[int]:
    """The processes that this one sends to."""
    return _links().readers(rank())


def allreduce(
    tensor: torch.Tensor, average: bool = True, is_hierarchical_local: bool = False, name: Union[str, None] = None
) -> torch.Tensor:
    """A new tensor: the mean or the sum over all processes."""
    if is_hierarchical_local:
        raise RequestError('exchanges are between all processes: use veche.Optimizer(..., strategy="hierarchical")')
    return _tensors.allreduce(tensor, average)


def allreduce_(tensor: torch.Tensor, *arguments: Any, **named: Any) -> torch.Tensor:
    """`allreduce` in place."""
    made = allreduce(tensor, *arguments, **named)
    with torch.no_grad():
        return tensor.copy_(made)


def broadcast(tensor: torch.Tensor, root_rank: int, name: Union[str, None] = None) -> torch.Tensor:
    """A new tensor: that of process `root_rank`."""
    return _tensors.broadcast_(tensor.detach().clone(), root_rank)


def broadcast_(tensor: torch.Tensor, root_rank: int, name: Union[str, None] = None) -> torch.Tensor:
    """Replaces the tensor by that of process `root_rank`."""
    return _tensors.broadcast_(tensor, root_rank)


def allgather(tensor: torch.Tensor, name: Union[str, None] = None) -> torch.Tensor:
    """The tensors of all processes, one after the other along the first side."""
    return _tensors.allgather(tensor)


def neighbor_allgather(tensor: torch.Tensor, name: Union[str, None] = None) -> torch.Tensor:
    """The tensors of the processes that this one receives from, along the first side, by rank."""
    return _tensors.allgather(tensor, in_neighbor_ranks())


def neighbor_allreduce(
    tensor: torch.Tensor,
    self_weight: Union[float, None] = None,
    src_weights: Weights = None,
    dst_weights: Union[Mapping[int, float], Iterable[int], None] = None,
    enable_topo_check: bool = True,
    name: Union[str, None] = None,
) -> torch.Tensor:
    """A new tensor: self_weight * tensor + the sum of src_weights[r] * what process r sends.

    Without weights those of the graph. With `dst_weights` this process sends to those alone, each
    time `dst_weights[r] * tensor`, and receives from those of `src_weights` alone.
    """
    mine = _tensors.host_array(tensor)
    if (self_weight is None) != (src_weights is None):
        raise RequestError("self_weight and src_weights belong together: give both or neither")
    links, me = _links(), rank()
    sources = links.sources[me]
    if dst_weights is None:
        targets = dict.fromkeys(links.readers(me), 1.0)
        if src_weights is not None:
            strange = sorted(set(src_weights) - set(sources))
            if strange:
                raise RequestError(
                    f"rank {strange[0]} does not send to rank {me} in this topology: give dst_weights on all ranks, "
                    "or set another topology"
                )
            sources = {source: float(src_weights.get(source, 0.0)) for source in sources}
    else:
        if src_weights is None:
            raise RequestError("dst_weights needs self_weight and src_weights: say who sends to this rank")
        sources = {int(source): float(weight) for source, weight in src_weights.items()}
        targets = (
            {int(to): float(weight) for to, weight in dst_weights.items()}
            if isinstance(dst_weights, Mapping) else {int(to): 1.0 for to in dst_weights}
        )  # fmt: skip
        for other in (*sources, *targets):
            if not 0 <= other < size() or other == me:
                raise RequestError(f"rank {other} cannot be a neighbour of rank {me}: ranks are 0 to {size() - 1}")
        if enable_topo_check:
            _check_pattern(sources, targets)
    if src_weights is not None and self_weight is not None:
        own = float(self_weight)
    elif _Graph.weighted:
        own = links.own[me]
    else:
        own = 1 / (len(sources) + 1)
        sources = dict.fromkeys(sources, own)
    return _tensors.tensor_like(_mixed(mine, own, sources, targets), tensor)


def _mixed(mine: np.ndarray, own: float, sources: dict[int, float], targets: dict[int, float]) -> np.ndarray:
    if mine.dtype.kind != "f":
        raise TypeError(f"tensor has the type {mine.dtype}, and only floating-point numbers are averaged")
    if mine.dtype == np.float32 and all(weight == 1 for weight in targets.values()):
        return comm.mix_(mine, {rank(): own, **sources}, sorted(targets))
    # Pairs of floats carry doubles: their bits pass unchanged.
    for to, weight in sorted(targets.items()):
        comm.send(to, np.ascontiguousarray(mine * weight, mine.dtype).reshape(-1).view(np.float32))
    total, theirs = mine * own, np.empty_like(mine)
    for source, weight in sorted(sources.items()):
        comm.receive_(theirs.reshape(-1).view(np.float32), source)
        total += weight * theirs
    return np.asarray(total, mine.dtype)


def _check_pattern(sources: dict[int, float], targets: dict[int, float]) -> None:
    """Nobody may wait for a message that is not sent."""
    patterns = comm.allgather_object((sorted(sources), sorted(targets)))
    for node, (wanted, _) in enumerate(patterns):
        for source in wanted:
            if node not in patterns[source][1]:
                raise RequestError(f"rank {node} waits for rank {source}, whose dst_weights do not have it")
    for node, (_, sent) in enumerate(patterns):
        for to in sent:
            if node not in patterns[to][0]:
                raise RequestError(f"rank {node} sends to rank {to}, whose src_weights do not have it")


def pair_gossip(
    tensor: torch.Tensor,
    target_rank: int,
    self_weight: Union[float, None] = None,
    pair_weight: Union[float, None] = None,
    name: Union[str, None] = None,
) -> torch.Tensor:
    """A new tensor: the average, or weighted sum, of this one and that of `target_rank`, which
    calls it with this rank."""
    if (self_weight is None) != (pair_weight is None):
        raise RequestError("self_weight and pair_weight belong together: give both or neither")
    if not 0 <= target_rank < size() or target_rank == rank():
        raise RequestError(f"rank {target_rank} cannot be the partner of rank {rank()}: ranks are 0 to {size() - 1}")
    own, other = (0.5, 0.5) if self_weight is None or pair_weight is None else (self_weight, pair_weight)
    mixed = _mixed(_tensors.host_array(tensor), own, {target_rank: other}, {target_rank: 1.0})
    return _tensors.tensor_like(mixed, tensor)


def broadcast_parameters(params: Any, root_rank: int = 0) -> None:
    """Gives all processes the tensors of process `root_rank`: of a state_dict, or a list."""
    _tensors.broadcast_parameters(params, root_rank)


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, root_rank: int = 0, device: Any = None
) -> None:
    """Gives all processes the state and options of the optimizer of process `root_rank`."""
    _tensors.broadcast_optimizer_state(optimizer, root_rank)


def allreduce_parameters(params: Any) -> None:
    """Replaces each tensor by its mean over all processes."""
    for each in params.items() if isinstance(params, Mapping) else params:
        tensor = each[1] if isinstance(each, tuple) else each
        if tensor.dtype.is_floating_point:
            allreduce_(tensor)


def barrier() -> None:
    """Returns when all processes have called it."""
    comm.barrier()


allreduce_nonblocking, allreduce_nonblocking_ = later(allreduce), later(allreduce_)
broadcast_nonblocking, broadcast_nonblocking_ = later(broadcast), later(broadcast_)
allgather_nonblocking, neighbor_allgather_nonblocking = later(allgather), later(neighbor_allgather)
neighbor_allreduce_nonblocking, pair_gossip_nonblocking = later(neighbor_allreduce), later(pair_gossip)


def wait(handle: Handle) -> Any:
    """The result of a call whose name ends in `_nonblocking`."""
    return handle.result


synchronize = wait


def poll(handle: Handle) -> bool:
    return True


def DistributedAdaptThenCombineOptimizer(  # noqa: N802
    optimizer: torch.optim.Optimizer,
    model: Any,
    communication_type: CommunicationType = CommunicationType.neighbor_allreduce,
    num_steps_per_communication: int = 1,
    **options: Any,
) -> torch.optim.Optimizer:
    """`step()` makes the optimizer's step, and then takes the average of the neighbours'
    parameters: w <- average(w - lr * g(w)). `options` are those of `veche.Optimizer`."""
    return _combining(optimizer, model, communication_type, num_steps_per_communication, False, options)


def DistributedAdaptWithCombineOptimizer(  # noqa: N802
    optimizer: torch.optim.Optimizer,
    model: Any,
    communication_type: CommunicationType = CommunicationType.neighbor_allreduce,
    num_steps_per_communication: int = 1,
    **options: Any,
) -> torch.optim.Optimizer:
    """`step()` takes the average of the neighbours' parameters, and then the optimizer's step
    with the gradient of those before: w <- average(w) - lr * g(w). `options` are those of
    `veche.Optimizer`."""
    return _combining(optimizer, model, communication_type, num_steps_per_communication, True, options)


def DistributedGradientAllreduceOptimizer(  # noqa: N802
    optimizer: torch.optim.Optimizer, model: Any, num_steps_per_communication: int = 1, **options: Any
) -> torch.optim.Optimizer:
    """`step()` uses the mean of the gradients of all processes."""
    options.setdefault("keep", False)
    options.setdefault("strategy", "allreduce")
    return Optimizer(optimizer, _one(model), **options)


def _one(model: Any) -> Any:
    if isinstance(model, (list, tuple)):
        return torch.nn.ModuleList(model) if len(model) > 1 else model[0]
    return model


def _combining(
    optimizer: torch.optim.Optimizer, model: Any, kind: CommunicationType, every: int, first: bool, options: dict[str, Any]
) -> torch.optim.Optimizer:
    _check_kind(kind)
    if every < 1:
        raise RequestError(f"num_steps_per_communication = {every} is below 1")
    if "strategy" in options:
        raise RequestError(f'for strategy = "{options["strategy"]}" use veche.Optimizer(optimizer, model, strategy=...)')
    options.setdefault("keep", False)  # BlueFog leaves no folder either
    # The run makes the steps of each process; the graph may be another one in each.
    made = _tensors.subclass(Optimizer(optimizer, _one(model), strategy="none", **options), _Step)
    made.communication_type, made._bf_every, made._bf_first, made._bf_made = kind, every, first, 0
    made.self_weight = made.src_weights = made.dst_weights = None
    made.enable_topo_check = False
    return made


def _check_kind(kind: Any) -> None:
    if not isinstance(kind, CommunicationType):
        raise TypeError(f"communication_type must be a CommunicationType, not {type(kind).__name__}")
    if kind is CommunicationType.hierarchical_neighbor_allreduce:
        raise RequestError('machines are not averaged apart here: use veche.Optimizer(..., strategy="hierarchical")')


class _Step:
    """What BlueFog's optimizers have beside `step`. Weights may be set between steps."""

    communication_type: CommunicationType
    self_weight: Union[float, None]
    src_weights: Weights
    dst_weights: Union[Mapping[int, float], Iterable[int], None]
    enable_topo_check: bool
    _bf_every: int
    _bf_first: bool
    _bf_made: int

    def step(self, closure: Union[Callable[[], Any], None] = None, grad_scaler: Any = None) -> Any:
        loss = _tensors.evaluated(self, closure)
        self._bf_made += 1
        due = self._bf_made % self._bf_every == 0
        if due and self._bf_first:
            self._bf_combine()
        super().step(None, grad_scaler)  # type: ignore[misc]
        if due and not self._bf_first:
            self._bf_combine()
        return loss

    step.hooked = step._with_counter = step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]

    def _bf_combine(self) -> None:
        kind = self.communication_type
        _check_kind(kind)
        if kind is CommunicationType.empty:
            return
        parameters = _tensors.parameters_of(self)
        flat = _tensors.flat_of(parameters)
        if kind is CommunicationType.allreduce:
            comm.allreduce_(flat)
        else:
            flat = neighbor_allreduce(
                flat, self.self_weight, self.src_weights, self.dst_weights, self.enable_topo_check
            )
        _tensors.read_flat(flat, parameters)


_WAY = 'use pair_gossip, neighbor_allreduce, or veche.Optimizer(..., strategy={"name": "gossip", "async": True})'
win_create, win_free = unmatched("bf.win_create", _WAY), unmatched("bf.win_free", _WAY)
win_put, win_get = unmatched("bf.win_put", _WAY), unmatched("bf.win_get", _WAY)
win_accumulate, win_update = unmatched("bf.win_accumulate", _WAY), unmatched("bf.win_update", _WAY)
win_update_then_collect = unmatched("bf.win_update_then_collect", _WAY)
DistributedWinPutOptimizer = unmatched("bf.DistributedWinPutOptimizer", _WAY)
DistributedPullGetOptimizer = unmatched("bf.DistributedPullGetOptimizer", _WAY)
DistributedPushSumOptimizer = unmatched(
    "bf.DistributedPushSumOptimizer", 'use veche.Optimizer(..., strategy="push-sum")'
)
hierarchical_neighbor_allreduce = unmatched(
    "bf.hierarchical_neighbor_allreduce", 'use veche.Optimizer(..., strategy="hierarchical")'
)
set_machine_topology = unmatched("bf.set_machine_topology", 'use veche.Optimizer(..., strategy="hierarchical")')

__all__ = [
    "CommunicationType", "DistributedAdaptThenCombineOptimizer", "DistributedAdaptWithCombineOptimizer",
    "DistributedGradientAllreduceOptimizer", "DistributedPullGetOptimizer", "DistributedPushSumOptimizer",
    "DistributedWinPutOptimizer", "allgather", "allgather_nonblocking", "allreduce", "allreduce_",
    "allreduce_nonblocking", "allreduce_nonblocking_", "allreduce_parameters", "barrier", "broadcast",
    "broadcast_", "broadcast_nonblocking", "broadcast_nonblocking_", "broadcast_optimizer_state",
    "broadcast_parameters", "hierarchical_neighbor_allreduce", "in_neighbor_ranks", "init",
    "is_topo_weighted", "load_topology", "local_rank", "local_size", "neighbor_allgather",
    "neighbor_allgather_nonblocking", "neighbor_allreduce", "neighbor_allreduce_nonblocking",
    "out_neighbor_ranks", "pair_gossip", "pair_gossip_nonblocking", "poll", "rank", "set_machine_topology",
    "set_topology", "shutdown", "size", "synchronize", "topology_util", "wait", "win_accumulate",
    "win_create", "win_free", "win_get", "win_put", "win_update", "win_update_then_collect",
]  # fmt: skip
