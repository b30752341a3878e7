"""`veche.shard`: each node sees its own part of a loader's samples."""

from __future__ import annotations

import random
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from veche import _session
from veche._veche import RequestError


def shard(
    loader: Any, *, seed: int = 1, training: bool = True, per_step: float = 1, global_batch: int | None = None
) -> Shard:
    """An iterable like `loader`, of this node's part of the samples.

    All nodes get equally many batches. A loader of torch that shuffles is shuffled anew in every
    epoch, alike on all nodes; other iterables are divided batch by batch. In a resumed run the
    batches of the steps made before are left out: the training loop needs no change.

    `training`: False for a loader of test samples, of which nothing is left out. `per_step`: batches
    between two calls of optimizer.step(): 4 with gradients of four batches, 1 / 2 with two optimizers
    that both step for each batch. `global_batch`: samples of each step of all nodes together, however
    many they are; the loader's own batch size then does not count.
    """
    if not per_step > 0:
        raise RequestError(f"per_step = {per_step} is not a number of batches: give one above 0, such as 4, or 1 / 2")
    if global_batch is not None:
        _check_global_batch(loader, global_batch, training, per_step)
    return Shard(loader, seed, per_step if training else 0, global_batch)


def _check_global_batch(loader: Any, batch: int, training: bool, per_step: float) -> None:
    if not training or per_step != 1:
        raise RequestError("global_batch is of a step of training: leave training=False and per_step out")
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(loader, torch.utils.data.DataLoader):
        raise RequestError(f"global_batch needs a torch DataLoader, not {type(loader).__name__}")
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        raise RequestError("global_batch needs a data set with an index, and this one is iterable")
    if loader.num_workers:
        raise RequestError(
            f"global_batch follows the members from step to step, and num_workers = {loader.num_workers} loads "
            "batches ahead of them: make the loader with num_workers=0"
        )
    if not 1 <= batch <= len(loader.sampler):
        raise RequestError(f"global_batch = {batch} of {len(loader.sampler)} samples: give 1 to {len(loader.sampler)}")


# Epochs begun with a loader in a run, as loops call `shard` anew in every epoch.
_epochs: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()


class Shard:
    """See `shard`."""

    def __init__(self, loader: Any, seed: int, per_step: float, global_batch: int | None = None):
        self.loader, self.seed, self.per_step = loader, seed, per_step
        self.global_batch = global_batch
        self._begun: tuple[int, int] = (-1, 0)  # of a loader that cannot be a key

    def __len__(self) -> int:
        if self.global_batch is not None:
            return len(self.loader.sampler) // self.global_batch
        sampler = self._own_sampler()
        if sampler is not None:
            return sampler.batches()
        return len(self.loader) // _session.size()

    def _next_epoch(self) -> int:
        now = _session.runs()
        try:
            run, epoch = _epochs.get(self.loader, (-1, 0))
            epoch = epoch if run == now else 0
            _epochs[self.loader] = now, epoch + 1
        except TypeError:  # such as a list
            run, epoch = self._begun
            epoch = epoch if run == now else 0
            self._begun = now, epoch + 1
        return epoch

    def __iter__(self) -> Iterator[Any]:
        epoch = self._next_epoch()
        if self.global_batch is not None:
            yield from _shares(self.loader, self.seed, epoch, self.global_batch)
            return
        skip = self._batches_made(epoch)
        if skip and skip >= len(self):
            return
        sampler = self._own_sampler()
        if sampler is not None:
            sampler.begin(epoch, skip)
            yield from sampler.loader()
            return
        rank, size = _session.rank(), _session.size()
        mine = None
        for i, batch in enumerate(self.loader):
            if i % size == rank:
                mine = batch
            if i % size == size - 1 and i // size >= skip:  # all nodes have one
                yield mine

    def _batches_made(self, epoch: int) -> int:
        """Of this epoch, in the run that this one continues."""
        first = int(_session.first_step() * self.per_step + 1e-6)  # a third has rounding errors
        return max(0, first - epoch * len(self)) if first else 0

    def _own_sampler(self) -> _Sampler | None:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(self.loader, torch.utils.data.DataLoader):
            return None
        if self.loader.batch_size is None or isinstance(
            self.loader.dataset, torch.utils.data.IterableDataset
        ):
            return None
        return _Sampler(self.loader, self.seed, torch)


def _order(loader: Any, seed: int, epoch: int, torch: Any) -> list[int]:
    """The indices of all nodes in an epoch."""
    if not isinstance(loader.sampler, torch.utils.data.RandomSampler):
        return list(loader.sampler)
    order = list(range(len(loader.dataset)))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order


def _shares(loader: Any, seed: int, epoch: int, batch: int) -> Iterator[Any]:
    """This node's part of each global batch, until the epoch ends.

    The number of steps that the run has made tells the place in the epoch, so all members have the
    same place, newcomers and resumed ones too.
    """
    order = _order(loader, seed, epoch, sys.modules["torch"])
    steps = len(order) // batch
    while epoch * steps <= (begun := _session.steps()) < (epoch + 1) * steps:
        rank, size = _session.rank(), _session.size()
        if batch < size:
            raise RequestError(f"global_batch = {batch} is less than a sample for each of {size} processes: give more")
        first = (begun - epoch * steps) * batch
        mine = order[first + batch * rank // size : first + batch * (rank + 1) // size]
        yield loader.collate_fn([loader.dataset[i] for i in mine])
        if _session.steps() == begun:
            raise RequestError("with global_batch each batch is one optimizer.step(): call it, or leave the loop")


class _Sampler:
    """This node's indices of an epoch, for a copy of a torch loader."""

    def __init__(self, given: Any, seed: int, torch: Any):
        self.given, self.seed, self.torch = given, seed, torch
        self.indices: list[int] = []

    def batches(self) -> int:
        each = len(self.given.sampler) // _session.size()
        batch = self.given.batch_size
        return each // batch if self.given.drop_last else -(-each // batch)

    def begin(self, epoch: int, skip: int) -> None:
        all_ = _order(self.given, self.seed, epoch, self.torch)
        rank, size = _session.rank(), _session.size()
        each = len(all_) // size
        self.indices = all_[rank : each * size : size][skip * self.given.batch_size :]

    def loader(self) -> Any:
        g = self.given
        return self.torch.utils.data.DataLoader(
            g.dataset, batch_size=g.batch_size, sampler=self.indices, num_workers=g.num_workers,
            collate_fn=g.collate_fn, pin_memory=g.pin_memory, drop_last=g.drop_last,
            timeout=g.timeout, worker_init_fn=g.worker_init_fn, generator=g.generator,
        )  # fmt: skip
