"""Runs whose nodes wait for nobody: interrupted, killed and resumed they keep the steps of every node; measuring and
saving do not stop them."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import unittest

from veche_runs import LONGEST, SMALL, RunsTest, assignments, is_whole, wait_for

MOMENTS = random.Random(int(os.environ.get("VECHE_TEST_SEED", random.SystemRandom().randrange(10**6))))
STRATEGIES = {
    "server": {"strategy.name": "parameter-server", "strategy.update": "async", "strategy.servers": 2},
    "dedicated": {"strategy.name": "parameter-server", "strategy.update": "async", "strategy.dedicated": "true"},
    "ssp": {"strategy.name": "parameter-server", "strategy.update": "ssp", "strategy.staleness": 3},
    "local": {"strategy.name": "local-sgd", "strategy.update": "async", "strategy.period": 4},
    "gossip": {"strategy.name": "gossip", "strategy.async": "true"},
    "consensus": {"strategy.name": "consensus", "strategy.async": "true"},
    "hogwild": {"strategy.name": "hogwild"},
}
LONG = SMALL | {"run.steps": 100000, "run.checkpoint_every": 40, "run.eval_every": 60, "optimizer.name": "sgd",
                "cluster.speed": "[1,1,1,0.3]"}


class AsyncRuns(RunsTest):
    def saved_steps(self, run):
        """Of every node, from the newest checkpoint: the header holds them after magic, node and nodes."""
        return [int.from_bytes(file.read_bytes()[16:24], "little") for file in run.checkpoint_files(run.steps()[-1])]

    def stop(self, name, settings, with_signal):
        process = self.start("train", "-q", *assignments(LONG | settings, {"run.name": name}))
        run = self.run_path(name)
        wait_for(lambda: len(run.steps()) > 1, process)
        wait_for(lambda: (run.path / "metrics.jsonl").exists() and run.metrics(), process)
        try:
            process.wait(MOMENTS.uniform(0, 0.1))
        except subprocess.TimeoutExpired:
            process.send_signal(with_signal)
        return run, process.wait(LONGEST), process.stderr.read()

    def test_stopped_and_resumed(self):
        for name, settings in STRATEGIES.items():
            for number, expected in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
                with self.subTest(name, signal=number):
                    run, code, words = self.stop(f"{name}-{number}", settings, number)
                    self.assertEqual(code, expected, words)
                    if number == signal.SIGINT:
                        self.assertIn(f"veche train --resume runs/{run.path.name}", words)
                    before = self.saved_steps(run)
                    self.assertTrue(all(is_whole(file) for file in run.checkpoint_files(run.steps()[-1])))
                    longer = run.steps()[-1] + 30
                    done = self.veche("train", "-q", "--resume", run.path, "--set", f"run.steps={longer}")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    summary = json.loads((run.path / "summary.json").read_text())
                    self.assertEqual(summary["stopped"], "steps")
                    after = [node["steps"] for node in summary["per_node"]]
                    self.assertTrue(all(b <= a for b, a in zip(before, after)), (before, after))
                    self.assertGreater(sum(after), sum(before))
                    self.assertEqual(list(run.path.glob("checkpoint/unfinished-*")), [])
                    shutil.rmtree(run.path)

    def test_what_a_run_tells(self):
        settings = SMALL | STRATEGIES["server"] | {"run.steps": 200, "run.eval_every": 50, "run.eval": "all",
                                                   "cluster.speed": "[1,1,1,0.2]", "cluster.lose": 0.1}
        run = self.train("told", settings)
        summary = json.loads((run.path / "summary.json").read_text())
        steps = [node["steps"] for node in summary["per_node"]]
        self.assertGreaterEqual(sum(steps), 800)
        self.assertLess(steps[3], min(steps[:3]))
        lost = sum(node.get("lost_results", 0) for node in summary["per_node"])
        self.assertGreater(lost, 0)
        staleness = summary["staleness"]
        self.assertEqual(sum(bin["count"] for bin in staleness["histogram"]), staleness["applied"])
        self.assertEqual(staleness["applied"], 2 * (sum(steps) - lost))  # on each of two servers
        for node in summary["per_node"]:
            for key in ("compute_seconds", "waiting_seconds", "communication_seconds"):
                self.assertGreaterEqual(node[key], 0)
        self.assertGreater(summary["updates_per_second"], 0)
        lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
        self.assertGreater(len(lines), 1)
        self.assertTrue(all("accuracy" in line["average_model"] for line in lines))

    def test_a_target_ends_it(self):
        run = self.train("target", SMALL | STRATEGIES["gossip"] | {"run.epochs": 200, "run.eval_every": 20,
                                                                   "run.target_accuracy": 0.5})
        summary = run.summary()
        self.assertEqual(summary["stopped"], "target_accuracy")


if __name__ == "__main__":
    sys.exit(unittest.main())
