"""A script for BlueFog, with changed imports: each rank pulls the parameters to a point of its own."""

import argparse
import json

import torch
import veche.compat.bluefog as bf  # was: import bluefog.torch as bf
from veche.compat import topology_util  # was: from bluefog.common import topology_util

parser = argparse.ArgumentParser()
parser.add_argument("--style", choices=("ATC", "AWC"), default="ATC")
parser.add_argument("--type", default="neighbor_allreduce")
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--dynamic", action="store_true")
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--out", required=True)
args = parser.parse_args()

bf.init()
bf.set_topology(topology_util.ExponentialTwoGraph(bf.size()))


class Point(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((3,), float(bf.rank())))

    def forward(self, target):
        return 0.5 * (self.w - target).pow(2).sum()


model = Point()
bf.broadcast_parameters(model.state_dict(), root_rank=1)
make = bf.DistributedAdaptThenCombineOptimizer if args.style == "ATC" else bf.DistributedAdaptWithCombineOptimizer
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
bf.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = make(optimizer, model=model, communication_type=bf.CommunicationType[args.type],
                 num_steps_per_communication=args.every)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
peers = topology_util.GetDynamicOnePeerSendRecvRanks(bf.load_topology(), bf.rank())

target = torch.arange(3.0) + 10 * bf.rank()
for step in range(args.steps):
    if args.dynamic:
        send, receive = next(peers)
        optimizer.dst_weights = send
        optimizer.src_weights = {r: 1 / (len(receive) + 1) for r in receive}
        optimizer.self_weight = 1 / (len(receive) + 1)
    optimizer.zero_grad()
    model(target).backward()
    optimizer.step()
    scheduler.step()

bf.barrier()
with open(f"{args.out}.{bf.rank()}", "w") as file:
    json.dump(model.w.tolist(), file)
bf.shutdown()
