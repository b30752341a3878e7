#!/usr/bin/env python3
"""A small language model of characters, trained by several nodes.

    python3 -m veche.launch -n 2 examples/python/language.py README.md --steps 300

Each node reads its own part of the text. Nodes train alone for eight steps and then take the mean
of their models, which suits slow networks. The last lines are written by the model.
"""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn

import veche


class Block(nn.Module):
    """Causal attention and two layers, each beside its input."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.gather = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        split = (batch, length, 3, self.heads, width // self.heads)
        q, k, v = self.attend(self.before(x)).view(split).permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        likeness = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).masked_fill(later, -math.inf)
        x = x + self.gather((likeness.softmax(3) @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.think(self.between(x))


class Model(nn.Module):
    def __init__(self, letters, context, width, layers):
        super().__init__()
        self.context = context
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)], nn.LayerNorm(width))
        self.next = nn.Linear(width, letters)

    def forward(self, x):
        return self.next(self.blocks(self.letter(x) + self.place(torch.arange(x.shape[1]))))

    @torch.no_grad()
    def write(self, text, length):
        for _ in range(length):
            chances = self(text[None, -self.context :])[0, -1].softmax(0)
            text = torch.cat([text, torch.multinomial(chances, 1)])
        return text


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("text", type=argparse.FileType(), help="a file to learn from")
    words.add_argument("--steps", type=int, default=1000)
    words.add_argument("--width", type=int, default=64)
    words.add_argument("--layers", type=int, default=2)
    words.add_argument("--write", type=int, default=200, metavar="N", help="letters to write in the end")
    given = words.parse_args()
    text = given.text.read()
    if given.width % 4 or len(text) <= 65 * veche.size():
        words.error("--width is a multiple of 4, and the text has more than 65 letters for each node")

    letters = sorted(set(text))
    numbers = torch.tensor([letters.index(letter) for letter in text])
    torch.manual_seed(1)
    model = Model(len(letters), 64, given.width, given.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.002)
    optimizer = veche.Optimizer(optimizer, model, strategy={"name": "local-sgd", "period": 8})

    mine = numbers.chunk(veche.size())[veche.rank()]
    draw = torch.Generator().manual_seed(veche.rank())
    while optimizer.steps < given.steps:
        starts = torch.randint(len(mine) - model.context, (16,), generator=draw)
        pieces = torch.stack([mine[start : start + model.context + 1] for start in starts])
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if veche.rank() == 0 and optimizer.steps % max(1, given.steps // 10) == 0:
            print(f"step {optimizer.steps}: {loss.item() / math.log(2):.2f} bits a letter", flush=True)
    rank = veche.rank()
    optimizer.finish()
    if rank == 0:
        print("".join(letters[number] for number in model.write(numbers[:8], given.write)))


main()
