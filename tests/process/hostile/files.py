"""Configurations, runs' folders and weights that are broken or no files at all."""

import json
import shutil
import struct
import subprocess

from . import LIGHT, fails, light, refused
from .odd_files import odd_files
from veche_runs import VECHE

DEEP = 40000

TOML = {
    "word": "train", "open": "[run", "twice": "[run]\nseed=1\n[run]\nseed=2\n", "key-twice": "[run]\nseed=1\nseed=2\n", "no-value": "[run]\nseed =\n",
    "no-key": "[run]\n= 1\n", "outside": "seed = 1\n", "table": "[run]\nseed = {a = 1}\n", "sub": "[run.seed]\nx = 1\n", "array": "[[run]]\nseed = 1\n",
    "section": "[nothing]\nx = 1\n", "key": "[run]\nnothing = 1\n", "date": "[run]\nname = 1979-05-27\n", "time": "[run]\nname = 07:32:00\n",
    "big": "[run]\nseed = 99999999999999999999\n", "hex": "[run]\nseed = 0xZZ\n", "string": '[run]\nname = "a\n', "escape": '[run]\nname = "\\x"\n',
    "control": '[run]\nname = "a\x01"\n', "newline-name": '[run]\nname = "a\\nb"\n', "nul": "[run]\nname = \x00\n", "surrogate": '[run]\nname = "\\ud800"\n',
    "deep-key": "[run]\n" + ".".join("a" * DEEP) + " = 1\n", "deep-section": "[" + ".".join("a" * DEEP) + "]\n", "deep-list": "[run]\nseed = " + "[" * DEEP + "\n",
    "deep-closed": "[run]\nseed = " + "[" * DEEP + "]" * DEEP + "\n", "deep-table": "[run]\nseed = " + "{a = " * DEEP + "\n",
    "deep-quoted": "[run]\n" + '"a".' * DEEP + "b = 1\n", "deep-inline": "[run]\nseed = {" + "a." * DEEP + "b = 1}\n", "deep-behind-string": "[run]\nname = '''x\n'''\n" + "a." * DEEP + "b = 1\n",
    "empty-section": "[]\n", "dot": "[.]\n", "dots": "[run..x]\n", "long-name": "[run]\nname = '" + "n" * 100000 + "'\n", "long-key": "[run]\n" + "k" * 100000 + " = 1\n",
    "windows": "[run]\r\nseed = x\r\n", "mixed-list": '[model]\nhidden = [1, "a"]\n', "empty-text": '[run]\nout = ""\n', "inf": "[optimizer]\nlr = inf\n",
    "bom-16": "[run]\n".encode("utf-16"), "latin": "[run]\nname = 'é'\n".encode("latin-1"), "noise": bytes(range(256)), "gzip": b"\x1f\x8b\x08\x00" + bytes(64),
}
TABLES = {  # strategy.table
    "word": "x", "none": "", "entry": "entry = 1\n", "entries": "entry = [1]\n", "half": "[[entry]]\nnodes = 4\n", "name": '[[entry]]\nnodes = 4\nbytes = 1\nalgorithm = "x"\n',
    "negative": '[[entry]]\nnodes = -4\nbytes = 1\nalgorithm = "ring"\n', "auto": '[[entry]]\nnodes = 4\nbytes = 1\nalgorithm = "auto"\n', "deep": "a." * DEEP + "b = 1\n",
    "float": '[[entry]]\nnodes = 1.5\nbytes = 1\nalgorithm = "ring"\n',
}
LAYOUTS = ["", "x", "[]", "{}", "5", '{"model": 5}', '{"model": "quadratic", "parameters": 5, "buffers": []}', "[" * 100000,
           '{"model": "q", "parameters": [{"name": "x", "shape": [99999999999], "strides": [1], "offset": 0}], "buffers": []}',
           '{"model": "q", "parameters": [{"name": "x", "shape": [-1], "strides": [-1], "offset": 0}], "buffers": []}',
           '{"model": "q", "parameters": [{"name": "x", "shape": [1], "strides": [], "offset": 0}], "buffers": []}',
           '{"model": "q", "parameters": [{"name": "x", "shape": [1], "strides": [1], "offset": 18446744073709551615}], "buffers": []}',
           '{"model": "q", "parameters": [], "buffers": []}', '{"a":' * 100000]


