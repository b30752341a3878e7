# The peer of `veche bench evaluate`, appended to the models of bench/step/peer.py: PyTorch's usual evaluation loop.
#
# Requests and answers are JSON objects, one per line:
#   {"do": "make", "name", "model", "batch", "threads", "weights", "buffers", "images", "labels"}
#       files as in bench/step/peer.py; buffers: the statistics of the norms, as the weights   -> {}
#   {"do": "run", "name", "times": n}   tests all images n times
#                                       -> {"seconds": s, "loss": mean, "correct": samples, of one time}
# Errors are answered with {"error": text}.


def fill(tensors, path):
    numbers = torch.from_numpy(numpy.fromfile(path, dtype=numpy.float32))
    start = 0
    for tensor in tensors:
        tensor.copy_(numbers[start:start + tensor.numel()].view(tensor.shape))
        start += tensor.numel()
    if start != numbers.numel():
        raise ValueError("the numbers do not fit the model")


class Tester:
    def __init__(self, request):
        make, shape = MODELS[request["model"]]
        self.model = make().eval()
        with torch.no_grad():
            fill(self.model.parameters(), request["weights"])
            fill((b for b in self.model.buffers() if b.is_floating_point()), request["buffers"])
        self.model = self.model.to(memory_format=torch.channels_last)
        images = torch.from_numpy(numpy.fromfile(request["images"], dtype=numpy.float32)).view(-1, *shape)
        labels = torch.from_numpy(numpy.fromfile(request["labels"], dtype=numpy.int64))
        size = request["batch"]
        self.batches = [(x.contiguous(memory_format=torch.channels_last), y)
                        for x, y in zip(images.split(size), labels.split(size))]
        self.threads = request["threads"]

    @torch.no_grad()
    def run(self, times):
        torch.set_num_threads(self.threads)
        start = time.perf_counter()
        for _ in range(times):
            loss, correct, count = 0.0, 0, 0
            for x, y in self.batches:
                logits = self.model(x)
                loss += F.cross_entropy(logits, y, reduction="sum").item()
                correct += (logits.argmax(1) == y).sum().item()
                count += len(y)
        return {"seconds": time.perf_counter() - start, "loss": loss / count, "correct": correct}


def answer(request, testers):
    if request["do"] == "make":
        testers[request["name"]] = Tester(request)
        return {}
    return testers[request["name"]].run(request["times"])


def main():
    testers = {}
    for line in sys.stdin:
        try:
            result = answer(json.loads(line), testers)
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps(result), flush=True)


main()
