"""f_i(x) = a_i/2 (x - b_i)^2 in loops of torch: the last line is {case: the parameters of all nodes}.

The cases are the strategies of the first argument, by their names; docs/configuration.md has the keys.
"""

import json
import sys

import torch

import veche

torch.set_num_threads(1)
ME = veche.rank()
STEPS, A, B = 20, [1, 2, 3, 4], [4, 3, 2, 1]
OPTIMIZERS = {
    "sgd": lambda x: torch.optim.SGD([x], lr=0.05, momentum=0.5),
    "adam": lambda x: torch.optim.Adam([x], lr=0.05),
}

found = {}
for name, keys in json.loads(sys.argv[1]).items():
    for kind, make in OPTIMIZERS.items():
        x = torch.nn.Parameter(torch.zeros(1))
        optimizer = veche.Optimizer(make(x), set=keys, keep=False)
        for _ in range(STEPS):
            optimizer.zero_grad()
            (A[ME] / 2 * (x - B[ME]) ** 2).sum().backward()
            optimizer.step()
        assert optimizer.finish()["steps"] == STEPS
        found[f"{name} {kind}"] = [float(each[0]) for each in veche.comm.allgather(x.detach().numpy())]
if ME == 0:
    print(json.dumps(found))
