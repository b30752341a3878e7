"""`veche.shard`: each node sees its own part of a loader's samples."""

from __future__ import annotations

import random
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from veche import _session
from veche._veche import RequestError


def shard(loader: Any, *, seed: int = 1, training: bool = True, per_step: float = 1) -> Shard:
    """An iterable like `loader`, of this node's part of the samples.

    All nodes get equally many batches. A loader of torch that shuffles is shuffled anew in every
    epoch, alike on all nodes; other iterables are divided batch by batch. In a resumed run the
    batches of the steps made before are left out: the training loop needs no change.

    `training`: False for a loader of test samples, of which nothing is left out. `per_step`: batches
    between two calls of optimizer.step(): 4 with gradients of four batches, 1 / 2 with two optimizers
    that both step for each batch.
    """
    if not per_step > 0:
        raise RequestError(f"per_step = {per_step} is not a number of batches: give one above 0, such as 4, or 1 / 2")
    return Shard(loader, seed, per_step if training else 0)


# Epochs begun with a loader in a run, as loops call `shard` anew in every epoch.
_epochs: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()


class Shard:
    """See `shard`."""

    def __init__(self, loader: Any, seed: int, per_step: float):
        self.loader, self.seed, self.per_step = loader, seed, per_step
        self._begun: tuple[int, int] = (-1, 0)  # of a loader that cannot be a key

    def __len__(self) -> int:
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
        sampler, data = self.given.sampler, self.torch.utils.data
        if isinstance(sampler, data.RandomSampler):
            all_ = list(range(len(self.given.dataset)))
            random.Random(f"{self.seed}/{epoch}").shuffle(all_)
        else:
            all_ = list(sampler)
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
