#!/usr/bin/python3
"""One node of eight is twenty times slower: what that costs each strategy. Prints the table of docs/heterogeneity.md.

    examples/heterogeneity/compare.py [path to veche] [--set section.key=value ...]
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "build" / "veche"  # in the source; a copy takes the program on PATH
STRATEGIES = {
    "all-reduce": ["strategy.name=allreduce"],
    "backup workers, b = 1": ["strategy.name=parameter-server", "strategy.backup=1"],
    "SSP, s = 4": ["strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=4"],
    # Each worker's gradient makes a step of its own, seven others late: it needs a lower rate and a bound.
    "asynchronous server, rate 0.02, clip 1": ["strategy.name=parameter-server", "strategy.update=async",
                                               "optimizer.lr=0.02", "optimizer.clip=1"],
    "AD-PSGD on a ring": ["strategy.name=gossip", "strategy.async=true", "topology.graph=ring:8"],
}


def run(veche, assignments):
    words = [str(veche), "train", str(HERE / "unequal.toml"), "--json"]
    for assignment in assignments:
        words += ["--set", assignment]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    summary = json.loads(done.stdout)
    metrics = pathlib.Path(summary["run"]) / "metrics.jsonl"
    return summary, [json.loads(line) for line in metrics.read_text().splitlines()]


def seconds_to(target, metrics):
    """When the averaged model first had that accuracy; None: never."""
    for line in metrics:
        if line["average_model"]["accuracy"] >= target:
            return line["seconds"]
    return None


def main():
    words = sys.argv[1:]
    veche = words.pop(0) if words and not words[0].startswith("--") else BUILT if BUILT.exists() else "veche"
    extra = [word for word in words if word != "--set"]
    rows, target, reference = [], None, None
    for name, assignments in STRATEGIES.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        summary, metrics = run(veche, assignments + extra)
        accuracy = summary["accuracy"]["average_model"]
        if target is None:  # the first is what the others are compared with
            target, reference = accuracy - 0.01, summary["seconds"]
        reached = seconds_to(target, metrics)
        steps = [node["steps"] for node in summary["per_node"]]
        staleness = summary.get("staleness", {})
        waiting = 100 * summary["waiting_seconds"] / (summary["seconds"] * summary["nodes"])
        rows.append([name, f"{summary['seconds']:.0f}", f"{100 * accuracy:.2f} %",
                     "never" if reached is None else f"{reached:.0f}",
                     "" if reached is None else f"{reached / reference:.2f}", f"{max(steps)} / {min(steps)}",
                     f"{waiting:.0f} %", f"{staleness['mean']:.1f}, {staleness['max']}" if staleness else "0",
                     str(staleness.get("dropped", 0))])
    print(f"| strategy | seconds | accuracy | seconds to {100 * target:.2f} % | of all-reduce's | steps of the quickest / slowest "
          "| waiting | staleness: mean, max | dropped |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
