"""Safetensors files, read and written by the very lines that docs/weights.md shows."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/weights.md"
READ, WRITE = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def run(lines, name, path, **names):
    assert f'"{name}"' in lines, f"{PAGE} does not open {name} any more"
    exec(lines.replace(f'"{name}"', repr(str(path))), names)
    return names


def read_weights(path):
    """The tensors of a file, by name."""
    return run(READ, "model.safetensors", path)["state"]


def write_weights(path, model):
    """All that model.state_dict() has of floats."""
    run(WRITE, "weights.safetensors", path, model=model)
