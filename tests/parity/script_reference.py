"""script_reference.py PROGRAM: exports a network as TorchScript, lets four nodes of Veche train it (script.cc), and
repeats that with PyTorch's own SGD: every node's loss at every step must agree to 1e-4, relatively."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from torch import nn
except ImportError as error:
    print("skipped: the Debian package python3-torch is missing (%s)" % error)
    sys.exit(77)


class Net(nn.Module):
    """Batch norm, a weight used twice, a frozen layer, and a view, which needs PyTorch's plain order."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.frozen = nn.Linear(128, 32)
        self.out = nn.Linear(32, 10)
        for parameter in self.frozen.parameters():
            parameter.requires_grad_(False)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = self.bn2(self.conv2(torch.relu(self.conv2(x))))
        return self.out(torch.relu(self.frozen(x.view(x.size(0), -1))))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    model = Net()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        torch.jit.script(model).save(str(folder / "net.pt"))
        subprocess.run([sys.argv[1], str(folder / "net.pt"), str(folder)], check=True)
        index = json.loads((folder / "index.json").read_text())
        images = torch.from_numpy(numpy.fromfile(folder / "images", numpy.float32))
        labels = torch.from_numpy(numpy.fromfile(folder / "labels", numpy.int64))
    nodes, batch = index["nodes"], index["batch"]
    images, labels = images.view(-1, nodes, batch, 3, 8, 8), labels.view(-1, nodes, batch)

    replicas = [copy.deepcopy(model) for _ in range(nodes)]
    sgd = [torch.optim.SGD([p for p in replica.parameters() if p.requires_grad], lr=0.05, momentum=0.9, weight_decay=0.001)
           for replica in replicas]
    worst = 0.0
    for step in range(len(images)):
        for node, replica in enumerate(replicas):
            sgd[node].zero_grad()
            loss = nn.functional.cross_entropy(replica(images[step, node]), labels[step, node])
            loss.backward()
            ours = index["losses"][node][step]
            error = abs(ours - loss.item()) / loss.item()
            if not error <= 1e-4:
                raise SystemExit("step %d, node %d: Veche %.8g, PyTorch %.8g" % (step, node, ours, loss.item()))
            worst = max(worst, error)
        for shared in zip(*(replica.parameters() for replica in replicas)):
            if shared[0].requires_grad:
                mean = sum(p.grad for p in shared) / nodes
                for p in shared:
                    p.grad.copy_(mean)
        for optimizer in sgd:
            optimizer.step()
    print("TorchScript, %d nodes: loss %.4f -> %.4f, worst error %.1e"
          % (nodes, index["losses"][0][0], index["losses"][0][-1], worst))
    if not index["losses"][0][-1] < 0.9 * index["losses"][0][0]:
        raise SystemExit("nothing was learned")


main()
