"""Veche: one neural network trained on many machines that agree with each other.

    import veche
    result = veche.train("run.toml", set={"strategy.name": "gossip"}, epochs=2)
    result.accuracy["mean"], result.metrics["train.loss"], result.plot()

    veche.simulate("run.toml", set={"network.bandwidth": "100Mbps"})   # in virtual time
    veche.compare("run.toml", strategy=["allreduce", "consensus", "local-sgd:8"])
    veche.topology("torus:4x6", weights="optimal").rho

Every section and key of a configuration is in docs/configuration.md. A wrong request raises
RequestError, a run that fails RunError, with the sentences of the command line.
"""

from veche._veche import Error, PeerLost, RequestError, RunError, __version__ as __version__

for _error in (Error, PeerLost, RequestError, RunError):
    _error.__module__ = "veche"  # as tracebacks name them

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    from veche import comm as comm
    from veche._session import finish as finish, local_rank as local_rank, rank as rank, size as size
    from veche.comparing import Comparison as Comparison, compare as compare
    from veche.data import shard as shard
    from veche.graphs import Topology as Topology, topology as topology
    from veche.optimizer import Optimizer as Optimizer, Optimizers as Optimizers, SharedOptimizer as SharedOptimizer
    from veche.own import Batch as Batch, Key as Key, Learner as Learner, NodeEnded as NodeEnded, Strategy as Strategy
    from veche.own import dataset as dataset, learner as learner, register_dataset as register_dataset, strategy as strategy
    from veche.progress import Progress as Progress
    from veche.results import Result as Result
    from veche.training import simulate as simulate, train as train

# Where the other names come from: each module is imported when a name of it is first used, so that
# `import veche` is quick.
_PLACES = {
    "Comparison": "veche.comparing", "compare": "veche.comparing",
    "Optimizer": "veche.optimizer", "Optimizers": "veche.optimizer", "SharedOptimizer": "veche.optimizer", "shard": "veche.data", "comm": "veche.comm",
    "finish": "veche._session", "local_rank": "veche._session", "rank": "veche._session", "size": "veche._session",
    "Batch": "veche.own", "Key": "veche.own", "Learner": "veche.own", "NodeEnded": "veche.own", "Strategy": "veche.own",
    "dataset": "veche.own", "learner": "veche.own", "register_dataset": "veche.own", "strategy": "veche.own",
    "Progress": "veche.progress",
    "Result": "veche.results",
    "Topology": "veche.graphs", "topology": "veche.graphs",
    "simulate": "veche.training", "train": "veche.training",
}

__all__ = [
    "Batch", "Comparison", "Error", "Key", "Learner", "NodeEnded", "Optimizer", "Optimizers",
    "PeerLost", "Progress", "RequestError", "Result", "RunError", "SharedOptimizer", "Strategy", "Topology", "comm", "compare",
    "dataset", "finish", "learner", "local_rank", "rank", "register_dataset", "shard",
    "simulate", "size", "strategy", "topology", "train",
]


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'veche' has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(place)
    except ModuleNotFoundError as error:  # not an ImportError: help() and others look at every name
        raise AttributeError(f"veche.{name} needs the Python module {error.name!r}, which is not installed") from error
    found: object = module if place == f"veche.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
