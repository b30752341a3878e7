"""The network laboratory: hosts that reach each other at the rate asked for, a job across them, and nothing left behind."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "process"))
from veche_runs import LONGEST, VECHE, QUADRATIC, RunsTest, assignments

NETLAB = os.environ["NETLAB"]
# Host 1 receives what host 2 sends and prints the seconds it took.
TRANSFER = """
import os, socket, time
first, size = os.environ["NETLAB_FIRST"], 1_500_000
if os.environ["HOST"] == "1":
    server = socket.create_server((first, 4000))
    peer, _ = server.accept()
    start, left = time.monotonic(), size
    while left > 0:
        left -= len(peer.recv(65536))
    print(time.monotonic() - start)
else:
    for _ in range(200):
        try:
            client = socket.create_connection((first, 4000))
            break
        except OSError:
            time.sleep(0.05)
    client.sendall(b"x" * size)
"""


def namespaces():
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


class Netlab(RunsTest):
    def netlab(self, *words):
        return subprocess.run([NETLAB, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              timeout=2 * LONGEST, stdin=subprocess.DEVNULL)

    def test_links_have_the_rate(self):
        done = self.netlab("--hosts", 2, "--rate", "10mbit", "each", sys.executable, "-c", TRANSFER)
        self.assertEqual(done.returncode, 0, done.stderr)
        # 1.5 MB at 10 Mbit/s take 1.2 s, less the first 64 KB of two buckets; unlimited, milliseconds.
        self.assertGreater(float(done.stdout), 0.9)

    def test_a_job_across_hosts(self):
        done = self.netlab("--hosts", 2, "--rate", "100mbit", "mpirun", VECHE, "train", "--quiet", "--json",
                           *assignments(QUADRATIC, {"run.steps": 20}))
        self.assertEqual(done.returncode, 0, done.stderr)
        alone = json.loads(self.veche("train", "--quiet", "--json", *assignments(QUADRATIC, {"run.steps": 20})).stdout)
        self.assertEqual(json.loads(done.stdout)["parameters"], alone["parameters"])

    def test_failures_are_told_and_leave_nothing(self):
        before = namespaces()
        self.assertEqual(self.netlab("--hosts", 2, "each", "sh", "-c", "exit $HOST").returncode, 2)
        self.assertEqual(self.netlab("--hosts", 2, "each").returncode, 2)
        lab = subprocess.Popen([NETLAB, "--hosts", "2", "each", "sleep", "1000"], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, lab)
        while namespaces() == before and lab.poll() is None:
            pass
        lab.terminate()
        lab.wait(timeout=LONGEST)
        self.assertEqual(namespaces(), before)


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["ip", "netns", "add", "veche-try"], capture_output=True).returncode != 0:
        print("network namespaces need root and a kernel that has them")
        sys.exit(77)
    subprocess.run(["ip", "netns", "delete", "veche-try"], check=True)
    unittest.main()
