"""A loop over given batches: same_batches.py FOLDER has the network net.pt and batches-NODE.npz.

Leaves the parameters in end-NODE.npy.
"""

import sys

import numpy as np
import torch

import veche

torch.set_num_threads(1)
folder, me = sys.argv[1], veche.rank()
model = torch.jit.load(f"{folder}/net.pt")
batches = np.load(f"{folder}/batches-{me}.npz")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = veche.Optimizer(optimizer, model, strategy="consensus", topology="ring", keep=False)
for images, labels in zip(batches["images"], batches["labels"]):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(images)), torch.from_numpy(labels))
    loss.backward()
    optimizer.step()
optimizer.finish()
np.save(f"{folder}/end-{me}.npy", torch.cat([p.detach().reshape(-1) for p in model.parameters()]).numpy())
