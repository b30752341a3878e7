"""A wrong request is one sentence that names what is wrong and what is right, exit code 2, and no trace."""

import glob
import gzip
import shutil
import unittest

from veche_runs import FASHION, QUADRATIC, SMALL, RunsTest, assignments

# (what is set on top of a small run, what the sentence must hold)
SETTINGS = [
    ({"modl.name": "cnn"}, ["[modl]", "'model'"]),
    ({"model.nam": "cnn"}, ["model.nam", "'model.name'"]),
    ({"strategy.evry": 2}, ["strategy.evry", "'strategy.every'"]),
    ({"optimizer.zzzzzz": 2}, ["optimizer.zzzzzz", "optimizer.lr"]),
    ({"strategy.name": "consensu"}, ["strategy.name", "consensu", "'consensus'"]),
    ({"strategy.name": 5}, ["strategy.name", "word"]),
    ({"strategy.name": "allreduce", "strategy.algorithm": "rign"}, ["strategy.algorithm", "rign", "'ring'"]),
    ({"strategy.name": "allreduce", "strategy.bucket": 0}, ["strategy.bucket", "above 0"]),
    ({"strategy.name": "allreduce", "strategy.table": "missing.toml"}, ["missing.toml", "--tune"]),
    ({"model.name": "resnet"}, ["model.name", "'resnet20'"]),
    ({"model.name": "wrn-15-2"}, ["model.name", "wrn-16-2"]),
    ({"model.norm": "grup:4"}, ["model.norm", "'grup:4'", "group:G"]),
    ({"model.name": "cnn", "model.norm": "group:5"}, ["model.norm", "5 groups", "group:4"]),
    ({"model.name": "mlp", "model.norm": "batch"}, ["model.norm", "'mlp'", "none"]),
    ({"model.stem": "smal"}, ["model.stem", "'small'"]),
    ({"data.name": "fashion"}, ["data.name", "'fashion-mnist'"]),
    ({"optimizer.name": "adm"}, ["optimizer.name", "'adam'"]),
    ({"topology.graph": "rin"}, ["graph", "'rin'", "'ring'"]),
    ({"topology.graph": "ring:x"}, ["ring:x", "'x'"]),
    ({"topology.graph": "ring:5", "cluster.nodes": 4}, ["ring:5", "cluster.nodes = 5"]),
    ({"topology.weights": "metropoli"}, ["'metropoli'", "'metropolis'"]),
    ({"optimizer.lr": "nan"}, ["optimizer.lr", "number", "nan"]),
    ({"optimizer.lr": "inf"}, ["optimizer.lr", "number"]),
    ({"optimizer.lr": "fast"}, ["optimizer.lr", "number", '"fast"']),
    ({"optimizer.lr": -1}, ["optimizer.lr", "at least 0"]),
    ({"optimizer.nesterov": "maybe"}, ["optimizer.nesterov", "true or false"]),
    ({"optimizer.beta1": 1}, ["optimizer.beta1", "below 1"]),
    ({"optimizer.schedule": "multi-step", "optimizer.milestones": '["x"]'}, ["optimizer.milestones", "list"]),
    ({"model.hidden": "[1.5]"}, ["model.hidden", "list"]),
    ({"model.hidden": 5}, ["model.hidden", "list"]),
    ({"model.dropout": 1.5}, ["model.dropout", "below 1"]),
    ({"data.shape": '["x"]'}, ["data.shape", "list"]),
    ({"data.batch": 0}, ["data.batch", "at least 1"]),
    ({"run.seed": 1.5}, ["run.seed", "whole number"]),
    ({"run.steps": 0}, ["run.steps", "at least 1"]),
    ({"run.steps": 2, "run.epochs": 1}, ["run.epochs", "run.steps"]),
    ({"run.target_accuracy": 90}, ["run.target_accuracy", "0.9"]),
    ({"run.eval": "nonsense"}, ["run.eval", "average", "all", "sample:K"]),
    ({"run.eval": "sample:0"}, ["run.eval", "sample:3"]),
    ({"run.name": "a/b"}, ["run.name", "a/b"]),
    ({"run.name": ""}, ["run.name"]),
    ({"cluster.nodes": 301}, ["cluster.nodes", "301", "300 samples"]),
    ({"cluster.nodes": 5000000000}, ["cluster.nodes", "5000000000"]),
    ({"cluster.transport": "thread"}, ["cluster.transport", "'threads'"]),
    ({"data.name": "fashion-mnist", "data.path": "/nowhere"}, ["/nowhere", "data.path"]),
    ({"data.name": "mnist"}, ["data.path"]),
    ({"strategy.correction": "d2", "strategy.every": 2}, ["strategy.correction", "strategy.every"]),
    ({"strategy.name": "moshpit", "strategy.grid": "[1,2]"}, ["strategy.grid", "2 cells", "4 nodes"]),
    ({"strategy.name": "hierarchical", "strategy.groups": "[[0,1],[1,2,3]]"}, ["strategy.groups", "node 1 twice"]),
    ({"strategy.name": "hierarchical", "strategy.groups": "[[0,1],[2]]"}, ["strategy.groups", "node 3"]),
    ({"strategy.name": "local-sgd", "strategy.period": "often"}, ["strategy.period", "steps"]),
    ({"strategy.name": "local-sgd", "strategy.period": 6, "strategy.fragments": 7}, ["strategy.fragments = 7", "choose at most 6"]),
    ({"strategy.name": "local-sgd", "strategy.period": 6, "strategy.fragments": 2, "strategy.delay": 3},
     ["strategy.delay = 3", "choose at most 2"]),
    ({"strategy.name": "local-sgd", "strategy.period": '"end"', "strategy.fragments": 2}, ["strategy.period", "strategy.fragments"]),
    ({"strategy.name": "local-sgd", "strategy.correction": "scafold"}, ["strategy.correction", "'scaffold'"]),
    ({"strategy.name": "local-sgd", "strategy.correction": "scaffold", "strategy.fragments": 2},
     ["strategy.correction and strategy.fragments"]),
    ({"strategy.name": "local-sgd", "strategy.outer": "yogi", "strategy.update": "async"}, ["strategy.outer", "strategy.update"]),
    ({"strategy.name": "gossip", "strategy.outer": "nesterov", "strategy.async": "true"}, ["strategy.async and strategy.outer"]),
    ({"strategy.name": "gossip", "strategy.outer": "nesterov", "strategy.outer_pull": 0.5}, ["strategy.outer_pull", "choose 1"]),
    ({"strategy.name": "gossip", "strategy.outer": "nesterov", "compress.codec": "int8"}, ["compress.codec", "strategy.outer"]),
    ({"data.global_batch": 20, "data.accumulate": 2}, ["data.global_batch and data.accumulate", "keep one"]),
    ({"model.name": "quadratic", "data.global_batch": 20}, ["data.global_batch needs a data set", "where its samples are read"]),
    ({"data.global_batch": 3}, ["data.global_batch = 3", "4 nodes", "at least 4"]),
    ({"optimizer.warmup_steps": 3, "optimizer.warmup_epochs": 1}, ["optimizer.warmup_steps and optimizer.warmup_epochs"]),
    ({"strategy.name": "parameter-server", "strategy.servers": 2, "optimizer.name": "muon"},
     ["needs whole layers", "set strategy.servers to 1"]),
    ({"strategy.name": "parameter-server", "strategy.servers": 5}, ["strategy.servers", "4 nodes"]),
    ({"strategy.name": "parameter-server", "strategy.servers": 2, "optimizer.name": "lars"},
     ["needs whole layers", "set strategy.servers to 1"]),
    ({"strategy.name": "parameter-server", "strategy.servers": 4, "strategy.dedicated": "true"}, ["cluster.nodes"]),
    ({"cluster.speed": "[1,2]"}, ["cluster.speed", "2 numbers", "4 nodes"]),
    ({"cluster.mix_every": "[1,2,0,1]"}, ["cluster.mix_every", "at least 1"]),
    ({"data.partition": "classes:11"}, ["data.partition", "classes:11"]),
    ({"data.partition": "idd"}, ["data.partition", "idd", "'iid'"]),
    ({"model.device": "cud"}, ["model.device", "'cuda'"]),
    (QUADRATIC | {"model.device": "cuda"}, ["model.device", "leave the key out"]),
    (QUADRATIC | {"run.epochs": 1}, ["run.epochs", "run.steps"]),
    (QUADRATIC | {"model.b": "[1,2]"}, ["model.b", "2 entries", "4 nodes"]),
    (QUADRATIC | {"model.b": "[1,2,3,nan]"}, ["model.b", "nan"]),
    (QUADRATIC | {"model.b": '[1,2,3,"x"]'}, ["model.b", "numbers"]),
]

