"""Veche: one neural network trained on many machines that agree with each other."""

from veche._veche import Error, PeerLost, RequestError, RunError

__all__ = ["Error", "PeerLost", "RequestError", "RunError"]
