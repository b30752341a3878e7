"""A member of a grid: a small model, trained until step LAST. Steps are slow until "go" comes, so that members can come
and go before the run ends.

    grid_member.py LAST SEED [RUN_SEED]
"""

import hashlib
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


def state(model, optimizer):
    """What equal members have alike: parameters, and the optimizer's state."""
    digest = hashlib.sha256()
    for p in model.parameters():
        own = optimizer.state[p]
        for tensor in (p, own["exp_avg"], own["exp_avg_sq"], torch.as_tensor(own["step"])):
            digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


threading.Thread(target=listen, daemon=True).start()
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
keys = {"run.seed": int(value) for value in sys.argv[3:]}
optimizer = veche.Optimizer(optimizer, model, strategy="allreduce", set=keys)
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
print("made", optimizer.steps, state(model, optimizer), flush=True)
print("ended", optimizer.finish()["stopped"], flush=True)