# (words after `veche`, what the sentence must hold)
COMMANDS = [
    (["trian"], ["'trian'", "'train'"]),
    (["train", "--jsno"], ["--jsno", "'--json'"]),
    (["train", "--epoch", "1"], ["--epoch", "'--epochs'"]),
    (["train", "--lr", "0.1"], ["--lr", "--set optimizer.lr=.."]),
    (["train", "--learning-rate", "0.1"], ["--learning-rate", "--set"]),
    (["train", "--batch", "8"], ["--batch", "--set data.batch=.."]),
    (["train", "--optimizer", "adam"], ["--set optimizer.name=.."]),
    (["train", "--epochs", "x"], ["run.epochs", "number", '"x"']),
    (["train", "--epochs", "1", "--set", "run.epochs=2"], ["--epochs 1", "--set run.epochs=2", "keep one"]),
    (["train", "--epochs", "1", "--steps", "2"], ["run.epochs", "run.steps"]),
    (["train", "--name", "a/b"], ["run.name", "a/b"]),
    (["grid", "start", "--seeds", "1"], ["`veche grid start`", "'--seed'"]),
    (["train", "--compare", "strategy=allreduce,consensus", "--set", "topology.graph=torus:3x3"],
     ["'allreduce' has 4 nodes", "'consensus' has 9", "--nodes 9"]),
    (["simulate", "--compare", "topology.graph=ring:4,ring:5"], ["'ring:4' has 4 nodes", "'ring:5' has 5"]),
    (["train", "--set", "run.seed=1", "one.toml", "two.toml"], ["one.toml", "two.toml"]),
    (["train", "--set", "run.seed"], ["--set run.seed", "section.key=value"]),
    (["train", "none.toml"], ["none.toml", "cannot be read"]),
    (["train", "."], [".", "cannot be read"]),
    (["train", "one.toml", "two.toml"], ["two.toml"]),
    (["train", "--set", "model=cnn"], ["model=cnn", "section.key=value"]),
    (["train", "--set"], ["--set"]),
    (["train", "--resume", "none"], ["none", "not a run"]),
    (["train", "--resume", "."], ["not a run"]),
    (["model", "lss"], ["lss", "'ls'"]),
]

