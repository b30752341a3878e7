"""The peer of `veche bench load`: PyTorch's DataLoader with torchvision's transforms, driven over standard input.

Requests and answers are JSON objects, one per line:
  {"do": "make", "name", "mean": [..], "deviation": [..], "crop": padding, "flip": bool, "batch": n, "workers": n, "count": n,
   "pixels": FILE, "labels": FILE, "shape": [height, width, channels]}   images in memory, as torchvision keeps CIFAR-10
      or "folder": DIR instead of the files                              JPEG files by class, as ImageFolder reads them
      -> {"samples": n}
  {"do": "plain", "name", "count": n}   the first n without chance     -> {"images": FILE} float32 NCHW; the caller removes it
  {"do": "run", "name"}                 an epoch of `count` samples, shuffled  -> {"seconds": s, "images": n, "mean": m, "square": s}
Errors are answered with {"error": text}.
"""
import json
import os
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the libraries when loaded
import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, RandomSampler, Subset
from torchvision import datasets, transforms


class InMemory(Dataset):
    """As torchvision.datasets.CIFAR10: an array, and an Image of each sample for the transforms."""

    def __init__(self, request, transform):
        self.pixels = numpy.fromfile(request["pixels"], dtype=numpy.uint8).reshape(-1, *request["shape"])
        self.labels = numpy.fromfile(request["labels"], dtype=numpy.int64).tolist()
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.pixels[index])), self.labels[index]


def data_set(request, transform):
    if "folder" in request:
        return datasets.ImageFolder(request["folder"], transform)
    return InMemory(request, transform)


class Side:
    def __init__(self, request):
        normal = [transforms.ToTensor(), transforms.Normalize(request["mean"], request["deviation"])]
        size = request["shape"][0]
        chance = [transforms.RandomCrop(size, padding=request["crop"])]
        if request["flip"]:
            chance.append(transforms.RandomHorizontalFlip())
        self.plain = data_set(request, transforms.Compose(normal))
        changed = data_set(request, transforms.Compose(chance + normal))
        self.loader = DataLoader(changed, batch_size=request["batch"], num_workers=request["workers"],
                                 sampler=RandomSampler(changed, replacement=True, num_samples=request["count"]),
                                 persistent_workers=request["workers"] > 0)
        self.run()  # the worker starts, files are opened

    def first(self, count):
        images = torch.cat([batch for batch, _ in DataLoader(Subset(self.plain, range(count)), batch_size=64)])
        handle, path = tempfile.mkstemp(prefix="veche-bench-")
        with os.fdopen(handle, "wb") as file:
            images.numpy().tofile(file)
        return {"images": path}

    def run(self):
        count = total = square = 0
        start = time.perf_counter()
        batches = [images for images, _ in self.loader]
        seconds = time.perf_counter() - start
        for images in batches:
            count += len(images)
            total += images.double().mean().item() * len(images)
            square += (images.double() ** 2).mean().item() * len(images)
        return {"seconds": seconds, "images": count, "mean": total / count, "square": square / count}


def answer(request, sides):
    if request["do"] == "make":
        sides[request["name"]] = Side(request)
        return {"samples": len(sides[request["name"]].plain)}
    if request["do"] == "plain":
        return sides[request["name"]].first(request["count"])
    return sides[request["name"]].run()


def main():
    torch.set_num_threads(1)
    sides = {}
    for line in sys.stdin:
        try:
            result = answer(json.loads(line), sides)
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps(result), flush=True)


main()
