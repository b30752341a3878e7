"""Models in stages, as a user sees them: what a run leaves, what becomes of it, and what its trace shows."""

import json
import signal
import struct
import unittest

from veche_runs import SMALL, RunsTest, assignments, wait_for

DEEP = SMALL | {"model.hidden": "[32,24,16]", "strategy.name": "allreduce", "data.batch": 20}
STAGES = DEEP | {"cluster.nodes": 4, "pipeline.stages": 2, "pipeline.micro_batches": 4, "pipeline.cut": "layers"}


def tensors(path):
    """Of a safetensors file: {name: (shape, floats)}."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    result = {}
    for name, item in header.items():
        begin, end = item["data_offsets"]
        data = content[8 + length + begin:8 + length + end]
        result[name] = (item["shape"], struct.unpack("<%df" % (len(data) // 4), data))
    return result


class Pipelines(RunsTest):
    def export(self, run, *words):
        out = self.folder / f"{run.path.name}.safetensors"
        done = self.veche("model", "export", run.path, out, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return tensors(out)

    def assert_near(self, one, other, tolerance):
        self.assertEqual(list(one), list(other))
        for name, (shape, numbers) in one.items():
            self.assertEqual(shape, other[name][0], name)
            worst = max(abs(a - b) for a, b in zip(numbers, other[name][1]))
            self.assertLessEqual(worst, tolerance, name)

    def test_the_export_is_the_whole_model_whatever_the_cut(self):
        whole = self.export(self.train("whole", DEEP, {"run.steps": 10, "cluster.nodes": 2, "optimizer.name": "sgd"}))
        for name, cut in {"two": {"pipeline.stages": 2, "cluster.nodes": 4},
                          "four": {"pipeline.stages": 4, "cluster.nodes": 8, "pipeline.schedule": "gpipe"},
                          "again": {"pipeline.stages": 2, "cluster.nodes": 4, "pipeline.recompute": "except-last"},
                          "measured": {"pipeline.stages": 3, "cluster.nodes": 6, "pipeline.cut": "time"}}.items():
            run = self.train(name, STAGES, cut, {"run.steps": 10, "optimizer.name": "sgd"})
            self.assert_near(self.export(run), whole, 1e-5)
            self.assert_near(self.export(run, "--node", "1"), whole, 1e-5)
        refused = self.veche("model", "export", self.run_path("two").path, "x.safetensors", "--node", "2")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there is no replica 2", refused.stderr)

    def test_a_resumed_run_ends_with_the_same_bytes(self):
        length = {"run.steps": 40, "run.checkpoint_every": 10}
        whole = self.train("whole", STAGES, length)
        self.train("half", STAGES, length, {"run.steps": 20})
        done = self.veche("train", "-q", "--resume", self.run_path("half").path, *assignments({"run.steps": 40}))
        self.assertEqual(done.returncode, 0, done.stderr)
        mine, theirs = whole.checkpoints(slice(-1, None)), self.run_path("half").checkpoints(slice(-1, None))
        self.assertEqual(mine, theirs)
        one, other = (json.loads((self.run_path(name).path / "summary.json").read_text())["stages"] for name in ("whole", "half"))
        for key in ("activation_bytes", "activation_messages"):
            self.assertEqual([stage[key] for stage in one], [stage[key] for stage in other], key)

    def test_a_run_goes_on_with_other_stages_and_replicas(self):
        whole = self.export(self.train("whole", STAGES, {"run.steps": 25}))
        run = self.train("run", STAGES, {"run.steps": 5})
        steps = 5
        # With as many replicas every step is the same, Adam's included.
        for stages, nodes in ((4, 8), (1, 2), (3, 6), (2, 4)):
            steps += 5
            done = self.veche("train", "--resume", run.path,
                              *assignments({"run.steps": steps, "pipeline.stages": stages, "cluster.nodes": nodes}))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("continue from their averaged model", done.stderr)
            self.assertEqual(len(run.checkpoint_files(steps)), nodes)
        self.assert_near(self.export(run), whole, 1e-5)
        done = self.veche("train", "--resume", run.path,
                          *assignments({"run.steps": 30, "pipeline.stages": 2, "cluster.nodes": 6}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(run.checkpoint_files(30)), 6)

    def test_weights_of_a_file_are_those_of_the_stages(self):
        run = self.train("one", DEEP, {"run.steps": 5, "cluster.nodes": 2})
        first = self.export(run)
        more = self.train("two", STAGES, {"run.steps": 1, "optimizer.name": "sgd", "optimizer.lr": 0,
                                          "model.init": self.folder / "one.safetensors"})
        self.assert_near(self.export(more), first, 0)

    def test_a_sequence_from_python_is_cut_and_another_module_is_not(self):
        try:
            import torch
        except ImportError as error:
            self.skipTest(f"the Debian package python3-torch is missing ({error})")
        nn = torch.nn

        class Loop(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(64, 10)

            def forward(self, x):
                return self.layer(x.flatten(1))

        torch.manual_seed(1)
        chain = nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.BatchNorm1d(24), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 10))
        torch.jit.script(chain).save(str(self.folder / "chain.pt"))
        torch.jit.script(Loop()).save(str(self.folder / "loop.pt"))
        task = {key: value for key, value in STAGES.items() if not key.startswith("model.")}
        file = {"model.file": "chain.pt", "optimizer.name": "sgd", "run.steps": 8}
        one = self.export(self.train("one", task, file, {"cluster.nodes": 2, "pipeline.stages": 1}))
        for stages in (2, 4):
            run = self.train(f"cut{stages}", task, file, {"cluster.nodes": 2 * stages, "pipeline.stages": stages})
            self.assert_near(self.export(run), one, 1e-6)
        done = self.veche("train", *assignments(task, {"model.file": "loop.pt"}))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"loop.pt' cannot be cut into stages: its top level is a Loop and no torch.nn.Sequential")
        done = self.veche("train", *assignments(task, file, {"pipeline.stages": 5, "cluster.nodes": 5}))
        self.assertEqual(done.returncode, 2)
        self.assertIn("4 blocks", done.stderr)

    def test_the_summary_tells_of_every_stage(self):
        done = self.veche("train", "--json", *assignments(STAGES, {"run.steps": 6, "run.name": "told"}))
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["nodes"], summary["replicas"]), (4, 2))
        self.assertEqual([stage["stage"] for stage in summary["stages"]], [0, 1])
        for stage in summary["stages"]:
            self.assertGreater(stage["compute_seconds"], 0)
            self.assertGreater(stage["peak_bytes"], 0)
        # 4 messages a step of 6, forth from the first and back from the last, in 2 replicas: 20 samples of 24 floats, and 64
        # bytes that say what they are.
        self.assertEqual([stage["activation_messages"] for stage in summary["stages"]], [48, 48])
        self.assertEqual([stage["activation_bytes"] for stage in summary["stages"]], [2 * 6 * (20 * 24 * 4 + 4 * 64)] * 2)
        self.assertEqual(summary["accuracy"]["tested"], 2)
        self.assertEqual(summary["disagreement"]["cv"], 0)

    def test_the_trace_shows_the_schedule(self):
        run = self.train("traced", STAGES, {"run.steps": 3, "run.trace": "true"})
        events = json.loads((run.path / "trace.json").read_text())["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertEqual(names[3], "node 3, stage 1 of replica 1")
        for node in range(4):
            passes = [event for event in events if event["pid"] == node and event.get("cat") == "compute"]
            order = [event["name"] for event in sorted(passes, key=lambda event: event["ts"])]
            warm = ["forward 0", "forward 1"] if node % 2 == 0 else ["forward 0"]
            self.assertEqual(order[:len(warm) + 1], [*warm, "backward 0"])
            self.assertEqual(len(passes), 3 * 8)
            ends = 0
            for event in sorted(passes, key=lambda event: event["ts"]):
                self.assertGreaterEqual(event["ts"], ends - 1)  # one at a time; microseconds
                ends = event["ts"] + event["dur"]
        for node in range(0, 4, 2):  # what a stage makes comes before what the next makes of it
            first, second = ([event for event in events if event["pid"] == pid and event["name"] == "forward 0"]
                             for pid in (node, node + 1))
            for one, other in zip(first, second):
                self.assertLess(one["ts"] + one["dur"], other["ts"] + 1)

    def test_every_strategy_has_a_trace(self):
        for strategy in ("consensus", "allreduce", "single", "local-sgd"):
            run = self.train(strategy, SMALL, {"strategy.name": strategy, "run.steps": 4, "run.trace": "true"})
            kinds = {event.get("cat") for event in json.loads((run.path / "trace.json").read_text())["traceEvents"]}
            self.assertIn("compute", kinds, strategy)
            if strategy == "consensus":
                self.assertIn("communicate", kinds)

    def test_an_interrupted_run_is_saved_by_all_stages(self):
        process = self.start("train", "-q", *assignments(STAGES, {"run.name": "long", "run.steps": 100000}))
        run = self.run_path("long")
        wait_for(lambda: (run.path / "checkpoint").is_dir() or (run.path / "config.toml").exists(), process)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 130, 1), error)
        if run.steps():
            self.assertEqual(len(run.checkpoint_files(run.steps()[-1])), 4)

    def test_the_cut_is_shown(self):
        done = self.veche("model", "show", "resnet20", "--stages", "4", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(sum(stage["parameters"] for stage in told["stages"]), 269722)
        self.assertEqual(sum(stage["blocks"] for stage in told["stages"]), 11)
        self.assertEqual([stage["micro_batches_held"] for stage in told["stages"]], [4, 3, 2, 1])
        self.assertTrue(0 < told["bubble"] < 1)
        done = self.veche("model", "show", "mlp", "--set", "model.hidden=[16,16,16,16,16]", "--stages", "2", "--speed", "1,2",
                          "--cut", "layers", "--json")
        self.assertEqual(json.loads(done.stdout)["cut"], [2])
        self.assertEqual(json.loads(done.stdout)["micro_batches"], 8)
        equal, unequal = (self.veche("model", "show", "resnet20", "--stages", "2", "--cut", "parameters", *speed, "--json")
                          for speed in ((), ("--speed", "1,9")))
        self.assertEqual(json.loads(equal.stdout)["cut"], json.loads(unequal.stdout)["cut"])  # stages equally large
        for words in (["--stages", "99"], ["--stages", "2", "--speed", "1,2,3"], ["--speed", "1,2"],
                      ["--stages", "2", "--batch", "4", "--micro-batches", "5"]):
            done = self.veche("model", "show", "resnet20", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
        for model in ("quadratic", "vector"):
            done = self.veche("model", "show", model, "--stages", "2")
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot be cut", done.stderr)


if __name__ == "__main__":
    unittest.main()