def weights(header, numbers=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


WEIGHTS = {
    "short": b"abc", "no-header": weights(b""), "long": weights(b"{}", length=1 << 60), "list": weights(b"[]"), "cut": weights(b'{"x":'),
    "deep": weights(b'{"x":' * 100000), "deep-list": weights(b'{"x":' + b"[" * 100000), "no-tensors": weights({}), "number": weights({"x": 5}),
    "other": weights({"y": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)), "type": weights({"x": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "whole": weights({"x": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)), "beyond": weights({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}}, bytes(4)),
    "backwards": weights({"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, bytes(4)), "negative": weights({"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
    "huge": weights({"x": {"dtype": "F32", "shape": [1 << 62, 4], "data_offsets": [0, 4]}}, bytes(4)), "shape": weights({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
    "rest": weights({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(40)), "control": weights({"a\n\x1b[31mb": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "utf8": weights(b'{"\xff": 1}'),
}


def make_run(place):
    subprocess.run([VECHE, *LIGHT, "--set", f"run.out={place}", "--set", "run.name=run"], check=True, capture_output=True)
    return place / "run"


def copy_of(run, name):
    return shutil.copytree(run, run.parent / name)


def broken_runs(place):
    run = make_run(place)
    for number, layout in enumerate(LAYOUTS):
        broken = copy_of(run, f"layout-{number}")
        (broken / "layout.json").write_text(layout)
        yield refused("model", "export", broken, "out", says="layout.json")
    for odd in odd_files(place):
        if odd.name in ("missing", "below"):
            continue
        for file in ("layout.json", "config.toml"):
            broken = copy_of(run, f"{odd.name}-{file}")
            (broken / file).unlink()
            (broken / file).symlink_to(odd)
            if file == "layout.json" or odd.name not in ("empty",):
                words = ["model", "export", broken, "out"] if file == "layout.json" else ["train", "--resume", broken]
                yield refused(*words)
    for name, content in TOML.items():
        broken = copy_of(run, f"config-{name}")
        (broken / "config.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
        yield refused("train", "-q", "--resume", broken)
    empty = place / "no-checkpoint"
    shutil.copytree(run, empty, ignore=lambda folder, names: {"checkpoint"} & set(names))
    yield refused("model", "export", empty, "out")
    for out in ("", ".", "nowhere/out", "/dev/null/out"):
        yield refused("model", "export", run, out)
    yield fails("model", "export", run, "/proc/out", says="/proc/out")
    for node in ("-1", "4", "99999999999"):
        yield refused("model", "export", run, "out", "--node", node)
    for key in ("run.seed=2", "run.name=x", "run.out=y", "optimizer.lr=1", "model.a=[1]", "data.batch=3", "nothing.key=1", "cluster.nodes=0",
                "topology.graph=rung", "run.steps=-1", "run.steps=x", "cluster.speed=[1]", "strategy.name=single", ""):
        yield refused("train", "-q", "--resume", run, "--set", key)


def cases(place):
    for name, content in TOML.items():
        file = place / f"{name}.toml"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        yield refused("train", file)
        if name in ("word", "deep-key", "deep-list", "noise"):
            yield refused("data", "split", file, says=str(file))
            yield refused("train", file, "--compare", "strategy=single,allreduce")
    for file in odd_files(place):
        if file.name != "empty":  # an empty configuration is one: the demo
            yield refused("train", file, says=str(file))
            yield refused("data", "split", file, says=str(file))
        yield refused(*light(f"model.init={file}"), says=str(file))
        yield refused(*light("strategy.name=allreduce", f"strategy.table={file}"), says=str(file))
        yield refused("train", "--resume", file, says=str(file))
        yield refused("model", "export", file, "out", says=str(file))
        yield refused("data", "fetch", "mnist", "--sums", file, says=str(file))
    for name, content in TABLES.items():
        file = place / f"table-{name}.toml"
        file.write_text(content)
        yield refused(*light("strategy.name=allreduce", f"strategy.table={file}"), says=str(file))
    for name, content in WEIGHTS.items():
        file = place / f"{name}.safetensors"
        file.write_bytes(content)
        yield refused(*light(f"model.init={file}"), says=("model.init", str(file)))
    huge = place / "huge.toml"
    with open(huge, "wb") as sparse:
        sparse.truncate(1 << 36)
    yield refused("train", huge, says=str(huge))
    yield refused(*light(f"model.init={huge}"), says=str(huge))
    yield from broken_runs(place)
