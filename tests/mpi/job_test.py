"""Real jobs under mpirun: the same bytes as threads, several nodes a rank, other numbers of nodes, ranks that die."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

from jobs import MPIRUN, Jobs  # and the way to what the process tests share
import at_once
from veche_runs import LONGEST, QUADRATIC, SMALL, VECHE, assignments, is_whole, wait_for

MPICH = "mpich" in MPIRUN[0]
KILLS = int(os.environ.get("KILLS", "1" if MPICH else "3"))  # the engine is the same over both
PROMPTLY = 30  # seconds for a job to end when a rank was killed, on a busy machine; else it would be minutes or never


class SameRun(Jobs):
    def test_the_bytes_of_threads_whatever_the_ranks(self):
        steps = {"run.steps": 12, "run.checkpoint_every": 6, "cluster.nodes": 4}
        alone = self.train("threads", SMALL, steps)
        for ranks in (1, 3, 4):
            job = self.train_job(ranks, f"ranks{ranks}", SMALL, steps)
            self.assert_same_run(alone, job, f"{ranks} ranks")

    def test_many_nodes_in_each_process(self):
        job = self.train_job(4, "many", SMALL, {"cluster.nodes": 32, "run.steps": 4})
        self.assertEqual(job.summary()["nodes"], 32)
        self.assertEqual(len(job.checkpoint_files(4)), 32)
        self.assertTrue(all(is_whole(file) for file in job.checkpoint_files(4)))

    def test_as_many_nodes_as_ranks_when_nothing_is_said(self):
        job = self.train_job(3, "three", SMALL, {"run.steps": 2, "strategy.name": "allreduce"})
        self.assertEqual(job.summary()["nodes"], 3)

    def test_progress_and_table_come_once(self):
        done = self.mpirun(2, "train", "--json", *assignments(QUADRATIC, {"run.steps": 5}))
        self.assertEqual(done.stdout.count('"run"'), 1, done.stdout)
        self.assertEqual(done.stderr.count("disagreement"), 1, done.stderr)


    def test_a_comparison_runs_on_all_ranks_and_is_told_by_the_first(self):
        done = self.mpirun(2, "train", "--json", "--compare", "strategy=consensus,allreduce,local-sgd:4", "--repeat", "2",
                           *assignments(SMALL, {"run.steps": 8}))
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual([line["variant"] for line in answer["comparison"]], ["consensus", "allreduce", "local-sgd:4"])
        self.assertEqual([run["nodes"] for run in answer["runs"]], [2] * 6)
        self.assertEqual(done.stderr.count("averaged model  "), 1, done.stderr)
        kept, = (self.folder / "runs").glob("compare-*")
        self.assertEqual(len([path for path in kept.iterdir() if path.is_dir()]), 6)
        wrong = self.mpirun(2, "train", "--compare", "strategy=consensus,alreduce", *assignments(SMALL))
        self.assertEqual(wrong.returncode, 2)
        self.assertEqual(wrong.stderr.count("veche: "), 1, wrong.stderr)


STAGES = SMALL | {"model.hidden": "[32,24,16]", "strategy.name": "allreduce", "cluster.nodes": 4, "pipeline.stages": 2,
                  "pipeline.micro_batches": 4, "pipeline.cut": "layers"}


class Stages(Jobs):
    def test_the_bytes_of_threads_whatever_the_ranks(self):
        steps = {"run.steps": 12, "run.checkpoint_every": 6}
        alone = self.train("threads", STAGES, steps)
        for ranks in (2, 3, 4):
            job = self.train_job(ranks, f"ranks{ranks}", STAGES, steps, {"run.trace": "true"})
            self.assert_same_run(alone, job, f"{ranks} ranks")
            events = json.loads((job.path / "trace.json").read_text())["traceEvents"]
            self.assertEqual({event["pid"] for event in events}, {0, 1, 2, 3})

    def test_all_ranks_cut_where_the_first_has_measured(self):
        job = self.train_job(2, "measured", STAGES, {"pipeline.cut": "time", "run.steps": 4, "cluster.nodes": 2})
        self.assertRegex((job.path / "config.toml").read_text(), r"cut = \[[123]\]")
        self.assertEqual(job.summary()["replicas"], 1)

    def test_a_killed_stage_ends_the_job_and_is_named(self):
        job = self.start_job(2, "train", *assignments(STAGES, {"run.steps": 10**7, "run.name": "killed", "cluster.nodes": 2}))
        wait_for(lambda: (self.run_path("killed").path / "config.toml").exists() and len(self.ranks_of(job)) == 2, job)
        os.kill(self.ranks_of(job)[1], signal.SIGKILL)
        job.wait(PROMPTLY)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(job.stderr.read(), r"(?i)rank|node|process")


class OtherNumbers(Jobs):
    def test_a_run_goes_on_with_more_and_with_fewer_nodes(self):
        steps = {"run.steps": 20, "cluster.nodes": 2, "strategy.name": "allreduce", "optimizer.name": "sgd"}
        run = self.train_job(2, "run", SMALL, steps)
        for ranks, nodes, until in ((4, 4, 25), (1, 3, 30)):
            done = self.mpirun(ranks, "train", "--resume", run.path, "--set", f"cluster.nodes={nodes}",
                               "--set", f"run.steps={until}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("averaged model", done.stderr)
            self.assertIn(f"{nodes} continue", done.stderr)
            self.assertEqual(run.summary()["nodes"], nodes)
            self.assertEqual(run.steps()[-1], until)
            self.assertEqual(len(run.checkpoint_files(until)), nodes)

    def test_nodes_that_are_equal_go_on_where_they_were(self):
        # All nodes have the same problem and the same place, so their average is that place: the path of one learner.
        same = {"model.name": "quadratic", "optimizer.name": "sgd", "optimizer.lr": 0.05, "strategy.name": "allreduce",
                "run.steps": 10}
        ones = lambda n: {"model.a": [1] * n, "model.b": [1] * n, "cluster.nodes": n}
        run = self.train("equal", same, ones(2))
        config = run.path / "config.toml"
        config.write_text(config.read_text().replace("[1, 1]", "[1, 1, 1]"))
        done = self.veche("train", "--quiet", "--resume", run.path, "--set", "cluster.nodes=3", "--set", "run.steps=20")
        self.assertEqual(done.returncode, 0, done.stderr)
        for x, in run.summary()["parameters"]:
            self.assertAlmostEqual(x, 1 - 0.95**20, places=5)


class Wrong(Jobs):
    def test_one_sentence_for_all_ranks(self):
        for settings, words in (({"model.nam": "cnn"}, "model.name"),
                                ({"cluster.nodes": 2}, "1 of the 3 ranks"),
                                ({"cluster.transport": "threads"}, "3 ranks")):
            done = self.mpirun(3, "train", *assignments(SMALL, settings))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("veche: "), 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "runs").exists())

    def test_without_a_launcher(self):
        done = self.veche("train", *assignments(SMALL, {"cluster.transport": "mpi"}))
        self.assertEqual(done.returncode, 2)
        self.assertIn("mpirun -np 4 veche train", done.stderr)

    def test_a_failure_under_way_names_rank_and_host(self):
        done = self.mpirun(3, "train", "--quiet", *assignments(
            QUADRATIC, {"model.a": [1, 1, 1e9], "model.b": [0, 0, 1], "optimizer.name": "sgd", "optimizer.lr": 10,
                        "strategy.name": "none", "run.steps": 100000, "run.checkpoint_every": 1, "run.name": "bad"}))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"veche: rank \d on \S+: ")
        self.assertIn("mpirun -np 3 veche train --resume runs/bad", done.stderr)


class Stops(Jobs):
    def test_what_the_launcher_is_asked_to_stop_is_saved(self):
        # Open MPI kills what has not ended a second after Ctrl-C: too soon on a busy machine.
        patient = {**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "20"}
        for kind in (signal.SIGINT, signal.SIGUSR1):
            name = f"stopped-{kind.name}"
            job = self.start_job(3, "train", "--quiet", *assignments(
                SMALL, {"run.name": name, "run.steps": 10_000_000, "run.checkpoint_every": 50}), env=patient)
            run = self.run_path(name)
            self.assertTrue(wait_for(lambda: list((run.path / "checkpoint").glob("*")), job))
            job.send_signal(kind)
            told = job.communicate(timeout=LONGEST)[1]
            self.assertNotEqual(job.returncode, 0)
            self.assertRegex(told, rf"Stopped after step \d+ of 10000000, saved. Go on with:\n  mpirun -np 3 .*runs/{name}\n")
            last = int(re.search(r"after step (\d+)", told)[1])
            self.assertTrue(all(is_whole(file) for file in run.checkpoint_files(last)))
            done = self.mpirun(3, "train", "--quiet", "--resume", run.path, "--set", f"run.steps={last + 3}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run.steps()[-1], last + 3)


class Deaths(Jobs):
    def killed_and_resumed(self, attempt):
        chance = random.Random(f"{os.environ.get('SEED', '7')} {attempt}")
        strategy = ["consensus", "allreduce", "local-sgd"][attempt % 3]
        name = f"killed{attempt}"
        words = assignments(SMALL, {"run.name": name, "run.steps": 10_000_000, "run.checkpoint_every": 5,
                                    "strategy.name": strategy})
        with open(self.folder / "errors", "w+") as errors:
            job = subprocess.Popen([*MPIRUN, "-np", "3", VECHE, "train", "--quiet", *words], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
            self.addCleanup(self.end, job)
            run = self.run_path(name)
            self.assertTrue(wait_for(run.steps, job), f"{name} ended before it saved anything")
            time.sleep(chance.random() / 2)
            ranks = self.ranks_of(job)
            self.assertEqual(len(ranks), 3)
            os.kill(chance.choice(ranks), signal.SIGKILL)
            start = time.monotonic()
            self.assertNotEqual(job.wait(timeout=LONGEST), 0)
            self.assertLess(time.monotonic() - start, PROMPTLY)
            errors.seek(0)
            told = errors.read()
        if MPICH:  # its launcher and its libraries may end all ranks before one could tell; they name it themselves
            self.assertRegex(told, r"veche: (rank \d on \S+ is gone|.* a rank was killed or crashed)")
            self.assertRegex(told, r"rank \d on|PID \d+ RUNNING AT \S+|\[\S+:\d+:\d+:\d+\]")
        else:
            self.assertRegex(told, r"veche: rank \d on \S+ is gone")
        self.assertRegex(told, rf"Saved after step \d+. Go on with:\n  mpirun -np 3 veche train --resume \S*runs/{name}\n")
        self.assertTrue(wait_for(lambda: not [r for r in ranks if pathlib.Path(f"/proc/{r}/exe").exists()]))
        last = run.steps()[-1]
        self.assertTrue(all(is_whole(file) for file in run.checkpoint_files(last)))
        done = self.mpirun(3, "train", "--quiet", "--resume", run.path, "--set", f"run.steps={last + 3}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run.steps()[-1], last + 3)


for each in range(KILLS):
    setattr(Deaths, f"test_a_killed_rank_ends_the_job_and_the_run_goes_on_{each}", lambda test, each=each: test.killed_and_resumed(each))

if __name__ == "__main__":
    at_once.main(1 if MPICH else 2)  # of launching and ending jobs most is waiting; MPICH's ranks never sleep
