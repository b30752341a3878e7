"""A member of a grid that takes its share of a global batch: complaints_member.py SEED STEPS.

Each step is a line: its number, the members, and the samples that it took. The process ends after STEPS steps of two members.
"""

import sys

import torch

import veche

torch.manual_seed(int(sys.argv[1]))
model = torch.nn.Linear(1, 1)
optimizer = veche.Optimizer(torch.optim.SGD(model.parameters(), lr=1e-6), model, strategy="allreduce", keep=False,
                            set={"grid.wait_for": 3})
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(240.0)), shuffle=True)
left = int(sys.argv[2])
while left > 0:
    for (x,) in veche.shard(loader, global_batch=24):
        members, step = veche.size(), optimizer.steps
        optimizer.zero_grad()
        model(x.reshape(-1, 1)).mean().backward()
        optimizer.step()
        print("step", step, members, *map(int, x), flush=True)
        left -= members == 2
        if left == 0:
            break
optimizer.finish()
