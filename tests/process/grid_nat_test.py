"""Members of a grid behind NATs, in network namespaces: they dial out, are relayed, and go on when the relay is killed."""

import os
import signal
import subprocess
import sys
import unittest

from grid_test import Grid
from veche_runs import LONGEST

NETLAB = os.environ["NETLAB"]
STEPS = 3000  # far more than are made while members come and go


def namespaces():
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def rules():
    return subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout


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
        return self.process.wait(LONGEST)


class BehindNats(Grid):
    def setUp(self):
        before = namespaces(), rules()
        # Last, when all has ended.
        self.addCleanup(lambda: self.assertEqual((namespaces(), rules()), before))
        super().setUp()

    def lab(self, *words):
        lab = Lab(*words)
        self.addCleanup(lambda: self.assertEqual(lab.close(), 0))
        self.addCleanup(lambda: [one.end() for one in self.all])  # before its host goes
        return lab

    def at(self, lab, host, **settings):
        own = {"grid.listen": "0.0.0.0:0"} | {key.replace("_", "."): value for key, value in settings.items()}
        return {"prefix": lab.inside(host), "settings": own}

    def link(self, who, other):
        """How the link of a member to another goes, as it tells it."""
        known = who.members() or {"members": []}
        return next(({"address": one["address"], "id": one["id"]} for one in known["members"] if one["name"] == other), None)

    def test_a_relay_is_killed_and_another_takes_its_place(self):
        lab = self.lab("--hosts", "4", "--nat", "1,1")
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": STEPS}, **self.at(lab, "1", grid_relay="true"))
        b = self.member("b", "join", invitation, **self.at(lab, "3"))
        c = self.member("c", "join", invitation, **self.at(lab, "4"))
        self.until_seated(a, "a", "b", "c")
        self.until_it_goes_on(a)
        of_a = self.link(a, "a")["id"][:8]
        self.assertEqual(self.link(b, "c")["address"], f"relay {of_a}")
        self.assertEqual(self.link(c, "b")["address"], f"relay {of_a}")
        self.assertIn(lab.places["nat1"][1], self.link(a, "b")["address"])  # it has dialled out

        d = self.member("d", "join", invitation, **self.at(lab, "2", grid_relay="true"))
        self.until_seated(d, "a", "b", "c", "d")
        self.until_it_goes_on(d)
        of_d = self.link(d, "d")["id"][:8]
        a.process.send_signal(signal.SIGKILL)
        self.until_seated(d, "b", "c", "d")
        self.until_it_goes_on(d)
        self.assertEqual(self.link(b, "c")["address"], f"relay {of_d}")

        # An invitation of one who cannot be reached leads to one who can.
        e = self.member("e", "join", self.invitation(b), **self.at(lab, "4"))
        self.until_seated(d, "b", "c", "d", "e")
        self.until_it_goes_on(d)
        for one in (b, c, d, e):
            self.ends(one)
        models = [self.model(one) for one in (b, c, d, e)]
        self.assertEqual([each == models[0] for each in models], [True] * 4)


if __name__ == "__main__":
    tried = subprocess.run(["ip", "netns", "add", "veche-try"], capture_output=True)
    if os.geteuid() != 0 or tried.returncode != 0:
        print("network namespaces need root and a kernel that has them")
        sys.exit(77)
    subprocess.run(["ip", "netns", "delete", "veche-try"], check=True)
    unittest.main()
