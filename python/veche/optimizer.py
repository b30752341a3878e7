"""`veche.Optimizer`: the optimizer of a PyTorch loop that works together with those of other nodes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

from veche import _overlap, _session
from veche._schedule import Schedule
from veche._staging import Staging
from veche._state import FlatState, Layout, is_dense, like, view_of
from veche._veche import RequestError, RunError, TensorLayout


def Optimizer(  # noqa: N802  (it reads like a class, and returns an object of one)
    optimizer: torch.optim.Optimizer,
    model: torch.nn.Module | None = None,
    *,
    strategy: str | Mapping[str, Any] | None = None,
    topology: str | Mapping[str, Any] | None = None,
    compress: str | Mapping[str, Any] | None = None,
    buffers: str = "own",
    scheduler: Any = None,
    stage: bool | None = None,
    overlap: bool = False,
    config: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002  (the command line's word)
    name: str | None = None,
    resume: str | None = None,
    restart: bool = False,
    keep: bool = True,
    checkpoint_every: int | None = None,
) -> torch.optim.Optimizer:
    """Lets `optimizer.step()` exchange with the other nodes of the run, by the strategy.

    Returns the same object; its class becomes a subclass of its own, so learning-rate schedulers,
    `state_dict` and `param_groups` go on working. With `model`, its batch-norm statistics are part
    of checkpoints, and parameters have their names. Nothing is exchanged by hooks: all happens in
    `step()`, unless `overlap` is true.

    `buffers`: the model's buffers are each node's own, or in every step the mean over the nodes that
    make it, or those of the first of these nodes. `scheduler`: a learning-rate schedule of torch whose
    step() follows each step of the optimizer: it is brought to the step at which a resumed run, or a
    newcomer on the grid, begins. `stage`: True copies
    parameters to and from the run's memory in every step; by default only where they cannot lie in
    it, as on a GPU, of another type than float32, or over a storage that others share. The result is
    the same. `overlap`: True sends gradients during the backward pass, where the strategy can; the
    result is the same, but nothing may change a gradient after the pass.
    torch.nn.utils.clip_grad_norm_ bounds each node's own gradient, but after
    `synchronize()` the mean of all; set={"optimizer.clip": 1.0} bounds the mean without that.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer must be a torch.optim.Optimizer, not {type(optimizer).__name__}")
    if hasattr(optimizer, "_veche"):
        raise RequestError("this optimizer belongs to a run already")
    if buffers not in ("own", "average", "broadcast"):
        raise RequestError(f"buffers = '{buffers}' does not exist; choose own, average or broadcast")
    if buffers != "own" and model is None:
        raise RequestError(f"buffers = '{buffers}' needs the model: veche.Optimizer(optimizer, model, ...)")
    if overlap and buffers != "own":
        raise RequestError(
            f"overlap=True begins a step before the nodes agree on buffers = '{buffers}': leave one of the two out"
        )
    options = _session.assignments(
        config,
        strategy=strategy,
        topology=topology,
        compress=compress,
        keys={**({"run.name": name} if name else {}), **(set or {})},
        checkpoint_every=checkpoint_every,
    )
    schedule = Schedule(scheduler, optimizer) if scheduler is not None else None
    shared = _Shared(optimizer, model, buffers, stage)
    shared.state_is_mixed = _session.state_is_mixed(options)
    _session.start(
        shared.parameters.layout, shared.buffers.layout, shared.make, options,
        resume=resume, restart=restart, keep=keep,
        before=shared.write_all, after=shared.read_all, farewell=shared.say_farewell,
    )  # fmt: skip
    if overlap:
        shared.send_during_passes()
    original = type(optimizer)
    optimizer._veche_class, optimizer._veche = original, shared
    # A scheduler made before has put its counter over `step`.
    optimizer.__dict__.pop("step", None)
    optimizer.__class__ = _subclass(original)
    shared.schedule = schedule
    if schedule is not None and shared.loop.steps > 0:
        schedule.begin(shared.loop.steps)
    return optimizer


def _subclass(original: type) -> type:
    # The same name, so that logs and schedulers show what people know.
    return type(original.__name__, (_Step, original), {"__module__": original.__module__})


