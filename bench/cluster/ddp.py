# The peer of `veche bench ddp`, appended to the models of step/peer.py: PyTorch's DistributedDataParallel over Gloo, one
# process per rank. In the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT as torch takes them, and REQUEST, a JSON object
#   {"model", "batch", "optimizer": "sgd"|"adam", "steps"}                     speed: random samples, already in memory
#   {"model", "batch", "optimizer", "data": folder, "target", "every", "steps"}  time: until the test accuracy, measured
#                                                                              at an interval of steps; not timed;
#                                                                              with "limit": at most about these seconds
# with "save": FILE, where rank 0 writes the parameters after the first three steps;
# and in either "hook": "fp16" or "powersgd:RANK", DDP's own communication hooks.
# Rank 0 prints {"seconds", "images", "loss", "accuracy", "steps"}.
import gzip
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def idx(path, header):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)


def images_and_labels(folder, part):
    images = torch.from_numpy(idx(f"{folder}/{part}-images-idx3-ubyte.gz", 16).copy()).view(-1, 1, 28, 28)
    return images, torch.from_numpy(idx(f"{folder}/{part}-labels-idx1-ubyte.gz", 8).astype(numpy.int64))


def batches(request, rank, world):
    size, shape = request["batch"], MODELS[request["model"]][1]
    if "data" not in request:
        made = [(torch.randn(size, *shape), torch.randint(10, (size,))) for _ in range(8)]
        while True:
            yield from made
    images, labels = images_and_labels(request["data"], "train")
    mine = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))[rank::world]
    while True:
        for part in mine[torch.randperm(len(mine))].split(size):
            yield (images[part].float() / 255 - 0.286) / 0.353, labels[part]


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum((model((x.float() / 255 - 0.286) / 0.353).argmax(1) == y).sum().item()
                    for x, y in zip(images.split(500), labels.split(500)))
    model.train()
    return right / len(labels)


def add_hook(model, hook):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    if hook == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    else:
        rank = int(hook.split(":")[1])
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


def train():
    request = json.loads(os.environ["REQUEST"])
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = MODELS[request["model"]][0]()
    by_power = request.get("hook", "").startswith("powersgd")
    layout = torch.contiguous_format if by_power else torch.channels_last  # the hook views gradients as matrices
    model = model.to(memory_format=layout)
    if by_power:
        # One bucket: with several, the sums of the hook's stages start in any order, which Gloo does not support.
        dist._DEFAULT_FIRST_BUCKET_BYTES = 1 << 30
        model = DistributedDataParallel(model, bucket_cap_mb=1 << 10)
    else:
        model = DistributedDataParallel(model)
    if request.get("hook"):
        add_hook(model, request["hook"])
    optimizer = OPTIMIZERS[request["optimizer"]](model.parameters())
    torch.manual_seed(100 + rank)
    source = batches(request, rank, world)
    test = images_and_labels(request["data"], "t10k") if "data" in request and rank == 0 else None

    def step():
        x, y = next(source)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.contiguous(memory_format=layout)), y)
        loss.backward()
        optimizer.step()
        return loss

    if test is None and "data" not in request:
        for _ in range(3):
            step()  # the first ones build the buckets
    if rank == 0 and "save" in request:
        torch.cat([p.detach().contiguous().flatten() for p in model.parameters()]).numpy().tofile(request["save"])
    seconds, done, reached, loss = 0.0, 0, 0.0, None
    every = request.get("every", request["steps"])
    limit = request.get("limit", float("inf"))
    while done < request["steps"] and reached < request.get("target", 2) and seconds < limit:
        dist.barrier()
        start = time.perf_counter()
        for _ in range(every):
            loss = step()
        dist.barrier()
        seconds += time.perf_counter() - start
        done += every
        found = torch.tensor([0.0, seconds], dtype=torch.float64)
        if test is not None:
            found[0] = accuracy(model.module, *test)
        dist.broadcast(found, 0)
        reached, seconds = found.tolist()
    if rank == 0:
        print(json.dumps({"seconds": seconds, "images": done * world * request["batch"], "loss": loss.item(),
                          "accuracy": reached, "steps": done}), flush=True)


train()
sys.stdout.flush()
os._exit(0)  # Gloo's threads may abort a process that ends in the ordinary way
