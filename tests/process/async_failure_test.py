"""Asynchronous runs: what fails beside the nodes ends the run with its cause, and a resumed run goes on where it was."""

import json
import math
import os
import signal
import subprocess
import unittest
import zlib

from veche_runs import LONGEST, SMALL, RunsTest, assignments, wait_for

STRATEGIES = {
    "gossip": {"strategy.name": "gossip", "strategy.async": "true"},
    "local": {"strategy.name": "local-sgd", "strategy.update": "async"},
    "server": {"strategy.name": "parameter-server", "strategy.update": "async"},
    "in step": {"strategy.name": "consensus"},
}
SERVER = {"model.name": "quadratic", "optimizer.name": "sgd", "strategy.name": "parameter-server",
          "strategy.update": "async", "cluster.work": "equal"}


def let_nothing_be_renamed(folder):
    """In there: files can still be made, so that nodes save themselves and only the commit fails. Returns what undoes it."""
    if os.geteuid() == 0:
        subprocess.run(["chattr", "+a", folder], check=True)
        return lambda: subprocess.run(["chattr", "-a", folder], check=True)
    folder.chmod(0o500)
    return lambda: folder.chmod(0o700)


def png(seed):
    """A grey image of 8x8 pixels."""
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    rows = b"".join(b"\0" + bytes((seed * 7 + y * 8 + x * x) % 256 for x in range(8)) for y in range(8))
    header = (8).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Failures(RunsTest):
    def failed(self, process):
        """The one sentence on standard error of a process that ends by itself."""
        words = process.communicate(timeout=LONGEST)[1]
        self.assertEqual(process.returncode, 1, words)
        sentences = [line for line in words.splitlines() if line.startswith("veche: ")]
        self.assertEqual(len(sentences), 1, words)
        return sentences[0]

    def test_a_damaged_test_sample(self):
        images = self.folder / "images"
        for split, count in (("train", 40), ("test", 20)):
            for label in ("a", "b"):
                (images / split / label).mkdir(parents=True)
                for i in range(count):
                    (images / split / label / f"{i}.png").write_bytes(png(i if split == "train" else 100 + i))
        packed = self.folder / "packed"
        done = self.veche("data", "pack", images, packed)
        self.assertEqual(done.returncode, 0, done.stderr)
        flipped = 0
        for file in packed.rglob("*"):
            content = bytearray(file.read_bytes()) if file.is_file() else b""
            at = content.rfind(png(119))  # the last of a class of the test set
            if at >= 0:
                content[at + 60] ^= 1
                file.write_bytes(content)
                flipped += 1
        self.assertEqual(flipped, 1)
        for name, settings in STRATEGIES.items():
            with self.subTest(name):
                process = self.start("train", "-q", *assignments(
                    settings, {"model.name": "mlp", "model.hidden": "[32]", "data.path": packed, "data.batch": 5,
                               "run.steps": 100000, "run.eval_every": 20}))
                self.assertIn("19.png' has a bad checksum", self.failed(process))

    def test_a_checkpoint_that_cannot_be_committed(self):
        for name, settings in STRATEGIES.items():
            with self.subTest(name):
                run = self.run_path(name.replace(" ", "-"))
                process = self.start("train", "-q", *assignments(
                    SMALL, settings, {"run.name": run.path.name, "run.steps": 100000000, "run.checkpoint_every": 50}))
                wait_for(run.steps, process)
                undo = let_nothing_be_renamed(run.path / "checkpoint")
                try:
                    self.assertIn("checkpoint", self.failed(process))
                finally:
                    undo()

    def test_terminated_while_a_slow_node_rests(self):
        for name in ("gossip", "in step"):
            with self.subTest(name):
                run = self.run_path("slow-" + name.replace(" ", "-"))
                process = self.start("train", "-q", *assignments(
                    SMALL, STRATEGIES[name],
                    {"run.name": run.path.name, "run.steps": 100000, "cluster.nodes": 2, "cluster.speed": "[1,0.00001]",
                     "cluster.train_every": 1, "data.partition": "iid"}))
                wait_for(lambda: (run.path / "layout.json").exists(), process)
                try:
                    process.wait(1)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGTERM)
                words = process.communicate(timeout=LONGEST)[1]
                self.assertEqual(process.returncode, 130, words)
                self.assertIn(f"Stopped after step {run.steps()[-1]} ", words)


