"""torchvision_reference.py PROGRAM: compares the networks of PROGRAM (zoo.cc) with torchvision's.

torchvision's weights go to Veche as safetensors files, and what Veche made of them comes back as such: the very weights,
under the same names; log-probabilities outside training, which must agree to 1e-4 of their size; for some cases also the
gradient of a batch and the running statistics after it.
"""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import torchvision
    from torch import nn
    from torchvision.models.vision_transformer import VisionTransformer
except ImportError as error:
    print("skipped: one of the Debian packages python3-torch, python3-torchvision is missing (%s)" % error)
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from weights_page import read_weights, write_weights

OUTPUT = 1e-4
# Of a tensor's gradient and its length. A ReLU that rounding switches moves it; a mistake moves it by far more.
GRADIENT = 1e-2
CLASSES = 5
BATCH = 8

# Network, side of its images, what [model] says, whether its gradient is compared.
CASES = [
    ("resnet18", 64, {"stem": "large"}, True),
    ("resnet18", 32, {"stem": "small", "norm": "group:8"}, True),
    ("resnet34", 64, {"stem": "large"}, False),
    ("resnet50", 64, {"stem": "large"}, False),
    ("wide_resnet50_2", 64, {"stem": "large"}, False),
    ("mobilenet_v3_small", 64, {"stem": "large"}, True),
    ("mobilenet_v3_small", 32, {"stem": "small"}, False),
    ("mobilenet_v3_large", 64, {"stem": "large"}, False),
    ("shufflenet_v2_x1_0", 64, {"stem": "large"}, False),
    ("shufflenet_v2_x1_0", 32, {"stem": "small"}, False),
    ("squeezenet1_0", 64, {"stem": "large"}, False),
    ("squeezenet1_1", 64, {"stem": "large"}, False),
    ("efficientnet_v2_s", 64, {"stem": "large"}, False),
    ("convnext_tiny", 64, {"stem": "large"}, False),
    ("convnext_tiny", 32, {"stem": "small"}, True),
    ("vit_tiny", 32, {"stem": "small"}, True),
    ("wrn-10-2", 32, {}, True),
]


