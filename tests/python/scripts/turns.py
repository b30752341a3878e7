"""Two optimizers in turn, as of a GAN, on all nodes and in one learner with the batches of all.

The last line is {case: distance}; each case is a run of its own in the same processes.
"""

import contextlib
import json

import torch

import veche

torch.set_num_threads(1)
NODES, ME, EACH = veche.size(), veche.rank(), 8


def models():
    torch.manual_seed(1)
    generator = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    judge = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    return generator, judge


def batch(step, node):
    """Noise and true samples: of one node, or with None of all."""
    random = torch.Generator().manual_seed(step)
    noise, true = torch.randn(EACH * NODES, 4, generator=random), torch.randn(EACH * NODES, 3, generator=random) + 2
    return (noise, true) if node is None else (noise[node::NODES], true[node::NODES])


def says(judge, x, truth):
    return torch.nn.functional.binary_cross_entropy_with_logits(judge(x), torch.full((len(x), 1), truth))


def play(both, optimizers, node, steps=20):
    """The judge steps in every round, the generator in two of three. Its pass adds to the judge's gradients, too."""
    (generator, judge), (of_generator, of_judge) = both, optimizers
    for step in range(steps):
        noise, true = batch(step, node)
        of_judge.zero_grad()
        (says(judge, true, 1.0) + says(judge, generator(noise).detach(), 0.0)).backward()
        of_judge.step()
        if step % 3:
            of_generator.zero_grad()
            says(judge, generator(noise), 1.0).backward()
            of_generator.step()


def one_pass(both, optimizers, node, steps=20):
    """One backward pass for two optimizers: the second finds its gradients as they were."""
    for step in range(steps):
        noise, _ = batch(step, node)
        for optimizer in optimizers:
            optimizer.zero_grad()
        says(both[1], both[0](noise), 1.0).backward()
        for optimizer in optimizers:
            optimizer.step()


def adam_and_momentum(generator, judge):
    return (torch.optim.SGD(generator.parameters(), lr=0.05, momentum=0.9, weight_decay=0.01),
            torch.optim.Adam(judge.parameters(), lr=0.01))


def plain(generator, judge):
    return torch.optim.SGD(generator.parameters(), lr=0.05), torch.optim.SGD(judge.parameters(), lr=0.1)


def shared(both, make, **options):
    options = {"strategy": "allreduce", "keep": False, **options}
    return veche.Optimizers(make(*both), torch.nn.ModuleList(both), **options)


def flat(both):
    return torch.cat([p.detach().reshape(-1) for model in both for p in model.parameters()])


def apart(game=play, make=adam_and_momentum, kind=torch.float32, **options):
    alone, together = models(), models()
    game(alone, make(*alone), None)
    for model in together:
        model.to(kind)
    optimizers = shared(together, make, **options)
    if kind is not torch.float32:
        together = [Converted(model, kind) for model in together]
    game(together, optimizers, ME)
    optimizers[0].finish()
    return float((flat(alone) - flat(together).float()).abs().max())


class Converted(torch.nn.Module):
    def __init__(self, model, kind):
        super().__init__()
        self.model, self.kind = model, kind

    def forward(self, x):
        return self.model(x.to(self.kind)).float()


def uneven_ends():
    """Nodes whose loops have ended follow the others' optimizers; no node waits."""
    both = models()
    optimizers = shared(both, adam_and_momentum)
    play(both, optimizers, ME, steps=3 + ME)
    steps = optimizers[0].finish()["steps"]
    rounds = range(2 + NODES)
    others = veche.comm.allgather(flat(both).numpy())
    return abs(steps - len(rounds) - sum(step % 3 > 0 for step in rounds)) + max(float(abs(x - others[0]).max()) for x in others)


def another_order():
    """Is told on all nodes, and not exchanged."""
    both = models()
    optimizers = shared(both, plain)
    play(both, optimizers, ME, steps=1)
    try:
        optimizers[ME % 2].step()
    except veche.RunError as error:
        words = "makes step 2 on node 0 and optimizer 1 on node 1: all nodes must step them in the same order"
        return float(words not in str(error))
    finally:
        with contextlib.suppress(veche.RunError):
            veche.finish()
    return 1.0


distances = {
    "allreduce": apart(),
    "one pass": apart(one_pass),
    "staged": apart(stage=True),
    "doubles": apart(kind=torch.float64),
    "parameter-server": apart(strategy="parameter-server"),
    "two servers": apart(strategy={"name": "parameter-server", "servers": 2}),
    "consensus of all": apart(make=plain, strategy="consensus", topology="complete"),
    "local-sgd": apart(make=plain, strategy={"name": "local-sgd", "period": 1}),
    "uneven ends": uneven_ends(),
    "another order": another_order(),
}
if ME == 0:
    print(json.dumps(distances))
