"""A member of a grid whose parts are those of own_parts.py: grid_parts.py MODEL STRATEGY [STEP AT WHICH IT IS KILLED]."""

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy
import own_parts

import veche

model, strategy = sys.argv[1:3]
if len(sys.argv) > 3:
    kind = {"pass-on": own_parts.PassOn, "python-allreduce": own_parts.AllReduce}[strategy]
    moment = "after_step" if "after_step" in vars(kind) else "after_backward"
    usual = getattr(kind, moment)

    def dies(self, step):
        if step == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(self, step)

    setattr(kind, moment, dies)

STEPS = 2000 if model == "line" else 200
result = veche.train({
    "model": {"name": model}, "strategy": {"name": strategy}, "grid": {"wait_for": 3, "data": "common"},
    "optimizer": {"name": "sgd", "lr": 0.8 if model == "line" else 0.2, "schedule": "cosine" if model == "line" else "constant"},
    "run": {"steps": STEPS}, **({"data": {"name": "stripes"}} if model == "softmax" else {}),
}, keep=False, progress=False)
print("ended", result.stopped, "after", int(result.summary["steps"]), "with", result.summary["nodes"], flush=True)
if model == "line":  # all sites' points lie on this line
    print("learnt", all(numpy.allclose(line, [3, -2], atol=0.05) for line in result.parameters), flush=True)
else:
    print("learnt", result.accuracy["average_model"] > 0.9, flush=True)
