"""Strategies, learners and data sets of one's own.

    @veche.strategy("pass-on", every=1)
    class PassOn:
        def after_step(self, step):
            if (step + 1) % self.every:
                return
            self.channel.send((self.me + 1) % self.nodes, self.x)
            theirs = self.channel.receive((self.me - 1) % self.nodes)
            self.x = (self.x + theirs) / 2

A configuration then takes the name and the keys like those of the built-in parts.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

from veche import _veche
from veche._veche import NodeEnded

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Whole = NDArray[numpy.int64]

__all__ = ["Batch", "Key", "Learner", "NodeEnded", "Strategy", "dataset", "learner", "register_dataset", "strategy"]

_Class = TypeVar("_Class", bound=type)
_Shape = Tuple[int, int, int]  # channels, height, width
_Value = Union[bool, int, float, str]


class Key:
    """A key of a part of one's own: its default, and what it may be."""

    def __init__(
        self,
        default: _Value,
        help: str = "",
        *,
        choices: Sequence[str] = (),
        least: Optional[float] = None,
        most: Optional[float] = None,
    ) -> None:
        if type(default) not in (bool, int, float, str):
            raise TypeError(f"a key's default must be a bool, int, float or str, not {type(default).__name__}")
        self.default, self.help, self.choices, self.least, self.most = default, help, list(choices), least, most


def _declared_keys(given: Dict[str, Any], reserved: type, what: str) -> List[Dict[str, Any]]:
    declared = []
    for name, key in given.items():
        if hasattr(reserved, name) or name in getattr(reserved, "__annotations__", ()):
            raise ValueError(f"{what} has a key {name!r}, which {reserved.__name__} has already: choose another name")
        if not isinstance(key, Key):
            key = Key(key)
        declared.append({"name": name, "kind": type(key.default).__name__, **vars(key)})
    return declared


# What is registered stays so, as runs may refer to it. The same definition run once more, as in a notebook,
# replaces the class or function.
_registered: Dict[Tuple[str, str], Tuple[Dict[str, Any], Dict[str, Any]]] = {}


def _register(kind: str, declared: Dict[str, Any], made: Dict[str, Any], register: Callable[..., None]) -> None:
    """`made` has what makes it; the library calls it through `declared`."""
    name = declared["name"]
    before = _registered.get((kind, name))
    if before is None:
        calls = {key: (lambda *args, _key=key: made[_key](*args)) for key in made}
        register({**declared, **calls})
        _registered[kind, name] = (declared, made)
    elif before[0] == declared:
        before[1].update(made)
    else:
        raise _veche.RequestError(
            f"a {kind} '{name}' with other keys or declarations exists already: register yours under another name"
        )


def _first_line(text: Optional[str]) -> str:
    lines = (text or "").strip().splitlines()
    return lines[0] if lines else ""


class _Graph:
    """The graph of a run and the weights of its rounds."""

    def __init__(self, node: _veche.StrategyNode) -> None:
        self._node = node

    def neighbors(self, node: Optional[int] = None) -> List[int]:
        """The neighbours of this node or another, sorted; in a directed graph those that it sends to."""
        return self._node.neighbors(node)

    @property
    def edges(self) -> List[Tuple[int, int]]:
        """All edges; an undirected one once, smaller node first."""
        return self._node.edges()

    def __str__(self) -> str:
        return self._node.topology()


