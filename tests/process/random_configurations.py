"""Random configurations of small runs, for scripts/fuzz-runs. Most are valid; Veche refuses the others in a sentence."""

import math

WORDS = {
    "graph": ("ring", "path", "star", "complete", "expander", "tree:{n}:2", "chords:{n}:1", "regular:{n}:{d}", "erdos-renyi:{n}:0.7",
              "exponential", "one-peer-exponential", "matchings:ring", "schedule:ring,star", "hypercube", "torus", "circulant:{n}:1+2"),
    "weights": ("metropolis", "metropolis-hastings", "max-degree", "best-constant", "optimal", "optimal-nonnegative", "uniform"),
    "codec": ("fp16", "bf16", "int8", "qsgd:4", "qsgd:15", "sign", "threshold:0.01", "topk:0.1", "topk:0.5", "randomk:0.3", "powersgd:1",
              "powersgd:2", "powergossip:1", "dgc:0.1"),
}


def numbers(draw, count, low, high):
    return [round(draw.uniform(low, high), 3) for _ in range(count)]


def quadratic(draw, nodes, alike=False):
    """`alike`: the nodes have one curvature, so that the mean of their parameters goes the same way however they mix."""
    size = draw.choice((1, 1, 2, 7, 40))
    lists = [numbers(draw, size, -3, 3) for _ in range(nodes)]
    return {"model.name": "quadratic", "model.b": lists, "model.a": numbers(draw, 1, 0.1, 2) * nodes if alike else numbers(draw, nodes, 0.1, 2)}


def network(draw, nodes):
    settings = {"model.name": "mlp", "model.hidden": draw.choice(("[8]", "[12,8]", "[6,6,6]")), "data.name": "synthetic",
                "data.samples": draw.choice((60, 97, 200)), "data.test_samples": 20, "data.shape": "[1,4,4]", "data.classes": 4, "data.batch": draw.choice((3, 5, 8)),
                "data.partition": draw.choice(("iid", "iid", "dirichlet:0.5", "classes:2")),
                "data.shuffle": draw.choice(("local", "local", "global", "partial:0.3"))}
    if draw.random() < 0.2:
        settings |= {"data.uneven": "repeat", "data.shuffle": "local"}
    if draw.random() < 0.2:
        settings |= draw.choice(({"data.accumulate": draw.choice((2, 3))}, {"data.global_batch": draw.choice((20, 31))}))
    if draw.random() < 0.15:
        settings |= {"model.prune": 0.3, "model.prune_at": 0}
    elif nodes % 2 == 0 and draw.random() < 0.3:
        settings |= {"pipeline.stages": 2, "pipeline.cut": "layers", "pipeline.schedule": draw.choice(("1f1b", "gpipe", "naive")),
                     "pipeline.micro_batches": draw.choice((1, 2, 3)), "pipeline.recompute": draw.choice(("true", "false"))}
    return settings


