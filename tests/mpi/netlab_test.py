"""The network laboratory: hosts that reach each other at the rate asked for, a job across them, and nothing left behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "process"))
from veche_runs import LONGEST, VECHE, QUADRATIC, RunsTest, assignments, wait_for

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
        # 1.5 MB at 10 Mbit/s take 1.2 s, less the first 64 KB of two buckets and what came before the receiver looked at its
        # clock; unlimited, milliseconds.
        self.assertGreater(float(done.stdout), 0.6)

    def test_a_job_across_hosts(self):
        done = self.netlab("--hosts", 2, "--rate", "100mbit", "mpirun", VECHE, "train", "--quiet", "--json",
                           *assignments(QUADRATIC, {"run.steps": 20}))
        self.assertEqual(done.returncode, 0, done.stderr)
        alone = json.loads(self.veche("train", "--quiet", "--json", *assignments(QUADRATIC, {"run.steps": 20})).stdout)
        self.assertEqual(json.loads(done.stdout)["parameters"], alone["parameters"])

    def test_a_network_is_measured_as_a_section(self):
        done = self.netlab("--hosts", 2, "--rate", "10mbit", "mpirun", VECHE, "bench", "network")
        self.assertEqual(done.returncode, 0, done.stderr)
        rate, = map(float, re.findall(r'^bandwidth = "([0-9.]+)Mbps"$', done.stdout, re.M))
        # A busy machine is late by some part of it; without the limit it would be hundreds.
        self.assertGreater(rate, 6)
        self.assertLess(rate, 15)
        (self.folder / "measured.toml").write_text(done.stdout)
        simulated = self.veche("simulate", "measured.toml", "--quiet", "--json", *assignments(QUADRATIC, {"run.steps": 2}))
        self.assertEqual(simulated.returncode, 0, simulated.stderr)
        alone = self.veche("bench", "network")
        self.assertEqual((alone.returncode, alone.stdout), (2, ""))

    def test_failures_are_told_and_leave_nothing(self):
        before = namespaces()
        self.assertEqual(self.netlab("--hosts", 2, "each", "sh", "-c", "exit $HOST").returncode, 2)
        self.assertEqual(self.netlab("--hosts", 2, "each").returncode, 2)
        for kind in (signal.SIGTERM, signal.SIGINT):
            lab, _ = self.sleeping()
            lab.send_signal(kind)
            self.assertEqual(lab.wait(timeout=LONGEST), 128 + kind)
            self.assertEqual(namespaces(), before)

    def test_a_killed_command_leaves_nothing(self):
        before = namespaces()
        lab, sleepers = self.sleeping()
        for pid in sleepers:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(lab.wait(timeout=LONGEST), 128 + signal.SIGKILL)
        self.assertEqual(namespaces(), before)

    def test_the_next_one_cleans_up_after_a_killed_one(self):
        before = namespaces()
        lab, sleepers = self.sleeping()
        lab.kill()
        lab.wait(timeout=LONGEST)
        self.assertNotEqual(namespaces(), before)
        self.assertEqual(self.netlab("--hosts", 1, "each", "true").returncode, 0)
        self.assertEqual(namespaces(), before)
        self.assertTrue(wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}/exe").exists() for pid in sleepers)))
        self.assertEqual(list(pathlib.Path(tempfile.gettempdir()).glob(f"nlab{lab.pid}.*")), [])

    def sleeping(self):
        """A lab of two hosts that sleep, and the processes in them."""
        lab = subprocess.Popen([NETLAB, "--hosts", "2", "each", "sleep", "1000"], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, lab)
        inside = lambda host: subprocess.run(["ip", "netns", "pids", f"nlab{lab.pid}-{host}"], capture_output=True,
                                             text=True).stdout.split()
        self.assertTrue(wait_for(lambda: inside(1) and inside(2), lab))
        return lab, [int(pid) for host in (1, 2) for pid in inside(host)]


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["ip", "netns", "add", "veche-try"], capture_output=True).returncode != 0:
        print("network namespaces need root and a kernel that has them")
        sys.exit(77)
    subprocess.run(["ip", "netns", "delete", "veche-try"], check=True)
    unittest.main()