class _Samples:
    """How many samples each node trains on. Every node knows this of all nodes."""

    def __init__(self, node: _veche.StrategyNode) -> None:
        self._node = node

    def count(self, node: int, step: int) -> int:
        """Samples behind the gradient of a node at a step."""
        return self._node.sample_count(node, step)

    def share(self, node: int, step: int) -> float:
        """The weight of a node's gradient in the mean over the samples of a step."""
        return self._node.sample_share(node, step)

    def weight(self, node: int) -> float:
        """A node's part of all data."""
        return self._node.sample_weight(node)

    def has_data(self, node: int) -> bool:
        """Whether a node trains at all."""
        return self._node.has_data(node)

    @property
    def trainers(self) -> int:
        """How many nodes train."""
        return self._node.trainers()

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every node has seen all its samples."""
        return self._node.steps_per_epoch()


class _Copies:
    """CHOCO: this node and each neighbour keep copies of each other's parameters, and messages are codes of
    the changes. Every send has its receive at the neighbour; pull when both are done."""

    def __init__(self, node: _veche.StrategyNode) -> None:
        self._node = node

    def start(self, how: str = "in step") -> None:
        """In Strategy.start: "in step" or "async", together with all nodes, or "alone"."""
        if how not in ("in step", "async", "alone"):
            raise ValueError(f'how must be "in step", "async" or "alone", not {how!r}')
        self._node.copies_start(how)

    def send(self, neighbour: int) -> None:
        """Sends how the parameters differ from the neighbour's copy of them."""
        self._node.copies_send(neighbour)

    def receive(self, neighbour: int) -> None:
        """Waits for what the neighbour sends, and changes the copy."""
        self._node.copies_receive(neighbour)

    def pull(self, neighbour: int, weight: float) -> None:
        """x += gamma * weight * (copy of the neighbour's parameters - its copy of this node's)."""
        self._node.copies_pull(neighbour, weight)


class _Compressor:
    """The run's codec."""

    def __init__(self, node: _veche.StrategyNode) -> None:
        self._node = node

    @property
    def on(self) -> bool:
        """Whether the run has a codec."""
        return self._node.codec_on()

    def codes(self, step: int) -> bool:
        """Whether the exchange after this step is compressed."""
        return self._node.codec_codes(step)

    @property
    def gamma(self) -> float:
        """compress.gamma"""
        return self._node.codec_gamma()

    def sum_(self, data: Floats) -> None:
        """Replaces the vector of every node by the sum over all nodes, compressed if the run has a codec."""
        self._node.codec_sum(data)

    def copies(self, neighbours: Sequence[int]) -> _Copies:
        """Copies of the parameters, one pair for each neighbour. Make them in __init__, if the codec is on."""
        self._node.codec_copies(list(neighbours))
        return _Copies(self._node)


