"""Many runs one after the other in one process: cycles.py COUNT. Prints what it held before and after."""

import gc
import json
import os
import sys

import small
import torch

import veche


def cycle():
    model = torch.nn.Linear(100, 100)  # 40 kB
    optimizer = small.shared(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(1, 100)).sum().backward()
        optimizer.step()
    optimizer.finish()
    x = torch.ones(1000)
    veche.comm.allreduce_(x)
    assert float(x.sum()) == 1000
    veche.finish()


def held():
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return {"threads": len(os.listdir("/proc/self/task")), "files": len(os.listdir("/proc/self/fd")),
            "kilobytes": pages * os.sysconf("SC_PAGESIZE") // 1024}


count = int(sys.argv[1])
for _ in range(count // 4):
    cycle()
before = held()
for _ in range(count):
    cycle()
print(json.dumps({"before": before, "after": held()}))