class Resumption(RunsTest):
    def parameters(self, name, settings):
        done = self.veche("train", "-q", "--json", *assignments(SERVER, settings, {"run.name": name}))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["parameters"]

    def resumed(self, name, after):
        """What a run ends with that is resumed from its first checkpoint."""
        run = self.run_path(name)
        for step in run.steps()[1:]:
            for file in run.checkpoint_files(step):
                file.unlink()
            (run.path / "checkpoint" / f"step-{step}").rmdir()
        self.assertLess(run.steps()[0], after)
        (run.path / "summary.json").unlink()
        done = self.veche("train", "-q", "--json", "--resume", run.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["parameters"]

    def test_the_schedule_goes_on(self):
        expected = 1.0
        for step in range(1000):
            expected *= 1 - 0.01 * (1 + math.cos(math.pi * step / 1000)) / 2
        self.assertAlmostEqual(expected, 0.00658, 4)
        for name, settings in {"async": {}, "ssp": {"strategy.update": "ssp", "strategy.staleness": 2}}.items():
            with self.subTest(name):
                whole = self.parameters(name, settings | {
                    "model.a": "[1]", "model.b": "[0]", "model.x0": 1, "cluster.nodes": 1, "optimizer.lr": 0.01,
                    "optimizer.schedule": "cosine", "run.steps": 1000, "run.checkpoint_every": 500})
                self.assertAlmostEqual(whole[0][0], expected, 5)
                self.assertAlmostEqual(self.resumed(name, 1000)[0][0], expected, 5)

    def test_bias_correction_goes_on(self):
        settings = {"model.a": "[1]", "model.b": "[0]", "model.x0": 1, "cluster.nodes": 1, "optimizer.lr": 0.001,
                    "optimizer.name": "adam", "run.steps": 300, "run.checkpoint_every": 100}
        whole = self.parameters("adam", settings)
        self.assertAlmostEqual(self.resumed("adam", 300)[0][0], whole[0][0], 6)

    def test_a_dedicated_server_keeps_the_schedule_and_does_not_train(self):
        settings = {"model.a": "[5,1]", "model.b": "[100,0]", "model.x0": 1, "cluster.nodes": 2, "optimizer.lr": 0.1,
                    "optimizer.schedule": "multi-step", "optimizer.milestones": "[50]", "optimizer.gamma": 0,
                    "run.steps": 200, "strategy.dedicated": "true"}
        for update in ("async", "sync"):
            with self.subTest(update):
                for x, in self.parameters(f"dedicated-{update}", settings | {"strategy.update": update}):
                    self.assertAlmostEqual(x, 0.9 ** 50, 6)

    def test_an_interrupted_run_exports_what_was_trained(self):
        run = self.run_path("export")
        process = self.start("train", "-q", *assignments(
            SMALL, STRATEGIES["server"], {"run.name": "export", "run.steps": 100000000, "cluster.nodes": 2,
                                          "strategy.dedicated": "true", "run.checkpoint_every": 50}))
        wait_for(run.steps, process)
        process.send_signal(signal.SIGINT)
        words = process.communicate(timeout=LONGEST)[1]
        self.assertEqual(process.returncode, 130, words)
        self.assertIn(f"Stopped after step {run.steps()[-1]} ", words)
        weights = {}
        for name, node in (("average", ()), ("trained", ("--node", 1)), ("server", ("--node", 0))):
            done = self.veche("model", "export", run.path, f"{name}.safetensors", *node)
            self.assertEqual(done.returncode, 0, done.stderr)
            content = (self.folder / f"{name}.safetensors").read_bytes()
            weights[name] = content[8 + int.from_bytes(content[:8], "little"):]
        self.assertEqual(weights["average"], weights["trained"])
        self.assertNotEqual(weights["average"], weights["server"])


if __name__ == "__main__":
    unittest.main()
