"""`veche.train` and `veche.compare`: the bytes of the command line, callbacks, Ctrl-C, and what a Result tells."""

import contextlib
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import traceback
import types
import unittest
import unittest.mock

import numpy

import veche
from veche_runs import LONGEST, OF_THE_CLOCK, QUADRATIC, SMALL, Run, RunsTest, without_clock

SMALL_SECTIONS = {"data": {"name": "synthetic", "samples": 300, "test_samples": 50, "shape": [1, 8, 8]},
                  "model": {"name": "mlp", "hidden": [32]}}
QUADRATIC_SECTIONS = {"model": {"name": "quadratic", "a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}}

LOOP = """
import sys, veche
def started(progress):
    print("under way", flush=True)
try:
    veche.train({"model": {"name": "quadratic", "a": [1, 2], "b": [2, 1]}, "cluster": {"nodes": 2}}, steps=10**9, name="long",
                on_progress=started, set={"cluster.transport": sys.argv[1]})
except KeyboardInterrupt as interrupt:
    print(f"interrupted: {interrupt}")
"""


class PythonRunsTest(RunsTest):
    """Runs of this process lie in the test's folder too."""

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)


class Train(PythonRunsTest):
    def test_bytes_of_the_command_line(self):
        for name, words, sections, length in (("mlp", SMALL, SMALL_SECTIONS, {"epochs": 2}),
                                              ("quadratic", QUADRATIC, QUADRATIC_SECTIONS, {"steps": 50})):
            with self.subTest(name):
                (key, value), = length.items()
                theirs = self.train(f"cli-{name}", words, {f"run.{key}": value, "strategy.name": "gossip"})
                result = veche.train(sections, set={"strategy.name": "gossip"}, name=name, **length)
                self.assertEqual(result.folder, pathlib.Path("runs") / name)
                mine = Run(self.folder / "runs" / name)
                self.assert_same_run(mine, theirs)
                self.assertEqual(without_clock(result.summary), theirs.summary())
                self.assertEqual(result.summary, json.loads((result.folder / "summary.json").read_text()))
                config, cli = ((self.folder / "runs" / each / "config.toml").read_text() for each in (name, f"cli-{name}"))
                self.assertEqual(config, cli.replace(f"cli-{name}", name))

    def test_configurations_of_every_kind(self):
        toml = '[model]\nname = "quadratic"\na = [1, 2, 3, 4]\nb = [4, 3, 2, 1]\n'
        file = self.folder / "run.toml"
        file.write_text(toml)
        arrays = {"model": {"name": "quadratic", "a": numpy.arange(1, 5), "b": numpy.float32([4, 3, 2, 1])}}
        seen = [without_clock(veche.train(config, steps=numpy.int64(5), keep=False).summary)
                for config in (file, "run.toml", toml, QUADRATIC_SECTIONS, arrays)]
        for summary in seen[1:]:
            self.assertEqual(summary, seen[0])
        self.assertFalse((self.folder / "runs").exists())

    def test_resume_and_restart(self):
        often = {"run.eval_every": 2}
        straight = veche.train(SMALL_SECTIONS, steps=6, set=often, name="straight")
        veche.train(SMALL_SECTIONS, steps=3, set=often, name="parts")
        parts = veche.train(resume="runs/parts", steps=6)
        self.assertEqual(parts.steps, 6)
        for mine, theirs in zip(parts.parameters, straight.parameters, strict=True):
            numpy.testing.assert_array_equal(mine, theirs)
        self.assertEqual(list(parts.metrics["step"]), [2, 4, 6])
        again = veche.train(resume=pathlib.Path("runs/parts"), restart=True)
        numpy.testing.assert_array_equal(again.parameters[0], straight.parameters[0])
        with self.assertRaisesRegex(veche.RequestError, r"^optimizer.lr = 0.5 would change the run that is resumed"):
            veche.train(resume="runs/parts", set={"optimizer.lr": 0.5})
        with self.assertRaisesRegex(veche.RequestError, "leave out the other one"):
            veche.train("run.toml", resume="runs/parts")

    def test_result(self):
        seen, lines = [], []
        result = veche.train(SMALL_SECTIONS, epochs=2, set={"run.eval": "all"}, on_progress=seen.append,
                             on_evaluation=lines.append, name="told")
        self.assertEqual((result.nodes, result.stopped, result.rank, len(result.parameters)), (4, "steps", 0, 4))
        self.assertEqual(result.parameters[0].dtype, numpy.float32)
        self.assertEqual(result.parameters[0].shape, (result.parameter_count,))
        for name in ("accuracy", "loss", "disagreement", "bytes_sent", "messages", "train_loss", "per_node"):
            self.assertEqual(getattr(result, name), result.summary[name])
            self.assertIn(name, dir(result))
        with self.assertRaisesRegex(AttributeError, "a result has no 'acuracy'; its summary has accuracy, "):
            result.acuracy
        self.assertEqual(lines, [json.loads(line) for line in (result.folder / "metrics.jsonl").read_text().splitlines()])
        metrics = result.metrics
        numpy.testing.assert_array_equal(metrics["train.loss"], [line["train"]["loss"] for line in lines])
        numpy.testing.assert_array_equal(metrics["nodes.l2"], [[node["l2"] for node in line["nodes"]] for line in lines])
        self.assertEqual(metrics["stopped"], [None, "steps"])
        mean = numpy.mean(result.parameters, axis=0, dtype=numpy.float64)
        distance = numpy.mean([numpy.linalg.norm(node - mean) for node in result.parameters])
        self.assertAlmostEqual(distance, result.disagreement["l2"], places=5)
        self.assertGreater(len(seen), 0)
        self.assertEqual((seen[0].steps, type(seen[0])), (result.steps, veche.Progress))

    def test_a_run_without_a_folder_has_its_metrics_too(self):
        kept = veche.train(QUADRATIC_SECTIONS, steps=4, set={"run.eval_every": 2}, name="kept")
        result = veche.train(QUADRATIC_SECTIONS, steps=4, set={"run.eval_every": 2}, keep=False)
        self.assertIsNone(result.folder)
        self.assertEqual(result.accuracy, {})
        for name, column in kept.metrics.items():
            if not any(word in OF_THE_CLOCK for word in name.split(".")):
                numpy.testing.assert_array_equal(result.metrics[name], column, name)

    def test_shows_itself(self):
        import matplotlib

        matplotlib.use("agg")
        result = veche.train(SMALL_SECTIONS, epochs=2, keep=False)
        ax = result.plot()
        numpy.testing.assert_array_equal(ax.lines[0].get_ydata(), result.metrics["train.loss"])
        self.assertEqual(ax.get_xlabel(), "epoch")
        html = result._repr_html_()
        self.assertIn("<b>mlp, consensus, ring:4, metropolis</b>", html)
        self.assertIn(f"<td>{100 * result.accuracy['average_model']:.1f} %</td>", html)
        self.assertIn("nodes 4, ", repr(result))

    def test_wrong_requests(self):
        for arguments, error, sentence in (
                ({"set": {"run.epocs": 2}}, veche.RequestError, "there is no key run.epocs; did you mean 'run.epochs'?"),
                ({"epochs": 2, "set": {"run.epochs": 3}}, veche.RequestError, "say the same thing twice"),
                ({"set": {"epochs": 3}}, veche.RequestError, "not of the form 'section.key'"),
                ({"config": "missing.toml"}, veche.RequestError, "missing.toml"),
                ({"config": "[run"}, veche.RequestError, "[run"),
                ({"config": "[run]\nsteps = x"}, veche.RequestError, "line 2"),
                ({"config": 3}, TypeError, "config must be the path of a TOML file, TOML text or a dict of sections, not int"),
                ({"config": {"run": 3}}, TypeError, "the section 'run' of the configuration must be a dict of its keys, not int"),
                ({"set": {"run.epochs": object()}}, TypeError, "run.epochs must be a number, str, bool, list or dict, not object"),
                ({"set": {"run.epochs": None}}, TypeError, "run.epochs must be a number, str, bool, list or dict, not NoneType"),
                ({"set": {"run.steps": 2**64}}, ValueError, "run.steps has more than 64 bits"),
                ({"set": ["run.epochs"]}, TypeError, "set must be a dict such as {'run.epochs': 2}, not list"),
                ({"resume": 3}, TypeError, "resume must be a path, not int"),
                ({"restart": True}, veche.RequestError, "resume"),
                ({"progress": "yes"}, TypeError, "progress must be True or False, not str"),
                ({"on_progress": 3}, TypeError, "on_progress must be callable, not int")):
            with self.subTest(arguments), self.assertRaisesRegex(error, re.escape(sentence)) as caught:
                veche.train(**arguments)
            self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_exceptions_of_callbacks_keep_their_traceback(self):
        def told_badly(line):
            raise KeyError("mine")

        for name in ("on_evaluation", "on_progress"):
            with self.subTest(name):
                try:
                    veche.train(QUADRATIC_SECTIONS, steps=10**9, keep=False, **{"set": {"run.eval_every": 100}, name: told_badly})
                except KeyError:
                    self.assertIn("in told_badly", traceback.format_exc())
                else:
                    self.fail("nothing was raised")

    def test_other_threads_go_on(self):
        """The GIL is free while a run goes on: this thread's turns are counted by a callback."""
        counted, enough = [0], threading.Event()

        def count():
            while not enough.is_set():
                counted[0] += 1

        def check(progress):
            seen.append(counted[0])
            if len(seen) > 1 and seen[-1] > seen[0]:
                raise StopIteration

        seen, thread = [], threading.Thread(target=count)
        thread.start()
        try:
            with self.assertRaises(StopIteration):
                veche.train(QUADRATIC_SECTIONS, steps=10**9, keep=False, on_progress=check)
        finally:
            enough.set()
            thread.join()

    def test_progress_on_standard_error(self):
        def shown(**arguments):
            with contextlib.redirect_stderr(io.StringIO()) as text:
                veche.train(SMALL_SECTIONS, epochs=1, keep=False, **arguments)
            return text.getvalue()

        self.assertEqual(shown(), "")
        self.assertEqual(shown(progress=False), "")
        lines = shown(progress=True).splitlines()
        self.assertEqual(lines[:2], ["mlp: 2,410 parameters on synthetic", "4 nodes, consensus on ring:4, metropolis"])
        self.assertRegex(lines[-1], r"^epoch 1\.00/1  train loss \d\.\d{4}  averaged model \d+\.\d % on the test set  nodes differ")

    def test_progress_in_a_notebook(self):
        class Shell:
            kernel = None

        notebook = types.ModuleType("IPython")
        notebook.get_ipython = Shell
        with unittest.mock.patch.dict(sys.modules, IPython=notebook), contextlib.redirect_stderr(io.StringIO()) as text:
            veche.train(SMALL_SECTIONS, epochs=1, keep=False)
        self.assertIn("\repoch 0.33/1 ████████░░░░░░░░░░░░░░░░ loss 2.", text.getvalue())

    def test_progress_on_a_terminal(self):
        ours, theirs = os.openpty()
        with contextlib.closing(os.fdopen(ours, "rb", buffering=0)) as terminal:
            process = subprocess.Popen([sys.executable, "-c", f"import veche; veche.train({SMALL_SECTIONS}, epochs=1, keep=False)"],
                                       stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "60"})
            self.addCleanup(process.kill)
            os.close(theirs)
            text = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while part := terminal.read(4096):
                    text += part
        self.assertEqual(process.wait(LONGEST), 0)
        lines = text.decode().replace("\r\n", "\n").split("\n")
        self.assertEqual(lines[0], "mlp: 2,410 parameters on synthetic")
        drawn = [part for part in lines[2].split("\r") if part.strip()]
        self.assertRegex(drawn[0], "^epoch 0.33/1 loss 2.")
        self.assertLess(len(drawn[0]), 60)
        self.assertRegex(drawn[-1], "^epoch 1.00/1  train loss")

    def test_notices_are_logged(self):
        (self.folder / "path.txt").write_text("0 1\n1 0\n1 2\n2 3\n")
        with self.assertLogs("veche", "WARNING") as logged:
            veche.train(QUADRATIC_SECTIONS, steps=2, keep=False, set={"topology.graph": "file:path.txt"})
        self.assertEqual(len(logged.output), 1)