class _Step:
    """What the class of a shared optimizer adds."""

    _veche: _Shared

    # GradScaler then leaves it to `step` whether to skip an overflow, which all nodes must do alike.
    _step_supports_amp_scaling = True

    def step(self, closure: Callable[[], Any] | None = None, grad_scaler: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        # What a scheduler's counter does, which only knows methods that it has wrapped itself.
        self._step_count = getattr(self, "_step_count", 0) + 1
        self._opt_called = True
        if grad_scaler is None:
            self._veche.step(loss)
            return loss
        with _session.uninterrupted():
            if not self._veche.overflows(self, grad_scaler):
                self._veche.step(loss)
        return loss

    # torch wraps `step` of each class once, to count calls for its profiler, and schedulers wrap it
    # for every optimizer.
    step.hooked = step._with_counter = step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]

    def add_param_group(self, group: dict[str, Any]) -> None:
        if "_veche" in self.__dict__:
            raise RequestError(
                "parameters were added after veche.Optimizer was made: add them before, "
                "as all nodes agree on the length of the model"
            )
        super().add_param_group(group)  # type: ignore[misc]

    def report(self, loss: float | torch.Tensor, samples: int = 1) -> None:
        """The loss of the batch, for the live page and the report."""
        self._veche.report(loss, samples)

    def synchronize(self) -> None:
        """Replaces the gradients by their means over all nodes, so that torch.nn.utils.clip_grad_norm_
        bounds the norm of the mean. All nodes call it, before `step`."""
        self._veche.average_gradients()

    def finish(self) -> dict[str, Any]:
        """Ends the run when all nodes have made their steps, and saves it."""
        return _session.finish()

    @property
    def steps(self) -> int:
        """Steps made, with those before a resumption."""
        return self._veche.loop.steps

    @property
    def ended(self) -> bool:
        """Whether the run has ended by itself, as after run.steps or at its target."""
        return self._veche.ended

    def __enter__(self) -> _Step:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> None:
        _session.leave(error)


class _Vector:
    """Tensors and their places in one flat vector."""

    def __init__(self, named: Iterable[tuple[str, torch.Tensor]], stage: bool | None):
        self.names, self.tensors, self.offsets, self.layout = [], [], [], []
        end = 0
        for tensor_name, tensor in named:
            if tensor.layout != torch.strided:
                raise TypeError(f"'{tensor_name}' is sparse; make it dense with .to_dense()")
            self.names.append(tensor_name)
            self.tensors.append(tensor)
            self.offsets.append(end)
            strides = tensor.stride() if is_dense(tensor) else torch.empty(tensor.size()).stride()
            self.layout.append(TensorLayout(tensor_name, list(tensor.size()), list(strides), end))
            end += tensor.numel()
        self.length = end
        # None: the tensors become views of the flat vector.
        staged = bool(stage) or _must_be_staged(self.tensors)
        self.staging = Staging(self.tensors) if staged else None

    def bind(self, flat: torch.Tensor) -> None:
        """Copies the tensors into the flat vector; then they are views of it, unless staged."""
        self.flat = flat
        if self.staging is not None:
            self.staging.fetch(self.tensors, flat)
            return
        views = [view_of(flat, t, offset) for t, offset in zip(self.tensors, self.offsets)]
        with torch.no_grad():
            for tensor, view in zip(self.tensors, views):
                view.copy_(tensor)
                tensor.data = view
        self.addresses = [view.data_ptr() for view in views]

    def write(self) -> None:
        """What others may have changed in the tensors, into the flat vector; nothing for views of it."""
        if self.staging is not None:
            self.staging.fetch(self.tensors, self.flat)

    def read(self) -> None:
        if self.staging is not None:
            self.staging.put(self.flat, self.tensors)

    def check_unmoved(self) -> None:
        if list(map(_data_ptr, self.tensors)) == self.addresses:
            return
        for i, (tensor, address) in enumerate(zip(self.tensors, self.addresses)):
            if tensor.data_ptr() != address:
                raise RequestError(
                    f"'{self.names[i]}' was replaced after veche.Optimizer was made: change it in place, "
                    "as by load_state_dict, or make the optimizer after the model is complete"
                )


# For all parameters in every step: `map` of these costs a third of a loop.
_data_ptr, _grad = torch.Tensor.data_ptr, operator.attrgetter("grad")


def _are(tensors: list[Any], others: list[Any]) -> bool:
    """Whether they are the same objects."""
    return len(tensors) == len(others) and all(map(operator.is_, tensors, others))


def _dense(gradient: torch.Tensor | None) -> Any:
    if gradient is not None and gradient.layout != torch.strided:
        raise TypeError("a gradient is sparse: make the embedding with sparse=False, or use SGD on it alone")
    return gradient


def _gradients_of(parameters: list[torch.Tensor]) -> list[torch.Tensor]:
    """Their gradients, to write into."""
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    return [p.grad for p in parameters if p.grad is not None]


