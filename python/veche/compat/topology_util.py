"""BlueFog's graphs as specs of Veche's: `from veche.compat import topology_util`.

A graph is what `set_topology` takes: a spec such as "ring:8", a `veche.Topology`, or a DiGraph of
networkx.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from veche._veche import RequestError
from veche.compat._tensors import unmatched
from veche.graphs import Topology, topology


def ExponentialTwoGraph(size: int) -> str:  # noqa: N802
    """Node i sends to i + 1, i + 2, i + 4, ..."""
    return f"exponential:{size}"


def ExponentialGraph(size: int, base: int = 2) -> str:  # noqa: N802
    """Node i sends to i + base^k."""
    if base == 2:
        return ExponentialTwoGraph(size)
    lengths = sorted({base**k for k in range(size) if base**k < size})
    raise RequestError(
        f"ExponentialGraph has base 2 here: pass a DiGraph of networkx with the edges i -> i + {lengths} for other bases"
    )


def RingGraph(size: int, connect_style: int = 0) -> str:  # noqa: N802
    """A ring in both directions."""
    if connect_style != 0:
        raise RequestError("RingGraph has edges in both directions here: pass a DiGraph of networkx for a one-way ring")
    return f"ring:{size}"


def StarGraph(size: int, center_rank: int = 0) -> str:  # noqa: N802
    """All nodes and one in the middle."""
    if center_rank != 0:
        raise RequestError("StarGraph has node 0 in the middle here: pass a DiGraph of networkx for another one")
    return f"star:{size}"


def MeshGrid2DGraph(size: int, shape: Any = None) -> str:  # noqa: N802
    """A grid, as square as possible without a shape."""
    if shape is None:
        rows = next(r for r in range(math.isqrt(size), 0, -1) if size % r == 0)
        shape = (rows, size // rows)
    if shape[0] * shape[1] != size:
        raise RequestError(f"a grid of {shape[0]} x {shape[1]} does not have {size} nodes")
    return f"grid:{shape[0]}x{shape[1]}" if shape[0] > 1 else f"path:{size}"


def FullyConnectedGraph(size: int) -> str:  # noqa: N802
    """All pairs."""
    return f"complete:{size}"


class Links:
    """The edges and weights of a graph, of whichever kind it was given."""

    def __init__(self, graph: Any, size: int) -> None:
        self.sources: list[dict[int, float]] = [{} for _ in range(size)]  # by node; not the node itself
        self.own: list[float] = [0.0] * size
        if isinstance(graph, str):
            graph = topology(graph, nodes=None if ":" in graph else size, directed=True) if size > 1 else None
        if graph is None:
            self.own = [1.0] * size
        elif isinstance(graph, Topology):
            self._check(graph.nodes, size)
            for a, b in graph.edges:
                for source, node in ((a, b),) if graph.directed else ((a, b), (b, a)):
                    self.sources[node][source] = float(graph.matrix[node, source])
            self.own = [float(graph.matrix[node, node]) for node in range(size)]
        elif hasattr(graph, "predecessors") and hasattr(graph, "number_of_nodes"):
            self._check(graph.number_of_nodes(), size)
            for node in range(size):
                for source in graph.predecessors(node):
                    weight = float(graph[source][node].get("weight", 1.0))
                    if source == node:
                        self.own[node] = weight
                    else:
                        self.sources[node][int(source)] = weight
        else:
            raise TypeError(
                f"a topology is a spec such as 'ring:8', a veche.Topology or a networkx.DiGraph, not {type(graph).__name__}"
            )

    def _check(self, nodes: int, size: int) -> None:
        if nodes != size:
            raise RequestError(f"the topology has {nodes} nodes, and the job has {size} processes")

    def readers(self, of: int) -> list[int]:
        return [node for node, sources in enumerate(self.sources) if of in sources]


def _size_of(graph: Any) -> int:
    if isinstance(graph, str):
        return topology(graph, directed=True).nodes
    return int(graph.nodes) if isinstance(graph, Topology) else int(graph.number_of_nodes())


def GetRecvWeights(topo: Any, rank: int) -> tuple[float, dict[int, float]]:  # noqa: N802
    """The weight of a node for itself, and for those that it receives from."""
    links = Links(topo, _size_of(topo))
    return links.own[rank], dict(sorted(links.sources[rank].items()))


def GetSendWeights(topo: Any, rank: int) -> tuple[float, dict[int, float]]:  # noqa: N802
    """The weight of a node for itself, and those that its readers give it."""
    links = Links(topo, _size_of(topo))
    return links.own[rank], {node: links.sources[node][rank] for node in links.readers(rank)}


def GetDynamicOnePeerSendRecvRanks(topo: Any, self_rank: int) -> Iterator[tuple[list[int], list[int]]]:  # noqa: N802
    """For ever: the one node that this one sends to, clockwise from it, and those that send to
    this one."""
    size = _size_of(topo)
    links = Links(topo, size)
    targets = [sorted(links.readers(node), key=lambda to: (to - node) % size) for node in range(size)]
    turn = 0
    while True:
        to = [each[turn % len(each)] if each else None for each in targets]
        mine = to[self_rank]
        yield [mine] if mine is not None else [], [node for node in range(size) if to[node] == self_rank]
        turn += 1


_WAY = "use one of ExponentialTwoGraph, RingGraph, StarGraph, MeshGrid2DGraph, FullyConnectedGraph, or a spec of docs/topologies.md"
SymmetricExponentialGraph = unmatched("SymmetricExponentialGraph", _WAY)
PowerTwoRingGraph = ExponentialTwoGraph  # its older name

__all__ = [
    "ExponentialGraph", "ExponentialTwoGraph", "FullyConnectedGraph", "GetDynamicOnePeerSendRecvRanks",
    "GetRecvWeights", "GetSendWeights", "Links", "MeshGrid2DGraph", "PowerTwoRingGraph", "RingGraph",
    "StarGraph", "SymmetricExponentialGraph",
]  # fmt: skip
