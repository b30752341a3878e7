"""Lists of hostile requests. Each module has cases(place), which makes the files it needs in that folder."""

import dataclasses


@dataclasses.dataclass
class Case:
    words: list  # after `veche`
    code: int = 2  # 2: refused; 0: valid in truth; 1: fails under way
    says: tuple = ()  # what the sentence must hold

    def name(self):
        return " ".join(word if len(word) < 100 else word[:100] + "..." for word in self.words)


def refused(*words, says=()):
    return Case([*map(str, words)], 2, (says,) if isinstance(says, str) else tuple(says))


def valid(*words):
    return Case([*map(str, words)], 0)


def fails(*words, says=()):
    return Case([*map(str, words)], 1, (says,) if isinstance(says, str) else tuple(says))


# A run of no time and no libtorch.
LIGHT = ["train", "-q", *(word for key, value in {"model.name": "quadratic", "model.a": "[1,2,3,4]", "model.b": "[4,3,2,1]",
                                                  "run.steps": 3}.items() for word in ("--set", f"{key}={value}"))]


def light(*assignments):
    """Such a run with these settings on top."""
    return [*LIGHT, *(word for assignment in assignments for word in ("--set", assignment))]


# Divides made-up data, without libtorch: [data], [cluster] and [topology] come into their own here.
SPLIT = ["data", "split", "--set", "data.name=synthetic", "--set", "data.samples=40"]


def split(*assignments):
    return [*SPLIT, *(word for assignment in assignments for word in ("--set", assignment))]
