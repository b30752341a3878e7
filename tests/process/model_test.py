"""Weights out of a run and into one, as PyTorch sees them; and what `veche model` tells of models."""

import json
import pathlib
import shutil
import signal
import sys
import unittest

from veche_runs import LONGEST, QUADRATIC, SMALL, RunsTest, assignments, wait_for

try:
    import torch
    import torchvision
    from torch import nn
except ImportError as error:
    raise SystemExit("one of the Debian packages python3-torch, python3-torchvision is missing (%s)" % error)

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "parity")]
from reference import Cnn
from weights_page import read_weights, write_weights

CNN = {"model.name": "cnn", "model.dropout": 0, "data.name": "mnist", "data.path": "data", "data.batch": 5,
       "cluster.nodes": 3, "run.steps": 3}


def idx(numbers):
    """The bytes of an IDX file of unsigned bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in numbers.shape)
    return bytes([0, 0, 8, numbers.dim()]) + sizes + numbers.numpy().tobytes()


class WeightsTest(RunsTest):
    def write(self, model):
        write_weights(self.folder / "weights.safetensors", model)

    def exported(self, run, *words):
        done = self.veche("model", "export", f"runs/{run}", "model.safetensors", *words)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return read_weights(self.folder / "model.safetensors")


class Weights(WeightsTest):
    def setUp(self):
        super().setUp()
        generator = torch.Generator().manual_seed(3)
        (self.folder / "data").mkdir()
        self.images, self.labels = {}, {}
        for name, count in (("train", 60), ("t10k", 40)):
            images = torch.randint(0, 256, (count, 8, 8), generator=generator, dtype=torch.uint8)
            labels = torch.randint(0, 10, (count,), generator=generator, dtype=torch.uint8)
            (self.folder / f"data/{name}-images-idx3-ubyte").write_bytes(idx(images))
            (self.folder / f"data/{name}-labels-idx1-ubyte").write_bytes(idx(labels))
            self.images[name] = ((images.float() / 255 - 0.1307) / 0.3081).unsqueeze(1)
            self.labels[name] = labels.long()

    def metadata(self):
        data = (self.folder / "model.safetensors").read_bytes()
        return json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]

    def test_pytorch_sees_the_same_network(self):
        run = self.train("a", CNN)
        model = Cnn(1, 8).eval()
        model.load_state_dict(self.exported("a"))
        with torch.no_grad():
            logits = model(self.images["t10k"])
        ours = run.metrics()[-1]["average_model"]
        loss = nn.functional.cross_entropy(logits, self.labels["t10k"]).item()
        self.assertAlmostEqual(ours["loss"], loss, delta=1e-4 * loss)
        self.assertEqual(ours["accuracy"], (logits.argmax(1) == self.labels["t10k"]).sum().item() / 40)
        about = self.metadata()
        self.assertIn('name = "cnn"', about.pop("veche.model"))
        sees = json.loads(about.pop("veche.input"))
        self.assertEqual((sees["shape"], sees["classes"], sees["normalization"]),
                         ([1, 8, 8], 10, {"mean": [0.1307], "deviation": [0.3081]}))
        version = self.version()
        self.assertEqual(about, {"format": "pt", "veche": version, "run": "a", "model": "cnn", "step": "3",
                                 "node": "average"})

    def test_the_average_is_the_nodes_average(self):
        self.train("a", CNN, {"strategy.name": "none"})
        average = self.exported("a", "--average")
        nodes = [self.exported("a", "--node", node) for node in range(3)]
        self.assertEqual(self.metadata()["node"], "2")
        self.assertFalse(torch.equal(nodes[0]["fc1.weight"], nodes[1]["fc1.weight"]))
        for name, mean in average.items():
            torch.testing.assert_close(mean, sum(node[name] for node in nodes) / 3, rtol=1e-5, atol=1e-7)

    def test_starts_from_a_file_of_pytorch(self):
        torch.manual_seed(5)
        model = Cnn(1, 8)
        model(self.images["train"])  # moves the running statistics
        self.write(model)
        start = CNN | {"model.init": "weights.safetensors", "optimizer.name": "sgd", "optimizer.lr": 0, "run.steps": 1,
                       "strategy.name": "none"}
        run = self.train("b", start)
        self.assertIn('init = "weights.safetensors"', (run.path / "config.toml").read_text())
        for name, value in self.exported("b", "--node", 1).items():
            if "running" not in name:  # which the one step has moved
                self.assertTrue(torch.equal(value, model.state_dict()[name]), name)
        # A resumed run does not need it any more.
        (self.folder / "weights.safetensors").unlink()
        done = self.veche("train", "-q", "--resume", "runs/b", "--set", "run.steps=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.train("c", start | {"run.name": "c"}, expect=2).path.exists(), False)

    def test_statistics_come_along(self):
        model = Cnn(1, 8)
        model(self.images["train"])
        self.write(model.eval())
        # No step is long enough to matter: what is tested is the file's network, statistics included.
        run = self.train("a", CNN | {"model.init": "weights.safetensors", "optimizer.name": "sgd", "optimizer.lr": 0,
                                     "run.steps": 1, "strategy.name": "single", "data.batch": 20})
        model.train()(self.images["train"])  # the single learner's batch is all three nodes'
        with torch.no_grad():
            loss = nn.functional.cross_entropy(model.eval()(self.images["t10k"]), self.labels["t10k"]).item()
        self.assertAlmostEqual(run.summary()["loss"], loss, delta=1e-4 * loss)

    def test_a_file_of_another_model_is_named(self):
        model = Cnn(1, 8)
        model.fc3 = nn.Linear(120, 7)
        self.write(model)
        done = self.veche("train", *assignments(CNN, {"model.init": "weights.safetensors"}))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aveche: model\.init: 'weights\.safetensors' has the tensor 'fc3\.\w+' of shape "
                                      r"\[7[^\n]*the model needs \[10[^\n]*\n\Z")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_run_starts_from_torchvision(self):
        torch.manual_seed(4)
        model = torchvision.models.mobilenet_v3_small(num_classes=10)
        self.write(model)
        settings = {"model.name": "mobilenet_v3_small", "model.init": "weights.safetensors", "data.name": "synthetic",
                    "data.shape": "[3,32,32]", "data.samples": 8, "data.test_samples": 4, "data.batch": 4, "cluster.nodes": 2,
                    "run.steps": 1, "optimizer.name": "sgd", "optimizer.lr": 0, "strategy.name": "none"}
        self.train("a", settings)
        exported, sent = self.exported("a", "--node", 1), model.state_dict()
        self.assertEqual(sorted(exported), sorted(name for name in sent if not name.endswith("num_batches_tracked")))
        for name, value in exported.items():
            if "running" not in name:  # which the one step has moved
                self.assertTrue(torch.equal(value, sent[name]), name)
        model.load_state_dict(exported)

        model.classifier[3].weigth = model.classifier[3].weight
        del model.classifier[3].weight
        self.write(model)
        done = self.veche("train", *assignments(settings, {"run.name": "b"}))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aveche: model\.init: 'weights\.safetensors' has no tensor 'classifier\.3\.weight', which the "
                                      r"model needs; the nearest is 'classifier\.3\.weigth'\n\Z")
        self.assertFalse((self.folder / "runs/b").exists())

    def test_wrong_requests_write_nothing(self):
        self.train("a", SMALL, {"run.steps": 1})
        (self.folder / "runs/b").mkdir()
        shutil.copy(self.folder / "runs/a/config.toml", self.folder / "runs/b/config.toml")
        for words, told in ((["runs/no", "x"], "not a run's folder"), (["runs/b", "x"], "no whole checkpoint"),
                            (["runs/a", "x", "--node", "4"], "nodes 0 to 3"), (["runs/a", "x", "--node=-1"], "nodes 0 to 3"),
                            (["runs/a", "runs"], "is a folder"), (["runs/a", "no/x"], "folder no does not exist")):
            done = self.veche("model", "export", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{told}[^\n]*\n\Z")
        self.assertFalse((self.folder / "x").exists())

    def test_a_damaged_checkpoint_is_passed_over(self):
        run = self.train("a", SMALL, {"run.steps": 2, "run.checkpoint_every": 1})
        with open(run.checkpoint_files(2)[0], "r+b") as file:
            file.seek(200)
            file.write(b"\xff\xff\xff\xff")
        self.exported("a")
        self.assertEqual(self.metadata()["step"], "1")

    def test_quadratic(self):
        self.train("q", QUADRATIC)
        self.assertEqual(list(self.exported("q")), ["x"])


class Served(WeightsTest):
    def test_a_dedicated_server_is_no_part_of_the_average(self):
        process = self.start("train", "-q", *assignments(SMALL, {
            "strategy.name": "parameter-server", "strategy.update": "async", "strategy.dedicated": "true", "cluster.nodes": 3,
            "run.steps": 10**6, "run.checkpoint_every": 20, "run.name": "a"}))
        run = self.run_path("a")
        self.assertTrue(wait_for(lambda: run.steps() and run.steps()[-1] >= 40, process))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LONGEST), 130, process.stderr.read())
        average = self.exported("a")
        nodes = [self.exported("a", "--node", node) for node in range(3)]
        for name, mean in average.items():
            self.assertTrue(torch.allclose(mean, (nodes[1][name] + nodes[2][name]) * 0.5, rtol=1e-6, atol=1e-8), name)
            self.assertFalse(torch.equal(nodes[1][name], nodes[0][name]), name)


class Pruned(WeightsTest):
    def test_zeros_are_kept_and_resumed(self):
        settings = SMALL | {"model.prune": 0.9, "model.prune_at": 1, "run.steps": 9, "optimizer.name": "lars"}
        self.train("whole", settings)
        self.train("parts", settings | {"run.steps": 6})
        done = self.veche("train", "-q", "--resume", "runs/parts", "--set", "run.steps=9")
        self.assertEqual(done.returncode, 0, done.stderr)
        whole, parts = self.exported("whole"), self.exported("parts")
        for name, tensor in whole.items():
            self.assertTrue(torch.equal(tensor, parts[name]), name)
        weights = torch.cat([tensor.flatten() for tensor in whole.values() if tensor.dim() > 1])
        self.assertEqual((weights == 0).sum().item(), int(0.9 * weights.numel()))
        self.assertTrue(all((tensor != 0).any() for name, tensor in whole.items() if "bias" in name))


class Models(RunsTest):
    def models(self):
        done = self.veche("model", "ls", "--json")
        return {model["name"]: model for model in json.loads(done.stdout)["models"]}

    def test_costs_are_those_of_the_closed_form(self):
        models = self.models()
        cnn = 28 * 28 * 32 * 9 + 12 * 12 * 64 * 32 * 9 + 2304 * 600 + 600 * 120 + 120 * 10
        self.assertEqual(models["cnn"]["multiply_adds"], cnn)
        self.assertEqual(models["cnn"]["flops"], 2 * cnn)
        self.assertEqual(models["cnn"]["bytes"], 4 * (1475338 + 2 * (32 + 64)))
        first = 32 * 32 * 16 * 27
        wide = 6 * 32 * 32 * 16 * 16 * 9
        halved = [side * side * out * (out // 2 + 5 * out) * 9 for side, out in ((16, 32), (8, 64))]
        self.assertEqual(models["resnet20"]["multiply_adds"], first + wide + sum(halved) + 640)
        self.assertNotIn("flops", models["quadratic"])

    def test_show_prints_layers(self):
        done = self.veche("model", "show", "mlp", "--set", "model.hidden=[7]", "--input", "1x8x8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"fc1\.weight +7 x 64 +448")
        self.assertIn("535 parameters", done.stdout)
        shown = json.loads(self.veche("model", "show", "cnn", "--set", "model.classes=5", "--json").stdout)
        self.assertEqual(shown["layers"][-1], {"name": "fc3.bias", "shape": [5], "count": 5})
        self.assertEqual(shown["parameters"], sum(layer["count"] for layer in shown["layers"]))
        for words, told in ((["cnm"], "'cnn'"), (["cnn", "--input", "3x3"], "3x32x32"),
                            (["cnn", "--input", "1x4x4"], "8x8"), (["cnn", "--set", "data.batch=3"], r"\[model\]")):
            done = self.veche("model", "show", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, told)


class Replacing(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(64, 10)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen = self.seen + 1
        return self.out(x.flatten(1))


class CutOff(nn.Module):
    """No gradient comes back to its parameters."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        return self.out(x.flatten(1)).detach()