class PreActivated(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        y = torch.relu(self.bn1(x))
        short = self.shortcut(y) if hasattr(self, "shortcut") else x
        return self.conv2(torch.relu(self.bn2(self.conv1(y)))) + short


class WideResNet(nn.Module):
    def __init__(self, depth, width, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        inputs = 16
        for stage in range(3):
            blocks = []
            for block in range((depth - 4) // 6):
                blocks.append(PreActivated(inputs, 16 * 2**stage * width, 2 if stage and not block else 1))
                inputs = 16 * 2**stage * width
            setattr(self, "layer%d" % (stage + 1), nn.Sequential(*blocks))
        self.bn = nn.BatchNorm2d(inputs)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.fc(torch.relu(self.bn(x)).mean([2, 3]))


def begin_small(model, name):
    """The stem for small images, as docs/models.md describes it."""
    if name.startswith("resnet"):
        model.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        model.maxpool = nn.Identity()
    elif name.startswith("mobilenet"):
        model.features[0][0].stride = (1, 1)
    elif name.startswith("shufflenet"):
        model.conv1[0].stride = (1, 1)
        model.maxpool = nn.Identity()
    elif name.startswith("convnext"):
        model.features[0][0] = nn.Conv2d(3, 96, 2, 2)


def make(name, side, options):
    if name.startswith("wrn"):
        return WideResNet(*[int(part) for part in name.split("-")[1:]], CLASSES)
    if name == "vit_tiny":
        return VisionTransformer(side, 4, 12, 3, 192, 768, num_classes=CLASSES)
    settings = {"num_classes": CLASSES}
    if "norm" in options:
        settings["norm_layer"] = functools.partial(nn.GroupNorm, int(options["norm"].split(":")[1]))
    if name.startswith("convnext") or name.startswith("efficientnet"):
        settings["stochastic_depth_prob"] = 0.0
    model = getattr(torchvision.models, name)(**settings)
    if options["stem"] == "small":
        begin_small(model, name)
    return model


def randomise(model, name):
    """Numbers of a size that lets every layer be seen in the result: what networks start from would hide some behind factors
    of zero, and larger ones grow from block to block until rounding decides."""
    norm_weight = 0.85 if name.startswith("efficientnet") else 1.0  # the deepest has the smallest
    for key, tensor in model.state_dict().items():
        if not tensor.is_floating_point():
            continue
        outputs, inputs = tensor.size(0), tensor.numel() // tensor.size(0)
        middle, spread = 0.0, 0.1
        if key.endswith("running_var"):
            middle = 1.0
        elif key.endswith("layer_scale") or (inputs == 1 and key.endswith("weight")):
            middle = norm_weight
        elif outputs > 1 and inputs > 1:
            spread = (2 / inputs) ** 0.5
        tensor.normal_(middle, spread)


class Case:
    def __init__(self, folder, number, name, side, options, trained):
        self.title = " ".join([name, *options.values(), str(side)])
        self.model = make(name, side, options)
        randomise(self.model, name)
        self.images = torch.randn(BATCH, 3, side, side)
        self.labels = torch.randint(CLASSES, (BATCH,)) if trained else None
        self.result = folder / f"{number}.result"
        self.about = {"model": name, "side": side, "options": options, "classes": CLASSES, "weights": f"{number}.safetensors",
                      "images": f"{number}.images", "result": self.result.name}
        if trained:
            self.about["labels"] = self.labels.tolist()
        write_weights(folder / self.about["weights"], self.model)
        self.images.numpy().tofile(folder / self.about["images"])

    def check(self, checker):
        ours = read_weights(self.result)
        sent = {key: value for key, value in self.model.state_dict().items() if value.is_floating_point()}
        returned = part(ours, "weight.")
        if returned.keys() != sent.keys() or not all(torch.equal(returned[key], sent[key]) for key in sent):
            checker.fail("%s: the weights came back changed" % self.title)
        self.model.eval()
        with torch.no_grad():
            reference = torch.log_softmax(self.model(self.images[:len(ours["outputs"])]), 1)
        error = checker.compare("%s, output" % self.title, ours["outputs"], reference, OUTPUT)
        # Outputs that hardly depend on the image would prove little.
        if (reference[0] - reference[1]).norm() < 1e-2 * reference[0].norm():
            checker.fail("%s: two images give the same output" % self.title)
        training = self.check_training(ours, checker) if self.labels is not None else ""
        print("%-32s output %.1e%s" % (self.title, error, training), flush=True)

    def check_training(self, ours, checker):
        self.model.train()
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        loss = nn.functional.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        checker.compare("%s, loss" % self.title, ours["loss"], loss.detach(), OUTPUT)
        gradients = part(ours, "gradient.")
        # A shift that the next batch norm takes away again has the gradient zero, but for rounding.
        least = 1e-4 * torch.cat([parameter.grad.flatten() for parameter in self.model.parameters()]).norm().item()
        worst = max(checker.compare("%s, gradient of %s" % (self.title, key), gradients[key], parameter.grad, GRADIENT, least)
                    for key, parameter in self.model.named_parameters())
        buffers = dict(self.model.named_buffers())
        for key, value in part(ours, "after.").items():
            checker.compare("%s, %s after a step" % (self.title, key), value, buffers[key], 1e-3)
        return ", worst gradient %.1e" % worst


def part(tensors, prefix):
    return {key[len(prefix):]: value for key, value in tensors.items() if key.startswith(prefix)}


class Checker:
    def __init__(self):
        self.failures = 0

    def fail(self, why):
        self.failures += 1
        print("DIFFERS " + why)

    def compare(self, what, ours, reference, tolerance, least=1e-20):
        """The error is of the reference's length, or of `least` where that is longer."""
        error = ((ours - reference).norm() / reference.norm().clamp_min(least)).item()
        if not error <= tolerance:
            self.fail("%s: relative error %.2g" % (what, error))
        return error


def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    checker = Checker()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [Case(folder, number, *case) for number, case in enumerate(CASES)]
        (folder / "index.json").write_text(json.dumps([case.about for case in cases]))
        subprocess.run([sys.argv[1], str(folder)], check=True)
        for case in cases:
            case.check(checker)
    sys.exit(1 if checker.failures else 0)


main()
