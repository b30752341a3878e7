#!/usr/bin/env python3
"""A strategy of one's own, compared with built-in ones on three graphs.

    python3 examples/python/own_strategy.py --nodes 16 --steps 400 --plot comparison.svg

`lazy-mean` is consensus that saves messages: a node sends its parameters to its neighbours only when they
have moved by more than `threshold` since it last sent them. Otherwise all go on with what was sent last.
Everything runs in virtual time: quadratic functions with different minima, one on each node.
"""

import argparse

import numpy

import veche

GRAPHS = ["ring", "torus", "exponential"]


@veche.strategy("lazy-mean", graph="undirected", threshold=veche.Key(0.02, "relative change that is sent", least=0))
class LazyMean(veche.Strategy):
    """x_i <- x_i + sum_j w_ij (s_j - s_i), s: the last parameters that were sent"""

    state = ["sent", "known"]  # for checkpoints

    def __init__(self):
        self.weights = dict(self.mixing(0))
        self.givers = [node for node in self.weights if node != self.me]
        self.sent = numpy.zeros_like(self.x)
        self.known = numpy.zeros((len(self.givers), self.x.size), dtype=numpy.float32)

    def after_step(self, step):
        moved = numpy.linalg.norm(self.x - self.sent) > self.threshold * numpy.linalg.norm(self.x)
        if moved:
            self.sent[:] = self.x
        for node in self.readers(0):
            self.channel.send(node, self.x if moved else b"")
        mixed = self.x.copy()
        for row, node in zip(self.known, self.givers):
            theirs = self.channel.receive(node)
            if theirs.size:
                row[:] = theirs
            mixed += self.weights[node] * (row - self.sent)  # both ends take the same: the mean stays
        self.x = mixed


def train(strategy, graph, nodes, steps):
    """Centres that differ, so that the nodes must agree; the mean of all is best."""
    centres = numpy.random.default_rng(7).normal(size=(nodes, 50)).round(3)
    return veche.simulate({
        "model": {"name": "quadratic", "a": [1] * nodes, "b": centres.tolist()},
        "optimizer": {"name": "sgd", "lr": 0.05, "schedule": "cosine"},
        "run": {"steps": steps, "eval_every": max(1, steps // 20)},
        "topology": {"graph": graph},
        "network": {"bandwidth": "10Mbps", "latency": "1ms"},
        "strategy": {"name": strategy},
    }, keep=False, progress=False), centres.mean(axis=0)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, default=16)
    options.add_argument("--steps", type=int, default=400)
    options.add_argument("--plot", help="draw the results into this file (.svg, .png or .pdf)")
    given = options.parse_args()

    print(f"{'graph':12} {'strategy':12} {'error':>9} {'MB sent':>8} {'seconds':>8}")
    results = []
    for graph in GRAPHS:
        for strategy in ("lazy-mean", "consensus", "allreduce"):
            result, best = train(strategy, graph, given.nodes, given.steps)
            error = float(numpy.linalg.norm(numpy.array(result.parameters) - best) / numpy.linalg.norm(best))
            results.append((graph, strategy, error, result.bytes_sent / 1e6, result.seconds))
            print(f"{graph:12} {strategy:12} {error:9.2e} {results[-1][3]:8.3f} {result.seconds:8.3f}")
    if given.plot:
        plot(results, given.plot)


def plot(results, file):
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib: install the Debian package python3-matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(GRAPHS), figsize=(4 * len(GRAPHS), 3.2), sharey=True, layout="constrained")
    for axis, graph in zip(axes, GRAPHS):
        for of, strategy, error, sent, _ in results:
            if of == graph:
                axis.loglog(max(sent, 1e-6), max(error, 1e-9), "o", label=strategy)
        axis.set_title(graph)
        axis.set_xlabel("MB sent")
    axes[0].set_ylabel("distance from the best")
    axes[-1].legend()
    figure.savefig(file)


if __name__ == "__main__":
    main()