def strategy(draw, nodes):
    name = draw.choice(("allreduce", "parameter-server", "local-sgd", "consensus", "consensus", "consensus", "gossip", "gossip",
                        "push-sum", "moshpit", "hierarchical", "single", "none"))
    settings = {"strategy.name": name}
    some = lambda key, *values: settings.update({f"strategy.{key}": draw.choice(values)}) if draw.random() < 0.5 else None
    if name in ("consensus", "gossip", "push-sum", "moshpit", "hierarchical"):
        some("every", 1, 2, 3)
    if name == "allreduce":
        some("algorithm", "all-to-all", "tree", "ring", "halving-doubling", "auto")
        some("overlap", "true", "false")
    elif name == "parameter-server":
        some("servers", 1, 2, nodes)
        some("fanout", 0, 2)
        some("delay", 0, 0, 1)
        some("reduce", "mean", "sum")
    elif name == "local-sgd":
        some("period", 1, 2, 5, '"end"')
        some("outer", "none", "momentum", "nesterov", "adam", "yogi")
        some("weighted", "true", "false")
        if draw.random() < 0.15:
            settings |= {"strategy.elastic": 0.2, "strategy.outer": "none"}
        elif draw.random() < 0.3:
            settings |= {"strategy.period": 6, "strategy.fragments": draw.choice((1, 2, 3)), "strategy.delay": draw.choice((0, 1)),
                         "strategy.blend": draw.choice((0, 0.5))}
        elif draw.random() < 0.3:
            settings |= {"strategy.period": 3, "strategy.proximal": draw.choice((0, 0.1)), "strategy.correction": draw.choice(("none", "scaffold"))}
    elif name == "consensus":
        some("rounds", 1, 2)
        some("order", "adapt-then-combine", "combine-then-adapt")
        some("correction", "none", "gradient-tracking", "d2")
        some("momentum", "local", "tracked")
    elif name == "gossip":
        some("pairs", 1, 2)
        some("draw", "edges", "matching")
        some("outer", "none", "nesterov")
    elif name == "moshpit":
        some("rounds", 1, 2)
    elif name == "hierarchical":
        some("groups", 2, max(1, nodes // 2))
        some("between", "consensus", "gossip", "local-sgd", "push-sum", "moshpit")
        some("across", "leaders", "members")
    return settings


def asynchronous(draw):
    """Forms in which nobody waits: virtual time repeats them, and nothing else does."""
    return draw.choice(({"strategy.name": "parameter-server", "strategy.update": "async"},
                        {"strategy.name": "parameter-server", "strategy.update": "ssp", "strategy.staleness": 2},
                        {"strategy.name": "parameter-server", "strategy.backup": 1},
                        {"strategy.name": "gossip", "strategy.async": "true"},
                        {"strategy.name": "consensus", "strategy.async": "true"},
                        {"strategy.name": "local-sgd", "strategy.update": "async", "strategy.period": 3}))


def optimiser(draw):
    name = draw.choice(("sgd", "sgd", "adam", "adamw", "lars", "muon"))
    settings = {"optimizer.name": name, "optimizer.lr": draw.choice((0.003, 0.02, 0.1)) * (0.1 if name.startswith(("adam", "muon")) else 1)}
    if name in ("sgd", "lars") and draw.random() < 0.4:
        settings["optimizer.momentum"] = draw.choice((0.5, 0.9))
        if name == "sgd" and draw.random() < 0.5:
            settings["optimizer.nesterov"] = "true"
    for key, value in (("weight_decay", 0.01), ("clip", 0.5), ("scale_lr", "true")):
        if draw.random() < 0.15:
            settings[f"optimizer.{key}"] = value
    return settings


def topology(draw, nodes):
    fits = {"torus": nodes == 9, "hypercube": nodes in (2, 4, 8), "chords:{n}:1": nodes >= 4 and nodes % 2 == 0,
            "circulant:{n}:1+2": nodes >= 5, "regular:{n}:{d}": nodes >= 4}
    graph = draw.choice([graph for graph in WORDS["graph"] if fits.get(graph, True)]).format(n=nodes, d=2 if nodes % 2 else 3)
    return {"topology.graph": graph, "topology.weights": draw.choice(WORDS["weights"] if draw.random() < 0.5 else ("metropolis",))}


def codec(draw, strategy):
    if draw.random() < 0.5 or strategy in ("single", "none"):
        return {}
    words = [word for word in WORDS["codec"] if strategy in ("allreduce", "parameter-server") or not word.startswith("dgc")]
    settings = {"compress.codec": draw.choice(words)}
    if draw.random() < 0.15:
        settings["compress.lossless"] = "zstd"
    if draw.random() < 0.15:
        settings["compress.small"] = 10
    if draw.random() < 0.1:
        settings["compress.start"] = 2
    return settings


def configuration(draw, networks, length):
    """One run: what is set, and whether nobody waits in it. `networks`: the part that trains networks."""
    nodes = draw.choice((2, 2, 3, 3, 4, 4, 5, 6, 8, 9))
    settings = network(draw, nodes) if draw.random() < networks else quadratic(draw, nodes)
    if settings["model.name"] == "quadratic" and draw.random() < 0.05:
        settings = {"model.name": "vector", "model.length": draw.choice((1, 100, 3000))}
    nobody_waits = draw.random() < 0.1
    settings |= {"cluster.nodes": nodes, "run.steps": length, "run.seed": draw.randrange(1, 1000)}
    settings |= asynchronous(draw) if nobody_waits else strategy(draw, nodes)
    settings |= optimiser(draw) | topology(draw, nodes)
    settings |= codec(draw, settings["strategy.name"])
    if "pipeline.stages" in settings:
        settings["topology.graph"] = "ring"  # of replicas, which are fewer than the nodes
    if draw.random() < 0.2:
        settings["run.eval_every"] = max(1, length // 3)
    if draw.random() < 0.15 and not nobody_waits:
        settings |= {"cluster.speed": [draw.choice((1, 1, 0.5)) for _ in range(nodes)], "cluster.rest": "false"}
    return settings, nobody_waits


def mixing(draw, length):
    """A run whose strategy changes nothing about the mean of the nodes' parameters."""
    nodes = draw.choice((2, 3, 4, 5, 8))
    settings = quadratic(draw, nodes, alike=True) | topology(draw, nodes)
    settings |= draw.choice(({"strategy.name": "consensus", "strategy.rounds": draw.choice((1, 2))},
                             {"strategy.name": "consensus", "strategy.correction": draw.choice(("gradient-tracking", "d2"))},
                             {"strategy.name": "gossip", "strategy.draw": draw.choice(("edges", "matching"))},
                             {"strategy.name": "moshpit"},
                             {"strategy.name": "local-sgd", "strategy.period": draw.choice((1, 3))}))
    if settings["strategy.name"] in ("consensus", "gossip", "moshpit") and "strategy.correction" not in settings:
        settings |= codec(draw, settings["strategy.name"])
    return settings | {"cluster.nodes": nodes, "run.steps": length, "run.seed": draw.randrange(1, 1000), "optimizer.name": "sgd",
                       "optimizer.lr": 0.1}


def mean(rows):
    return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
