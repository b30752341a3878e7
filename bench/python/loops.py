# Our side of `veche bench python`, appended to the models of step/peer.py and the data of cluster/ddp.py. In the environment: REQUEST, a JSON object
#   {"do": "hand-over", "steps", "rounds"}          one node: steps of a shared optimizer beside its own steps
#   {"do": "train", "model", "batch", "optimizer", "steps", "save": FILE}   as cluster/ddp.py; "overlap": true
#   {"do": "race", "model", "batch", "optimizer", "veche": arguments, "data": folder, "target", "every", "steps"}
#                                                   until the test accuracy of node 0's model, measured as cluster/ddp.py does
#   {"do": "mix", "floats", "repeats"}              veche.comm.mix_ on a ring of all nodes, as python/mixing.cc does it in C++
#   {"do": "strategy", "floats", "steps", "rounds"} consensus in Python beside the built-in one, on threads
# Node 0 prints what it has measured, as a JSON object.
import veche


def hand_over(request):
    def parameters():
        torch.manual_seed(1)
        return [nn.Parameter(torch.randn(4200)) for _ in range(65)]  # about as many floats as in resnet20

    mine, plain = parameters(), parameters()
    gradients = [torch.randn(4200) for _ in mine]
    shared = veche.Optimizer(torch.optim.SGD(mine, lr=0.01, momentum=0.9), strategy="allreduce", keep=False)
    alone = torch.optim.SGD(plain, lr=0.01, momentum=0.9)

    def seconds(optimizer, all_parameters):
        took = 0.0
        for _ in range(request["steps"]):
            optimizer.zero_grad()
            for p, gradient in zip(all_parameters, gradients):  # as backward does
                if p.grad is None:
                    p.grad = gradient.clone()
                else:
                    p.grad.add_(gradient)
            start = time.perf_counter()
            optimizer.step()
            took += time.perf_counter() - start
        return took

    differences = []
    for _ in range(request["rounds"] + 1):
        ours = seconds(shared, mine)
        differences.append((ours - seconds(alone, plain)) / request["steps"])
    difference = max(float((p - q).detach().abs().max()) for p, q in zip(mine, plain))
    shared.finish()
    return {"seconds": differences[1:], "difference": difference}


def prepare(request, **arguments):
    """A model, its shared optimizer, and a function that makes a step with the batches of cluster/ddp.py."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = MODELS[request["model"]][0]().to(memory_format=torch.channels_last)
    optimizer = OPTIMIZERS[request["optimizer"]](model.parameters())
    optimizer = veche.Optimizer(optimizer, model, overlap=request.get("overlap", False), keep=False, **arguments)
    torch.manual_seed(100 + veche.rank())
    source = batches(request, veche.rank(), veche.size())

    def step():
        x, y = next(source)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.contiguous(memory_format=torch.channels_last)), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def train(request):
    model, optimizer, step = prepare(request, strategy="allreduce")
    for _ in range(3):
        step()
    rank, size = veche.rank(), veche.size()
    if rank == 0:
        torch.cat([p.detach().contiguous().flatten() for p in model.parameters()]).numpy().tofile(request["save"])
    veche.comm.barrier()
    start = time.perf_counter()
    for _ in range(request["steps"]):
        loss = step()
    veche.comm.barrier()
    seconds = time.perf_counter() - start
    optimizer.finish()
    return {"seconds": seconds, "images": request["steps"] * size * request["batch"], "loss": loss.item(), "rank": rank}


def race(request):
    model, optimizer, step = prepare(request, **request["veche"])
    rank, size = veche.rank(), veche.size()
    test = images_and_labels(request["data"], "t10k") if rank == 0 else None
    seconds, reached = 0.0, numpy.zeros(1, numpy.float32)
    while optimizer.steps < request["steps"] and reached[0] < request["target"]:
        veche.comm.barrier()
        start = time.perf_counter()
        for _ in range(request["every"]):
            step()
        veche.comm.barrier()
        seconds += time.perf_counter() - start
        if rank == 0:
            reached[0] = accuracy(model, *test)
        veche.comm.broadcast_(reached)
    steps = optimizer.steps
    optimizer.finish()
    return {"seconds": seconds, "accuracy": float(reached[0]), "steps": steps,
            "images": steps * size * request["batch"], "rank": rank}


def mix(request):
    me, size = veche.rank(), veche.size()
    x = numpy.full(request["floats"], me, numpy.float32)
    veche.comm.mix_(x)
    veche.comm.barrier()
    start = time.perf_counter()
    for _ in range(request["repeats"]):
        veche.comm.mix_(x)
    veche.comm.barrier()
    seconds = (time.perf_counter() - start) / request["repeats"]
    mean = veche.comm.allreduce_(x[-1:].copy())
    veche.finish()
    return {"seconds": seconds, "difference": abs(float(mean[0]) - (size - 1) / 2), "rank": me}


def strategy(request):
    @veche.strategy("consensus-in-python", graph="undirected")
    class Consensus:
        def after_step(self, step):
            for node in self.readers(step):
                self.channel.send(node, self.x)
            mixed = numpy.zeros_like(self.x)
            for node, weight in self.mixing(step):
                mixed += numpy.float32(weight) * (self.x if node == self.me else self.channel.receive(node))
            self.x = mixed

    def run(name):
        start = time.perf_counter()
        veche.train({
            "model": {"name": "vector", "length": request["floats"]}, "run": {"steps": request["steps"]},
            "topology": {"graph": "ring"}, "cluster": {"nodes": 4}, "strategy": {"name": name},
        }, keep=False, progress=False)
        return time.perf_counter() - start

    seconds = []
    for _ in range(request["rounds"] + 1):
        ours, built_in = run("consensus-in-python"), run("consensus")
        seconds.append((ours / request["steps"], built_in / request["steps"]))
    return {"seconds": seconds[1:]}


asked = json.loads(os.environ["REQUEST"])
measured = {"hand-over": hand_over, "train": train, "race": race, "mix": mix, "strategy": strategy}[asked["do"]](asked)
if measured.pop("rank", 0) == 0:
    print(json.dumps(measured), flush=True)
