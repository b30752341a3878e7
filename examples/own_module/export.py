"""Writes net.pt: a network written in Python, for `veche train train.toml` beside this file."""
import torch
from torch import nn

torch.manual_seed(1)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 6 * 6, 10))

torch.jit.script(model).save("net.pt")
