"""Members of a grid in network namespaces: behind NATs they dial out, are relayed and go on when the relay is killed; those whose
addresses have changed are found by multicast and by OpenDHT."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

from grid_test import Grid
from lab import Lab
from veche_runs import LONGEST

UPNP = """ext_ifname=net0
ext_ip={outer}
listening_ip=inside
enable_upnp=yes
enable_natpmp=no
secure_mode=yes
uuid=00000000-0000-0000-0000-000000000001
allow 1024-65535 0.0.0.0/0 1024-65535
"""
# Where miniupnpd puts its rules.
UPNP_RULES = """table inet filter {
  chain forward { type filter hook forward priority 0; policy accept; jump miniupnpd; }
  chain miniupnpd { }
  chain prerouting { type nat hook prerouting priority -100; policy accept; jump prerouting_miniupnpd; }
  chain prerouting_miniupnpd { }
  chain postrouting { type nat hook postrouting priority 100; policy accept; jump postrouting_miniupnpd; }
  chain postrouting_miniupnpd { }
}
"""
STEPS = 3000  # far more than are made while members come and go


def namespaces():
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def rules():
    return subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout


class InNamespaces(Grid):
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
        return {"prefix": lab.inside(host), "own": own}

    def link(self, who, other):
        """How the link of a member to another goes, as it tells it."""
        known = who.members() or {"members": []}
        return next(({"address": one["address"], "id": one["id"]} for one in known["members"] if one["name"] == other), None)


class BehindNats(InNamespaces):
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

    def test_a_port_of_the_router_leads_to_who_asked_for_it(self):
        lab = self.lab("--hosts", "4", "--nat", "1,1")
        # miniupnpd wants an outer address that is a public one: nobody else has it in here.
        outer, nat = "44.0.0.1", lab.places["nat1"][0]
        subprocess.run(["ip", "-n", nat, "address", "add", f"{outer}/32", "dev", "net0"], check=True)
        for name, (space, _) in lab.places.items():
            if name in ("1", "2", "nat2"):
                subprocess.run(["ip", "-n", space, "route", "add", outer, "dev", "net0"], check=True)
        subprocess.run([*lab.inside("nat1"), "nft", "-f", "-"], input=UPNP_RULES, text=True, check=True)
        settings = self.folder / "miniupnpd.conf"
        settings.write_text(UPNP.format(outer=outer))
        router = subprocess.Popen([*lab.inside("nat1"), "miniupnpd", "-d", "-f", settings, "-P", self.folder / "miniupnpd.pid"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (router.kill(), router.wait()))
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 10**6}, **self.at(lab, "1"))
        b = self.member("b", "join", invitation, **self.at(lab, "3", grid_upnp="true"))
        self.until(lambda: f"can be reached at {outer}:" in b.told() or "no port of a router" in b.told())
        self.assertIn(f"can be reached at {outer}:", b.told())
        self.until_seated(a, "a", "b")
        c = self.member("c", "join", invitation, **self.at(lab, "4"))  # behind the other NAT, and nobody relays
        self.until_seated(a, "a", "b", "c")
        self.assertIn(outer, self.link(c, "b")["address"])
        mapped = lambda: subprocess.run([*lab.inside("nat1"), "nft", "list", "table", "inet", "filter"], capture_output=True,
                                        text=True, check=True).stdout.count("dnat")
        self.assertEqual(mapped(), 1)
        b.process.send_signal(signal.SIGINT)
        self.ends(b, 130)
        self.assertEqual(mapped(), 0)  # taken back


class Finding(InNamespaces):
    """The founder moves to another host while the other member is away: no address that anybody remembers is good."""

    def move_and_be_found(self, lab, **settings):
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 10**6}, **self.at(lab, "1", **settings))
        b = self.member("b", "join", invitation, **self.at(lab, "2", **settings))
        self.until_seated(a, "a", "b")
        for one in (b, a):
            one.process.send_signal(signal.SIGINT)
            self.ends(one, 130)
            self.all.remove(one)
            one.log.close()
        again = self.member("a", "join", "--resume", a.run, **self.at(lab, "3", **settings))
        self.until_it_goes_on(again)
        back = self.member("b", "join", "--resume", b.run, **self.at(lab, "2", **settings))
        self.until_seated(again, "a", "b")
        self.assertTrue(self.link(back, "a")["address"].startswith(lab.places["3"][1]))
        # A newcomer's invitation leads to where nobody is any more.
        c = self.member("c", "join", invitation, **self.at(lab, "2", **settings))
        self.until_seated(again, "a", "b", "c")
        self.until_it_goes_on(again)

    def test_on_the_local_network(self):
        self.move_and_be_found(self.lab("--hosts", "3"))

    @unittest.skipUnless("DHT_NODE" in os.environ, "built without OpenDHT")
    def test_by_the_table_of_opendht(self):
        lab = self.lab("--hosts", "4")
        node = subprocess.Popen([*lab.inside("4"), os.environ["DHT_NODE"]], stdin=subprocess.PIPE)
        self.addCleanup(lambda: (node.stdin.close(), node.wait(LONGEST)))
        self.move_and_be_found(lab, grid_multicast="false", grid_dht=lab.places["4"][1] + ":4222")


if __name__ == "__main__":
    missing = [tool for tool in ("ip", "nft", "miniupnpd") if shutil.which(tool) is None]
    if missing:
        print(f"{', '.join(missing)} not found: iproute2, nftables, miniupnpd-nftables")
        sys.exit(77)
    tried = subprocess.run(["ip", "netns", "add", "veche-try"], capture_output=True)
    if os.geteuid() != 0 or tried.returncode != 0:
        print("network namespaces need root and a kernel that has them")
        sys.exit(77)
    subprocess.run(["ip", "netns", "delete", "veche-try"], check=True)
    unittest.main()
