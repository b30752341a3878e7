"""The peer of `veche bench step`: PyTorch's usual training loop, driven over standard input.

Requests and answers are JSON objects, one per line:
  {"do": "make", "name", "model", "batch", "layout": "nchw"|"nhwc", "optimizer": "sgd"|"adam", "weights", "images", "labels"}
      files: float32 / int64 numbers one after the other; weights in the order of named_parameters(), images NCHW,
      as many batches as there are.                                          -> {"parameters": n}
  {"do": "run", "name", "steps": n}   train n steps, batch after batch       -> {"seconds": s, "losses": [...]}
Errors are answered with {"error": text}.
"""
import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(globals().get("THREADS", 1))  # read by the libraries when loaded
import numpy
import torch
from torch import nn
import torch.nn.functional as F


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.bn2 = nn.BatchNorm2d(64)
        self.fc1 = nn.Linear(2304, 600)
        self.fc2 = nn.Linear(600, 120)
        self.fc3 = nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc3(self.fc2(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.stride, self.missing = stride, outer - inner

    def shortcut(self, x):
        if self.stride == 1:
            return x
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.missing // 2, self.missing // 2))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*[Block(16, 16, 1) for _ in range(3)])
        self.layer2 = nn.Sequential(Block(16, 32, 2), Block(32, 32, 1), Block(32, 32, 1))
        self.layer3 = nn.Sequential(Block(32, 64, 2), Block(64, 64, 1), Block(64, 64, 1))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


MODELS = {"cnn": (Cnn, (1, 28, 28)), "resnet20": (ResNet20, (3, 32, 32))}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.001),
}


class Trainer:
    def __init__(self, request):
        make, shape = MODELS[request["model"]]
        layout = torch.channels_last if request["layout"] == "nhwc" else torch.contiguous_format
        self.model = make()
        weights = torch.from_numpy(numpy.fromfile(request["weights"], dtype=numpy.float32))
        start = 0
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(weights[start:start + parameter.numel()].view(parameter.shape))
                start += parameter.numel()
        if start != weights.numel():
            raise ValueError("the weights do not fit the model")
        self.parameters = start
        self.model = self.model.to(memory_format=layout)
        self.model.train()
        self.optimizer = OPTIMIZERS[request["optimizer"]](self.model.parameters())
        images = torch.from_numpy(numpy.fromfile(request["images"], dtype=numpy.float32))
        labels = torch.from_numpy(numpy.fromfile(request["labels"], dtype=numpy.int64))
        size = request["batch"]
        images = images.view(-1, size, *shape)
        self.batches = [(x.contiguous(memory_format=layout), y) for x, y in zip(images, labels.view(-1, size))]
        self.step = 0

    def run(self, steps):
        losses = []
        start = time.perf_counter()
        for _ in range(steps):
            x, y = self.batches[self.step % len(self.batches)]
            self.step += 1
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return {"seconds": time.perf_counter() - start, "losses": losses}


def answer(request, trainers):
    if request["do"] == "make":
        trainers[request["name"]] = Trainer(request)
        return {"parameters": trainers[request["name"]].parameters}
    return trainers[request["name"]].run(request["steps"])


def main():
    torch.set_num_threads(globals().get("THREADS", 1))
    trainers = {}
    for line in sys.stdin:
        try:
            result = answer(json.loads(line), trainers)
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps(result), flush=True)


main()
