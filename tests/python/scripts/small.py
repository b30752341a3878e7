"""Small models, batches and loops."""

import torch

import veche

torch.set_num_threads(1)
EACH = 8  # samples of a node and step


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.Tanh(), torch.nn.Linear(12, 3))


def batch(step, nodes, node=None):
    """All nodes' samples of a step, or those of one node."""
    random = torch.Generator().manual_seed(step)
    x = torch.randn(EACH * nodes, 8, generator=random)
    y = torch.randint(0, 3, (EACH * nodes,), generator=random)
    return (x, y) if node is None else (x[node::nodes], y[node::nodes])


def loss(model, x, y):
    return torch.nn.functional.cross_entropy(model(x), y)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01)


def train(model, optimizer, nodes, node=None, steps=20, first=0, schedule=None):
    for step in range(first, steps):
        optimizer.zero_grad()
        loss(model, *batch(step, nodes, node)).backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()


def flat(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def apart(one, other):
    return float((flat(one) - flat(other)).abs().max())


def shared(optimizer, model=None, **options):
    return veche.Optimizer(optimizer, model, **{"strategy": "allreduce", "keep": False, **options})
