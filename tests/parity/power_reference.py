"""power_reference.py PROGRAM: repeats with PyTorch's DistributedDataParallel and its own PowerSGD hook, over Gloo in two
processes, the steps that PROGRAM (power.cc) made, and compares the losses of both nodes to 1e-4, relatively.

The hook begins with a Q of random numbers: here it is given the program's. PyTorch does not compress the first two steps.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as processes
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
    from torch.nn.parallel import DistributedDataParallel
except ImportError as error:
    print("skipped: the Debian package python3-torch is missing (%s)" % error)
    sys.exit(77)

import reference

LOSS = 1e-4
# In one bucket: the sums of the hook's several stages, of several buckets, begin in any order, which Gloo does not bear.
WHOLE_MODEL = 1 << 30  # bytes


def first_factor(tensor, rank):
    """Of a matrix with the columns of Q laid into its first rows, one after the other."""
    columns = tensor[0].numel()
    return tensor.reshape(-1)[:columns * rank].view(rank, columns).t()


def node(rank, world, folder, losses):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["PORT"], GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    folder = pathlib.Path(folder)
    case = json.loads((folder / "index.json").read_text())
    model = reference.Cnn(1, 28)
    reference.load(model, reference.tensors(folder, case["weights"]))
    factors = reference.tensors(folder, case["factors"])
    names = {parameter: name for name, parameter in model.named_parameters()}
    dist._DEFAULT_FIRST_BUCKET_BYTES = WHOLE_MODEL
    trained = DistributedDataParallel(model, bucket_cap_mb=WHOLE_MODEL >> 20)
    state = power.PowerSGDState(None, matrix_approximation_rank=case["rank"], start_powerSGD_iter=case["first"],
                                min_compression_rate=2, orthogonalization_epsilon=0)

    def hook(state, bucket):
        if state.iter >= state.start_powerSGD_iter and bucket.index() not in state.p_memory_dict:
            ps, qs = [torch.empty(0)], [torch.empty(0)]
            for parameter in bucket.parameters():
                matrix = parameter.view(parameter.shape[0], -1)
                if power._should_compress(*matrix.shape, case["rank"], state.min_compression_rate)[0]:
                    ps.append(torch.empty(matrix.shape[0] * case["rank"]))
                    qs.append(first_factor(factors[names[parameter]], case["rank"]).reshape(-1))
            state.p_memory_dict[bucket.index()] = torch.cat(ps)
            state.q_memory_dict[bucket.index()] = torch.cat(qs)
        return power.powerSGD_hook(state, bucket)

    trained.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(trained.parameters(), lr=case["rate"], momentum=0.9)
    mine = case["nodes"][rank]
    images = torch.from_numpy(numpy.fromfile(folder / mine["images"], numpy.float32)).view(-1, case["batch"], 1, 28, 28)
    labels = torch.from_numpy(numpy.fromfile(folder / mine["labels"], numpy.int64)).view(-1, case["batch"])
    for step in range(len(mine["losses"])):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(trained(images[step]), labels[step])
        loss.backward()
        optimizer.step()
        losses[rank][step] = loss.item()
    dist.barrier()
    os._exit(0)  # Gloo's threads may abort a process that ends in the ordinary way


def main():
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.argv[1], name], check=True)
        case = json.loads((pathlib.Path(name) / "index.json").read_text())
        steps = len(case["nodes"][0]["losses"])
        losses = torch.zeros(2, steps, dtype=torch.float64).share_memory_()
        with reference_port() as port:
            os.environ["PORT"] = str(port)
        processes.spawn(node, (2, name, losses), nprocs=2)
    checker, worst = reference.Checker(), 0.0
    for rank, mine in enumerate(case["nodes"]):
        for step, ours in enumerate(mine["losses"]):
            worst = max(worst, checker.compare("node %d, step %d" % (rank, step), ours, losses[rank][step].item(), LOSS))
    print("cnn, powersgd:%d, 2 nodes: loss %.4f -> %.4f, worst error %.1e"
          % (case["rank"], case["nodes"][0]["losses"][0], case["nodes"][0]["losses"][-1], worst))
    sys.exit(1 if checker.failures else 0)


class reference_port:
    """A port that nobody uses now."""

    def __enter__(self):
        import socket
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        return self.socket.getsockname()[1]

    def __exit__(self, *_):
        self.socket.close()


if __name__ == "__main__":
    main()
