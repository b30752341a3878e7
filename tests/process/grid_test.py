"""Members of a grid on this machine: killed, stopped, joined and sent away while they train; the others go on."""

import base64
import hashlib
import json
import re
import shutil
import signal
import socket
import subprocess

import at_once
from veche_runs import LONGEST, RunsTest, VECHE, assignments, wait_for

# Steps of some milliseconds whatever the machine, so that things can happen between them.
TRAINED = {"data.name": "synthetic", "data.samples": 400, "data.test_samples": 50, "data.shape": "[1,8,8]",
           "model.name": "mlp", "model.hidden": "[32]", "optimizer.name": "sgd", "optimizer.momentum": 0.9,
           "optimizer.lr": 0.02, "run.eval_every": 100, "run.checkpoint_every": 50, "cluster.stall": "[1, 0.01]",
           "data.workers": 0}


STEPS = 5000  # far more than are made while members come and go, also on a slow machine


class Member:
    def __init__(self, test, name, *words, prefix=(), own={"grid.listen": "127.0.0.1:0"}):
        self.name = name
        self.prefix = prefix  # of a command that is to run where the member does
        self.run = test.folder / name
        self.log = open(test.folder / f"{name}.log", "w+")
        self.out = test.folder / f"{name}.out"
        own = dict(own)
        if "--resume" not in words:
            own |= {"run.out": test.folder, "run.name": name}
        words = [*prefix, VECHE, "grid", *map(str, words), "--name", name, *assignments(own)]
        with open(self.out, "w") as out:
            self.process = subprocess.Popen(words, cwd=test.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=self.log)

    def told(self):
        self.log.flush()
        with open(self.log.name) as log:
            return log.read()

    def members(self):
        """What this member knows of all; nothing while it cannot be asked."""
        asked = subprocess.run([*self.prefix, VECHE, "grid", "members", self.run, "--json"], capture_output=True, text=True,
                               timeout=LONGEST)
        return json.loads(asked.stdout) if asked.returncode == 0 else None

    def seated(self):
        known = self.members()
        return sorted(one["name"] for one in known["members"] if one["seat"] >= 0) if known else []

    def step(self):
        known = self.members()
        return known["step"] if known else 0

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(LONGEST)
        self.log.close()


class Grid(RunsTest):
    """What tests of whole grids share."""

    def setUp(self):
        super().setUp()
        self.all = []
        self.addCleanup(lambda: [one.end() for one in self.all])

    def member(self, name, *words, **where):
        self.all.append(Member(self, name, *words, **where))
        return self.all[-1]

    def found(self, settings, name="a", **where):
        founder = self.member(name, "start", *assignments(TRAINED, settings), **where)
        invitation = []
        wait_for(lambda: invitation.extend(re.findall(r"^VECHE1-\S+$", founder.out.read_text(), re.M)) or invitation, founder.process)
        self.assertTrue(invitation, founder.told())
        return founder, invitation[0]

    def invitation(self, who, *terms):
        """From a member that is in."""
        asked = self.veche("grid", "invite", who.run, "--json", *terms, prefix=who.prefix)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return json.loads(asked.stdout)["invitation"]

    @staticmethod
    def at(who, invitation):
        """The same one, to be shown to this member."""
        letters = invitation.removeprefix("VECHE1-")
        promise = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))[:172]  # what comes before the addresses
        address = (who.run / "grid" / "address").read_bytes()
        body = promise + bytes([1, len(address)]) + address
        return "VECHE1-" + base64.urlsafe_b64encode(body + hashlib.sha256(body).digest()[:4]).decode().rstrip("=")

    def until(self, what):
        try:
            wait_for(what, pause=0.05)  # most ask a member, by a process
        except TimeoutError:
            self.fail("\n".join(f"--- {one.name}\n{one.told()[-3000:]}" for one in self.all))

    def until_seated(self, who, *names):
        self.until(lambda: who.seated() == sorted(names))

    def until_it_goes_on(self, who, steps=5):
        before = who.step()
        self.until(lambda: who.step() >= before + steps)

    def model(self, who):
        """The tensors of the model it has saved, without the header, which names the run."""
        out = self.folder / f"{who.name}.safetensors"
        done = self.veche("model", "export", who.run, out)
        self.assertEqual(done.returncode, 0, done.stderr)
        content = out.read_bytes()
        return content[8 + int.from_bytes(content[:8], "little"):]

    def ends(self, who, code=0):
        self.assertEqual(who.process.wait(4 * LONGEST), code, who.told()[-3000:])