# (a configuration file, what the sentence must hold)
FILES = [
    ("[run]\nseed = 1\nsteps = = 2\n", ["wrong.toml", "line 3"]),
    ("[run\n", ["wrong.toml", "line 1"]),
    ("seed = 1\n", ["wrong.toml", "seed", "section"]),
    ("[run]\nseeds = 1\n", ["run.seeds", "'run.seed'"]),
    ("[optimiser]\nlr = 1\n", ["[optimiser]", "'optimizer'"]),
    ("[run]\nname = 1979-05-27\n", ["run.name"]),
]


class WrongInput(RunsTest):
    def assert_refused(self, done, parts):
        left = (self.folder / "runs").exists()
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aveche: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse(left, "a folder was left behind")

    def test_settings(self):
        for settings, parts in SETTINGS:
            with self.subTest(**settings):
                self.assert_refused(self.veche("train", *assignments(SMALL, settings)), parts)

    def test_commands(self):
        for words, parts in COMMANDS:
            with self.subTest(words=words):
                self.assert_refused(self.veche(*words), parts)

    def test_files(self):
        for text, parts in FILES:
            with self.subTest(text=text):
                (self.folder / "wrong.toml").write_text(text)
                self.assert_refused(self.veche("train", "wrong.toml"), parts)

    @unittest.skipIf(glob.glob("/dev/nvidia[0-9]*"), "there is a CUDA device")
    def test_no_cuda_device(self):
        done = self.veche("train", *assignments(SMALL, {"model.device": "cuda"}))
        self.assert_refused(done, ["model.device", "no CUDA device", "choose cpu"])

    def test_graph_files(self):
        edges = self.folder / "two.edges"
        edges.write_text("0 1\n2 3\n")
        self.assert_refused(self.veche("train", *assignments(SMALL, {"topology.graph": f"file:{edges}"})),
                            ["not connected", "{0, 1}", "{2, 3}"])
        weights = self.folder / "weights.json"
        weights.write_text('{"nodes": 4, "weights": [[0,0,0.5],[0,1,0.25],[1,1,0.5],[1,2,0.25],[2,2,0.5],[2,3,0.25],'
                           '[3,3,0.5],[0,3,0.1]]}')
        self.assert_refused(self.veche("train", *assignments(SMALL, {"topology.weights": f"file:{weights}"})),
                            ["row", "sum"])

    def test_unwritable_out(self):
        self.assert_refused(self.veche("train", *assignments(SMALL, {"run.out": "/proc/runs"})), ["run.out", "/proc/runs"])

    def test_name_taken(self):
        run = self.train("mine", QUADRATIC)
        before = run.checkpoints()
        done = self.veche("train", *assignments(QUADRATIC, {"run.name": "mine"}))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aveche: run.name = \"mine\" is taken[^\n]*--resume runs/mine[^\n]*\n\Z")
        self.assertEqual(run.checkpoints(), before)

    def test_resume_with_another_model(self):
        self.train("mine", QUADRATIC)
        done = self.veche("train", "--resume", "runs/mine", "--set", "optimizer.lr=1")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aveche: --set optimizer.lr=1 [^\n]+\n\Z")
        for key, why in (("run.seed=9", "would change the run"), ("run.name=other", "would change the run"),
                         ("strategy.every=2", "would change the run"), ("pipeline.micro_batches=2", "would change the run"),
                         ("model.device=cpu", "would change the run"), ("run.stpes=9", "did you mean 'run.steps'?"),
                         ("steps", "section.key=value")):
            done = self.veche("train", "--resume", "runs/mine", "--set", key)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(key.split("=")[0], done.stderr)
            self.assertIn(why, done.stderr)
        done = self.veche("train", "--resume", "runs/mine", "--set", "model.threads=1", "topology.graph=complete",
                          "run.eval_every=7", "cluster.slots=1", "pipeline.schedule=gpipe")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_damaged_data(self):
        data = self.folder / "data"
        shutil.copytree(FASHION, data)
        use = assignments({"data.path": data, "model.name": "mlp"})
        images = data / "train-images-idx3-ubyte.gz"
        whole = images.read_bytes()
        images.write_bytes(whole[: len(whole) // 2])
        self.assert_refused(self.veche("train", *use), [str(images), "truncated"])
        images.unlink()
        self.assert_refused(self.veche("train", *use), [str(images.with_suffix("")), "missing"])
        images.with_suffix("").write_bytes(gzip.decompress(whole)[:-1])
        self.assert_refused(self.veche("train", *use), [str(images.with_suffix("")), "truncated"])


if __name__ == "__main__":
    unittest.main()
