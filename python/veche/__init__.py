"""Veche: one neural network trained on many machines that agree with each other."""

from veche._veche import Error, PeerLost, RequestError, RunError

__all__ = ["Error", "PeerLost", "RequestError", "RunError"]

_LAZY = {
    "Optimizer": "optimizer", "shard": "data", "comm": "comm",
    "rank": "_session", "size": "_session", "local_rank": "_session", "finish": "_session",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(name)
    import importlib
    module = importlib.import_module("veche." + _LAZY[name])
    return module if name == _LAZY[name] else getattr(module, name)
