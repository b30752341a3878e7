"""A script for Horovod, with one changed import: a line through points, of which each rank has its own."""

import argparse
import json

import torch
import veche.compat.horovod as hvd  # was: import horovod.torch as hvd

parser = argparse.ArgumentParser()
parser.add_argument("--clip", type=float, default=0.0)
parser.add_argument("--op", default="Average")
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--out", required=True)
args = parser.parse_args()


class Points(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = torch.tensor([i / 64, (i * i % 17) / 17])
        return x, 3 * x[:1] - x[1:] + 0.5


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


hvd.init()
torch.manual_seed(1 + hvd.rank())  # rank 0's model is the one that counts

data = Points()
sampler = torch.utils.data.distributed.DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=False)
loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler)
model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05 if hvd.rank() == 0 else 7.0, momentum=0.9)

hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(
    optimizer,
    named_parameters=model.named_parameters(),
    compression=hvd.Compression.fp16 if args.fp16 else hvd.Compression.none,
    backward_passes_per_step=2,
    op=getattr(hvd, args.op),
)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
assert isinstance(optimizer, torch.optim.SGD)

first = None
for epoch in range(3):
    sampler.set_epoch(epoch)
    batches = list(loader)
    for pair in zip(batches[::2], batches[1::2]):
        optimizer.zero_grad()
        for x, y in pair:
            loss = torch.nn.functional.mse_loss(model(x), y) / 2
            loss.backward()
        if args.clip:
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            with optimizer.skip_synchronize():
                optimizer.step()
        else:
            optimizer.step()
    scheduler.step()
    mean = metric_average(loss.item(), "loss")
    first = first or mean
    if hvd.rank() == 0:
        print(f"epoch {epoch}: loss {mean:.4f}")

with open(f"{args.out}.{hvd.rank()}", "w") as file:
    json.dump({"first": first, "last": mean, "rate": optimizer.param_groups[0]["lr"],
               "parameters": [p.detach().reshape(-1).tolist() for p in model.parameters()]}, file)
hvd.shutdown()