class Strategy:
    """Base of the strategies of one's own, one object for each node.

    A class under `veche.strategy` gets this base by itself; name it to have its types checked. Define
    what you need of `start`, `before_backward`, `after_backward`, `after_step` and `finish`. The keys are
    attributes. Arrays that are views of the run's memory (`x`, `gradient`, `buffers`, `tensors`) are valid
    until the run ends: copy what you keep.
    """

    # Names of attributes that a checkpoint saves: float32 arrays, ints and floats that __init__ has made.
    state: Sequence[str] = ()

    _node: _veche.StrategyNode
    options: Dict[str, Any]
    channel: _veche.Channel
    samples: _Samples
    # Held by a helper while it changes the parameters or the state, never during a send or a receive.
    lock: threading.Lock

    def start(self) -> None:
        """Before the first step, and after a checkpoint was read."""

    def before_backward(self, step: int) -> None:
        """Before the pass."""

    def after_backward(self, step: int) -> Optional[str]:
        """The gradient is complete and may be changed. Returns what it is now: "own" (or None), "shared" by
        many nodes, or "used", if the strategy has made the step itself."""
        return None

    def after_step(self, step: int) -> None:
        """The optimiser has made its step; the parameters may be changed."""

    def leave(self) -> None:
        """Asynchronous strategies: this node makes no more steps."""

    def finish(self) -> None:
        """After the last step."""

    @property
    def x(self) -> Floats:
        """The parameters, a float32 view without a copy. `self.x = value` writes into it."""
        return self._node.x

    @x.setter
    def x(self, value: Any) -> None:
        if value is not self._node.x:
            self._node.x[...] = value

    @property
    def gradient(self) -> Floats:
        """The gradient, like x."""
        return self._node.gradient

    @gradient.setter
    def gradient(self, value: Any) -> None:
        if value is not self._node.gradient:
            self._node.gradient[...] = value

    @property
    def buffers(self) -> Floats:
        """What belongs to the model and is not trained, such as the statistics of batch norm."""
        return self._node.buffers

    @property
    def tensors(self) -> Dict[str, Floats]:
        """Views of the parameters by their names."""
        return self._node.tensors

    @property
    def me(self) -> int:
        """The number of this node."""
        return self._node.me

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._node.nodes

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self._node.seed

    @property
    def mix_every(self) -> List[int]:
        """cluster.mix_every by node; empty: the strategy's own period."""
        return self._node.mix_every

    @property
    def graph(self) -> _Graph:
        """The graph, of a strategy that declares one."""
        return _Graph(self._node)

    @property
    def compressor(self) -> _Compressor:
        """The run's codec, of a strategy that declares one."""
        return _Compressor(self._node)

    def mixing(self, round: int) -> List[Tuple[int, float]]:
        """This node's weights in a round, (node, weight) by node, itself included."""
        return self._node.mixing(round)

    def readers(self, round: int) -> List[int]:
        """The other nodes whose weights in a round include this one: send to these."""
        return self._node.readers(round)

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, the same on every node."""
        return self._node.learning_rate(step)

    def limit_gradient(self) -> None:
        """Prunes and clips the gradient as the loop does before its step."""
        self._node.limit_gradient()

    def make_step(self, step: int) -> None:
        """Makes the optimiser's step with the gradient; after_backward then returns "used"."""
        self._node.make_step(step)

    def now(self) -> float:
        """Seconds since the start, virtual in a simulation. Read no other clock."""
        return self._node.now()

    def spawn(self, helper: Callable[[], None]) -> None:
        """Runs a helper beside this node, which may wait for messages for ever. It ends with the node."""
        self._node.spawn(helper)

    @property
    def random(self) -> numpy.random.Generator:
        """Random numbers of this node at this step: runs repeat, also from a checkpoint."""
        return self._random_of("own strategy", self.me + 1)

    @property
    def shared_random(self) -> numpy.random.Generator:
        """Random numbers of this step that are the same on every node."""
        return self._random_of("own strategy of all", 0)

    def _random_of(self, purpose: str, who: int) -> numpy.random.Generator:
        step = self._node.step
        drawn: Dict[str, Any] = self.__dict__.setdefault("_generators", {})
        if drawn.get(purpose, (None,))[0] != step:
            from numpy.random import PCG64, Generator

            drawn[purpose] = (step, Generator(PCG64(self._node.random_words(purpose, who, step))))
        generator: numpy.random.Generator = drawn[purpose][1]
        return generator


_HOOKS = ("start", "start_alone", "before_backward", "after_backward", "after_step", "leave", "finish")


def _hooks(made: Strategy) -> Dict[str, Any]:
    """The methods that the class defines."""
    return {
        name: getattr(made, name)
        for name in _HOOKS
        if getattr(type(made), name, None) is not getattr(Strategy, name, None)
    }


