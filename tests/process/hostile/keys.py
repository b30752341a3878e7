"""Every key of the configuration with values that it cannot have."""

import re
import subprocess

from . import fails, light, refused, valid
from veche_runs import VECHE

BAD = ["-1", "0", "1e308", "nan", "99999999999999999999", "", "[]", "no such word", "1979-05-27", '"a\\u0007b"']

# Names of things, some of them unused by the model with which this is tried.
NAMES = {"run.name", "run.out", "model.norm", "data.path", "data.folder", "data.augment",
         "network.platform", "grid.name"}
# What of these values is valid after all, and for which keys.
VALID = {
    "-1": {"model.x0"},
    "0": {"run.seed", "run.eval_every", "run.checkpoint_every", "model.dropout", "model.stochastic_depth", "model.label_smoothing",
          "model.prune", "model.prune_at", "model.prune_until", "model.threads", "model.x0", "data.workers", "data.noise", "optimizer.lr",
          "optimizer.momentum", "optimizer.beta1", "optimizer.beta2", "optimizer.epsilon", "optimizer.weight_decay", "optimizer.clip",
          "optimizer.gamma", "optimizer.warmup_epochs", "optimizer.warmup_steps", "optimizer.lr_end", "cluster.slots", "cluster.lose", "strategy.staleness", "strategy.backup",
          "strategy.compensate", "strategy.delay", "strategy.fanout", "strategy.warm", "strategy.outer_lr", "strategy.outer_momentum",
          "strategy.outer_beta2", "strategy.outer_pull", "strategy.proximal", "strategy.blend",
          "strategy.elastic", "strategy.centre_rate", "strategy.max_age", "strategy.pairs", "strategy.patience", "compress.small",
          "compress.start", "network.seconds_per_step"},
    "99999999999999999999": NAMES,  # more digits than a number has: a word
    "no such word": NAMES,
    "[]": {"model.hidden", "optimizer.milestones"},
    "": {"strategy.table", "grid.dht", "grid.name"},
}
FAILS = {("model.x0", "1e308")}
# A sentence about these names what they name.
BY_VALUE = {"topology.graph", "topology.weights", "strategy.table"}


def keys():
    """(section.key, strategy or none) of every key that `veche train --keys` knows."""
    page = subprocess.run([VECHE, "train", "--keys"], capture_output=True, text=True, check=True).stdout
    section = strategy = None
    for line in page.splitlines():
        if found := re.match(r"## \[(\w+)\]", line):
            section, strategy = found[1], None
        elif found := re.match(r"### (\S+)", line):
            strategy = found[1]
        elif found := re.match(r"\| `(\w+)` \|", line):
            yield f"{section}.{found[1]}", strategy


def cases(place):
    for key, strategy in keys():
        for value in BAD:
            words = light(*([f"strategy.name={strategy}"] if strategy else []), f"{key}={value}")
            if (key, value) in FAILS:
                yield fails(*words)
            elif key in VALID.get(value, ()):
                yield valid(*words)
            else:
                yield refused(*words, says=value if key in BY_VALUE and value in ("no such word", "99999999999999999999") else key)
