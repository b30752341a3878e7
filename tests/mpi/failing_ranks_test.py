"""One rank of a job fails alone, wherever the others are: all end soon, with its cause, and with its exit code."""

import os
import re
import subprocess
import time
import unittest

from jobs import MPIRUN  # and the way to what the process tests share
import at_once

PROGRAM = os.environ["FAILING_RANKS"]
AT_ONCE = 6
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
    """A test for each way to fail: their jobs wait most of the time, and run side by side."""

    def check(self, way, code, sentence, ranks=3, everybody=True):
        returned, told, seconds = run(way, ranks)
        self.assertLess(seconds, PROMPTLY, told)
        self.assertEqual(returned, code, told)
        ended = re.findall(r"rank (\d) ends: (.*)", told)
        self.assertIn("0", [rank for rank, _ in ended], told)
        for rank, words in ended:
            self.assertRegex(words, sentence)
        if everybody:
            self.assertEqual(sorted(int(rank) for rank, _ in ended), list(range(ranks)), told)

    def test_one_who_hangs_does_not_keep_the_others(self):
        self.check("one-hangs", 2, r"^rank [02] on \S+: the cause$", everybody=False)

    def one_who_stops_in_a_sum_is_not_waited_for(self, ranks):
        # Where every rank has a core, inside MPI_Allreduce, most likely; else in the memory that ranks share.
        returned, told, seconds = run("one-stops-in-a-sum", ranks)
        self.assertLess(seconds, PROMPTLY, told)
        self.assertEqual(returned, 1, told)
        self.assertRegex(told, r"a sum over all ranks does not complete although all ranks have entered it|node \d is missed")

    def test_one_of_two_who_stops_in_a_sum_is_not_waited_for(self):
        self.one_who_stops_in_a_sum_is_not_waited_for(2)

    def test_one_of_three_who_stops_in_a_sum_is_not_waited_for(self):
        self.one_who_stops_in_a_sum_is_not_waited_for(3)

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


def add(way, code, sentence, ranks=3):
    setattr(FailingRanks, f"test_{way}_{ranks}".replace("-", "_"), lambda test: test.check(way, code, sentence, ranks))


WAYS = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
OTHERS = [way for way in WAYS if way.startswith("others-")]
assert len(OTHERS) > 8
for each in OTHERS:
    add(each, 2, r"^rank 0 on \S+: the cause$")
for each in ("absent-from-small-sum", "absent-from-middle-sum", "absent-from-large-sum"):
    add(each, 1, r"^rank 0 on \S+: nobody came to the sum$", 2)
    add(each, 1, r"^rank 0 on \S+: nobody came to the sum$", 3)
for each in ("helper-throws-beside-a-receive", "helper-throws-beside-a-sum"):
    add(each, 1, r"^rank 1 on \S+: the cause$")

if __name__ == "__main__":
    at_once.main(AT_ONCE)
