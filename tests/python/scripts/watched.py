"""Ten steps with a loss of 2.5, a wait until a line comes, and ten more with 1.5. The run is named "watched"."""

import sys

import small

import veche

model = small.network()
optimizer = veche.Optimizer(small.sgd(model), model, strategy="allreduce", name="watched")
for step in range(20):
    if step == 10:
        if veche.rank() == 0:
            print("waiting", flush=True)
            sys.stdin.readline()
        veche.comm.barrier()
    optimizer.zero_grad()
    small.loss(model, *small.batch(step, veche.size(), veche.rank())).backward()
    optimizer.report(2.5 if step < 10 else 1.5, samples=8)
    optimizer.step()
optimizer.finish()
