"""reference.py PROGRAM: repeats in PyTorch the training steps that PROGRAM (parity.cc) made, and compares.

The models are written here a second time, from their description. Losses must agree to 1e-4, relatively, over
twenty steps; the first gradient of every tensor and the evaluation to the figures below.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from torch import nn
except ImportError as error:
    print("skipped: the Debian package python3-torch is missing (%s)" % error)
    sys.exit(77)

LOSS = 1e-4
# Of its length. One ReLU in a deep network that rounding switches moves it by percents; a mistake moves it further.
GRADIENT = {"cnn": 1e-3, "mlp": 1e-4, "resnet20": 0.1}
EVALUATION = 1e-3


class Cnn(nn.Module):
    def __init__(self, channels, side):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=3)
        self.bn2 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(64 * ((side // 2 - 2) // 2) ** 2, 600)
        self.fc2 = nn.Linear(600, 120)
        self.fc3 = nn.Linear(120, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        return self.fc3(self.fc2(self.fc1(torch.flatten(x, 1))))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride = stride

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        short = x[:, :, ::self.stride, ::self.stride]
        side = torch.zeros(short.size(0), (y.size(1) - x.size(1)) // 2, short.size(2), short.size(3))
        return torch.relu(y + torch.cat([side, short, side], 1))


class ResNet20(nn.Module):
    def __init__(self, channels, side):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Residual(16, 16, 1), Residual(16, 16, 1), Residual(16, 16, 1))
        self.layer2 = nn.Sequential(Residual(16, 32, 2), Residual(32, 32, 1), Residual(32, 32, 1))
        self.layer3 = nn.Sequential(Residual(32, 64, 2), Residual(64, 64, 1), Residual(64, 64, 1))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Mlp(nn.Module):
    def __init__(self, channels, side):
        super().__init__()
        self.fc1 = nn.Linear(channels * side * side, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


MODELS = {"cnn": Cnn, "resnet20": ResNet20, "mlp": Mlp}


class Lars(torch.optim.Optimizer):
    """You, Gitman and Ginsburg, "Large batch training of convolutional networks", algorithm 1; groups marked `plain` are left to
    SGD with momentum. A layer of length zero takes a plain step."""

    def __init__(self, groups, lr, momentum, weight_decay, trust=0.001):
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust, "plain": False})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                decay = group["weight_decay"]
                local = 1.0
                if not group["plain"] and w.norm() > 0 and w.grad.norm() > 0:
                    local = group["trust"] * w.norm() / (w.grad.norm() + decay * w.norm())
                v = self.state[w].setdefault("v", torch.zeros_like(w))
                v.mul_(group["momentum"]).add_(group["lr"] * local * (w.grad + decay * w))
                w.sub_(v)


def optimizer_of(case, model):
    parameters = list(model.parameters())
    groups = [{"params": parameters}]
    if not case["decay_norms"]:
        groups = [{"params": [p for p in parameters if p.dim() > 1]},
                  {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]
    settings = {"lr": case["rate"], "weight_decay": case["weight_decay"]}
    if case["optimizer"] == "adam":
        return torch.optim.Adam(groups, **settings)
    if case["optimizer"] == "adamw":
        return torch.optim.AdamW(groups, **settings)
    if case["optimizer"] == "lars":
        if not case["decay_norms"]:
            groups[1]["plain"] = True
        return Lars(groups, momentum=0.9, **settings)
    return torch.optim.SGD(groups, momentum=0.9, **settings)


class Checker:
    def __init__(self):
        self.failures = 0

    def compare(self, what, ours, reference, tolerance, scale=None):
        error = abs(ours - reference) / max(abs(reference) if scale is None else scale, 1e-30)
        if not error <= tolerance:
            self.failures += 1
            print("DIFFERS %s: Veche %.8g, PyTorch %.8g, relative error %.2g" % (what, ours, reference, error))
        return error


def tensors(folder, index):
    return {
        item["name"]: torch.from_numpy(numpy.fromfile(folder / item["file"], numpy.float32)).view(item["shape"])
        for item in index
    }


def load(model, weights):
    parameters = dict(model.named_parameters())
    if list(parameters) != list(weights):
        raise SystemExit("parameters are named differently: %s" % sorted(set(parameters) ^ set(weights)))
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


def check_gradients(model, gradients, name, checker, tolerance):
    for key, parameter in model.named_parameters():
        reference = parameter.grad
        if name.startswith("cnn") and key in ("conv1.bias", "conv2.bias"):
            continue  # zero but for rounding: the batch norm behind takes the bias away again
        difference = (gradients[key] - reference).norm().item()
        checker.compare("%s, gradient of %s" % (name, key), difference, 0.0, tolerance, reference.norm().item())


def check_case(folder, case, checker):
    name = "%s %s %dx%d" % (case["model"], case["optimizer"], case["side"], case["side"])
    if case["micro_batches"] > 1:
        name += ", %d parts" % case["micro_batches"]
    model = MODELS[case["model"]](case["channels"], case["side"])
    load(model, tensors(folder, case["weights"]))
    optimizer = optimizer_of(case, model)
    images = torch.from_numpy(numpy.fromfile(folder / case["images"], numpy.float32))
    images = images.view(-1, case["batch"], case["channels"], case["side"], case["side"])
    labels = torch.from_numpy(numpy.fromfile(folder / case["labels"], numpy.int64)).view(-1, case["batch"])
    worst = 0.0
    for step, ours in enumerate(case["losses"]):
        optimizer.zero_grad()
        loss = 0.0
        # The mean over the batch, from parts that differ by at most one sample, the larger ones first.
        for part in numpy.array_split(numpy.arange(case["batch"]), case["micro_batches"]):
            logits = model(images[step][part[0]:part[-1] + 1])
            share = nn.functional.cross_entropy(logits, labels[step][part[0]:part[-1] + 1], reduction="sum",
                                                label_smoothing=case["label_smoothing"]) / case["batch"]
            share.backward()
            loss += share.item()
        if step == 0:
            check_gradients(model, tensors(folder, case["gradients"]), name, checker, GRADIENT[case["model"]])
        optimizer.step()
        worst = max(worst, checker.compare("%s, step %d" % (name, step), ours, loss, LOSS))
    model.eval()
    with torch.no_grad():
        logits = model(images[-1])
    evaluation = nn.functional.cross_entropy(logits, labels[-1]).item()
    # Adam and LARS turn the rounding of a gradient that should be zero (the biases above) into steps of full size.
    tolerance = EVALUATION if case["optimizer"] == "sgd" else 20 * EVALUATION
    error = checker.compare("%s, evaluation" % name, case["evaluation"], evaluation, tolerance)
    print("%-22s loss %.4f -> %.4f, worst error %.1e, evaluation %.1e"
          % (name, case["losses"][0], case["losses"][-1], worst, error))


def main():
    torch.set_num_threads(1)
    checker = Checker()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        for case in json.loads((folder / "index.json").read_text()):
            check_case(folder, case, checker)
    sys.exit(1 if checker.failures else 0)


if __name__ == "__main__":
    main()
