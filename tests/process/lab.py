"""The network laboratory, held for as long as a test needs it."""

import os
import subprocess

NETLAB = os.environ["NETLAB"]


class Lab:
    """Hosts and NATs by name: 1, 2, ..., nat1, ...; gone when it is closed."""

    def __init__(self, *words):
        self.process = subprocess.Popen([NETLAB, *words, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.places = {}
        for line in self.process.stdout:
            if line == "ready\n":
                break
            name, space, address = line.split()
            self.places[name] = (space, address)

    def inside(self, host):
        return ["ip", "netns", "exec", self.places[host][0]]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(60)