def _must_be_staged(tensors: list[torch.Tensor]) -> bool:
    """Tensors elsewhere than in the host's memory, of another type, or over shared memory."""
    spans = []
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.dtype != torch.float32 or not is_dense(tensor):
            return True
        if tensor.numel():
            spans.append((tensor.data_ptr(), tensor.data_ptr() + 4 * tensor.numel()))
    spans.sort()
    return any(begin < before[1] for before, (begin, _) in zip(spans, spans[1:]))


class _Buffers:
    """Buffers of a model: floats as `_Vector` has them, and counters, which are copied."""

    def __init__(self, named: list[tuple[str, torch.Tensor]], stage: bool | None):
        self.floats = _Vector(((name, b) for name, b in named if b.dtype.is_floating_point), stage)
        self.counters = _Vector(((name, b) for name, b in named if not b.dtype.is_floating_point), True)
        self.length = self.floats.length + self.counters.length
        shifted = [
            TensorLayout(name, list(b.size()), list(b.stride()), self.floats.length + offset)
            for name, b, offset in zip(self.counters.names, self.counters.tensors, self.counters.offsets)
        ]
        self.layout = [*self.floats.layout, *shifted]

    def bind(self, flat: torch.Tensor) -> None:
        self.floats.bind(flat[: self.floats.length])
        self.flat_counters = flat[self.floats.length :]
        self.counters.bind(self.flat_counters)

    def write(self) -> None:
        if self.counters.tensors:  # in one call
            self.flat_counters.copy_(torch.stack([c.reshape(()) for c in self.counters.tensors]))
        self.floats.write()

    def read(self) -> None:
        self.counters.read()
        self.floats.read()


