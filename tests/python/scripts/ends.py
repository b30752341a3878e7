"""Loops that end in different ways: ends.py HOW.

uneven: nodes with different numbers of steps, a run for each strategy; the last line is {case: steps}.
raise: node 1 raises at its fourth step. kill: it is killed there. raise-before: it raises before the run begins.
"""

import json
import os
import signal
import sys

import small
import torch
from small import batch, network, sgd, shared

import veche

NODES, ME = veche.size(), veche.rank()
HOW = sys.argv[1]


def steps(optimizer, model, count):
    for step in range(count):
        if step == 3 and ME == 1 and HOW == "raise":
            raise ValueError("too many cooks")
        if step == 3 and ME == 1 and HOW == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        small.loss(model, *batch(step, NODES, ME)).backward()
        optimizer.step()


if HOW == "raise-before" and ME == 1:
    raise ValueError("too many cooks")
if HOW == "uneven":
    made = {}
    for name, keys in {
        "allreduce": {}, "consensus": {}, "gossip": {}, "parameter-server": {}, "local-sgd": {"period": 4}, "push-sum": {},
        "consensus async": {"async": True}, "gossip async": {"async": True}, "parameter-server async": {"update": "async"},
        "local-sgd async": {"period": 4, "update": "async"},
    }.items():  # fmt: skip
        model = network()
        optimizer = shared(sgd(model), model, strategy={"name": name.split()[0], **keys})
        steps(optimizer, model, 6 + 3 * ME)
        made[name] = optimizer.finish()["steps"]
        assert torch.isfinite(small.flat(model)).all()
        if ME == 0:
            print(name, file=sys.stderr, flush=True)
    if ME == 0:
        print(json.dumps(made))
else:
    model = network()
    optimizer = shared(sgd(model), model)
    steps(optimizer, model, 10**9)
