"""`veche.Optimizer`: the optimizer of a PyTorch loop that works together with those of other nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from veche import _session
from veche._schedule import Schedule
from veche._shared import Shared, Turn
from veche._veche import RequestError


class SharedOptimizer(torch.optim.Optimizer):
    """What `veche.Optimizer` returns: the optimizer given, whose class is now a subclass of its own
    and of this one."""

    _veche: Turn

    # GradScaler then leaves it to `step` whether to skip an overflow, which all nodes must do alike.
    _step_supports_amp_scaling = True

    def step(self, closure: Callable[[], Any] | None = None, grad_scaler: Any = None) -> Any:
        """Exchanges with the other nodes and makes the optimizer's step."""
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
            if not self._veche.overflows(grad_scaler):
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
        super().add_param_group(group)

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
        """Steps of the run, with those before a resumption, and those of other optimizers in it."""
        return int(self._veche.shared.loop.steps)

    @property
    def ended(self) -> bool:
        """Whether the run has ended by itself, as after run.steps or at its target."""
        return self._veche.shared.ended

    def __enter__(self) -> SharedOptimizer:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> None:
        _session.leave(error)


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
) -> SharedOptimizer:
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
    _check_optimizers([optimizer])
    (made,) = _share(
        [optimizer], model, buffers, stage,
        scheduler=scheduler, overlap=overlap, resume=resume, restart=restart, keep=keep,
        strategy=strategy, topology=topology, compress=compress, config=config, set=set, name=name,
        checkpoint_every=checkpoint_every,
    )  # fmt: skip
    return made


def Optimizers(  # noqa: N802
    optimizers: Iterable[torch.optim.Optimizer],
    model: torch.nn.Module | None = None,
    *,
    buffers: str = "own",
    stage: bool | None = None,
    **options: Any,
) -> list[SharedOptimizer]:
    """`veche.Optimizer` for a loop with several optimizers, as of a GAN, each for its own parameters.

    They share one run. Each `step()` of any of them is a step of the run, in which the others'
    parameters have no gradient, and their optimizers do nothing. So they may step at different rates,
    but in the same order on all nodes. `model` has the parameters of all, such as
    torch.nn.ModuleList([generator, discriminator]). `options` are those of `veche.Optimizer`, but
    scheduler and overlap.
    """
    several = list(optimizers)
    _check_optimizers(several)
    if not several:
        raise RequestError("veche.Optimizers needs at least one optimizer")
    if len(several) > 1:
        for key, way in (
            ("scheduler", "save the state_dict of each schedule yourself"),
            ("overlap", "leave overlap out"),
        ):
            if options.get(key):
                raise RequestError(f"{key} is for a loop with one optimizer: {way}")
        if _session.on_grid():
            raise RequestError(
                "several optimizers cannot step in turn where members come and go, as newcomers repeat steps by one: "
                "make one optimizer with several groups of parameters"
            )
    return _share(several, model, buffers, stage, **options)


def _check_optimizers(optimizers: list[Any]) -> None:
    for optimizer in optimizers:
        if isinstance(optimizer, (list, tuple)):
            raise TypeError("optimizer must be one torch.optim.Optimizer: for several call veche.Optimizers([...], model)")
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise TypeError(f"optimizer must be a torch.optim.Optimizer, not {type(optimizer).__name__}")
        if hasattr(optimizer, "_veche"):
            raise RequestError("this optimizer belongs to a run already")


def _share(
    optimizers: list[Any],
    model: torch.nn.Module | None,
    buffers: str,
    stage: bool | None,
    *,
    scheduler: Any = None,
    overlap: bool = False,
    resume: str | None = None,
    restart: bool = False,
    keep: bool = True,
    **options: Any,
) -> list[SharedOptimizer]:
    if buffers not in ("own", "average", "broadcast"):
        raise RequestError(f"buffers = '{buffers}' does not exist; choose own, average or broadcast")
    if buffers != "own" and model is None:
        raise RequestError(f"buffers = '{buffers}' needs the model: veche.Optimizer(optimizer, model, ...)")
    if overlap and buffers != "own":
        raise RequestError(
            f"overlap=True begins a step before the nodes agree on buffers = '{buffers}': leave one of the two out"
        )
    assignments = _session.assignments(**options)
    if len(optimizers) > 1 and "gradient-tracking" in " ".join([assignments[0], *assignments[1]]):
        raise RequestError(
            "several optimizers cannot step in turn with strategy.correction = 'gradient-tracking', which follows one "
            "gradient from step to step: choose 'd2' or 'none'"
        )
    schedule = Schedule(scheduler, optimizers[0]) if scheduler is not None else None
    shared = Shared(optimizers, model, buffers, stage)
    shared.state_is_held = _session.state_is_held(assignments)
    shared.state_is_mixed = shared.state_is_held or _session.state_is_mixed(assignments)
    _session.start(
        shared.parameters.layout, shared.buffers.layout, shared.make, assignments,
        resume=resume, restart=restart, keep=keep,
        before=shared.write_all, after=shared.read_all, farewell=shared.say_farewell,
    )  # fmt: skip
    if overlap:
        shared.send_during_passes()
    for optimizer, turn in zip(optimizers, shared.turns):
        original = type(optimizer)
        optimizer._veche_class, optimizer._veche = original, turn
        # A scheduler made before has put its counter over `step`.
        optimizer.__dict__.pop("step", None)
        optimizer.__class__ = _subclass(original)
    shared.turns[0].schedule = schedule
    if schedule is not None and shared.loop.steps > 0:
        schedule.begin(shared.loop.steps)
    return optimizers


def _subclass(original: type) -> type:
    # The same name, so that logs and schedulers show what people know.
    return type(original.__name__, (SharedOptimizer, original), {"__module__": original.__module__})


__all__ = ["Optimizer", "Optimizers", "SharedOptimizer"]
