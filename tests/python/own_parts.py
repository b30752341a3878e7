"""Strategies, learners and data sets in Python that the tests share. Importing it registers them."""

import numpy

import veche

QUADRATIC = {"model": {"name": "quadratic", "a": [1, 2, 3, 4, 4, 3, 2, 1], "b": [8, 7, 6, 5, 4, 3, 2, 1]},
             "run": {"steps": 60, "eval_every": 30}, "optimizer": {"name": "sgd", "lr": 0.02}}


@veche.strategy("pass-on", every=1)
class PassOn:
    """x_i <- (x_i + x_(i-1)) / 2 on a circle"""

    def after_step(self, step):
        if (step + 1) % self.every:
            return
        self.channel.send((self.me + 1) % self.nodes, self.x)
        theirs = self.channel.receive((self.me - 1) % self.nodes)
        self.x = (self.x + theirs) / 2


@veche.strategy("python-allreduce", replicas="equal", codec="gradients")
class AllReduce(veche.Strategy):
    def after_backward(self, step):
        self.gradient *= self.samples.share(self.me, step)
        if self.compressor.on:
            self.compressor.sum_(self.gradient)
        else:
            self.channel.allreduce_(self.gradient)
        return "shared"


@veche.strategy("python-consensus", graph="undirected")
class Consensus:
    def after_step(self, step):
        for node in self.readers(step):
            self.channel.send(node, self.x)
        mixed = numpy.zeros_like(self.x)
        for node, weight in self.mixing(step):
            mixed += numpy.float32(weight) * (self.x if node == self.me else self.channel.receive(node))
        self.x = mixed


@veche.strategy("python-choco", graph="undirected", codec="copies")
class Choco(Consensus):
    """Consensus by codes of the changes; without a codec, of the parameters."""

    def __init__(self):
        self.neighbors = self.graph.neighbors()
        self.copies = self.compressor.copies(self.neighbors) if self.compressor.on else None

    def start(self):
        if self.copies:
            self.copies.start()

    def after_step(self, step):
        if not self.copies:
            super().after_step(step)
            return
        for node in self.neighbors:
            self.copies.send(node)
        for node in self.neighbors:
            self.copies.receive(node)
        for node, weight in self.mixing(step):
            if node != self.me:
                self.copies.pull(node, weight)


@veche.strategy("remembers", decay=0.5, noisy=True)
class Remembers:
    """Its own momentum, a count and random numbers: what a checkpoint must bring back."""

    state = ("momentum", "rounds", "scale")

    def __init__(self):
        self.momentum = numpy.zeros_like(self.x)
        self.rounds = 0
        self.scale = 1.0

    def after_backward(self, step):
        self.momentum *= self.decay
        self.momentum += self.gradient
        self.gradient = self.scale * self.momentum
        return "own"

    def after_step(self, step):
        self.rounds += 1
        self.scale = 1 / (1 + self.rounds)
        if self.noisy:
            self.x += self.random.normal(size=self.x.size).astype(numpy.float32) / 100
        pairs = self.shared_random.permutation(self.nodes).tolist()
        peer = pairs[pairs.index(self.me) ^ 1]
        self.channel.send(peer, self.x)
        self.x = (self.x + self.channel.receive(peer)) / 2


@veche.strategy("python-async", async_="equal steps")
class Async:
    """Each node sends its parameters round the circle and takes in what has come."""

    def after_step(self, step):
        if self.nodes > 1:
            self.channel.send((self.me + 1) % self.nodes, self.x)
        self.take()

    def take(self):
        while True:
            try:
                came = self.channel.receive_any(timeout=0)
            except veche.PeerLost:
                continue
            if came is None:
                return
            self.x += (came[1] - self.x) / 2

    def finish(self):
        self.take()


@veche.strategy("helped", async_="equal steps")
class Helped:
    """A helper takes in what comes, at any time."""

    def start(self):
        self.models = self.channel.child(0)
        self.spawn(self.serve)

    def serve(self):
        while True:
            try:
                node, theirs = self.models.receive_any()
            except veche.PeerLost:  # it has made all its steps
                continue
            with self.lock:
                self.x += (theirs - self.x) / 2

    def after_step(self, step):
        self.models.send((self.me + 1) % self.nodes, self.x)

    def finish(self):
        self.channel.barrier()


class NoLuck(LookupError):
    """Unlike the built-in ones it can be referred to weakly."""


@veche.strategy("breaks", at=20, node=1, where="after_step")
class Breaks:
    def after_step(self, step):
        kept = self.x[:1]
        if self.me == self.node and step == self.at:
            raise NoLuck(f"no luck in step {step}")
        if self.nodes > 1:
            self.channel.allreduce_(numpy.ones(1, dtype=numpy.float32))
        return kept


def line_points(node):
    x = (numpy.arange(50, dtype=numpy.float32) / 50 + node) / 2 - 1
    return x, 3 * x - 2


@veche.learner("line", needs_data=False, pieces=False)
class Line:
    """Linear regression on measurements that each of four sites keeps to itself."""

    def __init__(self):
        self.points = line_points(self.node)
        if self.pieces:
            self.parameters = {"slope": numpy.zeros(1, dtype=numpy.float32), "offset": numpy.zeros(1, dtype=numpy.float32)}
        else:
            self.parameters = numpy.zeros(2, dtype=numpy.float32)

    def error(self):
        x, y = self.points
        slope, offset = self.parameters.values() if self.pieces else self.parameters
        return slope * x + offset - y

    def compute_gradient(self, batch):
        error = self.error()
        slope, offset = (error * self.points[0]).mean(), error.mean()
        if self.pieces:
            self.gradients["slope"][:], self.gradients["offset"][:] = slope, offset
        else:
            self.gradients = numpy.array([slope, offset])  # float64: taken as it is given, but as float32
        return self.evaluate(batch)

    def evaluate(self, batch):
        return float((self.error() ** 2).mean() / 2), 0, 50


@veche.learner("softmax", rate=1.0)
class Softmax:
    """Softmax regression on a data set."""

    def __init__(self):
        size = self.shape[0] * self.shape[1] * self.shape[2]
        self.parameters = [self.random.normal(size=(size, self.classes)).astype(numpy.float32) / 100,
                           numpy.zeros(self.classes, dtype=numpy.float32)]

    def forward(self, batch):
        weights, bias = self.parameters
        inputs = batch.images.reshape(len(batch), -1)
        logits = inputs @ weights + bias
        logits -= logits.max(axis=1, keepdims=True)
        chances = numpy.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        rows = numpy.arange(len(batch))
        loss = -numpy.log(chances[rows, batch.labels]).mean()
        return inputs, chances, loss, int((chances.argmax(axis=1) == batch.labels).sum())

    def compute_gradient(self, batch):
        inputs, chances, loss, correct = self.forward(batch)
        chances[numpy.arange(len(batch)), batch.labels] -= 1
        chances *= self.rate / len(batch)
        self.gradients[0][...] = inputs.T @ chances
        self.gradients[1][...] = chances.sum(axis=0)
        return loss, correct

    def evaluate(self, batch):
        _, _, loss, correct = self.forward(batch)
        return loss, correct


class Stripes:
    """Pictures with a bright row in the upper or the lower half, channels first."""

    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        random = numpy.random.default_rng([self.seed, index])
        picture = random.normal(size=(1, 6, 6)) / 10
        label = index % 2
        picture[0, random.integers(3) + 3 * label] += 1
        return picture, label


@veche.dataset("stripes", classes=["upper", "lower"], pictures=400)
def stripes(pictures, seed):
    return Stripes(pictures, seed), Stripes(100, seed + 1000)
