"""A loop over a shuffled loader, on one or more nodes: resumed.py [--hang-at STEP] [--resume FOLDER] [--set KEYS].

At that step it prints "waiting" and waits for the signal that ends it. At the end node 0 saves everything.
"""

import argparse
import json
import signal

import small
import torch

import veche

parser = argparse.ArgumentParser()
parser.add_argument("--hang-at", type=int)
parser.add_argument("--resume")
parser.add_argument("--optimizer", default="Adam")
parser.add_argument("--strategy", default="allreduce")
parser.add_argument("--set", type=json.loads, default={})
given = parser.parse_args()

random = torch.Generator().manual_seed(5)
data = torch.utils.data.TensorDataset(torch.randn(84, 8, generator=random), torch.randint(0, 3, (84,), generator=random))
loader = torch.utils.data.DataLoader(data, batch_size=6, shuffle=True)
torch.manual_seed(1 if given.resume is None else 7)  # a resumed loop may begin with any model
model = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.BatchNorm1d(12), torch.nn.Tanh(), torch.nn.Linear(12, 3))
optimizer = getattr(torch.optim, given.optimizer)(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=50, cycle_momentum=False)
optimizer = veche.Optimizer(optimizer, model, strategy=given.strategy, name="loop", checkpoint_every=5,
                            resume=given.resume, scheduler=schedule, set=given.set)
batches = []
for epoch in range(3):
    for x, y in veche.shard(loader):
        if optimizer.steps == given.hang_at:
            print("waiting", flush=True)
            signal.pause()
        batches.append(float(x.sum()))
        optimizer.zero_grad()
        small.loss(model, x, y).backward()
        optimizer.step()
        schedule.step()
steps = optimizer.finish()["steps"]
state = [{key: float(value) if getattr(value, "numel", int)() == 1 else value for key, value in each.items()}
         for each in optimizer.state_dict()["state"].values()]
torch.save({"model": model.state_dict(), "rate": optimizer.param_groups[0]["lr"], "schedule": schedule.last_epoch,
            "state": state, "steps": steps, "batches": batches}, f"end-{veche.rank()}.pt")
