"""`topology`: a graph, the weights with which nodes mix, and how fast they agree."""

from __future__ import annotations

import os
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Optional, Union

from veche._veche import BuiltTopology, RequestError, build_topology
from veche.configuration import kind
from veche.results import html_table, import_pyplot

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes
    from numpy.typing import NDArray



class Topology:
    """A graph with the mixing matrix of every round: x_i <- sum_j w_ij x_j. Made by `veche.topology`."""

    def __init__(self, built: BuiltTopology) -> None:
        self._built = built

    @property
    def nodes(self) -> int:
        return self._built.nodes

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        """Of all rounds, sorted: (smaller, larger), or (from, to) in a directed graph."""
        return self._built.edges

    @property
    def directed(self) -> bool:
        return self._built.directed

    @property
    def labels(self) -> list[str]:
        """The names of the nodes in a graph's file; empty without names."""
        return self._built.labels

    @property
    def notices(self) -> list[str]:
        """What was repaired in a graph's file."""
        return self._built.notices

    @cached_property
    def matrix(self) -> NDArray[numpy.float64]:
        """The mixing matrix; with weights that change, that of round 0."""
        return self.at(0)

    def at(self, round: int) -> NDArray[numpy.float64]:
        """The mixing matrix of a round 0, 1, 2, ..."""
        if not isinstance(round, int):
            raise TypeError(f"round must be an int, not {kind(round)}")
        if round < 0:
            raise RequestError(f"rounds are counted from 0, and {round} is below")
        return self._built.matrix_at(round)

    @cached_property
    def _contraction(self) -> tuple[float, Optional[float], bool]:
        return self._built.contraction()

    @property
    def rho(self) -> float:
        """The factor by which disagreement shrinks per round; 1: the nodes never agree."""
        return self._contraction[0]

    @property
    def estimated(self) -> bool:
        """Whether `rho` was estimated from rounds that were drawn."""
        return self._contraction[2]

    @property
    def bound(self) -> Optional[float]:
        """With optimal weights: a proven lower bound of `rho` for any weights on this graph."""
        return self._built.bound

    @property
    def period(self) -> int:
        """The rounds after which the weights repeat; 0: they are drawn at random for ever."""
        return self._built.period

    def describe(self) -> str:
        """One line, such as "torus:4x6, optimal"."""
        return self._built.describe()

    def svg(self) -> str:
        """The picture of `veche topology --svg`."""
        return self._built.svg()

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws the mixing matrix with matplotlib; `svg()` draws the graph."""
        if ax is None:
            _, ax = import_pyplot().subplots()
        largest = float(abs(self.matrix).max())
        image = ax.imshow(self.matrix, cmap="RdBu_r", vmin=-largest, vmax=largest)
        ax.figure.colorbar(image, ax=ax, label="weight")
        ax.set_xlabel("node that is read")
        ax.set_ylabel("node")
        ax.set_title(f"{self.describe()}: rho {self.rho:.4f}")
        return ax

    def _facts(self) -> list[list[str]]:
        facts = [["nodes", str(self.nodes)], ["edges", f"{len(self.edges):,}" + (", one way" if self.directed else "")],
                 ["rho", f"{self.rho:.6g}" + (" (estimated)" if self.estimated else "")]]
        if self.bound is not None:
            facts.append(["no weights below", f"{self.bound:.6g}"])
        if self.period != 1:
            facts.append(["period", str(self.period) if self.period else "drawn at random"])
        return facts

    def __repr__(self) -> str:
        return f"<veche.Topology {self.describe()}: " + ", ".join(" ".join(fact) for fact in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.describe())}</b>" + html_table([], self._facts()) + (self._repr_svg_() or "")

    def _repr_svg_(self) -> Optional[str]:
        try:
            return self.svg()
        except RequestError:  # too many nodes for a picture
            return None


def topology(graph: Union[str, os.PathLike[str]], weights: str = "metropolis", *, nodes: Optional[int] = None,
             seed: int = 1, directed: bool = False) -> Topology:
    """Builds a graph with mixing weights: veche.topology("torus:4x6", weights="optimal").

    graph      a spec (docs/topologies.md) such as "ring:8", or a file: "file:PATH" or a pathlib.Path
    weights    a rule, such as "metropolis" or "optimal"
    nodes      the number of nodes if the spec has none: veche.topology("ring", nodes=8)
    seed       of random graphs without one
    directed   allow one-way edges, for push-sum
    """
    spec = graph if isinstance(graph, str) else f"file:{os.fspath(graph)}" if isinstance(graph, os.PathLike) else None
    if spec is None:
        raise TypeError(f"graph must be a str such as 'ring:8' or a path, not {kind(graph)}")
    if not isinstance(weights, str):
        raise TypeError(f"weights must be a str such as 'metropolis', not {kind(weights)}")
    for name, value in (("nodes", nodes), ("seed", seed)):
        if not isinstance(value, int) and not (value is None and name == "nodes"):
            raise TypeError(f"{name} must be an int, not {kind(value)}")
    return Topology(build_topology(spec, weights, nodes, seed, bool(directed)))
