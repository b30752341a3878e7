"""Loops under mpirun: the same cases as under veche.launch, the variables that scripts read, and Ctrl-C. Other launchers."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

import python_loops
import torch
import veche
from veche_runs import LONGEST, RunsTest, wait_for

MPIRUN = os.environ.get("MPIRUN")
CASES = ["sgd_momentum_decay", "adam_decay", "parameter_server", "accumulation_clip_and_scheduler", "parameter_groups",
         "odd_tensors", "unused_on_some", "overlap", "overflow_on_one_node", "state_dict_round_trip", "buffers"]
STRATEGIES = {"consensus": {"strategy.name": "consensus"}, "gossip": {"strategy.name": "gossip"},
              "int8": {"strategy.name": "consensus", "compress.codec": "int8"},
              "local-sgd": {"strategy.name": "local-sgd", "strategy.period": 5}}
PLACE = """
import os, veche
veche.rank()
print(*(os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")), flush=True)
"""


@unittest.skipUnless(MPIRUN, "no mpirun")
class Mpirun(RunsTest):
    def test_all_reduce_is_one_learner(self):
        distances = python_loops.numbers("equal.py", *CASES, nodes=2, mpirun=MPIRUN, folder=self.folder)
        self.assertEqual(sorted(distances), sorted(CASES))
        for name, distance in distances.items():
            with self.subTest(name):
                self.assertLess(distance, 1e-6)

    def test_strategies_are_those_of_the_engine(self):
        found = python_loops.numbers("quadratic.py", json.dumps(STRATEGIES), nodes=4, mpirun=MPIRUN, folder=self.folder)
        for name, keys in STRATEGIES.items():
            built_in = {"model.name": "quadratic", "model.a": [1, 2, 3, 4], "model.b": [4, 3, 2, 1], "model.x0": 0.0,
                        "optimizer.name": "sgd", "optimizer.lr": 0.05, "optimizer.momentum": 0.5, "cluster.nodes": 4, "run.steps": 20}
            expected = veche.train({}, set={**built_in, **keys}, keep=False, progress=False).parameters
            for mine, (theirs,) in zip(found[f"{name} sgd"], expected, strict=True):
                with self.subTest(name):
                    self.assertAlmostEqual(mine, float(theirs), delta=1e-6)

    def test_variables(self):
        done = subprocess.run([*MPIRUN.split(), "-np", "2", "--tag-output", sys.executable, "-B", "-c", PLACE], cwd=self.folder,
                              env=python_loops.environment(), capture_output=True, text=True, timeout=LONGEST,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(re.findall(r">:?(.*)", done.stdout)), ["0 2 0 2", "1 2 1 2"])

    def test_ctrl_c_saves(self):
        # Open MPI kills what has not ended a second after Ctrl-C: too soon on a busy machine.
        patient = python_loops.environment(OMPI_MCA_odls_base_sigkill_timeout="20")
        words = ["--hang-at", 13]
        job = subprocess.Popen(python_loops.command("resumed.py", *words, nodes=2, mpirun=MPIRUN), cwd=self.folder, text=True,
                               env=patient, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, job)
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "waiting\n", job.poll())
        checkpoint = self.folder / "runs" / "loop" / "checkpoint"
        wait_for(lambda: (checkpoint / "step-10").is_dir(), job)
        job.send_signal(signal.SIGINT)
        said = job.communicate(timeout=LONGEST)[1]
        self.assertNotEqual(job.returncode, 0)
        self.assertTrue((checkpoint / "step-13").is_dir(), said)
        python_loops.run("resumed.py", "--resume", "runs/loop", nodes=2, mpirun=MPIRUN, folder=self.folder)
        ends = [torch.load(self.folder / f"end-{rank}.pt") for rank in range(2)]
        self.assertEqual([(end["steps"], len(end["batches"])) for end in ends], [(21, 21 - 13)] * 2)


class Others(RunsTest):
    def test_torchrun(self):
        """Its processes do not train alone in silence."""
        others = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        done = subprocess.run([sys.executable, "-B", "-c", PLACE], cwd=self.folder, env=python_loops.environment(**others),
                              capture_output=True, text=True, timeout=LONGEST)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"RequestError: WORLD_SIZE = 4 .* `python3 -m veche\.launch -n 4`, or with mpirun")


if __name__ == "__main__":
    unittest.main()
