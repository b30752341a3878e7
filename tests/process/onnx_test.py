"""`veche model export --onnx`: ONNX's checker accepts the file, and OpenCV, which runs it, answers as `veche predict` does."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

from pictures import png, write_digits
from veche_runs import QUADRATIC, SMALL, RunsTest

try:
    import cv2
    import numpy
    import onnx
    import torch
except ImportError as error:
    raise SystemExit("one of the Debian packages python3-onnx, python3-opencv, python3-numpy, python3-torch is missing (%s)" % error)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from weights_page import read_weights

NO_NETWORKS = {"torchscript", "quadratic", "vector"}
TEXT = re.compile("gpt")  # tests/parity/gpt_reference.py compares these
GREY = {"cnn", "lenet5", "mlp"}
# Other layers of the same networks: norms, and beginnings for large images.
VARIANTS = [("cnn", {"norm": "group:8"}, 28), ("resnet20", {"norm": "layer"}, 32), ("wrn-10-1", {"norm": "none"}, 32),
            ("resnet18", {"stem": "large"}, 64), ("shufflenet_v2_x1_0", {"stem": "large"}, 64),
            ("squeezenet1_0", {"stem": "large"}, 64), ("vit_tiny", {"stem": "large"}, 64)]
# How many digits their sums grow by, as the statistics are random and not those of any batch: the last layer takes that back.
GROWN = {"resnet20": 0.5, "resnet32": 2.5, "resnet44": 2.7, "resnet56": 4, "resnet110": 9.8, "wrn-16-8": 0.8, "wrn-28-10": 1.8,
         "resnet18": 1, "resnet34": 2.5, "resnet50": 3, "wide_resnet50_2": 3.2, "mobilenet_v3_large": 2, "shufflenet_v2_x1_0": 1.5}
# Gates (squeeze and excitation) open and shut for good at large numbers, where rounding then decides: norms keep these small.
NORM_SCALE = {"efficientnet_v2_s": 0.75}
GATED = re.compile("mobilenet|efficientnet")
PICTURES = 5
NORMALIZATION = {"mean": [0.45, 0.4, 0.5], "deviation": [0.25, 0.2, 0.3]}


def random_weights(tensors, chance, norm_scale, last_scale):
    """Numbers with which every layer matters, by name: those of a network that has just begun would hide some."""
    weights = {}
    for tensor in tensors:
        name, shape = tensor["name"], tensor["shape"]
        normal = chance.standard_normal(shape, dtype=numpy.float32)
        if name.endswith("running_var"):
            weights[name] = chance.uniform(0.5, 1.5, shape).astype(numpy.float32)
        elif len(shape) == 1 and name.endswith("weight"):
            weights[name] = norm_scale * chance.uniform(0.5, 1.5, shape).astype(numpy.float32)
        elif name.endswith("layer_scale"):
            weights[name] = 0.3 * normal
        elif len(shape) == 1:
            weights[name] = 0.2 * normal
        else:
            weights[name] = normal * numpy.float32(numpy.sqrt(2 / numpy.prod(shape[1:])))
    last = [name for name in weights if name.endswith("weight") and weights[name].ndim > 1][-1].removesuffix("weight")
    for name in ("weight", "bias"):
        weights[last + name] = weights[last + name] * numpy.float32(last_scale)
    return weights


def write_safetensors(path, weights, notes):
    head, end = {"__metadata__": notes}, 0
    for name, values in weights.items():
        head[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in weights.values():
            file.write(values.tobytes())


def log_softmax(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))


class Networks(RunsTest):
    def show(self, *words):
        done = self.veche("model", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def pictures(self, channels, side, chance):
        """Of different colours and patterns, as PNG files and as numbers."""
        tints, waves = chance.uniform(0, 255, (PICTURES, channels, 1, 1)), chance.uniform(0.1, 1, (PICTURES, channels, 2, 1, 1))
        y, x = numpy.mgrid[:side, :side]
        pixels = numpy.clip(tints + 100 * numpy.sin(waves[:, :, 0] * x + waves[:, :, 1] * y), 0, 255).astype(numpy.uint8)
        names = []
        for i, picture in enumerate(pixels):
            names.append(f"{i}.png")
            (self.folder / names[-1]).write_bytes(png(side, side, picture.transpose(1, 2, 0).tobytes(), channels))
        return names, pixels

    def check(self, name, keys, side):
        chance = numpy.random.default_rng(1)
        channels = 1 if name in GREY else 3
        settings = [word for key, value in keys.items() for word in ("--set", f"model.{key}={value}")]
        about = self.show("show", name, "--input", f"{channels}x{side}x{side}", "--set", "model.classes=10", *settings)
        weights = random_weights(about["layers"] + about["buffers"], chance, NORM_SCALE.get(name, 1),
                                 1 if "norm" in keys else 10 ** -GROWN.get(name, 0))
        sees = {"shape": [channels, side, side], "classes": 10, "class_names": [f"kind {i}" for i in range(10)],
                "normalization": {key: values[:channels] for key, values in NORMALIZATION.items()}}
        toml = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
        write_safetensors(self.folder / "w.safetensors", weights,
                          {"veche.model": f'[model]\nname = "{name}"\nclasses = 10\n{toml}', "veche.input": json.dumps(sees)})
        done = self.veche("model", "export", "w.safetensors", "w.onnx", "--onnx")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

        model = onnx.load(self.folder / "w.onnx")
        onnx.checker.check_model(model, full_check=True)
        sizes = [[d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
                 for value in (*model.graph.input, *model.graph.output)]
        self.assertEqual(sizes, [["N", channels, side, side], ["N", 10]])
        notes = {note.key: note.value for note in model.metadata_props}
        self.assertEqual((notes["model"], json.loads(notes["classes"])), (name, sees["class_names"]))

        files, pixels = self.pictures(channels, side, chance)
        done = self.veche("predict", "w.safetensors", *files, "--top", 10, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = numpy.array([[one["probability"] for one in sorted(answer["classes"], key=lambda one: one["label"])]
                            for answer in json.loads(done.stdout)["predictions"]])
        # A network that says the same of every picture, or is certain of one class, would show little.
        self.assertGreater(ours.min(), 1e-30, f"{name}: {ours}")
        self.assertGreater(numpy.log(ours).std(axis=0).max(), 0.05, f"{name}: {ours}")

        net = cv2.dnn.readNetFromONNX(str(self.folder / "w.onnx"))
        # OpenCV 4.6 cannot scale channels by factors that differ from sample to sample, which gates do.
        groups = [[i] for i in range(PICTURES)] if GATED.match(name) else [range(PICTURES), [PICTURES - 1]]
        for group in groups:
            net.setInput(pixels[group].astype(numpy.float32))
            theirs = log_softmax(net.forward())
            self.assertEqual(theirs.shape, (len(group), 10))
            numpy.testing.assert_allclose(theirs, numpy.log(ours[group]), rtol=1e-4, atol=1e-4, err_msg=f"{name} {keys}, {group}")

    def test_every_network_of_the_zoo(self):
        names = [model["name"] for model in self.show("ls")["models"] if model["name"] not in NO_NETWORKS and not TEXT.match(model["name"])]
        self.assertGreater(len(names), 20)
        for name in names:
            with self.subTest(name):
                self.check(name, {}, 28 if name in GREY else 32)

    def test_other_layers(self):
        for name, keys, side in VARIANTS:
            with self.subTest(name, **keys):
                self.check(name, keys, side)


MLP = {"model.name": "mlp", "model.hidden": "[16]", "data.name": "mnist", "data.path": "digits", "data.batch": 5,
       "cluster.nodes": 3, "run.steps": 4, "strategy.name": "none"}


class Runs(RunsTest):
    def exported(self, *words):
        done = self.veche("model", "export", *words)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return done.stderr

    def logits(self, samples, file="model.onnx"):
        net = cv2.dnn.readNetFromONNX(str(self.folder / file))
        net.setInput(samples.astype(numpy.float32))
        return net.forward()

    def expected(self, samples):
        """Of the two layers as PyTorch would compute them, from the file of weights beside."""
        weights = {name: value.numpy() for name, value in read_weights(self.folder / "model.safetensors").items()}
        hidden = numpy.maximum(samples.reshape(len(samples), -1) @ weights["fc1.weight"].T + weights["fc1.bias"], 0)
        return hidden @ weights["fc2.weight"].T + weights["fc2.bias"]

    def test_pixels_of_a_run(self):
        images, _ = write_digits(self.folder / "digits")
        self.train("a", MLP)
        pixels = numpy.array([list(image) for image in images[:7]]).reshape(7, 1, 8, 8)
        answers = []
        for who, words in (("average", ()), ("1", ("--node", 1))):
            self.exported("runs/a", "model.safetensors", *words)
            told = self.exported("runs/a", "model.onnx", "--onnx", *words)
            self.assertIn("node 1 of step 4" if words else "the average of 3 nodes of step 4", told)
            answers.append(self.logits(pixels))
            numpy.testing.assert_allclose(answers[-1], self.expected((pixels / 255 - 0.1307) / 0.3081), rtol=1e-4, atol=1e-5)
            model = onnx.load(self.folder / "model.onnx")
            notes = {note.key: note.value for note in model.metadata_props}
            self.assertEqual(notes.pop("classes"), json.dumps([str(i) for i in range(10)], separators=(",", ":")))
            self.assertEqual(notes, {"run": "a", "model": "mlp", "step": "4", "node": who, "input": "pixels from 0 to 255"})
            self.assertEqual((model.producer_name, model.producer_version), ("veche", self.version()))
        self.assertGreater(numpy.abs(answers[0] - answers[1]).max(), 1e-3)
        # The same by way of the weights, told by the name alone.
        self.exported("model.safetensors", "again.onnx")
        numpy.testing.assert_array_equal(self.logits(pixels, "again.onnx"), answers[1])

    def test_samples_that_are_no_pictures(self):
        self.train("a", SMALL, {"run.steps": 2})
        self.exported("runs/a", "model.safetensors")
        # As a run leaves it whose data were a program's own.
        content = (self.folder / "model.safetensors").read_bytes()
        end = 8 + int.from_bytes(content[:8], "little")
        head = json.loads(content[8:end])
        sees = json.loads(head["__metadata__"]["veche.input"])
        del sees["normalization"]
        head["__metadata__"]["veche.input"] = json.dumps(sees)
        text = json.dumps(head).encode()
        (self.folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content[end:])
        self.exported("model.safetensors", "model.onnx", "--onnx")
        model = onnx.load(self.folder / "model.onnx")
        self.assertEqual(model.graph.input[0].name, "samples")
        samples = numpy.random.default_rng(2).standard_normal((3, 1, 8, 8))
        numpy.testing.assert_allclose(self.logits(samples), self.expected(samples), rtol=1e-4, atol=1e-5)

    def test_the_lines_of_the_page(self):
        images, _ = write_digits(self.folder / "digits")
        self.train("a", MLP)
        self.exported("runs/a", "model.onnx", "--onnx")
        (self.folder / "picture.png").write_bytes(png(8, 8, images[0]))
        lines, = re.findall(r"```python\n(.*?)```", (ROOT / "docs/onnx.md").read_text(), re.DOTALL)
        lines = lines.replace("IMREAD_COLOR", "IMREAD_GRAYSCALE")
        told = subprocess.run([sys.executable, "-c", lines], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        asked = json.loads(self.veche("predict", "runs/a", "picture.png", "--json").stdout)
        self.assertEqual(told.strip(), asked["predictions"][0]["class"])

    def refused(self, told, *words):
        done = self.veche("model", "export", *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{told}[^\n]*\n\Z")

    def test_what_cannot_be_written(self):
        write_digits(self.folder / "digits")
        self.train("a", MLP)
        self.train("q", QUADRATIC, {"run.steps": 2})
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        torch.jit.script(module).save(str(self.folder / "net.pt"))
        script = {key: value for key, value in MLP.items() if key != "model.hidden"}
        self.train("t", script | {"model.name": "torchscript", "model.file": "net.pt"})
        (self.folder / "old.onnx").write_text("old")
        (self.folder / "no.safetensors").write_text("no weights")
        before = sorted(self.folder.iterdir())
        self.refused("torch.onnx.export", "runs/t", "old.onnx", "--onnx")
        self.refused("quadratic", "runs/q", "old.onnx", "--onnx")
        self.refused("no node 3", "runs/a", "old.onnx", "--onnx", "--node", 3)
        self.refused("there is no 'runs/b'", "runs/b", "old.onnx", "--onnx")
        self.refused("no.safetensors", "no.safetensors", "old.onnx", "--onnx")
        self.refused("runs is a folder; name a file, such as runs/model.onnx", "runs/a", "runs", "--onnx")
        self.refused("folder .*nowhere does not exist", "runs/a", "nowhere/model.onnx", "--onnx")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.assertEqual((self.folder / "old.onnx").read_text(), "old")


if __name__ == "__main__":
    unittest.main()
