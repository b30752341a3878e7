# The peer of two ranks in `veche bench text`, appended to the model of text/peer.py: PyTorch's DistributedDataParallel over
# Gloo, one process per rank. In the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT as torch takes them, and REQUEST,
# a JSON object {"layers", "heads", "width", "context", "symbols", "batch", "steps"}. Texts are random tokens in memory.
# Rank 0 prints {"seconds", "tokens", "loss"}.
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train():
    request = json.loads(os.environ["REQUEST"])
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Gpt(*(request[key] for key in ("layers", "heads", "width", "context", "symbols")))
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=0.02)
    model = DistributedDataParallel(model)
    optimizer = new_optimizer(model)
    torch.manual_seed(100 + rank)
    batches = torch.randint(request["symbols"], (8, request["batch"], request["context"] + 1))
    for i in range(3):
        train_step(model, optimizer, batches[i])  # the first ones build the buckets
    dist.barrier()
    start = time.perf_counter()
    for i in range(request["steps"]):
        loss = train_step(model, optimizer, batches[i % len(batches)])
    dist.barrier()
    if rank == 0:
        tokens = request["steps"] * world * request["batch"] * request["context"]
        print(json.dumps({"seconds": time.perf_counter() - start, "tokens": tokens, "loss": loss.item()}), flush=True)


train()
sys.stdout.flush()
os._exit(0)  # Gloo's threads may abort a process that ends in the ordinary way
