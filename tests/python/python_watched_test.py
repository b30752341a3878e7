"""`veche watch` and `veche report` read the folder of a loop in Python, under way and at its end."""

import csv
import json
import subprocess
import unittest
import urllib.request

import python_loops
from veche_runs import LONGEST, RunsTest, wait_for


class Watched(RunsTest):
    def start_loop(self):
        job = subprocess.Popen(python_loops.command("watched.py", nodes=2), cwd=self.folder, text=True, env=python_loops.environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, job)
        self.assertEqual(job.stdout.readline(), "waiting\n", job.poll())
        return job

    def test_page_and_report(self):
        job = self.start_loop()
        address = self.start("watch", "runs", "--port", 0).stdout.readline().strip()

        def page(what):
            with urllib.request.urlopen(f"{address}api/{what}?run=watched", timeout=LONGEST) as answer:
                return json.load(answer)

        self.assertTrue(wait_for(lambda: page("series")["progress"]["loss"], job, pause=0.05))
        series = page("series")
        self.assertEqual((series["ended"], set(series["progress"]["loss"])), (False, {2.5}))
        self.assertEqual(len(page("now")["nodes"]), 2)

        said = job.communicate("go on\n", timeout=LONGEST)[1]
        self.assertEqual(job.returncode, 0, said)
        wait_for(lambda: page("series")["ended"], pause=0.05)
        series = page("series")
        self.assertEqual(series["measurements"]["step"], [20])
        self.assertAlmostEqual(series["measurements"]["loss"][0], 2.0, delta=1e-6)  # ten steps of 2.5 and ten of 1.5

        done = self.veche("report", "runs/watched", "--csv", "tables")
        self.assertEqual(done.returncode, 0, done.stderr)
        (row,) = csv.DictReader((self.folder / "tables" / "runs.csv").read_text().splitlines())
        self.assertEqual([row[key] for key in ("run", "strategy", "nodes", "steps")], ["watched", "allreduce", "2", "20"])
        self.assertAlmostEqual(float(row["train_loss"]), 2.0, delta=1e-6)
        self.assertIn("watched", (self.folder / "report.html").read_text())


if __name__ == "__main__":
    unittest.main()
