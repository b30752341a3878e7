"""torchvision_reference.py PROGRAM: compares the networks of PROGRAM (zoo.cc) with torchvision's.

The same weights under the same names, the same images: log-probabilities outside training must agree to 1e-4 of
their size; for some cases also the gradient of a batch and the running statistics after it.
"""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import torchvision
    from torch import nn
    from torchvision.models.vision_transformer import VisionTransformer
except ImportError as error:
    print("skipped: one of the Debian packages python3-torch, python3-torchvision is missing (%s)" % error)
    sys.exit(77)

OUTPUT = 1e-4
# Of a tensor's gradient and its length. A ReLU that rounding switches moves it; a mistake moves it by far more.
GRADIENT = 1e-2


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


def make(case):
    name, classes = case["model"], case["classes"]
    if name.startswith("wrn"):
        return WideResNet(*[int(part) for part in name.split("-")[1:]], classes)
    if name == "vit_tiny":
        return VisionTransformer(case["side"], 4, 12, 3, 192, 768, num_classes=classes)
    options = {"num_classes": classes}
    if case["norm"]:
        options["norm_layer"] = functools.partial(nn.GroupNorm, int(case["norm"].split(":")[1]))
    if name.startswith("convnext") or name.startswith("efficientnet"):
        options["stochastic_depth_prob"] = 0.0
    model = getattr(torchvision.models, name)(**options)
    if case["stem"] == "small":
        begin_small(model, name)
    return model


def tensors(folder, index):
    return {
        item["name"]: torch.from_numpy(numpy.fromfile(folder / item["file"], numpy.float32)).view(item["shape"])
        for item in index
    }


def load(model, case, folder):
    state = {**tensors(folder, case["weights"]), **tensors(folder, case["buffers"])}
    counters = {name: value for name, value in model.state_dict().items() if name.endswith("num_batches_tracked")}
    model.load_state_dict({**state, **counters})  # strict: every name and shape


class Checker:
    def __init__(self):
        self.failures = 0

    def compare(self, what, ours, reference, tolerance, least=1e-20):
        """The error is of the reference's length, or of `least` where that is longer."""
        error = ((ours - reference).norm() / reference.norm().clamp_min(least)).item()
        if not error <= tolerance:
            self.failures += 1
            print("DIFFERS %s: relative error %.2g" % (what, error))
        return error


def check_training(model, case, folder, images, name, checker):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    labels = torch.from_numpy(numpy.fromfile(folder / case["labels"], numpy.int64))
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    checker.compare("%s, loss" % name, torch.tensor(case["loss"]), loss.detach(), OUTPUT)
    gradients = tensors(folder, case["gradients"])
    # A shift that the next batch norm takes away again has the gradient zero, but for rounding.
    least = 1e-4 * torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).norm().item()
    worst = max(checker.compare("%s, gradient of %s" % (name, key), gradients[key], parameter.grad, GRADIENT, least)
                for key, parameter in model.named_parameters())
    buffers = dict(model.named_buffers())
    for key, value in tensors(folder, case["buffers_after"]).items():
        checker.compare("%s, %s after a step" % (name, key), value, buffers[key], 1e-3)
    return ", worst gradient %.1e" % worst


def check_case(folder, case, checker):
    name = "%s %s %s %d" % (case["model"], case["stem"], case["norm"], case["side"])
    model = make(case)
    load(model, case, folder)
    images = torch.from_numpy(numpy.fromfile(folder / case["images"], numpy.float32))
    images = images.view(-1, 3, case["side"], case["side"])
    model.eval()
    ours = torch.tensor(case["outputs"])
    with torch.no_grad():
        reference = torch.log_softmax(model(images[:len(ours)]), 1)
    error = checker.compare("%s, output" % name, ours, reference, OUTPUT)
    # Outputs that hardly depend on the image would prove little.
    if (reference[0] - reference[1]).norm() < 1e-2 * reference[0].norm():
        checker.failures += 1
        print("WEAK %s: two images give the same output" % name)
    training = check_training(model, case, folder, images, name, checker) if "gradients" in case else ""
    print("%-32s output %.1e%s" % (name, error, training), flush=True)


def main():
    torch.set_num_threads(1)
    checker = Checker()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        for case in json.loads((folder / "index.json").read_text()):
            check_case(folder, case, checker)
    sys.exit(1 if checker.failures else 0)


main()
