#!/usr/bin/env python3
"""The published tables of average consensus and gossip on CIFAR-10, CIFAR-100 and Fashion-MNIST, run again.

    examples/thesis/tables.py                              lists the rows
    examples/thesis/tables.py --run 6.1 --part 0.1         trains a row for a tenth of its length, three seeds
    examples/thesis/tables.py --run all --seeds 1          all rows; those that were run are left out, a run that was
                                                           interrupted goes on
    examples/thesis/tables.py --write results.md           what was run, beside the published numbers

A row is trained by all its agents, and by one learner with their batches together (strategy `single`), with the same
schedule. The publication does not state the lengths and rates: here they are those of the models' usual recipes, written
below. `--part` shortens a run and its schedule alike; every result is told with the part it was run at.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VECHE = os.environ.get("VECHE", "veche")

# The usual recipe of each model on each set: epochs, and what falls when.
SETS = {
    "cifar10": {"epochs": 200, "milestones": (0.5, 0.75), "set": {
        "model.name": "resnet20", "optimizer.name": "sgd", "optimizer.lr": 0.1, "optimizer.momentum": 0.9, "optimizer.weight_decay": 1e-4,
        "optimizer.schedule": "multi-step"}},
    "cifar100": {"epochs": 200, "milestones": (0.5, 0.75), "set": {
        "model.name": "resnet20", "optimizer.name": "sgd", "optimizer.lr": 0.1, "optimizer.momentum": 0.9, "optimizer.weight_decay": 1e-4,
        "optimizer.schedule": "multi-step"}},
    "fashion-mnist": {"epochs": 20, "milestones": (), "set": {"model.name": "cnn", "optimizer.name": "adam", "optimizer.lr": 0.001}},
}
RING, TORUS, EXPANDER, COMPLETE = ("ring", 4), ("torus:6x6", 36), ("expander:25", 25), ("complete", 36)


def consensus(every=1, **more):
    return {"strategy.name": "consensus", "strategy.every": every, **more}


def gossip(pairs):
    return {"strategy.name": "gossip", "strategy.pairs": pairs}


UNEQUAL = {"data.partition": "dirichlet:1"}  # stands for "unbalanced, agents of unequal power", which is not described further
SCALED = {"optimizer.scale_lr": "true", "optimizer.warmup_epochs": 5}

# id: set, (graph, nodes), batch of an agent, settings, published accuracy of agents, their deviation, of one learner
ROWS = {
    "2.1": ("cifar10", TORUS, 32, consensus() | SCALED, 74.88, 1.15, 91.5),
    "2.4": ("cifar10", RING, 32, consensus() | SCALED, 92.13, 0.09, 91.5),
    "2.5": ("cifar10", RING, 32, gossip(4) | SCALED, 92.02, 0.06, 91.5),
    "2.6": ("cifar10", RING, 32, gossip(2) | SCALED, 91.96, 0.09, 91.5),
    "2.7": ("cifar10", RING, 32, gossip(1) | SCALED, 91.64, 0.00, 91.5),
    "2.8": ("fashion-mnist", RING, 100, consensus() | SCALED, 91.80, 0.16, 92.18),
    "2.9": ("cifar100", RING, 128, consensus() | SCALED, 67.67, 0.04, 68.21),
    "2.10": ("cifar100", RING, 128, gossip(4) | SCALED, 66.63, 0.16, 68.21),
    "2.11": ("cifar100", RING, 128, gossip(1) | SCALED, 67.23, 0.20, 68.21),
    "3.1": ("cifar10", RING, 32, consensus(), 92.13, 0.04, 91.79),
    "3.2": ("cifar10", EXPANDER, 32, consensus(), 90.12, 0.07, 89.31),
    "3.3": ("cifar10", EXPANDER, 32, consensus(5), 89.89, 0.10, 89.31),
    "3.4": ("cifar10", EXPANDER, 32, consensus(10), 89.36, 0.11, 89.31),
    "3.5": ("cifar10", ("chords:50:2", 50), 32, consensus(), 88.40, 0.12, 88.18),
    "3.6": ("cifar10", ("chords:50:4", 50), 32, consensus(), 88.51, 0.10, 88.18),
    "3.7": ("cifar10", ("chords:50:8", 50), 32, consensus(), 88.61, 0.08, 88.18),
    "3.8": ("cifar10", TORUS, 32, consensus(), 89.70, 0.08, 89.21),
    "3.9": ("cifar10", TORUS, 32, consensus(5), 88.63, 0.08, 89.21),
    "3.10": ("cifar10", TORUS, 6, consensus(), 91.55, 0.08, 91.12),
    "3.11": ("cifar10", TORUS, 6, consensus(5), 88.99, 0.08, 91.12),
    "3.12": ("cifar10", ("erdos-renyi:12:0.3@2", 12), 16, consensus() | {"topology.weights": "optimal"}, 91.80, 0.03, 91.24),
    "3.13": ("cifar10", COMPLETE, 32, consensus(), 89.21, 0.09, 89.21),
    "3.14": ("cifar10", COMPLETE, 32, consensus(3), 89.09, 0.09, 89.21),
    "3.15": ("cifar10", COMPLETE, 32, consensus(5), 89.18, 0.08, 89.21),
    "3.16": ("cifar10", COMPLETE, 32, consensus(10), 88.14, 0.09, 89.21),
    "4.1": ("cifar10", RING, 32, consensus() | UNEQUAL, 92.19, 0.02, 91.79),
    "4.2": ("cifar10", TORUS, 32, consensus() | UNEQUAL, 89.10, 0.14, 89.21),
    "4.3": ("cifar10", TORUS, 6, consensus() | UNEQUAL, 90.87, 0.10, 91.12),
    "4.4": ("cifar10", TORUS, 6, consensus() | UNEQUAL | {"strategy.rounds": 2}, 91.13, 0.12, 91.12),
    "5.1": ("cifar100", RING, 32, consensus(), 68.62, 0.08, 68.21),
    "5.2": ("cifar100", TORUS, 32, consensus(), 65.11, 0.11, 63.46),
    "5.3": ("cifar100", TORUS, 6, consensus(), 67.99, 0.17, 66.92),
    "6.1": ("fashion-mnist", RING, 25, consensus(), 92.05, 0.09, 92.05),
    "6.2": ("fashion-mnist", TORUS, 6, consensus(), 91.01, 0.17, 91.88),
    "7.1": ("cifar10", TORUS, 32, gossip(36), 89.04, 0.10, 89.21),
    "7.2": ("cifar10", TORUS, 32, gossip(18), 88.14, 0.08, 89.21),
    "7.3": ("cifar100", RING, 32, gossip(4), 68.50, 0.19, 68.21),
    "7.4": ("cifar100", RING, 32, gossip(1), 68.45, 0.10, 68.21),
}


def settings_of(row, seed, part, alone):
    name, (graph, nodes), batch, more, *_ = ROWS[row]
    recipe = SETS[name]
    epochs = recipe["epochs"] * part
    settings = dict(recipe["set"]) | {"data.name": name, "data.batch": batch, "cluster.nodes": nodes, "run.epochs": epochs, "run.seed": seed}
    if recipe["milestones"]:
        settings["optimizer.milestones"] = [round(epochs * at, 4) for at in recipe["milestones"]]
    if alone:
        return settings | {"strategy.name": "single"} | {key: value for key, value in more.items() if key.startswith("optimizer.")}
    return settings | {"topology.graph": graph} | more


def run(row, seed, part, alone, out, more):
    """Trains, goes on, or finds it done; gives the summary."""
    name = f"{row}-{'one' if alone else 'agents'}-part{part:g}-seed{seed}"
    folder = out / name
    if not (folder / "summary.json").exists():
        words = [VECHE, "train", "--quiet"]
        if (folder / "config.toml").exists():
            words += ["--resume", str(folder)]
        else:
            settings = settings_of(row, seed, part, alone) | {"run.name": name, "run.out": str(out), "run.checkpoint_every": 500} | more
            for key, value in settings.items():
                words += ["--set", f"{key}={value}"]
        code = subprocess.run(words, check=False).returncode
        if code != 0:
            sys.exit(code)
    return json.loads((folder / "summary.json").read_text())


def results(out):
    """Accuracies of what was run: {row: {part: {"agents" or "one": [summary ..]}}}."""
    found = {}
    for file in sorted(out.glob("*-part*-seed*/summary.json")):
        row, who, part = file.parent.name.split("-")[:3]
        found.setdefault(row, {}).setdefault(float(part.removeprefix("part")), {}).setdefault(who, []).append(json.loads(file.read_text()))
    return found


def told(summaries, key):
    if not summaries:
        return "not run"
    values = [100 * summary["accuracy"][key] for summary in summaries]
    return f"{statistics.mean(values):.2f} ± {statistics.pstdev(values):.2f} ({len(values)} seed{'s' if len(values) > 1 else ''})"


def page(out):
    lines = ["| row | set | graph | batch | published agents | one learner | part | agents here | one learner here |", "|---|---|---|---|---|---|---|---|---|"]
    found = results(out)
    for row, (name, (graph, nodes), batch, _, agents, deviation, one) in ROWS.items():
        for part, who in found.get(row, {None: {}}).items():
            lines.append(f"| {row} | {name} | {graph}, {nodes} nodes | {batch} | {agents:.2f} ± {deviation:.2f} | {one:.2f} | "
                         f"{'' if part is None else f'{part:g}'} | {told(who.get('agents'), 'mean')} | {told(who.get('one'), 'average_model')} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="append", default=[], help="a row, a table such as 6, or all")
    parser.add_argument("--part", type=float, default=1.0, help="of the usual length")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/thesis"))
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of every row")
    parser.add_argument("--write", type=pathlib.Path, help="the tables, as Markdown")
    asked = parser.parse_args()
    rows = [row for row in ROWS if any(word in ("all", row, row.split(".")[0]) for word in asked.run)]
    unknown = [word for word in asked.run if word != "all" and not any(word in (row, row.split(".")[0]) for row in ROWS)]
    if unknown:
        sys.exit(f"there is no row {unknown[0]}: there are {', '.join(ROWS)}")
    more = dict(word.split("=", 1) for word in asked.set)
    for row in rows:
        for seed in range(1, asked.seeds + 1):
            for alone in (False, True):
                summary = run(row, seed, asked.part, alone, asked.out, more)
                print(f"{row} seed {seed} {'one learner' if alone else 'agents'}: {100 * summary['accuracy']['mean']:.2f} %", flush=True)
    if asked.write:
        asked.write.write_text(page(asked.out))
    elif not rows:
        print(page(asked.out), end="")


if __name__ == "__main__":
    main()