class _Shared:
    """The link between an optimizer and its node of the run."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, model: torch.nn.Module | None, buffers: str, stage: bool | None
    ):
        self.optimizer, self.buffer_mode = optimizer, buffers
        names = {id(p): name for name, p in model.named_parameters()} if model is not None else {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if not p.dtype.is_floating_point:
                    raise TypeError(f"a parameter has the type {p.dtype}, and only floating-point numbers are trained")
        unique = {id(p): p for group in optimizer.param_groups for p in group["params"]}
        if not unique:
            raise RequestError("this optimizer has no parameters")
        self.parameters = _Vector(
            ((names.get(key, f"parameter.{i}"), p) for i, (key, p) in enumerate(unique.items())), stage
        )
        # Integers are left alone, as they are indices and masks, but for counters.
        kept = [
            (name, b)
            for name, b in (model.named_buffers() if model is not None else ())
            if b.dtype.is_floating_point or (b.dtype == torch.int64 and b.numel() == 1)
        ]
        self.buffers = _Buffers(kept, stage)
        self.state_layout = Layout(optimizer, self.parameters.tensors)
        self.whole: _Whole | None = None
        self.base_step = type(optimizer).step
        self.loss, self.samples, self.ended = 0.0, 1, False
        # Whether all nodes exchange a word before every step. They stop when the first of them has
        # no more steps, after which each decides on overflows alone.
        self.agrees = False
        self.scaled = False
        self.failure: Exception | None = None
        self.schedule: Schedule | None = None
        self.state_is_mixed = False  # by the run, between two steps
        self.in_groups = self.parameters_in_groups()
        self.gradients_are_views = False  # of the run's own memory, known for this step
        self.overlap: _overlap.Overlap | None = None

    # Called by the session, before and after the run has read a checkpoint.
    def write_all(self, loop: Any) -> None:
        self.loop = loop  # a newcomer to a grid makes up for steps before it begins its own
        self.flat = torch.from_numpy(loop.parameters)
        self.flat_gradient = torch.from_numpy(loop.gradients)
        self.parameters.bind(self.flat)
        self.buffers.bind(torch.from_numpy(loop.buffers))
        loop.follow_buffers(self.buffer_mode)
        self.gradient_views = self.views_over(self.flat_gradient)
        self.gradient_strides = [view.stride() for view in self.gradient_views]

    def read_all(self, loop: Any) -> None:
        self.parameters.read()
        self.buffers.read()
        if loop.steps > 0 and self.whole is not None:
            self.whole.state_arrays.install(self.optimizer.state)

    def send_during_passes(self) -> None:
        """Not on the grid, whose members may change in between, nor of parameters elsewhere."""
        vector = self.parameters
        if self.loop.listens and vector.staging is None and not _session.on_grid():
            self.overlap = _overlap.Overlap(self.loop, vector.tensors, self.gradient_views, vector.offsets)

    def views_over(self, flat: torch.Tensor) -> list[torch.Tensor]:
        return [view_of(flat, t, o) for t, o in zip(self.parameters.tensors, self.parameters.offsets)]

    # Called by the run: `make` on its own thread, `update` of what it makes on the loop's, if that waits.
    def make(self, start: int, length: int) -> _Whole | _Part:
        if self.whole is None and start == 0 and length == self.parameters.length:
            self.whole = _Whole(self)
            return self.whole
        return _Part(self, start, length)

    def report(self, loss: Any, samples: int) -> None:
        self.loss, self.samples = float(loss), samples

    def step(self, loss: Any) -> None:
        self.loop.announce()
        self.check_parameters()
        if self.ended or not _session.is_under_way(self.loop):
            raise RequestError(
                f"the run has ended after {self.loop.steps} steps: leave the loop when optimizer.ended is true"
            )
        self.write_gradients()
        self.parameters.write()
        if loss is not None:
            self.loss = float(loss)
        self.buffers.write()
        self.exchange()

    def parameters_in_groups(self) -> list[torch.Tensor]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def check_parameters(self) -> None:
        if not _are(self.parameters_in_groups(), self.in_groups):
            raise RequestError(
                "parameters were added to the optimizer, removed or replaced after veche.Optimizer was made: "
                "change its groups before"
            )
        if self.parameters.staging is None:
            self.parameters.check_unmoved()

    def exchange(self) -> None:
        before = self.loop.steps
        if self.schedule is not None:
            self.schedule.before_step()
        try:
            self.ended = not self.loop.step(self.loss, self.samples)
        except RunError as failure:
            if self.failure is not None:  # of the user's optimizer, with its traceback
                raise self.failure from failure
            raise
        finally:
            if self.overlap is not None:
                self.overlap.after_step()
        self.parameters.read()
        self.buffers.floats.read()
        if self.buffer_mode != "own":
            self.buffers.counters.read()
        if self.schedule is not None and not self.ended:
            self.schedule.after_step(self.loop.steps - before)

    def agree(self, overflow: float, active: bool = True) -> bool:
        """Whether any node has an overflow."""
        if not self.agrees:
            return overflow > 0
        word = np.array([active, overflow], np.float32)
        _session.comm_allreduce(self.loop, word, False)
        self.agrees = word[0] == _session.size()
        return bool(word[1] > 0)

    def say_farewell(self) -> None:
        if self.agrees and not self.ended:
            self.agree(0, active=False)

    def average_gradients(self) -> None:
        if self.overlap is not None:
            _overlap.refuse("synchronize() changes gradients after the backward pass")
        self.write_gradients()
        _session.comm_allreduce(self.loop, self.loop.gradients, True)
        gradients = _gradients_of(self.parameters.tensors)
        if self.parameters.staging is not None:
            self.parameters.staging.put(self.flat_gradient, gradients)
            return
        with torch.no_grad():
            for gradient, view in zip(gradients, self.gradient_views):
                gradient.copy_(view)

    def overflows(self, optimizer: Any, scaler: Any) -> bool:
        """Whether the gradient of any node is infinite or not a number. All nodes call it."""
        if self.overlap is not None:
            _overlap.refuse("a GradScaler changes gradients after the backward pass")
        state = scaler._per_optimizer_states[id(optimizer)]
        if not state["found_inf_per_device"]:
            scaler.unscale_(optimizer)
        found = list(state["found_inf_per_device"].values())
        if not self.scaled:
            self.scaled = True
            # On the grid a member decides alone: it only gives the others its next gradient.
            self.agrees = not _session.on_grid()
        overflow = self.agree(sum(float(flag) for flag in found))
        for flag in found:  # so that all nodes go on with the same scale
            flag.fill_(float(overflow))
        return overflow

    def write_gradients(self) -> None:
        vector, addresses = self.parameters, []
        told: Iterable[bool] = self.overlap.told if self.overlap is not None else itertools.repeat(False)
        if self.overlap is not None:
            self.overlap.check_unchanged()
        if vector.staging is not None:
            vector.staging.fetch([_dense(p.grad) for p in vector.tensors], self.flat_gradient)
            return
        self.gradients_are_views = _are(list(map(_grad, vector.tensors)), self.gradient_views)
        if self.gradients_are_views:
            return  # the backward pass has added to the run's own memory
        with torch.no_grad():
            for p, view, strides, sent in zip(vector.tensors, self.gradient_views, self.gradient_strides, told):
                gradient = p.grad
                if sent:
                    pass
                elif gradient is None:
                    view.zero_()
                elif _dense(gradient).stride() == strides:
                    addresses.append(gradient.data_ptr())
                    continue
                else:
                    view.copy_(gradient)
                addresses.append(0)
        self.loop.gather(addresses)


class _Whole:
    """The optimizer of all parameters: the user's own."""

    def __init__(self, shared: _Shared):
        self.shared = shared
        vector = shared.parameters
        self.state_arrays = FlatState(shared.state_layout, vector.tensors, vector.offsets, vector.length)
        self.elsewhere: _Part | None = None

    def state(self) -> list[np.ndarray]:
        return self.state_arrays.arrays()

    def update(self, x: np.ndarray | None, g: np.ndarray | None) -> None:
        shared = self.shared
        optimizer, vector = shared.optimizer, shared.parameters
        if x is not None:  # a server's, which the user's loop must not see
            if self.elsewhere is None:
                self.elsewhere = _Part(shared, 0, vector.length, self.state_arrays)
            self.elsewhere.update(x, g)
            return
        # The loop's own gradients, or a copy that the run has clipped and that ends with it.
        lent, gradient = g is not None, shared.flat_gradient if g is None else torch.from_numpy(g)
        in_place, shared.gradients_are_views = shared.gradients_are_views, False
        if vector.staging is not None:
            vector.read()
            vector.staging.put(gradient, _gradients_of(vector.tensors))
        elif lent or not in_place:
            views = shared.views_over(gradient) if lent else shared.gradient_views
            for p, view in zip(vector.tensors, views):
                if p.grad is not view:
                    p.grad = view
        if shared.state_is_mixed:
            self.state_arrays.before_step(optimizer.state)
        try:
            shared.base_step(optimizer)
        except Exception as error:
            shared.failure = error
            raise
        finally:
            if lent and vector.staging is None:
                for p, view in zip(vector.tensors, shared.gradient_views):
                    p.grad = view
        shared.loop.announce()
        self.state_arrays.after_step(optimizer.state)
        vector.write()