class ComingAndGoing(Grid):
    def come_and_go(self, settings):
        """Four members: one is killed, one joins, one sleeps, the founder leaves. Returns those who reach the end."""
        a, invitation = self.found(settings)
        b = self.member("b", "join", invitation)
        c = self.member("c", "join", invitation)
        self.until_seated(a, "a", "b", "c")
        self.until_it_goes_on(a)
        c.process.kill()
        self.until_seated(a, "a", "b")
        self.until_it_goes_on(a)
        d = self.member("d", "join", invitation)
        self.until_seated(b, "a", "b", "d")
        self.until_it_goes_on(b)
        d.process.send_signal(signal.SIGSTOP)
        self.until_seated(b, "a", "b")
        self.until_it_goes_on(b)
        d.process.send_signal(signal.SIGKILL)
        d.process.send_signal(signal.SIGCONT)
        a.process.send_signal(signal.SIGINT)
        self.ends(a, 130)
        e = self.member("e", "join", self.invitation(b))  # the first one led to the founder
        self.until_seated(b, "b", "e")
        self.until_it_goes_on(b)
        self.ends(b)
        self.ends(e)
        return b, e

    def test_equal_models(self):
        b, e = self.come_and_go({"strategy.name": "allreduce", "run.steps": STEPS})
        self.assertEqual(self.model(b), self.model(e))
        self.assertIn("while they trained", e.told())  # it had the state before it was let in
        for member in (b, e):
            summary = json.loads((member.run / "summary.json").read_text())
            self.assertEqual((summary["stopped"], summary["steps"]), ("steps", STEPS))

    def test_own_models(self):
        for member in self.come_and_go({"strategy.name": "consensus", "run.steps": STEPS}):
            summary = json.loads((member.run / "summary.json").read_text())
            self.assertEqual((summary["stopped"], summary["steps"]), ("steps", STEPS))

    def test_nobody_waits_for_anybody(self):
        """Asynchronous servers and workers: the node that serves dies as well."""
        a, invitation = self.found({"strategy.name": "parameter-server", "strategy.update": "async", "run.steps": 2000})
        b = self.member("b", "join", invitation)
        c = self.member("c", "join", invitation)
        self.until_seated(a, "a", "b", "c")
        self.until_it_goes_on(c)
        a.process.kill()  # seat 0: the server, and who counts
        self.until_seated(b, "b", "c")
        self.until_it_goes_on(b)
        d = self.member("d", "join", self.invitation(c))
        self.until_seated(b, "b", "c", "d")
        self.until_it_goes_on(d)
        c.process.send_signal(signal.SIGINT)
        self.ends(c, 130)
        for member in (b, d):
            self.ends(member)
            self.assertEqual(json.loads((member.run / "summary.json").read_text())["stopped"], "steps")
        self.assertIn("while they trained", d.told())

    def test_whoever_was_let_in_lets_others_in(self):
        """Also when the founder and its folder are gone for ever."""
        founder, invitation = self.found({"strategy.name": "allreduce", "run.steps": 10**6})
        a = self.member("m", "join", invitation)
        self.until_seated(founder, "a", "m")
        b = self.member("n", "join", self.invitation(a))
        self.until_seated(founder, "a", "m", "n")
        founder.process.kill()
        founder.process.wait(LONGEST)
        shutil.rmtree(founder.run)
        self.until_seated(b, "m", "n")
        once = self.invitation(b, "--uses", "1")
        c = self.member("o", "join", once)
        self.until_seated(a, "m", "n", "o")
        self.until_it_goes_on(c)
        self.until(lambda: all(self.nodes_known(one) == 3 for one in (a, b, c)))
        spent = self.veche("grid", "join", once, *assignments({"run.out": self.folder, "run.name": "late"}))
        self.assertEqual((spent.returncode, spent.stdout), (2, ""))
        self.assertIn("the invitation is spent: it was good for 1", spent.stderr)
        self.assertFalse((self.folder / "late").exists())

        # Who let others in is sent away by one of them: they stay, and let others in.
        sent_away = next(one["id"] for one in c.members()["members"] if one["name"] == "n")
        old = self.invitation(b)
        self.assertEqual(self.veche("grid", "revoke", c.run, sent_away).returncode, 0)
        self.ends(b, 1)
        self.until_seated(c, "m", "o")
        refused = self.veche("grid", "join", self.at(c, old), *assignments({"run.out": self.folder, "run.name": "late"}))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("the inviter has no valid warrant", refused.stderr)
        d = self.member("p", "join", self.invitation(c))
        self.until_seated(a, "m", "o", "p")
        for one in (a, c, d):
            self.until_it_goes_on(one)
            one.process.send_signal(signal.SIGINT)
            self.ends(one, 130)

    def nodes_known(self, who):
        """Of how many nodes the live page of this member knows where they are."""
        file = who.run / "nodes.json"
        return len(json.loads(file.read_text())["nodes"]) if file.exists() else 0

    def test_comes_back(self):
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 3000})
        b = self.member("b", "join", invitation)
        self.until_seated(a, "a", "b")
        self.until_it_goes_on(a, 60)
        b.process.send_signal(signal.SIGINT)
        self.ends(b, 130)
        self.until_seated(a, "a")
        self.all.remove(b)
        b.log.close()
        again = self.member("b", "join", "--resume", b.run)
        self.until_seated(a, "a", "b")
        self.ends(a)
        self.ends(again)
        self.assertEqual(self.model(a), self.model(again))

    def test_power_cut(self):
        """All are killed at once and come back, one after the other: nobody waits for who waits for it."""
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            place = {name: f"127.0.0.1:{free.getsockname()[1]}" for name, free in (("a", one), ("b", other))}
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 10**6}, own={"grid.listen": place["a"]})
        b = self.member("b", "join", invitation, own={"grid.listen": place["b"]})
        self.until_seated(a, "a", "b")
        self.until(lambda: all((one.run / "view.json").exists() for one in (a, b)))
        for one in (a, b):
            one.process.kill()
        back = []
        for one in (b, a):
            self.all.remove(one)
            one.end()
            back.append(self.member(one.name, "join", "--resume", one.run, own={"grid.listen": place[one.name]}))
        self.until_seated(back[0], "a", "b")
        for one in back:
            self.until_it_goes_on(one)
            one.process.send_signal(signal.SIGINT)
            self.ends(one, 130)

    def test_one_signal_is_enough_while_it_waits(self):
        """Who is cut off waits for the others; asked to end it does not."""
        for asked in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(asked):
                a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 10**6}, f"a{asked}")
                b = self.member(f"b{asked}", "join", invitation)
                self.until_seated(b, a.name, b.name)
                self.until_it_goes_on(b)
                a.process.kill()  # seat 0: the other one is no majority without it
                self.until(lambda: "is gone" in b.told())
                b.process.send_signal(asked)
                self.ends(b, 130)
                self.assertIn("come back", b.told().lower())

    def test_the_founders_rules_hold_for_all(self):
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 10**6, "grid.admit": "approved"})
        b = self.member("b", "join", invitation)
        self.approve(a, "b")
        self.until_seated(a, "a", "b")
        c = self.member("c", "join", self.invitation(b))  # who joined never had that configuration before
        self.approve(b, "c")
        self.until_seated(a, "a", "b", "c")
        for one in (a, b, c):
            one.process.send_signal(signal.SIGINT)
            self.ends(one, 130)

    def approve(self, at, name):
        """Says yes to who waits at this member for it."""
        waiting = []
        self.until(lambda: waiting.extend(one["id"] for one in (at.members() or {"members": []})["members"]
                                          if one["state"] == "waits for approval" and one["name"] == name) or waiting)
        said = self.veche("grid", "members", at.run, "--admit", waiting[0])
        self.assertEqual(said.returncode, 0, said.stderr)

    def test_what_needs_the_same_nodes_is_refused(self):
        for settings, named in (({"strategy.name": "hierarchical"}, 'strategy.name = "hierarchical"'),
                                ({"strategy.name": "hogwild"}, 'strategy.name = "hogwild"'),
                                ({"strategy.name": "parameter-server", "strategy.dedicated": "true", "cluster.nodes": 2},
                                 "strategy.dedicated = true"),
                                ({"strategy.name": "local-sgd", "strategy.update": "async"}, "the asynchronous form of"),
                                ({"strategy.name": "local-sgd", "strategy.outer": "nesterov", "compress.codec": "int8"},
                                 "an outer optimiser and a codec"),
                                ({"strategy.name": "local-sgd", "strategy.elastic": 0.1, "compress.codec": "int8"},
                                 "an elastic centre and a codec")):
            tried = self.veche("grid", "start", *assignments(TRAINED, settings, {"run.out": self.folder / "runs"}))
            self.assertEqual((tried.returncode, tried.stdout), (2, ""), tried.stderr)
            self.assertIn(named, tried.stderr)
            self.assertIn("cannot be used where members come and go; ", tried.stderr)
            self.assertEqual(tried.stderr.strip().count("\n"), 0)
            self.assertFalse((self.folder / "runs").exists())

    def test_what_is_refused_leaves_nothing(self):
        a, invitation = self.found({"strategy.name": "allreduce", "run.steps": 100000})
        other = self.veche("grid", "join", invitation, "--set", "data.batch=3")
        self.assertEqual((other.returncode, other.stdout), (2, ""))
        self.assertIn("data.batch=3 would change the run of all", other.stderr)
        nowhere = self.folder / "none" / "runs"
        for words, named in ((("join", invitation, "--set", "data.path=/nowhere"), "data.path"),
                             (("join", invitation[:-3]), "invitation"),
                             (("start", *assignments(TRAINED), "--set", "grid.listen=192.0.2.1:1"), "192.0.2.1:1"),
                             (("start", *assignments(TRAINED), "--set", "grid.wait_limit=soon"), "grid.wait_limit")):
            refused = self.veche("grid", *words, "--set", f"run.out={nowhere}")
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
            self.assertIn(named, refused.stderr)
            self.assertFalse(nowhere.parent.exists(), refused.stderr)
        for terms in (("--expires", "99999999999h"), ("--expires", "0s"), ("--expires", "-2h"), ("--expires", "soon"), ("--uses", "0"),
                      ("--uses", "-1"), ("--uses", "99999999999"), ("--uses", "some")):
            refused = self.veche("grid", "invite", a.run, *terms)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
            self.assertIn(terms[0], refused.stderr)
        missing = self.veche("grid", "members", self.folder / "missing")
        self.assertEqual((missing.returncode, missing.stdout), (2, ""))
        self.assertIn("there is no folder", missing.stderr)
        a.process.send_signal(signal.SIGINT)
        self.ends(a, 130)

    def test_begin_together(self):
        """Two of three wait, and one of them may go and come back; with the third all begin at step 0."""
        shared = self.folder / "runs"
        start = ["start", *assignments(TRAINED, {"strategy.name": "allreduce", "run.epochs": 40, "data.batch": 25, "grid.wait_for": 3,
                                                 "grid.data": "common", "run.eval_every": 40})]
        a = self.member("bank", *start, own={"grid.listen": "127.0.0.1:0"})
        self.until(lambda: a.out.read_text())
        self.until(lambda: "1 of 3 members are here (bank): training starts when all are here" in a.told())
        invitation = a.out.read_text().strip()
        own = {"grid.listen": "127.0.0.1:0", "run.out": self.folder, "grid.name": "bank"}
        b = self.joins(invitation, own)
        self.until(lambda: "2 of 3 members are here (bank-" in a.told())
        b.send_signal(signal.SIGINT)
        self.assertEqual(b.wait(LONGEST), 130)
        self.until(lambda: a.told().count("1 of 3 members are here") == 2)
        folder = self.folder / "bank-bank"  # the run's name was taken on this machine
        self.assertIn(f"its folder is {folder}", (self.folder / "joined.log").read_text())
        self.assertIn("Left before the first step; the others continue", (self.folder / "joined.log").read_text())
        b = self.member("again", "join", "--resume", folder)
        self.until(lambda: a.told().count("2 of 3 members are here") == 2)
        c = self.member("c", "join", invitation)
        self.until(lambda: "view" in a.told())
        for one in (a, b, c):
            self.ends(one)
        metrics = [self.metrics(run) for run in (a.run, folder, c.run)]
        self.assertEqual(metrics[0][0]["step"], 40)
        self.assertEqual(*[[(line["step"], line["epoch"]) for line in each] for each in metrics[:2]])
        self.assertEqual(json.loads((c.run / "summary.json").read_text())["epochs"], 40)

    def joins(self, invitation, own):
        log = self.folder / "joined.log"
        with open(log, "w") as told:
            process = subprocess.Popen([VECHE, "grid", "join", invitation, *assignments(own)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=told)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        return process

    @staticmethod
    def metrics(run):
        return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]

    def test_epochs_are_those_of_all(self):
        """A pass over a common set takes one member many steps and three of them few: all count alike, and never back."""
        a, invitation = self.found({"strategy.name": "allreduce", "run.epochs": 60, "grid.data": "common", "data.batch": 10,
                                    "run.eval_every": 20})
        self.until(lambda: a.step() >= 40)
        b, c = (self.member(name, "join", invitation) for name in "bc")
        self.until_seated(a, "a", "b", "c")
        self.until(lambda: self.equally_quick(a))
        for one in (a, b, c):
            self.ends(one)
        epochs = [{line["step"]: line["epoch"] for line in self.metrics(one.run)} for one in (a, b, c)]
        self.assertEqual(sorted(epochs[0].values()), list(epochs[0].values()))
        for other in epochs[1:]:
            self.assertTrue(set(other) <= set(epochs[0]))
            for step, epoch in other.items():
                self.assertEqual(epoch, epochs[0][step], step)
        alone = min(set(epochs[0]) - set(epochs[1]) - set(epochs[2]))
        self.assertAlmostEqual(epochs[0][alone], alone / 40)  # 400 samples, 10 a step
        last = max(epochs[0])
        self.assertAlmostEqual(epochs[0][last], 60, delta=0.1)
        self.assertLess(last, 60 * 40 - 100)  # with three it took fewer steps

    @staticmethod
    def equally_quick(who):
        """Each member has its part of one number, once all have told the same moment's."""
        speeds = [one["speed"] for one in (who.members() or {"members": []})["members"]]
        return len(speeds) == 3 and min(speeds) > 0 and max(speeds) < 1.1 * min(speeds)

    def test_nobody_comes(self):
        a = self.member("a", "start", *assignments(TRAINED, {"run.steps": 10, "grid.wait_for": 2, "grid.wait_limit": "1s"}))
        self.ends(a, 1)
        self.assertIn("grid.wait_for = 2: only 1 of 2 members have joined within 1s", a.told())
        alone, _ = self.found({"run.steps": 10**6}, "alone")
        self.until_it_goes_on(alone)
        alone.process.send_signal(signal.SIGINT)
        self.ends(alone, 130)
        self.assertIn("no other member takes part", alone.told())
        self.assertNotIn("the others continue", alone.told())

    def test_a_single_member_records_its_strategy(self):
        """A view of one node exchanges nothing; the summary names the strategy of the settings all the same."""
        a, _ = self.found({"strategy.name": "consensus", "run.steps": 10})
        self.ends(a)
        summary = json.loads((a.run / "summary.json").read_text())
        self.assertEqual((summary["strategy"], summary["nodes"]), ("consensus", 1))


if __name__ == "__main__":
    at_once.main(4)
