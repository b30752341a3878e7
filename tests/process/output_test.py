"""What a person and what a program see of a run."""

import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import subprocess
import time
import unittest

from veche_runs import LONGEST, QUADRATIC, SMALL, VECHE, RunsTest, assignments

# DESIGN, "The summary object".
SUMMARY = {"run", "strategy", "topology", "nodes", "steps", "epochs", "seconds", "samples_per_second", "accuracy", "loss",
           "disagreement", "bytes_sent", "messages", "compute_seconds", "communication_seconds", "stopped"}
LONG = SMALL | {"run.steps": 2000, "run.eval_every": 10**6, "run.checkpoint_every": 10**6}


class Output(RunsTest):
    def test_help_is_light(self):
        for words in (["--help"], ["--version"], ["train", "--help"]):
            done = self.veche(*words, env={**os.environ, "LD_DEBUG": "libs"})
            self.assertEqual(done.returncode, 0)
            self.assertIn("libstdc++", done.stderr)  # the loader does tell
            self.assertNotIn("torch", done.stderr)
        # Some milliseconds; with libtorch a second.
        fastest = min(self.processor_seconds("--help") for _ in range(5))
        self.assertLess(fastest, 0.1)

    def processor_seconds(self, *words):
        """Not those of a clock, which others on the machine make longer."""
        used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before = used()
        self.assertEqual(self.veche(*words).returncode, 0)
        return used() - before

    def test_json_is_one_object(self):
        done = self.veche("train", "--json", *assignments(SMALL, {"run.steps": 5, "run.name": "mine"}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        summary = json.loads(done.stdout)
        self.assertLessEqual(SUMMARY, set(summary))
        self.assertEqual(set(summary["accuracy"]), {"mean", "std", "min", "max", "tested", "average_model"})
        self.assertEqual(set(summary["disagreement"]), {"cv", "l1", "l2", "linf"})
        self.assertEqual((summary["run"], summary["steps"], summary["stopped"]), ("runs/mine", 5, "steps"))
        self.assertEqual(summary, json.loads((self.folder / "runs/mine/summary.json").read_text()))
        self.assertIn("accuracy of the nodes", done.stderr)

    def test_quadratic_tells_parameters(self):
        done = self.veche("train", "--json", "-q", *assignments(QUADRATIC))
        self.assertEqual(done.stderr, "")
        self.assertEqual([len(node) for node in json.loads(done.stdout)["parameters"]], [1, 1, 1, 1])

    def test_shorthands(self):
        done = self.veche("train", "--json", "-q", *assignments(QUADRATIC), "--steps", 3, "--seed", 7, "--name", "5",
                          "--out", "elsewhere", "--nodes", 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["run"], summary["steps"], summary["nodes"]), ("elsewhere/5", 3, 4))
        self.assertIn("seed = 7", (self.folder / "elsewhere/5/config.toml").read_text())
        told = self.veche("train", "--help").stdout
        for option in ("--epochs", "--steps", "--nodes", "--seed", "--name", "--out"):
            self.assertIn(option, told)

    def test_compare_takes_several_words(self):
        (self.folder / "q.toml").write_text('[model]\nname = "quadratic"\na = [1, 2, 3, 4]\nb = [4, 3, 2, 1]\n')
        done = self.veche("train", "--json", "--compare", "strategy=allreduce,consensus", "optimizer.lr=0.1,0.2", "q.toml",
                          "--set", "run.steps=1000", "run.seed=3")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = json.loads(done.stdout)["comparison"]
        self.assertEqual([line["variant"] for line in lines],
                         ["allreduce 0.1", "allreduce 0.2", "consensus 0.1", "consensus 0.2"])
        self.assertEqual({(line["nodes"], line["steps"], line["virtual_time"]) for line in lines}, {(4, 1000, False)})
        self.assertRegex(done.stderr, r"(?m)^  variant +nodes +steps ")
        self.assertRegex(done.stderr, r"(?m)^  consensus 0\.2 +4 +1,000 ")
        sizes = self.veche("train", "-q", "--json", "--compare", "cluster.nodes=2,3", "--set", "model.name=vector",
                           "model.length=8", "--steps", 2)
        self.assertEqual([line["nodes"] for line in json.loads(sizes.stdout)["comparison"]], [2, 3], sizes.stderr)

    def test_mended_graph_files_are_told_once(self):
        (self.folder / "g.gml").write_text("graph [ edge [ source 0 target 1 ] edge [ source 1 target 0 ] edge [ source 1 target 2 ]"
                                           " edge [ source 2 target 3 ] edge [ source 3 target 3 ] ]")
        done = self.veche("train", *assignments(QUADRATIC, {"topology.graph": "file:g.gml"}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("note: the graph file 'g.gml': 1 parallel edge was merged and 1 self-loop was dropped"), 1)

    def test_models_as_json(self):
        done = self.veche("model", "ls", "--json")
        models = {model["name"]: model["parameters"] for model in json.loads(done.stdout)["models"]}
        self.assertEqual(models["cnn"], 1475338)
        self.assertLessEqual({"cnn", "mlp", "resnet20", "resnet18", "vit_tiny", "torchscript", "quadratic"}, set(models))

    def test_plain_lines_without_a_terminal(self):
        done = self.veche("train", *assignments(SMALL, {"run.steps": 5, "run.name": "mine"}))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertNotRegex(done.stderr, "[\r\033█]")
        self.assertRegex(done.stderr, r"(?m)^epoch 1\.00/1\.67  train loss \d\.\d+  averaged model .* nodes differ .* %$")
        for part in ("mlp: 2,410 parameters on synthetic", "4 nodes, consensus on ring:4", "+-", "averaged model",
                     "disagreement", "samples/s", "sent", "runs/mine", "Next:\n  veche train"):
            self.assertIn(part, done.stderr)
        self.assertEqual(len(re.findall(r"(?m)^  [0-3] +\d+\.\d %", done.stderr)), 4)

    def test_progress_on_a_terminal(self):
        ours, theirs = pty.openpty()
        process = self.start("train", *assignments(LONG), stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        text = self.read_all(ours, process)
        self.assertEqual(process.wait(LONGEST), 0, text)
        bars = re.findall(r"\r\033\[K(epoch [^\r\n]*[█░][^\r\n]*)", text)
        self.assertTrue(bars, text)
        for bar in bars:
            self.assertRegex(bar, r"^epoch \d+\.\d\d/\S+ [█░]{24} loss \d+\.\d{4}  [\d,]+ samples/s  "
                                  r"nodes differ \S+ %  (\S+ s|\d+ min \d\d s|\d+ h \d\d min) left(  measuring ...)?$")
        self.assertLess(len(bars), 200, "drawn too often")

    def test_testing_on_a_terminal(self):
        ours, theirs = pty.openpty()
        process = self.start("train", *assignments({
            "model.name": "cnn", "data.name": "synthetic", "data.shape": "[1,28,28]", "data.samples": 50,
            "data.test_samples": 20000, "cluster.nodes": 1, "strategy.name": "single", "run.steps": 1}),
            stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        text = self.read_all(ours, process)
        self.assertEqual(process.wait(LONGEST), 0, text)
        parts = [int(part) for part in re.findall(r"\r\033\[Ktesting (\d+) % [█░]{24} ", text)]
        self.assertTrue(parts, text)
        self.assertEqual(parts, sorted(parts))
        self.assertLessEqual(parts[-1], 100)

    @staticmethod
    def read_all(descriptor, process):
        content, deadline = b"", time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if not select.select([descriptor], [], [], 0.1)[0]:
                continue
            try:
                content += os.read(descriptor, 65536)
            except OSError:  # the other end is closed: the process is done
                break
        os.close(descriptor)
        return content.decode()

    def test_without_torch(self):
        tree = pathlib.Path(VECHE).parent.parent
        (self.folder / "bin").mkdir()
        shutil.copy(VECHE, self.folder / "bin")
        shutil.copytree(tree / "lib", self.folder / "lib", symlinks=True, ignore=lambda folder, names: {"veche"} & set(names))
        light = self.folder / "bin/veche"
        done = self.veche("train", *assignments(SMALL), veche=light)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aveche: this build of Veche has no neural networks \([^\n]*veche_torch.so is "
                                      r"missing\): install the Debian package libtorch-dev[^\n]*\n\Z")
        self.assertFalse((self.folder / "runs").exists())
        self.assertEqual(self.veche("train", "-q", *assignments(QUADRATIC), veche=light).returncode, 0)


if __name__ == "__main__":
    unittest.main()