class Interrupted(PythonRunsTest):
    def interrupt(self, transport):
        process = subprocess.Popen([sys.executable, "-c", LOOP, transport], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "under way\n")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        told, errors = process.communicate(timeout=LONGEST)
        self.assertEqual(process.returncode, 0, errors)
        last = told.splitlines()[-1]
        self.assertRegex(last, r"^interrupted: stopped after step \d+, saved; go on with veche\.train\(resume='runs/long'\)$")
        return int(re.search(r"step (\d+)", last)[1])

    def test_is_saved_and_goes_on(self):
        step = self.interrupt("threads")
        self.assertEqual(Run("runs/long").steps()[-1], step)
        result = veche.train(resume="runs/long", steps=step + 5)
        self.assertEqual((result.steps, result.stopped), (step + 5, "steps"))

    def test_in_virtual_time(self):
        step = self.interrupt("simulated")
        self.assertEqual(Run("runs/long").steps()[-1], step)


class Compare(PythonRunsTest):
    def test_as_the_command_line(self):
        comparison = veche.compare(SMALL_SECTIONS, {"optimizer.lr": [0.01, 0.001]}, strategy=["allreduce", "local-sgd:2"],
                                   repeat=2, steps=4, out="mine")
        done = self.veche("train", "--json", "-q", *(word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")),
                          "--steps", 4, "--out", "theirs", "--repeat", 2, "--compare", "strategy=allreduce,local-sgd:2",
                          "optimizer.lr=0.01,0.001")
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = json.loads(done.stdout)
        self.assertEqual(without_clock(comparison.summary)["comparison"], without_clock(theirs)["comparison"])
        self.assertEqual([line["variant"] for line in comparison.table],
                         ["allreduce 0.01", "allreduce 0.001", "local-sgd:2 0.01", "local-sgd:2 0.001"])
        self.assertEqual(len(comparison.runs), 8)
        self.assertEqual([run.summary for run in comparison.runs], comparison.summary["runs"])
        self.assertEqual(json.loads((comparison.folder / "compare.json").read_text()), comparison.summary)
        self.assertEqual(repr(comparison).split()[0], "variant")
        self.assertIn("<td>local-sgd:2 0.01</td>", comparison._repr_html_())

    def test_wrong_requests(self):
        for arguments, error, sentence in (
                ({}, veche.RequestError, "there is nothing to compare"),
                ({"strategy": ["allreduse"]}, veche.RequestError, "allreduce"),
                ({"strategy": ["allreduce", "allreduce"]}, veche.RequestError, "twice"),
                ({"strategy": []}, veche.RequestError, "strategy has no value to compare"),
                ({"strategy": 3}, TypeError, "strategy must be a list of values to compare, not int"),
                ({"strategy": [None]}, TypeError, "a value of strategy must be a str, number, bool or list, not NoneType"),
                ({"variants": ["strategy"]}, TypeError, "variants must be a dict of lists"),
                ({"strategy": ["none"], "repeat": 0}, veche.RequestError, "repeat = 0 makes no run"),
                ({"strategy": ["none"], "repeat": 1.5}, TypeError, "repeat must be an int, not float")):
            with self.subTest(arguments), self.assertRaisesRegex(error, re.escape(sentence)):
                veche.compare(QUADRATIC_SECTIONS, **arguments)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