class _Part:
    """A copy of the user's optimizer for a part of the parameters, as a server has it."""

    def __init__(self, shared: _Shared, start: int, length: int, state: FlatState | None = None):
        self.shared, self.length = shared, length
        self.pieces = []  # (index of the parameter, begin and end in it, begin in the part)
        for i, (p, offset) in enumerate(zip(shared.parameters.tensors, shared.parameters.offsets)):
            begin, end = max(start, offset), min(start + length, offset + p.numel())
            if begin < end or state is not None:
                self.pieces.append((i, begin - offset, end - offset, begin - start))
        self.users = shared.parameters.tensors
        self.tensors = self.views_over(torch.zeros(length))
        mine = {id(self.users[i]): t for (i, *_), t in zip(self.pieces, self.tensors)}
        self.optimizer = like(shared.optimizer, mine)
        offsets = [at for *_, at in self.pieces]
        if state is not None:
            self.state_arrays = state.of(self.tensors)
        else:
            self.state_arrays = FlatState(shared.state_layout, self.tensors, offsets, length)
        self.begun = False
        self.address = 0

    def views_over(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Whole parameters have their shapes, for optimizers that look at them."""
        return [
            view_of(flat, self.users[i], at)
            if end - begin == self.users[i].numel()
            else flat[at : at + end - begin]
            for i, begin, end, at in self.pieces
        ]

    def state(self) -> list[np.ndarray]:
        return self.state_arrays.arrays()

    def update(self, x: np.ndarray | None, g: np.ndarray | None) -> None:
        flat = self.shared.flat if x is None else torch.from_numpy(x)
        gradient = self.shared.flat_gradient if g is None else torch.from_numpy(g)
        if flat.data_ptr() != self.address:  # the first time, in practice
            self.address = flat.data_ptr()
            for tensor, view in zip(self.tensors, self.views_over(flat)):
                tensor.data = view
        for tensor, view in zip(self.tensors, self.views_over(gradient)):
            tensor.grad = view
        # Schedulers change the user's groups.
        for group, users in zip(self.optimizer.param_groups, self.shared.optimizer.param_groups):
            group.update({k: v for k, v in users.items() if k != "params"})
        if not self.begun:
            self.begun = True
            if self.state_arrays.is_empty():  # no checkpoint was read; the user may have loaded a state
                for k, (i, begin, _, _) in enumerate(self.pieces):
                    self.state_arrays.take(k, self.shared.optimizer.state.get(self.users[i], {}), begin, self.users[i])
            if not self.state_arrays.is_empty():
                self.state_arrays.install(self.optimizer.state)
        self.state_arrays.before_step(self.optimizer.state)
        self.optimizer.step()
        self.state_arrays.after_step(self.optimizer.state)


__all__ = ["Optimizer"]
