# The peer of `veche bench pipeline`: resnet50 cut into two stages, one process each, 1F1B over Gloo's send and recv.
# torch.distributed.pipeline.sync of 1.13 runs in one process by design, hence this loop. In the environment:
# RANK, MASTER_ADDR and MASTER_PORT as torch takes them, and REQUEST, a JSON object {"batch", "micro_batches", "side", "steps",
# "cut": block that the second stage begins with}. Rank 0 prints {"seconds", "images", "loss"}.
import json
import os
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the libraries when loaded
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inputs, planes, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, planes, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = nn.Conv2d(planes, 4 * planes, 1, bias=False), nn.BatchNorm2d(4 * planes)
        self.downsample = nn.Identity()
        if stride != 1 or inputs != 4 * planes:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * planes, 1, stride, bias=False), nn.BatchNorm2d(4 * planes))

    def forward(self, x):
        y = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))


def resnet50():
    # The stem for small images: 3x3, without stride or pool.
    blocks = [nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())]
    inputs = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for block in range(count):
            blocks.append(Bottleneck(inputs, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * (64 << stage)
    blocks.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10)))
    return blocks


def main():
    request = json.loads(os.environ["REQUEST"])
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    blocks, cut = resnet50(), request["cut"]
    assert sum(p.numel() for block in blocks for p in block.parameters()) == 23520842  # with 10 classes
    stage = nn.Sequential(*(blocks[:cut] if rank == 0 else blocks[cut:])).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.01, momentum=0.9)
    parts, size, side = request["micro_batches"], request["batch"] // request["micro_batches"], request["side"]
    images = torch.randn(request["batch"], 3, side, side).to(memory_format=torch.channels_last).split(size)
    labels = torch.randint(10, (request["batch"],)).split(size)
    with torch.no_grad():  # both know what travels
        example = images[0][:1] * 0
        for block in blocks[:cut]:
            block.eval()
            example = block(example)
            block.train()
    shape = (size, *example.shape[1:])
    losses, held = [], {}

    def forward(i):
        if rank == 0:
            held[i] = (None, stage(images[i]))
            sent.append(dist.isend(held[i][1].detach().contiguous(), 1))
        else:
            x = torch.empty(shape)
            dist.recv(x, 0)
            x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
            loss = F.cross_entropy(stage(x), labels[i], reduction="sum") / request["batch"]
            held[i] = (x, loss)
            losses.append(loss.item())

    def backward(i):
        x, y = held.pop(i)
        if rank == 0:
            gradient = torch.empty(shape)
            dist.recv(gradient, 1)
            y.backward(gradient.contiguous(memory_format=torch.channels_last))
        else:
            y.backward()
            sent.append(dist.isend(x.grad.contiguous(), 0))

    sent, seconds = [], 0.0
    for step in range(request["steps"] + 1):
        if step == 1:  # the first one warms up
            dist.barrier()
            start = time.perf_counter()
        optimizer.zero_grad()
        ahead = 2 - rank
        for i in range(min(ahead, parts)):
            forward(i)
        for i in range(parts):
            backward(i)
            if i + ahead < parts:
                forward(i + ahead)
        for work in sent:
            work.wait()
        sent.clear()
        optimizer.step()
    dist.barrier()
    seconds = time.perf_counter() - start
    told = torch.tensor([sum(losses[-parts:])]) if rank == 1 else torch.zeros(1)
    dist.broadcast(told, 1)
    if rank == 0:
        print("\n" + json.dumps({"seconds": seconds, "images": request["steps"] * request["batch"], "loss": told.item()}), flush=True)


main()
