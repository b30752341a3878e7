"""Asynchronous strategies and lossy codecs, 25 steps each.

The last line is {case: [loss before, loss after]}, of all samples with the model of node 0.
"""

import json
import sys

import small
import torch
from small import adam, batch, network, sgd, shared, train

import veche

NODES, ME = veche.size(), veche.rank()
CASES = {
    "topk": {"strategy": "consensus", "compress": "topk:0.1"},
    "topk-allreduce": {"strategy": "allreduce", "compress": "topk:0.1"},
    "topk-parameter-server": {"strategy": "parameter-server", "compress": "topk:0.1"},
    "consensus-async": {"strategy": {"name": "consensus", "async": True}},
    "gossip-async": {"strategy": {"name": "gossip", "async": True}},
    "parameter-server-async": {"strategy": {"name": "parameter-server", "update": "async"}},
    "parameter-server-ssp": {"strategy": {"name": "parameter-server", "update": "ssp", "staleness": 2}},
    "local-sgd-async": {"strategy": {"name": "local-sgd", "period": 5, "update": "async"}},
}


def measure(model):
    with torch.no_grad():
        return float(small.loss(model, *TEST))


TEST = batch(99, NODES)
losses = {}
for name, options in CASES.items():
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    for make in (sgd, adam):
        model = network()
        optimizer = shared(make(model), model, **options)
        for step in range(25):
            optimizer.zero_grad()
            small.loss(model, *batch(99, NODES, ME)).backward()
            optimizer.step()
        before = measure(network())
        optimizer.finish()
        losses[f"{name}-{make.__name__}"] = [before, measure(model)]
    if ME == 0:
        print(name, file=sys.stderr, flush=True)
if ME == 0:
    print(json.dumps(losses))
