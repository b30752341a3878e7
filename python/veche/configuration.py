"""What `train` and its relatives accept as a configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Union

from veche._veche import Config, RequestError

# A path to a TOML file, TOML text, or sections as dicts; None is the demo.
ConfigLike = Union[str, "os.PathLike[str]", Mapping[str, object], None]

# As on the command line.
SHORTHANDS = {"epochs": "run.epochs", "steps": "run.steps", "seed": "run.seed", "name": "run.name",
              "out": "run.out", "nodes": "cluster.nodes"}


def kind(value: object) -> str:
    """The name of a value's type, for messages."""
    return type(value).__name__


def folder_of(path: object, word: str) -> str:
    """The path as str; TypeError in one sentence."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{word} must be a path, not {kind(path)}")
    return str(os.fspath(path))


def _is_toml(text: str) -> bool:
    return "\n" in text or ("=" in text and not os.path.exists(text))


def _from_sections(sections: Mapping[str, object]) -> Config:
    config = Config()
    for section, keys in sections.items():
        if not isinstance(section, str):
            raise TypeError(f"a section of the configuration must be named by a str, not {kind(section)}")
        if not isinstance(keys, Mapping):
            raise TypeError(f"the section {section!r} of the configuration must be a dict of its keys, not "
                            f"{kind(keys)}")
        for key, value in keys.items():
            if not isinstance(key, str):
                raise TypeError(f"a key of the section {section!r} must be a str, not {kind(key)}")
            config.set(section, key, value)
    return config


def _read(config: object) -> Config:
    if config is None:
        return Config()
    if isinstance(config, str) and _is_toml(config):
        return Config.from_text(config)
    if isinstance(config, (str, os.PathLike)):
        return Config.from_file(str(os.fspath(config)))
    if isinstance(config, Mapping):
        return _from_sections(config)
    raise TypeError(f"config must be the path of a TOML file, TOML text or a dict of sections, not {kind(config)}")


def _apply(config: Config, changes: object, shorthands: Mapping[str, object]) -> None:
    if not isinstance(changes, Mapping):
        raise TypeError(f"set must be a dict such as {{'run.epochs': 2}}, not {kind(changes)}")
    for name, value in changes.items():
        if not isinstance(name, str):
            raise TypeError(f"a key of set must be a str such as 'run.epochs', not {kind(name)}")
        section, dot, key = name.partition(".")
        if not dot:
            raise RequestError(f"set has the key {name!r}, which is not of the form 'section.key'")
        config.set(section, key, value)
    for word, value in shorthands.items():
        name = SHORTHANDS[word]
        if value is None:
            continue
        if name in changes:
            raise RequestError(f"{word}= and set={{'{name}': ...}} say the same thing twice; keep one")
        section, _, key = name.partition(".")
        config.set(section, key, value)


def read_config(config: object, changes: object, shorthands: Mapping[str, object]) -> Config:
    """The configuration of a new run."""
    read = _read(config)
    _apply(read, changes, shorthands)
    return read


def resumed(config: object, folder: str, changes: object, shorthands: Mapping[str, object]) -> Config:
    """The configuration of a run that goes on."""
    if config is not None:
        raise RequestError("resume= takes the configuration from the run's folder; leave out the other one")
    changed = Config()
    _apply(changed, changes, shorthands)
    return Config.resumed(folder, changed)