def _with_base(cls: type, base: type) -> Any:
    if issubclass(cls, base):
        return cls
    return type(cls.__name__, (cls, base), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _set_options(made: Any, options: Dict[str, Any]) -> None:
    made.options = options
    for name, value in options.items():
        setattr(made, name, value)


def _two_parts(what: str, first: str, text: Optional[str]) -> Optional[Tuple[str, str]]:
    if text is None:
        return None
    reason, _, instead = str(text).partition(";")
    if not reason.strip() or not instead.strip():
        raise ValueError(f'{what} must be "{first}; INSTEAD", not {text!r}')
    return reason.strip(), instead.strip()


def strategy(
    name: str,
    *,
    graph: Optional[str] = None,
    async_: Union[bool, str] = False,
    replicas: str = "own",
    rule: str = "",
    shorthand: str = "",
    common_state: Optional[str] = None,
    codec: Optional[str] = None,
    grid: Optional[str] = None,
    pipeline: Optional[str] = None,
    **keys: Any,
) -> Callable[[_Class], _Class]:
    """Registers a class as the strategy `name`; `keys` are its keys with their defaults.

    graph: "undirected" or "directed" for a strategy that talks along the run's graph.
    async_: True if nodes do not wait for each other and share the steps, "equal steps" if each makes all.
    replicas: "own", "equal" (all models are equal to the bit) or "bound" (to exactly these nodes).
    rule: one line for tables; the first line of the class's description otherwise.
    shorthand: the key that `name:value` sets in a comparison.
    common_state: "NAME; INSTEAD" if `state` is the same on all nodes and belongs to the common model, such as
        "an outer optimiser; leave out strategy.outer".
    codec: what it sends through self.compressor: "gradients", "deltas", "copies" (of models), or "nothing".
        Without it [compress] is refused.
    grid, pipeline: "REASON; INSTEAD" if it cannot be used there.
    """
    if graph not in (None, "undirected", "directed"):
        raise ValueError(f'graph must be None, "undirected" or "directed", not {graph!r}')
    if async_ not in (False, True, "equal steps"):
        raise ValueError(f'async_ must be False, True or "equal steps", not {async_!r}')
    if replicas not in ("own", "equal", "bound"):
        raise ValueError(f'replicas must be "own", "equal" or "bound", not {replicas!r}')
    if codec not in (None, "gradients", "deltas", "copies", "nothing"):
        raise ValueError(f'codec must be None, "gradients", "deltas", "copies" or "nothing", not {codec!r}')
    declared: Dict[str, Any] = {
        "name": name,
        "codec": codec or "none",
        "keys": _declared_keys(keys, Strategy, f"the strategy {name!r}"),
        "shorthand": shorthand,
        "graph": graph or "none",
        "pace": {False: "in step", True: "async"}.get(async_, "equal steps"),  # type: ignore[arg-type]
        "replicas": replicas,
        "common_state": _two_parts("common_state", "NAME", common_state),
        "grid": _two_parts("grid", "REASON", grid),
        "pipeline": _two_parts("pipeline", "REASON", pipeline),
    }

    def register(cls: _Class) -> _Class:
        whole = _with_base(cls, Strategy)

        def make(node: _veche.StrategyNode, options: Dict[str, Any]) -> Any:
            made = whole.__new__(whole)
            made._node, made.channel, made.samples = node, node.channel(), _Samples(node)
            made.lock = threading.Lock()
            _set_options(made, options)
            made.__init__()
            return made

        text = rule or _first_line(cls.__doc__)
        alone = hasattr(cls, "start_alone")
        _register(
            "strategy", {**declared, "rule": text, "starts_alone": alone}, {"make": make}, _veche.register_strategy
        )
        return cls

    return register


class Batch:
    """Samples and their targets, by task:

    classification: `images` (also `inputs`), float32 with channels last, and `labels`, int64.
    regression: `inputs`, and `values`, float32.
    language: `tokens`, int32, a window a row. The targets of a window are its tokens but the first.

    `weights` has the weight of every target in the mean loss, or is None. What a task has not is None."""

    __slots__ = ("inputs", "labels", "step", "tokens", "values", "weights")

    def __init__(
        self,
        inputs: Optional[Floats],
        labels: Optional[Whole],
        step: int,
        tokens: Optional[Any] = None,
        values: Optional[Floats] = None,
        weights: Optional[Floats] = None,
    ) -> None:
        self.inputs, self.labels, self.step = inputs, labels, step
        self.tokens, self.values, self.weights = tokens, values, weights

    @property
    def images(self) -> Any:
        """The inputs."""
        return self.inputs

    def __len__(self) -> int:
        for targets in (self.tokens, self.values, self.labels):
            if targets is not None:
                return len(targets)
        return 0


def _targets(batch: Batch) -> Any:
    return batch.tokens[:, 1:] if batch.tokens is not None else batch.values if batch.values is not None else batch.labels


def _answers(said: Any, batch: Batch) -> Optional[Any]:
    """The array that a pass may return behind the loss: a score for each class or symbol, or the predicted values."""
    import numpy

    if not isinstance(said, tuple) or len(said) != 2 or numpy.ndim(said[1]) == 0:
        return None
    answers, targets = numpy.asarray(said[1], dtype=numpy.float64), _targets(batch)
    wanted = targets.shape if batch.values is not None else (*targets.shape, answers.shape[-1])
    if answers.shape != wanted:
        raise ValueError(f"a pass returned answers of the shape {answers.shape}, and the targets have {targets.shape}")
    return answers


def _sums(said: Any, batch: Batch) -> Tuple[float, ...]:
    """Mean loss, right answers, targets, and the sums of errors, squared errors, values and squared values."""
    answers = _answers(said, batch)
    parts = said if isinstance(said, tuple) else (said,)
    if not 1 <= len(parts) <= 3:
        raise TypeError("a pass must return the mean loss, (loss, answers), (loss, correct) or (loss, correct, count)")
    targets = _targets(batch)
    seen = None if batch.weights is None else batch.weights > 0
    count = float(1 if len(batch) == 0 else targets.size if seen is None else seen.sum())
    if answers is None:
        correct = int(parts[1]) if len(parts) > 1 else 0
        return (float(parts[0]), float(correct), float(parts[2]) if len(parts) > 2 else count, 0.0, 0.0, 0.0, 0.0)
    if batch.values is None:
        right = answers.argmax(-1) == targets
        return (float(parts[0]), float((right if seen is None else right & seen).sum()), count, 0.0, 0.0, 0.0, 0.0)
    values = targets if seen is None else targets[seen]
    errors = (answers if seen is None else answers[seen]) - values
    return (float(parts[0]), 0.0, count, float(abs(errors).sum()), float((errors**2).sum()), float(values.sum()),
            float((values.astype(float) ** 2).sum()))


def _outcomes(said: Any, batch: Batch) -> Optional[Any]:
    """Loss, margin between two classes, and whether it is right, of every sample; None where that is not known."""
    import numpy

    answers = None if batch.labels is None else _answers(said, batch)
    if answers is None:
        return None
    shifted = answers - answers.max(1, keepdims=True)
    rows = numpy.arange(len(answers))
    losses = numpy.log(numpy.exp(shifted).sum(1)) - shifted[rows, batch.labels]
    margins = answers[:, 1] - answers[:, 0] if answers.shape[1] > 1 else numpy.zeros(len(answers))
    return numpy.stack([losses, margins, answers.argmax(1) == batch.labels], 1)


class Learner:
    """Base of the models of one's own, one object for each node.

    `__init__` makes `parameters` and, in the same shapes, `gradients`: one float32 array, or a list or
    dict of them (copied at each pass; one array is not). Objects that differ only in `node` must begin
    with equal parameters: draw them from `random`. The keys are attributes.
    """

    parameters: Any
    gradients: Any
    options: Dict[str, Any]
    shape: _Shape  # of a sample
    classes: int  # of a text the symbols of its vocabulary, of numbers 1
    task: str  # "classification", "language" or "regression"
    seed: int
    node: int
    nodes: int

    def compute_gradient(self, batch: Batch) -> Any:
        """Puts the gradient of the mean loss into `gradients`. Returns the mean loss, or (loss, correct)
        with the number of right answers, or (loss, correct, count), or (loss, answers): an array with a score for each
        class (AUC and the measures by class need them) or symbol, or the predicted values (RMSE needs them)."""
        raise NotImplementedError("a learner needs compute_gradient")

    def evaluate(self, batch: Batch) -> Any:
        """The same without changing anything."""
        raise NotImplementedError("a learner needs evaluate")

    @property
    def random(self) -> numpy.random.Generator:
        """Random numbers for the first parameters, the same on every node."""
        generator: Optional[numpy.random.Generator] = self.__dict__.get("_generator")
        if generator is None:
            from numpy.random import PCG64, Generator

            generator = self.__dict__["_generator"] = Generator(PCG64(self.seed))
        return generator


def learner(name: str, *, needs_data: bool = True, **keys: Any) -> Callable[[_Class], _Class]:
    """Registers a class as the model `name`. needs_data=False: it brings its own data."""
    declared = {"name": name, "needs_data": needs_data, "keys": _declared_keys(keys, Learner, f"the learner {name!r}")}

    def register(cls: _Class) -> _Class:
        whole = _with_base(cls, Learner)

        def make(facts: Dict[str, Any], options: Dict[str, Any]) -> Any:
            import numpy

            made = whole.__new__(whole)
            vars(made).update(facts)
            _set_options(made, options)
            made.__init__()
            if not hasattr(made, "parameters"):
                raise AttributeError(f"the learner {name!r} has no parameters: make them in __init__")
            if not hasattr(made, "gradients"):
                made.gradients = _like(made.parameters, numpy.zeros_like)
            return made

        _register("learner", declared, {"make": make}, _veche.register_learner)
        return cls

    return register


def _like(arrays: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(arrays, dict):
        return {name: make(array) for name, array in arrays.items()}
    if isinstance(arrays, (list, tuple)):
        return [make(array) for array in arrays]
    return make(arrays)


def _numbers(sample: Any) -> Floats:
    """The float32 numbers of a sample; bytes of images become 0 to 1."""
    import numpy

    array = numpy.asarray(sample)
    if array.dtype == numpy.uint8:
        return array.astype(numpy.float32) / 255
    return array.astype(numpy.float32, copy=False)


def _shape_of(array: Floats, layout: str) -> _Shape:
    """Channels, height, width."""
    if array.ndim == 3:
        return array.shape if layout == "CHW" else (array.shape[2], array.shape[0], array.shape[1])  # type: ignore
    if array.ndim == 2:
        return (1, array.shape[0], array.shape[1])
    return (array.size, 1, 1)


class _Part:
    """The training or the test set, as the library reads it."""

    def __init__(self, samples: Any, layout: str, where: str) -> None:
        import numpy

        if not hasattr(samples, "__len__") or not hasattr(samples, "__getitem__"):
            raise TypeError(f"{where} must have __len__ and __getitem__, and a {type(samples).__name__} has not")
        self.samples, self.layout = samples, layout
        self.labels, self.values = numpy.zeros(0, numpy.int64), numpy.zeros(0, numpy.float32)
        self.task = "classification"
        if len(samples) == 0:
            return
        targets = self._known_targets()
        if targets is None and not isinstance(samples[0], (tuple, list)):
            self.task = "language"
            return
        if targets is None:
            targets = numpy.array([numpy.asarray(samples[i][1]).item() for i in range(len(samples))])
        if targets.dtype.kind == "f":
            self.task, self.values = "regression", targets.astype(numpy.float32)
        else:
            self.labels = targets.astype(numpy.int64)

    def _known_targets(self) -> Optional[Any]:
        """Without reading all samples: torchvision's sets have `targets`."""
        import numpy

        if getattr(self.samples, "target_transform", None) is not None:
            return None
        for name in ("labels", "targets", "values"):
            known = getattr(self.samples, name, None)
            if known is not None and hasattr(known, "__len__") and len(known) == len(self.samples):
                targets = numpy.asarray(known)
                if targets.ndim == 1 and targets.dtype.kind in "iuf":
                    return targets
        return None

    def most(self) -> int:
        """The largest label or token."""
        if self.task == "language":
            return max(int(self.read(i).max()) for i in range(len(self.samples)))
        return int(self.labels.max())

    def shape(self) -> _Shape:
        if self.task == "language":
            return (len(self.read(0)) - 1, 1, 1)
        return _shape_of(_numbers(self.samples[0][0]), self.layout)

    def read(self, index: int) -> Any:
        import numpy

        if self.task == "language":
            return numpy.ascontiguousarray(self.samples[index], dtype=numpy.int32)
        array = _numbers(self.samples[index][0])
        if array.ndim == 3 and self.layout == "CHW":
            array = array.transpose(1, 2, 0)
        return numpy.ascontiguousarray(array)

    def told(self, shape: _Shape, classes: int) -> Dict[str, Any]:
        return {
            "read": self.read,
            "task": self.task,
            "size": len(self.samples),
            "labels": self.labels.tolist(),
            "values": self.values.tolist(),
            "characters_per_token": float(getattr(self.samples, "characters_per_token", 1)),
            "shape": tuple(shape),
            "classes": classes,
        }


def _shape_given(shape: Sequence[int]) -> _Shape:
    extents = [int(extent) for extent in shape]
    if len(extents) == 1:
        extents += [1, 1]
    if len(extents) == 2:
        extents = [1, *extents]
    if len(extents) != 3 or min(extents) < 1:
        raise ValueError(f"shape must be the channels, height and width of a sample, not {shape!r}")
    return (extents[0], extents[1], extents[2])


def _opened(
    train: Any, test: Any, classes: Union[None, int, Sequence[str]], shape: Optional[Sequence[int]], layout: str
) -> Dict[str, Any]:
    parts = [_Part(train, layout, "a training set")]
    parts.append(parts[0] if test is None else _Part(test, layout, "a test set"))
    if any(len(part.samples) == 0 for part in parts):
        raise _veche.RequestError("a data set has no samples")
    names: List[str] = []
    if parts[0].task != parts[1].task:
        raise _veche.RequestError(f"the training set is made for {parts[0].task} and the test set for {parts[1].task}")
    if parts[0].task == "regression":
        if classes is not None:
            raise _veche.RequestError("a data set whose targets are floats has no classes: leave them out")
        classes = 0
    elif classes is None:
        classes = max(part.most() for part in parts) + 1
    elif not isinstance(classes, int):
        names = [str(each) for each in classes]
        classes = len(names)
        if parts[0].task == "language":  # the symbols, which are no classes
            names = []
    if shape is None:
        whole = parts[0].shape()
    else:
        whole = _shape_given(shape)
    return {
        "train": parts[0].told(whole, classes),
        "test": parts[1].told(whole, classes),
        "class_names": names,
    }


def register_dataset(
    name: str,
    train: Any,
    test: Any = None,
    *,
    classes: Union[None, int, Sequence[str]] = None,
    shape: Optional[Sequence[int]] = None,
    layout: str = "CHW",
) -> None:
    """Registers data sets under a name. `train[i]` is (sample, label), as in PyTorch; (sample, value) with floats as values
    makes a set for regression, and a window of token ids, all of one length, one for language.

    test: without one the models are tested on the training set.
    classes: how many, or their names; of a text, the symbols. Without it the largest label or token tells.
    shape: channels, height, width of a sample; without it the first sample tells.
    layout: of samples with three dimensions, "CHW" as PyTorch has them or "HWC".
    """
    _register_opener(name, [], lambda **_: (train, test), classes, shape, layout)


def dataset(
    name: str,
    *,
    classes: Union[None, int, Sequence[str]] = None,
    shape: Optional[Sequence[int]] = None,
    layout: str = "CHW",
    **keys: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function that opens a data set: it is called with its keys, and with `seed` if it has such a
    parameter, and returns the training set, or the training and the test set. See register_dataset."""
    declared = _declared_keys(keys, object, f"the data set {name!r}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _register_opener(name, declared, function, classes, shape, layout)
        return function

    return register


def _register_opener(
    name: str,
    keys: List[Dict[str, Any]],
    function: Callable[..., Any],
    classes: Union[None, int, Sequence[str]],
    shape: Optional[Sequence[int]],
    layout: str,
) -> None:
    if layout not in ("CHW", "HWC"):
        raise ValueError(f'layout must be "CHW" or "HWC", not {layout!r}')
    import inspect

    takes_seed = "seed" in inspect.signature(function).parameters

    def open(options: Dict[str, Any], seed: int) -> Dict[str, Any]:
        more = {"seed": seed} if takes_seed and "seed" not in options else {}
        sets = function(**options, **more)
        train, test = sets if isinstance(sets, tuple) and len(sets) == 2 else (sets, None)
        return _opened(train, test, classes, shape, layout)

    _register("data set", {"name": name, "keys": keys}, {"open": open}, _veche.register_dataset)


def _describe(error: BaseException) -> str:
    """One line: kind, message and place."""
    import traceback

    said = "".join(traceback.format_exception_only(type(error), error)).strip()
    last = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        last = (frame.f_code.co_filename.rsplit("/", 1)[-1], line)
    return said if last is None else f"{said} ({last[0]}, line {last[1]})"


def _causes(error: Optional[BaseException]) -> Iterator[BaseException]:
    seen: List[BaseException] = []
    while error is not None and not any(error is each for each in seen):
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__


def _forget_frames(error: BaseException) -> None:
    """The local variables of the frames of a traceback may be views of memory that goes away."""
    import traceback

    for each in _causes(error):
        if each.__traceback__ is not None:
            traceback.clear_frames(each.__traceback__)
