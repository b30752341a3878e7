"""What the tests of whole jobs share: starting them under mpirun and looking at their ranks."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "process"))
from veche_runs import LONGEST, VECHE, RunsTest, assignments

MPIRUN = os.environ["MPIRUN"].split()


class Jobs(RunsTest):
    def mpirun(self, ranks, *words):
        return subprocess.run([*MPIRUN, "-np", str(ranks), VECHE, *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True, timeout=2 * LONGEST, stdin=subprocess.DEVNULL)

    def start_job(self, ranks, *words, **options):
        job = subprocess.Popen([*MPIRUN, "-np", str(ranks), VECHE, *map(str, words)], cwd=self.folder,
                               stdin=subprocess.DEVNULL,
                               **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **options})
        self.addCleanup(self.end, job)
        return job

    def train_job(self, ranks, name, *settings, expect=0):
        done = self.mpirun(ranks, "train", "--quiet", *assignments(*settings, {"run.name": name}))
        self.assertEqual(done.returncode, expect, done.stderr)
        return self.run_path(name)

    @staticmethod
    def ranks_of(job):
        """The veche processes below the launcher."""
        found, waiting = [], [job.pid]
        while waiting:
            pid = waiting.pop()
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                for child in map(int, task.read_text().split()):
                    try:
                        is_rank = os.path.samefile(f"/proc/{child}/exe", VECHE)
                    except OSError:
                        is_rank = False
                    (found if is_rank else waiting).append(child)  # what a rank starts is none
        return sorted(set(found))