class Scripts(WeightsTest):
    def refused(self, told, expect=2, **settings):
        words = {key.replace("__", "."): value for key, value in settings.items()}
        done = self.veche("train", "-q", *assignments(SMALL, {"run.steps": 2}, words, {"model.name": "torchscript"}))
        self.assertEqual((done.returncode, done.stdout), (expect, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\Aveche: [^\n]*{told}[^\n]*\n\Z")

    def save(self, name, model):
        torch.jit.script(model).save(str(self.folder / name))
        return name

    def test_what_does_not_fit_is_said(self):
        linear = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        torch.save(linear.state_dict(), self.folder / "state.pt")
        self.save("good.pt", linear)
        (self.folder / "cut.pt").write_bytes((self.folder / "good.pt").read_bytes()[:1000])
        self.refused("'none.pt' is missing", model__file="none.pt")
        self.refused("'state.pt' is not a TorchScript module", model__file="state.pt")
        self.refused("'cut.pt' is not a TorchScript module", model__file="cut.pt")
        self.refused("'half.pt' has the parameter '1.weight' of type Half",
                     model__file=self.save("half.pt", nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).half()))
        self.refused(r"mat1 and mat2 shapes.*images of 1x4x4", model__file="good.pt", data__shape="[1,4,4]")
        self.refused(r"N x 7 floats.*\[2, 10\]", model__file="good.pt", data__classes=7)
        self.refused("has no parameters", model__file=self.save("empty.pt", nn.Flatten()))
        torch.jit.freeze(torch.jit.script(linear.eval())).save(str(self.folder / "frozen.pt"))
        self.refused("torch.jit.freeze .* save the module before", model__file="frozen.pt")
        detached = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).requires_grad_(False)
        self.refused(r"requires_grad_\(True\)", model__file=self.save("detached.pt", detached))
        self.refused(r"leave out detach\(\)", model__file=self.save("cut_off.pt", CutOff()))
        whole = (self.folder / "good.pt").read_bytes()
        weights = whole.index(linear[1].weight.detach().numpy().tobytes())
        (self.folder / "damaged.pt").write_bytes(whole[:weights + 9] + bytes([whole[weights + 9] ^ 1]) + whole[weights + 10:])
        self.refused("'damaged.pt' is damaged: its part 'good/data/", model__file="damaged.pt")
        self.refused("needs model.file")
        self.assertFalse((self.folder / "runs").exists())
        self.refused("replaces its buffer 'seen'", expect=1, model__file=self.save("replacing.pt", Replacing()))
        done = self.veche("train", *assignments(SMALL, {"model.file": "good.pt"}))
        self.assertRegex(done.stderr, "leave model.name out")

    def test_its_weights_come_out_and_go_in(self):
        torch.manual_seed(2)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        self.save("net.pt", model)
        settings = {key: value for key, value in SMALL.items() if not key.startswith("model.")}
        self.train("a", settings, {"model.file": "net.pt", "run.steps": 1, "optimizer.name": "sgd", "optimizer.lr": 0,
                                   "strategy.name": "none"})
        self.assertTrue(torch.equal(self.exported("a")["1.weight"], model.state_dict()["1.weight"]))
        run = self.train("b", settings, {"model.file": "net.pt", "model.init": "model.safetensors", "run.steps": 1})
        self.assertIn('name = "torchscript"', (run.path / "config.toml").read_text())


if __name__ == "__main__":
    unittest.main()
