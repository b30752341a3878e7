"""A member of a grid: a small model, trained until step LAST. Steps are slow until "go" comes, so that members can come
and go before the run ends.

    grid_member.py LAST SEED [OPTIONS]

OPTIONS: arguments of veche.Optimizer as JSON.
"""

import hashlib
import json
import sys
import threading

import torch

import veche

last, seed = map(int, sys.argv[1:3])
torch.manual_seed(seed)
go = threading.Event()


def listen():
    if sys.stdin.readline() == "go\n":
        go.set()


def digest(tensors):
    bytes_of_all = b"".join(tensor.detach().contiguous().numpy().tobytes() for tensor in tensors)
    return hashlib.sha256(bytes_of_all).hexdigest()[:12]


def state(model, optimizer):
    """What equal members have alike: parameters, the optimizer's state, averaged buffers and the rate."""
    own = [torch.as_tensor(value) for p in model.parameters() for value in optimizer.state[p].values()]
    return f"{digest(model.parameters())}-{digest(own)}-{digest(model.buffers())}-{optimizer.param_groups[0]['lr']}"


threading.Thread(target=listen, daemon=True).start()
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)
options = {"strategy": "allreduce", "buffers": "average", "scheduler": schedule, **json.loads("".join(sys.argv[3:]) or "{}")}
optimizer = veche.Optimizer(optimizer, model, **options)
print("begins at", optimizer.steps, flush=True)
members = 0
while optimizer.steps < last:
    if veche.size() != members:
        members = veche.size()
        print(f"members {members} rank {veche.rank()}", flush=True)
    go.wait(0.1)
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
    schedule.step()
x = torch.randn(1000, 4)
loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) if options["buffers"] == "own" else 0
print("loss", float(loss), flush=True)
print("made", optimizer.steps, state(model, optimizer), flush=True)
print("ended", optimizer.finish()["stopped"], flush=True)
