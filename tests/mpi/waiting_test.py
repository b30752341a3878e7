"""Ranks that wait take no core: one is stopped for some seconds, and the others' processor time is counted."""

import os
import pathlib
import signal
import time
import unittest

from jobs import Jobs
from veche_runs import SMALL, assignments, wait_for

SECONDS = 2
PART = 0.2  # of a core; polling for messages without pause takes all of it


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Waiting(Jobs):
    def test_no_core_is_taken(self):
        for strategy in ("consensus", "allreduce"):
            name = f"waits-{strategy}"
            job = self.start_job(4, "train", "--quiet", *assignments(
                SMALL, {"run.name": name, "run.steps": 10_000_000, "run.checkpoint_every": 50, "strategy.name": strategy}))
            run = self.run_path(name)
            self.assertTrue(wait_for(run.steps, job))
            ranks = self.ranks_of(job)
            self.assertEqual(len(ranks), 4)
            for stopped in (ranks[0], ranks[-1]):
                os.kill(stopped, signal.SIGSTOP)
                waiting = [rank for rank in ranks if rank != stopped]
                start, before = time.monotonic(), {rank: processor_seconds(rank) for rank in waiting}
                time.sleep(SECONDS)  # what is measured: little is left to do in the beginning
                took = time.monotonic() - start
                used = [(processor_seconds(rank) - before[rank]) / took for rank in waiting]
                saved = run.steps()[-1]
                os.kill(stopped, signal.SIGCONT)
                print(f"{strategy}: rank {ranks.index(stopped)} stopped, the others take "
                      + ", ".join(f"{100 * part:.1f} %" for part in used) + " of a core", flush=True)
                self.assertLess(max(used), PART, strategy)
                self.assertTrue(wait_for(lambda: run.steps()[-1] > saved, job), "it does not go on")
            job.terminate()
            job.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
