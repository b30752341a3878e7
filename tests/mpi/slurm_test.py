"""Under srun, in a Slurm of its own on this machine: both ways to start MPI, the signal before the end, tasks without MPI."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "process"))
from veche_runs import LONGEST, QUADRATIC, SMALL, VECHE, RunsTest, assignments, wait_for

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "scancel", "squeue", "sinfo")
CONFIGURATION = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmctldPort={port}
SlurmdPort={other_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# The mean of the ranks, by one step from 0.
LOOP = """
import os, torch, veche
x = torch.nn.Parameter(torch.zeros(1))
opt = veche.Optimizer(torch.optim.SGD([x], lr=1.0), strategy="allreduce", keep=False)
(x * -veche.rank()).sum().backward()
opt.step()
opt.finish()
assert veche.rank() == int(os.environ["RANK"]) and veche.size() == int(os.environ["WORLD_SIZE"])
print(f"{veche.rank()} of {veche.size()}: {x.item()}")
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slurm(RunsTest):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="veche-slurm-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)  # munge refuses others
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=folder, host=socket.gethostname().split(".")[0], port=free_port(), other_port=free_port()))
        cls.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        cls.daemon(folder, "munged.pid", "munged", "--force", f"--key-file={folder}/munge.key",
                   f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
                   f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        cls.daemon(folder, "slurmctld.pid", "slurmctld")
        cls.daemon(folder, "slurmd.pid", "slurmd")
        idle = lambda: "idle" in subprocess.run(["sinfo", "-h"], env=cls.environment, capture_output=True, text=True).stdout
        if not wait_for(idle):
            raise RuntimeError("Slurm did not start: " + (folder / "slurmctld.log").read_text()[-500:])

    @classmethod
    def daemon(cls, folder, pid_file, *words):
        subprocess.run(words, env=cls.environment, check=True, capture_output=True, timeout=LONGEST)
        pid = lambda: (folder / pid_file).exists() and (folder / pid_file).read_text().strip()
        if not wait_for(pid):
            raise RuntimeError(f"{words[0]} did not start")
        number = int(pid())

        def stop():
            os.kill(number, signal.SIGTERM)
            wait_for(lambda: not pathlib.Path(f"/proc/{number}/exe").exists())
        cls.addClassCleanup(stop)

    def srun(self, *words):
        return subprocess.run(["srun", *map(str, words)], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=LONGEST, stdin=subprocess.DEVNULL)

    def test_the_result_of_threads(self):
        words = ["train", "--quiet", "--json", *assignments(QUADRATIC, {"run.steps": 20})]
        alone = json.loads(self.veche(*words).stdout)
        for way in ("pmix", "pmi2"):
            done = self.srun("-n", 4, f"--mpi={way}", VECHE, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["parameters"], alone["parameters"], way)

    @unittest.skipUnless("PYTHON_PACKAGE" in os.environ, "built without the Python package")
    def test_a_loop_in_python(self):
        (self.folder / "train.py").write_text(LOOP)
        python = [sys.executable, "-B", "train.py"]
        self.environment["PYTHONPATH"] = os.environ["PYTHON_PACKAGE"]
        for way in ("pmix", "pmi2"):
            done = self.srun("-n", 3, f"--mpi={way}", *python)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(done.stdout.splitlines()), [f"{rank} of 3: 1.0" for rank in range(3)], way)
        done = self.srun("-n", 2, *python)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertIn("RequestError: srun started 2 tasks that know nothing of each other: use srun --mpi=pmix", done.stderr)

    def test_tasks_without_mpi_are_refused(self):
        done = self.srun("-n", 2, VECHE, "train", *assignments(SMALL))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--mpi=pmix", done.stderr)
        self.assertFalse((self.folder / "runs").exists())
        alone = self.srun("-n", 2, VECHE, "train", "--quiet",
                          *assignments(QUADRATIC, {"run.steps": 5, "cluster.transport": "threads"}))
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 2)

    def test_the_signal_before_the_end_saves(self):
        job = subprocess.Popen(["srun", "-n", "3", "--mpi=pmix", VECHE, "train", "--quiet", *assignments(
            SMALL, {"run.name": "long", "run.steps": 10_000_000, "run.checkpoint_every": 20})], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, job)
        run = self.run_path("long")
        self.assertTrue(wait_for(lambda: list((run.path / "checkpoint").glob("*")), job))
        number = subprocess.run(["squeue", "-h", "-o", "%A"], env=self.environment, capture_output=True, text=True).stdout
        subprocess.run(["scancel", "--signal=USR1", number.split()[0]], env=self.environment, check=True)
        told = job.communicate(timeout=LONGEST)[1]
        self.assertRegex(told, r"saved. Go on with:\n  srun --mpi=pmix -n 3 veche train --resume \S*runs/long\n")
        last = int(re.search(r"after step (\d+)", told)[1])
        done = self.srun("-n", 3, "--mpi=pmix", VECHE, "train", "--quiet", "--resume", run.path, "--set", f"run.steps={last + 3}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run.steps()[-1], last + 3)


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        print("a Slurm of one's own needs root and " + (", ".join(missing) or "nothing else"))
        sys.exit(77)
    unittest.main()
