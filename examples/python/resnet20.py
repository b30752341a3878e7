#!/usr/bin/env python3
"""A PyTorch loop as people write it, on any number of nodes: the lines with `veche` were added.

    python3 examples/python/resnet20.py --epochs 2                            one process
    python3 -m veche.launch -n 2 examples/python/resnet20.py --epochs 2       two on this machine
    mpirun -np 16 python3 examples/python/resnet20.py --strategy consensus    many machines

It trains a resnet20 on Fashion-MNIST (Debian's package dataset-fashion-mnist).
"""

import argparse
import gzip
import pathlib

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import veche


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.stride, self.missing = stride, outer - inner

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.missing))
        return F.relu(self.bn2(self.conv2(y)) + shortcut)


def resnet20():
    blocks, inner = [], 16
    for outer, stride in ((16, 1), (32, 2), (64, 2)):
        blocks += [Block(inner, outer, stride), Block(outer, outer, 1), Block(outer, outer, 1)]
        inner = outer
    stem = [nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def images(folder, part, limit):
    def read(kind, header):
        with gzip.open(pathlib.Path(folder, f"{part}-{kind}-ubyte.gz")) as file:
            return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy())

    x, y = read("images-idx3", 16).view(-1, 1, 28, 28), read("labels-idx1", 8).long()
    return torch.utils.data.TensorDataset((x[:limit].float() / 255 - 0.286) / 0.353, y[:limit])


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the data set")
    words.add_argument("--samples", type=int, help="only the first ones")
    words.add_argument("--epochs", type=int, default=1)
    words.add_argument("--batch", type=int, default=32, help="images of each node in a step")
    words.add_argument("--strategy", default="allreduce")
    given = words.parse_args()
    if not pathlib.Path(given.data).is_dir():
        words.error(f"there is no {given.data}: install the Debian package dataset-fashion-mnist, or give --data")
    if given.batch < 1:
        words.error(f"--batch {given.batch} is not a number of images")

    torch.manual_seed(1)
    model = resnet20()
    loader = torch.utils.data.DataLoader(images(given.data, "train", given.samples), given.batch, shuffle=True)
    test = torch.utils.data.DataLoader(images(given.data, "t10k", given.samples), 500)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer = veche.Optimizer(optimizer, model, strategy=given.strategy)
    for epoch in range(given.epochs):
        model.train()
        for x, y in veche.shard(loader):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.report(loss.item(), len(y))
            optimizer.step()

        model.eval()
        right = numpy.zeros(2, numpy.float32)
        with torch.no_grad():
            for x, y in test:
                right += (int((model(x).argmax(1) == y).sum()), len(y))
        veche.comm.allreduce_(right)  # the nodes' models differ if they only mix with neighbours
        if veche.rank() == 0:
            print(f"epoch {epoch + 1}: loss {loss.item():.3f}, accuracy {right[0] / right[1]:.2%}", flush=True)
    optimizer.finish()


main()
