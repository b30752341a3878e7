"""Text, tables and two classes, with learners and data sets written in Python; measures as scikit-learn computes them."""

import unittest

import numpy

import veche
from veche_runs import RunsTest

try:
    from sklearn import metrics
except ImportError as error:
    raise SystemExit("the Debian package python3-sklearn is missing (%s)" % error)

VOCABULARY = 5


class Rows:
    """Points around two centres that overlap; of `kind` "value" the targets are numbers."""

    def __init__(self, count, seed, kind):
        random = numpy.random.default_rng(seed)
        labels = (random.random(count) < 0.3).astype(int)
        self.x = (random.standard_normal((count, 2)) + labels[:, None]).astype(numpy.float32)
        self.y = labels if kind == "label" else (self.x @ [1.5, -2.0] + 0.3 * random.standard_normal(count))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Windows:
    """Each token is followed by the next one, but in one of four cases."""

    characters_per_token = 2.5

    def __init__(self, count, seed):
        random = numpy.random.default_rng(seed)
        self.text = numpy.zeros(count + 8, dtype=numpy.int32)
        for i in range(1, len(self.text)):
            self.text[i] = (self.text[i - 1] + (1 if random.random() < 0.75 else 2)) % VOCABULARY

    def __len__(self):
        return len(self.text) - 8

    def __getitem__(self, i):
        return self.text[i:i + 9]


veche.register_dataset("overlapping", Rows(400, 1, "label"), Rows(301, 2, "label"))
veche.register_dataset("sloped", Rows(400, 1, "value"), Rows(301, 2, "value"))
veche.register_dataset("steps", Windows(300, 1), Windows(203, 2), classes=VOCABULARY)


@veche.learner("plane")
class Plane:
    """Logistic or linear regression."""

    def __init__(self):
        self.parameters = numpy.zeros((3, self.classes), dtype=numpy.float32)

    def evaluate(self, batch):
        return self.pass_of(batch)[0]

    def compute_gradient(self, batch):
        said, error, inputs = self.pass_of(batch)
        self.gradients[:] = inputs.T @ error / len(batch)
        return said

    def pass_of(self, batch):
        assert len(batch) > 0 and batch.tokens is None and batch.weights is None
        inputs = numpy.c_[batch.inputs, numpy.ones(len(batch))]
        answers = inputs @ self.parameters
        if self.task == "regression":
            error = answers - batch.values[:, None]
            return ((error ** 2).mean(), answers[:, 0]), 2 * error, inputs
        chances = numpy.exp(answers) / numpy.exp(answers).sum(1, keepdims=True)
        loss = -numpy.log(chances[range(len(batch)), batch.labels]).mean()
        return (loss, answers), chances - numpy.eye(self.classes)[batch.labels], inputs


@veche.learner("bigram")
class Bigram:
    def __init__(self):
        self.parameters = numpy.zeros((self.classes, self.classes), dtype=numpy.float32)

    def evaluate(self, batch):
        logits = self.parameters[batch.tokens[:, :-1]]
        chances = numpy.exp(logits) / numpy.exp(logits).sum(2, keepdims=True)
        right = numpy.take_along_axis(chances, batch.tokens[:, 1:, None].astype(int), 2)
        return -numpy.log(right).mean(), logits

    def compute_gradient(self, batch):
        loss, logits = self.evaluate(batch)
        error = numpy.exp(logits) / numpy.exp(logits).sum(2, keepdims=True) - numpy.eye(VOCABULARY)[batch.tokens[:, 1:]]
        self.gradients[:] = 0
        numpy.add.at(self.gradients, batch.tokens[:, :-1], error / error[..., 0].size)
        return loss, logits


def train(data, model, **keys):
    config = {"data": {"name": data, "batch": 20}, "model": {"name": model}, "strategy": {"name": "allreduce"},
              "cluster": {"nodes": 3}, "optimizer": {"name": "sgd", "lr": 0.3}, "run": {"steps": 60}}
    return veche.train(config, keep=False, set=keys)


class Tasks(RunsTest):
    def test_two_classes(self):
        result = train("overlapping", "plane")
        test = Rows(301, 2, "label")
        scores = numpy.c_[test.x, numpy.ones(301)] @ result.parameters[0].reshape(3, 2)
        found = result.measures
        self.assertAlmostEqual(found["auc"], metrics.roc_auc_score(test.y, scores[:, 1] - scores[:, 0]), delta=1e-6)
        self.assertAlmostEqual(found["loss"], metrics.log_loss(test.y, numpy.exp(scores) / numpy.exp(scores).sum(1)[:, None]),
                               delta=1e-6)
        recall = metrics.recall_score(test.y, scores.argmax(1), average=None)
        numpy.testing.assert_allclose(found["classes"]["accuracy"], recall, atol=1e-12)
        self.assertEqual(found["classes"]["count"], numpy.bincount(test.y).tolist())
        self.assertEqual(result.metrics["average_model.auc"][-1], found["auc"])

    def test_numbers(self):
        result = train("sloped", "plane", **{"optimizer.lr": 0.05, "run.target": "r2 >= 0.9", "run.eval_every": 5})
        test = Rows(301, 2, "value")
        answers = numpy.c_[test.x, numpy.ones(301)] @ result.parameters[0]
        found = result.measures
        values = test.y.astype(numpy.float32)
        self.assertEqual((result.task, result.stopped), ("regression", "target"))
        self.assertAlmostEqual(found["rmse"], metrics.mean_squared_error(values, answers) ** 0.5, delta=1e-5)
        self.assertAlmostEqual(found["mae"], metrics.mean_absolute_error(values, answers), delta=1e-5)
        self.assertAlmostEqual(found["r2"], metrics.r2_score(values, answers), delta=1e-5)
        self.assertGreaterEqual(found["r2"], 0.9)
        self.assertIn("RMSE of the nodes", repr(result))

    def test_text(self):
        result = train("steps", "bigram", **{"optimizer.lr": 2})
        found = result.measures
        # The entropy of one in four.
        self.assertAlmostEqual(found["loss"], -0.75 * numpy.log(0.75) - 0.25 * numpy.log(0.25), delta=0.06)
        self.assertAlmostEqual(found["perplexity"], numpy.exp(found["loss"]), delta=1e-9)
        self.assertAlmostEqual(found["bits_per_character"], found["loss"] / numpy.log(2) / 2.5, delta=1e-9)
        self.assertEqual(result.summary["measure"], "perplexity")
        self.assertIn("tokens_per_second", result.summary)

    def test_what_does_not_go_together(self):
        with self.assertRaisesRegex(veche.RequestError, "model.name: 'cnn' cannot learn 'steps', whose targets are tokens"):
            train("steps", "cnn")
        with self.assertRaisesRegex(veche.RequestError, "run.target: 'perplexity' is no measure where the targets are numb"):
            train("sloped", "plane", **{"run.target": "perplexity < 3"})


if __name__ == "__main__":
    unittest.main()
