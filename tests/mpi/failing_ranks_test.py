"""One rank of a job fails alone, wherever the others are: all end soon, with its cause, and with its exit code."""

import os
import re
import subprocess
import time
import unittest

from jobs import MPIRUN

PROGRAM = os.environ["FAILING_RANKS"]
PROMPTLY = 30  # seconds on a busy machine; what the ranks wait for would take a thousand


def run(way, ranks=3):
    start = time.monotonic()
    with subprocess.Popen([*MPIRUN, "-np", str(ranks), PROGRAM, way], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        try:
            told = job.communicate(timeout=4 * PROMPTLY)[1]
        except subprocess.TimeoutExpired:
            job.terminate()
            try:
                told = job.communicate(timeout=10)[1]
            except subprocess.TimeoutExpired:
                job.kill()
                raise
            raise AssertionError(f"{way} hangs: {told}")
    return job.returncode, told, time.monotonic() - start


class FailingRanks(unittest.TestCase):
    def check(self, way, code, sentence, ranks=3, everybody=True):
        with self.subTest(way=way, ranks=ranks):
            returned, told, seconds = run(way, ranks)
            self.assertLess(seconds, PROMPTLY, told)
            self.assertEqual(returned, code, told)
            ended = re.findall(r"rank (\d) ends: (.*)", told)
            self.assertIn("0", [rank for rank, _ in ended], told)
            for rank, words in ended:
                self.assertRegex(words, sentence)
            if everybody:
                self.assertEqual(sorted(int(rank) for rank, _ in ended), list(range(ranks)), told)

    def test_the_others_end_with_the_cause_of_the_first(self):
        names = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
        ways = [name for name in names if name.startswith("others-")]
        self.assertGreater(len(ways), 8)
        for way in ways:
            self.check(way, 2, r"^rank 0 on \S+: the cause$")

    def test_a_sum_to_which_nobody_comes_ends_at_its_deadline(self):
        for ranks in (2, 3):
            for way in ("absent-from-small-sum", "absent-from-middle-sum", "absent-from-large-sum"):
                self.check(way, 1, r"^rank 0 on \S+: nobody came to the sum$", ranks)

    def test_a_helper_that_throws_ends_its_node_and_the_job(self):
        for way in ("helper-throws-beside-a-receive", "helper-throws-beside-a-sum"):
            self.check(way, 1, r"^rank 1 on \S+: the cause$")

    def test_one_who_hangs_does_not_keep_the_others(self):
        self.check("one-hangs", 2, r"^rank [02] on \S+: the cause$", everybody=False)

    def test_a_first_rank_that_hangs_tells_nevertheless(self):
        returned, told, seconds = run("the-first-hangs")
        self.assertLess(seconds, PROMPTLY, told)
        self.assertEqual(returned, 2, told)
        self.assertRegex(told, r"told: rank 1 on \S+: the cause\n")

    def test_one_who_ends_early_ends_the_job(self):
        returned, told, seconds = run("one-ends")
        self.assertLess(seconds, PROMPTLY, told)
        self.assertEqual(returned, 1, told)
        self.assertRegex(told, r"rank 0 ends: rank 1 on \S+ has ended before the others")


if __name__ == "__main__":
    unittest.main()
